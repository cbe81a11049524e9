"""CPace over ristretto255 and SHA-512 (draft-irtf-cfrg-cpace), initiator and responder, in plain Python."""
import hashlib

import ristretto


def value(data):
    """prepend_len, for at most 127 bytes."""
    return bytes([len(data)]) + data


def generator_string(password, channel, session):
    name = value(b"CPaceRistretto255")
    padding = max(0, 128 - len(value(password)) - len(name) - 1)
    return name + value(password) + value(bytes(padding)) + value(channel) + value(session)


def generator(password, channel, session):
    return ristretto.from_hash(hashlib.sha512(generator_string(password, channel, session)).digest())


def share(scalar, point):
    return ristretto.encode(ristretto.multiply(scalar, point))


def message(public, associated=b""):
    return value(public) + value(associated)


def shared_point(scalar, public):
    """The encoding of the shared point, or None if the other share has to be refused."""
    point = ristretto.decode(public)
    if point is None:
        return None
    shared = ristretto.encode(ristretto.multiply(scalar, point))
    return None if shared == bytes(32) else shared


def key(session, shared, first, second):
    return hashlib.sha512(value(b"CPaceRistretto255_ISK") + value(session) + value(shared) + first + second).digest()
