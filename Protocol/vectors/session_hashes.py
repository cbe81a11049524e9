"""Protocol/session.md, "Hashes" and "Questions": hashes of a session, and what a small store answers."""

from change_set import (
    CIRCLE, DELETE, ERASE, INSERT, PUT, RECORDS, SETTINGS, Log, alice, blake2b, bob, carol, has_fields, in_order,
    is_whole, operation)
from deterministic_cbor import encode
from generate_merge import ATTACHMENT, LODGING, NONE_ID, ORGANIZATION, PROFILE, PROFILE_ID, TRIP, UNKNOWN, State
from generate_merge import described, digests, rank
from statements import (
    ALICE, BOB, CAROL, GENESIS, certificate, entitlement, grant, revocation, statement, statement_id)

CERTIFICATES = b"waymark/certificates/v1\x00"
HEADS, FOLDED_HEADS = b"waymark/heads/v1\x00", b"waymark/folded-heads/v1\x00"
STATE, CONTENTS = b"waymark/state/v1\x00", b"waymark/record-contents/v1\x00"
SETTING, HEADS_MESSAGE, QUERY, ANSWER = 8192, 5, 11, 12
# The parent field of the kinds that the stores here have: Protocol/records.md, "Kinds".
PARENTS = {LODGING: TRIP, ATTACHMENT: None}


def certificates_hash(held):
    return blake2b(CERTIFICATES, b"".join(sorted({statement_id(each) for each in held})))


def heads_hash(prefix, heads, sequence):
    ordered = sorted(heads, key=lambda head: (head[0], head[1], head[2], head[3]))
    return blake2b(prefix, b"".join(
        head[0] + head[1] + sequence(head).to_bytes(8, "big") + head[3] for head in ordered))


def stored_hash(heads):
    return heads_hash(HEADS, heads, lambda head: head[2])


def folded_hash(heads):
    return heads_hash(FOLDED_HEADS, heads, lambda head: head[4])


def state_hash(certificates, lanes):
    """`lanes`: lane -> [heads hash, folded heads hash, digest], for each lane that is open."""
    return blake2b(STATE, certificates + b"".join(bytes([lane]) + b"".join(lanes[lane]) for lane in sorted(lanes)))


def contents_hash(fields):
    return blake2b(CONTENTS, encode({
        number: value for number, value in sorted(fields.items()) if number != 0 and value is not None}))


# Certificates, heads and state.


def certificates():
    bob, carol_ = certificate(ALICE, "bob", 1), certificate(BOB, "carol", 0)
    newer = statement(11, {0: 1, 1: statement_id(GENESIS), 2: bytes(BOB.verify_key), 3: "new"}, BOB)
    cases = {
        "the genesis alone": [GENESIS],
        "two statements": [GENESIS, bob],
        "the same two in another order": [bob, GENESIS],
        "statements that count and that do not, in any order": [
            carol_, revocation(ALICE, "carol"), entitlement(), GENESIS, grant(CAROL, "bob"), newer, bob],
    }
    return [{"name": name, "statements": [each.hex() for each in held], "hash": certificates_hash(held).hex()}
            for name, held in cases.items()]


def a_head(device, sequence, folded, number, incarnation=None):
    return [device.key, incarnation or device.incarnation, sequence, number.to_bytes(32, "big"), folded]


def heads():
    other = bytes([0x20]) + bytes(15)
    cases = {
        "no log": [],
        "one log": [a_head(alice, 5, 5, 1)],
        "one log, nothing of it folded": [a_head(alice, 5, 0, 1)],
        "one log, two sets of it parked": [a_head(alice, 5, 3, 1)],
        "the greatest sequence": [a_head(alice, 2**63 - 1, 2**63 - 1, 1)],
        "several logs, in any order": [
            a_head(carol, 7, 7, 9), a_head(alice, 5, 5, 1), a_head(bob, 300, 300, 4), a_head(alice, 2, 2, 3, other)],
        "the same in another order": [
            a_head(alice, 2, 2, 3, other), a_head(bob, 300, 300, 4), a_head(carol, 7, 7, 9), a_head(alice, 5, 5, 1)],
        "a forked log: the branch with fewer sets comes first": [a_head(bob, 9, 9, 1), a_head(bob, 8, 6, 2)],
        "a forked log: branches with as many sets come in order of their ids": [
            a_head(bob, 8, 8, 2), a_head(bob, 8, 7, 1), a_head(alice, 1, 1, 7)],
    }
    return [{"name": name, "bytes": encode([HEADS_MESSAGE, RECORDS, True, rows]).hex(),
             "heads": stored_hash(rows).hex(), "folded": folded_hash(rows).hex()} for name, rows in cases.items()]


