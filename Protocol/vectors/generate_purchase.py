#!/usr/bin/env python3
"""Writes purchase.json: purchases in the App Store, read, verified, kept and evaluated.

Independent of the Swift code: cryptography makes certificates and tokens, cbor2 encodes, PyNaCl signs. Run it in a
virtual environment with the packages of requirements.txt, as .ci/vectors does.
"""

import base64
import datetime
import json
import pathlib
import uuid

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

from app_store import (
    CHAIN, INTERMEDIATE, INTERMEDIATE_KEY, INTERMEDIATE_MARKER, INTERMEDIATE_NAME, LEAF,
    LEAF_KEY, LEAF_MARKER, LEAF_NAME, NULL, ORDER_P256, ROOT, ROOT_KEY, ROOT_NAME, UNKNOWN, ec_key, header,
    intermediate, json_bytes, leaf, name, part, raw_signature, root, rsa_key, scalar, signed_with_sha1, token,
    unsigned)
from purchase_times import AHEAD, BOUGHT, DAY, EXPIRES, NOON, SIGNED, SIGNED_SECOND, TRUST, TRUSTED
from statements import (
    ALICE, BOB, CAROL, CIRCLE, DAVE, GENESIS, OTHER_GENESIS, ROOT as ROOT_OF_CIRCLE, STRANGER, blake, certificate,
    entitlement, envelope, fixed, pub, revocation, sign, signature, statement, statement_id)

TOKEN_BYTES_MAX = 16_384
PURCHASES_MAX = 16
BUNDLE, OTHER_BUNDLE = "org.example.waymark", "org.example.waymark.maps"
POLICY = {
    "apps": [
        {"bundle": BUNDLE, "products": ["premium.monthly", "premium.yearly", "premium.lifetime"],
         "groups": ["21400001"]},
        {"bundle": OTHER_BUNDLE, "products": ["maps.premium"], "groups": []}],
    "sandbox": False, "family": False}
SANDBOX, FAMILY = {**POLICY, "sandbox": True}, {**POLICY, "family": True}


def account_token(circle):
    data = bytearray(blake("waymark/app-account/v1", circle)[:16])
    data[6], data[8] = data[6] & 0x0F | 0x80, data[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(data))).upper()


OTHER_CIRCLE = statement_id(OTHER_GENESIS)
ACCOUNT = account_token(CIRCLE)
ABSENT = object()


def fields(values, changes):
    return {key: value for key, value in {**values, **changes}.items() if value is not ABSENT}


def paid(**changes):
    """The payload of a transaction: a subscription of one month. ABSENT leaves a field out."""
    return fields({
        "transactionId": "2000000000000001", "originalTransactionId": "2000000000000001",
        "webOrderLineItemId": "2000000000000011", "bundleId": BUNDLE, "productId": "premium.monthly",
        "subscriptionGroupIdentifier": "21400001", "purchaseDate": BOUGHT, "originalPurchaseDate": BOUGHT,
        "expiresDate": EXPIRES, "quantity": 1, "type": "Auto-Renewable Subscription", "appAccountToken": ACCOUNT,
        "inAppOwnershipType": "PURCHASED", "signedDate": SIGNED, "environment": "Production",
        "transactionReason": "PURCHASE", "storefront": "USA", "storefrontId": "143441", "price": 1990,
        "currency": "USD"}, changes)


def for_life(**changes):
    return paid(**{
        "productId": "premium.lifetime", "type": "Non-Consumable", "expiresDate": ABSENT,
        "subscriptionGroupIdentifier": ABSENT, "webOrderLineItemId": ABSENT,
        "originalTransactionId": "2000000000000900", "transactionId": "2000000000000900", **changes})


def renewed(**changes):
    """The payload of a renewal info. Payment failed, and there are three days of grace."""
    return fields({
        "originalTransactionId": "2000000000000001", "autoRenewProductId": "premium.monthly",
        "productId": "premium.monthly", "autoRenewStatus": 1, "isInBillingRetryPeriod": True, "expirationIntent": 2,
        "gracePeriodExpiresDate": GRACE, "signedDate": EXPIRES - 3_600_000, "environment": "Production",
        "recentSubscriptionStartDate": BOUGHT, "renewalDate": EXPIRES}, changes)


GRACE = EXPIRES + 3 * DAY

judged = []


def judge(label, transaction, renewal=None, *, at, policy=None, readable=True, genuine=True, bound=True,
          renewal_counts=False, end=EXPIRES, trusted=TRUSTED):
    at = at if isinstance(at, list) else [(NOON, at)]
    counts = any(state != "none" for _, state in at)
    judged.append({
        "name": label, "transaction": transaction, "renewal": renewal, **({"policy": policy} if policy else {}),
        "readable": readable, "genuine": genuine if readable else None, "bound": bound if readable else None,
        "renewalCounts": renewal_counts, "end": end if counts else None, "trusted": trusted if counts else None,
        "at": [{"time": time, "state": state} for time, state in at]})


def valid(label, transaction, renewal=None, **rest):
    judge(label, transaction, renewal, at="valid", **rest)


def unreadable(label, transaction):
    judge(label, transaction, at="none", readable=False)


def forged(label, transaction):
    judge(label, transaction, at="none", genuine=False)


def changed(label, state="valid", policy=None, of=paid, **changes):
    """A genuine transaction with other fields. `of` makes the payload."""
    payload = of(**changes)
    ends = payload.get("expiresDate") is not None
    judge(label, token(payload), at=state, policy=policy, end=payload["expiresDate"] if ends else None,
          trusted=payload["signedDate"] + TRUST if ends else None)


def text(payload, **replaced):
    """JSON text of a payload in which marked values are written differently: each key says what its value becomes."""
    written = json_bytes(payload).decode()
    for key, value in replaced.items():
        before = f'"{key}":' + json_bytes(payload[key]).decode()
        assert written.count(before) == 1
        written = written.replace(before, f'"{key}":{value}')
    return written.encode()


def with_member(member, payload=None):
    """A payload with one member more, as JSON text."""
    return json_bytes(payload or paid())[:-1] + b"," + (member if isinstance(member, bytes) else member.encode()) + b"}"


def arrays(levels):
    return "[" * levels + "]" * levels


def objects(levels):
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


