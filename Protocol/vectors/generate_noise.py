"""Writes noise.json: handshakes, refused messages and sealed frames for Protocol/channel.md.

Needs noiseprotocol and cryptography from PyPI: an implementation of Noise that shares no code with ours.
Run it anywhere: python3 generate_noise.py
"""

import hashlib
import json
import struct
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import noise_channel
from noise_channel import MAGIC, PLAIN, PSK, VERSION, preamble_key


def secret(name):
    """32 bytes that anyone can derive again."""
    return hashlib.sha256(b"waymark vector " + name.encode()).digest()


def preamble(key, version=VERSION, nonce=secret("nonce")[:16], magic=MAGIC):
    return noise_channel.preamble(key, nonce, version, magic)


def party(protocol, name, initiator, prologue, psk):
    return noise_channel.party(
        protocol, secret(name + " static"), secret(name + " ephemeral"), initiator, prologue, psk)


CIRCLE, TICKET_SECRET = secret("circle"), secret("ticket")[:16]
SESSION_KEY, PAIRING_KEY = preamble_key(b"session", CIRCLE), preamble_key(b"pairing", TICKET_SECRET)
SESSION, PAIRING = preamble(SESSION_KEY), preamble(PAIRING_KEY)


def handshake(protocol, prologue, payloads, psk=None):
    alice = party(protocol, "alice", True, prologue, psk)
    bob = party(protocol, "bob", False, prologue, psk)
    ends = [(alice, bob), (bob, alice)]
    messages = []
    for index, payload in enumerate(payloads):
        sender, receiver = ends[index % 2]
        if index < 3:
            text = bytes(sender.write_message(payload))
            assert bytes(receiver.read_message(text)) == payload
        else:
            text = sender.encrypt(payload)
            assert receiver.decrypt(text) == payload
        messages.append({"payload": payload.hex(), "ciphertext": text.hex()})
    vector = {
        "protocol_name": protocol,
        "init_prologue": prologue.hex(),
        "init_static": secret("alice static").hex(),
        "init_ephemeral": secret("alice ephemeral").hex(),
        "resp_prologue": prologue.hex(),
        "resp_static": secret("bob static").hex(),
        "resp_ephemeral": secret("bob ephemeral").hex(),
        "handshake_hash": alice.get_handshake_hash().hex(),
        "messages": messages,
    }
    if psk is not None:
        vector["init_psks"] = vector["resp_psks"] = [psk.hex()]
    return vector


def changed(text, index):
    spoilt = bytearray(bytes.fromhex(text))
    spoilt[index] ^= 1
    return spoilt.hex()


