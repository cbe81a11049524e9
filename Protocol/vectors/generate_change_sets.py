"""Writes change-sets.json: sets that Protocol/change-set.md accepts, and one refused set for each rule."""

import copy
import hashlib

from change_set import (
    CIRCLE,
    COMMITMENT,
    DELETE,
    ERASE,
    INSERT,
    PLAN,
    PUT,
    RECORDS,
    RESTORE,
    SALTS,
    SET_ID,
    SETTINGS,
    TYPES,
    VALUES,
    Log,
    Sealed,
    Slots,
    alice,
    blake2b,
    bob,
    carol,
    clock,
    contents_of,
    has_fields,
    header_of,
    in_order,
    is_whole,
    operation,
    plan_of,
    record,
    seal,
    stated_rank,
)
from deterministic_cbor import Raw, compact, describe, encode, save, write

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "accepted: `write` is what the author knew and wrote, `sets` the result, byte for byte. All slots of one write have "
    "salts from `seed`.",
    "copies: other valid values of an accepted set, in salted form; `absent` are the missing slots.",
    "unreadable: valid sets with contents that are not the values of their fields; all fields of the slots in `absent` "
    "are absent, the others are present.",
    "atTheLimits: accepted too; an author splits earlier.",
    "refused: `stage` is the check that fails: size, header, plan_hash, signature, plan or values; `flag` names the "
    "rule.",
    "A refused set breaks nothing but what its flag says: hashes and signature fit the bytes where possible.",
    "closure: sets that verify by themselves; `flag` is the rule that is broken after the predecessor, or none.",
]
TRIP, LODGING, PROFILE, SETTING, UNKNOWN = 1, 2, 4096, 8192, 3000

accepted = []
copies = []
unreadable = []
refused = []
closure = []


def described(sealed):
    return {
        "header": compact(sealed.header), "signature": compact(sealed.signature), "plan": compact(sealed.plan),
        "values": compact(sealed.values)}


def described_entry(entry):
    row = {"type": TYPES[entry[0]], "kind": entry[1], "record": entry[2].hex()}
    if has_fields(entry):
        row["fields"] = [{"field": number, "value": describe(value)} for number, value in sorted(entry[3].items())]
        if is_whole(entry[1]):
            updated, filled = stated_rank(entry)
            row["stated"] = {"updatedAt": str(updated), "nonEmptyFields": filled}
    return row


def accept(name, log, verb, entries=(), wall=1_000, op=operation(1), target=None, least=0):
    before = copy.deepcopy(log.__dict__ | {"device": None})
    seed = blake2b(b"seed of ", name.encode())[:16]
    sets = log.write(verb, entries, wall=wall, operation=op, target=target, least=least, seed=seed)
    accepted.append({
        "name": name,
        "author": log.device.name,
        "write": {
            "lane": before["lane"],
            "sequence": str(before["sequence"]),
            "previous": before["previous"].hex() if before["previous"] else None,
            "logBytes": str(before["log_bytes"]),
            "seenClock": str(before["clock"]),
            "unseen": [
                {"device": d[0].hex(), "incarnation": d[1].hex(), "sequence": str(d[2]), "id": d[3].hex()}
                for d in sorted(before["unseen"])],
            "operation": op.hex(),
            "verb": verb,
            "target": target.hex() if target else None,
            "wall": wall,
            "leastClock": str(least),
            "seed": seed.hex(),
            # In another order than the set's, since the author sorts.
            "entries": [described_entry(entry) for entry in reversed(entries)],
        },
        "sets": [described(s) | {"id": s.id.hex(), "declaredBytes": s.declared_bytes} for s in sets],
    })
    return sets


def copied(name, sets, *missing):
    """The newest accepted set in salted form."""
    index = len(sets) - 1
    copies.append({
        "name": name, "accepted": len(accepted) - 1, "set": index,
        "values": compact(sets[index].slots.salted(missing)), "absent": sorted(missing)})


INSERTED = [INSERT, TRIP, record(1), {1: "Rome", 2: 7}]
EDIT = [PUT, TRIP, record(2), {1: "Paris"}]

a, b, c = Log(alice), Log(bob), Log(carol)
[first] = accept("the first set of a log", a, "add", [INSERTED])
copied("one slot, with its salt", [first])
copied("one slot, missing", [first], 0)
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
sets = accept(
    "every type of entry", Log(alice), "edit",
    [
        [INSERT, TRIP, record(1), {1: "insert"}],
        [PUT, TRIP, record(2), {1: "edit"}],
        [DELETE, TRIP, record(3)],
        [RESTORE, TRIP, record(4)],
        [PUT, TRIP, record(5), {1: "edit of what is dead"}],
        [RESTORE, TRIP, record(5)],
        [PUT, TRIP, record(6), {1: "edit, then trash"}],
        [DELETE, TRIP, record(6)],
        [ERASE, TRIP, record(7)],
        [PUT, TRIP, record(8), {1: "erase what was, keep this in the trash"}],
        [ERASE, TRIP, record(8)],
        [INSERT, TRIP, record(9), {1: "erase what was, keep this alive"}],
        [ERASE, TRIP, record(9)],
        [INSERT, LODGING, record(1), {}],
        [INSERT, LODGING, record(2), {}],
        [ERASE, LODGING, record(2)],
    ])
