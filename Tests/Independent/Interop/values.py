"""Protocol/change-set.md, "Values": slots, salts and commitments. A value that is missing or unreadable is absent."""

import hashlib

from encoding import Refused, check_value, decode, decode_counted, encode, hashed, is_bytes, prefix, require

# CBOR items in the content of one slot.
ITEMS_MAX = 20_000
# How much longer each slot may be if its salt or commitment is sent with it.
SLOT_BYTES_MORE = 36


class Absent:
    """Stands in for the value of a field that was written, but is missing or unreadable."""

    def __repr__(self):
        return "absent"


ABSENT = Absent()


def salts(seed, count):
    """The salts of a set's slots; four derive from each hash of the seed."""
    data = b"".join(hashlib.blake2b(prefix("salts/v1") + seed + number.to_bytes(4, "big")).digest()
                    for number in range((count + 3) // 4))
    return [data[16 * slot:16 * slot + 16] for slot in range(count)]


def commitment(salt, content):
    return hashed("commitment/v1", salt, content)


class Values:
    """The slots of a set. A slot is a pair of salt and content, or the commitment of a missing one. If all salts
    derive from a seed, the seed is sent instead of them."""

    def __init__(self, slots, seed=None):
        self.slots, self.seed = slots, seed

    @classmethod
    def seeded(cls, seed, contents):
        return cls(list(zip(salts(seed, len(contents)), contents)), seed)

    @classmethod
    def read(cls, data):
        if not data:
            return cls([])
        parts = decode(data)
        require(type(parts) is list and len(parts) in (1, 2) and type(parts[-1]) is list, "form of the values")
        if len(parts) == 2:
            require(is_bytes(parts[0], 16) and all(type(each) is bytes for each in parts[1]), "seeded values")
            return cls.seeded(*parts)
        return cls([read_slot(each) for each in parts[0]])

    @property
    def data(self):
        if not self.slots:
            return b""
        if self.seed is None:
            return encode([self.slots])
        return encode([self.seed, [content for _, content in self.slots]])

    @property
    def commitments(self):
        return [each if type(each) is bytes else commitment(*each) for each in self.slots]

    @property
    def missing(self):
        return [number for number, each in enumerate(self.slots) if type(each) is bytes]

    def salted(self):
        """The same values with salts instead of the seed."""
        return Values(self.slots)

    def without(self, gone):
        """The values without some slots."""
        kept = self.commitments
        return Values([kept[number] if number in gone else each for number, each in enumerate(self.slots)])

    def filled(self, contents):
        """The values with contents in some of the missing slots."""
        for slot, content in contents.items():
            require(self.matches(slot, content), "commitment of a value")
        return Values([contents.get(number, each) for number, each in enumerate(self.slots)])

    def matches(self, slot, content):
        """Whether salt and content are those of a missing slot."""
        return self.slots[slot] == commitment(*content)

    def fields(self, slot, numbers):
        """Field number → value. If the slot is missing or not the array that it should be, all are absent."""
        found = None if type(self.slots[slot]) is bytes else read_content(self.slots[slot][1], len(numbers))
        return dict(zip(numbers, found or [ABSENT] * len(numbers)))


def read_slot(slot):
    if type(slot) is bytes:
        require(len(slot) == 32, "commitment of a missing slot")
        return slot
    require(type(slot) is list and len(slot) == 2 and is_bytes(slot[0], 16) and type(slot[1]) is bytes, "slot")
    return tuple(slot)


def read_content(content, count):
    """The field values in the content of a slot; None if it is anything else."""
    try:
        found, items = decode_counted(content)
        require(type(found) is list and len(found) == count and items <= ITEMS_MAX, "content of a slot")
        for value in found:
            check_value(value)
    except Refused:
        return None
    return found
