"""Protocol/change-set.md: reading, verifying and writing change sets."""

import copy
import os
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import NamedTuple

from encoding import (
    ascends, decode, decode_counted, encode, hashed, is_bytes, is_number, require, sign, verify)
from values import SLOT_BYTES_MORE, Values

SETTINGS, RECORDS = 0, 1
PUT, DELETE, RESTORE, INSERT, ERASE = range(5)
SEQUENCE_MAX = (1 << 63) - 1
SET_MAX = 262_144
# What the values may exceed their declared length by: all slots of a set salted.
VALUES_MORE = 1000 * SLOT_BYTES_MORE
# Contents that do not count as filled in: null, and empty text, bytes and arrays.
EMPTY = (b"\xf6", b"\x60", b"\x40", b"\x80")


def lane_of(kind):
    if 1 <= kind <= 8191:
        return RECORDS
    require(8192 <= kind <= 12287, "kind")
    return SETTINGS


def is_whole(kind):
    return 4096 <= kind <= 8191


@dataclass(frozen=True)
class ChangeSet:
    header: bytes
    signature: bytes
    plan: bytes
    values: bytes

    @property
    def id(self):
        return hashed("change-set-id/v1", self.header)

    @property
    def fields(self):
        return decode(self.header)

    @property
    def declared(self):
        """The size of the set with all its values."""
        return declared_by(self.fields, len(self.header))

    @property
    def wire(self):
        return [self.header, self.signature, self.plan, self.values]

    def salted(self):
        """The same set with salts instead of the seed."""
        return replace(self, values=Values.read(self.values).salted().data)

    def without(self, *gone):
        """The same set without the values of some slots."""
        return replace(self, values=Values.read(self.values).without(gone).data)


class Entry(NamedTuple):
    """An entry of a plan; `rank` is the time of change and the number of filled fields of a whole record."""
    type: int
    kind: int
    record: bytes
    # Number → value, or absent; of an entry in a plan alone, a list of numbers.
    fields: dict
    rank: tuple

    @property
    def key(self):
        return self.kind, self.record


class Verified:
    """A change set whose bytes are valid on their own."""

    def __init__(self, raw):
        self.raw, self.id = raw, raw.id
        require(len(raw.header) + len(raw.signature) + len(raw.plan) <= SET_MAX, "size")
        require(len(raw.values) <= SET_MAX + VALUES_MORE, "size of the values")
        header = decode(raw.header)
        check_header(header, len(raw.header))
        self.circle, self.device, self.incarnation, self.lane = header[1], header[2], header[3], header[4]
        self.sequence, self.previous, self.clock = header[5], header.get(6), header[7]
        self.dependencies, self.operation = header.get(8, []), header[9]
        self.log_bytes, self.declared = header[14], declared_by(header, len(raw.header))
        self.log = (self.device, self.incarnation)
        require(len(raw.plan) == header[10], "plan length")
        require(hashed("plan/v1", raw.plan) == header[11], "plan hash")
        verify(self.device, "change-set-signature/v1", raw.header, raw.signature)
        self.verb, self.target, self.plan = check_plan(raw.plan, self.lane)
        # Record → number of its slot.
        self.slots = {entry.key: number for number, entry in enumerate(each for each in self.plan if each.fields)}
        self.fill(check_values(raw.values, header, len(self.slots)))

    def fill(self, values):
        self.values = values
        self.entries = [
            entry._replace(fields=values.fields(self.slots[entry.key], entry.fields) if entry.fields else {})
            for entry in self.plan]

    def without(self, *gone):
        """The same set without the values of some slots."""
        other = copy.copy(self)
        other.raw = self.raw.without(*gone)
        other.fill(self.values.without(gone))
        return other

    def filled(self, contents):
        """The same set with contents, pairs of salt and content, in some of the slots that it lacks."""
        other = copy.copy(self)
        values = self.values.filled(contents)
        other.raw = replace(self.raw, values=values.data)
        other.fill(values)
        return other

    @property
    def stamp(self):
        return self.clock.to_bytes(8, "big") + self.device + self.id

    def life(self, entry):
        """The life that an entry writes; None if it writes none. An insert with an erase writes the life alone."""
        if entry.type == ERASE:
            is_inserted = any(each.type == INSERT and each.key == entry.key for each in self.plan)
            return None if is_inserted else False
        return {PUT: None, DELETE: False, RESTORE: True, INSERT: True}[entry.type]


