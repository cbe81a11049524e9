"""Protocol/circle.md, "Statements", as far as purchases and the gate need them: form, signature and id."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

GENESIS, CERTIFICATE, REVOCATION, ENTITLEMENT, ISSUERS, PURCHASE = 1, 2, 3, 5, 6, 12
NAMES = {GENESIS: "genesis", CERTIFICATE: "device-certificate", REVOCATION: "revocation", ENTITLEMENT: "entitlement",
         ISSUERS: "issuers", PURCHASE: "purchase"}
TOKEN_BYTES_MAX = 16_384


class Malformed(Exception):
    """The bytes are not a statement."""


class BadSignature(Exception):
    """The statement has its form, and its signer did not sign it."""


def require(condition, rule):
    if not condition:
        raise Malformed(rule)


class Item:
    """Reads deterministic CBOR: unsigned integers, bytes, texts, arrays, maps."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        require(self.at + count <= len(self.data), "cut short")
        self.at += count
        return self.data[self.at - count:self.at]

    def read(self):
        first = self.take(1)[0]
        major, value = first >> 5, first & 31
        if value >= 24:
            require(value <= 27, "a length")
            width = 1 << value - 24
            value = int.from_bytes(self.take(width), "big")
            require(value >= (24 if width == 1 else 1 << width * 4), "an integer that is too long")
        require(major in (0, 2, 3, 4, 5), "a type that no statement has here")
        if major == 0:
            return value
        if major == 2:
            return bytes(self.take(value))
        if major == 3:
            try:
                return self.take(value).decode()
            except UnicodeDecodeError:
                raise Malformed("a text that is not UTF-8") from None
        require(value <= len(self.data), "a count")
        if major == 4:
            return [self.read() for _ in range(value)]
        pairs = [(self.read(), self.read()) for _ in range(value)]
        keys = [key for key, _ in pairs]
        require(all(type(key) is int for key in keys) and keys == sorted(set(keys)), "keys of a map")
        return dict(pairs)


def decode(data):
    item = Item(data)
    value = item.read()
    require(item.at == len(data), "a byte behind")
    return value


class Statement:
    def __init__(self, data):
        parts = decode(data)
        require(type(parts) is list and len(parts) == 3 and len(data) <= 65_536, "an envelope")
        self.kind, body, signature = parts
        require(self.kind in NAMES and type(self.kind) is int, "a kind that these vectors have not")
        require(type(body) is bytes and type(signature) is bytes and len(signature) == 64, "body and signature")
        self.fields = decode(body)
        self.check_form()
        self.check_signature(body, signature)
        prefix = b"waymark/statement-id/v1\0"
        self.id = hashlib.blake2b(prefix + bytes([self.kind]) + body, digest_size=32).digest()

    @property
    def signer(self):
        return self.fields[2]

    @property
    def circle(self):
        return self.id if self.kind == GENESIS else self.fields[1]

    def check_form(self):
        fields = self.fields
        require(type(fields) is dict and fields.get(0) == 1, "version")
        for key in (2,) if self.kind == GENESIS else (1, 2):
            require(type(fields.get(key)) is bytes and len(fields[key]) == 32, "circle and signer")
        if self.kind == PURCHASE:
            require(set(fields) <= {0, 1, 2, 3, 4} and 3 in fields, "keys of a purchase")
            for key in (3, 4):
                if key in fields:
                    check_token(fields[key])

    def check_signature(self, body, signature):
        message = f"waymark/{NAMES[self.kind]}-signature/v1".encode() + b"\0" + body
        try:
            Ed25519PublicKey.from_public_bytes(self.signer).verify(signature, message)
        except InvalidSignature:
            raise BadSignature from None


def check_token(value):
    require(type(value) is str, "a token that is no text")
    require(1 <= len(value.encode()) <= TOKEN_BYTES_MAX, "the length of a token")
    require(all("\x21" <= each <= "\x7e" for each in value), "a byte of a token")
