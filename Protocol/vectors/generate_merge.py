"""Writes merge.json: histories of three devices and what Protocol/merge.md makes of them.

The state is computed from all writes at once, never by folding, so that it can't depend on an order.
"""

import random
import struct

from change_set import (
    CIRCLE, DELETE, ERASE, INSERT, PUT, RESTORE, Log, alice, blake2b, bob, carol, clock, has_fields, has_slot, in_order,
    is_whole, operation, record, stated_rank)
from deterministic_cbor import compact, encode, save

DIGEST = b"waymark/record-digest/v1\x00"
TRIP, LODGING, ORGANIZATION, ATTACHMENT, PROFILE, UNKNOWN = 1, 2, 5, 7, 4096, 3000
NONE_ID = b"waymark\x00" + (1).to_bytes(8, "big")
PROFILE_ID = b"waymark\x00" + (2).to_bytes(8, "big")

NOTES = [
    "sets are in one causal order; any other causal order gives the same state.",
    "cells: the winner and the siblings, as positions in sets. Field 0 of a whole record is its value.",
    "erased: the cells whose winner's value is absent: erased, missing or unreadable. gaps: the slots that are missing "
    "in the stored values of each set, those that are missing in `sets` included.",
    "conflicts: winner and losers as positions in sets; of hidden writes the winner is the deletion, and hiddenBy what it deleted.",
    "digests: what each record adds; digest: their sum modulo 2^256.",
    "ranks: puts of a profile in ascending order of rank.",
]


class Replica:
    def __init__(self, device):
        self.log = Log(device)
        self.folded = []

    def write(self, entries, wall, number, contents=None):
        sets = self.log.write("edit", entries, wall=wall, operation=operation(number), contents=contents)
        self.folded += sets
        return sets

    def receive(self, other, count):
        """Folds what the other has folded first: a prefix is causally closed."""
        for sealed in other.folded[:count]:
            if all(sealed is not known for known in self.folded):
                self.folded.append(sealed)
                self.log.see(sealed)


def log_of(sealed):
    return sealed.fields[2], sealed.fields[3]


def pasts(sets):
    """For each set the newest sequence of each log that it has seen, itself included."""
    by_id = {s.id: i for i, s in enumerate(sets)}
    result = []
    for sealed in sets:
        past = dict(result[by_id[sealed.fields[6]]]) if 6 in sealed.fields else {}
        for device, incarnation, sequence, _ in sealed.fields.get(8, []):
            past[device, incarnation] = max(past.get((device, incarnation), 0), sequence)
        past[log_of(sealed)] = sealed.fields[5]
        result.append(past)
    return result


def stamp(sealed):
    return struct.pack(">Q", sealed.fields[7]) + sealed.fields[2] + sealed.id


def rank(sealed, entry):
    updated, filled = stated_rank(entry)
    return min(updated, sealed.fields[7] >> 16), filled, stamp(sealed)


def life(entries, key):
    """The life that a set writes; None if it writes none."""
    types = {entry[0] for entry in entries if (entry[1], entry[2]) == key}
    if types & {INSERT, RESTORE}:
        return True
    return False if types & {DELETE, ERASE} else None


def writes_of(sealed, entries):
    """The cells that a set writes, each with what orders its writes."""
    for key in sorted({(entry[1], entry[2]) for entry in entries}):
        own = [entry for entry in entries if (entry[1], entry[2]) == key]
        listing = next((entry for entry in own if has_fields(entry)), None)
        if is_whole(key[0]):
            if listing:
                yield key + (0,), rank(sealed, listing)
            continue
        numbers = ([0] if life(entries, key) is not None else []) + sorted(listing[3] if listing else [])
        for number in numbers:
            if key == (ORGANIZATION, NONE_ID) and number in (0, 1):
                continue
            yield key + (number,), stamp(sealed)


