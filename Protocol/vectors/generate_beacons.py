#!/usr/bin/env python3
"""Writes beacons.json: beacons that are believed, for somebody else, or broken.

Independent of the Swift code: hashlib hashes, PyNaCl agrees, seals and signs. Run it in a virtual environment:
    python3 -m venv venv && venv/bin/pip install pynacl && venv/bin/python generate_beacons.py
"""
import hashlib
import ipaddress
import json
import pathlib

from nacl import bindings
from nacl.signing import SigningKey

CIRCLE = hashlib.sha256(b"waymark vector circle").digest()
NAMES = ["alice", "bob", "carol"] + [f"device {number}" for number in range(16)]


def seed(kind, name):
    return hashlib.sha256(f"waymark vector {kind} {name}".encode()).digest()


def sign_key(name):
    return SigningKey(seed("key", name))


def transport(name):
    return bindings.crypto_scalarmult_base(seed("transport", name))


def sha(prefix, *parts):
    return hashlib.sha256(prefix.encode() + b"\0" + b"".join(parts)).digest()


def blake(prefix, *parts):
    return hashlib.blake2b(prefix.encode() + b"\0" + b"".join(parts), digest_size=32).digest()


def pair(sender, receiver, circle=CIRCLE):
    shared = bindings.crypto_scalarmult(seed("transport", sender), transport(receiver))
    return sha("waymark/beacon-pair/v1", circle, transport(sender), transport(receiver), shared)


def slot(sender, receiver, nonce, secret, circle=CIRCLE):
    mask = sha("waymark/beacon-slot/v1", nonce, pair(sender, receiver, circle))
    return mask[:8] + bytes(a ^ b for a, b in zip(mask[8:24], secret))


def address(text):
    found = ipaddress.ip_address(text)
    return found.packed if found.version == 6 else bytes(10) + b"\xff\xff" + found.packed


def body(time, host, port):
    return time.to_bytes(6, "big") + address(host) + port.to_bytes(2, "big")


def beacon(sender="alice", receivers=("bob",), time=1_700_000_000_000, host="192.168.1.20", port=7433, number=0, count=None,
           circle=CIRCLE, signer=None, version=1, signed=None):
    nonce, secret = seed("nonce", number)[:16], seed("secret", number)[:16]
    slots = [slot(sender, each, nonce, secret, circle) for each in receivers]
    count = count or next(n for n in (4, 8, 16) if n >= len(slots))
    slots += [blake("waymark/beacon-fill/v1", nonce, secret, bytes([i]))[:24] for i in range(count - len(slots))]
    head = bytes([version]) + nonce + b"".join(sorted(slots))
    plain = body(time, host, port)
    signature = sign_key(signer or sender).sign(
        b"waymark/beacon-signature/v1\0" + CIRCLE + head + (signed or plain)).signature
    key = blake("waymark/beacon-seal/v1", nonce, secret)
    return head + bindings.crypto_aead_chacha20poly1305_ietf_encrypt(plain + signature, head, bytes(12), key)


def accepted(name, data, **said):
    return {"name": name, "bytes": data.hex(), "opens": True, **{"sender": "alice", "time": 1_700_000_000_000,
            "host": address("192.168.1.20").hex(), "port": 7433, **said}}


def refused(name, data):
    return {"name": name, "bytes": data.hex(), "opens": False}


def strings(*parts):
    return b"".join(bytes([len(part)]) + part for part in parts)


def record(data):
    """The TXT record of a service that carries a beacon."""
    pieces = [data[start:start + 252] for start in range(0, len(data), 252)]
    return strings(*(f"{index}=".encode() + piece for index, piece in enumerate(pieces)))


def carried(name, text, data):
    return {"name": name, "record": text.hex(), "beacon": None if data is None else data.hex()}


plain = beacon()
many = ["bob"] + NAMES[3:18]
rows = [
    accepted("for one member", plain),
    accepted("for five members", beacon(receivers=["bob", "carol", *NAMES[3:6]], number=1)),
    accepted("for sixteen members", beacon(receivers=many, number=2)),
    accepted("of a link-local address", beacon(host="fe80::1:2", port=1, number=3),
             host=address("fe80::1:2").hex(), port=1),
    accepted("from the end of time", beacon(time=2**48 - 1, port=65535, number=4), time=2**48 - 1, port=65535),
    accepted("from its beginning", beacon(time=0, number=5), time=0),
    refused("for somebody else", beacon(receivers=["carol"], number=6)),
    refused("for nobody", beacon(receivers=[], number=7)),
    refused("of a stranger", beacon(sender="mallory", number=8)),
    refused("of another circle of the same devices", beacon(circle=hashlib.sha256(b"other").digest(), number=9)),
    refused("signed by another member", beacon(signer="carol", number=10)),
    refused("with another address than was signed", beacon(signed=body(1, "192.168.1.66", 7433), number=11)),
    refused("without a port", beacon(port=0, number=12)),
    refused("of a newer version", beacon(version=2, number=13)),
    refused("with twelve slots", beacon(count=12, number=14)),
    refused("with a byte more", plain + b"\0"),
    refused("with a byte less", plain[:-1]),
    refused("empty", b""),
    refused("of its own receiver", beacon(sender="bob", receivers=["bob"], number=15)),
]
small, large = plain, bytes.fromhex(rows[2]["bytes"])
records = [
    carried("a beacon in one string", record(small), small),
    carried("a beacon in three strings", record(large), large),
    carried("strings in another order, and one of a later version",
            strings(b"2=" + large[504:], b"v=2", b"1=" + large[252:504], b"0=" + large[:252]), large),
    carried("the same key twice: the first counts", strings(b"0=" + small, b"0=" + small[::-1]), small),
    carried("a string without a value, and an empty one", strings(b"0", b"", b"0=" + small), small),
    carried("pieces up to the first gap", strings(b"0=" + small, b"2=" + b"lost"), small),
    carried("empty", b"", None),
    carried("one empty string", strings(b""), None),
    carried("without the first piece", strings(b"1=" + small), None),
    carried("a string that is cut off", record(small)[:-1], None),
    carried("an empty piece", strings(b"0="), None),
    carried("a record of more than 1,024 bytes", strings(*(b"%d=" % i + bytes(252) for i in range(5))), None),
]
document = {
    "circle": CIRCLE.hex(), "receiver": "bob",
    "devices": {name: {"seed": seed("key", name).hex(), "transportSecret": seed("transport", name).hex()}
                for name in NAMES},
    "sealed": [
        {"name": "one", "receivers": ["bob"], "time": 1_700_000_000_000, "host": address("192.168.1.20").hex(),
         "port": 7433, "nonce": seed("nonce", 0)[:16].hex(), "secret": seed("secret", 0)[:16].hex(),
         "bytes": plain.hex()},
        {"name": "sixteen", "receivers": many, "time": 1_700_000_000_000, "host": address("192.168.1.20").hex(),
         "port": 7433, "nonce": seed("nonce", 2)[:16].hex(), "secret": seed("secret", 2)[:16].hex(),
         "bytes": rows[2]["bytes"]},
    ],
    "beacons": rows,
    "records": records,
}
path = pathlib.Path(__file__).with_name("beacons.json")
path.write_text(json.dumps(document, indent=1) + "\n")