copied("six slots with their salts", sets)
copied("the first of six slots missing", sets, 0)
copied("three of six slots missing, of two blocks of salts", sets, 1, 3, 5)
copied("all of six slots missing", sets, *range(6))
accept("an insert without fields has no slot", Log(alice), "add", [[INSERT, TRIP, record(1), {}]])
accept("nothing but an erase", Log(alice), "erase", [[ERASE, TRIP, record(1)]])
sets = accept("nine slots, with three blocks of salts", Log(alice), "import",
              [[INSERT, LODGING, record(n), {1: record(100), 2: f"Hotel {n}"}] for n in range(9)])
copied("nine slots with their salts", sets)
copied("the last of nine slots missing", sets, 8)
copied("all but one of nine slots missing", sets, 0, 1, 2, 3, 5, 6, 7, 8)
sets = accept(
    "every type of value", Log(alice), "edit",
    [[PUT, TRIP, record(1), {
        1: None, 2: False, 3: True, 4: 0, 5: -1, 6: 2**63 - 1, 7: -(2**63), 8: 0.5, 9: "", 10: "h\u00e9 \U0001f9ed",
        11: b"", 12: b"\x00\xff", 13: [], 14: [None, [1, "two", b"\x03"], 4.0], 65535: 1}]])
copied("every type of value, with a salt", sets)
accept("a kind and fields that are not registered", Log(alice), "edit", [[INSERT, UNKNOWN, record(1), {999: [1]}]])
sets = accept(
    "whole records state their rank", Log(alice), "profile",
    [
        [PUT, PROFILE, record(1), {1: 10, 2: "Ada", 3: None, 4: "", 5: b"", 6: [], 7: False}],
        [PUT, PROFILE, record(2), {2: "no time of change"}],
        [PUT, PROFILE, record(3), {1: "text", 2: "Ada"}],
        [PUT, PROFILE, record(4), {1: -5}],
        [PUT, PROFILE, record(5), {1: 2**63 - 1}],
        [PUT, PROFILE, record(6), {1: -(2**63)}],
        [INSERT, PROFILE, record(7), {1: 10, 2: "inserted"}],
        [INSERT, PROFILE, record(8), {}],
        [ERASE, PROFILE, record(9)],
        [PUT, PROFILE, record(10), {1: 11, 2: "written again"}],
        [ERASE, PROFILE, record(10)],
        [PUT, 8191, record(1), {1: None, 999: 1}],
    ])
copied("whole records with their salts", sets)
copied("three whole records missing", sets, 0, 1, 4)
accept("the first and last kinds of the records lane", Log(alice), "edit",
       [[DELETE, 1, record(1)], [DELETE, 4095, record(1)], [DELETE, 4096, record(1)], [ERASE, 8191, record(1)]])
accept("the first and last kinds of the settings lane", Log(alice, SETTINGS), "set",
       [[INSERT, SETTING, record(1), {1: "colorScheme", 2: "dark"}], [DELETE, 12287, record(1)]])
accept("a setting erased", Log(alice, SETTINGS), "erase", [[ERASE, SETTING, record(1)]])
accept("an undo", Log(alice), "undo", [[DELETE, TRIP, record(1)]], op=operation(8), target=operation(1))
accept("the last incarnation", Log(carol), "edit", [EDIT])
full = Log(alice, clock=clock(1_000, 0xFFFF))
accept("a full counter carries into the milliseconds", full, "edit", [EDIT])
far = Log(alice, sequence=2**63 - 2, previous=first.id, clock=2**64 - 4, log_bytes=2**62)
accept("the last sequence, one of the last clocks and the longest log", far, "edit", [EDIT])
crowd = Log(alice)
crowd.unseen = [[bytes([n]) * 32, record(1), n + 1, record(n) * 2] for n in range(64)]
accept("64 dependencies", crowd, "edit", [EDIT])
crowd = Log(alice)
crowd.unseen = [[bytes([n]) * 32, record(1), n + 1, record(n) * 2] for n in range(150)]
sets = accept("150 unseen logs: two join sets first", crowd, "edit", [EDIT])
copied("the last of three sets, its slot missing", sets, 0)
branches = Log(alice)
branches.unseen = [[bob.key, bob.incarnation, 4, record(1) * 2], [bob.key, bob.incarnation, 4, record(2) * 2],
                   [bob.key, bob.incarnation, 9, record(0) * 2]]
accept("dependencies on branches of one log", branches, "edit", [EDIT])
own = Log(alice)
own.unseen = [[alice.key, b"\xee" * 16, 3, record(1) * 2]]
accept("a dependency on another incarnation of the same device", own, "edit", [EDIT])
accept("depth 8", Log(alice), "edit", [[PUT, TRIP, record(1), {1: [[[[[[[1]]]]]]]}]])
sets = accept("the longest text, blob and verb", Log(alice), "v" * 32,
              [[PUT, TRIP, record(1), {1: "t" * 65_536, 2: b"\x00" * 49_152}]])
copied("the longest text and blob, missing", sets, 0)


# Sets whose slots contain something other than the values of their fields.


def accept_unreadable(name, entries, contents, absent=None):
    """`contents`: by slot, what its content is instead of the values."""
    [sealed] = Log(alice).write("edit", entries, wall=1_000, contents=contents)
    absent = sorted(contents if absent is None else absent)
    unreadable.append({"name": name} | described(sealed) | {"id": sealed.id.hex(), "absent": absent})


