#!/usr/bin/env python3
"""Writes circle.json: statements, circles, gates and tickets, accepted and refused.

Independent of the Swift code: cbor2 encodes, PyNaCl signs, hashlib hashes. Run it in a virtual environment with both:
    python3 -m venv venv && venv/bin/pip install cbor2 pynacl && venv/bin/python generate_circle.py
"""
import base64
import hashlib
import json
import pathlib

import cbor2
from nacl import bindings
from nacl.signing import VerifyKey

from statements import (
    ALICE, BOB, CAROL, CIRCLE, DAVE, GENESIS, GENESIS_PAIRS, INCARNATION, ISSUER, MALLORY, NEXT, OTHER_GENESIS, PEOPLE,
    ROOT, STRANGER, TIPS, blake, certificate, certificate_pairs, cut_pairs, entitlement, entitlement_pairs, envelope,
    fixed, grant, grant_pairs, pub, revocation, revocation_pairs, sign, signature, statement, statement_id, transport,
    withdrawal, withdrawal_pairs)


def header(signer, clock, sequence=2, previous=True, circle=None, lane=1, **changes):
    pairs = {0: 2, 1: circle or CIRCLE, 2: pub(signer), 3: INCARNATION, 4: lane, 5: sequence,
             6: fixed("previous", 32) if previous else None, 7: clock,
             8: [[pub(BOB), INCARNATION, 7, fixed("dependency", 32)]], 9: fixed("operation", 16),
             10: 100, 11: fixed("plan", 32), 12: 50, 13: fixed("commitments", 32),
             14: 1_000 if sequence > 1 else 0}
    pairs.update({int(k[1:]): v for k, v in changes.items()})
    return cbor2.dumps({k: v for k, v in pairs.items() if v is not None})


def fork(one, other, signer=ALICE, swap=False, circle=None, signer2=None):
    ordered = sorted([one, other], key=lambda h: blake("waymark/change-set-id/v1", h), reverse=swap)
    body = cbor2.dumps({0: 1, 1: circle or CIRCLE, 3: ordered[0], 4: ordered[1]})
    sigs = (sign("waymark/change-set-signature/v1", ordered[0], signer)
            + sign("waymark/change-set-signature/v1", ordered[1], signer2 or signer))
    return envelope(7, body, sigs)


def header_id(header):
    return blake("waymark/change-set-id/v1", header)


def branch_order(header):
    return cbor2.loads(header)[5], header_id(header)


def branches(headers, signer=ALICE, circle=None, order=branch_order, signers=None):
    """Protocol/circle.md, "Branch proof". `signers`: another signer for the headers at these positions."""
    ordered = sorted(headers, key=order) if order else headers
    signatures = b"".join(
        sign("waymark/change-set-signature/v1", each, (signers or {}).get(n, signer)) for n, each in enumerate(ordered))
    return envelope(10, cbor2.dumps({0: 1, 1: circle or CIRCLE, 3: ordered}), signatures)


def star(count, signer=ALICE, sequence=2, clock=10, **changes):
    """Headers that follow one set."""
    return [header(signer, clock + n, sequence, **changes) for n in range(count)]


def incarnation_of(number, n):
    return bytes([(number - 1) << 4 | n % 16]) + fixed(f"incarnation {n}", 15)


def first_sets(count, number, signer=ALICE):
    """The first sets of logs whose incarnations have one number."""
    return [header(signer, 10, 1, False, _3=incarnation_of(number, n)) for n in range(count)]


def pairs_of(count, signer=ALICE, sequence=2):
    """Forks at consecutive sequences, of two headers each."""
    return [each for n in range(count) for each in star(2, signer, sequence + n)]


MANY_DEPENDENCIES = sorted([pub(BOB), INCARNATION, 7, fixed(f"dependency {n}", 32)] for n in range(64))

statements = []


def accepted(name, data, signer):
    kind, _, _ = cbor2.loads(data)
    identifier = statement_id(data)
    statements.append({
        "name": name, "bytes": data.hex(), "accepted": True, "kind": kind, "id": identifier.hex(),
        "circle": (identifier if kind == 1 else CIRCLE).hex(), "signer": pub(signer).hex()})


def refused(name, data, reason="malformed"):
    statements.append({"name": name, "bytes": data.hex(), "accepted": False, "reason": reason})


def refused_pairs(name, kind, pairs, signer, **changes):
    refused(name, statement(kind, {**pairs, **{int(k[1:]): v for k, v in changes.items()}}, signer))


