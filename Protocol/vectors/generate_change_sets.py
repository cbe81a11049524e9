"""Writes change-sets.json: sets that Protocol/change-set.md accepts, and one refused set a rule."""

import copy

from change_set import (
    CIRCLE,
    DELETE,
    PUT,
    RECORDS,
    RESTORE,
    SET_ID,
    SETTINGS,
    Log,
    Sealed,
    alice,
    blake2b,
    bob,
    body_of,
    carol,
    clock,
    header_of,
    operation,
    record,
    seal,
)
from deterministic_cbor import Raw, compact, describe, encode, save, write

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "accepted: `write` is what the author knew and wanted, `sets` what comes out, byte for byte.",
    "atTheLimits: accepted too; an author cuts earlier.",
    "refused: `stage` is the check that fails: size, header, body_hash, signature or body; flag names the rule.",
    "A refused set breaks nothing but what its flag says: hash and signature fit the bytes where possible.",
]
TRIP, LODGING, PROFILE, SETTING, UNKNOWN = 1, 2, 4096, 8192, 3000

accepted = []
refused = []


def describe_entry(entry):
    described = {"type": ["put", "delete", "restore"][entry[0]], "kind": entry[1], "record": entry[2].hex()}
    if entry[0] == PUT:
        described["fields"] = [
            {"field": number, "value": describe(value)} for number, value in sorted(entry[3].items())]
    return described


def accept(name, log, verb, entries=(), wall=1_000, op=operation(1), target=None, least=0):
    before = copy.deepcopy(log.__dict__ | {"device": None})
    sets = log.write(verb, entries, wall=wall, operation=op, target=target, least=least)
    accepted.append({
        "name": name,
        "author": log.device.name,
        "write": {
            "lane": before["lane"],
            "sequence": str(before["sequence"]),
            "previous": before["previous"].hex() if before["previous"] else None,
            "seenClock": str(before["clock"]),
            "unseen": [
                {"device": d[0].hex(), "incarnation": d[1].hex(), "sequence": str(d[2]), "id": d[3].hex()}
                for d in sorted(before["unseen"])],
            "operation": op.hex(),
            "verb": verb,
            "target": target.hex() if target else None,
            "wall": wall,
            "leastClock": str(least),
            # In another order than the set's, since the author sorts.
            "entries": [describe_entry(entry) for entry in reversed(entries)],
        },
        "sets": [
            {
                "header": compact(s.header), "signature": s.signature.hex(), "body": compact(s.body),
                "id": s.id.hex(),
            } for s in sets],
    })
    return sets


INSERT = [PUT, TRIP, record(1), {0: True, 1: "Rome", 2: 7}]
EDIT = [PUT, TRIP, record(2), {1: "Paris"}]

a, b, c = Log(alice), Log(bob), Log(carol)
[first] = accept("the first set of a log", a, "add", [INSERT])
accept("a second set, in the same millisecond", a, "edit", [EDIT], op=operation(2))
b.see(first)
[second] = accept("a set that has seen another log", b, "edit", [EDIT], wall=2_000)
c.see(first)
c.see(second)
[third] = accept("two dependencies, ascending", c, "edit", [EDIT], wall=3_000)
a.see(second)
a.see(third)
accept("a wall clock behind what was seen", a, "edit", [EDIT], wall=10, op=operation(3))
accept("a raised clock", a, "profile", [[PUT, PROFILE, record(9), {1: 50_000, 2: "Ada"}]], wall=10, least=clock(50_000))
accept("nothing but a verb", Log(bob), "join")
accept(
    "every type of entry", Log(alice), "edit",
    [
        [PUT, TRIP, record(1), {0: True, 1: "insert"}],
        [PUT, TRIP, record(2), {1: "edit"}],
        [DELETE, TRIP, record(3)],
        [RESTORE, TRIP, record(4)],
        [PUT, TRIP, record(5), {1: "edit of what is dead"}],
        [RESTORE, TRIP, record(5)],
        [PUT, TRIP, record(6), {1: "edit, then trash"}],
        [DELETE, TRIP, record(6)],
        [PUT, LODGING, record(1), {0: True}],
    ])
