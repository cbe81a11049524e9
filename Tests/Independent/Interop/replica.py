"""Protocol/change-set.md, "Causal closure" and "Writing a set"; circle.md, "What folds"; session.md, "Hashes"."""

import os

import merge
from change_set import Verified, content_of, seal
from encoding import hashed, require
from membership import QUOTAS, number_of, share

DRIFT = 600_000


class Lane:
    """The change sets of one lane in order of arrival; cuts and the clock decide which are stored and folded."""

    def __init__(self, lane, circle, cuts=lambda device, incarnation, lane: [],
                 quota=lambda device, lane: QUOTAS[lane], line=lambda *log: None):
        self.lane, self.circle, self.cuts_of, self.quota_of, self.line_of = lane, circle, cuts, quota, line
        self.by_id, self.numbers, self.pasts, self.folded, self.cut = {}, {}, {}, {}, {}
        # Record → the folded sets that erase it.
        self.erases = {}

    # Placing

    def place(self, verified, now):
        """Returns whether the set was new. Refused means that it is invalid, KeyError that its past is missing."""
        require(verified.circle == self.circle and verified.lane == self.lane, "circle and lane")
        if verified.id in self.by_id:
            return False
        bytes_max = share(self.quota_of(verified.device, self.lane), number_of(verified.incarnation))
        if verified.log_bytes + verified.declared > bytes_max:
            # Valid, but not stored before a grant admits it.
            raise KeyError("beyond the quota")
        if verified.previous is not None:
            before = self.by_id[verified.previous]
            if (before.log, before.sequence) != (verified.log, verified.sequence - 1):
                raise KeyError("no such predecessor")
            require(verified.clock > before.clock, "clock rule")
            require(verified.log_bytes == before.log_bytes + before.declared, "log bytes")
        for device, incarnation, sequence, each in verified.dependencies:
            if self.is_tolerated((device, incarnation), each, sequence):
                continue
            known = self.by_id[each]
            if (known.log, known.sequence) != ((device, incarnation), sequence):
                raise KeyError("no such dependency")
            if verified.clock <= known.clock:
                # Dated before a dependency: another cut may make it valid, so it is left out and not rejected.
                raise KeyError("dated before a dependency")
        self.numbers[verified.id] = len(self.numbers)
        self.by_id[verified.id] = verified
        self.pasts[verified.id] = self.past(verified)
        if self.cuts_of(*verified.log, self.lane):
            self.judge(now)
        else:
            self.fold(verified, now)
        return True

    def past(self, verified):
        """A set and its past, one bit each, including an excluded set and its dependencies if they are stored."""
        past = self.pasts.get(verified.previous, 0) | 1 << self.numbers[verified.id]
        for each in [each[3] for each in verified.dependencies]:
            if each in self.by_id and self.is_stored(self.by_id[each]):
                for seen in self.path(each):
                    past |= 1 << self.numbers[seen.id]
        return past

    def fold(self, verified, now):
        """Folds a set, unless it is dated too far ahead, its past is parked, or a cut excludes it."""
        before = [each[3] for each in verified.dependencies] + [verified.previous] * (verified.previous is not None)
        grounds = [self.newest_allowed(each) for each in before if each in self.by_id]
        is_free = all(each is None or each in self.folded for each in grounds)
        if verified.clock >> 16 <= now + DRIFT and is_free and not self.is_cut(verified):
            self.folded[verified.id] = self.by_id[verified.id]
            self.erase(verified)

    def wake(self, now):
        """Folds parked sets that are due."""
        for verified in [each for each in self.by_id.values() if each.id not in self.folded]:
            self.fold(verified, now)

    # Erases

    def erase(self, verified):
        """Drops the values that a newly folded set erases, and those of its own that another folded set erases."""
        for key in merge.erased(verified):
            self.erases.setdefault(key, []).append(verified)
            for each in list(self.by_id.values()):
                if each.id != verified.id and self.covers(verified, each):
                    self.drop(each.id, key)
        for key in verified.slots:
            if any(each.id != verified.id and self.covers(each, verified) for each in self.erases.get(key, [])):
                self.drop(verified.id, key)

    def drop(self, id, key):
        """Replaces what a set writes to a record by its commitment: the values are never served again."""
        held = self.by_id[id]
        slot = held.slots.get(key)
        if slot is not None and slot not in held.values.missing:
            self.by_id[id] = held.without(slot)
            if id in self.folded:
                self.folded[id] = self.by_id[id]

    # Cuts

    def judge(self, now):
        """Cuts, or the sets that they exclude, may have changed: evaluates and folds everything again."""
        self.cut, self.folded, self.erases = {}, {}, {}
        for each in self.by_id.values():
            self.pasts[each.id] = self.past(each)
        self.wake(now)

    def cuts(self, log):
        """The sets that each cut of a log keeps; None if a tip is missing."""
        if log not in self.cut:
            self.cut[log] = [self.kept(tips) for tips in self.cuts_of(*log, self.lane)]
        return self.cut[log]

    def kept(self, tips):
        if not all(tip in self.by_id for tip in tips):
            return None
        return {each.id for tip in tips for each in self.path(tip)}

    def is_cut(self, verified):
        """Whether a cut in effect excludes a set."""
        if self.is_beyond(verified.log, verified.sequence):
            return True
        return any(kept is not None and verified.id not in kept for kept in self.cuts(verified.log))

    def is_beyond(self, log, sequence):
        """Whether the line of a branch proof excludes a set."""
        line = self.line_of(*log, self.lane)
        return line is not None and sequence > line

    def is_stored(self, verified):
        """Ancestors of a tip of any cut are kept; while a tip is missing, all sets are."""
        cuts = self.cuts(verified.log)
        if self.is_beyond(verified.log, verified.sequence):
            return False
        return not cuts or None in cuts or any(verified.id in kept for kept in cuts)

    def is_tolerated(self, log, dependency, sequence):
        """Whether a cut or a line excludes a dependency; a missing one is excluded once a cut is in effect."""
        if self.is_beyond(log, sequence):
            return True
        known = self.by_id.get(dependency)
        return any(cut is not None for cut in self.cuts(log)) if known is None else self.is_cut(known)

    def newest_allowed(self, id):
        """The newest stored set that no cut excludes, among a set and its ancestors; None if there is none."""
        if not self.is_stored(self.by_id[id]):
            return None
        while id is not None and self.is_cut(self.by_id[id]):
            id = self.by_id[id].previous
        return id

    # Looking

    def covers(self, a, b):
        """Whether b is in the past of a, or is a."""
        return self.pasts[a.id] >> self.numbers[b.id] & 1 == 1

    def stored(self):
        return [each for each in self.by_id.values() if self.is_stored(each)]

    def tips(self):
        """The newest set of each branch of each log, as heads order them."""
        stored = self.stored()
        before = {each.previous for each in stored}
        return sorted((each for each in stored if each.id not in before), key=lambda s: (s.log, s.sequence, s.id))

    def path(self, tip):
        """The sets of a branch, from the first of the log to its tip."""
        path = [self.by_id[tip]]
        while path[-1].previous is not None:
            path.append(self.by_id[path[-1].previous])
        return path[::-1]

    def heads(self):
        """[device, incarnation, sequence, id, folded sequence] for each branch of each log."""
        rows = []
        for tip in self.tips():
            folded = sum(1 for each in self.path(tip.id) if each.id in self.folded)
            rows.append([*tip.log, tip.sequence, tip.id, folded])
        return rows

    def hashes(self):
        """Heads hash, folded heads hash, digest."""
        heads, folded = b"", b""
        for device, incarnation, sequence, head, folded_sequence in self.heads():
            heads += device + incarnation + sequence.to_bytes(8, "big") + head
            folded += device + incarnation + folded_sequence.to_bytes(8, "big") + head
        return [hashed("heads/v1", heads), hashed("folded-heads/v1", folded),
                merge.digest(self.folded.values())]

    def value(self, kind, record, field):
        """The shown value: None if the field was never written, absent if its value is."""
        of_cell = merge.cells(self.folded.values()).get((kind, record, field))
        return merge.winner(of_cell).value if of_cell else None

    def siblings(self, cell):
        return merge.siblings(merge.cells(self.folded.values())[cell], self.covers, self.erases.get(cell[:2], []))

    def conflict(self, cell):
        """The winner and the losers of a cell."""
        of_cell = merge.cells(self.folded.values())[cell]
        return merge.winner(of_cell), merge.losers(of_cell, self.covers, self.erases.get(cell[:2], []))

    # Exchanging

    def answer(self, question):
        """The content of the answer to a question, in one page."""
        form, *more = question
        place = tuple(more[-1]) if more and more[-1] else (0, b"")
        if form == 0:
            return [form, self.heads()]
        if form == 1:
            return [form, b"".join(merge.sums(self.folded.values()))]
        rows = merge.hashes(self.folded.values()) if form == 2 else merge.inventory(self.folded.values())
        return [form, [row for row in rows if tuple(row[:2]) > place and (form == 3 or row[1][0] == more[0])]]

    def serve(self, wants):
        """The requested sets, in causal order."""
        found = {}
        for device, incarnation, first, through, tip in wants:
            if tip in self.by_id:
                found.update({each.id: each for each in self.path(tip) if first <= each.sequence <= through})
        return self.causal(found.values())

    def causal(self, sets):
        return [each.raw for each in sorted(sets, key=lambda each: self.numbers[each.id])]

    # Missing values

    def missing(self):
        """Folded set → its missing slots that no folded erase explains."""
        found = {}
        for each in self.folded.values():
            erased = {slot for key, slot in each.slots.items() if any(
                eraser.id != each.id and self.covers(eraser, each) for eraser in self.erases.get(key, []))}
            if slots := [slot for slot in each.values.missing if slot not in erased]:
                found[each.id] = slots
        return found

    def values_of(self, sets):
        """Those of the requested slots that are here, of folded sets, with their salts."""
        found = []
        for *_, id, slots in sets:
            held = self.by_id[id].values.slots if id in self.folded else []
            here = [[slot, *held[slot]] for slot in slots if slot < len(held) and type(held[slot]) is tuple]
            if here:
                found.append([id, here])
        return found

    def fill(self, id, slots):
        """Adds the contents of slots that match their commitments; all must."""
        right = {slot: each for slot, *each in slots if self.by_id[id].values.matches(slot, each)}
        self.by_id[id] = self.by_id[id].filled({slot: tuple(each) for slot, each in right.items()})
        self.folded[id] = self.by_id[id]
        require(len(right) == len(slots), "commitment of a value")

    # Writing

    def draft(self, device, entries, now, after=None):
        """The arguments of `seal` for the next set of a device's log, or of the branch after a set; not stored
        yet."""
        log = (bytes(device.key.verify_key), device.incarnation)
        own = [each for each in self.tips() if each.log == log] if after is None else [after]
        past = self.pasts[own[-1].id] if own else 0
        depends = {}
        for each in self.folded.values():
            if each.log != log and not past >> self.numbers[each.id] & 1:
                depends[each.id] = [*each.log, each.sequence, each.id]
        for each in [self.by_id[each] for each in depends]:
            depends.pop(each.previous, None)
        require(len(depends) <= 64, "this client writes no join sets")
        newest = max([each.clock for each in [*self.folded.values(), *own[-1:]]], default=0)
        return dict(
            key=device.key, circle=self.circle, incarnation=device.incarnation, lane=self.lane,
            sequence=own[-1].sequence + 1 if own else 1, previous=own[-1].id if own else None,
            clock=max(now << 16, newest + 1), dependencies=list(depends.values()), operation=os.urandom(16),
            log_bytes=own[-1].log_bytes + own[-1].declared if own else 0, content=content_of(entries))

    def write(self, device, entries, now, **other):
        raw = seal(**{**self.draft(device, entries, now), **other})
        self.place(Verified(raw), now)
        return raw
