"""Protocol/merge.md: the state of a set of folded change sets, computed from all writes at once."""

from dataclasses import dataclass

from change_set import ERASE, is_whole
from encoding import encode, hashed
from values import ABSENT

NONE = (5, b"waymark\0" + (1).to_bytes(8, "big"))


@dataclass(frozen=True)
class Write:
    set: object
    # Of a whole record, a map of its fields.
    value: object
    rank: tuple

    @property
    def is_absent(self):
        return ABSENT in (self.value.values() if type(self.value) is dict else [self.value])

    def says(self):
        """What is compared to decide whether two writes are equal."""
        value = self.value
        if type(value) is dict:
            return encode({number: shown(each) for number, each in value.items() if number != 1})
        return encode(shown(value))


def shown(value):
    """An absent value is read and compared as null."""
    return None if value is ABSENT else value


def writes(verified):
    """(cell, write) for each cell that a set writes; a cell is (kind, record, field)."""
    for entry in verified.entries:
        kind, record = entry.key
        if is_whole(kind):
            if entry.rank is not None:
                yield (kind, record, 0), Write(verified, entry.fields, whole_rank(verified, entry))
            continue
        life = verified.life(entry)
        fields = entry.fields if life is None else {0: life, **entry.fields}
        for number, value in fields.items():
            if (kind, record) != NONE or number > 1:
                yield (kind, record, number), Write(verified, value, (verified.stamp,))


def whole_rank(verified, entry):
    changed, filled = entry.rank
    return min(changed, verified.clock >> 16), filled, verified.stamp


def erased(verified):
    """The records whose earlier values a set erases."""
    return [entry.key for entry in verified.entries if entry.type == ERASE]


def cells(folded):
    table = {}
    for each in folded:
        for cell, write in writes(each):
            table.setdefault(cell, []).append(write)
    return table


def winner(of_cell):
    return max(of_cell, key=lambda write: write.rank)


def siblings(of_cell, covers, erases=()):
    """The maximal writes that have not won; `covers(a, b)`: b is in the past of a. A write in the past of one of
    `erases`, the sets that erase the record, is none."""
    best = winner(of_cell)
    maximal = [w for w in of_cell if not any(v is not w and covers(v.set, w.set) for v in of_cell)]
    return [w for w in maximal if w is not best and not any(
        each.id != w.set.id and covers(each, w.set) for each in erases)]


def losers(of_cell, covers, erases=()):
    """The siblings that conflict with the winner."""
    best, others = winner(of_cell), siblings(of_cell, covers, erases)
    is_seen = any(covers(each.set, best.set) for each in others)
    if is_seen and len({each.says() for each in others}) == 1:
        return []
    return [each for each in others if each.says() != best.says()]


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


def contents_hash(fields):
    """The hash of a visible record: of its fields that are not null, without its life."""
    held = {number: value for number, value in fields.items() if number != 0 and value is not None}
    return hashed("record-contents/v1", encode(held))


def inventory(folded):
    """Items of Protocol/session.md, "Questions": visible records, without seeds that were never written to."""
    records, ranks = {}, {}
    for (kind, record, field), of_cell in cells(folded).items():
        best = winner(of_cell)
        fields = records.setdefault((kind, record), {})
        if is_whole(kind):
            fields.update({0: True, **{number: shown(value) for number, value in best.value.items()}})
            ranks[kind, record] = best.rank
        else:
            fields[field] = shown(best.value)
    if NONE in records:
        records[NONE].update({0: True, 1: "None"})

    def is_visible(key):
        fields = records.get(key, {})
        return fields.get(0) is True and (key[0] not in (2, 3, 4, 7, 11) or is_visible(parent(key[0], fields)))

    items = []
    for (kind, record), fields in sorted(records.items()):
        if is_visible((kind, record)):
            item = [kind, record, contents_hash(fields)]
            if (kind, record) in ranks:
                changed, filled, stamp = ranks[kind, record]
                item += [changed, filled, int.from_bytes(stamp[:8], "big"), stamp[8:40], stamp[40:]]
            items.append(item)
    return items