def states():
    held = certificates_hash([GENESIS])
    of_settings, of_records = [a_head(alice, 3, 3, 1)], [a_head(alice, 5, 4, 2)]
    settings = [stored_hash(of_settings), folded_hash(of_settings), b"\x11" * 32]
    records = [stored_hash(of_records), folded_hash(of_records), b"\x22" * 32]
    empty = [stored_hash([]), folded_hash([]), bytes(32)]
    cases = {
        "no lane is open": {},
        "settings alone": {SETTINGS: settings},
        "both lanes": {SETTINGS: settings, RECORDS: records},
        "both lanes, empty": {SETTINGS: empty, RECORDS: empty},
    }
    return [{
        "name": name, "certificates": held.hex(), "hash": state_hash(held, lanes).hex(),
        "lanes": [{"lane": lane, "heads": heads.hex(), "folded": folded.hex(), "digest": digest.hex()}
                  for lane, (heads, folded, digest) in lanes.items()]} for name, lanes in cases.items()]


def contents():
    cases = {
        "no field": {},
        "a life alone": {0: True},
        "one field": {0: True, 1: "Rome"},
        "fields in any order": {6: False, 1: "Rome", 0: True, 300: [1, b"x"]},
        "a field that is null": {0: True, 1: "Rome", 2: None},
        "fields that are empty and not null": {0: True, 1: "", 2: b"", 3: [], 4: 0},
        "a profile without a life": {1: 1_000, 2: "Ada", 3: 1.5},
    }
    return [{
        "name": name, "hash": contents_hash(fields).hex(),
        "fields": [{"number": number, "content": encode(value).hex()} for number, value in fields.items()]}
        for name, fields in cases.items()]


# Stores and their answers.


def in_bucket(bucket, number):
    return bytes([bucket]) + bytes(14) + bytes([number])


class SmallStore:
    """Sets in causal order, and what a device that has folded them answers."""

    def __init__(self, name, lane):
        self.name, self.lane = name, lane
        self.logs = {device.name: Log(device, lane) for device in (alice, bob)}
        self.sets, self.entries = [], []

    def write(self, name, wall, *entries, seen=(), contents=None):
        log = self.logs[name]
        for sealed in seen:
            log.see(sealed)
        ordered = in_order(entries)
        [sealed] = log.write("edit", ordered, wall=wall, operation=operation(len(self.sets)), contents=contents)
        self.sets.append(sealed)
        self.entries.append(ordered)
        return sealed

    def state(self):
        return State(self.sets, self.entries)

    def heads(self):
        rows = []
        for log in self.logs.values():
            if log.sequence:
                rows.append([log.device.key, log.device.incarnation, log.sequence, log.previous, log.sequence])
        return sorted(rows)

    def records(self):
        """[kind, record, what it adds to the digest], ascending."""
        hashes = digests(self.sets, self.state().cells())
        return sorted([kind, bytes.fromhex(record), each] for (kind, record), each in hashes.items())

    def sums(self):
        totals = [0] * 256
        for _, record, each in self.records():
            totals[record[0]] += int.from_bytes(each, "big")
        return b"".join((total % 2**256).to_bytes(32, "big") for total in totals)

    def is_visible(self, state, key):
        if is_whole(key[0]) or key == (ORGANIZATION, NONE_ID):
            return True
        if state.shown(key + (0,)) is not True:
            return False
        return key[0] not in PARENTS or self.is_parent_visible(state, state.parent(key))

    def is_parent_visible(self, state, parent):
        return parent is not None and parent[0] in (TRIP, LODGING) and self.is_visible(state, parent)

    def items(self):
        state = self.state()
        keys = sorted({cell[:2] for cell in state.winners})
        return [self.item(state, key) for key in keys if self.is_visible(state, key)]

    def item(self, state, key):
        if is_whole(key[0]):
            return self.whole_item(state, key)
        numbers = sorted(cell[2] for cell in state.winners if cell[:2] == key)
        fields = {number: state.shown(key + (number,)) for number in numbers}
        if key == (ORGANIZATION, NONE_ID):
            fields[1] = "None"
        return [*key, contents_hash(fields)]

    def whole_item(self, state, key):
        winner = state.winners[key + (0,)]
        entry = next(e for e in self.entries[winner] if (e[1], e[2]) == key and has_fields(e))
        fields = {} if state.is_absent(key + (0,), winner) else entry[3]
        sealed = self.sets[winner]
        changed, filled, _ = rank(sealed, entry)
        return [*key, contents_hash(fields), changed, filled, sealed.fields[7], sealed.fields[2], sealed.id]

    def answers(self):
        records, items = self.records(), self.items()
        yield [0], [0, self.heads()]
        yield [1], [1, self.sums()]
        buckets = sorted({row[1][0] for row in records} | {0xee})
        for bucket in buckets:
            yield [2, bucket, None], [2, [row for row in records if row[1][0] == bucket]]
        for row in records[:3]:
            bucket = row[1][0]
            yield [2, bucket, row[:2]], [2, [r for r in records if r[1][0] == bucket and r[:2] > row[:2]]]
        yield [3, None], [3, items]
        for row in items[:1] + items[-1:]:
            yield [3, row[:2]], [3, [item for item in items if item[:2] > row[:2]]]

    def described(self):
        folded = folded_hash(self.heads())
        rows = []
        for token, (question, answer) in enumerate(self.answers(), 1):
            rows.append({"question": encode([QUERY, token, self.lane, question]).hex(),
                         "answer": encode([ANSWER, token, self.lane, folded, True, answer]).hex()})
        return {"name": self.name, "circle": CIRCLE.hex(), "lane": self.lane, "sets": described(self.sets),
                "answers": rows}


