"""Protocol/merge.md, "Overrides": the required result of `mirror` and `assert`."""

import time

from catalogue import BY_NAME, SEEDS
from change_set import is_whole
from compare import Difference, brief, describe
from model import LIFE
from store import Snapshot


def folded(node):
    return {each.id for each in Snapshot(node.store, rows=False).folded}


class Override:
    """Records what all nodes hold before an override, and checks the result after it."""

    def __init__(self, nodes, node, command, arguments):
        self.node = node
        self.only = BY_NAME[arguments["only"]].number if "only" in arguments else None
        self.is_checked = "trip" not in arguments and self.is_calm(nodes)
        if self.is_checked:
            self.source = node if command == "assert" else next(n for n in nodes if n.name == arguments["from"])
            self.wanted = folded(self.source)
            concerned = nodes if command == "assert" else [node]
            self.held = {each.name: folded(each) for each in concerned}

    @staticmethod
    def is_calm(nodes):
        """Whether nothing is in transit between any nodes."""
        before, steady = [folded(node) for node in nodes], 0
        for _ in range(30):
            time.sleep(0.1)
            now = [folded(node) for node in nodes]
            steady = steady + 1 if now == before else 0
            if steady == 4:
                return True
            before = now
        return False

    def check(self, done, fresh):
        if not self.is_checked:
            return
        # Sets that a device received after it was asked merge as usual.
        asked = {self.node.name} | {peer["name"] for peer in done["peers"]}
        present = {identity for name, ids in self.held.items() if name in asked for identity in ids}
        model = Snapshot(self.node.store, rows=False).model()
        written = {each.id for each in fresh}
        known = self.wanted | present | written
        if self.source is not self.node and folded(self.source) - written != self.wanted:
            # The other device may have received more before or after it was asked what it holds.
            self.is_checked = False
            return
        for key, cells in model.records.items():
            writers = {write.set.id for of_cell in cells.values() for write in of_cell}
            if key[0] >= 8192 or (self.only is not None and key[0] != self.only):
                if writers & written:
                    raise Difference(f"{self.node.name}: {describe(key)} was written, but is outside the scope")
            elif not writers - known and not model.has_erase_outside(key, known):
                # Concurrent writes merge as usual.
                self.record(key, cells, known)

    def record(self, key, cells, known):
        found, wanted = self.state(key, cells, known), self.state(key, cells, self.wanted)
        if found != wanted:
            raise Difference(f"{self.node.name}: {describe(key)} is {brief(found)}, and should be {brief(wanted)}")

    @staticmethod
    def state(key, cells, ids):
        """The visible content of a record from some of the change sets alone; None if it is deleted."""
        best = {}
        for number, of_cell in cells.items():
            counted = [write for write in of_cell if write.set.id in ids]
            if counted:
                best[number] = max(counted, key=lambda write: write.rank)
        if is_whole(key[0]):
            fields = best[0].value if 0 in best else {}
            return {number: repr(value) for number, value in fields.items() if number != 1 and value is not None}
        if key not in SEEDS and (LIFE not in best or best[LIFE].value is False):
            return None
        return {number: repr(write.value) for number, write in best.items()
                if number != LIFE and write.value is not None}
