"""Protocol/purchase.md, "Reading" and "Which purchases are kept". This client does not verify purchases."""

import base64
import json
import re

PER_SIGNER_MAX, TOKEN_MAX, LEVELS_MAX = 16, 16_384, 16
ALPHABET = re.compile("[A-Za-z0-9_-]*")
TEXT, TIME, FLAG = "text", "time", "flag"
TRANSACTION = (
    {"bundleId": TEXT, "productId": TEXT, "environment": TEXT, "originalTransactionId": TEXT, "purchaseDate": TIME,
     "signedDate": TIME},
    {"subscriptionGroupIdentifier": TEXT, "type": TEXT, "inAppOwnershipType": TEXT, "appAccountToken": TEXT,
     "expiresDate": TIME, "revocationDate": TIME, "isUpgraded": FLAG})
RENEWAL = (
    {"environment": TEXT, "originalTransactionId": TEXT, "signedDate": TIME}, {"gracePeriodExpiresDate": TIME})


class Unreadable(Exception):
    pass


class Digits(str):
    """A number as it is written."""


def is_token(value):
    return type(value) is str and 1 <= len(value) <= TOKEN_MAX and all("\x21" <= each <= "\x7e" for each in value)


def order(statement):
    """The subscription of a statement, None if it is not readable, and its place among those of its signer."""
    try:
        transaction = payload(statement.fields[3], TRANSACTION)
    except Unreadable:
        return None, (0, 0, 0, statement.id)
    subscription, renewed = named(transaction), 0
    try:
        info = payload(statement.fields.get(4, ""), RENEWAL)
        renewed = info["signedDate"] if named(info) == subscription else 0
    except Unreadable:
        pass
    return subscription, (transaction["purchaseDate"], transaction["signedDate"], renewed, statement.id)


def kept(statements):
    """Those of one signer's purchases that are kept."""
    newest = {}
    for statement in statements:
        subscription, place = order(statement)
        newest[subscription] = max(newest.get(subscription, (place, statement)), (place, statement), key=lambda e: e[0])
    return [each for _, each in sorted(newest.values(), key=lambda e: e[0])[-PER_SIGNER_MAX:]]


def named(fields):
    return fields["environment"], fields["originalTransactionId"]


def payload(token, form):
    parts = [decode(part) for part in token.split(".")]
    if len(parts) != 3:
        raise Unreadable("parts")
    parse(parts[0])
    found, fields = parse(parts[1]), {}
    for kinds, is_needed in zip(form, (True, False)):
        for key, kind in kinds.items():
            value = found.get(key)
            if value is None and not is_needed:
                continue
            fields[key] = read(value, kind)
    return fields


def read(value, kind):
    if kind == TIME and type(value) is Digits and re.fullmatch("[0-9]+", value, re.A):
        digits = value.lstrip("0") or "0"
        if len(digits) <= 15 and int(digits) < 1 << 48:
            return int(digits)
    if kind == TEXT and type(value) is str or kind == FLAG and type(value) is bool:
        return value
    raise Unreadable(kind)


def decode(part):
    """Base64url without padding, in its one form."""
    if not ALPHABET.fullmatch(part) or len(part) % 4 == 1:
        raise Unreadable("base64")
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise Unreadable("unused bits")
    return data


def parse(data):
    """A JSON object, whose numbers stay as they are written."""
    try:
        found = json.loads(
            data.decode(), object_pairs_hook=members, parse_int=Digits, parse_float=Digits, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Unreadable("not JSON") from None
    if type(found) is not dict:
        raise Unreadable("not an object")
    check(found, 1)
    return found


def members(pairs):
    if len(dict(pairs)) != len(pairs):
        raise Unreadable("a key twice")
    return dict(pairs)


def refuse(word):
    raise Unreadable(word)


def check(value, level):
    """Levels, and surrogates, which Python accepts alone."""
    if type(value) in (dict, list):
        if level > LEVELS_MAX:
            raise Unreadable("levels")
        for each in value.values() if type(value) is dict else value:
            check(each, level + 1)
    for text in value if type(value) is dict else [value] if isinstance(value, str) else []:
        if any("\ud800" <= each <= "\udfff" for each in text):
            raise Unreadable("a surrogate")
