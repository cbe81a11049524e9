"""Protocol/merge.md, "Operations and undo": the required result of an undo, computed from the change sets."""

from collections import defaultdict

from catalogue import uuid_text
from change_set import is_whole
from compare import Difference, brief, describe
from model import LIFE
from store import Snapshot


def check_undo(node, document, fresh, is_forced):
    """`fresh`: the sets that the undo wrote. Their past is what their author had folded."""
    model = Snapshot(node.store, rows=False).model()
    undo = {each.id for each in fresh}
    seen = {each.id for each in model.ordered} - undo
    for lane in {each.lane for each in fresh}:
        first = next(each for each in fresh if each.lane == lane)
        seen = {i for i in seen if model.sets[i].lane != lane or model.covers(first, model.sets[i])}
    key = bytes.fromhex(document["operation"]["id"].replace("-", "")), bytes.fromhex(document["operation"]["device"])
    kept = {row["id"] for row in document["left"] if row["reason"] == "in_use"}
    told = {row["id"] for row in document["left"]}
    Undone(model, Operations(model, seen), key, seen, undo, kept, told, is_forced, node.name).check()


class Operations:
    """Operations by (id, device), which of them count, and their groups."""

    def __init__(self, model, seen):
        self.sets, self.undos, self.targets = defaultdict(set), defaultdict(set), {}
        for each in (model.sets[identity] for identity in seen):
            key = each.operation, each.device
            self.sets[key].add(each.id)
            if each.verb == "undo" and each.target:
                self.undos[each.target].add(key)
                self.targets[key] = each.target

    @staticmethod
    def of(each):
        return each.operation, each.device

    def counts(self, key, asked=frozenset()):
        return not any(
            self.counts(undo, asked | {undo}) for undo in self.undos[key[0]] if undo not in asked)

    def group(self, key):
        found, waiting = {key}, [key]
        while waiting:
            for undo in self.undos[waiting.pop()[0]] - found:
                found.add(undo)
                waiting.append(undo)
        return set().union(*(self.sets[each] for each in found))

    def void_groups(self, key):
        """Groups that contain an operation and whose first operation does not count, the widest first."""
        chain, waiting = [], [key]
        while waiting:
            each = waiting.pop()
            if each not in chain:
                chain.append(each)
                waiting += [other for other in self.sets if other[0] == self.targets.get(each)]
        return [self.group(each) for each in reversed(chain) if not self.counts(each)]


class Undone:
    def __init__(self, model, operations, key, seen, undo, kept, told, is_forced, who):
        self.model, self.operations, self.seen, self.undo = model, operations, seen, undo
        self.kept, self.told, self.is_forced, self.who = kept, told, is_forced, who
        self.own, self.group = operations.sets[key], operations.group(key)

    def best(self, of_cell, ids):
        return max((write for write in of_cell if write.set.id in ids), key=lambda write: write.rank, default=None)

    def check(self):
        for key, cells in self.model.records.items():
            if any(each.id in self.own for each in self.model.erases.get(key, [])):
                self.untouched(key, cells)
                continue
            for number, of_cell in cells.items():
                writers = {write.set.id for write in of_cell}
                if writers & self.undo and not writers & self.own:
                    raise Difference(f"{self.who}: {describe(key)}: undo writes cell {number}, which it does not undo")
            mine = [number for number, of_cell in cells.items() if any(w.set.id in self.own for w in of_cell)]
            if mine and not self.model.has_erase_outside(key, self.seen | self.undo):
                self.record(key, cells, mine)

    def untouched(self, key, cells):
        """Nothing of a record that the operation erased can be restored."""
        if any(write.set.id in self.undo for of_cell in cells.values() for write in of_cell):
            raise Difference(f"{self.who}: {describe(key)}: undo writes a record that the operation erased")
        if uuid_text(key[1]) not in self.told:
            raise Difference(f"{self.who}: {describe(key)}: the operation erased it, and this was not reported")

    def record(self, key, cells, mine):
        self.erased = set()
        held = {number: self.best(cells[number], self.seen) for number in mine}
        life = self.wanted(key, LIFE, cells[LIFE]) if LIFE in mine else None
        is_created = (not is_whole(key[0]) and LIFE in mine and not (life and life.value) and not any(
            write.value is True for write in cells[LIFE] if write.set.id in self.seen - self.group))
        # The fields of a record that the operation created stay as they are, whatever has changed since.
        wanted = {LIFE: life} if LIFE in mine else {}
        for number in mine:
            if number != LIFE:
                wanted[number] = held[number] if is_created else self.wanted(key, number, cells[number])
        is_trashed = (not is_whole(key[0]) and LIFE in mine and held[LIFE].value is True
                      and not (wanted[LIFE] and wanted[LIFE].value))
        if self.erased and not is_trashed and uuid_text(key[1]) not in self.told:
            raise Difference(f"{self.who}: {describe(key)}: values were erased, and this was not reported")
        for number in mine:
            after = self.best(cells[number], self.seen | self.undo)
            if uuid_text(key[1]) in self.kept or (is_created and number != LIFE):
                wanted[number] = held[number]
            if self.said(key, number, after) != self.said(key, number, wanted[number]):
                raise Difference(
                    f"{self.who}: {describe(key)}, field {number}, is {brief(after and after.value)} after undo, not "
                    f"{brief(wanted[number] and wanted[number].value)}")

    def wanted(self, key, number, of_cell):
        """The write that the cell must show; None if there is none."""
        counted = self.seen
        held = self.best(of_cell, counted)
        while (shown := self.best(of_cell, counted)) is not None:
            if shown.set.id in self.group:
                return self.unless_absent(key, number, self.best(of_cell, counted - self.group), held)
            for void in self.operations.void_groups(self.operations.of(shown.set)):
                without = self.best(of_cell, counted - void)
                if self.said(key, number, without) == self.said(key, number, shown):
                    counted = counted - void
                    break
            else:
                break
        before = self.before(of_cell)
        if self.said(key, number, before) != self.said(key, number, held):
            if uuid_text(key[1]) not in self.told and not self.is_forced:
                raise Difference(
                    f"{self.who}: {describe(key)}, field {number}, was changed since, and this was not reported")
            if self.is_forced:
                return self.unless_absent(key, number, before, held)
        return held

    def unless_absent(self, key, number, write, held):
        """A value that was erased can't come back, so what is shown stays."""
        if write is None or not write.is_absent or self.said(key, number, write) == self.said(key, number, held):
            return write
        self.erased.add(number)
        return held

    def before(self, of_cell):
        """What the author of the operation had seen."""
        first = min((self.model.sets[i] for i in self.own if any(w.set.id == i for w in of_cell)),
                    key=lambda each: each.stamp)
        past = {i for i in self.seen - self.own if self.model.covers(first, self.model.sets[i])}
        return self.best(of_cell, past)

    @staticmethod
    def said(key, number, write):
        """What people see: no value and null are equal, and so are a missing life and *dead*."""
        if is_whole(key[0]):
            return {} if write is None else {
                n: repr(value) for n, value in write.value.items() if n != 1 and value is not None}
        if number == LIFE:
            return write is not None and write.value
        return None if write is None or write.value is None else write.content