def add_statements():
    cert = certificate_pairs(ROOT, "bob", 1)
    rev = revocation_pairs(ROOT, "bob", [[INCARNATION, 0, TIPS[:1]], [INCARNATION, 1, TIPS]], TIPS[:2])
    cut = cut_pairs(ALICE, TIPS[0])
    ent = entitlement_pairs(devices=[pub(ALICE), pub(BOB)])
    iss = {0: 1, 1: CIRCLE, 2: pub(ROOT), 3: [pub(NEXT)], 4: 5}
    gra = grant_pairs(ALICE, "bob")
    adr = {0: 1, 1: CIRCLE, 2: pub(ALICE), 3: 2**63, 4: ["192.0.2.1:7433", "[2001:db8::1]:7433"]}
    accepted("genesis with two issuers", GENESIS, ROOT)
    accepted("genesis without issuers", statement(1, {**GENESIS_PAIRS, 6: None}, ROOT), ROOT)
    accepted("certificate of an admin by the root", statement(2, cert, ROOT), ROOT)
    accepted("certificate of a member by an admin", certificate(ALICE, "carol", 0, shown="Carols Händi"), ALICE)
    accepted("revocation that keeps two logs", statement(3, rev, ROOT), ROOT)
    accepted("revocation that keeps nothing", revocation(ROOT, "bob"), ROOT)
    accepted("log cut at a tip", statement(4, cut, ALICE), ALICE)
    accepted("log cut of everything", statement(4, {**cut, 5: None}, ALICE), ALICE)
    accepted("entitlement for two devices", statement(5, ent, ISSUER), ISSUER)
    accepted("entitlement for all", statement(5, {**ent, 3: None}, ISSUER), ISSUER)
    accepted("entitlement of an unknown issuer", entitlement(issuer=STRANGER), STRANGER)
    accepted("issuers", statement(6, iss, ROOT), ROOT)
    accepted("fork at the second set", fork(header(ALICE, 10), header(ALICE, 11)), ALICE)
    accepted("fork at the first set", fork(header(ALICE, 10, 1, False), header(ALICE, 11, 1, False)), ALICE)
    accepted("fork of sets without values", fork(
        header(ALICE, 10, _12=None, _13=None), header(ALICE, 11, _12=None, _13=None)), ALICE)
    accepted("fork of a long log", fork(header(ALICE, 10, _14=2**62), header(ALICE, 2**64 - 2, _14=2**62)), ALICE)
    accepted("fork at the greatest sequence", fork(
        header(ALICE, 10, 2**63 - 1), header(ALICE, 11, 2**63 - 1)), ALICE)
    accepted("addresses", statement(8, adr, ALICE), ALICE)
    accepted("no addresses", statement(8, {**adr, 4: []}, ALICE), ALICE)
    accepted("grant of records", statement(9, gra, ALICE), ALICE)
    accepted("grant of settings by the root", grant(ROOT, "carol", 0, 1), ROOT)
    accepted("grant of the most", statement(9, {**gra, 5: 2**50}, ALICE), ALICE)
    accepted("grant by a device that no statement names", grant(STRANGER, "bob"), STRANGER)
    accepted("branches: seventeen sets after one", branches(star(17)), ALICE)
    accepted("branches: seventeen logs of one number", branches(first_sets(17, 5)), ALICE)
    accepted("branches: seventeen first sets, two of them of one log", branches(
        first_sets(16, 5) + [header(ALICE, 11, 1, False, _3=incarnation_of(5, 0))]), ALICE)
    accepted("branches: sixteen forks of two", branches(pairs_of(16)), ALICE)
    accepted("branches: two forks of nine", branches(star(9) + star(9, sequence=5)), ALICE)
    accepted("branches: two forks of two logs of one number", branches(
        star(9, _3=incarnation_of(16, 1)) + star(9, _3=incarnation_of(16, 2))), ALICE)
    accepted("branches: logs and a fork of one of them", branches(
        first_sets(9, 1) + star(9, _3=incarnation_of(1, 3))), ALICE)
    accepted("branches: in more than 64 KiB", branches(
        [each for n in range(16) for each in star(2, sequence=2 + n, _8=MANY_DEPENDENCIES)]), ALICE)
    add_withdrawals()
    newer = statement(11, {0: 1, 1: CIRCLE, 2: pub(BOB), 3: ["anything", [None, 1.5]], 99: -1}, BOB)
    accepted("a kind of a newer version", newer, BOB)

    body = cbor2.dumps({k: v for k, v in cert.items()})
    good = signature(2, body, ROOT)
    refused("empty", b"")
    refused("cut short", statement(2, cert, ROOT)[:-1])
    refused("a byte behind", statement(2, cert, ROOT) + b"\0")
    refused("kind zero", envelope(0, body, good))
    refused("kind sixty-four", envelope(64, body, signature(64, body, ROOT)))
    refused("two items", cbor2.dumps([2, body]))
    refused("signature too short", envelope(2, body, good[:-1]))
    refused("signature too long", envelope(2, body, good + good))
    refused("kind with a longer integer", bytes.fromhex("831802") + statement(2, cert, ROOT)[2:])
    long = {0: 1, 1: CIRCLE, 2: pub(BOB), 3: [bytes(40_000), bytes(25_000)]}
    missing = 65_536 - len(statement(11, long, BOB))
    at_limit, beyond = ({**long, 3: [bytes(40_000), bytes(25_000 + missing + more)]} for more in (0, 1))
    accepted("a statement of 64 KiB", statement(11, at_limit, BOB), BOB)
    refused("a statement of 64 KiB and one byte", statement(11, beyond, BOB))
    many = {0: 1, 1: CIRCLE, 2: pub(BOB), 3: [0] * 19_991}
    accepted("a newer kind of 20,000 items", statement(11, many, BOB), BOB)
    refused_pairs("a newer kind of 20,001 items", 11, {**many, 3: [0] * 19_992}, BOB)
    refused_pairs("a newer kind with 33 pairs", 11, {0: 1, 1: CIRCLE, 2: pub(BOB), **{k: 0 for k in range(3, 33)}}, BOB)
    flipped = bytearray(good)
    flipped[5] ^= 1
    refused("a bit of the signature", envelope(2, body, bytes(flipped)), "badSignature")
    changed = cbor2.dumps({**cert, 5: "boc"})
    refused("a letter of the name", envelope(2, changed, good), "badSignature")
    refused("signed by another key", envelope(2, body, signature(2, body, ALICE)), "badSignature")
    refused("signed as another kind", envelope(2, body, signature(3, body, ROOT)), "badSignature")
    order = 2**252 + 27742317777372353535851937790883648493
    high = good[:32] + (int.from_bytes(good[32:], "little") + order).to_bytes(32, "little")
    refused("a signature that is not reduced", envelope(2, body, high), "badSignature")

    refused_pairs("version two", 2, cert, ROOT, _0=2)
    refused_pairs("no version", 2, cert, ROOT, _0=None)
    refused_pairs("an unknown key", 2, cert, ROOT, _8=1)
    refused_pairs("a missing key", 2, cert, ROOT, _7=None)
    refused_pairs("a circle of 31 bytes", 2, cert, ROOT, _1=CIRCLE[:-1])
    refused_pairs("an unknown role", 2, cert, ROOT, _6=2)
    refused_pairs("an empty name", 2, cert, ROOT, _5="")
    refused_pairs("a name of 65 bytes", 2, cert, ROOT, _5="a" * 65)
    accepted("a name of 64 bytes", statement(2, {**cert, 5: "ä" * 32}, ROOT), ROOT)
    for code in [0x00, 0x1b, 0x7f, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180f, 0x200b,
                 0x200d, 0x200f, 0x2028, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0x2800, 0x3164, 0xfeff, 0xffa0,
                 0xfff0, 0xfffb, 0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0041, 0xe007f, 0xe0fff]:
        refused_pairs(f"a name with U+{code:04X}", 2, cert, ROOT, _5="a" + chr(code) + "b")
    for code in [0x20, 0x7e, 0xa0, 0xac, 0xae, 0x34e, 0x1161, 0x180a, 0x200a, 0x2010, 0x2027, 0x202f, 0x205f, 0x2070,
                 0x3165, 0xfe0f, 0xfffc, 0x1f3dd, 0xe1000]:
        accepted(f"a name with U+{code:04X}", statement(2, {**cert, 5: "a" + chr(code) + "b"}, ROOT), ROOT)
    refused_pairs("a name that is bytes", 2, cert, ROOT, _5=b"bob")
    refused_pairs("a time of 49 bits", 2, cert, ROOT, _7=2**48)
    accepted("a time of 48 bits", statement(2, {**cert, 7: 2**48 - 1}, ROOT), ROOT)
    swapped = cbor2.dumps({0: 1, 2: cert[2], 1: CIRCLE, **{k: cert[k] for k in range(3, 8)}})
    refused("keys out of order", envelope(2, swapped, signature(2, swapped, ROOT)))
    twice = body[:1].replace(b"\xa8", b"\xa9") + body[1:] + cbor2.dumps(7) + cbor2.dumps(1)
    refused("a key twice", envelope(2, twice, signature(2, twice, ROOT)))
    indefinite = b"\xbf" + body[1:] + b"\xff"
    refused("a map of indefinite length", envelope(2, indefinite, signature(2, indefinite, ROOT)))

    refused_pairs("genesis with the root as device", 1, GENESIS_PAIRS, ROOT, _3=pub(ROOT))
    refused_pairs("genesis with an empty list of issuers", 1, GENESIS_PAIRS, ROOT, _6=[])
    refused_pairs("genesis with three issuers", 1, GENESIS_PAIRS, ROOT, _6=[pub(ISSUER), pub(NEXT), pub(BOB)])
    refused_pairs("genesis with one issuer twice", 1, GENESIS_PAIRS, ROOT, _6=[pub(ISSUER)] * 2)
    refused_pairs("genesis that names a circle", 1, GENESIS_PAIRS, ROOT, _1=CIRCLE)
    refused_pairs("genesis with a nonce of 15 bytes", 1, GENESIS_PAIRS, ROOT, _8=fixed("nonce", 15))
    refused_pairs("revocation with tips out of order", 3, rev, ROOT, _4=[[INCARNATION, 0, TIPS[::-1]]])
    refused_pairs("revocation with a tip twice", 3, rev, ROOT, _4=[[INCARNATION, 0, TIPS[:1] * 2]])
    refused_pairs("revocation that keeps a log without tips", 3, rev, ROOT, _4=[[INCARNATION, 0, []]])
    refused_pairs("revocation with an empty list of logs", 3, rev, ROOT, _4=[])
    refused_pairs("revocation with a log twice", 3, rev, ROOT,
                  _4=[[INCARNATION, 0, TIPS[:1]], [INCARNATION, 0, TIPS[1:2]]])
    refused_pairs("revocation with lanes out of order", 3, rev, ROOT,
                  _4=[[INCARNATION, 1, TIPS[:1]], [INCARNATION, 0, TIPS[:1]]])
    refused_pairs("revocation of an unknown lane", 3, rev, ROOT, _4=[[INCARNATION, 2, TIPS[:1]]])
    refused_pairs("revocation with valid ids out of order", 3, rev, ROOT, _5=[TIPS[1], TIPS[0]])
    refused_pairs("revocation with an empty list of valid ids", 3, rev, ROOT, _5=[])
    refused_pairs("log cut of an unknown lane", 4, cut, ALICE, _4=2)
    refused_pairs("entitlement that ends as it starts", 5, ent, ISSUER, _6=1_000, _7=1_000)
    refused_pairs("entitlement for nobody", 5, ent, ISSUER, _3=[])
    refused_pairs("entitlement for one device twice", 5, ent, ISSUER, _3=[pub(BOB), pub(BOB)])
    refused_pairs("entitlement for 65 devices", 5, ent, ISSUER,
                  _3=sorted(fixed(f"device {n}", 32) for n in range(65)))
    refused_pairs("entitlement with an empty plan", 5, ent, ISSUER, _4="")
    refused_pairs("issuers without issuers", 6, iss, ROOT, _3=[])
    refused_pairs("17 addresses", 8, adr, ALICE, _4=["192.0.2.1:1"] * 17)
    refused_pairs("an address with a space", 8, adr, ALICE, _4=["192.0.2.1 :1"])
    refused_pairs("an empty address", 8, adr, ALICE, _4=[""])
    refused_pairs("an address of 129 bytes", 8, adr, ALICE, _4=["a" * 129])
    refused_pairs("grant of nothing", 9, gra, ALICE, _5=0)
    refused_pairs("grant of more than the most", 9, gra, ALICE, _5=2**50 + 1)
    refused_pairs("grant of a negative number of bytes", 9, gra, ALICE, _5=-1)
    refused_pairs("grant in an unknown lane", 9, gra, ALICE, _4=2)
    refused_pairs("grant without a device", 9, gra, ALICE, _3=None)
    refused_pairs("grant without a time", 9, gra, ALICE, _6=None)
    refused_pairs("grant with one key more", 9, gra, ALICE, _7=0)
    gra_body = cbor2.dumps(gra)
    refused("grant signed by another admin", envelope(9, gra_body, signature(9, gra_body, CAROL)), "badSignature")
    refused("grant signed as a newer kind", envelope(
        9, gra_body, sign("waymark/statement-9-signature/v1", gra_body, ALICE)), "badSignature")
    refused_pairs("a newer kind without a signer", 11, {0: 1, 1: CIRCLE, 3: 1}, ROOT)
    refused_pairs("a newer kind that holds a map", 11, {0: 1, 1: CIRCLE, 2: pub(ROOT), 3: {1: 2}}, ROOT)

    one, other = header(ALICE, 10), header(ALICE, 11)
    refused("fork proof with the greater id first", fork(one, other, swap=True))
    refused("fork proof of one set", fork(one, one))
    refused("fork proof of two sequences", fork(one, header(ALICE, 11, 3)))
    refused("fork proof of two lanes", fork(one, header(ALICE, 11, lane=0)))
    refused("fork proof of two devices", fork(one, header(BOB, 11)))
    refused("fork proof with and without a set before", fork(header(ALICE, 10, 2, False), one))
    refused("fork proof beyond the greatest sequence", fork(header(ALICE, 10, 2**63), header(ALICE, 11, 2**63)))
    refused("fork proof of a header with 33 pairs", fork(
        one, header(ALICE, 11, **{f"_{key}": 0 for key in range(15, 33)})))
    refused("fork proof of a header that holds a map", fork(one, header(ALICE, 11, _15={0: 0})))
    refused("fork proof of another circle", fork(one, other, circle=TIPS[0]))
    refused("fork proof of headers of version 1", fork(header(ALICE, 10, _0=1), header(ALICE, 11, _0=1)))
    refused("fork proof with a header of version 1", fork(one, header(ALICE, 11, _0=1)))
    refused("fork proof signed by another key", fork(one, other, signer2=BOB), "badSignature")
    refused("branch proof of sixteen branches", branches(star(16)))
    refused("branch proof of eighteen branches", branches(star(18)))
    refused("branch proof of one branch", branches([]))
    refused("branch proof of thirty-four headers", branches(pairs_of(17)))
    refused("branch proof with a set that has no fork", branches(star(17) + star(1, sequence=9)))
    refused("branch proof of seventeen sets after two", branches(star(9) + star(8, _6=fixed("another", 32))))
    refused("branch proof of seventeen second sets of two logs", branches(
        star(9, _3=incarnation_of(5, 1)) + star(8, _3=incarnation_of(5, 2))))
    refused("branch proof of two numbers", branches(first_sets(16, 5) + first_sets(1, 6)))
    refused("branch proof of two lanes", branches(star(16) + [header(ALICE, 99, lane=0)]))
    refused("branch proof of two devices", branches(star(16) + star(1, BOB, clock=99), signers={16: BOB}))
    refused("branch proof of another circle", branches(star(17), circle=TIPS[0]))
    refused("branch proof of headers of version 1", branches(star(17, _0=1)))
    refused("branch proof out of order", branches(star(17), order=lambda h: header_id(h)[::-1]))
    refused("branch proof with a header twice", branches(star(16) + star(1)))
    refused("branch proof signed by another key", branches(star(17), signers={16: BOB}), "badSignature")
    few = cbor2.loads(branches(star(17)))
    refused("branch proof with a signature too few", envelope(10, few[1], few[2][:-64]), "badSignature")
    refused("branch proof with half a signature", envelope(10, few[1], few[2][:-32]))
    body = cbor2.loads(few[1])
    named = cbor2.dumps({0: 1, 1: CIRCLE, 2: pub(ALICE), 3: body[3]})
    refused("branch proof with a signer", envelope(10, named, few[2]))
    short = cbor2.loads(fork(one, other))
    refused("fork proof with one signature", envelope(7, short[1], short[2][:64]))


