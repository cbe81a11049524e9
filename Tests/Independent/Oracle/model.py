"""Protocol/change-set.md and merge.md as a function of a set of change sets, whatever the order of arrival.

Nothing is updated step by step: each answer is computed from all writes at once.
"""

import functools
from collections import defaultdict
from dataclasses import dataclass

import catalogue
from catalogue import KINDS, NONE_ID, ORGANIZATION, OWNERS, SEEDS
from change_set import ERASE, is_whole
from encoding import encode, hashed
from values import ABSENT

LIFE = 0


@dataclass(frozen=True, eq=False)
class Write:
    set: object
    # An absent value is null: one that was erased, is missing or is unreadable.
    value: object
    content: bytes
    rank: tuple
    # What is compared to decide whether two writes are equal.
    says: bytes
    is_absent: bool
    # Whether a set that erases the record has the write in its past.
    is_erased: bool


@dataclass(frozen=True)
class Conflict:
    """The ids of the sets that wrote the winner and the concurrent writes."""
    reason: str
    kind: int
    record: bytes
    field: object
    winner: bytes
    losers: frozenset


class Broken(Exception):
    """A log that a correct node would not hold."""


def demand(condition, rule, about):
    if not condition:
        raise Broken(f"{rule}: set {about.sequence} of {about.device.hex()[:8]}, lane {about.lane}, {about.id.hex()}")


