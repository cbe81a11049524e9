"""Protocol/session.md, "Missing values", and files.md, "Who may ask for what": what small stores ask for and answer."""

from change_set import CIRCLE, DELETE, ERASE, INSERT, PUT, RECORDS, blake2b
from deterministic_cbor import encode
from generate_merge import ATTACHMENT, PROFILE, PROFILE_ID, TRIP, described
from session_hashes import SmallStore, in_bucket

WANT_VALUES, VALUES = 13, 14
DRIFT = 600_000
FILE_FIELD = 9


class Store(SmallStore):
    """A store at a moment: what is dated too far ahead of it is parked. Some slots came without their contents."""

    def __init__(self, name, now=1_000_000):
        super().__init__(name, RECORDS)
        self.now, self.lacking = now, {}

    def lack(self, sealed, *slots):
        self.lacking[self.sets.index(sealed)] = set(slots)

    def folded(self):
        """The positions of the sets that fold: not dated ahead, and in these stores no other set depends on those."""
        return [i for i, sealed in enumerate(self.sets) if sealed.fields[7] >> 16 <= self.now + DRIFT]

    def erased(self, state, index):
        return {slot for slot, key in enumerate(state.slots(index)) if state.is_erased(key, index)}

    def missing(self):
        """By position, the slots of folded sets that no folded erase explains."""
        state, found = self.state(), {}
        for index in self.folded():
            slots = self.lacking.get(index, set()) - self.erased(state, index)
            if slots:
                found[index] = sorted(slots)
        return found

    def wanted(self, index, slots):
        fields = self.sets[index].fields
        return [fields[2], fields[3], fields[5], self.sets[index].id, sorted(slots)]

    def values(self, index, slots):
        here = self.sets[index].slots
        return [self.sets[index].id, [[slot, here.salts[slot], here.contents[slot]] for slot in sorted(slots)]]

    def answer(self, requested):
        """`requested`: (position, slots)."""
        state, rows = self.state(), []
        for index, slots in requested:
            absent = self.lacking.get(index, set()) | self.erased(state, index)
            here = [slot for slot in slots if slot < len(state.slots(index)) and slot not in absent]
            if here and index in self.folded():
                rows.append(self.values(index, here))
        return encode([VALUES, RECORDS, rows])

    def described(self, *questions, unknown=()):
        """`questions`: (name, [(position, slots)]); `unknown`: wants for sets that are not in the store."""
        answers = [{
            "name": name, "request": encode([
                WANT_VALUES, RECORDS, [self.wanted(*each) for each in requested]]).hex(),
            "answer": self.answer(requested).hex()} for name, requested in questions]
        if unknown:
            request, answer = [WANT_VALUES, RECORDS, list(unknown)], [VALUES, RECORDS, []]
            answers.append({"name": "a set that is not in the store", "request": encode(request).hex(),
                            "answer": encode(answer).hex()})
        missing = [{"set": index, "slots": slots} for index, slots in self.missing().items()]
        return {"name": self.name, "circle": CIRCLE.hex(), "now": self.now,
                "sets": described(self.sets, self.lacking), "missing": missing, "answers": answers}


def two_trips(store, wall=1_000):
    rome, oslo = in_bucket(0x10, 1), in_bucket(0x20, 2)
    return store.write("alice", wall, [INSERT, TRIP, rome, {1: "Rome"}], [INSERT, TRIP, oslo, {1: "Oslo"}])