def declared_by(header, length):
    return length + 64 + header[10] + header.get(12, 0)


def check_header(header, length):
    require(type(header) is dict, "header is a map")
    require(set(header) - {6, 8, 12, 13} == {0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 14}, "keys of the header")
    require(is_number(header[0], 2, 2), "version")
    require(all(is_bytes(header[key], 32) for key in (1, 2, 11)), "bytes of the header")
    require(is_bytes(header[3], 16) and is_bytes(header[9], 16), "short ids of the header")
    require(is_number(header[4], 0, 1), "lane")
    require(is_number(header[5], 1, SEQUENCE_MAX), "sequence")
    require((6 in header) == (header[5] > 1), "previous is absent at sequence 1, and only there")
    require(6 not in header or is_bytes(header[6], 32), "previous")
    require(is_number(header[7], 1, (1 << 64) - 2), "clock")
    require(is_number(header[10], 1, SET_MAX), "plan length")
    require((12 in header) == (13 in header), "length and commitments of the values are both present or absent")
    require(is_number(header.get(12, 0), 0, SET_MAX) and is_bytes(header.get(13, bytes(32)), 32), "values")
    require(is_number(header[14], 0, 1 << 62) and (header[14] == 0 or header[5] > 1), "log bytes")
    require(declared_by(header, length) <= SET_MAX, "declared size")
    if 8 in header:
        check_dependencies(header[8], (header[2], header[3]))


def check_dependencies(dependencies, log):
    require(type(dependencies) is list and 1 <= len(dependencies) <= 64, "dependencies")
    for each in dependencies:
        require(type(each) is list and len(each) == 4, "dependency")
        require(is_bytes(each[0], 32) and is_bytes(each[1], 16) and is_bytes(each[3], 32), "dependency")
        require(is_number(each[2], 1, SEQUENCE_MAX), "sequence of a dependency")
        require((each[0], each[1]) != log, "dependency on the set's own log")
    require(ascends(dependencies), "dependencies ascend")


def check_plan(data, lane):
    plan, items = decode_counted(data)
    require(items <= 20_000, "items of the plan")
    require(type(plan) is dict and {0} <= set(plan) <= {0, 1, 2}, "keys of the plan")
    require(type(plan[0]) is str and 1 <= len(plan[0].encode()) <= 32, "verb")
    require(1 not in plan or is_bytes(plan[1], 16), "target")
    rows = plan.get(2, [])
    require(2 not in plan or (type(rows) is list and 1 <= len(rows) <= 1000), "entries")
    entries = [read_entry(row, lane) for row in rows]
    require(ascends([(*each.key, each.type) for each in entries]), "entries ascend")
    types = defaultdict(set)
    for each in entries:
        types[each.key].add(each.type)
    for found in types.values():
        require(len(found & {DELETE, RESTORE, INSERT}) < 2, "a record's life is written once")
        require(ERASE not in found or not found & {DELETE, RESTORE}, "an erase excludes a delete and a restore")
        require(not {PUT, INSERT} <= found, "a record has one list of fields")
    return plan[0], plan.get(1), entries