class Model:
    """`tolerates_gap`: whether a cut of a log explains that a set has seen more of it than is stored; `may_fork`:
    whether two sets at one position are a known fork."""

    def __init__(self, sets, tolerates_gap=lambda log, lane: False, may_fork=lambda log: False):
        self.sets = {each.id: each for each in sets}
        # Clocks ascend along causality, so this order is causal.
        self.ordered = sorted(self.sets.values(), key=lambda each: each.stamp)
        self.tolerates_gap = tolerates_gap
        # One bit per set: the past of each, including itself, and its own log up to it.
        self.bits, self.pasts, self.paths = {}, {}, {}
        places = {}
        for number, each in enumerate(self.ordered):
            place = (each.log, each.lane, each.sequence)
            demand(place not in places or may_fork(each.log), "two sets at one position", each)
            places[place] = each.id
            self.bits[each.id] = 1 << number
            self.place(each)

    # MARK: Causality

    def place(self, each):
        path = past = self.bits[each.id]
        if each.previous is not None:
            before = self.sets.get(each.previous)
            demand(before is not None, "the predecessor is missing", each)
            demand((before.log, before.lane, before.sequence) == (each.log, each.lane, each.sequence - 1),
                   "the predecessor is not the set before", each)
            demand(before.clock < each.clock, "the clock is not above the predecessor's", each)
            demand(before.log_bytes + before.declared == each.log_bytes, "wrong bytes of the log so far", each)
            path |= self.paths[before.id]
            past |= self.pasts[before.id]
        seen = [self.dependency(each, *dependency) for dependency in each.dependencies]
        for other in filter(None, seen):
            past |= self.paths[other.id]
        for other in filter(None, seen):
            demand(self.pasts[other.id] & ~past == 0, "the past of a dependency is not declared", each)
        self.paths[each.id], self.pasts[each.id] = path, past

    def dependency(self, each, device, incarnation, sequence, identity):
        seen = self.sets.get(identity)
        if seen is None:
            demand(self.tolerates_gap((device, incarnation), each.lane), "a dependency is missing", each)
            return None
        demand((seen.log, seen.lane, seen.sequence) == ((device, incarnation), each.lane, sequence),
               "a dependency is elsewhere", each)
        demand(seen.clock < each.clock, "the clock is not above a dependency's", each)
        return seen

    def covers(self, later, earlier):
        """Whether one set is in the past of another, or both are the same."""
        return self.pasts[later.id] & self.bits[earlier.id] != 0

    def concurrent(self, one, other):
        return not self.covers(one, other) and not self.covers(other, one)

    # MARK: Cells

    @functools.cached_property
    def records(self):
        """(kind, record) → field → writes."""
        records = defaultdict(lambda: defaultdict(list))
        for each in self.ordered:
            for entry in each.entries:
                erases = self.erases.get(entry.key, [])
                is_erased = any(each is not other and self.covers(other, each) for other in erases)
                for number, write in writes(each, entry, is_erased):
                    records[entry.key][number].append(write)
        return records

    @functools.cached_property
    def erases(self):
        """(kind, record) → the sets that erase it."""
        erases = defaultdict(list)
        for each in self.ordered:
            for entry in each.entries:
                if entry.type == ERASE:
                    erases[entry.key].append(each)
        return erases

    @functools.cached_property
    def touching(self):
        """(kind, record) → ids of the sets with an entry for it, whether the entry writes anything or not."""
        touching = defaultdict(set)
        for each in self.ordered:
            for entry in each.entries:
                touching[entry.key].add(each.id)
        return touching

    @functools.cached_property
    def winners(self):
        return {
            key: {number: max(of_cell, key=lambda write: write.rank) for number, of_cell in cells.items()}
            for key, cells in self.records.items()}

    def maximal(self, of_cell):
        """The maximal writes. An erased one is left out, unless it is the winner."""
        best = max(of_cell, key=lambda write: write.rank)
        left = [write for write in of_cell if write is best or not write.is_erased]
        return [
            write for write in left
            if not any(other is not write and self.covers(other.set, write.set) for other in left)]

    def field(self, key, number):
        """The visible value of a field."""
        cells = self.winners.get(key, {})
        if is_whole(key[0]):
            return cells[0].value.get(number) if 0 in cells else None
        return cells[number].value if number in cells else None

    def has_erase_outside(self, key, ids):
        """Whether a set that is not among some erases a record: its values may have been present before."""
        return any(each.id not in ids for each in self.erases.get(key, []))

    # MARK: Life

    def lives(self, key):
        return key in SEEDS or is_whole(key[0]) or self.field(key, LIFE) is True

    def parent(self, key):
        """The record that this one belongs to; None if it names none or an invalid one."""
        kind = KINDS[key[0]]
        field = kind.named(kind.parent)
        value = self.field(key, field.number)
        if value is None or catalogue.columns_of(field, value) is None:
            return None
        if field.type != "owner":
            return catalogue.BY_NAME[field.type.split()[-1]].number, value
        return tuple(value) if value[0] in OWNERS and value[0] in KINDS else None

    def visible(self, key):
        if key is None or not self.lives(key):
            return False
        return not has_parent(key) or self.visible(self.parent(key))

    def visible_of(self, kind):
        """Ids of the visible records of a kind; seeds that were never written to are left out."""
        return {record for number, record in self.records if number == kind and self.visible((number, record))}

    def counts(self):
        names = {1: "trips", 2: "lodging", 3: "transportation", 4: "activities", 5: "organizations", 9: "habits",
                 10: "categories", 11: "habitEntries", 8192: "settings"}
        return {name: len(self.visible_of(kind)) if kind in KINDS else 0 for kind, name in names.items()}

    # MARK: Digest

    def digest(self, lane):
        total = 0
        for (kind, record), cells in self.winners.items():
            if (kind >= 8192) == (lane == 0):
                total += record_hash(kind, record, cells)
        return (total % (1 << 256)).to_bytes(32, "big")

    # MARK: Conflicts

    @functools.cached_property
    def conflicts(self):
        found = []
        for key, cells in self.records.items():
            for number, of_cell in cells.items():
                if len(of_cell) > 1:
                    found += self.cell_conflict(key, number, of_cell)
            found += self.hidden(key, cells)
        return set(found)

    def cell_conflict(self, key, number, of_cell):
        winner = self.winners[key][number]
        maximal = self.maximal(of_cell)
        is_life = number == LIFE and not is_whole(key[0])
        if len({write.says for write in maximal}) < 2 or (is_life and winner.value is False):
            return []
        losers = frozenset(write.set.id for write in maximal if write.says != winner.says)
        field = None if is_whole(key[0]) else number
        return [Conflict("profile" if is_whole(key[0]) else "field", *key, field, winner.set.id, losers)]

    def hidden(self, key, cells):
        """Writes hidden by a concurrent deletion."""
        deletion = None if is_whole(key[0]) else self.hiding(key)
        if deletion is None:
            return []
        reason = "edit-lost-to-delete" if self.deletion(key) is not None else "hidden-by-parent"
        candidates = {
            write.set for number, of_cell in cells.items()
            for write in [*self.maximal(of_cell), self.winners[key][number]]
            if not (number == LIFE and write.value is False)}
        losers = frozenset(each.id for each in candidates if self.concurrent(each, deletion.set))
        return [Conflict(reason, *key, None, deletion.set.id, losers)] if losers else []

    def hiding(self, key):
        """The winning deletion of the nearest dead record on the way up."""
        while key is not None and self.deletion(key) is None:
            key = self.parent(key) if self.lives(key) and has_parent(key) else None
        return self.deletion(key) if key is not None else None

    def deletion(self, key):
        if key in SEEDS:
            return None
        write = self.winners.get(key, {}).get(LIFE)
        return write if write is not None and write.value is False and not is_whole(key[0]) else None


def has_parent(key):
    return key[0] in KINDS and bool(KINDS[key[0]].parent)


def writes(verified, entry, is_erased=False):
    """(field, write) for each cell that an entry writes."""
    is_absent = is_erased or ABSENT in entry.fields.values()
    fields = {number: None for number in entry.fields} if is_absent else entry.fields
    if is_whole(entry.kind):
        if entry.rank is not None:
            changed, filled = entry.rank
            rank = min(changed, verified.clock >> 16), filled, verified.stamp
            says = encode({number: value for number, value in fields.items() if number != 1})
            yield 0, Write(verified, fields, encode(fields), rank, says, is_absent, is_erased)
        return
    life = verified.life(entry)
    for number, value in (fields if life is None else {LIFE: life, **fields}).items():
        if entry.key != (ORGANIZATION, NONE_ID) or number > 1:
            content = encode(value)
            yield number, Write(
                verified, value, content, (verified.stamp,), content, is_absent and number != LIFE, is_erased)


def record_hash(kind, record, cells):
    parts = [number.to_bytes(4, "big") + write.set.stamp for number, write in sorted(cells.items())]
    return int.from_bytes(hashed("record-digest/v1", kind.to_bytes(4, "big"), record, *parts), "big")
