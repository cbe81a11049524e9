"""Protocol/encoding.md: deterministic CBOR, written from the chapter and checked against cbor2.

cbor2's own canonical mode shortens floats and sorts keys by length first, so it only reads here.
"""

import json
import math
import pathlib
import re
import struct

import cbor2


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for width, short in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if number < 1 << (8 * width):
            return bytes([major << 5 | short]) + number.to_bytes(width, "big")
    raise ValueError(number)


def write(value):
    if value is None:
        return b"\xf6"
    if value is False:
        return b"\xf4"
    if value is True:
        return b"\xf5"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        utf8 = value.encode()
        return head(3, len(utf8)) + utf8
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(write(item) for item in value)
    if isinstance(value, dict):
        pairs = sorted((write(key), write(item)) for key, item in value.items())
        return head(5, len(pairs)) + b"".join(key + item for key, item in pairs)
    if isinstance(value, Raw):
        return value.encoded
    raise TypeError(type(value))


class Raw:
    """Bytes put where an item belongs: for what the format refuses."""

    def __init__(self, encoded):
        self.encoded = encoded if isinstance(encoded, bytes) else bytes.fromhex(encoded)


def encode(value):
    encoded = write(value)
    read = cbor2.loads(encoded)
    assert read == value and type(read) is type(value), (read, value)
    return encoded


def describe(value):
    """A value in JSON, without the ambiguities of JSON's own numbers and texts."""
    if value is None:
        return {"type": "null"}
    if isinstance(value, bool):
        return {"type": "bool", "bool": value}
    if isinstance(value, int):
        return {"type": "integer", "decimal": str(value)}
    if isinstance(value, float):
        assert math.isfinite(value)
        return {"type": "float", "bits": struct.pack(">d", value).hex()}
    if isinstance(value, str):
        return {"type": "text", "utf8": compact(value.encode())}
    if isinstance(value, bytes):
        return {"type": "bytes", "bytes": compact(value)}
    if len(value) > 32 and all(item == value[0] for item in value):
        return {"type": "array", "items": [describe(value[0])], "times": len(value)}
    return {"type": "array", "items": [describe(item) for item in value]}


def compact(data, least=32):
    """Hexadecimal; a run of `least` or more equal bytes is written `hh*count` between spaces."""
    text = ""
    for run in re.finditer(rb"(.)\1*", data, re.DOTALL):
        if len(run[0]) >= least:
            text += f" {run[1].hex()}*{len(run[0])} "
        else:
            text += run[0].hex()
    return text.strip()


def save(name, document):
    path = pathlib.Path(__file__).parent / name
    path.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n")
    print(name, path.stat().st_size)