def add_withdrawals():
    ids = sorted(fixed(f"entitlement {n}", 32) for n in range(257))
    keys = sorted(fixed(f"issuer {n}", 32) for n in range(257))
    both = {**withdrawal_pairs(issuers=[ISSUER, NEXT]), 4: ids[:2]}
    one = withdrawal_pairs(ISSUER, entitlements=[entitlement()])
    accepted("withdrawal of an issuer", withdrawal(issuers=[ISSUER]), ROOT)
    accepted("withdrawal of issuers and entitlements", statement(13, both, ROOT), ROOT)
    accepted("withdrawal of an entitlement by its issuer", statement(13, one, ISSUER), ISSUER)
    accepted("withdrawal by a key that the circle does not know", withdrawal(STRANGER, issuers=[ISSUER]), STRANGER)
    accepted("withdrawal of the root key", withdrawal(issuers=[ROOT]), ROOT)
    accepted("withdrawal of 256 issuers and 256 entitlements",
             statement(13, {**both, 3: keys[:256], 4: ids[:256]}, ROOT), ROOT)
    refused_pairs("withdrawal of nothing", 13, both, ROOT, _3=None, _4=None)
    refused_pairs("withdrawal with an empty list of issuers", 13, both, ROOT, _3=[])
    refused_pairs("withdrawal with an empty list of entitlements", 13, both, ROOT, _4=[])
    refused_pairs("withdrawal of 257 issuers", 13, both, ROOT, _3=keys)
    refused_pairs("withdrawal of 257 entitlements", 13, both, ROOT, _4=ids)
    refused_pairs("withdrawal with issuers out of order", 13, both, ROOT, _3=both[3][::-1])
    refused_pairs("withdrawal with an issuer twice", 13, both, ROOT, _3=both[3][:1] * 2)
    refused_pairs("withdrawal with entitlements out of order", 13, both, ROOT, _4=ids[:2][::-1])
    refused_pairs("withdrawal with an entitlement twice", 13, both, ROOT, _4=ids[:1] * 2)
    refused_pairs("withdrawal of an issuer of 31 bytes", 13, both, ROOT, _3=[keys[0][:-1]])
    refused_pairs("withdrawal of an entitlement of 31 bytes", 13, both, ROOT, _4=[ids[0][:-1]])
    refused_pairs("withdrawal without a time", 13, both, ROOT, _5=None)
    refused_pairs("withdrawal at a time of 49 bits", 13, both, ROOT, _5=2**48)
    refused_pairs("withdrawal with one key more", 13, both, ROOT, _6=0)
    refused_pairs("withdrawal of version two", 13, both, ROOT, _0=2)
    body = cbor2.loads(statement(13, one, ISSUER))[1]
    refused("withdrawal signed by another key", envelope(13, body, signature(13, body, ROOT)), "badSignature")
    refused("withdrawal signed under its name", envelope(
        13, body, sign("waymark/withdrawal-signature/v1", body, ISSUER)), "badSignature")