class State:
    """What a replica that has folded all sets shows, from all writes at once."""

    def __init__(self, sets, entries, lacking=None):
        """`lacking`: by position of a set, its slots that are missing or unreadable."""
        self.sets, self.entries, self.lacking = sets, entries, lacking or {}
        self.past = pasts(sets)
        self.writes = {}
        for index, sealed in enumerate(sets):
            for cell, order in writes_of(sealed, entries[index]):
                self.writes.setdefault(cell, []).append((order, index))
        self.winners = {cell: max(writes)[1] for cell, writes in self.writes.items()}

    def covers(self, later, earlier):
        return self.past[later].get(log_of(self.sets[earlier]), 0) >= self.sets[earlier].fields[5]

    def is_erased(self, key, index):
        """Whether the writes of a set to a record are in the past of an erase of that record."""
        return any(
            later != index and self.covers(later, index)
            for later, entries in enumerate(self.entries)
            if any(entry[0] == ERASE and (entry[1], entry[2]) == key for entry in entries))

    def siblings(self, cell):
        writes = [index for _, index in self.writes[cell]]
        return sorted(
            i for i in writes
            if i != self.winners[cell] and not any(j != i and self.covers(j, i) for j in writes)
            and not self.is_erased(cell[:2], i))

    def cells(self):
        return [
            {"kind": cell[0], "record": cell[1].hex(), "field": cell[2], "winner": winner, "siblings": self.siblings(cell)}
            for cell, winner in sorted(self.winners.items())]

    # What is absent.

    def slots(self, index):
        """The record of each slot of a set."""
        return [(entry[1], entry[2]) for entry in self.entries[index] if has_slot(entry)]

    def is_absent(self, cell, index):
        if not is_whole(cell[0]) and cell[2] == 0:
            return False
        keys = self.slots(index)
        return cell[:2] in keys and (
            self.is_erased(cell[:2], index) or keys.index(cell[:2]) in self.lacking.get(index, ()))

    def erased(self):
        return [
            {"kind": cell[0], "record": cell[1].hex(), "field": cell[2]}
            for cell, winner in sorted(self.winners.items()) if self.is_absent(cell, winner)]

    def gaps(self, missing):
        """`missing`: by position of a set, the slots that it came without."""
        rows = []
        for index in range(len(self.sets)):
            slots = [slot for slot, key in enumerate(self.slots(index))
                     if slot in missing.get(index, ()) or self.is_erased(key, index)]
            if slots:
                rows.append({"set": index, "slots": slots})
        return rows

    # The content of a cell in a set.

    def value(self, cell, index):
        if self.is_absent(cell, index):
            return None
        if not is_whole(cell[0]) and cell[2] == 0:
            return life(self.entries[index], cell[:2])
        for entry in self.entries[index]:
            if (entry[1], entry[2]) == cell[:2] and has_fields(entry):
                if is_whole(cell[0]):
                    return {number: value for number, value in entry[3].items() if number > 1}
                return entry[3][cell[2]]

    def content(self, cell, index):
        """What is compared with the contents of other writes: an absent value counts as null."""
        if self.is_absent(cell, index) and is_whole(cell[0]):
            fields = next(e[3] for e in self.entries[index] if (e[1], e[2]) == cell[:2] and has_fields(e))
            return encode({number: None for number in fields if number > 1})
        return encode(self.value(cell, index))

    def shown(self, cell):
        return self.value(cell, self.winners[cell]) if cell in self.winners else None

    # Conflicts.

    def conflicts(self):
        found = [row for cell in sorted(self.winners) for row in self.content_conflict(cell)]
        return found + [row for key in sorted({cell[:2] for cell in self.winners}) for row in self.hidden(key)]

    def content_conflict(self, cell):
        winner, siblings = self.winners[cell], self.siblings(cell)
        is_followed = any(self.covers(i, winner) for i in siblings)
        contents = {i: self.content(cell, i) for i in siblings + [winner]}
        compared = siblings if is_followed else siblings + [winner]
        is_dead = not is_whole(cell[0]) and cell[2] == 0 and self.shown(cell) is False
        if is_dead or len({contents[i] for i in compared}) < 2:
            return
        losers = [i for i in siblings if contents[i] != contents[winner]]
        reason, field = ("profile", None) if is_whole(cell[0]) else ("field", cell[2])
        yield row(cell, reason, field, winner, losers, None)

    def hidden(self, key):
        if is_whole(key[0]):
            return
        hiding = key
        while hiding and self.shown(hiding + (0,)) is True:
            hiding = self.parent(hiding)
        if not hiding or self.shown(hiding + (0,)) is not False:
            return
        deletion = self.winners[hiding + (0,)]
        writes = {
            i for cell in self.writes if cell[:2] == key for i in [self.winners[cell], *self.siblings(cell)]
            if cell[2] != 0 or self.value(cell, i) is True}
        lost = sorted(i for i in writes if not self.covers(deletion, i) and not self.covers(i, deletion))
        if lost:
            reason = "edit-lost-to-delete" if hiding == key else "hidden-by-parent"
            yield row(key, reason, None, deletion, lost, {"kind": hiding[0], "record": hiding[1].hex()})

    def parent(self, key):
        named = self.shown(key + (1,))
        if key[0] == LODGING and isinstance(named, bytes):
            return TRIP, named
        if key[0] == ATTACHMENT and isinstance(named, list):
            return named[0], named[1]