accept(
    "every type of value", Log(alice), "edit",
    [[PUT, TRIP, record(1), {
        1: None, 2: False, 3: True, 4: 0, 5: -1, 6: 2**63 - 1, 7: -(2**63), 8: 0.5, 9: "", 10: "h\u00e9 \U0001f9ed",
        11: b"", 12: b"\x00\xff", 13: [], 14: [None, [1, "two", b"\x03"], 4.0], 65535: 1}]])
accept("a kind and fields nobody knows yet", Log(alice), "edit", [[PUT, UNKNOWN, record(1), {0: True, 999: [1]}]])
accept("the first and last kinds of the records lane", Log(alice), "edit",
       [[DELETE, 1, record(1)], [DELETE, 4095, record(1)], [DELETE, 4096, record(1)], [DELETE, 8191, record(1)]])
accept("the first and last kinds of the settings lane", Log(alice, SETTINGS), "set",
       [[PUT, SETTING, record(1), {0: True, 1: "colorScheme", 2: "dark"}], [DELETE, 12287, record(1)]])
accept("an undo", Log(alice), "undo", [[DELETE, TRIP, record(1)]], op=operation(8), target=operation(1))
full = Log(alice, clock=clock(1_000, 0xFFFF))
accept("a full counter carries into the milliseconds", full, "edit", [EDIT])
far = Log(alice, sequence=2**63 - 2, previous=first.id, clock=2**64 - 4)
accept("the last sequence and one of the last clocks", far, "edit", [EDIT])
crowd = Log(alice)
crowd.unseen = [[bytes([n]) * 32, record(1), n + 1, record(n) * 2] for n in range(64)]
accept("64 dependencies", crowd, "edit", [EDIT])
crowd = Log(alice)
crowd.unseen = [[bytes([n]) * 32, record(1), n + 1, record(n) * 2] for n in range(150)]
accept("150 unseen logs: two join sets first", crowd, "edit", [EDIT])
branches = Log(alice)
branches.unseen = [[bob.key, bob.incarnation, 4, record(1) * 2], [bob.key, bob.incarnation, 4, record(2) * 2],
                   [bob.key, bob.incarnation, 9, record(0) * 2]]
accept("dependencies on branches of one log", branches, "edit", [EDIT])
own = Log(alice)
own.unseen = [[alice.key, b"\xee" * 16, 3, record(1) * 2]]
accept("a dependency on another incarnation of the same device", own, "edit", [EDIT])
accept("depth 8", Log(alice), "edit", [[PUT, TRIP, record(1), {1: [[[[[[[1]]]]]]]}]])
accept("the longest text, blob and verb", Log(alice), "v" * 32,
       [[PUT, TRIP, record(1), {1: "t" * 65_536, 2: b"\x00" * 49_152}]])


def refuse(flag, name, stage, sealed):
    refused.append({
        "flag": flag, "name": name, "stage": stage, "header": compact(sealed.header),
        "signature": compact(sealed.signature), "body": compact(sealed.body)})


GOOD = encode(body_of("edit", [EDIT]))
DEPENDENCY = [bob.key, bob.incarnation, 1, record(1) * 2]


def header(body=GOOD, sequence=2, previous=record(7) * 2, lane=RECORDS, dependencies=(DEPENDENCY,), **changes):
    made = header_of(alice, lane, sequence, previous, clock(1_000), list(dependencies), operation(1), body)
    for key, value in changes.items():
        number = int(key[1:])
        if value is Ellipsis:
            del made[number]
        else:
            made[number] = value
    return made


def bad_header(flag, name, body=GOOD, **changes):
    refuse(flag, name, "header", seal(alice, header(body, **changes), body))


def bad_bytes(flag, name, encoded):
    refuse(flag, name, "header", Sealed(encoded, alice.sign(encoded), GOOD, {}))


names = {0: "version", 1: "circle", 2: "device", 3: "incarnation", 4: "lane", 5: "sequence", 6: "previous",
         7: "clock", 9: "operation", 10: "body_length", 11: "body_hash"}
for number, name in names.items():
    bad_header("missing_key", name, **{f"k{number}": ...})
