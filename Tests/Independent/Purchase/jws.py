"""Protocol/purchase.md, "Reading", "Verifying" and "Binding": one token."""

import base64
import functools
import hashlib
import re
import uuid

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from path import NotGenuine, key_of_leaf, require
from strict_json import NotJSON, Number, parse_object

TIME_MAX = (1 << 48) - 1
TRANSACTION = {
    "bundleId": str, "productId": str, "environment": str, "originalTransactionId": str, "purchaseDate": int,
    "signedDate": int, "subscriptionGroupIdentifier": str, "type": str, "inAppOwnershipType": str,
    "appAccountToken": str, "expiresDate": int, "revocationDate": int, "isUpgraded": bool}
REQUIRED_OF_TRANSACTION = list(TRANSACTION)[:6]
RENEWAL = {"environment": str, "originalTransactionId": str, "signedDate": int, "gracePeriodExpiresDate": int}
REQUIRED_OF_RENEWAL = list(RENEWAL)[:3]


class NotReadable(Exception):
    """Why a token is not readable."""


def decode_part(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise NotReadable("a part is not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        raise NotReadable("unused bits of a part are not zero")
    return data


def read_field(key, value, kind):
    if kind is int:
        is_time = isinstance(value, Number) and re.fullmatch(r"[0-9]+", value)
        if not is_time or len(value) > 15 or int(value) > TIME_MAX:
            raise NotReadable(f"{key} is not a time")
        return int(value)
    if type(value) is not kind:
        raise NotReadable(f"{key} has another type")
    return value


class Token:
    """A readable token: its header, the fields that the chapter names, and what was signed."""

    def __init__(self, text, types, required):
        parts = text.split(".")
        if len(parts) != 3:
            raise NotReadable("not three parts")
        header, payload, self.signature = map(decode_part, parts)
        self.signed = ".".join(parts[:2]).encode()
        try:
            self.header, found = parse_object(header), parse_object(payload)
        except NotJSON as error:
            raise NotReadable(str(error)) from None
        self.fields = {
            key: read_field(key, found[key], kind) for key, kind in types.items() if found.get(key) is not None}
        for key in required:
            if key not in self.fields:
                raise NotReadable(f"no {key}")

    def __getitem__(self, key):
        return self.fields.get(key)

    @property
    def subscription(self):
        return self["environment"], self["originalTransactionId"]


@functools.cache
def read_transaction(text):
    """The transaction; None if it is not readable."""
    try:
        return Token(text, TRANSACTION, REQUIRED_OF_TRANSACTION)
    except NotReadable:
        return None


@functools.cache
def read_renewal(text):
    try:
        return Token(text, RENEWAL, REQUIRED_OF_RENEWAL)
    except NotReadable:
        return None


def renewal_of(transaction, text):
    """The renewal info that belongs to a readable transaction, whether it is genuine or not."""
    renewal = read_renewal(text) if text is not None else None
    return renewal if renewal and renewal.subscription == transaction.subscription else None


@functools.cache
def fault(token, root):
    """Why a readable token is not genuine; None if it is."""
    try:
        check_genuine(token, root)
    except NotGenuine as reason:
        return str(reason)
    return None


def check_genuine(token, root):
    header = token.header
    require(header.get("alg") == "ES256", "alg is not ES256")
    require("crit" not in header, "the header has crit")
    chain = header.get("x5c")
    require(type(chain) is list and len(chain) == 3 and all(type(each) is str for each in chain), "x5c")
    certificates = []
    for each in chain:
        require(re.fullmatch(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", each)
                and not each.endswith("\n"), "base64 in x5c")
        data = base64.b64decode(each)
        require(base64.b64encode(data).decode() == each, "unused bits in x5c")
        certificates.append(data)
    key = key_of_leaf(certificates[0], certificates[1], root, token["signedDate"] // 1000)
    require(len(token.signature) == 64, "the length of the signature")
    r, s = (int.from_bytes(token.signature[at:at + 32], "big") for at in (0, 32))
    try:
        key.verify(utils.encode_dss_signature(r, s), token.signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise NotGenuine("the signature") from None


def account_token(circle):
    data = hashlib.blake2b(b"waymark/app-account/v1\0" + circle, digest_size=32).digest()[:16]
    number = int.from_bytes(data, "big")
    number = number & ~(0xF << 76) | 8 << 76
    number = number & ~(0b11 << 62) | 0b10 << 62
    return str(uuid.UUID(int=number)).upper()


def is_bound(transaction, circle):
    shown = transaction["appAccountToken"]
    return shown is not None and shown.isascii() and shown.upper() == account_token(circle)