def row(key, reason, field, winner, losers, hiding):
    return {"kind": key[0], "record": key[1].hex(), "reason": reason, "field": field, "winner": winner,
            "losers": losers, "hiddenBy": hiding}


def digests(sets, cells):
    inputs = {}
    for cell in cells:
        key = cell["kind"], cell["record"]
        start = struct.pack(">I", cell["kind"]) + bytes.fromhex(cell["record"])
        inputs.setdefault(key, start)
        inputs[key] += struct.pack(">I", cell["field"]) + stamp(sets[cell["winner"]])
    return {key: blake2b(DIGEST, data) for key, data in inputs.items()}


def described(sets, missing=None):
    rows = []
    for index, sealed in enumerate(sets):
        values = sealed.slots.salted(missing[index]) if missing and index in missing else sealed.values
        rows.append({
            "header": compact(sealed.header), "signature": compact(sealed.signature), "plan": compact(sealed.plan),
            "values": compact(values), "id": sealed.id.hex()})
    return rows


def described_history(name, sets, entries, unreadable=None, missing=None):
    unreadable, missing = unreadable or {}, missing or {}
    lacking = {index: {*unreadable.get(index, ()), *missing.get(index, ())} for index in range(len(sets))}
    state = State(sets, entries, lacking)
    cells = state.cells()
    hashes = digests(sets, cells)
    total = sum(int.from_bytes(h, "big") for h in hashes.values()) % 2**256
    return {
        "name": name,
        "sets": described(sets, missing),
        "cells": cells,
        "erased": state.erased(),
        "gaps": state.gaps(missing),
        "conflicts": state.conflicts(),
        "digests": [{"kind": k, "record": r, "hash": h.hex()} for (k, r), h in sorted(hashes.items())],
        "digest": total.to_bytes(32, "big").hex(),
    }


