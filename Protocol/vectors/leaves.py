"""Protocol/files.md: leaves, leaf lists and file ids, from the chapter alone."""

import hashlib

LEAF = b"waymark/leaf/v1\x00"
FILE = b"waymark/file/v1\x00"
LEAF_BYTES = 65_536


def blake2b(prefix, message):
    return hashlib.blake2b(prefix + message, digest_size=32).digest()


def number(value):
    return value.to_bytes(8, "big")


def cut(data):
    return [data[start:start + LEAF_BYTES] for start in range(0, len(data), LEAF_BYTES)]


def leaf_hash(index, data):
    return blake2b(LEAF, number(index) + data)


def leaf_list(data):
    return [leaf_hash(index, part) for index, part in enumerate(cut(data))]


def file_id(size, hashes):
    return blake2b(FILE, number(size) + b"".join(hashes))