def accept_content(name, content, absent=(0,)):
    """In place of the array of one value."""
    accept_unreadable(name, [EDIT], {0: content}, absent)


def accept_value(name, value, absent=(0,)):
    accept_content(name, write([value]), absent)


accept_content("no bytes", b"")
accept_content("a text instead of an array", write("Paris"))
accept_content("a map instead of an array", write({1: "Paris"}))
accept_content("null", write(None))
accept_content("an empty array", write([]))
accept_content("one value too many", write(["Paris", 1]))
accept_content("a byte behind the array", write(["Paris"]) + b"\0")
accept_content("the last byte missing", write(["Paris"])[:-1])
accept_content("the head of an array alone", b"\x81")
accept_content("a length longer than necessary", b"\x98\x01" + write("Paris"))
accept_content("an array of indefinite length", b"\x9f" + write("Paris") + b"\xff")
accept_content("random bytes", blake2b(b"", b"random"))
accept_value("an integer in two bytes that fits one", Raw("1801"))
accept_value("2^63", 2**63)
accept_value("-2^63 - 1", -(2**63) - 1)
accept_value("NaN", Raw("fb7ff8000000000000"))
accept_value("infinity", Raw("fb7ff0000000000000"))
accept_value("-0.0", -0.0)
accept_value("1.0 in 16 bits", Raw("f93c00"))
accept_value("1.0 in 32 bits", Raw("fa3f800000"))
accept_value("undefined", Raw("f7"))
accept_value("a simple value", Raw("e0"))
accept_value("a date", Raw("c11a514b67b0"))
accept_value("a map", {})
accept_value("a surrogate in a text", Raw("63eda080"))
accept_value("an overlong form in a text", Raw("62c080"))
accept_value("a text of indefinite length", Raw("7f6161ff"))
accept_value("depth 9", [[[[[[[[1]]]]]]]])
accept_value("depth 8", [[[[[[[1]]]]]]], ())
accept_value("eight arrays, the innermost empty", [[[[[[[[]]]]]]]], ())
accept_value("a text of 65,537 bytes", "t" * 65_537)
accept_value("a text of 65,536 bytes", "t" * 65_536, ())
accept_value("49,153 bytes", b"\0" * 49_153)
accept_value("49,152 bytes", b"\0" * 49_152, ())
# The slot's array is one item, the value another.
accept_value("20,001 items", [None] * 19_999)
accept_value("20,000 items", [None] * 19_998, ())
THREE = [[INSERT, TRIP, record(n), {1: f"trip {n}", 2: n}] for n in (1, 2, 3)]
accept_unreadable("one of two fields unreadable: both are absent", THREE, {1: write(["trip 2", Raw("f7")])})
accept_unreadable("one value for two fields", THREE, {0: write(["trip 1"])})
accept_unreadable("three values for two fields", THREE, {2: write(["trip 3", 3, 3])})
accept_unreadable("every slot unreadable", THREE, {0: b"", 1: b"\x80", 2: b"\xff"})
accept_unreadable("a slot with the content of another, which fits", THREE, {1: write(["trip 1", 1])}, ())
accept_unreadable("a whole record, unreadable, with its rank",
                  [[PUT, PROFILE, record(1), {1: 10, 2: "Ada"}]], {0: b"\xa2\x01\x0a\x02\x63Ada"})
accept_unreadable("a whole record whose values state another rank, readable",
                  [[PUT, PROFILE, record(1), {1: 10, 2: "Ada"}, 99, 65_535]], {})
accept_unreadable("a whole record with the lowest rank",
                  [[PUT, PROFILE, record(1), {1: 10, 2: "Ada"}, -(2**63), 0]], {})


# Refused sets.


def refuse(flag, name, stage, sealed):
    refused.append({"flag": flag, "name": name, "stage": stage} | described(sealed))


GOOD = encode(plan_of("edit", [EDIT]))
SEED = bytes(range(16))
GOOD_SLOTS = Slots(SEED, contents_of([EDIT]))
NO_SLOTS = Slots(SEED, [])
DEPENDENCY = [bob.key, bob.incarnation, 1, record(1) * 2]


def header(plan=GOOD, slots=GOOD_SLOTS, sequence=2, previous=record(7) * 2, lane=RECORDS, dependencies=(DEPENDENCY,),
           **changes):
    made = header_of(
        alice, lane, sequence, previous, clock(1_000), list(dependencies), operation(1), plan, slots,
        0 if sequence < 2 else 700)
    for key, value in changes.items():
        number = int(key[1:])
        if value is Ellipsis:
            del made[number]
        else:
            made[number] = value
    return made


def bad_header(flag, name, **changes):
    refuse(flag, name, "header", seal(alice, header(**changes), GOOD, GOOD_SLOTS))


def bad_bytes(flag, name, encoded):
    refuse(flag, name, "header", Sealed(encoded, alice.sign(encoded), GOOD, GOOD_SLOTS.seeded(), {}))


def with_values(sealed, values):
    return Sealed(sealed.header, sealed.signature, sealed.plan, values, sealed.fields)


names = {0: "version", 1: "circle", 2: "device", 3: "incarnation", 4: "lane", 5: "sequence", 6: "previous",
         7: "clock", 9: "operation", 10: "plan_length", 11: "plan_hash", 12: "values_length", 13: "commitments_hash",
         14: "log_bytes"}
