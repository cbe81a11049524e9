"""Writes cbor.json: what Protocol/encoding.md accepts and refuses."""

import struct

from deterministic_cbor import compact, describe, encode, save

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "values: one field value and nothing behind it. maps: a map of unsigned keys to field values.",
    "flag says which rule a refused input breaks; truncated inputs are each accepted value cut short anywhere.",
]

accepted = []
refused = []
maps_accepted = []
maps_refused = []


def accept(name, value):
    accepted.append({"name": name, "bytes": compact(encode(value)), "value": describe(value)})


def refuse(flag, name, data):
    data = data if isinstance(data, bytes) else bytes.fromhex(data)
    refused.append({"flag": flag, "name": name, "bytes": compact(data)})


def refuse_map(flag, name, data):
    maps_refused.append({"flag": flag, "name": name, "bytes": compact(bytes.fromhex(data))})


def nested(depth, innermost=None):
    """A value whose innermost item is at level `depth`; the value itself is level 1."""
    value = innermost
    for _ in range(depth - 1):
        value = [value]
    return value


accept("null", None)
accept("false", False)
accept("true", True)
for number in (0, 1, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1):
    accept(f"integer {number}", number)
    accept(f"integer {-1 - number}", -1 - number)
for number in (0.0, 1.0, -1.0, 1.5, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 1e300):
    accept(f"float {number!r}", number)
