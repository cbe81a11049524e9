"""Writes messages.json: messages 1 to 14, which Protocol/session.md accepts, ignores and refuses."""

from change_set import INSERT, Log, alice, bob, record
from deterministic_cbor import Raw, compact, encode, save, write
from session_introductions import BOB_CERTIFICATE, introduction
from statements import GENESIS

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "messages: encoded messages 1 to 14, each by itself. Whether a message may come at a given moment, and whether an "
    "answer fits its question, is in session.json. Messages 15 to 19 are in files.json, and more messages of newer "
    "versions in growth.json.",
    "flag: none (accepted, and encoding what was read gives the same bytes), unknown (accepted; it has a reason that "
    "no version defines yet, which a reader need not keep), ignored (of a newer version: nothing happens), or the rule "
    "that a refused message breaks:",
    "form: an item has another type or another fixed length, or the encoding is not the deterministic one.",
    "parts: an array has too few or too many parts, or parts that exclude each other.",
    "range: a number is too small or too large.",
    "count: a list has too few or too many items.",
    "length: a byte string is too long or too short.",
    "order: items do not ascend.",
    "twice: an item is named twice.",
    "verify: the form is right, and a change set in it does not verify.",
]
(INTRODUCTION, SUMMARY, STATEMENT_IDS, STATEMENTS, HEADS, WANT, SETS, SERVED, STATE, GOODBYE, QUERY, ANSWER,
 WANT_VALUES, VALUES) = range(1, 15)
SETTINGS, RECORDS = 0, 1
SALT = bytes(range(16))
HASH, ZERO = bytes([0xab]) * 32, bytes(32)
SEQUENCE_MAX, NUMBER_MAX = 2**63 - 1, 2**64 - 1
messages, seen = [], {}


def name(number, length=32):
    return number.to_bytes(length, "big")


def message(flag, text, data):
    """A row; none if another has the same bytes, as some broken forms of similar messages do."""
    data = data if isinstance(data, bytes) else encode(data)
    known = seen.setdefault(data, flag)
    assert known == flag, text
    if len(seen) > len(messages):
        messages.append({"flag": flag, "name": text, "bytes": compact(data, 8 if len(data) > 200_000 else 32)})


def changed(value, path, change):
    """A copy of nested lists in which the list at `path` is changed."""
    copy = list(value)
    if path:
        copy[path[0]] = changed(copy[path[0]], path[1:], change)
    else:
        change(copy)
    return copy


def broken(title, parts, *paths):
    """An accepted message, and what its arrays can't be: a part too few, a part too many, a part that is text.

    `paths` lead to arrays of a fixed number of parts; the message is one of them.
    """
    message("none", title, parts)
    for path in ([], *paths):
        where = title if not path else f"{title}, part {'.'.join(map(str, path))}"
        count = len(changed(parts, path, lambda each: None) if not path else at(parts, path))
        message("parts", f"{where}: a part missing", changed(parts, path, lambda each: each.pop()))
        message("parts", f"{where}: a part too many", changed(parts, path, lambda each: each.append(0)))
        for index in range(count):
            def spoil(each, index=index):
                each[index] = "x"
            message("form", f"{where}: text as part {index}", changed(parts, path, spoil))
    encoded = encode(parts)
    message("form", f"{title}: a byte behind", encoded + b"\x00")
    message("form", f"{title}: the last byte missing", encoded[:-1])
    message("form", f"{title}: the tag in one byte more", write([Raw(bytes([0x18, parts[0]])), *parts[1:]]))
    message("form", f"{title}: of indefinite length", b"\x9f" + encoded[1:] + b"\xff")


def at(value, path):
    for index in path:
        value = value[index]
    return value


# What is no message.

message("form", "no byte", b"")
message("parts", "an empty array", [])
message("parts", "an empty array, and a tag of a newer version behind it", b"\x80\x14")
message("form", "a number", encode(8))
message("form", "a map", encode({8: 1}))
message("form", "a tag that is negative", [-1, 1])
message("form", "a tag that is null", [None, 1])
message("range", "tag 0", [0, 1])
message("range", "tag 256", [256, 1])
message("ignored", "the least tag of a newer version", [20])
message("ignored", "the greatest tag of a newer version", [255, "x", {1: 2}])

# 1 introduction: what it may contain is in introductions of session.json.

broken("introduction", [INTRODUCTION, introduction([GENESIS, BOB_CERTIFICATE])])
message("form", "introduction: a map in place of its bytes", [INTRODUCTION, {0: 1}])

# 2 summary

