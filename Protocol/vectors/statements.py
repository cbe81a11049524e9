"""Protocol/circle.md: keys, and the statements that they sign. generate_circle.py and others make vectors of them.

cbor2 encodes: maps are built in ascending order of keys, which is the order that cbor2 keeps.
"""

import hashlib

import cbor2
from nacl.signing import SigningKey

KINDS = {1: "genesis", 2: "device-certificate", 3: "revocation", 4: "log-cut", 5: "entitlement",
         6: "issuers", 7: "fork-proof", 8: "addresses", 9: "grant", 12: "purchase"}


def blake(prefix, *parts):
    return hashlib.blake2b(prefix.encode() + b"\0" + b"".join(parts), digest_size=32).digest()


def key(name):
    return SigningKey(hashlib.sha256(("waymark vector key " + name).encode()).digest())


def pub(signer):
    return bytes(signer.verify_key)


def fixed(text, count):
    return hashlib.sha256(text.encode()).digest()[:count]


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


ROOT, ALICE, BOB, CAROL, DAVE, MALLORY = map(key, ["root", "alice", "bob", "carol", "dave", "mallory"])
ISSUER, NEXT, STRANGER = map(key, ["issuer", "next issuer", "stranger"])
PEOPLE = {"alice": ALICE, "bob": BOB, "carol": CAROL, "dave": DAVE, "mallory": MALLORY}


def transport(name):
    return fixed("waymark vector transport " + name, 32)


GENESIS_PAIRS = {0: 1, 2: pub(ROOT), 3: pub(ALICE), 4: transport("alice"), 5: "laptop",
                 6: [pub(ISSUER), pub(NEXT)], 7: 1_700_000_000_000, 8: fixed("nonce", 16)}
GENESIS = statement(1, GENESIS_PAIRS, ROOT)
CIRCLE = statement_id(GENESIS)
OTHER_GENESIS = statement(1, {**GENESIS_PAIRS, 8: fixed("another nonce", 16)}, ROOT)


def certificate_pairs(signer, name, role, issued=1_700_000_001_000, shown=None, transport_of=None):
    return {0: 1, 1: CIRCLE, 2: pub(signer), 3: pub(PEOPLE[name]), 4: transport(transport_of or name),
            5: shown or name, 6: role, 7: issued}


def certificate(signer, name, role, **rest):
    return statement(2, certificate_pairs(signer, name, role, **rest), signer)


def revocation_pairs(signer, name, kept=None, valid=None, issued=1_700_000_002_000):
    return {0: 1, 1: CIRCLE, 2: pub(signer), 3: pub(PEOPLE[name]), 4: kept or None,
            5: sorted(valid) if valid else None, 6: issued}


def revocation(signer, name, kept=None, valid=None):
    return statement(3, revocation_pairs(signer, name, kept, valid), signer)


INCARNATION = fixed("incarnation", 16)
TIPS = sorted(fixed(f"tip {n}", 32) for n in range(3))


def cut_pairs(signer, tip, lane=1):
    return {0: 1, 1: CIRCLE, 2: pub(signer), 3: INCARNATION, 4: lane, 5: tip, 6: 1_700_000_003_000}


def entitlement_pairs(issuer=ISSUER, devices=None, start=1_000, end=2_000, issued=900, circle=None, serial="1"):
    return {0: 1, 1: circle or CIRCLE, 2: pub(issuer), 3: sorted(devices) if devices else None,
            4: "premium", 5: issued, 6: start, 7: end, 8: fixed("serial " + serial, 16), 9: "web shop"}


def entitlement(**rest):
    return statement(5, entitlement_pairs(**rest), rest.get("issuer", ISSUER))


def withdrawal_pairs(signer=ROOT, issuers=None, entitlements=None, issued=1_700_000_005_000):
    """Kind 13 is signed under its number, which is what programs from before it verify."""
    return {0: 1, 1: CIRCLE, 2: pub(signer), 3: sorted(map(pub, issuers)) if issuers else None,
            4: sorted(map(statement_id, entitlements)) if entitlements else None, 5: issued}


def withdrawal(signer=ROOT, issuers=None, entitlements=None):
    return statement(13, withdrawal_pairs(signer, issuers, entitlements), signer)


def grant_pairs(signer, name, lane=1, size=2**31):
    return {0: 1, 1: CIRCLE, 2: pub(signer), 3: pub(PEOPLE[name]), 4: lane, 5: size, 6: 1_700_000_004_000}


def grant(signer, name, lane=1, size=2**31):
    return statement(9, grant_pairs(signer, name, lane, size), signer)