def stores():
    yield SmallStore("nothing", RECORDS).described()

    s = SmallStore("settings of two devices", SETTINGS)
    first = s.write("alice", 1_000, [INSERT, SETTING, in_bucket(0x10, 1), {1: "colorScheme", 2: "dark"}])
    s.write("bob", 1_010, [INSERT, SETTING, in_bucket(0x20, 2), {1: "weekBegin", 2: 1}],
            [PUT, SETTING, in_bucket(0x10, 1), {2: "light"}], seen=[first])
    s.write("alice", 1_005, [INSERT, SETTING, in_bucket(0x10, 3), {1: "later", 2: None}])
    yield s.described()

    rome, oslo, gone = in_bucket(0x10, 1), in_bucket(0xff, 2), in_bucket(0x10, 3)
    s = SmallStore("records that are visible, hidden, dead and erased", RECORDS)
    s.write("alice", 1_000, [INSERT, TRIP, rome, {1: "Rome", 2: None, 6: True}], [INSERT, TRIP, gone, {1: "Gone"}],
            [INSERT, LODGING, in_bucket(0x10, 4), {1: rome, 2: "Hotel"}],
            [INSERT, LODGING, in_bucket(0x20, 5), {1: gone, 2: "Inn"}],
            [INSERT, LODGING, in_bucket(0x20, 6), {2: "of no trip"}],
            [INSERT, ATTACHMENT, in_bucket(0x30, 7), {1: [LODGING, in_bucket(0x10, 4)]}],
            [INSERT, ATTACHMENT, in_bucket(0x30, 8), {1: [LODGING, in_bucket(0x20, 5)]}],
            [INSERT, UNKNOWN, in_bucket(0x10, 9), {7: [1, "x"]}])
    last = s.write("alice", 1_010, [DELETE, TRIP, gone], [INSERT, TRIP, oslo, {1: "Oslo", 2: "notes"}],
                   [PUT, ORGANIZATION, NONE_ID, {1: "Nothing", 2: "+1"}])
    s.write("bob", 1_020, [PUT, TRIP, rome, {1: "Roma"}], [PUT, PROFILE, PROFILE_ID, {1: 10**9, 2: "Ada", 3: None}],
            seen=[last])
    yield s.described()
    last = s.write("alice", 1_030, [PUT, TRIP, rome, {2: "by train"}],
                   [PUT, PROFILE, PROFILE_ID, {1: 900, 2: "Bob"}, 900, 65_535])
    s.write("bob", 1_040, [ERASE, TRIP, oslo], [ERASE, PROFILE, PROFILE_ID], seen=[last])
    s.write("bob", 1_050, [PUT, TRIP, oslo, {1: "after the erase"}])
    s.name = "the same, with an erase of a trip and of the profile"
    yield s.described()

    s = SmallStore("values of other types than their fields have count as they are", RECORDS)
    s.write("alice", 1_000, [INSERT, TRIP, rome, {1: 7, 2: "notes", 6: "yes", 900: 1}],
            [INSERT, LODGING, in_bucket(0x10, 4), {1: 7, 2: "of no trip"}])
    yield s.described()


def document():
    return {"certificates": certificates(), "heads": heads(), "states": states(), "contents": contents(),
            "stores": list(stores())}
