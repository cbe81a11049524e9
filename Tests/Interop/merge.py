"""Protocol/merge.md: the state of a set of folded change sets, computed from all writes at once."""

from dataclasses import dataclass

from change_set import DELETE, PUT, is_whole
from encoding import encode, hashed

NONE = (5, b"waymark\0" + (1).to_bytes(8, "big"))
EMPTY = (b"\xf6", b"\x60", b"\x40", b"\x80")


@dataclass(frozen=True)
class Write:
    set: object
    value: object
    rank: tuple


def writes(verified):
    """(cell, write) for each cell that a set writes; a cell is (kind, record, field)."""
    for entry in verified.entries:
        kind, record = entry[1], entry[2]
        if is_whole(kind):
            if entry[0] == PUT:
                yield (kind, record, 0), Write(verified, entry[3], whole_rank(verified, entry[3]))
            continue
        fields = entry[3] if entry[0] == PUT else {0: entry[0] != DELETE}
        for number, value in fields.items():
            if (kind, record) != NONE or number > 1:
                yield (kind, record, number), Write(verified, value, (verified.stamp,))


def whole_rank(verified, fields):
    changed = fields.get(1, 0)
    changed = changed if type(changed) is int else 0
    filled = sum(1 for number, value in fields.items() if number != 0 and encode(value) not in EMPTY)
    return min(changed, verified.clock >> 16), filled, verified.stamp


def cells(folded):
    table = {}
    for each in folded:
        for cell, write in writes(each):
            table.setdefault(cell, []).append(write)
    return table


def winner(of_cell):
    return max(of_cell, key=lambda write: write.rank)


def rivals(of_cell, covers):
    """The maximal writes that the winner is in conflict with; `covers(a, b)`: b is in the past of a."""
    best = winner(of_cell)
    maximal = [w for w in of_cell if not any(v is not w and covers(v.set, w.set) for v in of_cell)]
    others = [w for w in maximal if w is not best and encode(w.value) != encode(best.value)]
    return others if len(maximal) > 1 else []


def digest(folded):
    records = {}
    for (kind, record, field), of_cell in cells(folded).items():
        records.setdefault((kind, record), []).append((field, winner(of_cell).set.stamp))
    total = 0
    for (kind, record), stamps in records.items():
        parts = [field.to_bytes(4, "big") + stamp for field, stamp in sorted(stamps)]
        total += int.from_bytes(hashed("record-digest/v1", kind.to_bytes(4, "big"), record, *parts), "big")
    return (total % (1 << 256)).to_bytes(32, "big")