circles = []


def circle(name, held, members, revoked=(), logs=(), dropped=()):
    """`dropped`: statements that are offered and not kept. A log may end with the line of a branch proof."""
    ids = sorted({statement_id(s) for s in held} - {statement_id(s) for s in dropped})
    circles.append({
        "name": name, "statements": [s.hex() for s in held],
        "setHash": blake("waymark/certificates/v1", *ids).hex(),
        "members": {pub(PEOPLE[m]).hex(): {"name": n, "role": r, "links": l, "transport": transport(t).hex()}
                    for m, (n, r, l, t) in members.items()},
        "revoked": sorted(pub(PEOPLE[m]).hex() for m in revoked),
        "logs": [{"device": pub(PEOPLE[m]).hex(), "incarnation": INCARNATION.hex(), "lane": lane,
                  "admission": admission,
                  "cuts": sorted([sorted(t.hex() for t in cut) for cut in cuts]),
                  **({"line": str(line[0])} if line else {})}
                 for m, lane, admission, cuts, *line in logs]})


def add_circles():
    alice = ("laptop", "admin", 1, "alice")
    bob = certificate(ALICE, "bob", 1)
    carol = certificate(ALICE, "carol", 1)
    dave = certificate(BOB, "dave", 0)
    b, c, d = ("bob", "admin", 2, "bob"), ("carol", "admin", 2, "carol"), ("dave", "member", 3, "dave")
    circle("the founder alone", [GENESIS], {"alice": alice},
           logs=[("alice", 1, "open", []), ("bob", 1, "unknown", [])])
    circle("a chain of three", [GENESIS, bob, dave], {"alice": alice, "bob": b, "dave": d})
    circle("a member's certificates don't count",
           [GENESIS, certificate(ALICE, "bob", 0), dave],
           {"alice": alice, "bob": ("bob", "member", 2, "bob")})
    circle("a missing link", [GENESIS, dave], {"alice": alice})
    circle("the newest certificate names the device, any admin certificate makes it one",
           [GENESIS, bob, certificate(ALICE, "bob", 0, issued=1_700_000_009_000, shown="Bob II", transport_of="dave")],
           {"alice": alice, "bob": ("Bob II", "admin", 2, "dave")})
    circle("revoked by the root, the log kept to a tip",
           [GENESIS, bob, revocation(ROOT, "bob", [[INCARNATION, 1, TIPS[:1]]])],
           {"alice": alice}, ["bob"],
           [("bob", 1, "cut", [TIPS[:1]]), ("bob", 0, "cut", [[]]), ("alice", 1, "open", [])])
    circle("two revocations intersect",
           [GENESIS, bob, carol, revocation(ROOT, "bob", [[INCARNATION, 1, TIPS[:1]]]),
            revocation(CAROL, "bob", [[INCARNATION, 0, TIPS[:1]], [INCARNATION, 1, TIPS[1:]]])],
           {"alice": alice, "carol": c}, ["bob"],
           [("bob", 1, "cut", [TIPS[:1], TIPS[1:]]), ("bob", 0, "cut", [[]])])
    circle("what a revoked admin signed is void unless named",
           [GENESIS, bob, dave, certificate(BOB, "mallory", 0),
            revocation(ROOT, "bob", valid=[statement_id(dave)])],
           {"alice": alice, "dave": d}, ["bob"], [("mallory", 1, "cut", [[]])])
    circle("a certificate named by only one of two revocations",
           [GENESIS, bob, carol, dave, revocation(ROOT, "bob", valid=[statement_id(dave)]),
            revocation(ALICE, "bob")],
           {"alice": alice, "carol": c}, ["bob"])
    circle("admins of equal rank revoke each other: both count",
           [GENESIS, bob, carol, revocation(BOB, "carol"), revocation(CAROL, "bob")],
           {"alice": alice}, ["bob", "carol"])
    circle("the shorter chain voids the longer one's revocation",
           [GENESIS, bob, revocation(BOB, "alice"), revocation(ALICE, "bob")],
           {"alice": alice}, ["bob"])
    lost = revocation(BOB, "alice", [[INCARNATION, 1, TIPS[2:]]], [statement_id(bob), statement_id(carol)])
    circle("the founder's device is lost: another admin revokes it",
           [GENESIS, bob, carol, lost, certificate(ALICE, "mallory", 1)],
           {"bob": b, "carol": c}, ["alice"], [("alice", 1, "cut", [TIPS[2:]])])
    circle("an admin that voids its own chain",
           [GENESIS, bob, carol, revocation(BOB, "alice")], {}, ["alice"])
    circle("below a void link nothing counts",
           [GENESIS, bob, certificate(ROOT, "carol", 0), dave, revocation(BOB, "carol"), revocation(ROOT, "alice")],
           {"carol": ("carol", "member", 1, "carol")}, ["alice"], [("dave", 1, "cut", [[]])])
    circle("a revocation of length 3 ends a chain before length 4 is judged",
           [GENESIS, bob, carol, certificate(CAROL, "dave", 1), lost_all_but_bob(bob),
            revocation(DAVE, "bob")],
           {"bob": b}, ["alice"], [("carol", 1, "cut", [[]]), ("dave", 1, "cut", [[]])])
    of_bob = [branches(star(17, BOB, sequence), BOB) for sequence in (2, 5)]
    circle("a branch proof ends the logs of its number in its lane",
           [GENESIS, bob, of_bob[1]], {"alice": alice, "bob": b},
           logs=[("bob", 1, "cut", [], 4), ("bob", 0, "open", []), ("alice", 1, "open", [])])
    others = branches(first_sets(17, (INCARNATION[0] >> 4 ^ 8) + 1, BOB), BOB)
    circle("a branch proof of another number", [GENESIS, bob, others], {"alice": alice, "bob": b},
           logs=[("bob", 1, "open", [])])
    circle("of two branch proofs of a tree the lower one counts",
           [GENESIS, bob, *of_bob], {"alice": alice, "bob": b},
           logs=[("bob", 1, "cut", [], 1)], dropped=of_bob[1:])
    equal = sorted([of_bob[0], branches(star(17, BOB, clock=500), BOB)], key=statement_id)
    circle("of two branch proofs with one line the smaller id is kept",
           [GENESIS, bob, *equal], {"alice": alice, "bob": b},
           logs=[("bob", 1, "cut", [], 1)], dropped=equal[1:])
    circle("a branch proof and a log cut",
           [GENESIS, bob, of_bob[1], statement(4, cut_pairs(BOB, TIPS[0]), BOB)], {"alice": alice, "bob": b},
           logs=[("bob", 1, "cut", [TIPS[:1]], 4)])
    circle("a revocation decides instead of a branch proof",
           [GENESIS, bob, of_bob[0], revocation(ROOT, "bob", [[INCARNATION, 1, TIPS[:1]]])],
           {"alice": alice}, ["bob"], [("bob", 1, "cut", [TIPS[:1]]), ("bob", 0, "cut", [[]])])
    circle("a branch proof against a device without a certificate", [GENESIS, of_bob[0]], {"alice": alice},
           logs=[("bob", 1, "unknown", [])])
    circle("a revoked key does not return",
           [GENESIS, bob, revocation(ALICE, "bob"), certificate(ROOT, "bob", 1)], {"alice": alice}, ["bob"])
    circle("nor does a revoked transport key",
           [GENESIS, bob, revocation(ALICE, "bob"), certificate(ROOT, "carol", 0, transport_of="bob")],
           {"alice": alice}, ["bob"])
    circle("the root can't be revoked",
           [GENESIS, statement(3, {**revocation_pairs(ALICE, "bob"), 3: pub(ROOT)}, ALICE),
            certificate(ROOT, "carol", 0)],
           {"alice": alice, "carol": ("carol", "member", 1, "carol")})
    circle("one transport key for two devices: the shorter chain has it",
           [GENESIS, bob, certificate(BOB, "dave", 0, transport_of="bob")], {"alice": alice, "bob": b},
           logs=[("dave", 1, "open", [])])
    circle("a revocation by a member does not count",
           [GENESIS, certificate(ALICE, "bob", 0), revocation(BOB, "alice")],
           {"alice": alice, "bob": ("bob", "member", 2, "bob")})
    promoted = certificate(CAROL, "dave", 1, issued=1_700_000_009_000)
    circle("a member that another admin promotes",
           [GENESIS, bob, carol, certificate(BOB, "dave", 0), promoted],
           {"alice": alice, "bob": b, "carol": c, "dave": ("dave", "admin", 3, "dave")})
    circle("a member can't promote itself",
           [GENESIS, bob, dave, certificate(DAVE, "dave", 1, issued=1_700_000_009_000)],
           {"alice": alice, "bob": b, "dave": d})
    circle("of two members that promote each other neither is an admin",
           [GENESIS, certificate(ALICE, "bob", 0), certificate(ALICE, "carol", 0),
            certificate(BOB, "carol", 1, issued=1_700_000_009_000),
            certificate(CAROL, "bob", 1, issued=1_700_000_009_000)],
           {"alice": alice, "bob": ("bob", "member", 2, "bob"), "carol": ("carol", "member", 2, "carol")})
    circle("without its promoter a device is the member that it was",
           [GENESIS, bob, carol, certificate(BOB, "dave", 0), promoted, revocation(ALICE, "carol")],
           {"alice": alice, "bob": b, "dave": d}, ["carol"])
    circle("a promotion that the revocation of the promoter names",
           [GENESIS, bob, carol, certificate(BOB, "dave", 0), promoted,
            revocation(ALICE, "carol", valid=[statement_id(promoted)])],
           {"alice": alice, "bob": b, "dave": ("dave", "admin", 3, "dave")}, ["carol"])
    circle("a promoted device revokes its promoter and keeps its own promotion",
           [GENESIS, certificate(ALICE, "bob", 0), certificate(ALICE, "bob", 1, issued=1_700_000_009_000),
            revocation(BOB, "alice", valid=[statement_id(certificate(ALICE, "bob", 1, issued=1_700_000_009_000))])],
           {"bob": b}, ["alice"])
    circle("an admin that certifies itself under another name",
           [GENESIS, certificate(ALICE, "alice", 1, issued=1_700_000_009_000, shown="desk")],
           {"alice": ("desk", "admin", 2, "alice")})
    circle("an admin that revokes itself has left",
           [GENESIS, bob, dave, revocation(BOB, "bob", [[INCARNATION, 1, TIPS[:1]]], [statement_id(dave)])],
           {"alice": alice, "dave": d}, ["bob"], [("bob", 1, "cut", [TIPS[:1]])])
    circle("a member that revokes itself has only asked to leave",
           [GENESIS, bob, dave, revocation(DAVE, "dave", [[INCARNATION, 1, TIPS[:1]]])],
           {"alice": alice, "bob": b, "dave": d}, logs=[("dave", 1, "open", [])])
    circle("an admin completes the request of a member",
           [GENESIS, bob, dave, revocation(DAVE, "dave", [[INCARNATION, 1, TIPS[:1]]]),
            revocation(ALICE, "dave", [[INCARNATION, 1, TIPS[:1]]])],
           {"alice": alice, "bob": b}, ["dave"], [("dave", 1, "cut", [TIPS[:1]])])
    circle("a log cut by its own device",
           [GENESIS, statement(4, cut_pairs(ALICE, TIPS[0]), ALICE)], {"alice": alice},
           logs=[("alice", 1, "cut", [TIPS[:1]]), ("alice", 0, "open", [])])
    cut = statement(4, cut_pairs(BOB, None), BOB)
    kept = [[INCARNATION, 1, TIPS[:1]]]
    circle("a log cut by a stolen key is void",
           [GENESIS, bob, cut, revocation(ALICE, "bob", kept)], {"alice": alice}, ["bob"],
           [("bob", 1, "cut", [TIPS[:1]])])
    circle("a log cut that the revocation names",
           [GENESIS, bob, cut, revocation(ALICE, "bob", kept, [statement_id(cut)])], {"alice": alice},
           ["bob"], [("bob", 1, "cut", [[]])])