def random_entries(dice, step, erases):
    parent = record(dice.choice((1, 2)))
    trip, lodging, attachment = [TRIP, record(1)], [LODGING, record(3)], [ATTACHMENT, record(5)]
    profile = {1: dice.choice((500, 1_500, 10**9)) + step, 2: dice.choice(("", "Ada", None))}
    stated = dice.choice(([], [10**9, 65_535], [1_000, 0]))
    choices = [
        [[INSERT, *trip, {1: f"Rome {step}"}]],
        [[PUT, *trip, {1: f"Paris {step}"}]],
        [[PUT, *trip, {2: f"notes {step}", 6: dice.random() < 0.5}]],
        [[DELETE, *trip]],
        [[RESTORE, *trip]],
        [[INSERT, TRIP, record(2), {1: "Oslo"}]],
        [[DELETE, TRIP, record(2)]],
        [[INSERT, *lodging, {1: parent, 2: f"Hotel {step}"}]],
        [[PUT, *lodging, {1: parent}]],
        [[PUT, *lodging, {2: f"Hotel {step}"}], [RESTORE, *lodging]],
        [[DELETE, *lodging]],
        [[INSERT, *attachment, {1: [LODGING, record(3)], 2: f"scan {step}"}]],
        [[PUT, *attachment, {2: f"scan {step}"}]],
        [[PUT, PROFILE, PROFILE_ID, profile]],
        [[PUT, PROFILE, PROFILE_ID, profile, *stated]],
        [[DELETE, PROFILE, PROFILE_ID]],
        [[PUT, ORGANIZATION, NONE_ID, {1: f"Nothing {step}", 2: f"+{step}"}]],
        [[DELETE, ORGANIZATION, NONE_ID]],
        [[INSERT, UNKNOWN, record(4), {7: [step]}]],
        [[PUT, UNKNOWN, record(4), {7: [step], 70: "later"}]],
        [[INSERT, UNKNOWN, record(4), {}]],
    ]
    if erases:
        choices += 2 * [
            [[ERASE, *trip]],
            [[ERASE, *trip], [PUT, *trip, {1: f"kept {step}"}]],
            [[ERASE, *trip], [INSERT, *trip, {1: f"fresh {step}"}]],
            [[ERASE, *lodging]],
            [[ERASE, *attachment]],
            [[ERASE, PROFILE, PROFILE_ID]],
            [[ERASE, PROFILE, PROFILE_ID], [PUT, PROFILE, PROFILE_ID, profile]],
            [[ERASE, ORGANIZATION, NONE_ID]],
            [[ERASE, UNKNOWN, record(4)]],
            [[ERASE, UNKNOWN, record(4)], [INSERT, UNKNOWN, record(4), {}]],
        ]
    chosen = {}
    for entries in dice.sample(choices, dice.choice((1, 1, 2, 3))):
        chosen.setdefault((entries[0][1], entries[0][2]), entries)
    return in_order(entry for entries in chosen.values() for entry in entries)


