"""Protocol/change-set.md: writing change sets, from the chapter alone."""

import hashlib
from dataclasses import dataclass, field

from nacl.signing import SigningKey

from deterministic_cbor import encode, write

SET_ID = b"waymark/change-set-id/v1\x00"
SET_SIGNATURE = b"waymark/change-set-signature/v1\x00"
PLAN = b"waymark/plan/v1\x00"
VALUES = b"waymark/values/v1\x00"
COMMITMENT = b"waymark/commitment/v1\x00"
SALTS = b"waymark/salts/v1\x00"

SETTINGS, RECORDS = 0, 1
PUT, DELETE, RESTORE, INSERT, ERASE = range(5)
TYPES = ["put", "delete", "restore", "insert", "erase"]
# Time of change and an empty value: "Whole records" in Protocol/merge.md.
UPDATED_AT = 1
EMPTY = (None, "", b"", [])


def blake2b(prefix, message):
    return hashlib.blake2b(prefix + message, digest_size=32).digest()


CIRCLE = blake2b(b"", b"the circle of the vectors")


class Device:
    def __init__(self, name, byte, number, seed=None, circle=CIRCLE):
        self.name, self.circle = name, circle
        self.seed = seed or bytes([byte]) * 32
        self.signing = SigningKey(self.seed)
        self.key = bytes(self.signing.verify_key)
        self.incarnation = bytes([(number - 1) << 4 | byte & 15]) + bytes([byte]) * 14 + b"\x01"

    def sign(self, header, prefix=SET_SIGNATURE):
        return self.signing.sign(prefix + header).signature


alice, bob, carol = Device("alice", 0xA1, 1), Device("bob", 0xB0, 2), Device("carol", 0xCA, 16)


def record(number):
    return b"\x00" * 15 + bytes([number])


def operation(number):
    return b"\x0f" * 15 + bytes([number])


def clock(milliseconds, counter=0):
    return milliseconds << 16 | counter


# Entries, as the generators write them: [type, kind, record], and for a put or an insert the fields as a dictionary. A
# whole record may be followed by the rank to state; otherwise the rank is what the fields say.


def is_whole(kind):
    return isinstance(kind, int) and 4096 <= kind <= 8191


def has_fields(entry):
    return len(entry) > 3 and isinstance(entry[3], dict)


def has_slot(entry):
    return has_fields(entry) and len(entry[3]) > 0


def stated_rank(entry):
    if len(entry) > 4:
        return entry[4:]
    updated = entry[3].get(UPDATED_AT)
    filled = sum(1 for value in entry[3].values() if value not in EMPTY)
    return [updated if type(updated) is int else 0, filled]


def in_order(entries):
    return sorted(entries, key=lambda entry: (entry[1], entry[2], entry[0]))


def planned(entry):
    if not has_fields(entry):
        return list(entry)
    return [*entry[:3], sorted(entry[3])] + (stated_rank(entry) if is_whole(entry[1]) else [])


def plan_of(verb, entries=(), target=None):
    plan = {0: verb}
    if target is not None:
        plan[1] = target
    if entries:
        plan[2] = [planned(entry) for entry in entries]
    return plan


def contents_of(entries):
    """The content of each slot."""
    return [write([entry[3][number] for number in sorted(entry[3])]) for entry in entries if has_slot(entry)]


class Slots:
    """The slots of one set: their contents, salts and commitments."""

    def __init__(self, seed, contents):
        self.seed, self.contents = seed, list(contents)
        self.salts = [self.salt(index) for index in range(len(self.contents))]
        self.commitments = [
            blake2b(COMMITMENT, salt + content) for salt, content in zip(self.salts, self.contents)]

    def salt(self, index):
        block = hashlib.blake2b(SALTS + self.seed + (index // 4).to_bytes(4, "big"), digest_size=64).digest()
        return block[16 * (index % 4):][:16]

    def seeded(self):
        return write([self.seed, self.contents]) if self.contents else b""

    def salted(self, missing=()):
        return write([[
            self.commitments[index] if index in missing else [self.salts[index], content]
            for index, content in enumerate(self.contents)]])

    def commitments_hash(self):
        return blake2b(VALUES, b"".join(self.commitments))


@dataclass
class Sealed:
    header: bytes
    signature: bytes
    plan: bytes
    values: bytes
    fields: dict
    slots: Slots = None

    @property
    def id(self):
        return blake2b(SET_ID, self.header)

    @property
    def declared_bytes(self):
        return len(self.header) + 64 + self.fields[10] + self.fields.get(12, 0)


def header_of(device, lane, sequence, previous, clock, dependencies, operation, plan, slots, log_bytes):
    header = {
        0: 2,
        1: device.circle,
        2: device.key,
        3: device.incarnation,
        4: lane,
        5: sequence,
        7: clock,
        9: operation,
        10: len(plan),
        11: blake2b(PLAN, plan),
        14: log_bytes,
    }
    if previous is not None:
        header[6] = previous
    if dependencies:
        header[8] = sorted(dependencies)
    if slots.contents:
        header[12] = len(slots.seeded())
        header[13] = slots.commitments_hash()
    return header


def seal(device, header, plan, slots):
    encoded = write(header)
    return Sealed(encoded, device.sign(encoded), plan, slots.seeded(), header, slots)


@dataclass
class Log:
    """One log and its writer's memory of what it has seen."""

    device: Device
    lane: int = RECORDS
    sequence: int = 0
    previous: bytes = None
    clock: int = 0
    unseen: list = field(default_factory=list)
    log_bytes: int = 0

    def write(self, verb, entries=(), wall=0, operation=operation(1), target=None, least=0, seed=None, contents=None):
        """`contents`: by slot, what its content is instead of the values."""
        entries = in_order(entries)
        sets = []
        pending = sorted(self.unseen)
        self.unseen = []
        while len(pending) > 64:
            sets.append(self.seal(plan_of(verb, target=target), Slots(b"", []), pending[:64], wall, operation, least))
            pending = pending[64:]
        plan = plan_of(verb, entries, target)
        stated = contents_of(entries)
        for index, content in (contents or {}).items():
            stated[index] = content
        slots = Slots(seed or self.seed(plan), stated)
        sets.append(self.seal(plan, slots, pending, wall, operation, least))
        return sets

    def seed(self, plan):
        """Not random, so that the vectors can be generated again."""
        place = self.device.key + self.device.incarnation + bytes([self.lane]) + self.sequence.to_bytes(8, "big")
        return blake2b(b"seed of a vector", place + encode(plan))[:16]

    def seal(self, plan, slots, dependencies, wall, operation, least):
        plan = encode(plan)
        now = max(self.clock + 1, wall << 16, least)
        header = header_of(
            self.device, self.lane, self.sequence + 1, self.previous, now, dependencies, operation, plan, slots,
            self.log_bytes)
        encode(header)
        sealed = seal(self.device, header, plan, slots)
        self.sequence += 1
        self.previous = sealed.id
        self.clock = now
        self.log_bytes += sealed.declared_bytes
        return sealed

    def see(self, sealed):
        """Folds another log's set: what it supersedes is no longer the head."""
        fields = sealed.fields
        self.clock = max(self.clock, fields[7])
        self.unseen = [d for d in self.unseen if d[:2] != [fields[2], fields[3]]]
        self.unseen.append([fields[2], fields[3], fields[5], sealed.id])
