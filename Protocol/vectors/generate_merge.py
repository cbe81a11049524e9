"""Writes merge.json: histories of three devices and what Protocol/merge.md makes of them.

The state is computed from all writes at once, never by folding, so that it can't depend on an order.
"""

import random
import struct

from change_set import CIRCLE, DELETE, PUT, RECORDS, RESTORE, Log, alice, blake2b, bob, carol, clock, operation, record
from deterministic_cbor import compact, encode, save

DIGEST = b"waymark/record-digest/v1\x00"
TRIP, LODGING, ORGANIZATION, ATTACHMENT, PROFILE, UNKNOWN = 1, 2, 5, 7, 4096, 3000
NONE_ID = b"waymark\x00" + (1).to_bytes(8, "big")
PROFILE_ID = b"waymark\x00" + (2).to_bytes(8, "big")
EMPTY = (None, "", b"", [])

NOTES = [
    "sets are in one causal order; any other causal order gives the same state.",
    "cells: the winner and the other maximal writes (rivals), as positions in sets. Field 0 of a whole record is its value.",
    "conflicts: winner and losers as positions in sets; of hidden writes the winner is the deletion, and hiddenBy what it deleted.",
    "digests: what each record adds; digest: their sum modulo 2^256.",
    "ranks: puts of a profile in ascending order of rank.",
]


class Replica:
    def __init__(self, device):
        self.log = Log(device)
        self.folded = []

    def write(self, entries, wall, number):
        sets = self.log.write("edit", entries, wall=wall, operation=operation(number))
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


def rank(sealed, fields):
    updated = fields.get(1)
    updated = updated if type(updated) is int else 0
    filled = sum(1 for number, value in fields.items() if number != 0 and value not in EMPTY)
    return min(updated, sealed.fields[7] >> 16), filled, stamp(sealed)


def writes_of(sealed, entries):
    """The cells that a set writes, each with what orders its writes."""
    for entry in entries:
        key = entry[1], entry[2]
        if 4096 <= entry[1] <= 8191:
            if entry[0] == PUT:
                yield key + (0,), rank(sealed, entry[3])
            continue
        numbers = entry[3] if entry[0] == PUT else [0]
        for number in numbers:
            if key == (ORGANIZATION, NONE_ID) and number in (0, 1):
                continue
            yield key + (number,), stamp(sealed)


def is_whole(kind):
    return 4096 <= kind <= 8191


class State:
    """What a replica that has folded all sets shows, from all writes at once."""

    def __init__(self, sets, entries):
        self.sets, self.entries = sets, entries
        self.past = pasts(sets)
        self.writes = {}
        for index, sealed in enumerate(sets):
            for cell, order in writes_of(sealed, entries[index]):
                self.writes.setdefault(cell, []).append((order, index))
        self.winners = {cell: max(writes)[1] for cell, writes in self.writes.items()}

    def covers(self, later, earlier):
        return self.past[later].get(log_of(self.sets[earlier]), 0) >= self.sets[earlier].fields[5]

    def maximal(self, cell):
        writes = [index for _, index in self.writes[cell]]
        return sorted(i for i in writes if not any(j != i and self.covers(j, i) for j in writes))

    def cells(self):
        return [
            {"kind": cell[0], "record": cell[1].hex(), "field": cell[2], "winner": winner,
             "rivals": [i for i in self.maximal(cell) if i != winner]}
            for cell, winner in sorted(self.winners.items())]

    # What a set says in a cell.

    def value(self, cell, index):
        for entry in self.entries[index]:
            if (entry[1], entry[2]) == cell[:2]:
                if is_whole(cell[0]):
                    return {number: value for number, value in entry[3].items() if number > 1}
                return entry[3][cell[2]] if entry[0] == PUT else entry[0] == RESTORE

    def shown(self, cell):
        return self.value(cell, self.winners[cell]) if cell in self.winners else None

    # Conflicts.

    def conflicts(self):
        found = [row for cell in sorted(self.winners) for row in self.content_conflict(cell)]
        return found + [row for key in sorted({cell[:2] for cell in self.winners}) for row in self.hidden(key)]

    def content_conflict(self, cell):
        winner, maximal = self.winners[cell], self.maximal(cell)
        says = {i: encode(self.value(cell, i)) for i in maximal + [winner]}
        is_dead = not is_whole(cell[0]) and cell[2] == 0 and self.shown(cell) is False
        if is_dead or len({says[i] for i in maximal}) < 2:
            return
        losers = [i for i in maximal if says[i] != says[winner]]
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
            i for cell in self.writes if cell[:2] == key for i in self.maximal(cell)
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


def described(sets):
    return [
        {"header": compact(s.header), "signature": s.signature.hex(), "body": compact(s.body), "id": s.id.hex()}
        for s in sets]


