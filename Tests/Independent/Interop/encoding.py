"""Protocol/encoding.md: deterministic CBOR, strict in both directions; hashes and signatures."""

import hashlib
import math
import struct

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey


class Refused(Exception):
    """Bytes that the protocol does not allow; the text says which rule they break."""


def require(condition, rule):
    if not condition:
        raise Refused(rule)


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for width, short in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if number < 1 << (8 * width):
            return bytes([major << 5 | short]) + number.to_bytes(width, "big")
    raise Refused("number beyond 64 bits")


def encode(value):
    simple = {None: b"\xf6", False: b"\xf4", True: b"\xf5"}
    if value is None or type(value) is bool:
        return simple[value]
    if type(value) is int:
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if type(value) is float:
        require(math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0), "float")
        return b"\xfb" + struct.pack(">d", value)
    if type(value) is str:
        return head(3, len(value.encode())) + value.encode()
    if type(value) is bytes:
        return head(2, len(value)) + value
    if type(value) in (list, tuple):
        return head(4, len(value)) + b"".join(map(encode, value))
    if type(value) is dict:
        return head(5, len(value)) + b"".join(encode(k) + encode(value[k]) for k in sorted(value))
    raise TypeError(type(value))


class Reader:
    """Reads one item; `items` counts CBOR heads, as the limits of a plan and of a slot do."""

    def __init__(self, data):
        self.data, self.at, self.items = data, 0, 0

    def take(self, count):
        require(count <= len(self.data) - self.at, "cut short")
        self.at += count
        return self.data[self.at - count:self.at]

    def argument(self, short):
        if short < 24:
            return short
        require(short <= 27, "indefinite or reserved length")
        width = 1 << (short - 24)
        number = int.from_bytes(self.take(width), "big")
        require(number >= (24 if width == 1 else 1 << (4 * width)), "not the shortest argument")
        return number

    def item(self, depth=0):
        require(depth < 16, "too deep")
        self.items += 1
        first = self.take(1)[0]
        major, short = first >> 5, first & 31
        if major == 7:
            return self.simple(first)
        number = self.argument(short)
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major == 2:
            return self.take(number)
        if major == 3:
            try:
                return self.take(number).decode("utf-8", "strict")
            except UnicodeDecodeError:
                raise Refused("text is not UTF-8") from None
        require(major in (4, 5), "tag")
        require(number <= len(self.data) - self.at, "count beyond the bytes that are left")
        if major == 4:
            return [self.item(depth + 1) for _ in range(number)]
        return self.map(number, depth)

    def map(self, count, depth):
        pairs, last = {}, -1
        for _ in range(count):
            key = self.item(depth + 1)
            require(type(key) is int and key > last, "keys of a map ascend and are unsigned")
            pairs[key], last = self.item(depth + 1), key
        return pairs

    def simple(self, first):
        if first in (0xF4, 0xF5, 0xF6):
            return {0xF4: False, 0xF5: True, 0xF6: None}[first]
        require(first == 0xFB, "simple value or short float")
        bits = self.take(8)
        value = struct.unpack(">d", bits)[0]
        require(math.isfinite(value) and bits != b"\x80" + bytes(7), "a float that is not finite, or negative zero")
        return value


def decode(data):
    return decode_counted(data)[0]


def decode_counted(data):
    reader = Reader(bytes(data))
    value = reader.item()
    require(reader.at == len(reader.data), "bytes behind the item")
    return value, reader.items


def check_value(value, level=1):
    """Checks that this is a field value."""
    require(level <= 8, "a field value of more than 8 levels")
    require(type(value) is not dict, "a map in a field value")
    if type(value) is int:
        require(-(1 << 63) <= value < 1 << 63, "integer beyond 64 bits with sign")
    elif type(value) is str:
        require(len(value.encode()) <= 65_536, "long text")
    elif type(value) is bytes:
        require(len(value) <= 49_152, "long bytes")
    elif type(value) is list:
        for item in value:
            check_value(item, level + 1)


def is_bytes(value, count):
    return type(value) is bytes and len(value) == count


def is_number(value, low, high):
    return type(value) is int and low <= value <= high


def ascends(items):
    return all(a < b for a, b in zip(items, items[1:]))


def hashed(name, *parts):
    return hashlib.blake2b(prefix(name) + b"".join(parts), digest_size=32).digest()


def prefix(name):
    return b"waymark/" + name.encode() + b"\0"


def sign(key, name, message):
    return key.sign(prefix(name) + message).signature


def verify(device, name, message, signature):
    try:
        VerifyKey(device).verify(prefix(name) + message, signature)
    except (BadSignatureError, ValueError):
        raise Refused("signature of " + name) from None