for number, name in names.items():
    bad_header("missing_key", name, **{f"k{number}": ...})
bad_header("unknown_key", "15", k15=0)
bad_header("version", "0", k0=0)
bad_header("version", "1", k0=1)
bad_header("version", "3", k0=3)
bad_header("version", "text", k0="2")
bad_header("length", "a circle of 31 bytes", k1=CIRCLE[:31])
bad_header("length", "a circle of 33 bytes", k1=CIRCLE + b"\0")
bad_header("length", "a device of 31 bytes", k2=alice.key[:31])
bad_header("length", "an incarnation of 15 bytes", k3=alice.incarnation[:15])
bad_header("length", "a previous id of 16 bytes", k6=record(1))
bad_header("length", "an operation of 17 bytes", k9=operation(1) + b"\0")
bad_header("length", "a plan hash of 20 bytes", k11=b"\0" * 20)
bad_header("length", "a commitments hash of 31 bytes", k13=b"\0" * 31)
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
bad_header("plan_length", "0", k10=0)
bad_header("plan_length", "beyond a whole set", k10=262_145)
bad_header("values_length", "beyond a whole set", k12=262_145)
bad_header("values_length", "negative", k12=-1)
bad_header("log_bytes", "negative", k14=-1)
bad_header("log_bytes", "2^62 + 1", k14=2**62 + 1)
bad_header("log_bytes", "1 at sequence 1", sequence=1, previous=None, k14=1)
good_header = write(header())
bad_bytes("trailing", "a byte behind the header", good_header + b"\0")
bad_bytes("truncated", "the last byte missing", good_header[:-1])
bad_bytes("truncated", "nothing", b"")
bad_bytes("key_order", "version last", good_header[:1] + good_header[3:] + b"\x00\x02")
bad_bytes("key_duplicate", "version twice", bytes([good_header[0] + 1]) + b"\x00\x02" + good_header[1:])
bad_bytes("long_integer", "version in two bytes", good_header[:1] + b"\x00\x18\x02" + good_header[3:])
bad_bytes("indefinite", "map", b"\xbf" + good_header[1:] + b"\xff")
bad_bytes("not_a_map", "an array", b"\x81" + good_header)

good = seal(alice, header(), GOOD, GOOD_SLOTS)


def bad_plan_hash(flag, name, plan=GOOD, **changes):
    refuse(flag, name, "plan_hash", seal(alice, header(**changes), plan, GOOD_SLOTS))


bad_plan_hash("plan_hash", "another plan of the same length", GOOD[:-1] + bytes([GOOD[-1] ^ 1]))
bad_plan_hash("plan_hash", "without its prefix", k11=blake2b(b"", GOOD))
bad_plan_hash("plan_hash", "with another prefix", k11=blake2b(VALUES, GOOD))
bad_plan_hash("plan_hash", "with the prefix of version 1", k11=blake2b(b"waymark/body/v1\x00", GOOD))
bad_plan_hash("plan_hash", "no plan", b"")
bad_plan_hash("plan_length", "one too few", k10=len(GOOD) - 1)
bad_plan_hash("plan_length", "one too many", k10=len(GOOD) + 1)


def bad_signature(name, signature, made=good):
    refuse("signature", name, "signature", Sealed(made.header, signature, made.plan, made.values, {}))


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
bad_signature("a key and an R of small order", neutral + b"\x00" * 32,
              seal(alice, header(k2=neutral), GOOD, GOOD_SLOTS))


def bad_plan(flag, name, plan, lane=RECORDS, slots=GOOD_SLOTS):
    plan = plan if isinstance(plan, bytes) else write(plan)
    refuse(flag, name, "plan", seal(alice, header(plan, slots, lane=lane), plan, slots))


def bad_entries(flag, name, entries, lane=RECORDS):
    """A slot for each entry that lists fields, in whatever form."""
    contents = [
        write(list(entry[3].values()) if isinstance(entry[3], dict) else [None] * len(entry[3]))
        for entry in entries if len(entry) > 3 and isinstance(entry[3], (dict, list)) and entry[3]]
    bad_plan(flag, name, plan_of("edit", entries), lane, Slots(SEED, contents))


# The plan's map, key, verb, key and array are 5 items, an entry with its list of fields 5, and each field one.
def items(count):
    return [[PUT, TRIP, record(1), {number: None for number in range(1, count - 9)}]]


