"""Protocol/circle.md, "Introduction": introductions, and what a receiver makes of them."""

from deterministic_cbor import Raw, compact, write
from statements import (
    ALICE, BOB, CAROL, GENESIS, MALLORY, OTHER_GENESIS, PEOPLE, ROOT, STRANGER, certificate,
    entitlement, pub, revocation, statement_id, transport)

BYTES_MAX, WALL = 6_144, 1_700_000_050_000
# Alice founded the circle, and certified Bob and Carol as admins; Bob certified Dave.
BOB_CERTIFICATE, CAROL_CERTIFICATE = certificate(ALICE, "bob", 1), certificate(ALICE, "carol", 1)
DAVE_CERTIFICATE = certificate(BOB, "dave", 0)
rows = []


def introduction(chain, entitlements=(), wall=WALL, **changes):
    pairs = {0: 1, 1: list(chain), 2: list(entitlements), 3: wall}
    pairs.update({int(key[1:]): value for key, value in changes.items()})
    return write({key: value for key, value in pairs.items() if value is not None})


def row(flag, name, held, shown, device, outcome, member=None, kept=()):
    """`device`: the one whose transport key the handshake has authenticated."""
    data = shown if isinstance(shown, bytes) else introduction(shown)
    rows.append({
        "flag": flag, "name": name, "held": [each.hex() for each in held], "transport": transport(device).hex(),
        "bytes": compact(data), "outcome": outcome, "member": pub(PEOPLE[member]).hex() if member else None,
        "kept": sorted(statement_id(each).hex() for each in kept)})


def admitted(name, held, shown, member, kept=(), device=None):
    row("none", name, held, shown, device or member, "member", member, kept)


def closed(flag, name, held, shown, device):
    row(flag, name, held, shown, device, "closed")


def spoiled(data):
    """A statement with one bit of its signature changed."""
    return data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]


def add_admitted():
    admitted("the founder", [GENESIS], [GENESIS], "alice")
    admitted("a device that an admin certified", [GENESIS], [GENESIS, BOB_CERTIFICATE], "bob", [BOB_CERTIFICATE])
    admitted("a device that the root key certified", [GENESIS], [certificate(ROOT, "carol", 0)], "carol",
             [certificate(ROOT, "carol", 0)])
    admitted("a device whose certificate is held already", [GENESIS, BOB_CERTIFICATE], [BOB_CERTIFICATE], "bob")
    admitted("the chain leaves out what is held", [GENESIS, BOB_CERTIFICATE], [DAVE_CERTIFICATE], "dave",
             [DAVE_CERTIFICATE])
    admitted("a chain of three", [GENESIS], [GENESIS, BOB_CERTIFICATE, DAVE_CERTIFICATE], "dave",
             [BOB_CERTIFICATE, DAVE_CERTIFICATE])
    admitted("a chain without the genesis", [GENESIS], [BOB_CERTIFICATE, DAVE_CERTIFICATE], "dave",
             [BOB_CERTIFICATE, DAVE_CERTIFICATE])
    of_carol = revocation(ALICE, "carol")
    admitted("a revocation of another device before the chain", [GENESIS, CAROL_CERTIFICATE],
             [of_carol, GENESIS, BOB_CERTIFICATE], "bob", [of_carol, BOB_CERTIFICATE])
    by_bob = revocation(BOB, "carol")
    admitted("a revocation by a device that the chain certifies", [GENESIS, CAROL_CERTIFICATE],
             [by_bob, GENESIS, BOB_CERTIFICATE, DAVE_CERTIFICATE], "dave",
             [by_bob, BOB_CERTIFICATE, DAVE_CERTIFICATE])
    of_bob = revocation(CAROL, "bob")
    admitted("a shorter revocation makes the one that the receiver holds void",
             [GENESIS, BOB_CERTIFICATE, CAROL_CERTIFICATE, of_bob], [of_carol, GENESIS, BOB_CERTIFICATE], "bob",
             [of_carol])
    kept = revocation(ALICE, "bob", valid=[statement_id(DAVE_CERTIFICATE)])
    admitted("the issuer was revoked, and the certificate stays valid", [GENESIS, BOB_CERTIFICATE, kept],
             [DAVE_CERTIFICATE], "dave", [DAVE_CERTIFICATE])
    renamed = certificate(ALICE, "bob", 0, issued=1_700_000_009_000, shown="Bob II")
    admitted("an older certificate with the same transport key as the newest",
             [GENESIS, BOB_CERTIFICATE, renamed], [GENESIS, BOB_CERTIFICATE], "bob")
    moved = certificate(ALICE, "bob", 1, issued=1_700_000_009_000, transport_of="mallory")
    admitted("a newer certificate with another transport key", [GENESIS, BOB_CERTIFICATE], [GENESIS, moved], "bob",
             [moved], "mallory")
    admitted("revocations, in all eight statements", [GENESIS, CAROL_CERTIFICATE],
             [*(revocation(ALICE, "carol", valid=[bytes([n]) * 32]) for n in range(6)), GENESIS, BOB_CERTIFICATE],
             "bob", [BOB_CERTIFICATE, *(revocation(ALICE, "carol", valid=[bytes([n]) * 32]) for n in range(6))])
    ignored = revocation(MALLORY, "alice")
    admitted("a statement of an unknown signer is ignored", [GENESIS], [ignored, GENESIS, BOB_CERTIFICATE], "bob",
             [BOB_CERTIFICATE])
    admitted("its signature is not verified", [GENESIS], [spoiled(ignored), GENESIS, BOB_CERTIFICATE], "bob",
             [BOB_CERTIFICATE])