def refusals(vector):
    """Each names the message (from 0) that its receiver gets instead, and must refuse.

    A bad point in message 1 of XX may be refused as late as when the responder writes message 2.
    """
    texts = [message["ciphertext"] for message in vector["messages"]]
    cases = []

    def refuse(why, message, text, **fields):
        cases.append({**vector, **fields, "why": why, "refused": message, "ciphertext": text})

    for message in (1, 2):
        length = len(texts[message]) // 2
        for index in sorted({0, 31, 32, length // 2, length - 17, length - 1}):
            refuse(f"byte {index} of message {message + 1} changed", message, changed(texts[message], index))
        refuse(f"message {message + 1} cut short", message, texts[message][:-2])
        refuse(f"message {message + 1} empty", message, "")
    refuse("message 1 shorter than a key", 0, texts[0][:-2])
    refuse("all-zero point in message 1", 0, "00" * 32 + texts[0][64:])
    refuse("all-zero point in message 2", 1, "00" * 32 + texts[1][64:])
    refuse("point of small order in message 2", 1, "01" + "00" * 31 + texts[1][64:])
    with_key = "resp_psks" in vector
    wrong = vector["resp_prologue"][:-2] + "7f"
    first = 0 if with_key else 2  # with a pre-shared key, message 1 has a tag already
    refuse("another prologue at the responder", first, texts[first], resp_prologue=wrong)
    if with_key:
        refuse("another pre-shared key at the responder", 2, texts[2], resp_psks=[secret("other psk").hex()])
        refuse("no pre-shared key at the responder", 2, texts[2], resp_psks=[])
    return cases


def sealed_frames(key, message, counter=0, size=65518):
    """The frames of one message: length, then header and part, sealed."""
    cipher = ChaCha20Poly1305(key)
    parts = [message[start:start + size] for start in range(0, len(message), size)] or [b""]
    output = b""
    for index, part in enumerate(parts):
        header = b"\1" if index == len(parts) - 1 else b"\0"
        output += frame(cipher, counter + index, header + part)
    return output


def frame(cipher, counter, plaintext):
    text = cipher.encrypt(b"\0" * 4 + struct.pack("<Q", counter), plaintext, b"")
    return struct.pack(">H", len(text)) + text


def records():
    key = secret("record key")
    accepted = []
    for length in (0, 1, 1000, 65517, 65518, 65519, 131036, 131037):
        message = bytes((index * 7 + length) % 251 for index in range(length))
        wire = sealed_frames(key, message)
        accepted.append({
            "key": key.hex(), "counter": "0", "length": length,
            "message_sha256": hashlib.sha256(message).hexdigest(), "wire_bytes": len(wire),
            "wire_sha256": hashlib.sha256(wire).hexdigest()})
    short = {"key": key.hex(), "counter": "258", "length": 5, "message": b"hello".hex(),
             "wire": sealed_frames(key, b"hello", 258).hex()}
    cipher = ChaCha20Poly1305(key)
    close = {"key": key.hex(), "counter": "0", "wire": frame(cipher, 0, b"\2").hex()}
    good = frame(cipher, 0, b"\1hello")
    refused = [
        {"why": "fragment header 3", "wire": frame(cipher, 0, b"\3hello").hex()},
        {"why": "no fragment header", "wire": frame(cipher, 0, b"").hex()},
        {"why": "empty part with more to come", "wire": frame(cipher, 0, b"\0").hex()},
        {"why": "content in a close", "wire": frame(cipher, 0, b"\2bye").hex()},
        {"why": "close within a message",
         "wire": (frame(cipher, 0, b"\0part") + frame(cipher, 1, b"\2")).hex()},
        {"why": "counter 1 first", "wire": frame(cipher, 1, b"\1hello").hex()},
        {"why": "the same frame twice", "wire": (good + good).hex()},
        {"why": "a frame too short for its tag", "wire": "000f" + "00" * 15},
        {"why": "an empty frame", "wire": "0000"},
        {"why": "a changed byte", "wire": changed(good.hex(), 4)},
        {"why": "a changed tag", "wire": changed(good.hex(), len(good) - 1)},
    ]
    for case in refused:
        case["key"] = key.hex()
    return {"messages": accepted, "short": short, "close": close, "refused": refused}


def preambles():
    other = secret("another nonce")[:16]

    def refuse(why, data):
        return {"why": why, "bytes": data.hex()}

    def other_version(version, key, nonce):
        return {"bytes": preamble(key, version, nonce).hex(), "version": version, "key": key.hex(),
                "answer": preamble(key, VERSION, nonce).hex()}

    return {
        "circle": CIRCLE.hex(), "session_key": SESSION_KEY.hex(),
        "ticket_secret": TICKET_SECRET.hex(), "pairing_key": PAIRING_KEY.hex(),
        "accepted": [
            {"bytes": SESSION.hex(), "key": SESSION_KEY.hex(), "nonce": SESSION[9:25].hex()},
            {"bytes": PAIRING.hex(), "key": PAIRING_KEY.hex(), "nonce": PAIRING[9:25].hex()},
            {"bytes": preamble(SESSION_KEY, nonce=other).hex(), "key": SESSION_KEY.hex(), "nonce": other.hex()},
        ],
        "refused": [
            *(refuse(f"byte {index} changed", bytes.fromhex(changed(SESSION.hex(), index)))
              for index in (0, 7, 8, 9, 24, 25, 40)),
            refuse("another magic, authenticated", preamble(SESSION_KEY, magic=b"WAYMARX\0")),
            refuse("the key of another circle", preamble(preamble_key(b"session", secret("another circle")))),
            refuse("the circle's key derived for pairing", preamble(preamble_key(b"pairing", CIRCLE))),
            refuse("the circle itself as the key", preamble(CIRCLE)),
            refuse("no key", preamble(b"")),
            refuse("a MAC of zeros", SESSION[:25] + bytes(16)),
            refuse("a MAC of 32 bytes, cut", SESSION[:25] + hashlib.blake2b(
                SESSION[:25], digest_size=32, key=SESSION_KEY).digest()[:16]),
            refuse("only zeros", bytes(41)),
            refuse("another protocol", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n\r\n\r\n"),
        ],
        "other_version": [
            other_version(3, SESSION_KEY, other), other_version(1, PAIRING_KEY, other),
            other_version(0, SESSION_KEY, bytes(16)), other_version(255, SESSION_KEY, other)],
    }


def main():
    empty = [b"", b""]
    vectors = [
        handshake(PLAIN, SESSION, [*empty, b"a certificate and its chain", b"and mine", b"hello"]),
        handshake(PLAIN, SESSION, [*empty, b"", b"x", b""]),
        handshake(PLAIN, b"", [b"payloads", b"in every", b"message", b"of the", b"handshake"]),
        handshake(PSK, PAIRING, [*empty, b"", b"welcome", b"proof"], psk=secret("psk")),
        handshake(PSK, PAIRING, [*empty, bytes(range(256)) * 8, b"welcome", b"proof"], psk=secret("psk")),
    ]
    document = {
        "source": "noiseprotocol 0.3.1, through generate_noise.py",
        "vectors": vectors,
        "refused": refusals(vectors[0]) + refusals(vectors[3]),
        "records": records(),
        "preambles": preambles(),
    }
    path = Path(__file__).parent / "noise.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


main()
