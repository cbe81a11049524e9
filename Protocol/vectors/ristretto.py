"""The group ristretto255 (RFC 9496) in plain Python, written from the RFC. Slow and not constant-time: for vectors only."""
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


SQRT_M1 = 19681161376707505956807079304988542015446066515923890162744021073123829784752


def is_negative(value):
    return value % P & 1


def absolute(value):
    return -value % P if is_negative(value) else value % P


def sqrt_ratio(u, v):
    """(whether u/v is a square, the non-negative root of u/v or of SQRT_M1 * u/v)."""
    root = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * root * root % P
    correct, flipped, flipped_i = check == u % P, check == -u % P, check == -u * SQRT_M1 % P
    if flipped or flipped_i:
        root = root * SQRT_M1 % P
    return correct or flipped, absolute(root)


INVSQRT_A_MINUS_D = sqrt_ratio(1, -1 - D)[1]
SQRT_AD_MINUS_ONE = P - sqrt_ratio(-D - 1, 1)[1]
IDENTITY = (0, 1, 1, 0)


def add(one, other):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    result = IDENTITY
    for bit in bin(scalar % ORDER)[2:]:
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def encode(point):
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    root = sqrt_ratio(1, u1 * u2 * u2)[1]
    den1, den2 = root * u1 % P, root * u2 % P
    z_inverse = den1 * den2 * t % P
    if is_negative(t * z_inverse):
        x, y, den = y * SQRT_M1 % P, x * SQRT_M1 % P, den1 * INVSQRT_A_MINUS_D % P
    else:
        den = den2
    if is_negative(x * z_inverse):
        y = -y
    return absolute(den * (z - y)).to_bytes(32, "little")


def decode(data):
    """The point of an encoding, or None."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or is_negative(s):
        return None
    ss = s * s % P
    u1, u2 = (1 - ss) % P, (1 + ss) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    is_square, root = sqrt_ratio(1, v * u2 * u2)
    den_x, den_y = root * u2 % P, root * root * u2 * v % P
    x = absolute(2 * s * den_x)
    y = u1 * den_y % P
    t = x * y % P
    if not is_square or is_negative(t) or y == 0:
        return None
    return x, y, 1, t


def map_to_point(t):
    r = SQRT_M1 * t * t % P
    u = (r + 1) * (1 - D * D) % P
    v = (-1 - r * D) * (r + D) % P
    is_square, s = sqrt_ratio(u, v)
    if not is_square:
        s = -absolute(s * t) % P
    c = -1 if is_square else r
    n = (c * (r - 1) * (D - 1) * (D - 1) - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def from_hash(data):
    """The point of 64 uniform bytes."""
    halves = [int.from_bytes(part, "little") & (2**255 - 1) for part in (data[:32], data[32:])]
    return add(map_to_point(halves[0] % P), map_to_point(halves[1] % P))
