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
    """The maximal writes that conflict with the winner; `covers(a, b)`: b is in the past of a."""
    best = winner(of_cell)
    maximal = [w for w in of_cell if not any(v is not w and covers(v.set, w.set) for v in of_cell)]
    others = [w for w in maximal if w is not best and encode(w.value) != encode(best.value)]
    return others if len(maximal) > 1 else []


def hashes(folded):
    """[kind, record, what it adds to the digest] for each stored record, ascending."""
    records = {}
    for (kind, record, field), of_cell in cells(folded).items():
        records.setdefault((kind, record), []).append((field, winner(of_cell).set.stamp))
    rows = []
    for (kind, record), stamps in sorted(records.items()):
        parts = [field.to_bytes(4, "big") + stamp for field, stamp in sorted(stamps)]
        rows.append([kind, record, hashed("record-digest/v1", kind.to_bytes(4, "big"), record, *parts)])
    return rows


def sums(folded):
    """The digest in 256 parts, by the first byte of record ids."""
    totals = [0] * 256
    for _, record, value in hashes(folded):
        totals[record[0]] += int.from_bytes(value, "big")
    return [(total % (1 << 256)).to_bytes(32, "big") for total in totals]


def digest(folded):
    total = sum(int.from_bytes(each, "big") for each in sums(folded))
    return (total % (1 << 256)).to_bytes(32, "big")


def parent(kind, fields):
    """The record that field 1 of some kinds names, as Protocol/records.md says: the record is hidden while its
    parent is."""
    value = fields.get(1)
    if kind == 7:
        return tuple(value) if value and value[0] in (2, 3, 4) else None
    return {2: 1, 3: 1, 4: 1, 11: 9}[kind], value


def inventory(folded):
    """Items of Protocol/session.md, "Questions": visible records, without seeds that were never written to."""
    shown, ranks = {}, {}
    for (kind, record, field), of_cell in cells(folded).items():
        best = winner(of_cell)
        fields = shown.setdefault((kind, record), {})
        if is_whole(kind):
            fields.update({number: value for number, value in best.value.items() if number != 0})
            fields[0] = True
            ranks[kind, record] = best.rank
        else:
            fields[field] = best.value
    if NONE in shown:
        shown[NONE].update({0: True, 1: "None"})

    def is_visible(key):
        fields = shown.get(key, {})
        return fields.get(0) is True and (key[0] not in (2, 3, 4, 7, 11) or is_visible(parent(key[0], fields)))

    items = []
    for (kind, record), fields in sorted(shown.items()):
        if is_visible((kind, record)):
            held = {number: value for number, value in fields.items() if number != 0 and value is not None}
            item = [kind, record, hashed("record-contents/v1", encode(held))]
            if (kind, record) in ranks:
                changed, filled, stamp = ranks[kind, record]
                item += [changed, filled, int.from_bytes(stamp[:8], "big"), stamp[8:40], stamp[40:]]
            items.append(item)
    return items