def history(seed, erases=False):
    dice = random.Random(seed)
    replicas = [Replica(alice), Replica(bob), Replica(carol)]
    sets, entries = [], []
    for step in range(dice.choice((4, 8, 12, 16))):
        replica = dice.choice(replicas)
        if dice.random() < 0.5:
            other = dice.choice(replicas)
            if other is not replica:
                replica.receive(other, dice.randint(0, len(other.folded)))
        written = random_entries(dice, step, erases)
        # Walls differ by device and stand still now and then.
        wall = 1_000 + 40 * replicas.index(replica) + 10 * (step // 3)
        sets += replica.write(written, wall, step + 1)
        entries.append(written)
    return described_history(f"seed {seed}", sets, entries)


class Story:
    """A history written by hand: three devices a, b and c, and a wall clock for each set."""

    def __init__(self, name):
        self.name = name
        self.a, self.b, self.c = Replica(alice), Replica(bob), Replica(carol)
        self.sets, self.entries, self.unreadable, self.missing = [], [], {}, {}

    def write(self, replica, wall, *entries, seen=(), unreadable=None, missing=()):
        """`seen`: replicas all of whose sets the author folds first. `unreadable`: contents by slot."""
        for other in seen:
            replica.receive(other, len(other.folded))
        index = len(self.sets)
        entries = in_order(entries)
        self.sets += replica.write(entries, wall, index + 1, unreadable)
        self.entries.append(entries)
        if unreadable:
            self.unreadable[index] = set(unreadable)
        if missing:
            self.missing[index] = set(missing)
        return self

    def described(self):
        return described_history(self.name, self.sets, self.entries, self.unreadable, self.missing)


def stories():
    trip, other, lodging, profile = [TRIP, record(1)], [TRIP, record(2)], [LODGING, record(3)], [PROFILE, PROFILE_ID]

    s = Story("an erase of what one device wrote")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "secret"}], [INSERT, *other, {1: "Oslo"}])
    s.write(s.a, 1_010, [PUT, *trip, {2: "more secret"}])
    yield s.write(s.a, 1_020, [ERASE, *trip])

    s = Story("an edit concurrent with an erase stays, hidden")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "notes"}])
    s.write(s.b, 1_020, [PUT, *trip, {1: "Roma"}], seen=[s.a])
    yield s.write(s.a, 1_010, [ERASE, *trip])

    s = Story("a second erase covers the edit that was concurrent with the first")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.b, 1_020, [PUT, *trip, {1: "Roma"}], seen=[s.a])
    s.write(s.a, 1_010, [ERASE, *trip])
    yield s.write(s.a, 1_030, [ERASE, *trip], seen=[s.b])

    s = Story("two concurrent erases")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.b, 1_010, [PUT, *trip, {2: "by b"}], seen=[s.a])
    s.write(s.a, 1_020, [PUT, *trip, {2: "by a"}])
    s.write(s.a, 1_030, [ERASE, *trip])
    yield s.write(s.b, 1_025, [ERASE, *trip])

    s = Story("a restore after an erase: the record lives, without its values")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "notes"}])
    s.write(s.a, 1_010, [ERASE, *trip])
    s.write(s.b, 1_020, [RESTORE, *trip], seen=[s.a])
    yield s.write(s.b, 1_030, [PUT, *trip, {1: "Roma"}])

    s = Story("a restore concurrent with an erase, with a higher stamp")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.a, 1_010, [ERASE, *trip])
    yield s.write(s.b, 1_020, [RESTORE, *trip]).write(s.c, 1_005, [PUT, *trip, {1: "Roma"}])

    s = Story("a sibling is erased")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.b, 1_010, [PUT, *trip, {1: "Roma"}])
    s.write(s.c, 1_030, [PUT, *trip, {1: "Paris"}])
    yield s.write(s.a, 1_020, [ERASE, *trip], seen=[s.b])

    s = Story("an erased winner that a higher stamp displaces is no sibling")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.a, 1_010, [ERASE, *trip])
    s.write(s.b, 1_020, [PUT, *trip, {1: "Roma"}])
    yield s.write(s.c, 1_015, [PUT, *trip, {1: "Paris"}])

    s = Story("an erased winner above a lower stamp that is not erased")
    s.write(s.b, 1_000, [PUT, *trip, {1: "Roma"}])
    s.write(s.a, 1_010, [INSERT, *trip, {1: "Rome"}])
    yield s.write(s.a, 1_020, [ERASE, *trip])

    s = Story("an insert in the set of the erase keeps the new values alive")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "secret", 6: True}])
    yield s.write(s.b, 1_010, [ERASE, *trip], [INSERT, *trip, {1: "Rome", 6: True}], seen=[s.a])

    s = Story("a put in the set of the erase keeps new values in the trash")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "secret"}])
    yield s.write(s.a, 1_010, [ERASE, *trip], [PUT, *trip, {1: "Rome"}])

    s = Story("an erase and an insert without fields")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    yield s.write(s.a, 1_010, [ERASE, *trip], [INSERT, *trip, {}])

    s = Story("an erase and a concurrent delete with a higher stamp")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}])
    s.write(s.b, 1_030, [DELETE, *trip], seen=[s.a])
    s.write(s.a, 1_010, [PUT, *trip, {2: "notes"}])
    yield s.write(s.a, 1_020, [ERASE, *trip])

    s = Story("an erase of a parent hides its child and erases nothing of it")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}], [INSERT, *lodging, {1: record(1), 2: "Hotel"}])
    s.write(s.b, 1_020, [PUT, *lodging, {2: "Albergo"}], seen=[s.a])
    yield s.write(s.a, 1_010, [ERASE, *trip])

    s = Story("a child whose parent field is erased has no parent")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}], [INSERT, *lodging, {1: record(1), 2: "Hotel"}])
    s.write(s.a, 1_010, [ERASE, *lodging])
    s.write(s.b, 1_020, [RESTORE, *lodging], seen=[s.a])
    s.write(s.b, 1_030, [PUT, *lodging, {2: "Albergo"}])
    yield s.write(s.a, 1_040, [DELETE, *trip])

    s = Story("an erase of one of two records in one set")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}], [INSERT, *other, {1: "Oslo"}], [PUT, *profile, {1: 500, 2: "Ada"}])
    yield s.write(s.b, 1_010, [ERASE, *other], seen=[s.a])

    s = Story("the profile erased")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada", 3: "secret"}])
    s.write(s.a, 1_010, [PUT, *profile, {1: 905, 2: "Ada"}])
    yield s.write(s.a, 1_020, [ERASE, *profile])

    s = Story("the profile erased, and a concurrent one with a lower rank")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada", 3: "secret"}])
    s.write(s.b, 1_005, [PUT, *profile, {1: 800, 2: "Bob"}])
    yield s.write(s.a, 1_010, [ERASE, *profile])

    s = Story("the profile erased, and a concurrent one with a higher rank")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada", 3: "secret"}])
    s.write(s.b, 1_005, [PUT, *profile, {1: 950, 2: "Bob"}])
    yield s.write(s.a, 1_010, [ERASE, *profile])

    s = Story("the profile erased and written in the same set")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada", 3: "secret"}])
    yield s.write(s.b, 1_010, [ERASE, *profile], [PUT, *profile, {1: 910, 2: "Ada"}], seen=[s.a])

    s = Story("an erased profile outranks one that its author wrote later")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada"}])
    s.write(s.a, 1_010, [ERASE, *profile])
    s.write(s.a, 1_020, [PUT, *profile, {1: 800, 2: "Ada"}])
    yield s.write(s.b, 1_015, [PUT, *profile, {1: 700, 2: "Bob"}])

    s = Story("a sibling that has seen the winner is erased, another is not")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada"}])
    s.write(s.a, 1_010, [PUT, *profile, {1: 800, 2: "Ada II"}])
    s.write(s.b, 1_015, [PUT, *profile, {1: 700, 2: "Bob"}])
    yield s.write(s.a, 1_020, [ERASE, *profile])

    s = Story("a rank that the values contradict")
    s.write(s.a, 1_000, [PUT, *profile, {1: 1, 2: "low"}, 900, 2])
    s.write(s.b, 1_001, [PUT, *profile, {1: 999, 2: "high", 3: "x"}, 800, 2])
    yield s.write(s.c, 1_002, [PUT, *profile, {1: 900, 2: "filled"}, 900, 9])

    s = Story("the organization None erased: its life and its name are fixed")
    s.write(s.a, 1_000, [PUT, ORGANIZATION, NONE_ID, {1: "Nothing", 2: "+1"}])
    s.write(s.b, 1_010, [PUT, ORGANIZATION, NONE_ID, {2: "+2"}])
    yield s.write(s.a, 1_020, [ERASE, ORGANIZATION, NONE_ID])

    s = Story("a record of an unknown kind, erased")
    s.write(s.a, 1_000, [INSERT, UNKNOWN, record(4), {7: 1, 70: "x"}])
    yield s.write(s.b, 1_010, [ERASE, UNKNOWN, record(4)], seen=[s.a])

    s = Story("an erase of a record that was never written")
    yield s.write(s.a, 1_000, [ERASE, *trip])

    s = Story("unreadable contents equal each other and null")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome", 2: "notes"}], unreadable={0: b"\xff"})
    s.write(s.b, 1_010, [PUT, *trip, {1: "Rome"}], unreadable={0: b"\xff"})
    yield s.write(s.c, 1_005, [PUT, *trip, {1: "Rome"}])

    s = Story("an unreadable profile keeps its rank")
    s.write(s.a, 1_000, [PUT, *profile, {1: 900, 2: "Ada"}], unreadable={0: b""})
    yield s.write(s.b, 1_010, [PUT, *profile, {1: 800, 2: "Bob"}])

    s = Story("a missing slot, and a conflict with it")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}], [INSERT, *other, {1: "Oslo"}], missing=[1])
    yield s.write(s.b, 1_010, [PUT, *other, {1: "Bergen"}])

    s = Story("a slot that is missing already, and an erase that covers it")
    s.write(s.a, 1_000, [INSERT, *trip, {1: "Rome"}], [INSERT, *other, {1: "Oslo"}], missing=[0])
    s.write(s.a, 1_010, [PUT, *trip, {1: "Roma"}])
    yield s.write(s.b, 1_020, [ERASE, *trip], seen=[s.a])