OPEN, FREE = [0, HASH, HASH, ZERO], [2, HASH, HASH, ZERO]
broken("summary", [SUMMARY, HASH, 1_700_000_000_000, OPEN, FREE], [3], [4])
for reason in (1, 3, 4, 5, 6, 7, 16):
    message("none", f"summary: reason {reason}", [SUMMARY, HASH, 0, OPEN, [reason, HASH, HASH, ZERO]])
for reason in (8, 9, 77, 255):
    message("unknown", f"summary: reason {reason}", [SUMMARY, HASH, 0, OPEN, [reason, HASH, HASH, ZERO]])
message("range", "summary: reason 256", [SUMMARY, HASH, 0, OPEN, [256, HASH, HASH, ZERO]])
message("none", "summary: the greatest time", [SUMMARY, HASH, 2**48 - 1, OPEN, OPEN])
message("range", "summary: a time of 49 bits", [SUMMARY, HASH, 2**48, OPEN, OPEN])
message("form", "summary: a time before 1970", [SUMMARY, HASH, -1, OPEN, OPEN])
message("form", "summary: a certificates hash of 31 bytes", [SUMMARY, HASH[1:], 0, OPEN, OPEN])
message("form", "summary: a digest of 33 bytes", [SUMMARY, HASH, 0, OPEN, [0, HASH, HASH, bytes(33)]])
message("form", "summary: no digest", [SUMMARY, HASH, 0, [0, HASH, HASH, b""], OPEN])

# 3 statement ids, 4 statements

broken("statement ids", [STATEMENT_IDS, True, [name(2), name(1)]])
message("none", "statement ids: none", [STATEMENT_IDS, False, []])
message("form", "statement ids: an id of 31 bytes", [STATEMENT_IDS, True, [name(1, 31)]])
message("form", "statement ids: reply as a number", [STATEMENT_IDS, 1, [name(1)]])
broken("statements", [STATEMENTS, False, [BOB_CERTIFICATE, GENESIS]])
message("none", "statements: none", [STATEMENTS, True, []])
message("length", "statements: one of 262,145 bytes", [STATEMENTS, True, [bytes(262_145)]])
message("form", "statements: one that is no byte string", [STATEMENTS, True, [[2, b"", b""]]])

# 5 heads


def head(sequence=8, folded=None, number=3, device=1):
    return [name(device), name(2, 16), sequence, name(number), sequence if folded is None else folded]


def many_heads(count):
    """Heads that differ in their sequences: short in this notation."""
    return [[ZERO, bytes(16), n + 1, ZERO, 0] for n in range(count)]


broken("heads", [HEADS, RECORDS, True, [head()]], [3, 0])
message("none", "heads: none", [HEADS, SETTINGS, False, []])
message("none", "heads: of a forked log, in any order", [HEADS, RECORDS, True, [head(9, 0), head(8, 8, 4)]])
message("none", "heads: nothing is folded", [HEADS, RECORDS, True, [head(8, 0)]])
message("none", "heads: the greatest sequence", [HEADS, RECORDS, True, [head(SEQUENCE_MAX)]])
message("none", "heads: 8,192", [HEADS, RECORDS, True, many_heads(8_192)])
message("count", "heads: 8,193", [HEADS, RECORDS, True, many_heads(8_193)])
message("range", "heads: sequence 0", [HEADS, RECORDS, True, [head(0)]])
message("range", "heads: a sequence of 64 bits", [HEADS, RECORDS, True, [head(2**63, 0)]])
message("range", "heads: more folded than stored", [HEADS, RECORDS, True, [head(8, 9)]])
message("form", "heads: a negative folded sequence", [HEADS, RECORDS, True, [head(8, -1)]])
message("form", "heads: a device of 31 bytes", [HEADS, RECORDS, True, [[name(1, 31), *head()[1:]]]])
message("form", "heads: an incarnation of 32 bytes", [HEADS, RECORDS, True, [[name(1), name(2), *head()[2:]]]])
message("form", "heads: a sequence in one byte more", write([HEADS, RECORDS, True, [[
    name(1), name(2, 16), Raw("1808"), name(3), 8]]]))
message("form", "heads: complete as a number", [HEADS, RECORDS, 1, []])

# 6 want


def asked(start=3, through=8, number=3):
    return [name(1), name(2, 16), start, through, name(number)]


def many_wants(count):
    return [[ZERO, bytes(16), 1, n + 1, ZERO] for n in range(count)]


