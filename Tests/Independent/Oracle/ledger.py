"""Acknowledged writes, recorded outside the nodes, and whether they lasted."""

from dataclasses import dataclass

from change_set import DELETE, INSERT, PUT, RESTORE
from compare import Difference, describe
from encoding import encode
from store import sets_after, verified
from values import ABSENT

ANY = object()


@dataclass
class Wish:
    """What a command should write: fields of a record, or one of the words `delete` and `restore`."""
    kind: int
    record: bytes
    fields: dict = None
    word: str = None
    is_partial: bool = False

    def is_in(self, entries):
        mine = [entry for entry in entries if entry.key == (self.kind, self.record)]
        if self.word is not None:
            return any(entry.type == {"delete": DELETE, "restore": RESTORE}[self.word] for entry in mine)
        return any(self.fits(entry.fields | life) for entry in mine if entry.type in (PUT, INSERT)
                   for life in ({}, {0: True} if any(other.type in (INSERT, RESTORE) for other in mine) else {}))

    def fits(self, written):
        common = self.fields.keys() & written.keys()
        return (bool(common) if self.is_partial else len(common) == len(self.fields)) and all(
            self.fields[number] is ANY or written[number] is not ABSENT
            and encode(written[number]) == encode(self.fields[number]) for number in common)

    def __str__(self):
        said = self.word or {n: "…" if v is ANY else v for n, v in self.fields.items()}
        return f"{describe((self.kind, self.record))} {said}"


@dataclass
class Line:
    node: str
    device: str
    request: str
    set: object


class Ledger:
    def __init__(self):
        self.lines = []
        self.forgone = []
        # Includes sets that a restore has removed: they come back from other nodes with new numbers.
        self.known = set()

    def acknowledge(self, node, request, wishes):
        """Records a write that a node has just acknowledged, after checking that it is in its log."""
        fresh = self.catch_up(node, request)
        entries = [entry for each in fresh for entry in each.entries]
        for wish in wishes:
            if not wish.is_in(entries):
                raise Difference(f"{node.name} acknowledged {request}, but did not write {wish}; it wrote {entries}")
        return fresh

    def catch_up(self, node, request):
        """The node's own sets that the ledger does not have yet."""
        fresh = sets_after(node.store, node.last)
        node.last = max([node.last, *(number for number, _ in fresh)])
        own = [each for _, each in fresh if each.device.hex() == node.device and each.id not in self.known]
        self.known |= {each.id for each in own}
        self.lines += [Line(node.name, node.device, request, each) for each in own]
        return own

    def deliver(self, client, sets):
        """Records the guest's sets that a node has stored: it reported that both hold the same."""
        self.lines += [
            Line(client.name, client.device.hex(), "a visit", verified(None, *raw.wire)) for raw in sets]

    def forgo(self, lines):
        """Forgets sets that a person has replaced by an older state and that no other node has."""
        self.forgone += lines
        gone = {line.set.id for line in lines}
        self.lines = [line for line in self.lines if line.set.id not in gone]

    def check(self, who, snapshot):
        """Every acknowledged set is in the store, and folded."""
        folded = {each.id for each in snapshot.folded}
        for line in self.lines:
            if line.set.id not in folded:
                raise Difference(
                    f"{who} has lost what {line.node} acknowledged: {line.request}, set {line.set.id.hex()}")
