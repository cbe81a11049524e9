"""Protocol/circle.md, "What folds", and change-set.md, "Causal closure": which stored sets a member has to have folded."""

from collections import defaultdict

from compare import Difference
from guest import DRIFT


class Folding:
    """`wanted`: what folds; `unknown`: what nothing can be said of, because a tip that a cut keeps is not here."""

    def __init__(self, snapshot, wall):
        self.snapshot, self.wall = snapshot, wall
        self.sets = {each.id: each for each in snapshot.stored}
        self.next = defaultdict(list)
        for each in self.sets.values():
            self.next[each.previous].append(each)
        self.wanted, self.unknown, self.excluded = set(), set(), set()
        self.kept = {}
        for each in sorted(self.sets.values(), key=lambda each: each.stamp):
            self.place(each)

    def place(self, each):
        if (each.log, each.lane) not in self.kept:
            self.kept[each.log, each.lane] = self.kept_of(each)
        kept = self.kept[each.log, each.lane]
        if kept is None:
            self.unknown.add(each.id)
        elif not all(each.id in ids for ids in kept):
            self.excluded.add(each.id)
        else:
            seen = [identity for identity in (each.previous, *(d[3] for d in each.dependencies))
                    if identity is not None and identity in self.sets and identity not in self.excluded]
            if any(identity in self.unknown for identity in seen):
                self.unknown.add(each.id)
            elif each.clock >> 16 <= self.wall + DRIFT and all(identity in self.wanted for identity in seen):
                self.wanted.add(each.id)

    def kept_of(self, each):
        """For each cut of a log the sets that lead to its tips; None while a tip is not here."""
        cuts = self.snapshot.membership.cuts(*each.log, each.lane)
        if any(tip not in self.sets for tips in cuts for tip in tips):
            return None
        return [self.leading(tips) for tips in cuts]

    def leading(self, tips):
        found, waiting = set(), list(tips)
        while waiting:
            identity = waiting.pop()
            if identity is not None and identity not in found:
                found.add(identity)
                waiting.append(self.sets[identity].previous)
        return found

    def check(self, who, latest):
        """`latest`: what folds by the latest time that the device's clock has ever shown; that stays folded."""
        folded = {each.id for each in self.snapshot.folded}
        for what, ids in (("does not fold", self.wanted - folded), ("folds", folded - latest.wanted - self.unknown)):
            for identity in ids:
                each = self.sets[identity]
                raise Difference(
                    f"{who} {what} set {each.sequence} of {each.device.hex()[:8]}, incarnation "
                    f"{each.incarnation.hex()[:8]}, lane {each.lane}, which "
                    f"{'a cut excludes' if identity in self.excluded else 'waits' if what == 'folds' else 'nothing holds up'}")

    def tips(self, device):
        """What a revocation of the device has to keep: [[incarnation, lane, tips]]."""
        logs = defaultdict(list)
        for each in self.sets.values():
            if each.device == device and not any(other.log == each.log for other in self.next[each.id]):
                logs[each.incarnation, each.lane].append(each.id)
        return [[incarnation, lane, sorted(tips)] for (incarnation, lane), tips in sorted(logs.items())]