broken("want", [WANT, RECORDS, [asked()]], [2, 0])
message("none", "want: nothing", [WANT, SETTINGS, []])
message("none", "want: two tips of one log", [WANT, RECORDS, [asked(3, 8, 3), asked(1, 9, 4)]])
message("none", "want: one set", [WANT, RECORDS, [asked(8, 8)]])
message("none", "want: the greatest sequence", [WANT, RECORDS, [asked(1, SEQUENCE_MAX)]])
message("none", "want: 1,024", [WANT, RECORDS, many_wants(1_024)])
message("count", "want: 1,025", [WANT, RECORDS, many_wants(1_025)])
message("range", "want: from sequence 0", [WANT, RECORDS, [asked(0)]])
message("range", "want: through sequence 0", [WANT, RECORDS, [asked(0, 0)]])
message("range", "want: from above through", [WANT, RECORDS, [asked(9, 8)]])
message("range", "want: a sequence of 64 bits", [WANT, RECORDS, [asked(1, 2**63)]])

# 7 sets


def wire(sealed):
    return [sealed.header, sealed.signature, sealed.plan, sealed.values]


[TRIP] = Log(alice).write("add", [[INSERT, 1, record(1), {1: "Rome"}]], wall=1_000)
[JOIN] = Log(bob).write("add", wall=1_000)
broken("sets", [SETS, RECORDS, [wire(TRIP)]], [2, 0])
message("none", "sets: none", [SETS, SETTINGS, []])
message("none", "sets: two, one of them without slots", [SETS, RECORDS, [wire(TRIP), wire(JOIN)]])
message("none", "sets: a slot is missing", [SETS, RECORDS, [[*wire(TRIP)[:3], TRIP.slots.salted([0])]]])
message("form", "sets: a signature of 63 bytes", [SETS, RECORDS, [[TRIP.header, TRIP.signature[1:], *wire(TRIP)[2:]]]])
message("length", "sets: values of 298,145 bytes", [SETS, RECORDS, [[*wire(TRIP)[:3], bytes(298_145)]]])
message("length", "sets: a header of 262,145 bytes", [SETS, RECORDS, [[bytes(262_145), *wire(TRIP)[1:]]]])
message("verify", "sets: the signature of another set",
        [SETS, RECORDS, [[TRIP.header, JOIN.signature, *wire(TRIP)[2:]]]])
message("verify", "sets: the plan of another set", [SETS, RECORDS, [[*wire(TRIP)[:2], JOIN.plan, TRIP.values]]])
message("verify", "sets: no values in place of a slot", [SETS, RECORDS, [[*wire(TRIP)[:3], b""]]])
message("verify", "sets: the second of two is wrong", [SETS, RECORDS, [
    wire(TRIP), [JOIN.header, TRIP.signature, *wire(JOIN)[2:]]]])

# 8 served

broken("served", [SERVED, RECORDS])
message("none", "served: settings", [SERVED, SETTINGS])

# 9 state

broken("state", [STATE, HASH, 7, True])
message("none", "state: an answer with another hash", [STATE, HASH, NUMBER_MAX, False])
message("none", "state: an answer without a hash", [STATE, b"", 7, False])
message("parts", "state: a question without a hash", [STATE, b"", 7, True])
message("form", "state: null in place of a hash", [STATE, None, 7, False])
message("form", "state: a hash of 31 bytes", [STATE, HASH[1:], 7, False])
message("form", "state: a negative token", [STATE, HASH, -1, True])
message("form", "state: echo as a number", [STATE, HASH, 7, 1])

# 10 goodbye

broken("goodbye", [GOODBYE, 16])
for reason in (17, 18, 19):
    message("none", f"goodbye: reason {reason}", [GOODBYE, reason])
for reason in (0, 8, 15, 20, 255, 256, NUMBER_MAX):
    message("unknown", f"goodbye: reason {reason}", [GOODBYE, reason])
message("form", "goodbye: reason -1", [GOODBYE, -1])

# 11 query


def query(*question, token=1, lane=RECORDS):
    return [QUERY, token, lane, list(question)]


RECORD = name(0x1122, 16)
broken("query: heads", query(0), [3])
broken("query: digests", query(1), [3])
broken("query: bucket", query(2, 0, [1, RECORD]), [3], [3, 2])
broken("query: records", query(3, [1, RECORD]), [3], [3, 1])
message("none", "query: token 0", query(0, token=0))
message("none", "query: the greatest token", query(0, token=NUMBER_MAX))
message("none", "query: bucket 255 from its beginning", query(2, 255, None))
message("none", "query: records from the beginning", query(3, None, lane=SETTINGS))
message("none", "query: after a record of the greatest kind", query(3, [12_287, RECORD], lane=SETTINGS))
message("range", "query: number 4", query(4))
message("range", "query: bucket 256", query(2, 256, None))
message("range", "query: after a record of kind 0", query(3, [0, RECORD]))
message("range", "query: after a record of kind 12,288", query(3, [12_288, RECORD]))
message("form", "query: after a record of 15 bytes", query(3, [1, RECORD[1:]]))
message("form", "query: after nothing, as false", query(3, False))
message("form", "query: a negative token", query(0, token=-1))
message("parts", "query: an empty question", query())