bad_plan("verb", "missing", {2: plan_of("edit", [EDIT])[2]})
bad_plan("verb", "empty", plan_of("", [EDIT]))
bad_plan("verb", "33 bytes", plan_of("v" * 33, [EDIT]))
bad_plan("verb", "bytes", plan_of(b"edit", [EDIT]))
bad_plan("verb", "not UTF-8", plan_of(Raw("62c3c3"), [EDIT]))
bad_plan("target", "15 bytes", plan_of("undo", [EDIT], operation(1)[:15]))
bad_plan("target", "null", {0: "undo", 1: None, 2: plan_of("edit", [EDIT])[2]})
bad_plan("unknown_key", "3", plan_of("edit", [EDIT]) | {3: 0})
bad_plan("empty_entries", "an empty array", {0: "edit", 2: []}, slots=NO_SLOTS)
bad_plan("not_a_map", "an array", ["edit"], slots=NO_SLOTS)
bad_plan("trailing", "a byte behind the plan", GOOD + b"\0")
bad_plan("truncated", "the last byte missing", GOOD[:-1])
bad_plan("key_order", "entries before verb", b"\xa2" + GOOD[7:] + GOOD[1:7])
bad_plan("indefinite", "map", b"\xbf" + GOOD[1:] + b"\xff")
bad_plan("entry_form", "fields in a map, as in version 1", plan_of("edit", [EDIT[:3] + [Raw(write(EDIT[3]))]]))
bad_entries("entry_form", "type 5", [[5, TRIP, record(1)]])
bad_entries("entry_form", "a negative type", [[-1, TRIP, record(1)]])
bad_entries("entry_form", "a put without a list of fields", [[PUT, TRIP, record(1)]])
bad_entries("entry_form", "an insert without a list of fields", [[INSERT, TRIP, record(1)]])
bad_entries("entry_form", "a put with five parts", [[PUT, TRIP, record(1), [1], 0]])
bad_entries("entry_form", "a delete with fields", [[DELETE, TRIP, record(1), [1]]])
bad_entries("entry_form", "a restore with two parts", [[RESTORE, TRIP]])
bad_entries("entry_form", "an erase with fields", [[ERASE, TRIP, record(1), [1]]])
bad_entries("entry_form", "an erase with two parts", [[ERASE, TRIP]])
bad_entries("entry_form", "an empty entry", [[]])
bad_entries("entry_form", "a record id of 15 bytes", [[DELETE, TRIP, record(1)[:15]]])
bad_entries("entry_form", "a record id of 17 bytes", [[ERASE, TRIP, record(1) + b"\0"]])
bad_entries("rank", "missing, of a put", [[PUT, PROFILE, record(1), [1]]])
bad_entries("rank", "missing, of an insert", [[INSERT, PROFILE, record(1), [1]]])
bad_entries("rank", "missing, of an insert without fields", [[INSERT, 8191, record(1), []]])
bad_entries("rank", "without the number of fields", [[PUT, PROFILE, record(1), [1], 10]])
bad_entries("rank", "with another part", [[PUT, PROFILE, record(1), [1], 10, 1, 0]])
bad_entries("rank", "of a record that merges by field", [[PUT, TRIP, record(1), [1], 10, 1]])
bad_entries("rank", "of a delete", [[DELETE, PROFILE, record(1), 10, 1]])
bad_entries("rank", "of an erase", [[ERASE, PROFILE, record(1), 10, 1]])
bad_entries("rank", "time 2^63", [[PUT, PROFILE, record(1), [1], 2**63, 1]])
bad_entries("rank", "time -2^63 - 1", [[PUT, PROFILE, record(1), [1], -(2**63) - 1, 1]])
bad_entries("rank", "time null", [[PUT, PROFILE, record(1), [1], None, 1]])
bad_entries("rank", "time is a float", [[PUT, PROFILE, record(1), [1], 10.0, 1]])
bad_entries("rank", "-1 fields", [[PUT, PROFILE, record(1), [1], 10, -1]])
bad_entries("rank", "65,536 fields", [[PUT, PROFILE, record(1), [1], 10, 65_536]])
bad_entries("kind", "0", [[DELETE, 0, record(1)]])
bad_entries("kind", "12288", [[DELETE, 12288, record(1)]])
bad_entries("kind", "2^32 + 1", [[DELETE, 2**32 + 1, record(1)]])
bad_entries("lane_of_kind", "a setting in the records lane", [[DELETE, SETTING, record(1)]])
bad_entries("lane_of_kind", "a trip in the settings lane", [[DELETE, TRIP, record(1)]], SETTINGS)
bad_entries("lane_of_kind", "a profile in the settings lane", [[ERASE, PROFILE, record(1)]], SETTINGS)
bad_entries("lane_of_kind", "the first entry is good", [[DELETE, TRIP, record(1)], [DELETE, SETTING, record(1)]])
bad_entries("fields", "none, of a put", [[PUT, TRIP, record(1), []]])
bad_entries("fields", "none, of a put of a whole record", [[PUT, PROFILE, record(1), [], 0, 0]])
bad_entries("fields", "65536", [[PUT, TRIP, record(1), [65_536]]])
bad_entries("fields", "the life, of a put", [[PUT, TRIP, record(1), [0, 1]]])
bad_entries("fields", "the life, of an insert", [[INSERT, TRIP, record(1), [0]]])
bad_entries("fields", "the life, of a whole record", [[PUT, PROFILE, record(1), [0, 1], 0, 0]])
bad_entries("fields", "negative", [[PUT, TRIP, record(1), [-1]]])
bad_entries("fields", "text", [[PUT, TRIP, record(1), ["1"]]])
bad_entries("fields", "descending", [[PUT, TRIP, record(1), [2, 1]]])
bad_entries("fields", "twice the same", [[INSERT, TRIP, record(1), [1, 1]]])
bad_plan("fields", "a list of indefinite length", plan_of("edit", [EDIT[:3] + [Raw("9f01ff")]]))
bad_plan("fields", "a field in two bytes", plan_of("edit", [EDIT[:3] + [Raw("811801")]]))
bad_entries("entry_order", "by kind", [[DELETE, LODGING, record(1)], [DELETE, TRIP, record(2)]])
bad_entries("entry_order", "by record", [[DELETE, TRIP, record(2)], [DELETE, TRIP, record(1)]])
bad_entries("entry_order", "by type", [[DELETE, TRIP, record(1)], [PUT, TRIP, record(1), {1: "Paris"}]])
bad_entries("entry_order", "an erase before an insert", [[ERASE, TRIP, record(1)], INSERTED])
bad_entries("entry_order", "two puts", [EDIT, EDIT])
bad_entries("entry_order", "two deletes", [[DELETE, TRIP, record(1)], [DELETE, TRIP, record(1)]])
bad_entries("entry_order", "two erases", [[ERASE, TRIP, record(1)], [ERASE, TRIP, record(1)]])
bad_entries("two_lives", "delete and insert", [[DELETE, TRIP, record(1)], INSERTED])
bad_entries("two_lives", "restore and insert", [[RESTORE, TRIP, record(1)], INSERTED])
bad_entries("two_lives", "delete and restore", [[DELETE, TRIP, record(1)], [RESTORE, TRIP, record(1)]])
bad_entries("two_lives", "delete and erase", [[DELETE, TRIP, record(1)], [ERASE, TRIP, record(1)]])
bad_entries("two_lives", "restore and erase", [[RESTORE, TRIP, record(1)], [ERASE, TRIP, record(1)]])
bad_entries("two_lives", "put, delete and restore",
            [[PUT, TRIP, record(1), {1: 1}], [DELETE, TRIP, record(1)], [RESTORE, TRIP, record(1)]])
