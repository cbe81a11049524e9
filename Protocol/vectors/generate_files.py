"""Writes files.json: leaf lists, ids and references that Protocol/files.md accepts and refuses."""

import hashlib

from deterministic_cbor import Raw, compact, encode, save, write
from leaves import LEAF_BYTES, cut, file_id, leaf_hash, leaf_list, number

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated.",
    "files: byte p of a file is floor(p / 4096) + 1; `leaves` is the leaf list.",
    "leaves: a leaf for position `index` of a file of `size` bytes, and the hash that its list gives; `flag` names what "
    "is wrong, or is none.",
    "lists: a leaf list for a file reference; `flag` names what is wrong, or is none.",
    "references: field values; `flag` names why a value is no file reference, or is none.",
    "messages: encoded messages 15 to 19; `flag` names the rule that a refused one breaks, or is none.",
]
FILE_BYTES_MAX = 1 << 30
WANT, LIST, BYTES, HERE, NONE = range(15, 20)

files, leaves, lists, references, messages = [], [], [], [], []


def content(size):
    return bytes((p >> 12) + 1 for p in range(size))


def reference(size):
    data = content(size)
    return [size, file_id(size, leaf_list(data))]


def leaf(flag, name, size, index, hashes, data):
    leaves.append({
        "flag": flag, "name": name, "size": size, "index": index, "hash": hashes.hex(), "bytes": compact(data)})


def listed(flag, name, reference, hashes):
    lists.append({
        "flag": flag, "name": name, "size": reference[0], "id": reference[1].hex(),
        "leaves": [item.hex() for item in hashes]})


def refers(flag, name, value):
    references.append({"flag": flag, "name": name, "value": compact(value if flag == "form" else encode(value))})


def message(flag, name, parts):
    messages.append({"flag": flag, "name": name, "bytes": compact(write(parts))})


for size in (0, 1, 32_768, 65_535, 65_536, 65_537, 131_072, 200_000):
    data = content(size)
    hashes = leaf_list(data)
    files.append({
        "size": size, "id": file_id(size, hashes).hex(), "leaves": [item.hex() for item in hashes],
        "reference": compact(encode([size, file_id(size, hashes)]))})

data = content(200_000)
parts, hashes = cut(data), leaf_list(data)
for index, part in enumerate(parts):
    leaf("none", f"leaf {index}", 200_000, index, hashes[index], part)
wrong = bytearray(parts[1])
wrong[40_000] ^= 1
leaf("bytes", "one bit differs", 200_000, 1, hashes[1], bytes(wrong))
leaf("bytes", "the bytes of another leaf", 200_000, 1, hashes[1], parts[2])
leaf("index", "the right bytes at another position", 200_000, 0, hashes[1], parts[1])
leaf("length", "a byte short", 200_000, 1, hashes[1], parts[1][:-1])
leaf("length", "a byte too long", 200_000, 1, hashes[1], parts[1] + b"\x00")
leaf("length", "the last leaf, a byte short", 200_000, 3, hashes[3], parts[3][:-1])
leaf("length", "the last leaf, filled with zeros", 200_000, 3, hashes[3], parts[3] + bytes(LEAF_BYTES - len(parts[3])))
leaf("length", "an empty last leaf", 200_000, 3, hashes[3], b"")
leaf("index", "after the last leaf", 200_000, 4, leaf_hash(4, b""), b"")
leaf("index", "an empty file has no leaf", 0, 0, leaf_hash(0, b""), b"")
leaf("prefix", "a hash without the prefix", 200_000, 1, hashlib.blake2b(number(1) + parts[1], digest_size=32).digest(), parts[1])

whole = [200_000, file_id(200_000, hashes)]
listed("none", "of 200,000 bytes", whole, hashes)
listed("none", "of an empty file", [0, file_id(0, [])], [])
listed("none", "of one leaf", reference(1), leaf_list(content(1)))
listed("hash", "one bit differs", whole, [*hashes[:3], bytes([hashes[3][0] ^ 1]) + hashes[3][1:]])
listed("hash", "two leaves exchanged", whole, [hashes[1], hashes[0], *hashes[2:]])
listed("hash", "another size with as many leaves", [200_001, whole[1]], hashes)
listed("count", "a leaf is missing", whole, hashes[:-1])
listed("count", "a leaf too many", whole, [*hashes, hashes[0]])
listed("count", "none, of a file that has bytes", [1, file_id(1, [])], [])
listed("count", "one, of an empty file", [0, file_id(0, [hashes[0]])], [hashes[0]])