# 12 answer, refusal


def answer(*content, done=True, token=1, lane=RECORDS):
    return [ANSWER, token, lane, HASH, done, list(content)]


def item(kind=1, number=0x1122):
    return [kind, name(number, 16), HASH]


def whole(updated=1_000, filled=2, clock=NUMBER_MAX):
    return [*item(4_096), updated, filled, clock, name(1), name(3)]


def many_items(count):
    return [[1, name(n, 16), ZERO] for n in range(count)]


broken("answer: heads", answer(0, [head()]), [5], [5, 1, 0])
broken("answer: digests", answer(1, bytes(8_192)), [5])
broken("answer: bucket", answer(2, [item()]), [5], [5, 1, 0])
broken("answer: records", answer(3, [item()]), [5], [5, 1, 0])
broken("answer: a whole record", answer(3, [whole()]), [5], [5, 1, 0])
for number, title in ((0, "heads"), (2, "bucket"), (3, "records")):
    message("none", f"answer: {title}, none", answer(number, [], lane=SETTINGS))
message("none", "answer: more follows", answer(3, [item()], done=False))
message("none", "answer: records of unknown kinds", answer(3, [item(4_000), item(12_287)]))
message("count", "answer: 8,193 heads", answer(0, many_heads(8_193)))
message("none", "answer: 4,096 records", answer(3, many_items(4_096)))
message("count", "answer: 4,097 records", answer(3, many_items(4_097)))
message("length", "answer: 255 sums", answer(1, bytes(255 * 32)))
message("length", "answer: 257 sums", answer(1, bytes(257 * 32)))
message("length", "answer: 256 sums and a byte", answer(1, bytes(8_193)))
message("range", "answer: content 4", answer(4, []))
message("range", "answer: of lane 2", answer(0, [], lane=2))
message("form", "answer: a folded heads hash of 31 bytes", [ANSWER, 1, RECORDS, HASH[1:], True, [0, []]])
message("form", "answer: done as a number", answer(0, [], done=1))
message("form", "answer: a negative token", answer(0, [], token=-1))
message("range", "answer: a record of kind 0", answer(3, [item(0)]))
message("range", "answer: a record of kind 12,288", answer(3, [item(12_288)]))
message("range", "answer: heads, sequence 0", answer(0, [head(0)]))
message("parts", "answer: a whole record without its stamp", answer(3, [whole()[:5]]))
message("parts", "answer: a rank in a bucket", answer(2, [whole()]))
message("none", "answer: a whole record with the greatest numbers", answer(3, [whole(2**48 - 1, 65_535, NUMBER_MAX)]))
message("none", "answer: a whole record with the least numbers", answer(3, [whole(-(2**63), 0, 0)]))
message("range", "answer: a time of change of 64 bits", answer(3, [whole(2**63)]))
message("range", "answer: 65,536 fields that are filled in", answer(3, [whole(filled=65_536)]))
message("form", "answer: a negative number of fields", answer(3, [whole(filled=-1)]))
broken("refusal", [ANSWER, 1, 2])
for reason in (1, 3, 4, 5, 6, 7, 8, 16):
    message("none", f"refusal: reason {reason}", [ANSWER, NUMBER_MAX, reason])
for reason in (9, 77, 255):
    message("unknown", f"refusal: reason {reason}", [ANSWER, 1, reason])
message("range", "refusal: reason 0", [ANSWER, 1, 0])
message("range", "refusal: reason 256", [ANSWER, 1, 256])

# 13 want values, 14 values


def want(number, slots, sequence=8):
    return [name(1), name(2, 16), sequence, name(number), slots]


def values(number, slots):
    return [name(number), [[slot, SALT, b"\x81\xf5"] for slot in slots]]


broken("want values: one slot of one set", [WANT_VALUES, RECORDS, [want(7, [1])]], [2, 0])
message("none", "want values: several slots of two sets, ids in any order",
        [WANT_VALUES, SETTINGS, [want(9, [0, 3, 999]), want(7, [2])]])