bad_entries("two_lives", "restore, insert and erase", [[RESTORE, TRIP, record(1)], INSERTED, [ERASE, TRIP, record(1)]])
bad_entries("two_lives", "delete and erase, of a whole record",
            [[DELETE, PROFILE, record(1)], [ERASE, PROFILE, record(1)]])
bad_entries("two_lists", "put and insert", [[PUT, TRIP, record(1), {1: 1}], INSERTED])
bad_entries("two_lists", "put and insert without fields",
            [[PUT, TRIP, record(1), {1: 1}], [INSERT, TRIP, record(1), {}]])
bad_entries("two_lists", "put, insert and erase", [[PUT, TRIP, record(1), {1: 1}], INSERTED, [ERASE, TRIP, record(1)]])
bad_entries("two_lists", "put and insert of a whole record",
            [[PUT, PROFILE, record(1), {1: 1}], [INSERT, PROFILE, record(1), {1: 1}]])
bad_entries("entries", "1,001", [[DELETE, TRIP, n.to_bytes(16, "big")] for n in range(1_001)])
bad_entries("items", "20,001", items(20_001))


# Values that do not match.


def bad_values(flag, name, values, made=good):
    refuse(flag, name, "values", with_values(made, values))


def committed(contents, entries=(EDIT,), **changes):
    """A set that commits to these contents, whatever its plan says."""
    plan, slots = encode(plan_of("edit", in_order(entries))), Slots(SEED, contents)
    return seal(alice, header(plan, slots, **changes), plan, slots)


CONTENT = GOOD_SLOTS.contents[0]
[SALT], [COMMITTED] = GOOD_SLOTS.salts, GOOD_SLOTS.commitments
bad_values("form", "nothing", b"")
bad_values("form", "null", write(None))
bad_values("form", "a byte string", write(good.values))
bad_values("form", "a map", write({0: SEED, 1: [CONTENT]}))
bad_values("form", "an empty array", write([]))
bad_values("form", "three parts", write([SEED, [CONTENT], None]))
bad_values("form", "a seed alone", write([SEED]))
bad_values("form", "a seed of 15 bytes", write([SEED[:15], [CONTENT]]))
bad_values("form", "a seed of 17 bytes", write([SEED + b"\0", [CONTENT]]))
bad_values("form", "a seed that is text", write(["0123456789abcdef", [CONTENT]]))
bad_values("form", "a seed and a content that is not in an array", write([SEED, CONTENT]))
bad_values("form", "a seed and a content that is not in a byte string", write([SEED, [["Paris"]]]))
bad_values("form", "a seed and a text", write([SEED, [CONTENT.decode("latin-1")]]))
bad_values("form", "a seed and a salt", write([SEED, [[SALT, CONTENT]]]))
bad_values("form", "a seed and null", write([SEED, [None]]))
bad_values("form", "a slot without an outer array", write([[SALT, CONTENT]]))
bad_values("form", "an empty outer array with the slots behind it", b"\x80" + GOOD_SLOTS.salted()[1:])
bad_values("form", "a salt of 15 bytes", write([[[SALT[:15], CONTENT]]]))
bad_values("form", "a salt of 17 bytes", write([[[SALT + b"\0", CONTENT]]]))
bad_values("form", "a slot without content", write([[[SALT]]]))
bad_values("form", "a slot of three parts", write([[[SALT, CONTENT, None]]]))
bad_values("form", "a commitment of 31 bytes", write([[COMMITTED[:31]]]))
bad_values("form", "a commitment of 33 bytes", write([[COMMITTED + b"\0"]]))
bad_values("form", "a commitment in an array", write([[[COMMITTED]]]))
bad_values("form", "null instead of a commitment", write([[None]]))
bad_values("form", "a content of an unsalted slot", write([[CONTENT]]))
bad_values("trailing", "a byte behind the values", good.values + b"\0")
bad_values("trailing", "a byte behind the salted form", GOOD_SLOTS.salted() + b"\0")
bad_values("truncated", "the last byte missing", good.values[:-1])
bad_values("truncated", "the last byte of the salted form missing", GOOD_SLOTS.salted()[:-1])
bad_values("long_integer", "the outer array's length in two bytes", b"\x98\x02" + good.values[1:])
bad_values("long_integer", "the salted form's length in two bytes", b"\x98\x01" + GOOD_SLOTS.salted()[1:])
bad_values("indefinite", "the outer array", b"\x9f" + good.values[1:] + b"\xff")
bad_values("slot_count", "one less than the plan and the header", write([SEED, []]))
bad_values("slot_count", "one more than the plan and the header", write([SEED, [CONTENT, CONTENT]]))
bad_values("slot_count", "a missing slot more than the plan and the header", write([[[SALT, CONTENT], COMMITTED]]))
bad_values("slot_count", "no slots in the salted form", write([[]]))
more = committed([CONTENT, CONTENT])
bad_values("slot_count", "the header commits to one more than the plan has", more.values, more)
bad_values("slot_count", "the header commits to one more than the plan has, in salted form",
           more.slots.salted({0}), more)
