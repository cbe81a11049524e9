"""Protocol/circle.md, "What folds", and change-set.md, "Causal closure": which stored sets a member must have
folded."""

from collections import defaultdict

from compare import Difference
from guest import DRIFT


class Folding:
    """`wanted`: the sets that fold; `excluded`: the sets that a cut in effect excludes."""

    def __init__(self, snapshot, wall):
        self.snapshot, self.wall = snapshot, wall
        self.sets = {each.id: each for each in snapshot.stored}
        self.next = defaultdict(list)
        for each in self.sets.values():
            self.next[each.previous].append(each)
        self.kept = {}
        self.excluded = {each.id for each in self.sets.values() if self.is_excluded(each)}
        self.wanted = set()
        for each in sorted(self.sets.values(), key=lambda each: each.stamp):
            self.place(each)

    def place(self, each):
        if each.id in self.excluded or each.clock >> 16 > self.wall + DRIFT:
            return
        grounds = [self.newest_allowed(identity) for identity in (each.previous, *(d[3] for d in each.dependencies))]
        if all(ground is None or ground in self.wanted for ground in grounds):
            self.wanted.add(each.id)

    def is_excluded(self, each):
        if (each.log, each.lane) not in self.kept:
            self.kept[each.log, each.lane] = self.kept_of(each)
        return not all(each.id in ids for ids in self.kept[each.log, each.lane])

    def newest_allowed(self, identity):
        """The newest set that no cut excludes, among a set and its ancestors; None if there is none."""
        while identity in self.excluded:
            identity = self.sets[identity].previous
        return identity if identity in self.sets else None

    def kept_of(self, each):
        """The ancestors of the tips of each cut in effect."""
        cuts = self.snapshot.membership.cuts(*each.log, each.lane)
        return [self.leading(tips) for tips in cuts if all(tip in self.sets for tip in tips)]

    def leading(self, tips):
        found, waiting = set(), list(tips)
        while waiting:
            identity = waiting.pop()
            if identity is not None and identity not in found:
                found.add(identity)
                waiting.append(self.sets[identity].previous)
        return found

    def check(self, who, latest):
        """`latest`: the sets that fold by the latest time that the device's clock has ever shown; they stay
        folded."""
        folded = {each.id for each in self.snapshot.folded}
        for what, ids in (("does not fold", self.wanted - folded), ("folds", folded - latest.wanted)):
            for identity in ids:
                each = self.sets[identity]
                raise Difference(
                    f"{who} {what} set {each.sequence} of {each.device.hex()[:8]}, incarnation "
                    f"{each.incarnation.hex()[:8]}, lane {each.lane}, which "
                    f"{'a cut excludes' if identity in self.excluded else 'waits' if what == 'folds' else 'nothing holds up'}")

    def tips(self, device):
        """The logs that a revocation of the device must keep: [[incarnation, lane, tips]]."""
        logs = defaultdict(list)
        for each in self.sets.values():
            if each.device == device and not any(other.log == each.log for other in self.next[each.id]):
                logs[each.incarnation, each.lane].append(each.id)
        return [[incarnation, lane, sorted(tips)] for (incarnation, lane), tips in sorted(logs.items())]