bad_header("unknown_key", "12", k12=0)
bad_header("version", "0", k0=0)
bad_header("version", "2", k0=2)
bad_header("version", "text", k0="1")
bad_header("length", "a circle of 31 bytes", k1=CIRCLE[:31])
bad_header("length", "a circle of 33 bytes", k1=CIRCLE + b"\0")
bad_header("length", "a device of 31 bytes", k2=alice.key[:31])
bad_header("length", "an incarnation of 15 bytes", k3=alice.incarnation[:15])
bad_header("length", "a previous id of 16 bytes", k6=record(1))
bad_header("length", "an operation of 17 bytes", k9=operation(1) + b"\0")
bad_header("length", "a body hash of 20 bytes", k11=b"\0" * 20)
bad_header("lane", "2", k4=2)
bad_header("lane", "negative", k4=-1)
bad_header("sequence", "0", sequence=0, previous=None)
bad_header("sequence", "2^63", sequence=2**63)
bad_header("previous", "at sequence 1", sequence=1)
bad_header("previous", "null", k6=None)
bad_header("clock", "0", k7=0)
bad_header("clock", "2^64 - 1", k7=2**64 - 1)
bad_header("dependencies", "an empty array", k8=[])
bad_header("dependencies", "65", k8=[[bytes([n]) * 32, record(1), 1, record(1) * 2] for n in range(65)])
bad_header("dependencies_order", "by device", k8=[[b"\2" * 32] + DEPENDENCY[1:], [b"\1" * 32] + DEPENDENCY[1:]])
bad_header("dependencies_order", "by incarnation",
           k8=[[bob.key, b"\2" * 16, 1, record(1) * 2], [bob.key, b"\1" * 16, 1, record(1) * 2]])
bad_header("dependencies_order", "by sequence",
           k8=[[bob.key, b"\1" * 16, 2, record(1) * 2], [bob.key, b"\1" * 16, 1, record(1) * 2]])
bad_header("dependencies_order", "by id",
           k8=[[bob.key, b"\1" * 16, 1, record(2) * 2], [bob.key, b"\1" * 16, 1, record(1) * 2]])
bad_header("dependencies_order", "twice the same", k8=[DEPENDENCY, DEPENDENCY])
bad_header("dependency_form", "three parts", k8=[DEPENDENCY[:3]])
bad_header("dependency_form", "five parts", k8=[DEPENDENCY + [0]])
bad_header("dependency_form", "sequence 0", k8=[[bob.key, bob.incarnation, 0, record(1) * 2]])
bad_header("dependency_form", "sequence 2^63", k8=[[bob.key, bob.incarnation, 2**63, record(1) * 2]])
bad_header("dependency_own_log", "itself", k8=[[alice.key, alice.incarnation, 1, record(1) * 2]])
bad_header("body_length", "beyond a whole set", k10=262_145)
good_header = write(header())
bad_bytes("trailing", "a byte behind the header", good_header + b"\0")
bad_bytes("truncated", "the last byte missing", good_header[:-1])
bad_bytes("truncated", "nothing", b"")
bad_bytes("key_order", "version last", b"\xac" + good_header[3:] + b"\x00\x01")
bad_bytes("key_duplicate", "version twice", b"\xad\x00\x01" + good_header[1:])
bad_bytes("long_integer", "version in two bytes", b"\xac\x00\x18\x01" + good_header[3:])
bad_bytes("indefinite", "map", b"\xbf" + good_header[1:] + b"\xff")
bad_bytes("not_a_map", "an array", b"\x81" + good_header)

good = seal(alice, header(), GOOD)
refuse("body_hash", "another body of the same length", "body_hash",
       Sealed(good.header, good.signature, GOOD[:-1] + bytes([GOOD[-1] ^ 1]), {}))
refuse("body_hash", "without its prefix", "body_hash", seal(alice, header(k11=blake2b(b"", GOOD)), GOOD))
refuse("body_hash", "with another prefix", "body_hash", seal(alice, header(k11=blake2b(SET_ID, GOOD)), GOOD))
refuse("body_length", "one too few", "body_hash", seal(alice, header(k10=len(GOOD) - 1), GOOD))
refuse("body_length", "one too many", "body_hash", seal(alice, header(k10=len(GOOD) + 1), GOOD))


def bad_signature(name, signature, made=good):
    refuse("signature", name, "signature", Sealed(made.header, signature, made.body, {}))