def add_entitlements():
    chain = [GENESIS, BOB_CERTIFICATE]
    premium = [entitlement(serial=str(n), end=2_000 - n) for n in range(4)]
    admitted("four entitlements", [GENESIS], introduction(chain, premium), "bob", [BOB_CERTIFICATE, *premium])
    foreign = entitlement(issuer=STRANGER)
    admitted("an entitlement of an unknown issuer is ignored", [GENESIS],
             introduction(chain, [foreign]), "bob", [BOB_CERTIFICATE])
    closed("verify", "an entitlement with a wrong signature", [GENESIS], introduction(chain, [spoiled(premium[0])]),
           "bob")
    closed("count", "five entitlements", [GENESIS],
           introduction(chain, [entitlement(serial=str(n)) for n in range(5)]), "bob")


def add_forms():
    chain = [GENESIS, BOB_CERTIFICATE]
    room = BYTES_MAX - len(introduction(chain, _20=bytes(1_000))) + 1_000
    admitted("6,144 bytes, with a key of a newer version", [GENESIS], introduction(chain, _20=bytes(room)), "bob",
             [BOB_CERTIFICATE])
    closed("length", "6,145 bytes", [GENESIS], introduction(chain, _20=bytes(room + 1)), "bob")
    admitted("the greatest time", [GENESIS], introduction(chain, wall=2**48 - 1), "bob", [BOB_CERTIFICATE])
    closed("range", "a time of 49 bits", [GENESIS], introduction(chain, wall=2**48), "bob")
    closed("range", "version 2", [GENESIS], introduction(chain, _0=2), "bob")
    closed("parts", "without a time", [GENESIS], introduction(chain, wall=None), "bob")
    closed("parts", "without entitlements", [GENESIS], introduction(chain, _2=None), "bob")
    closed("parts", "without a chain", [GENESIS], introduction(chain, _1=None), "bob")
    closed("count", "an empty chain", [GENESIS], [], "bob")
    closed("count", "nine statements", [GENESIS],
           [*(revocation(ALICE, "carol", valid=[bytes([n]) * 32]) for n in range(7)), *chain], "bob")
    closed("form", "no byte", [GENESIS], b"", "bob")
    closed("form", "an array in place of a map", [GENESIS], write([1, chain, [], WALL]), "bob")
    closed("form", "a statement that is no byte string", [GENESIS], introduction([GENESIS, 7]), "bob")
    closed("form", "a byte behind", [GENESIS], introduction(chain) + b"\x00", "bob")
    closed("form", "a time in one byte more", [GENESIS], introduction(chain, wall=Raw("1807")), "bob")
    closed("form", "a link that is no statement", [GENESIS], [b"\x80", BOB_CERTIFICATE], "bob")
    closed("form", "a link that is cut short", [GENESIS], [GENESIS[:-1], BOB_CERTIFICATE], "bob")
    closed("form", "the last link is a revocation", [GENESIS], [*chain, revocation(ALICE, "carol")], "bob")
    closed("form", "the last link is an entitlement", [GENESIS], [*chain, entitlement()], "bob")


