"""Protocol/circle.md: signing statements, from the chapter alone.

cbor2 encodes: maps are built in ascending order of keys, which is the order that cbor2 keeps.
"""

import hashlib

import cbor2

KINDS = {1: "genesis", 2: "device-certificate", 3: "revocation", 4: "log-cut", 5: "entitlement",
         6: "issuers", 7: "fork-proof", 8: "addresses", 9: "grant"}


def blake(prefix, *parts):
    return hashlib.blake2b(prefix.encode() + b"\0" + b"".join(parts), digest_size=32).digest()


def pub(signer):
    return bytes(signer.verify_key)


def sign(prefix, message, signer):
    return signer.sign(prefix.encode() + b"\0" + message).signature


def signature(kind, body, signer):
    return sign(f"waymark/{KINDS.get(kind, f'statement-{kind}')}-signature/v1", body, signer)


def envelope(kind, body, sig):
    return cbor2.dumps([kind, body, sig])


def statement(kind, pairs, signer):
    body = cbor2.dumps({k: v for k, v in sorted(pairs.items()) if v is not None})
    return envelope(kind, body, signature(kind, body, signer))


def statement_id(data):
    kind, body, _ = cbor2.loads(data)
    return blake("waymark/statement-id/v1", bytes([kind]), body)