fewer = committed([CONTENT], THREE)
bad_values("slot_count", "the header commits to fewer than the plan has", fewer.values, fewer)
slotless = committed([], [[DELETE, TRIP, record(1)]])
bad_values("slot_count", "a byte where the plan has no slots", b"\0", slotless)
bad_values("slot_count", "a seed where the plan has no slots", write([SEED, []]), slotless)
bad_values("slot_count", "an empty salted form where the plan has no slots", write([[]]), slotless)
inserted = committed([], [[INSERT, TRIP, record(1), {}]])
bad_values("slot_count", "a slot for an insert without fields", Slots(SEED, [write([])]).seeded(), inserted)
no_commitments = {"k12": len(write([SEED, []])), "k13": blake2b(VALUES, b"")}
committed_to_none = committed([], [[DELETE, TRIP, record(1)]], **no_commitments)
bad_values("slot_count", "a header that commits to no slots, with a seed", write([SEED, []]), committed_to_none)
bad_values("slot_count", "a header that commits to no slots, in salted form", write([[]]), committed_to_none)
bad_values("slot_count", "a header that commits to no slots, without values", b"", committed_to_none)
uncommitted = seal(alice, header(GOOD, NO_SLOTS), GOOD, NO_SLOTS)
bad_values("slot_count", "a header that commits to nothing, without values", b"", uncommitted)
bad_values("slot_count", "a header that commits to nothing, with the plan's values", good.values, uncommitted)
bad_values("commitment", "another content of the same length", write([SEED, [CONTENT[:-1] + b"S"]]))
bad_values("commitment", "another seed", write([SEED[1:] + SEED[:1], [CONTENT]]))
bad_values("commitment", "another content, with its salt", write([[[SALT, CONTENT[:-1] + b"S"]]]))
bad_values("commitment", "another salt", write([[[SALT[1:] + SALT[:1], CONTENT]]]))
bad_values("commitment", "the seed as the salt", write([[[SEED, CONTENT]]]))
bad_values("commitment", "another commitment", write([[COMMITTED[1:] + COMMITTED[:1]]]))
bad_values("commitment", "a commitment as content", write([SEED, [COMMITTED]]))
bad_values("commitment", "the values of another set", second.values)
three = committed(contents_of(THREE), THREE)
bad_values("commitment", "two contents exchanged", write([SEED, [three.slots.contents[n] for n in (1, 0, 2)]]), three)
bad_values("commitment", "two commitments exchanged", write([[three.slots.commitments[n] for n in (0, 2, 1)]]), three)
bad_values("commitments_hash", "without its prefix", good.values,
           committed([CONTENT], k13=blake2b(b"", COMMITTED)))
bad_values("commitments_hash", "with the prefix of the plan", good.values,
           committed([CONTENT], k13=blake2b(PLAN, COMMITTED)))
bad_values("commitments_hash", "over the contents", good.values, committed([CONTENT], k13=blake2b(VALUES, CONTENT)))
bad_values("commitments_hash", "in another order of slots", three.values,
           committed(contents_of(THREE), THREE, k13=blake2b(VALUES, b"".join(reversed(three.slots.commitments)))))
bad_values("commitments_hash", "commitments without their prefix", good.values,
           committed([CONTENT], k13=blake2b(VALUES, blake2b(b"", SALT + CONTENT))))
bad_values("commitments_hash", "commitments without salts", good.values,
           committed([CONTENT], k13=blake2b(VALUES, blake2b(COMMITMENT, CONTENT))))


def salted_otherwise(name, salt):
    """Nine slots whose salts derive from the seed in another way."""
    contents = [write([n]) for n in range(9)]
    entries = [[PUT, TRIP, record(n), {1: n}] for n in range(9)]
    hashes = b"".join(blake2b(COMMITMENT, salt(n) + content) for n, content in enumerate(contents))
    made = committed(contents, entries, k13=blake2b(VALUES, hashes))
    bad_values("salts", name, made.values, made)


def block(number, order="big", prefix=SALTS, width=4):
    return hashlib.blake2b(prefix + SEED + number.to_bytes(width, order), digest_size=64).digest()


