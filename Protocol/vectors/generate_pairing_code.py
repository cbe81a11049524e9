#!/usr/bin/env python3
"""Writes pairing-code.json: CPace, whole pairings by code, shares and announcements for Protocol/pairing-code.md.

Independent of the Swift code: ristretto255 in plain Python, hashlib, noiseprotocol, PyNaCl. It fails unless CPace gives
the values of the draft's test vectors.
"""
import hashlib
import json
import pathlib

from nacl.signing import SigningKey

import cpace
import noise_channel
import ristretto

CHANNEL = b"waymark/pairing-code/v1"
DRAFT = {
    "password": b"Password".hex(), "channel": b"\nAinitiator\nBresponder".hex(),
    "session": "7e4b4791d6a8ef019b936c79fb7f2c57",
    "initiatorScalar": "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08",
    "responderScalar": "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d",
    "initiatorData": b"ADa".hex(), "responderData": b"ADb".hex(),
    "initiatorShare": "383a85dd236978f17f8c8545b50dabc52a39fcdab2cf8bc531ce040ff77ca82d",
    "responderShare": "a6206309c0e8e5f579295e35997ac4300ab3fecec3c17f7b604f3e698fa1383c",
    "key": "e91ccb2c0f5e0d0993a33956e3be59754f3f2b07db57631f5394452ea2e7b4354674eb1f5686c078462bf83bec72e8743df4"
           "40108e638f3526d9b90e85be096f"}


def secret(name):
    return hashlib.sha256(b"waymark vector " + name.encode()).digest()


def blake(prefix, *parts):
    return hashlib.blake2b(prefix.encode() + b"\0" + b"".join(parts), digest_size=32).digest()


def scalar(name):
    return int.from_bytes(hashlib.sha512(name.encode()).digest(), "little") % ristretto.ORDER


def number(text):
    return int.from_bytes(bytes.fromhex(text), "little")


def run(password, channel, session, one, other, data_one=b"", data_other=b""):
    """One run with two scalars, computed by both ends: the shares and the key."""
    point = cpace.generator(password, channel, session)
    shares = cpace.share(one, point), cpace.share(other, point)
    ends = {cpace.shared_point(one, shares[1]), cpace.shared_point(other, shares[0])}
    assert len(ends) == 1
    messages = cpace.message(shares[0], data_one), cpace.message(shares[1], data_other)
    return shares, cpace.key(session, ends.pop(), *messages)


def draft():
    parts = {name: bytes.fromhex(text) for name, text in DRAFT.items()}
    shares, key = run(
        parts["password"], parts["channel"], parts["session"], number(DRAFT["initiatorScalar"]),
        number(DRAFT["responderScalar"]), parts["initiatorData"], parts["responderData"])
    assert (shares[0], shares[1], key) == (parts["initiatorShare"], parts["responderShare"], parts["key"])
    return DRAFT


def pairing(name, code, typed, tries_left):
    """A connection, byte for byte; with a wrong code only up to message 1, which the inviter refuses."""
    nonce = secret(f"{name} nonce")[:16]
    preamble = noise_channel.preamble(blake("waymark/code-preamble/v1"), nonce)
    joiner, inviter = scalar(f"{name} joiner"), scalar(f"{name} inviter")
    own = cpace.generator(typed.encode(), CHANNEL, nonce), cpace.generator(code.encode(), CHANNEL, nonce)
    shares = cpace.share(joiner, own[0]), cpace.share(inviter, own[1])
    answer = shares[1] + bytes([tries_left])
    messages = cpace.message(shares[0]), cpace.message(shares[1], bytes([tries_left]))
    keys = [cpace.key(nonce, shared, *messages) for shared in (
        cpace.shared_point(joiner, shares[1]), cpace.shared_point(inviter, shares[0]))]
    starts = [(blake("waymark/code-psk/v1", key),
               preamble + shares[0] + answer + blake("waymark/code-confirmation/v1", key)) for key in keys]
    ends = [noise_channel.party(noise_channel.PSK, secret(f"{who} static"), secret(f"{who} ephemeral"), who == "joiner",
                                start[1], start[0]) for who, start in zip(("joiner", "inviter"), starts)]
    row = {"name": name, "code": code, "typed": typed, "triesLeft": tries_left, "nonce": nonce.hex(),
           "joinerScalar": joiner.to_bytes(32, "little").hex(), "inviterScalar": inviter.to_bytes(32, "little").hex(),
           "preamble": preamble.hex(), "share": shares[0].hex(), "answer": answer.hex(), "key": keys[0].hex(),
           "psk": starts[0][0].hex(), "prologue": starts[0][1].hex()}
    row |= {f"{who}{kind.capitalize()}": secret(f"{who} {kind}").hex()
            for who in ("joiner", "inviter") for kind in ("static", "ephemeral")}
    row["messages"] = [bytes(ends[0].write_message()).hex()]
    if typed != code:
        return row | {"accepted": False}
    ends[1].read_message(bytes.fromhex(row["messages"][0]))
    for index in (1, 2):
        text = bytes(ends[index % 2].write_message())
        ends[1 - index % 2].read_message(text)
        row["messages"].append(text.hex())
    return row | {"accepted": True, "handshakeHash": ends[0].get_handshake_hash().hex()}