def add_closed():
    closed("circle", "another circle", [GENESIS], [OTHER_GENESIS], "alice")
    closed("circle", "one statement of another circle", [GENESIS], [OTHER_GENESIS, BOB_CERTIFICATE], "bob")
    foreign = entitlement(circle=statement_id(OTHER_GENESIS))
    closed("circle", "an entitlement of another circle", [GENESIS],
           introduction([GENESIS, BOB_CERTIFICATE], [foreign]), "bob")
    closed("transport", "another's transport key", [GENESIS], [GENESIS, BOB_CERTIFICATE], "carol")
    closed("transport", "the transport key of a link before the last", [GENESIS],
           [GENESIS, BOB_CERTIFICATE, DAVE_CERTIFICATE], "bob")
    closed("chain", "the signer of the last link is unknown", [GENESIS], [DAVE_CERTIFICATE], "dave")
    closed("chain", "a stranger that certified itself", [GENESIS], [certificate(MALLORY, "mallory", 1)], "mallory")
    closed("chain", "a stranger behind a chain that does not lead to it", [GENESIS],
           [GENESIS, BOB_CERTIFICATE, certificate(MALLORY, "mallory", 1)], "mallory")
    closed("verify", "the last link with a wrong signature", [GENESIS], [GENESIS, spoiled(BOB_CERTIFICATE)], "bob")
    closed("verify", "a link with a wrong signature", [GENESIS],
           [GENESIS, spoiled(BOB_CERTIFICATE), DAVE_CERTIFICATE], "dave")
    closed("verify", "a revocation with a wrong signature, whose signer is known", [GENESIS, CAROL_CERTIFICATE],
           [spoiled(revocation(ALICE, "carol")), GENESIS, BOB_CERTIFICATE], "bob")
    of_bob = revocation(ALICE, "bob")
    closed("member", "a device that the receiver knows to be revoked", [GENESIS, BOB_CERTIFICATE, of_bob],
           [GENESIS, BOB_CERTIFICATE], "bob")
    closed("member", "a revoked device that asks whether its revocation counts", [GENESIS, BOB_CERTIFICATE, of_bob],
           [of_bob, GENESIS, BOB_CERTIFICATE], "bob")
    row("revoked", "a device that shows its own revocation", [GENESIS, BOB_CERTIFICATE],
        [of_bob, GENESIS, BOB_CERTIFICATE], "bob", "closed", kept=[of_bob])
    closed("member", "the same to a receiver that has not seen the device", [GENESIS],
           [of_bob, GENESIS, BOB_CERTIFICATE], "bob")
    closed("member", "a link is void, because its issuer was revoked", [GENESIS, BOB_CERTIFICATE, of_bob],
           [GENESIS, BOB_CERTIFICATE, DAVE_CERTIFICATE], "dave")
    by_member = certificate(ALICE, "bob", 0)
    closed("member", "a link that a mere member signed", [GENESIS], [GENESIS, by_member, DAVE_CERTIFICATE], "dave")
    renewed = certificate(ALICE, "bob", 1, issued=1_700_000_009_000, transport_of="mallory")
    closed("member", "an older certificate, whose transport key is not that of the newest",
           [GENESIS, BOB_CERTIFICATE, renewed], [GENESIS, BOB_CERTIFICATE], "bob")
    closed("member", "an older certificate after a newer one with another transport key", [GENESIS],
           [GENESIS, renewed, BOB_CERTIFICATE], "bob")
    taken = certificate(BOB, "dave", 0, transport_of="bob")
    closed("member", "the transport key of a device with a shorter chain", [GENESIS, BOB_CERTIFICATE], [taken], "bob")


def introductions():
    """Evaluated as circle.md says; each row is what that chapter makes of one case."""
    add_admitted()
    add_entitlements()
    add_forms()
    add_closed()
    names = [each["name"] for each in rows]
    assert len(set(names)) == len(names)
    return rows