some = whole[1]
refers("none", "0 bytes", [0, some])
refers("none", "1 byte", [1, some])
refers("none", "200,000 bytes", whole)
refers("none", "1 GiB", [FILE_BYTES_MAX, some])
refers("size", "1 GiB and a byte", [FILE_BYTES_MAX + 1, some])
refers("size", "-1 bytes", [-1, some])
refers("size", "the size as a float", [1.0, some])
refers("size", "no size", [None, some])
refers("id", "31 bytes", [1, some[:31]])
refers("id", "33 bytes", [1, some + b"\x00"])
refers("id", "as text", [1, some.hex()])
refers("parts", "the size alone", [1])
refers("parts", "three parts", [1, some, None])
refers("parts", "an empty array", [])
refers("parts", "the id alone", some)
refers("parts", "ids of version 1", [some[:16], some[16:]])
refers("form", "the size in one byte more", write([Raw("1801"), some]))

one = reference(1)
message("none", "the list", [WANT, whole, False, 0, 4])
message("none", "all leaves", [WANT, whole, True, 0, 4])
message("none", "the last leaf", [WANT, whole, True, 3, 1])
message("none", "the list of 1 GiB", [WANT, [FILE_BYTES_MAX, some], False, 0, 16_384])
message("none", "16 leaves of 1 GiB", [WANT, [FILE_BYTES_MAX, some], True, 16_368, 16])
message("count", "no leaf", [WANT, whole, True, 0, 0])
message("count", "17 leaves", [WANT, [FILE_BYTES_MAX, some], True, 0, 17])
message("range", "a leaf too many", [WANT, whole, True, 0, 5])
message("range", "after the last leaf", [WANT, whole, False, 4, 1])
message("range", "a leaf of an empty file", [WANT, reference(0), True, 0, 1])
message("range", "a number that overflows", [WANT, whole, False, 2**64 - 1, 4])
message("reference", "a file above 1 GiB", [WANT, [FILE_BYTES_MAX + 1, some], True, 0, 1])
message("parts", "without the choice", [WANT, whole, 0, 1])
message("none", "a list", [LIST, whole, 0, hashes])
message("none", "the end of a list", [LIST, whole, 3, hashes[3:]])
message("none", "1,920 hashes", [LIST, [FILE_BYTES_MAX, some], 14_336, [bytes(32)] * 1_920])
message("count", "an empty list", [LIST, whole, 0, []])
message("count", "1,921 hashes", [LIST, [FILE_BYTES_MAX, some], 0, [bytes(32)] * 1_921])
message("range", "a list beyond the file", [LIST, whole, 1, hashes])
message("form", "a hash of 31 bytes", [LIST, whole, 0, [some[:31]]])
message("none", "a leaf", [BYTES, whole, 0, parts[0]])
message("none", "the last leaf", [BYTES, whole, 3, parts[3]])
message("none", "a file of one byte", [BYTES, one, 0, content(1)])
message("length", "a leaf, a byte short", [BYTES, whole, 0, parts[0][:-1]])
message("length", "the last leaf, filled", [BYTES, whole, 3, parts[3] + bytes(LEAF_BYTES - len(parts[3]))])
message("length", "a leaf, a byte too long", [BYTES, whole, 0, parts[0] + b"\x00"])
message("range", "bytes beyond the file", [BYTES, whole, 4, b"\x00"])
message("none", "a question", [HERE, 0, False, [whole, one]])
message("none", "an answer", [HERE, 1, True, [whole]])
message("none", "an answer without files", [HERE, 1, False, []])
message("none", "an announcement", [HERE, 2, True, [one]])
message("none", "1,024 files", [HERE, 0, False, [[1, bytes(32)]] * 1_024])
message("count", "1,025 files", [HERE, 0, False, [[1, bytes(32)]] * 1_025])
message("parts", "a question that keeps", [HERE, 0, True, [whole]])
message("parts", "another number", [HERE, 3, False, [whole]])
message("none", "no such file", [NONE, whole])
message("parts", "no such file, without a size", [NONE, some])
message("parts", "two files", [NONE, whole, one])

save("files.json", {
    "notes": NOTES, "files": files, "leaves": leaves, "lists": lists, "references": references, "messages": messages})
