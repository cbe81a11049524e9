"""Writes messages.json: messages 13 and 14, which Protocol/session.md accepts and refuses."""

from deterministic_cbor import Raw, compact, encode, save, write

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "messages: encoded messages 13 and 14; `flag` names the rule that a refused one breaks, or is none.",
]
WANT, VALUES = 13, 14
SETTINGS, RECORDS = 0, 1
SALT = bytes(range(16))
messages = []


def name(number, length=32):
    return number.to_bytes(length, "big")


def want(number, slots, sequence=8):
    return [name(1), name(2, 16), sequence, name(number), slots]


def values(number, slots):
    return [name(number), [[slot, SALT, b"\x81\xf5"] for slot in slots]]


def message(flag, text, data):
    messages.append({"flag": flag, "name": text, "bytes": compact(data if isinstance(data, bytes) else encode(data))})


message("none", "one slot of one set", [WANT, RECORDS, [want(7, [1])]])
message("none", "several slots of two sets, ids in any order", [WANT, SETTINGS, [want(9, [0, 3, 999]), want(7, [2])]])
message("none", "256 sets", [WANT, RECORDS, [want(n, [0]) for n in range(256)]])
message("none", "4,096 slots", [WANT, RECORDS, [want(n, list(range(512))) for n in range(8)]])
message("none", "the greatest sequence", [WANT, RECORDS, [want(7, [1], 2**63 - 1)]])
message("count", "no set", [WANT, RECORDS, []])
message("count", "257 sets", [WANT, RECORDS, [want(n, [0]) for n in range(257)]])
message("count", "4,097 slots", [WANT, RECORDS, [want(n, list(range(512))) for n in range(8)] + [want(8, [0])]])
message("count", "no slot", [WANT, RECORDS, [want(7, [])]])
message("twice", "a set twice", [WANT, RECORDS, [want(7, [1]), want(7, [2])]])
message("twice", "a slot twice", [WANT, RECORDS, [want(7, [1, 1])]])
message("order", "slots in descending order", [WANT, RECORDS, [want(7, [2, 1])]])
message("range", "slot 1,000", [WANT, RECORDS, [want(7, [1_000])]])
message("range", "sequence 0", [WANT, RECORDS, [want(7, [1], 0)]])
message("parts", "a set without its slots", [WANT, RECORDS, [want(7, [1])[:4]]])
message("parts", "a part too many", [WANT, RECORDS, [want(7, [1])], 0])
message("form", "an id of 31 bytes", [WANT, RECORDS, [[name(1), name(2, 16), 8, name(7, 31), [1]]]])
message("form", "a slot in one byte more", write([WANT, RECORDS, [want(7, [Raw("1801")])]]))
message("none", "one value", [VALUES, RECORDS, [values(7, [1])]])
message("none", "no values", [VALUES, RECORDS, []])
message("none", "values of two sets", [VALUES, SETTINGS, [values(9, [0, 3]), values(7, [999])]])
message("none", "an empty content", [VALUES, RECORDS, [[name(7), [[1, SALT, b""]]]]])
message("none", "a content of 262,144 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT, bytes(262_144)]]]]])
message("count", "a set without values", [VALUES, RECORDS, [values(7, [])]])
message("count", "values of 257 sets", [VALUES, RECORDS, [values(n, [0]) for n in range(257)]])
message("twice", "values of a set twice", [VALUES, RECORDS, [values(7, [1]), values(7, [2])]])
message("twice", "a value twice", [VALUES, RECORDS, [values(7, [1, 1])]])
message("order", "values in descending order", [VALUES, RECORDS, [values(7, [2, 1])]])
message("range", "the value of slot 1,000", [VALUES, RECORDS, [values(7, [1_000])]])
message("length", "a content of 262,145 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT, bytes(262_145)]]]]])
message("form", "a salt of 15 bytes", [VALUES, RECORDS, [[name(7), [[1, SALT[:15], b"\x81\xf5"]]]]])
message("parts", "a value without its salt", [VALUES, RECORDS, [[name(7), [[1, b"\x81\xf5"]]]]])
message("parts", "without the lane", [VALUES, [values(7, [1])]])

save("messages.json", {"notes": NOTES, "messages": messages})
