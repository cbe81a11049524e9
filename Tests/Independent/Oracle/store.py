"""Sources/store.md: one state of a node's store, read through a second, read-only connection."""

import functools
import sqlite3
from contextlib import closing
from dataclasses import dataclass

from catalogue import KINDS
from change_set import ChangeSet, Verified
from encoding import decode
from membership import Membership
from model import Model
from statement import FORK_PROOF, GENESIS, Statement


@dataclass
class Row:
    """A stored record; `stamps` are set numbers by field, zero for a seed."""
    life: object
    stamps: dict
    extra: object
    columns: dict


VERIFIED = {}


def verified(number, header, signature, plan, values):
    """Parses a set and checks its signature; bytes that were verified before are not verified again."""
    raw = ChangeSet(header, signature, plan, values)
    if raw not in VERIFIED:
        VERIFIED[raw] = Verified(raw)
    return VERIFIED[raw]


STATEMENTS = {}


def statement(data):
    if data not in STATEMENTS:
        STATEMENTS[data] = Statement(data)
    return STATEMENTS[data]


class Snapshot:
    def __init__(self, path, rows=True):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20, isolation_level=None)) as store:
            store.execute("BEGIN")
            self.read_log(store)
            self.statements = [statement(data) for data, in store.execute("SELECT bytes FROM statements")]
            if rows:
                self.read_derived(store)

    def read_log(self, store):
        self.numbers, self.folded, self.by_number = {}, [], {}
        for number, identity, folded, *parts in store.execute(
                "SELECT number, id, folded, header, signature, plan, field_values FROM change_sets ORDER BY number"):
            each = verified(number, *parts)
            assert each.id == identity, f"set {number} is stored under a wrong id"
            self.by_number[number], self.numbers[each.id] = each, number
            if folded == 1:
                self.folded.append(each)

    @property
    def stored(self):
        return list(self.by_number.values())

    @functools.cached_property
    def membership(self):
        genesis = next(each for each in self.statements if each.kind == GENESIS)
        return Membership(genesis, [each for each in self.statements if each is not genesis])

    def model(self, sets=None):
        """Evaluates the folded sets, or others that are given."""
        return Model(self.folded if sets is None else sets, self.tolerates_gap, self.may_fork)

    def tolerates_gap(self, log, lane):
        return bool(self.membership.cuts(*log, lane))

    def is_tolerated(self, each, identity):
        """Whether a set need not be stored after a set in its past, because a cut excludes that one."""
        logs = [(device, incarnation) for device, incarnation, _, other in each.dependencies if other == identity]
        return any(self.tolerates_gap(log, each.lane) for log in logs)

    def may_fork(self, log):
        headers = [decode(each.fields[3]) for each in self.statements if each.kind == FORK_PROOF]
        return any((header[2], header[3]) == log for header in headers)

    def read_derived(self, store):
        tables = {name for name, in store.execute("SELECT name FROM sqlite_master")}
        self.rows, self.views = {}, {}
        for kind in KINDS.values():
            if kind.table in tables:
                self.read_rows(store, kind)
            if kind.view and kind.view in tables:
                self.views[kind.number] = {bytes.fromhex(text.replace("-", "")) for text, in store.execute(
                    f"SELECT id FROM {kind.view}")}
        for kind, record, life, stamps, extra in store.execute("SELECT kind, id, life, stamps, extra FROM other_rows"):
            self.rows[kind, record] = Row(life, read_stamps(stamps), extra, {})
        self.siblings = {
            (kind, record, field, self.by_number[number].id, content): is_listed
            for kind, record, field, number, content, is_listed in store.execute(
                "SELECT s.kind, s.record, s.field, s.number, s.content,"
                " coalesce(c.is_conflict = 1 AND c.content_hash <> s.content_hash, 0)"
                " FROM siblings s LEFT JOIN contested_cells c USING (kind, record, field)")}
        self.hidden = {
            (kind, record, self.by_number[number].id, by_parent, self.by_number[deletion].id)
            for kind, record, number, by_parent, deletion in store.execute(
                "SELECT kind, record, number, by_parent, deletion FROM hidden_writes")}
        self.writes = {}
        for kind, record, number in store.execute("SELECT kind, record, number FROM record_writes"):
            self.writes.setdefault((kind, record), set()).add(self.by_number[number].id)
        self.undos = set(store.execute("SELECT target, operation, device FROM undos"))
        self.digests = {}
        for lane, _, part in store.execute("SELECT lane, bucket, sum FROM digests"):
            self.digests[lane] = (self.digests.get(lane, 0) + int.from_bytes(part, "big")) % (1 << 256)

    def read_rows(self, store, kind):
        names = [column for field in kind.fields.values() for column in field.columns]
        for record, life, stamps, extra, *columns in store.execute(
                f"SELECT id, life, stamps, extra, {', '.join(names)} FROM {kind.table}"):
            self.rows[kind.number, record] = Row(life, read_stamps(stamps), extra, dict(zip(names, columns)))


def read_stamps(data):
    """Field → number of the set that wrote it."""
    reader = iter(data)
    default, fields = varint(reader), varint(reader)
    stamps = {number: default for number in range(63) if fields >> number & 1}
    while (number := varint(reader)) is not None:
        stamps[number] = varint(reader)
    return stamps


def varint(reader):
    value, shift = None, 0
    for byte in reader:
        value = (value or 0) | (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
    return value


def sets_after(path, number):
    """The sets stored after a number, with their numbers."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as store:
        return [(number, verified(number, *parts)) for number, *parts in store.execute(
            "SELECT number, header, signature, plan, field_values FROM change_sets WHERE number > ? ORDER BY number",
            (number,))]