def shares():
    """Shares that an end refuses. In `reflected`, the answer has the joiner's own share."""
    valid = cpace.share(scalar("any"), cpace.generator(b"482913", CHANNEL, bytes(16)))
    number = int.from_bytes(valid, "little")
    rows = [
        ("the identity", bytes(32)), ("not a point", bytes.fromhex(
            "2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c")),
        ("negative", (ristretto.P - number).to_bytes(32, "little")),
        ("the prime itself", ristretto.P.to_bytes(32, "little")),
        ("a larger number than the prime", (ristretto.P + 2).to_bytes(32, "little")),
        ("all bits set", b"\xff" * 32), ("with the high bit set", valid[:31] + bytes([valid[31] | 0x80])),
        ("31 bytes", valid[:31]), ("33 bytes", valid + b"\0"), ("no bytes", b"")]
    for name, data in rows:
        assert len(data) != 32 or cpace.shared_point(5, data) is None, name
    return [{"name": name, "bytes": data.hex()} for name, data in rows]


HOST = bytes(10) + b"\xff\xff" + bytes([192, 168, 1, 20])


def announcement(name=b"laptop", port=7433, host=HOST, version=2, count=None, field=None, key="offer", signed=None):
    field = name.ljust(64, b"\0") if field is None else field
    signer = SigningKey(secret(f"{key} seed"))
    head = (bytes([version]) + bytes(signer.verify_key) + host + port.to_bytes(2, "big")
            + bytes([len(name) if count is None else count]) + field)
    return head + signer.sign(b"waymark/code-announcement/v1\0" + (signed or head)).signature


def announcements():
    plain, long = announcement(), "ä".encode() * 32
    accepted = [("plain", plain, "laptop", 7433), ("a name of 64 bytes", announcement(long), "ä" * 32, 7433),
                ("the last port", announcement(port=65535), "laptop", 65535)]
    rows = [{"name": name, "bytes": data.hex(), "accepted": True, "device": device, "port": port, "host": HOST.hex()}
            for name, data, device, port in accepted]
    refused = [
        ("no bytes", b""), ("a byte less", plain[:-1]), ("a byte more", plain + b"\0"),
        ("another version", announcement(version=3)), ("the version of a beacon", announcement(version=1)),
        ("port 0", announcement(port=0)), ("no name", announcement(b"")),
        ("a name of 65 bytes", announcement(count=65)), ("a length of 255", announcement(count=255)),
        ("not UTF-8", announcement(b"\xff\xfe")), ("a name that is cut off", announcement(b"\xc3\xa4", count=1)),
        ("an escape sequence in the name", announcement(b"\x1b[2J")), ("a line break in the name", announcement(b"a\nb")),
        ("a name that changes the direction of text", announcement("a\u202eb".encode())),
        ("bytes behind the name", announcement(field=b"laptop".ljust(63, b"\0") + b"x")),
        ("a zero byte in the name", announcement(b"a\0b")),
        ("signed by another key", plain[:-64] + announcement(key="other")[-64:]),
        ("another address than was signed", announcement(host=HOST[:-1] + b"\x42", signed=plain[:-64])),
        ("another name than was signed", announcement(b"laptoq", signed=plain[:-64])),
        ("without a signature", plain[:-64] + bytes(64))]
    return rows + [{"name": name, "bytes": data.hex(), "accepted": False} for name, data in refused]


document = {
    "preambleKey": blake("waymark/code-preamble/v1").hex(), "channel": CHANNEL.hex(), "draft": draft(),
    "pairings": [pairing("right", "482913", "482913", 2), pairing("right at the last try", "000000", "000000", 0),
                 pairing("wrong", "482913", "482914", 2)],
    "refusedShares": shares(), "announcements": announcements(),
    "announced": {"seed": secret("offer seed").hex(), "host": HOST.hex(), "port": 7433, "device": "laptop",
                  "bytes": announcement().hex()},
}
path = pathlib.Path(__file__).with_name("pairing-code.json")
path.write_text(json.dumps(document, indent=1) + "\n")