def stores():
    rome = in_bucket(0x10, 1)
    s = Store("nothing is missing")
    two_trips(s)
    s.write("alice", 1_010, [DELETE, TRIP, rome])
    yield s.described(
        ("both slots of a set", [(0, [0, 1])]), ("one of them", [(0, [1])]),
        ("a slot that the set does not have", [(0, [1, 2, 999])]), ("only such slots", [(0, [7])]),
        ("a set without slots", [(1, [0])]), ("a set with slots and one without", [(1, [0]), (0, [0])]),
        unknown=[[s.sets[0].fields[2], s.sets[0].fields[3], 9, bytes(32), [0]]])

    s = Store("a slot is missing")
    s.lack(two_trips(s), 1)
    s.write("alice", 1_010, [PUT, TRIP, rome, {1: "Roma"}])
    yield s.described(
        ("the slot that is missing", [(0, [1])]), ("both", [(0, [0, 1])]), ("of two sets", [(1, [0]), (0, [0, 1])]))

    s = Store("a slot with an unreadable content is not missing, and is sent")
    s.write("alice", 1_000, [INSERT, TRIP, rome, {1: "Rome"}], contents={0: b"\xff"})
    yield s.described(("the unreadable slot", [(0, [0])]))

    s = Store("a slot was erased")
    two_trips(s)
    s.write("alice", 1_010, [ERASE, TRIP, rome])
    yield s.described(("the erased slot", [(0, [0])]), ("both", [(0, [0, 1])]))

    s = Store("an erase takes a slot that is missing: it is not requested")
    s.lack(two_trips(s), 0, 1)
    s.write("alice", 1_010, [ERASE, TRIP, rome], [PUT, TRIP, rome, {1: "in the trash"}])
    yield s.described(("both", [(0, [0, 1])]), ("what was written with the erase", [(1, [0])]))

    s = Store("an erase that has not seen the set: the slot is requested")
    s.lack(two_trips(s), 0)
    s.write("bob", 1_010, [ERASE, TRIP, rome])
    yield s.described(("both", [(0, [0, 1])]))

    s = Store("a set that is parked: nothing of it is requested or sent")
    two_trips(s)
    s.lack(s.write("bob", 1_000_000 + DRIFT + 1, [PUT, TRIP, rome, {1: "Roma"}],
                   [PUT, TRIP, in_bucket(0x20, 2), {1: "Bergen"}]), 1)
    yield s.described(("a slot of it", [(1, [0])]), ("of both sets", [(1, [0, 1]), (0, [1])]))

    s = Store("a set that is as far ahead as may be folds", now=1_000_000)
    s.lack(two_trips(s, 1_000_000 + DRIFT), 1)
    yield s.described(("both", [(0, [0, 1])]))


def fills():
    """Values for slots that are missing; `flag` is commitment if some of them do not match their commitments."""
    rows = []

    def row(flag, name, change=lambda each: each, slots=(0, 1), missing=()):
        s = Store("")
        s.lack(two_trips(s), 0, 1)
        values = encode([VALUES, RECORDS, [change(s.values(0, slots))]])
        rows.append({
            "flag": flag, "name": name, "circle": CIRCLE.hex(), "sets": described(s.sets, s.lacking),
            "values": values.hex(), "missing": list(missing)})

    def content(each):
        return [each[0], [each[1][0], [1, each[1][1][1], b"\x80"]]]

    def salt(each):
        return [each[0], [[0, bytes(16), each[1][0][2]], each[1][1]]]

    def exchanged(each):
        (_, *one), (_, *other) = each[1]
        return [each[0], [[0, *other], [1, *one]]]

    row("none", "all values of a set")
    row("none", "one of two values", slots=[1], missing=[0])
    row("commitment", "a content that does not match: the other value is kept", content, missing=[1])
    row("commitment", "a salt that does not match", salt, missing=[0])
    row("commitment", "the values of two slots exchanged", exchanged, missing=[0, 1])
    return rows


# Files


def file(number):
    return [200_000, blake2b(b"a file of the vectors", bytes([number]))]


def files():
    """A store, and which files its records name."""
    scan, photo, old, lost, later, other = map(file, range(6))
    one, two, three = (in_bucket(0x30, n) for n in range(3))
    s = Store("which files records name")
    s.write("alice", 1_000, [INSERT, ATTACHMENT, one, {2: "scan", FILE_FIELD: scan}],
            [INSERT, ATTACHMENT, two, {2: "old", FILE_FIELD: old}],
            [INSERT, ATTACHMENT, three, {2: "lost", FILE_FIELD: lost}],
            [INSERT, TRIP, in_bucket(0x10, 1), {1: "Rome", 2: "notes"}])
    s.write("alice", 1_010, [DELETE, ATTACHMENT, one], [PUT, ATTACHMENT, two, {FILE_FIELD: photo}],
            [ERASE, ATTACHMENT, three])
    s.write("bob", 1_005, [PUT, ATTACHMENT, two, {FILE_FIELD: other}],
            [PUT, PROFILE, PROFILE_ID, {1: 1_000, FILE_FIELD: file(6)}])
    s.write("bob", 1_000_000 + DRIFT + 1, [PUT, ATTACHMENT, two, {FILE_FIELD: later}])
    named = [
        (scan, True, "of a record in the trash"), (photo, True, "of the shown value"),
        (other, True, "of a sibling"), (file(6), True, "of the profile"), (old, False, "of a value that was replaced"),
        (lost, False, "of a value that was erased"), (later, False, "of a set that is parked"),
        ([200_001, photo[1]], False, "of another size"), (file(7), False, "that no record names")]
    return [{"name": s.name, "circle": CIRCLE.hex(), "now": s.now, "sets": described(s.sets), "files": [
        {"name": name, "reference": encode(reference).hex(), "named": is_named}
        for reference, is_named, name in named]}]


def document():
    return {"values": list(stores()), "fills": fills(), "files": files()}
