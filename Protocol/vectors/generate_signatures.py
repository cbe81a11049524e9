"""Writes signatures.json: which Ed25519 signatures and keys Protocol/encoding.md accepts, and which it refuses.

The arithmetic is that of the curve's equation, in Python's integers, and shares no code with libsodium.
Run it anywhere: python3 generate_signatures.py
"""

import hashlib
import json
from pathlib import Path

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
IDENTITY = (0, 1)

NOTES = [
    "All byte strings are hexadecimal. The message includes its prefix.",
    "valid is the rule of encoding.md. withCofactor is what a verifier answers that multiplies the equation by 8.",
    "flag says what a case is about: `equation` cases break no rule but the equation itself.",
    "keys: valid says whether the bytes are the canonical encoding of a point of the main subgroup, not the identity.",
]


def add(one, other):
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def negative(point):
    return -point[0] % P, point[1]


def times(scalar, point):
    result = IDENTITY
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def root(y, sign):
    """The x of a point with this y; None if there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return -x % P if x & 1 != sign else x


def encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def decode(data):
    """A point from its encoding, canonical or not; None if no point has this y."""
    number = int.from_bytes(data, "little")
    y = number % 2**255 % P
    x = root(y, number >> 255)
    return None if x is None else (x, y)


BASE = (root(4 * pow(5, -1, P) % P, 0), 4 * pow(5, -1, P) % P)


def torsion_generator():
    """A point of order 8."""
    for y in range(2, 100):
        x = root(y, 0)
        if x is None:
            continue
        point = times(L, (x, y))
        if times(4, point) != IDENTITY:
            return point
    raise AssertionError("no point of order 8")


TORSION = torsion_generator()
SMALL = [times(index, TORSION) for index in range(8)]
ORDER = [1, 8, 4, 8, 2, 8, 4, 8]
assert times(L, BASE) == IDENTITY and BASE != IDENTITY


# The rules

def is_canonical(data):
    """Whether y is below p. The sign of x = 0 is not looked at: both points with x = 0 have small order."""
    return int.from_bytes(data, "little") % 2**255 < P


def has_small_order(data):
    point = decode(data)
    return point is not None and times(8, point) == IDENTITY


def challenge(first, key, message):
    return int.from_bytes(hashlib.sha512(first + key + message).digest(), "little")


def is_valid(key, message, signature):
    """encoding.md, "Which signatures are valid"."""
    first, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    if scalar >= L or has_small_order(first):
        return False
    point = decode(key)
    if point is None or not is_canonical(key) or has_small_order(key):
        return False
    hashed = challenge(first, key, message) % L
    return encode(add(times(scalar, BASE), times(hashed, negative(point)))) == first


def is_valid_with_cofactor(key, message, signature):
    first, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    point, commitment = decode(key), decode(first)
    if scalar >= L or point is None or commitment is None:
        return False
    if has_small_order(first) or not is_canonical(key) or has_small_order(key):
        return False
    hashed = challenge(first, key, message) % L
    rest = add(add(times(scalar, BASE), times(hashed, negative(point))), negative(commitment))
    return times(8, rest) == IDENTITY


def is_main_subgroup_key(data):
    point = decode(data)
    return point is not None and is_canonical(data) and not has_small_order(data) and times(L, point) == IDENTITY


# The cases

cases = []
keys = []


def number(name):
    """A scalar that anyone can derive again."""
    return int.from_bytes(hashlib.sha512(b"waymark signature " + name.encode()).digest(), "little") % L


def case(flag, name, key, message, signature, valid, with_cofactor):
    assert is_valid(key, message, signature) == valid, name
    assert is_valid_with_cofactor(key, message, signature) == with_cofactor, name
    cases.append({
        "flag": flag, "name": name, "publicKey": key.hex(), "message": message.hex(),
        "signature": signature.hex(), "valid": valid, "withCofactor": with_cofactor})


def joined(first, scalar):
    return first + scalar.to_bytes(32, "little")


SECRET = number("secret")
KEY = encode(times(SECRET, BASE))


def sign(message, extra=0, torsion=IDENTITY, secret_key=KEY):
    """A signature with SECRET; R gets a torsion part, and `extra` makes R another one."""
    nonce = (number("nonce " + message.hex()) + extra) % L
    first = encode(add(times(nonce, BASE), torsion))
    return joined(first, (nonce + challenge(first, secret_key, message) * SECRET) % L)


def messages(text):
    """A series of messages to search in."""
    for index in range(10_000):
        yield f"{text} {index}".encode()


def ordinary():
    for text in (b"", b"a", b"waymark", bytes(range(256))):
        case("ordinary", f"a message of {len(text)} bytes", KEY, text, sign(text), True, True)
    # RFC 8032, section 7.1, test 3
    case("ordinary", "RFC 8032, test 3",
         bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"),
         bytes.fromhex("af82"), bytes.fromhex(
             "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
             "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"), True, True)
    text = b"waymark"
    good = sign(text)
    for index in (0, 31, 32, 62):
        changed = bytearray(good)
        changed[index] ^= 4
        case("equation", f"byte {index} of the signature changed", KEY, text, bytes(changed), False, False)
    case("equation", "another message", KEY, b"Waymark", good, False, False)
    case("equation", "another key", encode(times(SECRET + 1, BASE)), text, good, False, False)
    case("equation", "R with the other sign", KEY, text, encode(negative(decode(good[:32]))) + good[32:], False, False)


def large_scalars():
    text = b"scalar"
    good = sign(text)
    scalar = int.from_bytes(good[32:], "little")
    for factor in (1, 2, 7, 14):
        case("large_s", f"S + {factor} L", KEY, text, joined(good[:32], scalar + factor * L), False, False)
    case("large_s", "S = L", KEY, text, joined(good[:32], L), False, False)
    case("large_s", "S = 2^256 - 1", KEY, text, joined(good[:32], 2**256 - 1), False, False)
    case("large_s", "S with its highest bit set", KEY, text, joined(good[:32], scalar + 2**255), False, False)


def small_encodings():
    """The encodings of the eight points of small order: canonical ones, larger y, and the wrong sign of x = 0."""
    for index, point in enumerate(SMALL):
        yield f"order {ORDER[index]}", encode(point)
    yield "order 1 with a sign", (1 | 1 << 255).to_bytes(32, "little")
    yield "order 2 with a sign", (P - 1 | 1 << 255).to_bytes(32, "little")
    for sign_bit in (0, 1):
        yield f"order 4, y = p, sign {sign_bit}", (P | sign_bit << 255).to_bytes(32, "little")
        yield f"order 1, y = p + 1, sign {sign_bit}", (P + 1 | sign_bit << 255).to_bytes(32, "little")


def small_orders():
    text = b"small order"
    for name, data in small_encodings():
        # With S = h a, the equation gives the identity, and 8 times the equation holds for every R of small order.
        scalar = challenge(data, KEY, text) * SECRET % L
        case("small_r", f"R of {name}", KEY, text, joined(data, scalar), False, False)
    nonce = number("small order")
    first = encode(times(nonce, BASE))
    for name, data in small_encodings():
        # A message for which h times the key is the identity, so that only the rule about keys refuses it.
        text = next(text for text in messages("small key") if challenge(first, data, text) % L % 8 == 0)
        case("small_key", f"a key of {name}", data, text, joined(first, nonce), False, False)


def mixed_orders():
    for index in (4, 2, 1, 7):
        order, torsion = ORDER[index], SMALL[index]
        name = f"order {order} ({index})"
        text = f"mixed R {index}".encode()
        case("mixed_r", f"R with a part of {name}", KEY, text, sign(text, torsion=torsion), False, True)

        key = encode(add(decode(KEY), torsion))

        def hashed(text, part=IDENTITY):
            return challenge(sign(text, torsion=part, secret_key=key)[:32], key, text)

        def find(what, part=IDENTITY):
            text = next(text for text in messages(f"mixed key {index}") if what(hashed(text, part)))
            return text, sign(text, torsion=part, secret_key=key)

        text, signature = find(lambda value: value % L % order != 0 and value % order != 0)
        case("mixed_key", f"key with a part of {name}, and h times that part is not 0", key, text, signature, False, True)
        text, signature = find(lambda value: value % L % order == 0 and value % order == 0)
        case("mixed_key", f"key with a part of {name}, and h times that part is 0", key, text, signature, True, True)
        text, signature = find(lambda value: value % L % order == 0 and value % order != 0)
        case("reduced_h", f"key with a part of {name}: 0 only if h is reduced", key, text, signature, True, True)
        text, signature = find(lambda value: value % L % order != 0 and value % order == 0)
        case("reduced_h", f"key with a part of {name}: 0 only if h is not reduced", key, text, signature, False, True)
        # R has the part that -h times the key has: the equation holds byte for byte.
        text, signature = find(lambda value: times(value % L, negative(torsion)) == torsion, torsion)
        case("mixed_both", f"key and R with parts of {name} that cancel", key, text, signature, True, True)


def no_points():
    text = b"no point"
    good = sign(text)
    missing = [y for y in range(2, 40) if root(y, 0) is None][:2]
    for y in missing:
        data = y.to_bytes(32, "little")
        case("no_point", f"key with y = {y}, which no point has", data, text, good, False, False)
        case("no_point", f"R with y = {y}, which no point has", KEY, text, data + good[32:], False, False)
    for y in [y for y in range(2, 19) if root(y, 0) is not None][:2]:
        for name, value in (("", y), ("p + ", P + y)):
            data = value.to_bytes(32, "little")
            case("not_canonical", f"key with y = {name}{y}", data, text, good, False, False)
            case("not_canonical", f"R with y = {name}{y}", KEY, text, data + good[32:], False, False)


def public_keys():
    def entry(name, data):
        keys.append({"name": name, "publicKey": data.hex(), "valid": is_main_subgroup_key(data)})

    entry("the base point", encode(BASE))
    for name in ("one", "two", "three"):
        entry(f"multiple {name} of the base point", encode(times(number(name), BASE)))
    for name, data in small_encodings():
        entry(name, data)
    for index in range(1, 8):
        entry(f"with a part of order {ORDER[index]} ({index})", encode(add(decode(KEY), SMALL[index])))
    for y in range(2, 19):
        for sign_bit in (0, 1):
            entry(f"y = {y}, sign {sign_bit}", (y | sign_bit << 255).to_bytes(32, "little"))
            entry(f"y = p + {y}, sign {sign_bit}", (P + y | sign_bit << 255).to_bytes(32, "little"))
    entry("y = 2^255 - 1", (2**255 - 1).to_bytes(32, "little"))
    entry("only ones", b"\xff" * 32)


def main():
    ordinary()
    large_scalars()
    small_orders()
    mixed_orders()
    no_points()
    public_keys()
    document = {"notes": NOTES, "signatures": cases, "keys": keys}
    path = Path(__file__).parent / "signatures.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(path.name, path.stat().st_size)


main()