ORDER = 2**252 + 27742317777372353535851937790883648493
bad_signature("one bit changed in R", bytes([good.signature[0] ^ 1]) + good.signature[1:])
bad_signature("one bit changed in S", good.signature[:32] + bytes([good.signature[32] ^ 1]) + good.signature[33:])
bad_signature("63 bytes", good.signature[:63])
bad_signature("65 bytes", good.signature + b"\0")
bad_signature("none", b"")
bad_signature("over the header without a prefix", alice.sign(good.header, b""))
bad_signature("over the prefix of an id", alice.sign(good.header, SET_ID))
bad_signature("over the id", alice.sign(good.id))
bad_signature("by another device", bob.sign(good.header))
bad_signature("S above the order of the group",
              good.signature[:32] + (int.from_bytes(good.signature[32:], "little") + ORDER).to_bytes(32, "little"))
neutral = b"\x01" + b"\x00" * 31
weak = header(k2=neutral)
bad_signature("a key and an R of small order", neutral + b"\x00" * 32, Sealed(write(weak), b"", GOOD, {}))


def bad_body(flag, name, body, lane=RECORDS):
    body = body if isinstance(body, bytes) else write(body)
    refuse(flag, name, "body", seal(alice, header(body, lane=lane), body))


def bad_entries(flag, name, entries, lane=RECORDS):
    bad_body(flag, name, body_of("edit", entries), lane)


# The body's map, key, verb, key and array are 5 items, entry and map 5, field and array 2.
def items(count):
    return [[PUT, TRIP, record(1), {1: [None] * (count - 12)}]]


def bad_value(flag, name, value):
    bad_entries(flag, name, [[PUT, TRIP, record(1), {1: value}]])


bad_body("verb", "missing", {2: [EDIT]})
bad_body("verb", "empty", body_of("", [EDIT]))
bad_body("verb", "33 bytes", body_of("v" * 33, [EDIT]))
bad_body("verb", "bytes", body_of(b"edit", [EDIT]))
bad_body("verb", "not UTF-8", body_of(Raw("62c3c3"), [EDIT]))
bad_body("target", "15 bytes", body_of("undo", [EDIT], operation(1)[:15]))
bad_body("target", "null", {0: "undo", 1: None, 2: [EDIT]})
bad_body("unknown_key", "3", {0: "edit", 2: [EDIT], 3: 0})
bad_body("empty_entries", "an empty array", {0: "edit", 2: []})
bad_body("not_a_map", "an array", ["edit"])
bad_body("trailing", "a byte behind the body", GOOD + b"\0")
bad_body("truncated", "the last byte missing", GOOD[:-1])
bad_body("truncated", "nothing", b"")
bad_body("key_order", "entries before verb", b"\xa2" + GOOD[7:] + GOOD[1:7])
bad_body("indefinite", "map", b"\xbf" + GOOD[1:] + b"\xff")
bad_entries("entry_form", "type 3", [[3, TRIP, record(1)]])
bad_entries("entry_form", "a put without fields", [[PUT, TRIP, record(1)]])
bad_entries("entry_form", "a put with five parts", [[PUT, TRIP, record(1), {1: 1}, 0]])
bad_entries("entry_form", "a delete with fields", [[DELETE, TRIP, record(1), {1: 1}]])
bad_entries("entry_form", "a restore with two parts", [[RESTORE, TRIP]])
bad_entries("entry_form", "an empty entry", [[]])
bad_entries("entry_form", "a record id of 15 bytes", [[DELETE, TRIP, record(1)[:15]]])
bad_entries("entry_form", "a record id of 17 bytes", [[DELETE, TRIP, record(1) + b"\0"]])
bad_entries("kind", "0", [[DELETE, 0, record(1)]])
bad_entries("kind", "12288", [[DELETE, 12288, record(1)]])
bad_entries("kind", "2^32 + 1", [[DELETE, 2**32 + 1, record(1)]])
bad_entries("lane_of_kind", "a setting in the records lane", [[DELETE, SETTING, record(1)]])
bad_entries("lane_of_kind", "a trip in the settings lane", [[DELETE, TRIP, record(1)]], SETTINGS)
bad_entries("lane_of_kind", "a profile in the settings lane", [[DELETE, PROFILE, record(1)]], SETTINGS)
bad_entries("lane_of_kind", "the first entry is good", [[DELETE, TRIP, record(1)], [DELETE, SETTING, record(1)]])
bad_entries("fields", "none", [[PUT, TRIP, record(1), {}]])
bad_entries("fields", "65536", [[PUT, TRIP, record(1), {65536: 1}]])
bad_entries("key_order", "fields", [[PUT, TRIP, record(1), Raw("a202010101")]])
bad_entries("key_duplicate", "fields", [[PUT, TRIP, record(1), Raw("a201010101")]])
bad_entries("life", "false", [[PUT, TRIP, record(1), {0: False, 1: 1}]])
bad_entries("life", "null", [[PUT, TRIP, record(1), {0: None}]])
bad_entries("life", "1", [[PUT, TRIP, record(1), {0: 1}]])
bad_entries("life", "false, of a profile", [[PUT, PROFILE, record(1), {0: False, 1: 1}]])
bad_entries("entry_order", "by kind", [[DELETE, LODGING, record(1)], [DELETE, TRIP, record(2)]])
bad_entries("entry_order", "by record", [[DELETE, TRIP, record(2)], [DELETE, TRIP, record(1)]])
bad_entries("entry_order", "by type", [[DELETE, TRIP, record(1)], EDIT[:2] + [record(1)] + EDIT[3:]])
bad_entries("entry_order", "two puts", [EDIT, EDIT])
bad_entries("entry_order", "two deletes", [[DELETE, TRIP, record(1)], [DELETE, TRIP, record(1)]])
bad_entries("two_lives", "insert and delete", [INSERT, [DELETE, TRIP, record(1)]])
bad_entries("two_lives", "insert and restore", [INSERT, [RESTORE, TRIP, record(1)]])
bad_entries("two_lives", "delete and restore", [[DELETE, TRIP, record(1)], [RESTORE, TRIP, record(1)]])
bad_entries("two_lives", "put, delete and restore",
            [[PUT, TRIP, record(1), {1: 1}], [DELETE, TRIP, record(1)], [RESTORE, TRIP, record(1)]])