message("none", "want values: 256 sets", [WANT_VALUES, RECORDS, [want(n, [0]) for n in range(256)]])
message("none", "want values: 4,096 slots", [WANT_VALUES, RECORDS, [want(n, list(range(512))) for n in range(8)]])
message("none", "want values: the greatest sequence", [WANT_VALUES, RECORDS, [want(7, [1], SEQUENCE_MAX)]])
message("count", "want values: no set", [WANT_VALUES, RECORDS, []])
message("count", "want values: 257 sets", [WANT_VALUES, RECORDS, [want(n, [0]) for n in range(257)]])
message("count", "want values: 4,097 slots",
        [WANT_VALUES, RECORDS, [want(n, list(range(512))) for n in range(8)] + [want(8, [0])]])
message("count", "want values: no slot", [WANT_VALUES, RECORDS, [want(7, [])]])
message("twice", "want values: a set twice", [WANT_VALUES, RECORDS, [want(7, [1]), want(7, [2])]])
message("twice", "want values: a slot twice", [WANT_VALUES, RECORDS, [want(7, [1, 1])]])
message("order", "want values: slots in descending order", [WANT_VALUES, RECORDS, [want(7, [2, 1])]])
message("range", "want values: slot 1,000", [WANT_VALUES, RECORDS, [want(7, [1_000])]])
message("range", "want values: sequence 0", [WANT_VALUES, RECORDS, [want(7, [1], 0)]])
message("range", "want values: a sequence of 64 bits", [WANT_VALUES, RECORDS, [want(7, [1], 2**63)]])
message("form", "want values: an id of 31 bytes", [WANT_VALUES, RECORDS, [[name(1), name(2, 16), 8, name(7, 31), [1]]]])
message("form", "want values: a slot in one byte more", write([WANT_VALUES, RECORDS, [want(7, [Raw("1801")])]]))
broken("values: one value", [VALUES, RECORDS, [values(7, [1])]], [2, 0], [2, 0, 1, 0])
message("none", "values: none", [VALUES, RECORDS, []])
message("none", "values: of two sets", [VALUES, SETTINGS, [values(9, [0, 3]), values(7, [999])]])
message("none", "values: an empty content", [VALUES, RECORDS, [[name(7), [[1, SALT, b""]]]]])
message("none", "values: a content of 262,144 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT, bytes(262_144)]]]]])
message("none", "values: 4,096 slots", [VALUES, RECORDS, [
    [name(n), [[slot, bytes(16), b""] for slot in range(512)]] for n in range(8)]])
message("count", "values: 4,097 slots", [VALUES, RECORDS, [
    [name(n), [[slot, bytes(16), b""] for slot in range(512)]] for n in range(8)] + [values(8, [0])]])
message("count", "values: a set without values", [VALUES, RECORDS, [values(7, [])]])
message("count", "values: of 257 sets", [VALUES, RECORDS, [values(n, [0]) for n in range(257)]])
message("twice", "values: of a set twice", [VALUES, RECORDS, [values(7, [1]), values(7, [2])]])
message("twice", "values: a value twice", [VALUES, RECORDS, [values(7, [1, 1])]])
message("order", "values: in descending order", [VALUES, RECORDS, [values(7, [2, 1])]])
message("range", "values: of slot 1,000", [VALUES, RECORDS, [values(7, [1_000])]])
message("length", "values: a content of 262,145 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT, bytes(262_145)]]]]])
message("form", "values: a salt of 15 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT[:15], b"\x81\xf5"]]]]])

# Lanes of newer versions.

for tag, title, rest in (
        (HEADS, "heads", [True, [head()]]), (WANT, "want", [[asked()]]), (SETS, "sets", [[wire(TRIP)]]),
        (SERVED, "served", []), (WANT_VALUES, "want values", [[want(7, [1])]]), (VALUES, "values", [[values(7, [1])]])):
    message("ignored", f"{title}: of lane 2", [tag, 2, *rest])
    message("ignored", f"{title}: of the greatest lane", [tag, NUMBER_MAX, *rest])
    message("form", f"{title}: of lane -1", [tag, -1, *rest])
    message("form", f"{title}: of lane 2, in one byte more", write([tag, Raw("1802"), *rest]))
    if rest:
        message("ignored", f"{title}: of lane 2, with other parts", [tag, 2, *("x" for _ in rest)])
message("ignored", "query: of lane 2", query(0, lane=2))
message("ignored", "query: of the greatest lane, another question", query(9, "x", lane=NUMBER_MAX))
message("form", "query: of lane 2, with text as its token", [QUERY, "x", 2, [0]])
message("ignored", "heads: of lane 2, with bytes behind", encode([HEADS, 2, True, []]) + b"\x00")

if __name__ == "__main__":
    save("messages.json", {"notes": NOTES, "messages": messages})