def read_entry(row, lane):
    require(type(row) is list and len(row) >= 3 and is_number(row[0], PUT, ERASE), "entry")
    type_, kind, record, *more = row
    require(type(kind) is int and lane_of(kind) == lane, "lane of the kind")
    require(is_bytes(record, 16), "record id")
    if type_ not in (PUT, INSERT):
        require(not more, "parts of an entry")
        return Entry(type_, kind, record, [], None)
    require(len(more) == (3 if is_whole(kind) else 1), "parts of an entry")
    fields, *rank = more
    require(type(fields) is list and (fields or type_ == INSERT), "fields")
    require(all(is_number(each, 1, 65_535) for each in fields) and ascends(fields), "numbers of the fields")
    if rank:
        require(is_number(rank[0], -(1 << 63), (1 << 63) - 1) and is_number(rank[1], 0, 65_535), "rank")
    return Entry(type_, kind, record, fields, tuple(rank) or None)


def check_values(data, header, count):
    """The slots of a set, of which some may be missing."""
    require((12 in header) == (count > 0), "values of a plan without slots, or none of one with slots")
    values = Values.read(data)
    require(len(values.slots) == count, "number of slots")
    if count:
        is_long = len(data) > header[12] + count * SLOT_BYTES_MORE
        require(len(data) == header[12] if values.seed is not None else not is_long, "length of the values")
        require(hashed("values/v1", *values.commitments) == header[13], "commitments")
    else:
        require(data == b"", "values without slots")
    return values


def parse(parts):
    require(type(parts) is list and len(parts) == 4, "a set has four parts")
    require(all(type(part) is bytes for part in parts) and len(parts[1]) == 64, "parts of a set")
    return Verified(ChangeSet(*parts))


# Writing

@dataclass(frozen=True)
class Content:
    """The plan and the values of a set that is to be written."""
    plan: bytes
    values: bytes = b""
    commitments: bytes = b""

    @property
    def stated(self):
        """What the header says about them."""
        stated = {10: len(self.plan), 11: hashed("plan/v1", self.plan)}
        if self.commitments:
            stated.update({12: len(self.values), 13: hashed("values/v1", self.commitments)})
        return stated


class Slot(NamedTuple):
    """Fields whose slot has a given content, valid or not."""
    numbers: list
    content: bytes


def content_of(entries, verb="edit", seed=None):
    """Puts and inserts are [type, kind, record, field → value], followed by a rank if it is not to be the one that
    follows from the fields."""
    rows = [spelled(each) for each in sorted(entries, key=lambda e: (e[1], e[2], e[0]))]
    contents = [content for _, content in rows if content is not None]
    return assemble({0: verb, 2: [row for row, _ in rows]}, contents, seed)


def assemble(plan, contents, seed=None):
    """A plan and the contents of its slots, valid or not."""
    values = Values.seeded(seed or os.urandom(16), contents)
    return Content(encode(plan), values.data, b"".join(values.commitments))


def spelled(entry):
    """An entry as the plan has it, and the content of its slot."""
    type_, kind, record, *more = entry
    if not more:
        return [type_, kind, record], None
    fields, *rank = more
    if type(fields) is Slot:
        return [type_, kind, record, fields.numbers, *rank], fields.content
    numbers = sorted(fields)
    if is_whole(kind):
        rank = rank or rank_of(fields)
    return [type_, kind, record, numbers, *rank], encode([fields[each] for each in numbers]) if fields else None


def rank_of(fields):
    """The rank that an author states for a whole record."""
    changed = fields.get(1)
    filled = sum(encode(value) not in EMPTY for value in fields.values())
    return [changed if type(changed) is int else 0, filled]


def seal(key, circle, incarnation, lane, sequence, previous, clock, dependencies, operation, log_bytes, content,
         **other):
    """Builds the requested set, valid or not; `other` replaces fields of the header by `key_<number>`."""
    header = {
        0: 2, 1: circle, 2: bytes(key.verify_key), 3: incarnation, 4: lane, 5: sequence, 6: previous, 7: clock,
        8: sorted(dependencies) or None, 9: operation, **content.stated, 14: log_bytes}
    header.update({int(name[4:]): value for name, value in other.items()})
    data = encode({number: value for number, value in header.items() if value is not None})
    return ChangeSet(data, sign(key, "change-set-signature/v1", data), content.plan, content.values)