def lost_all_but_bob(bob):
    return revocation(BOB, "alice", valid=[statement_id(bob)])


quotas = []
shares = []


def quota(name, held, **sizes):
    quotas.append({
        "name": name, "statements": [s.hex() for s in held],
        "quotas": {pub(PEOPLE[m]).hex(): {"settings": settings, "records": records}
                   for m, (settings, records) in sizes.items()}})


def add_quotas():
    usual = (4 * 2**20, 2**30)
    bob, carol = certificate(ALICE, "bob", 1), certificate(ALICE, "carol", 0)
    more, most = grant(ALICE, "carol", size=2**31), grant(BOB, "carol", size=2**32)
    quota("no grant", [GENESIS, bob], alice=usual, bob=usual, carol=usual)
    quota("a grant by an admin", [GENESIS, carol, more], alice=usual, carol=(usual[0], 2**31))
    quota("a grant by the root key", [GENESIS, carol, grant(ROOT, "carol", 0, 2**23)], carol=(2**23, usual[1]))
    quota("an admin's grant to itself", [GENESIS, grant(ALICE, "alice")], alice=(usual[0], 2**31))
    quota("the greatest of two grants", [GENESIS, bob, carol, most, more], carol=(usual[0], 2**32))
    quota("a grant below the quota that every device has", [GENESIS, carol, grant(ALICE, "carol", size=1)], carol=usual)
    quota("a grant by a member", [GENESIS, carol, grant(CAROL, "carol")], carol=usual)
    quota("a grant by a key that is no device", [GENESIS, carol, grant(STRANGER, "carol")], carol=usual)
    quota("a grant by an admin whose certificate is missing", [GENESIS, carol, most], carol=usual)
    quota("no revocation voids a grant", [GENESIS, bob, carol, most, revocation(ALICE, "bob")], carol=(usual[0], 2**32))
    quota("no revocation voids a grant of a device whose certificate it voids",
          [GENESIS, bob, certificate(BOB, "dave", 1), carol, grant(DAVE, "carol"), revocation(ALICE, "bob")],
          carol=(usual[0], 2**31))
    quota("a grant to a revoked device",
          [GENESIS, bob, carol, most, revocation(ALICE, "carol")], carol=(usual[0], 2**32))
    quota("a grant to a device that is not certified", [GENESIS, bob, grant(BOB, "dave")], dave=(usual[0], 2**31))
    quota("a grant by an admin that a member certified",
          [GENESIS, certificate(ALICE, "bob", 0), certificate(BOB, "dave", 1), carol, grant(DAVE, "carol")],
          carol=usual)
    for size in [1, 31, 32, 33, *usual, 2**50]:
        for number in [1, 2, 16]:
            shares.append({"quota": size, "number": number, "share": size // 2 if number == 1 else size // 32})


gates = []


def gate(name, held, device, time, source, until=None, reason=None, change=None, gate_time=None):
    gates.append({
        "name": name, "statements": [s.hex() for s in held], "device": pub(device).hex(), "time": time,
        "source": source, "validUntil": until, "reason": reason, "nextChange": change,
        "gateTime": gate_time})


def add_gates():
    bob = certificate(ALICE, "bob", 0)
    one = entitlement()
    mine = entitlement(devices=[pub(ALICE)])
    gate("nothing held", [GENESIS], ALICE, 1_500, "none", reason="free_tier", gate_time=1_500)
    gate("valid", [GENESIS, one], ALICE, 1_500, "certificate", 2_000, None, 2_000)
    gate("valid from its first millisecond", [GENESIS, one], ALICE, 1_000, "certificate", 2_000, None, 2_000)
    gate("to its last", [GENESIS, one], ALICE, 1_999, "certificate", 2_000, None, 2_000)
    gate("expired at the very millisecond", [GENESIS, one], ALICE, 2_000, "none", reason="entitlement_expired")
    gate("not yet valid", [GENESIS, one], ALICE, 999, "none", reason="entitlement_not_yet_valid", change=1_000)
    gate("for this device", [GENESIS, bob, mine], ALICE, 1_500, "certificate", 2_000, None, 2_000)
    gate("for another device", [GENESIS, bob, mine], BOB, 1_500, "none", reason="free_tier")
    gate("of an unknown issuer", [GENESIS, entitlement(issuer=STRANGER, issued=9_000)], ALICE, 1_500, "none",
         reason="free_tier", gate_time=1_500)
    gate("of the next issuer", [GENESIS, entitlement(issuer=NEXT)], ALICE, 1_500, "certificate", 2_000, None, 2_000)
    trust = statement(6, {0: 1, 1: CIRCLE, 2: pub(ROOT), 3: [pub(STRANGER)], 4: 5}, ROOT)
    gate("of an issuer that the root pinned", [GENESIS, trust, entitlement(issuer=STRANGER)], ALICE, 1_500,
         "certificate", 2_000, None, 2_000)
    forged = statement(6, {0: 1, 1: CIRCLE, 2: pub(ALICE), 3: [pub(STRANGER)], 4: 5}, ALICE)
    gate("of an issuer that an admin pinned", [GENESIS, forged, entitlement(issuer=STRANGER)], ALICE, 1_500,
         "none", reason="free_tier")
    renewal = entitlement(start=1_900, end=3_000, serial="2", issued=1_800)
    gate("renewed before the end", [GENESIS, one, renewal], ALICE, 1_500, "certificate", 3_000, None, 3_000,
         gate_time=1_800)
    later = entitlement(start=2_500, end=3_000, serial="3")
    gate("renewed with a gap: before", [GENESIS, one, later], ALICE, 1_500, "certificate", 2_000, None, 2_000)
    gate("renewed with a gap: within", [GENESIS, one, later], ALICE, 2_100, "none",
         reason="entitlement_expired", change=2_500)
    add_withdrawn_gates(bob, one, mine, renewal, trust)
    gate("no member", [GENESIS, one], BOB, 1_500, "none", reason="free_tier")
    gate("a revoked device", [GENESIS, bob, one, revocation(ALICE, "bob")], BOB, 1_500, "none", reason="free_tier")


def add_withdrawn_gates(bob, one, mine, renewal, trust):
    """Of the statements of each row, any order gives the same result."""
    gone, free = {"source": "none", "reason": "entitlement_withdrawn"}, {"source": "none", "reason": "free_tier"}
    good = {"source": "certificate", "until": 2_000, "change": 2_000}
    by_root, by_issuer = withdrawal(entitlements=[one]), withdrawal(ISSUER, entitlements=[one])
    gate("withdrawn by the root key", [GENESIS, one, by_root], ALICE, 1_500, **gone, gate_time=1_500)
    gate("withdrawn by its issuer", [GENESIS, by_issuer, one], ALICE, 1_500, **gone)
    gate("withdrawn by another issuer", [GENESIS, one, withdrawal(NEXT, entitlements=[one])], ALICE, 1_500, **good)
    gate("withdrawn by an admin", [GENESIS, one, withdrawal(ALICE, entitlements=[one])], ALICE, 1_500, **good)
    gate("withdrawn by a key that the circle does not know", [GENESIS, one, withdrawal(STRANGER, entitlements=[one])],
         ALICE, 1_500, **good)
    gate("another one withdrawn", [GENESIS, one, withdrawal(entitlements=[mine])], ALICE, 1_500, **good)
    gate("of a withdrawn issuer", [GENESIS, one, withdrawal(issuers=[ISSUER])], ALICE, 1_500, **gone)
    gate("of an issuer that another issuer withdraws", [GENESIS, one, withdrawal(NEXT, issuers=[ISSUER])], ALICE, 1_500,
         **good)
    gate("of an issuer that an admin withdraws", [GENESIS, one, withdrawal(ALICE, issuers=[ISSUER])], ALICE, 1_500,
         **good)
    gate("of an issuer that withdraws itself", [GENESIS, one, withdrawal(ISSUER, issuers=[ISSUER])], ALICE, 1_500,
         **good)
    gate("of an issuer, the other one withdrawn", [GENESIS, one, withdrawal(issuers=[NEXT])], ALICE, 1_500, **good)
    again = statement(6, {0: 1, 1: CIRCLE, 2: pub(ROOT), 3: [pub(ISSUER)], 4: 2**48 - 1}, ROOT)
    gate("of an issuer that was withdrawn and is pinned again", [GENESIS, one, withdrawal(issuers=[ISSUER]), again],
         ALICE, 1_500, **gone)
    gate("of an issuer that was withdrawn before it was pinned",
         [GENESIS, withdrawal(issuers=[STRANGER]), trust, entitlement(issuer=STRANGER)], ALICE, 1_500, **gone)
    gate("of an unknown issuer, withdrawn", [GENESIS, entitlement(issuer=STRANGER), withdrawal(issuers=[STRANGER])],
         ALICE, 1_500, **free)
    gate("of an unknown issuer, withdrawn by it",
         [GENESIS, entitlement(issuer=STRANGER), withdrawal(STRANGER, entitlements=[entitlement(issuer=STRANGER)])],
         ALICE, 1_500, **free)
    gate("withdrawn, for another device", [GENESIS, bob, mine, withdrawal(entitlements=[mine])], BOB, 1_500, **free)
    rooted = statement(6, {0: 1, 1: CIRCLE, 2: pub(ROOT), 3: [pub(ROOT)], 4: 5}, ROOT)
    own = entitlement(issuer=ROOT)
    gate("of the root key, which can't be withdrawn", [GENESIS, rooted, own, withdrawal(issuers=[ROOT])], ALICE, 1_500,
         **good)
    gate("of the root key, withdrawn", [GENESIS, rooted, own, withdrawal(entitlements=[own])], ALICE, 1_500, **gone)
    gate("withdrawn, and another one", [GENESIS, one, by_root, entitlement(serial="4")], ALICE, 1_500, **good)
    gate("the renewal withdrawn", [GENESIS, one, renewal, withdrawal(entitlements=[renewal])], ALICE, 1_500, **good,
         gate_time=1_500)
    gate("the renewal withdrawn, the first one ended", [GENESIS, one, renewal, withdrawal(entitlements=[renewal])],
         ALICE, 2_500, **gone)
    gate("the first one withdrawn, the renewal ended", [GENESIS, one, renewal, by_root], ALICE, 3_000, "none",
         reason="entitlement_expired")
    gate("the first one withdrawn, the renewal to come", [GENESIS, one, renewal, by_root], ALICE, 1_500, "none",
         reason="entitlement_not_yet_valid", change=1_900, gate_time=1_800)
    gate("the later one withdrawn, another to come",
         [GENESIS, entitlement(start=1_600, end=1_700, serial="5"), one, by_root], ALICE, 1_500, **gone, change=1_600)
    gate("withdrawn after its end", [GENESIS, one, by_root], ALICE, 2_500, **gone)
    gate("withdrawn, issued far ahead", [GENESIS, one, entitlement(issued=9_000, serial="6"),
                                         withdrawal(entitlements=[entitlement(issued=9_000, serial="6")])],
         ALICE, 1_500, **good, gate_time=1_500)
    gate("two withdrawals of one signer", [GENESIS, one, renewal, by_root, withdrawal(entitlements=[renewal])], ALICE,
         1_950, **gone)


tickets = []


def ticket_payload(**changes):
    pairs = {0: 1, 1: CIRCLE, 2: transport("alice"), 3: ["192.0.2.1:7433", "laptop.local:7433"],
             4: fixed("secret", 16), 5: 1_700_000_600_000}
    pairs.update({int(k[1:]): v for k, v in changes.items()})
    return cbor2.dumps({k: v for k, v in pairs.items() if v is not None})


def ticket_line(payload, checksum=None):
    data = payload + (checksum or blake("waymark/ticket-checksum/v1", payload)[:4])
    return "waymark1" + base64.b32encode(data).decode().rstrip("=").lower()


def add_tickets():
    good = ticket_line(ticket_payload())

    def add(name, line, reason=None, **fields):
        tickets.append({"name": name, "line": line, "accepted": reason is None, "reason": reason, **fields})

    secret = fixed("secret", 16)
    fields = {
        "circle": CIRCLE.hex(), "transport": transport("alice").hex(), "secret": secret.hex(),
        "expiry": 1_700_000_600_000, "id": blake("waymark/ticket-id/v1", secret)[:8].hex(),
        "psk": blake("waymark/ticket-psk/v1", secret, CIRCLE, transport("alice")).hex(),
        "pairingKey": blake("waymark/pairing-preamble/v1", secret).hex(),
        "sessionKey": blake("waymark/session-preamble/v1", CIRCLE).hex()}
    both = ["192.0.2.1:7433", "laptop.local:7433"]
    add("a ticket", good, addresses=both, **fields)
    add("in capital letters with blanks around", " \t" + good.upper() + "\r\n", addresses=both, **fields)
    add("without addresses", ticket_line(ticket_payload(_3=[])), addresses=[], **fields)
    add("nothing", "", "notATicket")
    add("something else", "https://example.org", "notATicket")
    add("the mark of a later version", "waymark2" + good[8:], "notATicket")
    add("the mark alone", "waymark1", "damaged")
    add("a letter changed", good[:30] + ("a" if good[30] != "a" else "b") + good[31:], "damaged")
    add("a letter missing", good[:-1], "damaged")
    add("a letter too many", good + "a", "damaged")
    add("a digit that base 32 has not", good[:30] + "1" + good[31:], "damaged")
    add("a blank inside", good[:30] + " " + good[30:], "damaged")
    add("padding", good + "=", "damaged")
    last = "abcdefghijklmnopqrstuvwxyz234567"
    if (len(ticket_payload()) + 4) * 8 % 5:
        add("bits left over", good[:-1] + last[last.index(good[-1]) + 1], "damaged")
    add("a wrong checksum", ticket_line(ticket_payload(), b"\0\0\0\0"), "damaged")
    add("version two", ticket_line(ticket_payload(_0=2)), "damaged")
    add("an unknown key", ticket_line(ticket_payload(_6=1)), "damaged")
    add("a short secret", ticket_line(ticket_payload(_4=secret[:15])), "damaged")
    add("an address with a space", ticket_line(ticket_payload(_3=["a b"])), "damaged")
    add("17 addresses", ticket_line(ticket_payload(_3=["a:1"] * 17)), "damaged")


def mixed_key(message):
    """A key outside the main subgroup, and a signature by it that libsodium's verification takes."""
    torsion = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    secret = bindings.crypto_core_ed25519_scalar_reduce(fixed("a", 32) + fixed("b", 32))
    public = bindings.crypto_core_ed25519_add(
        bindings.crypto_scalarmult_ed25519_base_noclamp(secret), torsion)
    for attempt in range(1_000):
        nonce = bindings.crypto_core_ed25519_scalar_reduce(fixed(f"r{attempt}", 32) + fixed("s", 32))
        point = bindings.crypto_scalarmult_ed25519_base_noclamp(nonce)
        challenge = bindings.crypto_core_ed25519_scalar_reduce(hashlib.sha512(point + public + message).digest())
        if challenge[0] % 8 == 0:
            product = bindings.crypto_core_ed25519_scalar_mul(challenge, secret)
            return public, point + bindings.crypto_core_ed25519_scalar_add(nonce, product)
    raise AssertionError("one in eight should do")


def messages():
    handshake = fixed("handshake hash", 32)
    proof = sign("waymark/join-proof/v1", handshake, BOB)
    join = {0: 1, 1: pub(BOB), 2: transport("bob"), 3: "phone", 4: proof}
    intro = {0: 1, 1: [certificate(ALICE, "bob", 0)], 2: [entitlement()], 3: 1_500}
    chain = [GENESIS, certificate(ALICE, "bob", 0)]
    many = [certificate(ALICE, "bob", 0)]
    signed = b"waymark/join-proof/v1\0" + handshake
    mixed, mixed_proof = mixed_key(signed)
    VerifyKey(mixed).verify(signed, mixed_proof)

    def row(name, message, pairs, ok, **rest):
        data = pairs if isinstance(pairs, bytes) else cbor2.dumps({k: v for k, v in pairs.items() if v is not None})
        return {"name": name, "message": message, "bytes": data.hex(), "accepted": ok, **rest}

    proven = {"handshakeHash": handshake.hex(), "transport": transport("bob").hex()}
    return [
        row("join", "join", join, True, proven=True, **proven),
        row("join over another handshake", "join", join, True, proven=False,
            handshakeHash=fixed("another", 32).hex(), transport=transport("bob").hex()),
        row("join over another transport key", "join", join, True, proven=False,
            handshakeHash=handshake.hex(), transport=transport("carol").hex()),
        row("join with another's device key", "join", {**join, 1: pub(CAROL)}, True, proven=False, **proven),
        row("join with a key of small order", "join", {**join, 1: bytes(32)}, True, proven=False, **proven),
        row("join with a key outside the main subgroup, signature valid", "join", {**join, 1: mixed, 4: mixed_proof},
            True, proven=False, **proven),
        row("join without a name", "join", {**join, 3: ""}, False),
        row("join with a short proof", "join", {**join, 4: proof[:-1]}, False),
        row("join with a byte behind", "join", cbor2.dumps(join) + b"\0", False),
        row("accepted", "reply", {0: 1, 1: chain}, True, statements=2),
        row("refused", "reply", {0: 1, 2: 3}, True, refusal=3),
        row("refused for a reason to come", "reply", {0: 1, 2: 200}, True, refusal=0),
        row("accepted with nothing", "reply", {0: 1, 1: []}, False),
        row("accepted and refused", "reply", {0: 1, 1: chain, 2: 3}, False),
        row("neither", "reply", {0: 1}, False),
        row("introduction", "introduction", {**intro, 1: chain}, True, member=pub(BOB).hex(), **proven),
        row("introduction without the genesis", "introduction", intro, True, member=pub(BOB).hex(), **proven),
        row("introduction over another's transport key", "introduction", intro, True,
            error="notAMember", transport=transport("carol").hex()),
        row("introduction of another circle", "introduction", {**intro, 1: [OTHER_GENESIS]}, True,
            error="wrongCircle", transport=transport("alice").hex()),
        row("introduction of a stranger", "introduction",
            {**intro, 1: [certificate(MALLORY, "mallory", 1)]}, True,
            error="notAMember", transport=transport("mallory").hex()),
        row("introduction that is an entitlement", "introduction", {**intro, 1: [entitlement()]}, True,
            error="malformed", transport=transport("bob").hex()),
        row("introduction with a broken signature", "introduction", {**intro, 1: [many[0][:-1] + b"\0"]}, True,
            error="malformed", transport=transport("bob").hex()),
        row("introduction without a chain", "introduction", {**intro, 1: []}, False),
        row("introduction with nine links", "introduction", {**intro, 1: many * 9}, False),
        row("introduction with five entitlements", "introduction", {**intro, 2: [entitlement()] * 5}, False),
        row("introduction of more than 6 KiB", "introduction", {**intro, 2: [b"\0" * 6_144]}, False),
    ]


add_statements()
add_circles()
add_quotas()
add_gates()
add_tickets()
document = {
    "about": "Protocol/circle.md; made by generate_circle.py", "genesis": GENESIS.hex(),
    "statements": statements, "circles": circles, "quotas": quotas, "shares": shares, "gates": gates,
    "tickets": tickets, "messages": messages()}
path = pathlib.Path(__file__).with_name("circle.json")
path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
print(f"{path.name}: {len(statements)} statements, {len(circles)} circles, {len(gates)} gates, {len(tickets)} tickets")
