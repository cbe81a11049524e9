"""Protocol/change-set.md: reading, verifying and writing change sets."""

from dataclasses import dataclass

from encoding import (
    ascends, check_value, decode, decode_counted, encode, hashed, is_bytes, is_number, require, sign, verify)

SETTINGS, RECORDS = 0, 1
PUT, DELETE, RESTORE = 0, 1, 2
SEQUENCE_MAX = (1 << 63) - 1


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
    body: bytes

    @property
    def id(self):
        return hashed("change-set-id/v1", self.header)

    @property
    def fields(self):
        return decode(self.header)

    @property
    def wire(self):
        return [self.header, self.signature, self.body]


class Verified:
    """A change set whose bytes are valid on their own."""

    def __init__(self, raw):
        self.raw, self.id = raw, raw.id
        require(sum(map(len, raw.wire)) <= 262_144, "size")
        header = decode(raw.header)
        check_header(header)
        self.circle, self.device, self.incarnation, self.lane = header[1], header[2], header[3], header[4]
        self.sequence, self.previous, self.clock = header[5], header.get(6), header[7]
        self.dependencies, self.operation = header.get(8, []), header[9]
        self.log = (self.device, self.incarnation)
        require(len(raw.body) == header[10], "body length")
        require(hashed("body/v1", raw.body) == header[11], "body hash")
        verify(self.device, "change-set-signature/v1", raw.header, raw.signature)
        self.verb, self.target, self.entries = check_body(raw.body, self.lane)

    @property
    def stamp(self):
        return self.clock.to_bytes(8, "big") + self.device + self.id


def check_header(header):
    require(type(header) is dict, "header is a map")
    require(set(header) - {6, 8} == {0, 1, 2, 3, 4, 5, 7, 9, 10, 11}, "keys of the header")
    require(is_number(header[0], 1, 1), "version")
    require(all(is_bytes(header[key], 32) for key in (1, 2, 11)), "bytes of the header")
    require(is_bytes(header[3], 16) and is_bytes(header[9], 16), "short ids of the header")
    require(is_number(header[4], 0, 1), "lane")
    require(is_number(header[5], 1, SEQUENCE_MAX), "sequence")
    require((6 in header) == (header[5] > 1), "previous is absent at sequence 1, and only there")
    require(6 not in header or is_bytes(header[6], 32), "previous")
    require(is_number(header[7], 1, (1 << 64) - 2), "clock")
    require(is_number(header[10], 0, 262_144), "body length")
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


def check_body(data, lane):
    body, items = decode_counted(data)
    require(items <= 20_000, "items of the body")
    require(type(body) is dict and {0} <= set(body) <= {0, 1, 2}, "keys of the body")
    require(type(body[0]) is str and 1 <= len(body[0].encode()) <= 32, "verb")
    require(1 not in body or is_bytes(body[1], 16), "target")
    entries = body.get(2, [])
    require(2 not in body or (type(entries) is list and 1 <= len(entries) <= 1000), "entries")
    for entry in entries:
        check_entry(entry, lane)
    require(ascends([(e[1], e[2], e[0]) for e in entries]), "entries ascend")
    lives = [(e[1], e[2]) for e in entries if e[0] != PUT or 0 in e[3]]
    require(len(lives) == len(set(lives)), "a record's life is written once")
    return body[0], body.get(1), entries


def check_entry(entry, lane):
    require(type(entry) is list and entry and is_number(entry[0], PUT, RESTORE), "entry")
    require(len(entry) == (4 if entry[0] == PUT else 3), "parts of an entry")
    require(type(entry[1]) is int and lane_of(entry[1]) == lane, "lane of the kind")
    require(is_bytes(entry[2], 16), "record id")
    if entry[0] == PUT:
        fields = entry[3]
        require(type(fields) is dict and fields and max(fields) <= 65_535, "fields")
        require(fields.get(0, True) is True, "life of an insert")
        for value in fields.values():
            check_value(value)


def parse(parts):
    require(type(parts) is list and len(parts) == 3, "a set has three parts")
    require(all(type(part) is bytes for part in parts) and len(parts[1]) == 64, "parts of a set")
    return Verified(ChangeSet(*parts))


def seal(key, circle, incarnation, lane, sequence, previous, clock, dependencies, operation, body, **other):
    """Builds the requested set, valid or not; `other` replaces fields of the header by `key_<number>`."""
    header = {
        0: 1, 1: circle, 2: bytes(key.verify_key), 3: incarnation, 4: lane, 5: sequence, 6: previous, 7: clock,
        8: sorted(dependencies) or None, 9: operation, 10: len(body), 11: hashed("body/v1", body)}
    header.update({int(name[4:]): value for name, value in other.items()})
    data = encode({number: value for number, value in header.items() if value is not None})
    return ChangeSet(data, sign(key, "change-set-signature/v1", data), body)


def body_of(entries, verb="edit"):
    return encode({0: verb, 2: sorted(entries, key=lambda e: (e[1], e[2], e[0]))})