def ranks():
    """Puts of a profile with the wall clock at 1,000,000 ms; the last part is the rank that the plan states."""
    puts = [
        ("no time of change", {2: "Ada"}, 1_000_000),
        ("a negative time of change", {1: -5, 2: "Ada", 3: "x", 4: "y"}, 1_000_000),
        ("a time of change that is text", {1: "2025", 2: "Ada", 3: "x"}, 1_000_000),
        ("older", {1: 10, 2: "Ada"}, 1_000_000),
        ("as old, more filled in", {1: 10, 2: "Ada", 3: "x"}, 1_000_000),
        ("as old, as much filled in, later", {1: 10, 2: "Bob", 3: "y"}, 1_000_001),
        ("as old, what is empty does not count", {1: 10, 2: "", 3: None, 4: b"", 5: [], 6: "x"}, 1_000_000),
        ("false, zero and a list of null are not empty", {1: 10, 2: False, 3: 0, 4: [None], 5: 0.0}, 1_000_000),
        ("unknown fields count", {1: 10, 999: "x", 1000: "y", 1001: "z"}, 1_000_000),
        ("newer", {1: 999_000}, 1_000_000),
        ("newer than its set's clock", {1: 10**12}, 1_000_000),
        ("at its set's clock, more filled in", {1: 1_000_000, 2: "Ada"}, 1_000_000),
        ("a later set's clock", {1: 10**12}, 2_000_000),
        ("the values are newer than the plan states", {1: 999_999, 2: "Ada"}, 1_000_000, [20, 2]),
        ("the plan states more fields than there are", {1: 20, 2: "Ada"}, 1_000_000, [20, 65_535]),
        ("the plan states no fields", {1: 20, 2: "Ada", 3: "x"}, 1_000_000, [20, 0]),
        ("the lowest time", {1: 20}, 1_000_000, [-(2**63), 1]),
        ("the highest time", {1: 20}, 1_500_000, [2**63 - 1, 1]),
    ]
    rows = []
    for number, (name, fields, wall, *stated) in enumerate(puts):
        log = Log((alice, bob, carol)[number % 3])
        entry = [PUT, PROFILE, PROFILE_ID, fields, *(stated[0] if stated else [])]
        [sealed] = log.write("profile", [entry], wall=wall)
        order = rank(sealed, entry)
        rows.append((order, {"name": name, "updatedAt": order[0], "nonEmptyFields": order[1]} | described([sealed])[0]))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


if __name__ == "__main__":
    save("merge.json", {
        "chapter": "Protocol/merge.md",
        "notes": NOTES,
        "circle": CIRCLE.hex(),
        "histories": [history(seed) for seed in range(1, 31)]
        + [story.described() for story in stories()]
        + [history(seed, erases=True) for seed in range(31, 71)],
        "ranks": ranks(),
    })
