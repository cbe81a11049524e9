"""Protocol/change-set.md, "Causal closure" and "Writing a set"; Protocol/session.md, "Hashes"."""

import os

import merge
from change_set import Verified, body_of, seal
from encoding import hashed, require

DRIFT = 600_000


class Lane:
    """The change sets of one lane: stored in causal order, folded as far as the clock allows."""

    def __init__(self, lane, circle):
        self.lane, self.circle = lane, circle
        self.by_id, self.logs, self.past, self.folded = {}, {}, {}, {}

    def place(self, verified, now):
        """Whether the set was new; Refused if it is wrong, KeyError if its past is not here."""
        require(verified.circle == self.circle and verified.lane == self.lane, "circle and lane")
        if verified.id in self.by_id:
            return False
        log = self.logs.setdefault(verified.log, [])
        before = [verified.previous] if verified.previous else []
        before += [each[3] for each in verified.dependencies]
        seen = [self.by_id[each] for each in before]
        require(verified.sequence == len(log) + 1, "sequence: a gap, or a fork")
        require(not before or not verified.previous or seen[0] is log[-1], "previous")
        for each, known in zip(verified.dependencies, seen[-len(verified.dependencies):]):
            require((known.device, known.incarnation, known.sequence) == tuple(each[:3]), "dependency")
        require(all(verified.clock > each.clock for each in seen), "clock rule")
        past = {}
        for each in seen:
            past = {log: max(past.get(log, 0), self.past[each.id].get(log, 0))
                    for log in {*past, *self.past[each.id]}}
        self.past[verified.id] = {**past, verified.log: verified.sequence}
        self.by_id[verified.id] = verified
        log.append(verified)
        self.fold(verified, now)
        return True

    def fold(self, verified, now):
        """Folds a set, unless its time has not come or what it has seen is parked."""
        before = [each[3] for each in verified.dependencies] + [verified.previous] * (verified.previous is not None)
        if verified.clock >> 16 <= now + DRIFT and all(each in self.folded for each in before):
            self.folded[verified.id] = verified

    def wake(self, now):
        """Folds what was parked and is due."""
        for verified in [each for each in self.by_id.values() if each.id not in self.folded]:
            self.fold(verified, now)

    def covers(self, a, b):
        return self.past[a.id].get(b.log, 0) >= b.sequence

    def folded_count(self, log):
        return sum(1 for each in self.logs[log] if each.id in self.folded)

    def heads(self):
        """[device, incarnation, sequence, id, folded sequence] for each log."""
        rows = [(log, sets) for log, sets in sorted(self.logs.items()) if sets]
        return [[*log, len(sets), sets[-1].id, self.folded_count(log)] for log, sets in rows]

    def hashes(self):
        """Heads hash, folded heads hash, digest."""
        heads, folded = b"", b""
        for device, incarnation, sequence, head, folded_sequence in self.heads():
            heads += device + incarnation + sequence.to_bytes(8, "big") + head
            folded += device + incarnation + folded_sequence.to_bytes(8, "big") + head
        return [hashed("heads/v1", heads), hashed("folded-heads/v1", folded),
                merge.digest(self.folded.values())]

    def value(self, kind, record, field):
        of_cell = merge.cells(self.folded.values()).get((kind, record, field))
        return merge.winner(of_cell).value if of_cell else None

    def raw_after(self, device, incarnation, first, last):
        return [each.raw for each in self.logs.get((device, incarnation), [])[first - 1:last]]

    def causal(self, sets):
        order = {each: index for index, each in enumerate(self.by_id)}
        return sorted(sets, key=lambda raw: order[raw.id])

    def draft(self, device, entries, now):
        """What `seal` takes for the next set of a device's log; not yet placed."""
        log = (bytes(device.key.verify_key), device.incarnation)
        own = self.logs.get(log, [])
        past = self.past[own[-1].id] if own else {}
        depends = []
        for other in self.logs:
            count = self.folded_count(other)
            if other != log and count > past.get(other, 0):
                depends.append([*other, count, self.logs[other][count - 1].id])
        require(len(depends) <= 64, "this client writes no join sets")
        newest = max([each.clock for each in [*self.folded.values(), *own[-1:]]], default=0)
        return dict(
            key=device.key, circle=self.circle, incarnation=device.incarnation, lane=self.lane,
            sequence=len(own) + 1, previous=own[-1].id if own else None, clock=max(now << 16, newest + 1),
            dependencies=depends, operation=os.urandom(16), body=body_of(entries))

    def write(self, device, entries, now, **other):
        raw = seal(**{**self.draft(device, entries, now), **other})
        self.place(Verified(raw), now)
        return raw
