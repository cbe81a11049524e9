"""Protocol/change-set.md: writing change sets, from the chapter alone."""

import hashlib
from dataclasses import dataclass, field

from nacl.signing import SigningKey

from deterministic_cbor import encode, write

SET_ID = b"waymark/change-set-id/v1\x00"
SET_SIGNATURE = b"waymark/change-set-signature/v1\x00"
BODY = b"waymark/body/v1\x00"

SETTINGS, RECORDS = 0, 1
PUT, DELETE, RESTORE = 0, 1, 2


def blake2b(prefix, message):
    return hashlib.blake2b(prefix + message, digest_size=32).digest()


class Device:
    def __init__(self, name, number):
        self.name = name
        self.seed = bytes([number]) * 32
        self.signing = SigningKey(self.seed)
        self.key = bytes(self.signing.verify_key)
        self.incarnation = bytes([number]) * 15 + b"\x01"

    def sign(self, header, prefix=SET_SIGNATURE):
        return self.signing.sign(prefix + header).signature


alice, bob, carol = Device("alice", 0xA1), Device("bob", 0xB0), Device("carol", 0xCA)
CIRCLE = blake2b(b"", b"the circle of the vectors")


def record(number):
    return b"\x00" * 15 + bytes([number])


def operation(number):
    return b"\x0f" * 15 + bytes([number])


def clock(milliseconds, counter=0):
    return milliseconds << 16 | counter


@dataclass
class Sealed:
    header: bytes
    signature: bytes
    body: bytes
    fields: dict

    @property
    def id(self):
        return blake2b(SET_ID, self.header)


def body_of(verb, entries=(), target=None):
    body = {0: verb}
    if target is not None:
        body[1] = target
    if entries:
        body[2] = [list(entry) for entry in entries]
    return body


def header_of(device, lane, sequence, previous, clock, dependencies, operation, body):
    header = {
        0: 1,
        1: CIRCLE,
        2: device.key,
        3: device.incarnation,
        4: lane,
        5: sequence,
        7: clock,
        9: operation,
        10: len(body),
        11: blake2b(BODY, body),
    }
    if previous is not None:
        header[6] = previous
    if dependencies:
        header[8] = sorted(dependencies)
    return header


def seal(device, header, body):
    encoded = write(header)
    return Sealed(encoded, device.sign(encoded), body, header)


@dataclass
class Log:
    """One log and its writer's memory of what it has seen."""

    device: Device
    lane: int = RECORDS
    sequence: int = 0
    previous: bytes = None
    clock: int = 0
    unseen: list = field(default_factory=list)

    def write(self, verb, entries=(), wall=0, operation=operation(1), target=None, least=0):
        entries = sorted(entries, key=lambda entry: (entry[1], entry[2], entry[0]))
        sets = []
        pending = sorted(self.unseen)
        self.unseen = []
        while len(pending) > 64:
            sets.append(self.seal(body_of(verb, target=target), pending[:64], wall, operation, least))
            pending = pending[64:]
        sets.append(self.seal(body_of(verb, entries, target), pending, wall, operation, least))
        return sets

    def seal(self, body, dependencies, wall, operation, least):
        body = encode(body)
        now = max(self.clock + 1, wall << 16, least)
        header = header_of(
            self.device, self.lane, self.sequence + 1, self.previous, now, dependencies, operation, body)
        encode(header)
        sealed = seal(self.device, header, body)
        self.sequence += 1
        self.previous = sealed.id
        self.clock = now
        return sealed

    def see(self, sealed):
        """Folds another log's set: what it supersedes is no longer the head."""
        fields = sealed.fields
        self.clock = max(self.clock, fields[7])
        self.unseen = [d for d in self.unseen if d[:2] != [fields[2], fields[3]]]
        self.unseen.append([fields[2], fields[3], fields[5], sealed.id])