def random_entries(dice, step):
    parent = record(dice.choice((1, 2)))
    choices = [
        [PUT, TRIP, record(1), {0: True, 1: f"Rome {step}"}],
        [PUT, TRIP, record(1), {1: f"Paris {step}"}],
        [PUT, TRIP, record(1), {2: f"notes {step}", 6: dice.random() < 0.5}],
        [DELETE, TRIP, record(1)],
        [RESTORE, TRIP, record(1)],
        [PUT, TRIP, record(2), {0: True, 1: "Oslo"}],
        [DELETE, TRIP, record(2)],
        [PUT, LODGING, record(3), {0: True, 1: parent, 2: f"Hotel {step}"}],
        [PUT, LODGING, record(3), {1: parent}],
        [DELETE, LODGING, record(3)],
        [PUT, ATTACHMENT, record(5), {0: True, 1: [LODGING, record(3)], 2: f"scan {step}"}],
        [PUT, ATTACHMENT, record(5), {2: f"scan {step}"}],
        [PUT, PROFILE, PROFILE_ID, {1: dice.choice((500, 1_500, 10**9)) + step, 2: dice.choice(("", "Ada", None))}],
        [DELETE, PROFILE, PROFILE_ID],
        [PUT, ORGANIZATION, NONE_ID, {1: f"Nothing {step}", 2: f"+{step}"}],
        [DELETE, ORGANIZATION, NONE_ID],
        [PUT, UNKNOWN, record(4), {0: True, 7: [step]}],
        [PUT, UNKNOWN, record(4), {7: [step], 70: "later"}],
    ]
    chosen = {}
    for entry in dice.sample(choices, dice.choice((1, 1, 2, 3))):
        chosen.setdefault((entry[1], entry[2]), entry)
    return sorted(chosen.values(), key=lambda entry: (entry[1], entry[2], entry[0]))


def history(seed):
    dice = random.Random(seed)
    replicas = [Replica(alice), Replica(bob), Replica(carol)]
    sets, entries = [], []
    for step in range(dice.choice((4, 8, 12, 16))):
        replica = dice.choice(replicas)
        if dice.random() < 0.5:
            other = dice.choice(replicas)
            if other is not replica:
                replica.receive(other, dice.randint(0, len(other.folded)))
        written = random_entries(dice, step)
        # Walls differ by device and stand still now and then.
        wall = 1_000 + 40 * replicas.index(replica) + 10 * (step // 3)
        sets += replica.write(written, wall, step + 1)
        entries.append(written)
    state = State(sets, entries)
    cells = state.cells()
    hashes = digests(sets, cells)
    total = sum(int.from_bytes(h, "big") for h in hashes.values()) % 2**256
    return {
        "name": f"seed {seed}",
        "sets": described(sets),
        "cells": cells,
        "conflicts": state.conflicts(),
        "digests": [{"kind": k, "record": r, "hash": h.hex()} for (k, r), h in sorted(hashes.items())],
        "digest": total.to_bytes(32, "big").hex(),
    }


def ranks():
    """Puts of a profile with the wall clock at 1,000,000 ms."""
    puts = [
        ("no time of change", {2: "Ada"}, 1_000_000),
        ("a negative time of change", {1: -5, 2: "Ada", 3: "x", 4: "y"}, 1_000_000),
        ("a time of change that is text", {1: "2025", 2: "Ada", 3: "x"}, 1_000_000),
        ("older", {1: 10, 2: "Ada"}, 1_000_000),
        ("as old, more filled in", {1: 10, 2: "Ada", 3: "x"}, 1_000_000),
        ("as old, as much filled in, later", {1: 10, 2: "Bob", 3: "y"}, 1_000_001),
        ("as old, what is empty does not count", {1: 10, 2: "", 3: None, 4: b"", 5: [], 6: "x"}, 1_000_000),
        ("false, zero and a list of null are not empty", {1: 10, 2: False, 3: 0, 4: [None], 5: 0.0}, 1_000_000),
        ("unknown fields count, life does not", {0: True, 1: 10, 999: "x", 1000: "y", 1001: "z"}, 1_000_000),
        ("newer", {1: 999_000}, 1_000_000),
        ("newer than its set's clock", {1: 10**12}, 1_000_000),
        ("at its set's clock, more filled in", {1: 1_000_000, 2: "Ada"}, 1_000_000),
        ("a later set's clock", {1: 10**12}, 2_000_000),
    ]
    rows = []
    for number, (name, fields, wall) in enumerate(puts):
        log = Log(alice)
        log.device = (alice, bob, carol)[number % 3]
        [sealed] = log.write("profile", [[PUT, PROFILE, PROFILE_ID, fields]], wall=wall)
        order = rank(sealed, fields)
        rows.append((order, {"name": name, "updatedAt": order[0], "nonEmptyFields": order[1]} | described([sealed])[0]))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


if __name__ == "__main__":
    save("merge.json", {
        "chapter": "Protocol/merge.md",
        "notes": NOTES,
        "circle": CIRCLE.hex(),
        "histories": [history(seed) for seed in range(1, 41)],
        "ranks": ranks(),
    })