def last_bit(word):
    """The same base64 with an unused bit that is not zero."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(word) % 4 in (2, 3)
    return word[:-1] + digits[digits.index(word[-1]) + 1]


def of_length(payload, remainder):
    """A payload whose length has the given remainder by 3."""
    while len(json_bytes(payload)) % 3 != remainder:
        payload = {**payload, "pad": payload.get("pad", "") + "."}
    return payload


def judge_encoding():
    good = token(paid())
    head, body, tail = good.split(".")
    judge("a subscription of a month", good, at=[
        (SIGNED - AHEAD - 1, "not_yet"), (SIGNED - AHEAD, "valid"), (SIGNED, "valid"), (NOON, "valid"),
        (EXPIRES - 1, "valid"), (EXPIRES, "expired"), (TRUSTED, "expired")])
    unreadable("no dot", head)
    unreadable("two parts", f"{head}.{body}")
    unreadable("four parts", good + ".")
    unreadable("four parts, the last one not empty", f"{good}.{tail}")
    unreadable("five parts, as of JWE", f"{good}.{tail}.{tail}")
    unreadable("a token in the JSON form", json_bytes(
        {"protected": head, "payload": body, "signature": tail}).decode())
    unreadable("no header", f".{body}.{tail}")
    unreadable("no payload", f"{head}..{tail}")
    unreadable("two dots alone", "..")
    unreadable("one byte", "a")
    forged("no signature", f"{head}.{body}.")
    padded = token(of_length(paid(), 1))
    unreadable("padding behind the payload", "==.".join(padded.rsplit(".", 1)))
    unreadable("padding behind the signature", good + "==")
    unreadable("an unused bit of the payload", ".".join(
        [padded.split(".")[0], last_bit(padded.split(".")[1]), padded.split(".")[2]]))
    unreadable("an unused bit of the signature", f"{head}.{body}.{last_bit(tail)}")
    longer = part(json_bytes(of_length(header(), 2)))
    unreadable("an unused bit of the header", f"{last_bit(longer)}.{body}.{tail}")
    unreadable("a payload of 4n + 1 digits", f"{head}.{part(json_bytes(of_length(paid(), 0)))}A.{tail}")
    unreadable("a signature of 4n + 1 digits", f"{head}.{body}.{tail[:85]}")
    marks = part(json_bytes(paid(note="???>>>~~~")))
    assert "_" in marks or "-" in marks
    unreadable("a payload in plain base64",
               f"{head}.{marks.replace('-', '+').replace('_', '/')}.{tail}")
    unreadable("a sign that base64 has not", f"{head}.{body[:40]}!{body[41:]}.{tail}")
    valid("a payload whose base64 has - or _", token(paid(note="???>>>~~~")))


def judge_json():
    good = json_bytes(paid())
    for label, payload in [
            ("a payload that is not JSON", b"premium"), ("a payload that is an array", b"[" + good + b"]"),
            ("a payload that is a string", json_bytes(good.decode())), ("a payload that is null", b"null"),
            ("a payload that is a number", b"1"), ("an empty object", b"{}"),
            ("a byte-order mark", b"\xef\xbb\xbf" + good), ("a payload in UTF-16", good.decode().encode("utf-16-le")),
            ("two objects", good + good), ("a byte behind the object", good + b"x"),
            ("a zero byte behind the object", good + b"\0"), ("a payload cut short", good[:-1]),
            ("a comma behind the last member", good[:-1] + b",}"),
            ("a comma behind the last element", with_member('"x":[1,]')),
            ("a comment", with_member('"x":1/*one*/')), ("a key without quotes", with_member("x:1")),
            ("single quotes", with_member("'x':1")), ("a member without a value", with_member('"x":')),
            ("NaN", with_member('"x":NaN')), ("Infinity", with_member('"x":-Infinity')),
            ("a capital True", with_member('"x":True')), ("a leading zero", with_member('"x":01')),
            ("a plus sign", with_member('"x":+1')), ("a point without digits", with_member('"x":1.')),
            ("an exponent without digits", with_member('"x":1e')), ("a minus alone", with_member('"x":-')),
            ("a hexadecimal number", with_member('"x":0x10')),
            ("a raw control character in a text", with_member(b'"x":"\x1f"')),
            ("a raw line break in a text", with_member(b'"x":"a\nb"')),
            ("an unknown escape", with_member('"x":"\\x41"')), ("a short escape", with_member('"x":"\\u12"')),
            ("an escape with a sign", with_member('"x":"\\u+123"')),
            ("a form feed between members", with_member(b'\x0c"x":1')),
            ("a no-break space between members", with_member('\u00a0"x":1')),
            ("a byte that is not UTF-8", with_member(b'"x":"\xff"')),
            ("an overlong form", with_member(b'"x":"\xc0\xaf"')),
            ("a surrogate in UTF-8", with_member(b'"x":"\xed\xa0\x80"')),
            ("a code point above U+10FFFF", with_member(b'"x":"\xf4\x90\x80\x80"')),
            ("a high surrogate alone", with_member('"x":"\\ud83d"')),
            ("a low surrogate alone", with_member('"x":"\\ude00"')),
            ("surrogates in the wrong order", with_member('"x":"\\ude00\\ud83d"')),
            ("two high surrogates", with_member('"x":"\\ud83d\\ud83d\\ude00"')),
            ("an unpaired surrogate in a key", with_member('"\\ud83d":1')),
            ("a key twice", with_member('"environment":"Production"')),
            ("an unknown key twice", with_member('"x":1,"x":1')),
            ("a key twice, once escaped", with_member('"environm\\u0065nt":"Production"')),
            ("a key twice in an inner object", with_member('"x":{"a":{"b":1,"b":2}}')),
            ("a key twice in an object of an array", with_member('"x":[{"b":1,"b":1}]')),
            ("17 levels of arrays", with_member(f'"x":{arrays(16)}')),
            ("17 levels of objects", with_member(f'"x":{objects(16)}')),
            ("2,000 levels", with_member(f'"x":{arrays(2_000)}')),
            ("5,000 open brackets", b'{"x":' + b"[" * 5_000)]:
        unreadable(label, token(payload))
    for label, payload in [
            ("16 levels of arrays", with_member(f'"x":{arrays(15)}')),
            ("16 levels of objects", with_member(f'"x":{objects(15)}')),
            ("1,000 arrays next to each other", with_member(f'"x":[{",".join(["[]"] * 1_000)}]')),
            ("white space between all parts",
             b" \t\r\n" + good.replace(b",", b" ,\r\n\t").replace(b":", b" : ") + b"\n"),
            ("escapes in keys and values", text(paid(), environment='"Prod\\u0075ction"').replace(
                b'"bundleId"', b'"bundl\\u0065Id"')),
            ("a pair of surrogates", with_member('"x":"\\ud83d\\ude00"')),
            ("characters beyond ASCII", with_member('"x":"Händi 😀"')),
            ("U+0000, escaped", with_member('"x":"\\u0000"')),
            ("U+2028 and U+FFFF", with_member('"x":"\u2028\uffff"')),
            ("every short escape", with_member(r'"x":"\"\\\/\b\f\n\r\t"')),
            ("the same key in two objects", with_member('"x":{"a":1,"b":{"a":1}},"y":{"a":1}')),
            ("two keys that Unicode alone counts as one", with_member('"\u00e9":1,"e\u0301":2')),
            ("keys that differ in case", with_member('"Environment":"Xcode"')),
            ("an empty key", with_member('"":1')),
            ("a number beyond all doubles in an unknown field", with_member('"x":1e400')),
            ("a number of 5,000 digits in an unknown field", with_member(f'"x":{"9" * 5_000}')),
            ("a fraction, a negative number and an exponent in unknown fields", with_member('"x":-1.5E-7,"y":-0')),
            ("a field that the table does not name, of another type", text(paid(), price='"free"', quantity="[]"))]:
        valid(label, token(payload))
    head = json_bytes(header())
    for label, value in [
            ("a header that is an array", b"[" + head + b"]"), ("a header that is not JSON", head[1:]),
            ("a byte-order mark before the header", b"\xef\xbb\xbf" + head),
            ("a key twice in the header", head[:-1] + b',"alg":"ES256"}'),
            ("17 levels in the header", head[:-1] + f',"x":{arrays(16)}}}'.encode()),
            ("an unpaired surrogate in the header", head[:-1] + b',"x":"\\udc00"}')]:
        unreadable(label, token(paid(), value))
    valid("16 levels in the header", token(paid(), head[:-1] + f',"x":{arrays(15)}}}'.encode()))


REQUIRED = ["bundleId", "productId", "environment", "originalTransactionId", "purchaseDate", "signedDate"]
TEXTS = ["bundleId", "productId", "environment", "originalTransactionId", "subscriptionGroupIdentifier", "type",
         "inAppOwnershipType", "appAccountToken"]
NOT_TIMES = [("a fraction", "1772366400000.0"), ("an exponent", "1772366400e3"), ("a capital exponent", "1772366400E3"),
             ("negative", "-1"), ("minus zero", "-0"), ("a string", '"1772366400000"'), ("a boolean", "true"),
             ("2^48", str(2**48)), ("2^64", str(2**64)), ("of 40 digits", "1" * 40), ("an array", "[1772366400000]")]


def judge_fields():
    for key in REQUIRED:
        unreadable(f"no {key}", token(paid(**{key: ABSENT})))
        unreadable(f"{key} is null", token(paid(**{key: None})))
    for key in TEXTS:
        unreadable(f"{key} is a number", token(paid(**{key: 1})))
        unreadable(f"{key} is an array", token(paid(**{key: ["x"]})))
    for value in ("1", '"true"', "[]"):
        unreadable(f"isUpgraded is {value}", token(with_member(f'"isUpgraded":{value}')))
    for key in ("purchaseDate", "signedDate", "expiresDate"):
        for label, value in NOT_TIMES:
            unreadable(f"{key} is {label}", token(text(paid(), **{key: value})))
    for label, value in NOT_TIMES:
        unreadable(f"revocationDate is {label}", token(with_member(f'"revocationDate":{value}')))
    judge("null fields", token(paid(
        subscriptionGroupIdentifier=None, type=None, inAppOwnershipType=None, revocationDate=None, isUpgraded=None,
        price=None)), at="valid")
    changed("a subscription without the fields that are optional, except one", subscriptionGroupIdentifier=ABSENT,
            type=ABSENT, inAppOwnershipType=ABSENT)
    changed("isUpgraded is false", isUpgraded=False)
    changed("purchaseDate is zero", purchaseDate=0)
    changed("purchaseDate is 2^48 - 1", purchaseDate=2**48 - 1)
    judge("expiresDate is 2^48 - 1", token(paid(expiresDate=2**48 - 1)), end=2**48 - 1, at=[
        (TRUSTED - 1, "valid"), (TRUSTED, "unconfirmed"), (2**48 - 1, "expired")])
    changed("expiresDate is zero", "expired", expiresDate=0)
    forged("signedDate is 2^48 - 1, when no certificate is valid", token(paid(signedDate=2**48 - 1)))
    forged("signedDate is zero", token(paid(signedDate=0)))
    changed("unknown fields", offerType=1, offerDiscountType="FREE_TRIAL", appTransactionId="7001",
            somethingNew={"of": ["2030", None, True]})
    changed("unknown values of fields", type="Premium Forever", inAppOwnershipType="LENT", transactionReason="LUCK")


def judge_header():
    for label, changes in [
            ("alg none", {"alg": "none"}), ("alg HS256", {"alg": "HS256"}), ("alg ES384", {"alg": "ES384"}),
            ("alg in lower case", {"alg": "es256"}), ("alg missing", {"alg": "_"}), ("alg null", {"alg": None}),
            ("alg an array", {"alg": ["ES256"]}), ("crit present", {"crit": ["exp"]}), ("crit empty", {"crit": []}),
            ("crit null", {"crit": None}), ("x5c missing", {"x5c": "_"}), ("x5c null", {"x5c": None}),
            ("x5c a string", {"x5c": base64.b64encode(LEAF).decode()}), ("x5c empty", {"x5c": []}),
            ("x5c of a number", {"x5c": [1, 2, 3]})]:
        forged(label, token(paid(), header(**changes)))
    forged("alg none without a signature", token(paid(), header(alg="none"), signature=b""))
    key = CHAIN[0]
    forged("alg HS256 with the leaf as the secret", token(paid(), header(alg="HS256"), signature=blake("hs256", key)))
    valid("other keys in the header", token(paid(), header(typ="JWT", kid="1", x5u="https://example.org", b64=True)))
    first, second, third = header()["x5c"]
    assert first.endswith("==") and second.endswith("==") and "/" in first + second and "+" in first + second
    for label, listed in [
            ("one certificate", [first]), ("two certificates", [first, second]),
            ("four certificates", [first, second, third, third]), ("certificates in reverse", [third, second, first]),
            ("leaf and intermediate exchanged", [second, first, third]), ("the leaf three times", [first] * 3),
            ("url-safe base64 in x5c", [each.replace("+", "-").replace("/", "_") for each in (first, second, third)]),
            ("a line break in x5c", [first[:64] + "\n" + first[64:], second, third]),
            ("a line break at the end of x5c", [first, second + "\r\n", third]),
            ("a space in x5c", [first, " " + second, third]),
            ("missing padding in x5c", [first.rstrip("="), second, third]),
            ("half of the padding in x5c", [first, second[:-1], third]),
            ("too much padding in x5c", [first + "====", second, third]),
            ("padding inside x5c", [first, base64.b64encode(INTERMEDIATE[:1]).decode()
                                    + base64.b64encode(INTERMEDIATE[1:]).decode(), third]),
            ("an unused bit in x5c", [last_bit_of(first), second, third]),
            ("an unused bit of the intermediate in x5c", [first, last_bit_of(second), third]),
            ("PEM in x5c", [f"-----BEGIN CERTIFICATE-----{first}-----END CERTIFICATE-----", second, third]),
            ("a root in x5c that is not base64", [first, second, "Apple Root CA - G3"]),
            ("a root in x5c that is null", [first, second, None]),
            ("a leaf in x5c that is no certificate", [base64.b64encode(b"leaf").decode(), second, third]),
            ("an empty leaf in x5c", ["", second, third])]:
        forged(label, token(paid(), header(x5c=listed)))
    for label, sent in [("another root is sent", base64.b64encode(root("another", ec_key("another"))).decode()),
                        ("the root that is sent is no certificate", "AAAA"), ("the root that is sent is empty", "")]:
        valid(label, token(paid(), header(x5c=[first, second, sent])))


def last_bit_of(padded):
    word = padded.rstrip("=")
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return word[:-1] + digits[digits.index(word[-1]) + 1] + padded[len(word):]


def judge_signature():
    good = token(paid())
    message, tail = good.rsplit(".", 1)
    first, second = message.split(".")
    raw = base64.urlsafe_b64decode(tail + "==")
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    order = ORDER_P256.to_bytes(32, "big")

    def signed(data):
        return f"{message}.{part(data)}"

    valid("the other s of the same signature", signed(raw[:32] + (ORDER_P256 - s).to_bytes(32, "big")))
    for label, data in [
            ("a signature of 63 bytes", raw[:-1]), ("a signature of 65 bytes", raw + b"\0"),
            ("a signature of 65 bytes, the first one zero", b"\0" + raw),
            ("a signature in DER", utils.encode_dss_signature(r, s)), ("a signature of zeros", bytes(64)),
            ("r is zero", bytes(32) + raw[32:]), ("s is zero", raw[:32] + bytes(32)),
            ("r is the order of the curve", order + raw[32:]), ("s is the order of the curve", raw[:32] + order),
            ("r and s exchanged", raw[32:] + raw[:32]), ("r and s little-endian", raw[31::-1] + raw[:31:-1]),
            ("a bit of the signature", raw[:40] + bytes([raw[40] ^ 1]) + raw[41:]),
            ("r and s of 48 bytes", bytes(16) + raw[:32] + bytes(16) + raw[32:])]:
        forged(label, signed(data))
    forged("an altered payload", f"{first}.{part(json_bytes(paid(expiresDate=EXPIRES + 365 * DAY)))}.{tail}")
    forged("an altered header", f"{part(json_bytes(header(kid='1')))}.{second}.{tail}")
    forged("signed by another key", token(paid(), key=ec_key("mallory")))
    forged("signed by the key of the intermediate", token(
        paid(), signature=raw_signature(message.encode(), INTERMEDIATE_KEY)))
    forged("signed over the payload alone", token(paid(), signature=raw_signature(second.encode(), LEAF_KEY)))
    forged("signed over the decoded payload", token(paid(), signature=raw_signature(json_bytes(paid()), LEAF_KEY)))
    forged("signed with SHA-384", token(
        paid(), signature=raw_signature(message.encode(), LEAF_KEY, hashes.SHA384())))


def judge_chain():
    def chained(bottom=LEAF, middle=INTERMEDIATE, top=ROOT):
        return token(paid(), header((bottom, middle, top)))

    other_root, other_middle = ec_key("other root", ec.SECP384R1()), ec_key("other intermediate", ec.SECP384R1())
    forged("another root of the same name", chained(
        middle=intermediate("other root", signer=other_root), top=root("other root", other_root)))
    named = name("Waymark Other Test Root CA")
    forged("another root of another name", chained(
        middle=intermediate("named root", signer=other_root, issuer=named), top=root("named", other_root, named)))
    forged("a leaf of another intermediate", chained(leaf("other intermediate", signer=other_middle)))
    forged("a leaf that signed itself", chained(leaf("self", issuer=LEAF_NAME, signer=LEAF_KEY)))
    forged("a leaf signed by the root, with an unrelated intermediate",
           chained(leaf("by the root", issuer=ROOT_NAME, signer=ROOT_KEY)))
    forged("a leaf signed by the root, with the root as intermediate",
           chained(leaf("by the root", issuer=ROOT_NAME, signer=ROOT_KEY), ROOT))
    forged("an intermediate as leaf", token(
        paid(), header((INTERMEDIATE, INTERMEDIATE, ROOT)), signature=raw_signature(b"x", INTERMEDIATE_KEY)))
    forged("an issuer of another name in the leaf", chained(leaf("issuer", issuer=named)))
    forged("an issuer of another name in the intermediate", chained(middle=intermediate("issuer", issuer=named)))
    sub_name, sub_key = name("Waymark Test Sub CA"), ec_key("sub", ec.SECP384R1())
    sub = intermediate("sub", subject=sub_name, key=sub_key, issuer=INTERMEDIATE_NAME, signer=INTERMEDIATE_KEY)
    below = leaf("below", issuer=sub_name, signer=sub_key)
    forged("a CA more, which violates the path length", token(paid(), header((below, sub, INTERMEDIATE, ROOT))))
    forged("a CA more, without the root", chained(below, sub, INTERMEDIATE))
    forged("a CA more, in place of the intermediate", chained(below, sub))

    for label, markers in [("no marker", {}), ("the marker of an intermediate", {INTERMEDIATE_MARKER: NULL}),
                           ("a marker that is longer", {LEAF_MARKER + ".1": NULL})]:
        forged(f"{label} in the leaf", chained(leaf(label, markers=markers)))
    for label, markers in [("no marker", {}), ("the marker of a leaf", {LEAF_MARKER: NULL}),
                           ("a marker that is shorter", {INTERMEDIATE_MARKER.rpartition(".")[0]: NULL})]:
        forged(f"{label} in the intermediate", chained(middle=intermediate(label, markers=markers)))
    valid("markers with other values", chained(
        leaf("values", markers={LEAF_MARKER: b"\x0c\x041234"}),
        intermediate("values", markers={INTERMEDIATE_MARKER: b"\x04\x00"})))
    valid("both markers in both", chained(
        leaf("both", markers={LEAF_MARKER: NULL, INTERMEDIATE_MARKER: NULL}),
        intermediate("both", markers={INTERMEDIATE_MARKER: NULL, LEAF_MARKER: NULL})))

    second, step, day = SIGNED_SECOND, datetime.timedelta(seconds=1), datetime.timedelta(days=1)
    for label, make in [("leaf", lambda *rest, **more: chained(leaf(*rest, **more))),
                        ("intermediate", lambda *rest, **more: chained(middle=intermediate(*rest, **more)))]:
        forged(f"{label} expired when the token was signed", make("expired", last=second - day))
        forged(f"{label} expired in the second before", make("just expired", last=second - step))
        valid(f"{label} in its last second", make("last second", last=second))
        valid(f"{label} expired after the token was signed", make("expires", last=second + datetime.timedelta(hours=1)))
        forged(f"{label} not valid yet", make("not yet", first=second + day))
        forged(f"{label} valid from the next second", make("next second", first=second + step))
        valid(f"{label} in its first second", make("first second", first=second))

    for label, constraints in [("intermediate that is no CA", (False, None)),
                               ("intermediate without basic constraints", None)]:
        forged(label, chained(middle=intermediate(label, constraints=constraints)))
    valid("intermediate without a path length", chained(middle=intermediate("no length", constraints=(True, None))))
    valid("intermediate with path length 1", chained(middle=intermediate("length 1", constraints=(True, 1))))
    forged("intermediate without the usage keyCertSign", chained(middle=intermediate("usage", kinds=("crl_sign",))))
    valid("intermediate without a key usage", chained(middle=intermediate("no usage", kinds=None)))
    forged("leaf without the usage digitalSignature", chained(leaf("usage", kinds=("key_encipherment",))))
    valid("leaf without a key usage", chained(leaf("no usage", kinds=None)))
    valid("leaf with one usage more", chained(leaf("more", kinds=("digital_signature", "content_commitment"))))
    forged("an unknown critical extension in the leaf", chained(leaf("critical", critical=[UNKNOWN])))
    forged("an unknown critical extension in the intermediate",
           chained(middle=intermediate("critical", critical=[UNKNOWN])))
    unknown = UNKNOWN.oid.dotted_string
    valid("an unknown extension that is not critical", chained(leaf("optional", markers={
        LEAF_MARKER: NULL, unknown: NULL})))

    valid("a renewed intermediate of the same name and key", chained(middle=intermediate("renewed", first=second)))
    valid("a path signed with SHA-256", chained(
        leaf("sha256", hash=hashes.SHA256()), intermediate("sha256", hash=hashes.SHA256())))
    valid("a path signed with SHA-512", chained(
        leaf("sha512", hash=hashes.SHA512()), intermediate("sha512", hash=hashes.SHA512())))
    forged("a leaf signed with SHA-1", chained(signed_with_sha1(LEAF, INTERMEDIATE_KEY)))
    forged("an intermediate signed with SHA-1", chained(middle=signed_with_sha1(INTERMEDIATE, ROOT_KEY)))
    small = ec_key("small intermediate")
    valid("an intermediate with a P-256 key", chained(
        leaf("small", signer=small, hash=hashes.SHA256()), intermediate("small", key=small)))
    flipped = LEAF[:-1] + bytes([LEAF[-1] ^ 1])
    forged("a bit of the leaf's signature", chained(flipped))
    forged("a bit of the intermediate's signature", chained(middle=INTERMEDIATE[:-1] + bytes([INTERMEDIATE[-1] ^ 1])))
    forged("a byte behind the leaf", chained(LEAF + b"\0"))
    forged("a byte behind the intermediate", chained(middle=INTERMEDIATE + b"\0"))
    forged("a leaf cut short", chained(LEAF[:-1]))
    forged("two certificates in the place of the leaf", chained(LEAF + INTERMEDIATE))

    key = ec_key("p384 leaf", ec.SECP384R1())
    head = header((leaf("p384", key=key), INTERMEDIATE, ROOT))
    forged("a leaf with a P-384 key", token(paid(), head, key=key))
    forged("a leaf with a P-384 key and alg ES384", token(paid(), {**head, "alg": "ES384"}, signature=raw_signature(
        (part(json_bytes({**head, "alg": "ES384"})) + "." + part(json_bytes(paid()))).encode(), key, hashes.SHA384())))
    key = ec_key("secp256k1 leaf", ec.SECP256K1())
    forged("a leaf with a secp256k1 key", token(
        paid(), header((leaf("secp256k1", key=key), INTERMEDIATE, ROOT)), key=key))
    key = rsa_key("leaf")
    head = header((leaf("rsa", key=key), INTERMEDIATE, ROOT))
    message = part(json_bytes(head)) + "." + part(json_bytes(paid()))
    signed = key.sign(message.encode(), padding.PKCS1v15(), hashes.SHA256())
    forged("a leaf with an RSA key", token(paid(), head, signature=signed))
    forged("an intermediate with an RSA key", chained(
        leaf("by rsa", signer=key, hash=hashes.SHA256()), intermediate("rsa", key=key)))


def judge_binding():
    for label, value in [
            ("no account token", ABSENT), ("an account token that is null", None), ("an empty account token", ""),
            ("the account token of another circle", account_token(OTHER_CIRCLE)),
            ("an account token without dashes", ACCOUNT.replace("-", "")),
            ("an account token in braces", f"{{{ACCOUNT}}}"),
            ("an account token as a URN", "urn:uuid:" + ACCOUNT), ("an account token with a space", ACCOUNT + " "),
            ("an account token cut short", ACCOUNT[:-1]), ("dashes at other places", "-".join(
                ACCOUNT.replace("-", "")[n:n + 8] for n in range(0, 32, 8))),
            ("the id of the circle", CIRCLE.hex()),
            ("a UUID of version 4 with the same other bits", ACCOUNT[:14] + "4" + ACCOUNT[15:]),
            ("the hash without version and variant", str(
                uuid.UUID(bytes=blake("waymark/app-account/v1", CIRCLE)[:16])).upper())]:
        assert value != ACCOUNT
        judge(label, token(paid(appAccountToken=value)), at="none", bound=False)
    changed("an account token in lower case", appAccountToken=ACCOUNT.lower())
    mixed = "".join(each.lower() if n % 2 else each for n, each in enumerate(ACCOUNT))
    assert mixed not in (ACCOUNT, ACCOUNT.lower())
    changed("an account token in mixed case", appAccountToken=mixed)
    judge("neither genuine nor bound", unsigned(paid(appAccountToken=ABSENT)), at="none", genuine=False, bound=False)


def judge_policy():
    changed("another app", "none", bundleId="org.example.other")
    changed("the bundle id in another case", "none", bundleId=BUNDLE.upper())
    changed("another app of the list with its product", bundleId=OTHER_BUNDLE, productId="maps.premium",
            subscriptionGroupIdentifier=ABSENT)
    changed("another app of the list with the product of the first", "not_listed", bundleId=OTHER_BUNDLE)
    changed("an empty list of apps", "none", {**POLICY, "apps": []})
    changed("sandbox", "none", environment="Sandbox")
    changed("sandbox, accepted", policy=SANDBOX, environment="Sandbox")
    changed("production where sandbox is accepted", policy=SANDBOX)
    for environment in ("Xcode", "LocalTesting", "production", "SANDBOX", ""):
        changed(f"the environment “{environment}”", "none", SANDBOX, environment=environment)

    changed("a product of the list without a group", subscriptionGroupIdentifier=ABSENT)
    changed("a product of the list in another group", subscriptionGroupIdentifier="1")
    changed("another product of a group of the list", productId="premium.family")
    changed("another product of another group", "not_listed", productId="premium.family",
            subscriptionGroupIdentifier="1")
    changed("another product without a group", "not_listed", productId="premium.family",
            subscriptionGroupIdentifier=ABSENT)
    changed("a product id as the group", "not_listed", productId="21400001",
            subscriptionGroupIdentifier="premium.monthly")
    accents = {**POLICY, "apps": [{"bundle": BUNDLE, "products": ["pr\u00e9mium"], "groups": []}]}
    changed("a product with an accent", policy=accents, productId="pr\u00e9mium")
    changed("a product that Unicode alone counts as the same", "not_listed", accents, productId="pre\u0301mium")
    changed("a product in another case", "not_listed", productId="Premium.Monthly", subscriptionGroupIdentifier=ABSENT)
    for kind in ("Consumable", "Non-Renewing Subscription"):
        changed(f"type {kind}", "not_listed", type=kind)
        changed(f"type {kind}, without an end", "not_listed", of=for_life, type=kind)
    changed("type consumable in lower case, which is unknown", type="consumable")
    changed("Non-Consumable with an end", type="Non-Consumable")
    changed("shared by a family", "not_listed", inAppOwnershipType="FAMILY_SHARED")
    changed("shared by a family, accepted", policy=FAMILY, inAppOwnershipType="FAMILY_SHARED")
    changed("bought, where families are accepted", policy=FAMILY)
    far = BOUGHT + 10_000 * DAY
    judge("for life", token(for_life()), end=None, trusted=None, at=[
        (0, "not_yet"), (SIGNED - AHEAD - 1, "not_yet"), (SIGNED - AHEAD, "valid"), (TRUSTED, "valid"), (far, "valid"),
        (2**48 - 1, "valid")])
    changed("for life, of a product that is not listed", "not_listed", of=for_life, productId="premium.forever")
    changed("for life, of a product that is not listed, in a group of the list", "not_listed", of=for_life,
            productId="premium.forever", subscriptionGroupIdentifier="21400001")
    changed("for life, without a type", of=for_life, type=ABSENT)
    changed("for life, of an unknown type", of=for_life, type="Premium Forever")
    changed("a subscription without an end", "not_listed", expiresDate=ABSENT)
    changed("a subscription whose end is null", "not_listed", expiresDate=None)
    changed("for life, refunded", "refunded", of=for_life, revocationDate=NOON)
    changed("for life, shared by a family", "not_listed", of=for_life, inAppOwnershipType="FAMILY_SHARED")

    changed("upgraded", "upgraded", isUpgraded=True)
    changed("refunded", "refunded", revocationDate=NOON - 1, revocationReason=0)
    changed("refunded at a later time", "refunded", revocationDate=EXPIRES + DAY)
    changed("refunded at zero", "refunded", revocationDate=0)
    changed("refunded in part", "refunded", revocationDate=NOON - 1, revocationType="REFUND_PRORATED",
            revocationPercentage=50_000)
    judge("the order of states", token(paid(productId="x", subscriptionGroupIdentifier="x", isUpgraded=True,
                                            revocationDate=NOON)), at=[(0, "not_listed"), (EXPIRES, "not_listed")])
    judge("upgraded and refunded", token(paid(isUpgraded=True, revocationDate=NOON)), at=[
        (0, "upgraded"), (EXPIRES, "upgraded")])
    judge("refunded before its time and after its end", token(paid(revocationDate=NOON)), at=[
        (0, "refunded"), (SIGNED, "refunded"), (EXPIRES, "refunded"), (TRUSTED, "refunded")])
    judge("not yet, although it has expired", token(paid(expiresDate=SIGNED - DAY)), end=SIGNED - DAY, at=[
        (SIGNED - AHEAD - 1, "not_yet"), (SIGNED - AHEAD, "expired")])


def judge_times():
    year = BOUGHT + 365 * DAY
    changes = {"productId": "premium.yearly", "expiresDate": year}
    judge("a subscription of a year is trusted for 35 days", token(paid(**changes)), end=year, at=[
        (SIGNED - AHEAD, "valid"), (TRUSTED - 1, "valid"), (TRUSTED, "unconfirmed"), (year - 1, "unconfirmed"),
        (year, "expired")])
    later = SIGNED + 30 * DAY
    judge("the same, signed 30 days later", token(paid(**changes, signedDate=later)), end=year, trusted=later + TRUST,
          at=[(later - AHEAD - 1, "not_yet"), (later - AHEAD, "valid"), (TRUSTED, "valid"),
              (later + TRUST - 1, "valid"), (later + TRUST, "unconfirmed")])
    judge("signed before it was bought", token(paid(signedDate=BOUGHT - DAY)), trusted=BOUGHT - DAY + TRUST, at=[
        (BOUGHT - DAY - AHEAD - 1, "not_yet"), (BOUGHT - DAY - AHEAD, "valid")])
    judge("a subscription that ends with its trust", token(paid(expiresDate=TRUSTED)), end=TRUSTED, at=[
        (TRUSTED - 1, "valid"), (TRUSTED, "expired")])

    good = token(paid())
    plain = {"end": EXPIRES, "at": [(EXPIRES - 1, "valid"), (EXPIRES, "expired")]}
    longer = {"end": GRACE, "renewal_counts": True, "at": [
        (EXPIRES - 1, "valid"), (EXPIRES, "valid"), (GRACE - 1, "valid"), (GRACE, "expired")]}
    judge("a grace period", good, token(renewed()), **longer)
    judge("a grace period that ends earlier", good, token(renewed(gracePeriodExpiresDate=EXPIRES - DAY)),
          renewal_counts=True, **plain)
    judge("a renewal info without a grace period", good, token(renewed(gracePeriodExpiresDate=ABSENT)),
          renewal_counts=True, **plain)
    judge("a grace period that is null", good, token(renewed(gracePeriodExpiresDate=None)),
          renewal_counts=True, **plain)
    long = EXPIRES + 16 * DAY
    judge("a grace period beyond the trust", good, token(renewed(gracePeriodExpiresDate=long)), end=long,
          renewal_counts=True, at=[(TRUSTED - 1, "valid"), (TRUSTED, "unconfirmed"), (long, "expired")])
    judge("a renewal info that was signed later prolongs no trust", token(paid(**changes)),
          token(renewed(signedDate=TRUSTED - 1, gracePeriodExpiresDate=ABSENT)), end=year, renewal_counts=True,
          at=[(TRUSTED - 1, "valid"), (TRUSTED, "unconfirmed")])
    judge("the grace period of another subscription", good, token(renewed(originalTransactionId="2000000000000002")),
          **plain)
    judge("the grace period of another environment", good, token(renewed(environment="Sandbox")), **plain)
    judge("a grace period that is not genuine", good, token(renewed(), key=ec_key("mallory")), **plain)
    judge("a grace period of another root", good, token(renewed(), header((LEAF, intermediate(
        "other root", signer=ec_key("other root", ec.SECP384R1())), ROOT))), **plain)
    judge("a grace period signed before the leaf was valid", good, token(
        renewed(signedDate=1_600_000_000_000)), **plain)
    judge("a renewal info that is not readable", good, "renewal", **plain)
    judge("a renewal info without signedDate", good, token(renewed(signedDate=ABSENT)), **plain)
    judge("a renewal info with a fraction as the time", good, token(
        text(renewed(), gracePeriodExpiresDate=f"{GRACE}.0")), **plain)
    judge("the transaction as renewal info", good, good, renewal_counts=True, **plain)
    judge("a renewal info with the fields of a transaction, of other types", good, token(
        renewed(bundleId=1, expiresDate="never", appAccountToken=[])), **longer)
    judge("a renewal info as transaction", token(renewed()), at="none", readable=False)
    judge("a grace period and a refund", token(paid(revocationDate=NOON)), token(renewed()), end=GRACE,
          renewal_counts=True, at=[(NOON, "refunded"), (EXPIRES, "refunded")])
    judge("for life with a grace period", token(for_life()), token(renewed(
        originalTransactionId="2000000000000900")), end=None, trusted=None, renewal_counts=True, at=[
            (NOON, "valid"), (GRACE, "valid"), (GRACE + 1_000 * DAY, "valid")])
    judge("a genuine renewal info of a transaction that is not genuine", unsigned(paid()), token(renewed()),
          genuine=False, renewal_counts=True, at=[(NOON, "none")])
    judge("a genuine renewal info of a transaction that is not readable", "x", token(renewed()), readable=False,
          at="none")


statements = []


def add_statements():
    good, grace = short(), unsigned(renewed())
    pairs = {0: 1, 1: CIRCLE, 2: pub(ALICE), 3: good, 4: grace}

    def accepted(label, data, error=None):
        statements.append({"name": label, "bytes": data.hex(), "error": error})

    def made(label, error=None, signer=ALICE, **changes):
        accepted(label, statement(12, {**pairs, **{int(k[1:]): v for k, v in changes.items()}}, signer), error)

    made("a transaction and its renewal info")
    made("a transaction alone", _4=None)
    made("of another circle", _1=OTHER_CIRCLE)
    made("a transaction that is not a token", _3="!")
    made("a renewal info that is not a token", _4="~")
    made("the same token twice", _4=good)
    made("the greatest tokens", _3="a" * TOKEN_BYTES_MAX, _4="~" * TOKEN_BYTES_MAX)
    made("by a device that no statement names", signer=STRANGER, _2=pub(STRANGER))
    made("all bytes of a token", _3="".join(map(chr, range(0x21, 0x7F))))
    refused = "malformed"
    made("no transaction", refused, _3=None)
    made("no circle", refused, _1=None)
    made("no signer", refused, _2=None)
    made("no version", refused, _0=None)
    made("version 2", refused, _0=2)
    made("a circle of 31 bytes", refused, _1=CIRCLE[:-1])
    made("a transaction of bytes", refused, _3=good.encode())
    made("a transaction in an array", refused, _3=[good])
    made("a number as transaction", refused, _3=1)
    made("an empty transaction", refused, _3="")
    made("a transaction that is too long", refused, _3="a" * (TOKEN_BYTES_MAX + 1))
    for label, character in [("a space", " "), ("a line break", "\n"), ("DEL", "\x7f"), ("a zero byte", "\0"),
                             ("a letter beyond ASCII", "é")]:
        made(f"{label} in a transaction", refused, _3=good + character)
        made(f"{label} in a renewal info", refused, _4=character + grace)
    made("a renewal info of bytes", refused, _4=grace.encode())
    made("a renewal info that is false", refused, _4=False)
    made("an empty renewal info", refused, _4="")
    made("a renewal info that is too long", refused, _4="a" * (TOKEN_BYTES_MAX + 1))
    made("an unknown key", refused, _5=1)
    body = cbor2.dumps({**pairs, 4: None})
    accepted("null as renewal info", envelope(12, body, signature(12, body, ALICE)), refused)
    swapped = cbor2.dumps({0: 1, 1: CIRCLE, 2: pub(ALICE), 4: grace, 3: good})
    accepted("keys out of order", envelope(12, swapped, signature(12, swapped, ALICE)), refused)
    body = cbor2.dumps(pairs)
    right = signature(12, body, ALICE)
    accepted("a byte behind", envelope(12, body, right) + b"\0", refused)
    accepted("a signature of 63 bytes", envelope(12, body, right[:-1]), refused)
    bad = "badSignature"
    accepted("a bit of the signature", envelope(12, body, bytes([right[0] ^ 1]) + right[1:]), bad)
    accepted("signed by another device", envelope(12, body, signature(12, body, BOB)), bad)
    accepted("signed as another kind", envelope(12, body, signature(5, body, ALICE)), bad)
    accepted("signed as a newer kind", envelope(
        12, body, sign("waymark/statement-12-signature/v1", body, ALICE)), bad)
    other = cbor2.dumps({**pairs, 3: short(2)})
    accepted("another transaction", envelope(12, other, right), bad)


def purchase(signer, transaction, renewal=None, circle=CIRCLE):
    as_token = [each if each is None or isinstance(each, str) else token(each) for each in (transaction, renewal)]
    return statement(12, {0: 1, 1: circle, 2: pub(signer), 3: as_token[0], 4: as_token[1]}, signer)


kept = []


def keep(label, held, expected):
    kept.append({"name": label, "statements": [each.hex() for each in held], "kept": sorted(expected)})


def short(number=1, bought=BOUGHT, signed=SIGNED, **changes):
    """A token that is only read: with the required fields, and not genuine."""
    return unsigned({"bundleId": BUNDLE, "productId": "premium.monthly", "environment": "Production",
                     "originalTransactionId": str(number), "purchaseDate": bought, "signedDate": signed, **changes})


def add_kept():
    def renewal(signed, **changes):
        return unsigned({"environment": "Production", "originalTransactionId": "1", "signedDate": signed, **changes})

    def greatest(held):
        return max(range(len(held)), key=lambda n: statement_id(held[n]))

    keep("nothing", [], [])
    keep("one purchase", [purchase(ALICE, short())], [0])
    keep("a newer signedDate replaces an older one", [
        purchase(ALICE, short(signed=SIGNED)), purchase(ALICE, short(signed=SIGNED + 1))], [1])
    keep("in any order", [
        purchase(ALICE, short(signed=SIGNED + 1)), purchase(ALICE, short(signed=SIGNED))], [0])
    keep("a later purchaseDate replaces a newer signedDate", [
        purchase(ALICE, short(bought=BOUGHT, signed=SIGNED + 9)), purchase(ALICE, short(bought=BOUGHT + 1))], [1])
    keep("a newer renewal info replaces an older one", [
        purchase(ALICE, short(), renewal(SIGNED + 2)), purchase(ALICE, short(), renewal(SIGNED + 1)),
        purchase(ALICE, short())], [0])
    keep("a newer transaction without renewal info replaces an older one with it", [
        purchase(ALICE, short(), renewal(SIGNED + 99)), purchase(ALICE, short(signed=SIGNED + 1))], [1])
    for label, other in [
            ("a renewal info that is not readable", "x"),
            ("the renewal info of another subscription", renewal(2**48 - 1, originalTransactionId="2")),
            ("the renewal info of another environment", renewal(2**48 - 1, environment="Sandbox")),
            ("a renewal info without signedDate", renewal(None))]:
        keep(f"{label} counts as none", [
            purchase(ALICE, short(), other), purchase(ALICE, short(), renewal(1))], [1])
    equal = [purchase(ALICE, short(x=n)) for n in range(4)]
    keep("of equal ones the greatest id is kept", equal, [greatest(equal)])
    equal = [purchase(ALICE, short(), "x"), purchase(ALICE, short()), purchase(ALICE, short(), renewal(0))]
    keep("of equal ones, with and without renewal info, too", equal, [greatest(equal)])
    keep("signers do not replace each other's", [
        purchase(ALICE, short(signed=SIGNED)), purchase(BOB, short(signed=SIGNED + 1)),
        purchase(STRANGER, short(signed=SIGNED + 2))], [0, 1, 2])
    keep("one transaction of two signers", [purchase(ALICE, short()), purchase(BOB, short())], [0, 1])
    keep("sandbox and production are apart", [
        purchase(ALICE, short(environment="Sandbox")), purchase(ALICE, short(signed=SIGNED + 1)),
        purchase(ALICE, short(environment="sandbox"))], [0, 1, 2])
    keep("subscriptions are apart", [purchase(ALICE, short(1)), purchase(ALICE, short(2)),
                                     purchase(ALICE, short(1, bought=BOUGHT + 1))], [1, 2])
    keep("ids of subscriptions that Unicode alone counts as one are apart", [
        purchase(ALICE, short("\u00e9")), purchase(ALICE, short("e\u0301", signed=SIGNED + 1))], [0, 1])
    keep("other apps and products do not matter", [
        purchase(ALICE, short()), purchase(ALICE, short(signed=SIGNED + 1, bundleId="x", productId="y"))], [1])
    keep("a genuine purchase is replaced by one that is not", [
        purchase(ALICE, paid()), purchase(ALICE, short(2000000000000001, bought=BOUGHT + 1))], [1])
    broken = [purchase(ALICE, each) for each in ("x", "a.b.c", short(bought="never"), short(bought=None))]
    keep("one of all that are not readable", broken, [greatest(broken)])
    keep("one that is not readable next to others", [*broken, purchase(ALICE, short(1)), purchase(ALICE, short(2))],
         [greatest(broken), 4, 5])
    keep("one that is not readable, of each signer", [
        purchase(ALICE, "x"), purchase(BOB, "x"), purchase(BOB, short())], [0, 1, 2])
    many = [purchase(ALICE, short(n, bought=BOUGHT + n * 7 % 18)) for n in range(18)]
    late = sorted(range(18), key=lambda n: n * 7 % 18)
    keep("as many subscriptions as are kept", many[:PURCHASES_MAX], range(PURCHASES_MAX))
    keep("more subscriptions than are kept", many, late[2:])
    keep("the same, in reverse", many[::-1], [17 - n for n in late[2:]])
    keep("one that is not readable goes first", [purchase(ALICE, "x"), *many[:PURCHASES_MAX]],
         range(1, PURCHASES_MAX + 1))
    keep("more than are kept, of two signers", [*many, *(purchase(BOB, short(n)) for n in range(PURCHASES_MAX))],
         [*late[2:], *range(18, 18 + PURCHASES_MAX)])
    again = [purchase(ALICE, short(late[0], bought=BOUGHT + 99)), *many]
    keep("a renewed subscription displaces another one", again, [0, *(n + 1 for n in late[3:])])
    equal = [purchase(ALICE, short(n)) for n in range(PURCHASES_MAX + 2)]
    by_id = sorted(range(len(equal)), key=lambda n: statement_id(equal[n]))
    keep("subscriptions of the same times, by id", equal, by_id[2:])
    sizes = [purchase(ALICE, short(n), unsigned({
        "environment": "Production", "originalTransactionId": str(n), "signedDate": n})) for n in range(18)]
    keep("subscriptions of the same times, by renewal info", sizes, range(2, 18))


gates = []


def gate(label, held, at, policy=POLICY, device=ALICE):
    """`at`: (time, source, until) or (time, reason). The genesis comes first."""
    rows = []
    for time, *rest in at:
        source, until, reason = (*rest, None) if len(rest) == 2 else ("none", None, rest[0])
        rows.append({"time": time, "premium": source != "none", "source": source, "until": until, "reason": reason})
    gates.append({"name": label, "statements": [each.hex() for each in [GENESIS, *held]], "policy": policy,
                  "device": pub(device).hex(), "at": rows})


def add_gates():
    bob, carol = certificate(ALICE, "bob", 0), certificate(ALICE, "carol", 1)
    mine = purchase(ALICE, paid())
    free, over, early, refunded = "free_tier", "entitlement_expired", "entitlement_not_yet_valid", "purchase_refunded"
    month = [(SIGNED - AHEAD - 1, early), (SIGNED - AHEAD, "purchase", EXPIRES), (EXPIRES - 1, "purchase", EXPIRES),
             (EXPIRES, over)]
    whole, nothing = [(NOON, "purchase", EXPIRES)], [(NOON, free)]
    gate("no purchase", [], nothing)
    gate("a purchase alone", [mine], month)
    gate("for another device of the circle", [bob, mine], month, device=BOB)
    gate("installed by another device", [bob, purchase(BOB, paid())], month)
    gate("a purchase that is not for the circle", [purchase(ALICE, paid(appAccountToken=ABSENT))], nothing)
    gate("a purchase of another app", [purchase(ALICE, paid(bundleId="org.example.other"))], nothing)
    gate("a purchase that is not genuine", [purchase(ALICE, unsigned(paid()))], nothing)
    gate("a purchase that is not readable", [purchase(ALICE, "x")], nothing)
    gate("a product that is not listed", [purchase(ALICE, paid(productId="x", subscriptionGroupIdentifier="x"))],
         nothing)
    gate("sandbox", [purchase(ALICE, paid(environment="Sandbox"))], nothing)
    gate("sandbox, accepted", [purchase(ALICE, paid(environment="Sandbox"))], whole, SANDBOX)
    gate("shared by a family", [purchase(ALICE, paid(inAppOwnershipType="FAMILY_SHARED"))], nothing)
    gate("shared by a family, accepted", [purchase(ALICE, paid(inAppOwnershipType="FAMILY_SHARED"))], whole, FAMILY)

    def state(days, **changes):
        return paid(signedDate=SIGNED + days * DAY, **changes)

    back = {"revocationDate": SIGNED + DAY}
    gate("a refund by another member's statement", [bob, mine, purchase(BOB, state(1, **back))], [
        (SIGNED - AHEAD, refunded), (NOON, refunded), (EXPIRES, refunded)])
    gate("a refund of the same device", [mine, purchase(ALICE, state(1, **back))], [(NOON, refunded)])
    gate("a refund that is reversed", [bob, carol, mine, purchase(BOB, state(1, **back)), purchase(CAROL, state(2))], [
        (SIGNED + 2 * DAY - AHEAD - 1, early), (SIGNED + 2 * DAY - AHEAD, "purchase", EXPIRES)])
    gate("a refund, a reversal and another refund", [
        bob, carol, certificate(ALICE, "dave", 0), mine, purchase(BOB, state(1, **back)), purchase(CAROL, state(2)),
        purchase(DAVE, state(3, **back))], [(SIGNED + 3 * DAY, refunded)])
    gate("a refund that is not genuine", [bob, mine, purchase(BOB, unsigned(state(1, **back)))], month)
    gate("a refund that is not bound", [
        bob, mine, purchase(BOB, state(1, **back, appAccountToken=account_token(OTHER_CIRCLE)))], month)
    gate("a refund of another subscription", [
        bob, mine, purchase(BOB, state(1, **back, originalTransactionId="2000000000000002"))], whole)
    second = {"purchaseDate": EXPIRES, "expiresDate": EXPIRES + 30 * DAY, "transactionId": "2000000000000002"}
    next_month = purchase(ALICE, paid(**second, signedDate=EXPIRES - DAY))
    gate("a refund of an earlier period", [
        bob, next_month, purchase(BOB, paid(signedDate=EXPIRES + DAY, revocationDate=EXPIRES))], [
            (EXPIRES - DAY - AHEAD - 1, early), (EXPIRES - DAY, "purchase", EXPIRES + 30 * DAY),
            (EXPIRES + 2 * DAY, "purchase", EXPIRES + 30 * DAY)])
    gate("a refund of a later period", [
        bob, mine, purchase(BOB, paid(**second, signedDate=EXPIRES - DAY, revocationDate=EXPIRES))], [(NOON, refunded)])
    gate("the next period decides, and the earlier one no longer covers its time", [bob, mine, purchase(
        BOB, paid(**second, signedDate=EXPIRES - DAY))], [
            (NOON, early), (EXPIRES - DAY - AHEAD, "purchase", EXPIRES + 30 * DAY)])
    gate("crossgrade to a product that is not listed", [bob, mine, purchase(BOB, paid(
        purchaseDate=NOON, signedDate=NOON, productId="x", subscriptionGroupIdentifier="x"))], [
            (NOON - 1, free), (NOON + DAY, free)])
    gate("upgraded", [purchase(ALICE, paid(isUpgraded=True))], nothing)
    gate("upgraded to a product that is listed", [
        bob, purchase(ALICE, paid(isUpgraded=True, signedDate=NOON)),
        purchase(BOB, paid(purchaseDate=BOUGHT + 1, productId="premium.yearly"))], whole)
    refund_wins = {}
    for n in range(20):
        twins = [purchase(ALICE, paid(x=n)), purchase(BOB, paid(x=n, revocationDate=NOON))]
        refund_wins.setdefault(statement_id(twins[0]) < statement_id(twins[1]), twins)
    gate("of two transactions of the same times the greater id decides: it is refunded", [bob, *refund_wins[True]],
         [(NOON, refunded)])
    gate("of two transactions of the same times the greater id decides: it is not refunded",
         [bob, *refund_wins[False]], whole)

    two = purchase(ALICE, paid(originalTransactionId="2000000000000002", expiresDate=EXPIRES - 10 * DAY))
    gate("two subscriptions, of which one is refunded", [bob, mine, two, purchase(BOB, state(1, **back))], [
        (NOON, "purchase", EXPIRES - 10 * DAY), (EXPIRES - 10 * DAY, refunded)])
    gate("two subscriptions, the later end counts", [mine, two], [
        (NOON, "purchase", EXPIRES), (EXPIRES - 10 * DAY, "purchase", EXPIRES), (EXPIRES, over)])
    follows = purchase(ALICE, paid(originalTransactionId="2000000000000002", purchaseDate=EXPIRES + AHEAD,
                                   signedDate=EXPIRES + AHEAD, expiresDate=EXPIRES + 20 * DAY))
    gate("two subscriptions back to back", [mine, follows], [
        (NOON, "purchase", EXPIRES + 20 * DAY), (EXPIRES, "purchase", EXPIRES + 20 * DAY), (EXPIRES + 20 * DAY, over)])
    gap = purchase(ALICE, paid(originalTransactionId="2000000000000002", purchaseDate=EXPIRES + AHEAD,
                               signedDate=EXPIRES + AHEAD + 1, expiresDate=EXPIRES + 20 * DAY))
    gate("two subscriptions with a gap", [mine, gap], [
        (NOON, "purchase", EXPIRES), (EXPIRES, over), (EXPIRES + 1, "purchase", EXPIRES + 20 * DAY)])
    year = BOUGHT + 365 * DAY
    yearly = purchase(ALICE, paid(expiresDate=year, productId="premium.yearly"))
    old = purchase(ALICE, paid(originalTransactionId="2000000000000002", revocationDate=NOON))
    unconfirmed = "purchase_unconfirmed"
    gate("a subscription that no newer transaction confirms", [yearly], [
        (TRUSTED - 1, "purchase", TRUSTED), (TRUSTED, unconfirmed), (year - 1, unconfirmed), (year, over)])
    gate("unconfirmed comes before refunded", [yearly, old], [(TRUSTED, unconfirmed), (year, refunded)])
    gate("confirmed by another member", [bob, yearly, purchase(BOB, paid(
        expiresDate=year, productId="premium.yearly", signedDate=SIGNED + 30 * DAY))], [
            (NOON, early), (SIGNED + 30 * DAY, "purchase", TRUSTED + 30 * DAY),
            (TRUSTED, "purchase", TRUSTED + 30 * DAY), (TRUSTED + 30 * DAY, unconfirmed)])

    life = purchase(ALICE, for_life())
    far = BOUGHT + 10_000 * DAY
    gate("for life", [life], [(SIGNED - AHEAD - 1, early), (SIGNED - AHEAD, "purchase", None), (far, "purchase", None)])
    gate("for life, refunded", [bob, life, purchase(BOB, for_life(signedDate=NOON, revocationDate=NOON))], [
        (NOON, refunded), (far, refunded)])
    gate("a subscription, then for life", [mine, purchase(ALICE, for_life(signedDate=EXPIRES))], [
        (NOON, "purchase", None), (EXPIRES, "purchase", None)])

    def covered(start, end, **rest):
        return entitlement(start=start, end=end, issued=BOUGHT - DAY, **rest)

    after = covered(EXPIRES, EXPIRES + 10 * DAY)
    gate("a purchase, then a certificate", [mine, after], [
        (SIGNED - AHEAD - 1, early), (NOON, "purchase", EXPIRES + 10 * DAY),
        (EXPIRES - 1, "purchase", EXPIRES + 10 * DAY), (EXPIRES, "certificate", EXPIRES + 10 * DAY),
        (EXPIRES + 10 * DAY, over)])
    gate("a certificate, then a purchase", [covered(BOUGHT - DAY, SIGNED - AHEAD), mine], [
        (BOUGHT - DAY, "certificate", EXPIRES), (SIGNED - AHEAD - 1, "certificate", EXPIRES),
        (SIGNED - AHEAD, "purchase", EXPIRES)])
    gate("a purchase, a gap, and a certificate", [mine, covered(EXPIRES + 1, EXPIRES + DAY)], [
        (NOON, "purchase", EXPIRES), (EXPIRES, over), (EXPIRES + 1, "certificate", EXPIRES + DAY)])
    gate("a certificate at the same time", [mine, covered(BOUGHT, EXPIRES + DAY)], [
        (BOUGHT, "purchase", EXPIRES + DAY), (EXPIRES, "certificate", EXPIRES + DAY)])
    gate("a certificate covers the time without confirmation", [yearly, covered(TRUSTED - DAY, TRUSTED + DAY)], [
        (NOON, "purchase", TRUSTED + DAY), (TRUSTED, "certificate", TRUSTED + DAY), (TRUSTED + DAY, unconfirmed)])
    gate("a certificate, then for life", [covered(BOUGHT - DAY, NOON), life], [(BOUGHT - DAY, "certificate", None)])
    gate("a certificate after a refund", [bob, mine, purchase(BOB, state(1, **back)), after], [
        (NOON, refunded), (EXPIRES, "certificate", EXPIRES + 10 * DAY), (EXPIRES + 10 * DAY, refunded)])
    gate("a certificate that has ended, and a purchase that is not listed", [
        covered(BOUGHT - DAY, BOUGHT), purchase(ALICE, paid(productId="x", subscriptionGroupIdentifier="x"))], [
            (NOON, over)])
    gate("a certificate that has ended, before a purchase", [covered(BOUGHT - DAY, BOUGHT - DAY + 1), mine], [
        (SIGNED - AHEAD - 1, over), (NOON, "purchase", EXPIRES)])
    gate("a certificate to come, after a purchase", [mine, covered(EXPIRES + DAY, EXPIRES + 2 * DAY)], [
        (EXPIRES, over)])
    gate("a certificate to come, and a purchase that is not genuine", [
        purchase(ALICE, unsigned(paid())), covered(EXPIRES, EXPIRES + 1)], [(NOON, early)])
    gate("a certificate for another device", [bob, mine, covered(EXPIRES, EXPIRES + DAY, devices=[pub(BOB)])], [
        (NOON, "purchase", EXPIRES), (EXPIRES, over)])
    gate("a certificate of an issuer that is not accepted", [mine, covered(EXPIRES, EXPIRES + DAY, issuer=STRANGER)], [
        (NOON, "purchase", EXPIRES), (EXPIRES, over)])

    of_bob = purchase(BOB, paid())
    admin = certificate(ALICE, "bob", 1)
    gate("the signer was revoked", [bob, of_bob, revocation(ALICE, "bob")], month)
    gate("the signer was revoked by the root", [bob, of_bob, revocation(ROOT_OF_CIRCLE, "bob")], month)
    gate("the certifier of the signer was revoked", [
        admin, certificate(BOB, "dave", 0), purchase(DAVE, paid()), revocation(ALICE, "bob")], month)
    gate("the signer's certificate is of the root", [certificate(ROOT_OF_CIRCLE, "bob", 0), of_bob], whole)
    gate("the signer was never certified", [of_bob], nothing)
    gate("the signer was certified by a stranger", [certificate(STRANGER, "bob", 1), of_bob], nothing)
    gate("the signer was certified by a member", [bob, certificate(BOB, "dave", 1), purchase(DAVE, paid())], nothing)
    gate("the signer was certified by an admin of a stranger", [
        certificate(STRANGER, "carol", 1), certificate(CAROL, "bob", 1), of_bob], nothing)
    gate("the signer certified itself", [certificate(BOB, "bob", 1), of_bob], nothing)
    gate("the signer is the root key", [purchase(ROOT_OF_CIRCLE, paid())], nothing)
    gate("a refund by a signer that was never certified", [mine, purchase(BOB, state(1, **back))], month)
    gate("a refund by a revoked device", [bob, mine, purchase(BOB, state(1, **back)), revocation(ALICE, "bob")], [
        (NOON, refunded)])

    grace = [(EXPIRES - 1, "purchase", GRACE), (EXPIRES, "purchase", GRACE), (GRACE, over)]
    ends = [(EXPIRES - 1, "purchase", EXPIRES), (EXPIRES, over)]
    earlier = paid(purchaseDate=BOUGHT - 30 * DAY, expiresDate=BOUGHT, signedDate=BOUGHT - DAY)
    gate("a renewal info", [purchase(ALICE, paid(), renewed())], grace)
    gate("the renewal info is in another member's statement", [bob, mine, purchase(BOB, earlier, renewed())], grace)
    gate("the newest renewal info decides, also without a grace period", [
        bob, purchase(ALICE, paid(), renewed()),
        purchase(BOB, earlier, renewed(signedDate=EXPIRES - 1, gracePeriodExpiresDate=ABSENT))], ends)
    gate("an older renewal info does not count", [
        bob, purchase(ALICE, paid(), renewed(gracePeriodExpiresDate=ABSENT)),
        purchase(BOB, earlier, renewed(signedDate=BOUGHT))], ends)
    gate("a newer renewal info that is not genuine", [
        bob, purchase(ALICE, paid(), renewed()),
        purchase(BOB, earlier, unsigned(renewed(signedDate=EXPIRES - 1, gracePeriodExpiresDate=ABSENT)))], grace)
    gate("the renewal info of a device that was never certified", [mine, purchase(BOB, earlier, renewed())], ends)
    gate("the renewal info with a transaction that is not for the circle", [
        bob, mine, purchase(BOB, {**earlier, "appAccountToken": account_token(OTHER_CIRCLE)}, renewed())], ends)
    gate("the renewal info of another subscription", [bob, mine, purchase(BOB, earlier, renewed(
        originalTransactionId="2000000000000002"))], ends)
    gate("a renewal info with a transaction that is refunded for another period", [
        bob, mine, purchase(BOB, {**earlier, "revocationDate": BOUGHT}, renewed())], grace)
    gate("a grace period beyond the trust", [purchase(ALICE, paid(), renewed(
        gracePeriodExpiresDate=EXPIRES + 16 * DAY))], [
            (EXPIRES, "purchase", TRUSTED), (TRUSTED, unconfirmed), (EXPIRES + 16 * DAY, over)])

    later = {"purchaseDate": BOUGHT + DAY, "signedDate": SIGNED + DAY}
    gate("a device displaces its own purchase by one that is not genuine", [
        mine, purchase(ALICE, unsigned(paid(**later)))], nothing)
    gate("a device does not displace another's", [bob, mine, purchase(BOB, unsigned(paid(**later)))], whole)
    many = [purchase(ALICE, short(n, bought=BOUGHT + 1)) for n in range(PURCHASES_MAX)]
    gate("16 later subscriptions displace the purchase of their signer", [mine, *many], nothing)
    gate("15 do not", [mine, *many[1:]], whole)


for add in (judge_encoding, judge_json, judge_fields, judge_header, judge_signature, judge_chain, judge_binding,
            judge_policy, judge_times, add_statements, add_kept, add_gates):
    add()
circles = [CIRCLE, OTHER_CIRCLE, bytes(32), b"\xff" * 32, *(fixed(f"circle {n}", 32) for n in range(8))]
for rows in (judged, statements, kept, gates):
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names), [each for each in names if names.count(each) > 1]
document = {
    "about": "Protocol/purchase.md; made by generate_purchase.py. In `judged`, end and trusted are null if the purchase"
             " is not for the circle, and the signer is a device of the circle.",
    "root": ROOT.hex(), "pki": {
        "root": ROOT.hex(), "intermediate": INTERMEDIATE.hex(), "leaf": LEAF.hex(), "leafKey": scalar(LEAF_KEY).hex()},
    "circle": CIRCLE.hex(), "policy": POLICY,
    "tokens": [{"circle": each.hex(), "token": account_token(each)} for each in circles],
    "statements": statements, "judged": judged, "kept": kept, "gates": gates}
path = pathlib.Path(__file__).with_name("purchase.json")
path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
print(f"{path.name}: {len(document['tokens'])} tokens, {len(statements)} statements, {len(judged)} judged, "
      f"{len(kept)} kept, {len(gates)} gates")