for text in ("", "a", "IETF", "\x00", "\"\\", "é", "e\u0301", "水", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"):
    accept(f"text {text!a}", text)
for count in (23, 24, 255, 256, 65535, 65536):
    accept(f"text of {count} bytes", "a" * count)
for count in (0, 1, 23, 24, 255, 256, 49152):
    accept(f"bytes {count}", b"\xff" * count)
accept("array of none", [])
accept("array of every type", [None, False, True, 7, -7, 0.5, "t", b"b", [], [[]]])
accept("array of 24", [None] * 24)
accept("depth 8", nested(8))
accept("depth 8, an empty array innermost", nested(8, []))
accept("20,000 items: an array and 19,999 in it", [None] * 19_999)

# Integers, lengths and counts in more bytes than needed.
for name, data in (
    ("0 in one byte more", "1800"),
    ("23 in one byte more", "1817"),
    ("255 in two bytes", "1900ff"),
    ("65535 in four bytes", "1a0000ffff"),
    ("4294967295 in eight bytes", "1b00000000ffffffff"),
    ("-1 in one byte more", "3800"),
    ("-256 in two bytes", "3900ff"),
    ("empty text with a long length", "7800"),
    ("text of 1 with a two-byte length", "79000161"),
    ("bytes of 1 with a four-byte length", "5a0000000161"),
    ("array of 1 with an eight-byte count", "9b0000000000000001f6"),
):
    refuse("long_integer", name, data)
for name, data in (
    ("2^63", "1b8000000000000000"),
    ("2^64 - 1", "1bffffffffffffffff"),
    ("-2^63 - 1", "3b8000000000000000"),
    ("-2^64", "3bffffffffffffffff"),
):
    refuse("integer_range", name, data)
for name, data in (
    ("bytes", "5f4101ff"),
    ("text", "7f6161ff"),
    ("array", "9ff6ff"),
    ("empty array", "9fff"),
    ("a lone break", "ff"),
):
    refuse("indefinite", name, data)
for short in (28, 29, 30):
    for major in range(5):
        refuse("reserved", f"major type {major} with additional information {short}", bytes([major << 5 | short]))
for name, data in (
    ("a date", "c074323031332d30332d32315432303a30343a30305a"),
    ("a bignum", "c249010000000000000000"),
    ("self-described", "d9d9f7f6"),
):
    refuse("tag", name, data)
for name, data in (
    ("16 bits: 0.0", "f90000"),
    ("16 bits: 1.0", "f93c00"),
    ("16 bits: NaN", "f97e00"),
    ("32 bits: 100000.0", "fa47c35000"),
):
    refuse("short_float", name, data)
for name, bits in (
    ("infinity", 0x7FF0000000000000),
    ("-infinity", 0xFFF0000000000000),
    ("quiet NaN", 0x7FF8000000000000),
    ("NaN with a payload", 0x7FF8000000000001),
    ("negative NaN", 0xFFF8000000000000),
    ("signalling NaN", 0x7FF0000000000001),
    ("-0.0", 0x8000000000000000),
):
    refuse("float_value", name, b"\xfb" + struct.pack(">Q", bits))
for name, data in (
    ("undefined", "f7"),
    ("simple 0", "e0"),
    ("simple 16", "f0"),
    ("simple 24", "f818"),
    ("false in two bytes", "f814"),
    ("simple 255", "f8ff"),
    ("reserved", "fc"),
):
    refuse("simple", name, data)
for name, data in (
    ("a continuation byte alone", "80"),
    ("0xff", "ff"),
    ("overlong slash, two bytes", "c0af"),
    ("overlong slash, three bytes", "e080af"),
    ("overlong slash, four bytes", "f08080af"),
    ("0xc1", "c1bf"),
    ("overlong U+07FF", "e09fbf"),
    ("overlong U+FFFF", "f08fbfbf"),
    ("surrogate U+D800", "eda080"),
    ("surrogate U+DFFF", "edbfbf"),
    ("above U+10FFFF", "f4908080"),
    ("0xf5", "f5808080"),
    ("two bytes cut short", "c3"),
    ("three bytes cut short", "e6b0"),
    ("four bytes cut short", "f0908d"),
    ("second byte wrong", "c341"),
    ("third byte wrong", "e6b041"),
    ("fourth byte wrong", "f09f9841"),
    ("good, then bad", "6161c3"),
):
    text = bytes.fromhex(data)
    refuse("utf8", name, bytes([0x60 | len(text)]) + text)
refuse("depth", "9", encode(nested(9)))
refuse("depth", "9, an empty array innermost", encode(nested(9, [])))
refuse("depth", "10,000", b"\x81" * 10_000 + b"\xf6")
refuse("items", "20,001: an array and 20,000 in it", encode([None] * 20_000))
refuse("items", "20,001: two levels", encode([[None] * 10_000, [None] * 9_998]))
refuse("text_length", "65,537 bytes", encode("a" * 65_537))
refuse("bytes_length", "49,153 bytes", encode(b"a" * 49_153))
for name, data in (
    ("bytes of 4 GiB", "5affffffff61"),
    ("text of 4 GiB", "7affffffff61"),
    ("array of 4 Gi", "9afffffffff6"),
    ("bytes of 2^63", "5b800000000000000061"),
    ("text of 2^64 - 1", "7bffffffffffffffff61"),
    ("array of 2^64 - 1", "9bfffffffffffffffff6"),
):
    refuse("declared_length", name, data)
for name, data in (
    ("bytes longer than what is left", "4261"),
    ("text longer than what is left", "6261"),
    ("array of more than what is left", "82f6"),
    ("nothing at all", ""),
):
    refuse("truncated", name, data)
refuse("trailing", "two values", "f6f6")
refuse("trailing", "a zero byte", "0000")
for name, data in (("a map as value", "a10001"), ("a map in an array", "81a0"), ("an empty map", "a0")):
    refuse("map_as_value", name, data)

for name, value in (
    ("empty", {}),
    ("one", {0: True}),
    ("ascending keys", {0: 1, 1: 2, 23: 3, 24: 4, 255: 5, 256: 6, 65535: 7, 65536: 8}),
):
    entries = [{"key": str(key), "value": describe(item)} for key, item in value.items()]
    maps_accepted.append({"name": name, "bytes": compact(encode(value)), "entries": entries})
refuse_map("key_order", "descending", "a201f600f6")
refuse_map("key_order", "shorter key behind a longer one", "a21818f617f6")
refuse_map("key_duplicate", "0 twice", "a200f600f6")
refuse_map("key_type", "text", "a16161f6")
refuse_map("key_type", "negative", "a120f6")
refuse_map("key_type", "bytes", "a14100f6")
refuse_map("long_integer", "key in one byte more", "a11800f6")
refuse_map("indefinite", "map", "bf00f6ff")
refuse_map("long_integer", "count in one byte more", "b80100f6")
refuse_map("declared_length", "a map of 4 Gi pairs", "baffffffff00f6")
refuse_map("truncated", "a key without its value", "a100")
refuse_map("truncated", "a pair missing", "a200f6")
refuse_map("trailing", "a byte behind it", "a100f600")

save(
    "cbor.json",
    {
        "chapter": "Protocol/encoding.md",
        "notes": NOTES,
        "values": {"accepted": accepted, "refused": refused},
        "maps": {"accepted": maps_accepted, "refused": maps_refused},
    },
)