bad_entries("entries", "1,001", [[DELETE, TRIP, n.to_bytes(16, "big")] for n in range(1_001)])
bad_entries("items", "20,001", items(20_001))
bad_value("depth", "9", [[[[[[[[1]]]]]]]])
bad_value("text_length", "65,537", "t" * 65_537)
bad_value("bytes_length", "49,153", b"\0" * 49_153)
bad_value("integer_range", "2^63", 2**63)
bad_value("float_value", "NaN", Raw("fb7ff8000000000000"))
bad_value("float_value", "-0.0", -0.0)
bad_value("short_float", "1.0 in 16 bits", Raw("f93c00"))
bad_value("simple", "undefined", Raw("f7"))
bad_value("tag", "a date", Raw("c11a514b67b0"))
bad_value("map_as_value", "empty", {})
bad_value("utf8", "a surrogate", Raw("63eda080"))
bad_value("indefinite", "text", Raw("7f6161ff"))


def sized(total):
    """A set of exactly `total` bytes, filled with text."""
    filler = {1: "t" * 65_500, 2: "t" * 65_500, 3: "t" * 65_500}
    rest = 0
    while True:
        body = encode(body_of("edit", [[PUT, TRIP, record(1), filler | {4: "t" * rest}]]))
        sealed = seal(alice, header(body, sequence=1, previous=None, dependencies=()), body)
        count = len(sealed.header) + 64 + len(sealed.body)
        if count == total:
            return sealed
        rest += total - count


def at_limit(name, sealed):
    return {"name": name, "header": compact(sealed.header), "signature": sealed.signature.hex(),
            "body": compact(sealed.body), "id": sealed.id.hex()}


[crowded] = Log(alice).write("edit", [[DELETE, TRIP, n.to_bytes(16, "big")] for n in range(1_000)], wall=1_000)
refuse("size", "262,145 bytes", "size", sized(262_145))
[itemized] = Log(alice).write("edit", items(20_000), wall=1_000)

save("change-sets.json", {
    "chapter": "Protocol/change-set.md",
    "notes": NOTES,
    "circle": CIRCLE.hex(),
    "devices": [
        {"name": d.name, "seed": d.seed.hex(), "key": d.key.hex(), "incarnation": d.incarnation.hex()}
        for d in (alice, bob, carol)],
    "accepted": accepted,
    "atTheLimits": [at_limit("262,144 bytes", sized(262_144)), at_limit("20,000 items", itemized), at_limit("1,000 entries", crowded)],
    "refused": refused,
})