salted_otherwise("a hash for each slot", lambda n: block(n)[:16])
salted_otherwise("the number of the block little-endian", lambda n: block(n // 4, "little")[16 * (n % 4):][:16])
salted_otherwise("the number of the block in 8 bytes", lambda n: block(n // 4, width=8)[16 * (n % 4):][:16])
salted_otherwise("without the prefix", lambda n: block(n // 4, prefix=b"")[16 * (n % 4):][:16])
salted_otherwise("a shorter hash", lambda n: (blake2b(SALTS, SEED + (n // 2).to_bytes(4, "big")))[16 * (n % 2):][:16])
salted_otherwise("one salt for all", lambda n: block(0)[:16])
seeded_length = len(good.values)
bad_values("values_length", "one too few", good.values, committed([CONTENT], k12=seeded_length - 1))
bad_values("values_length", "one too many", good.values, committed([CONTENT], k12=seeded_length + 1))
LONG = [[PUT, TRIP, record(2), {1: "Paris " * 10}]]
long_slots = Slots(SEED, contents_of(LONG))
longest = committed(long_slots.contents, LONG, k12=len(long_slots.salted()) - 36)
bad_values("values_length", "37 more than the header says, for one slot", long_slots.salted(),
           committed(long_slots.contents, LONG, k12=len(long_slots.salted()) - 37))


# Sets at the limits.


def sized(total):
    """A set whose declared size is exactly `total`, filled with text."""
    rest = 0
    while True:
        entries = [[PUT, TRIP, record(1), {1: "t" * 65_500, 2: "t" * 65_500, 3: "t" * 65_500, 4: "t" * rest}]]
        plan, slots = encode(plan_of("edit", entries)), Slots(SEED, contents_of(entries))
        sealed = seal(alice, header(plan, slots, sequence=1, previous=None, dependencies=()), plan, slots)
        if sealed.declared_bytes == total:
            return sealed
        rest += total - sealed.declared_bytes


def at_limit(name, sealed):
    return {"name": name} | described(sealed) | {"id": sealed.id.hex()}


refuse("declared_size", "262,145 bytes", "header", sized(262_145))
refuse("declared_size", "262,145 bytes, of which few are here", "header",
       with_values(sized(262_145), sized(262_145).slots.salted({0})))
refuse("declared_size", "262,144 bytes of plan", "header", seal(alice, header(k10=262_144), GOOD, GOOD_SLOTS))
room = 262_144 - len(good.header) - 64
refuse("size", "header, signature and plan of 262,145 bytes", "size",
       Sealed(good.header, good.signature, b"\0" * (room + 1), good.values, {}))
refuse("size", "values of 298,145 bytes", "size", with_values(good, b"\0" * 298_145))
bad_plan_hash("plan_hash", "a plan as long as a plan may be", b"\0" * room)
bad_values("form", "values as long as values may be", b"\0" * 298_144)
[crowded] = Log(alice).write("edit", [[DELETE, TRIP, n.to_bytes(16, "big")] for n in range(1_000)], wall=1_000)
[itemized] = Log(alice).write("edit", items(20_000), wall=1_000)
[numerous] = Log(alice).write("edit", [[PUT, TRIP, n.to_bytes(16, "big"), {1: n}] for n in range(1_000)], wall=1_000)
at_the_limits = [
    at_limit("262,144 bytes", sized(262_144)),
    at_limit("262,144 bytes, in salted form", with_values(sized(262_144), sized(262_144).slots.salted())),
    at_limit("20,000 items", itemized),
    at_limit("1,000 entries", crowded),
    at_limit("1,000 slots", numerous),
    at_limit("1,000 missing slots", with_values(numerous, numerous.slots.salted(range(1_000)))),
    at_limit("a salted form 36 bytes longer than the header says, for one slot",
             with_values(longest, longest.slots.salted())),
]


# Sets and their predecessors.


def follow(flag, name, change):
    """`change`: changes the log after its first set."""
    log = Log(alice)
    [before] = log.write("add", [INSERTED], wall=1_000)
    change(log)
    [after] = log.write("edit", [EDIT], wall=1_000)
    closure.append({
        "flag": flag, "name": name,
        "predecessor": described(before) | {"id": before.id.hex()}, "set": described(after) | {"id": after.id.hex()}})


def changed(**changes):
    return lambda log: log.__dict__.update({key: change(getattr(log, key)) for key, change in changes.items()})


follow("none", "placed", changed())
follow("log_bytes", "one less", changed(log_bytes=lambda count: count - 1))
follow("log_bytes", "one more", changed(log_bytes=lambda count: count + 1))
follow("log_bytes", "none", changed(log_bytes=lambda _: 0))
follow("log_bytes", "2^62", changed(log_bytes=lambda _: 2**62))
follow("clock", "as before", changed(clock=lambda now: now - 1))

save("change-sets.json", {
    "chapter": "Protocol/change-set.md",
    "notes": NOTES,
    "circle": CIRCLE.hex(),
    "devices": [
        {"name": d.name, "seed": d.seed.hex(), "key": d.key.hex(), "incarnation": d.incarnation.hex()}
        for d in (alice, bob, carol)],
    "accepted": accepted,
    "copies": copies,
    "unreadable": unreadable,
    "atTheLimits": at_the_limits,
    "refused": refused,
    "closure": closure,
})
