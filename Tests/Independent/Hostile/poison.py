"""Valid sets that make no sense: every field of every kind with every type, and the extremes of its own type."""

import os

from catalogue import KINDS, NONE_ID, PROFILE, PROFILE_ID, SETTING
from change_set import DELETE, ERASE, INSERT, PUT, RECORDS, RESTORE, SETTINGS, content_of, lane_of, seal
from encoding import encode
from node import Refusal
from session import milliseconds

LEAST, MOST = -(1 << 63), (1 << 63) - 1
TRIP_ID = b"poison" + bytes(10)
OF_ALL_TYPES = [
    None, False, True, 0, LEAST, MOST, 0.0, 1.7e308, 5e-324, "", "x", "\x1b[2J\x07\r\n\0", "\u202e\u0301" * 50, b"",
    bytes(16), bytes(31), [], [[]], [None] * 50, [[[[[[[]]]]]]], ["x", 1], [1, "x", b"", 1.0, None, True]]
ZONES = ["", "Europe/Rome", "../../../../etc/passwd", "/dev/random", "Etc/GMT+99", "x" * 60_000, "\0", None]
MOMENTS = [0, -1, LEAST, MOST, MOST - 1, 253_402_300_800_000, -62_167_219_200_001, 9_000_000_000_000_000]
AMOUNTS = ["9" * 34, "-" + "9" * 34, "0." + "0" * 29 + "1", "9" * 34 + "." + "9" * 30, "1e999999999", "9" * 60_000,
           "NaN", "-0", "0" * 1000, "\uff11", "", "1.", ".1"]
OF_TYPE = {
    "timestamp": MOMENTS,
    "instant": [[moment, zone] for moment in MOMENTS for zone in ("Pacific/Kiritimati", None)] + [
        [0, zone] for zone in ZONES],
    "dated instant": [[moment, "America/Sao_Paulo", "2026-05-03"] for moment in MOMENTS] + [
        [0, None, day] for day in ("", "9999-99-99", "2026-02-30", "0000-00-00", "-001-01-01", "x" * 1000)] + [
        [0, zone, "2026-05-03"] for zone in ZONES],
    "money": [[amount, code] for amount in AMOUNTS for code in ("EUR", None)] + [["1", "eur"], ["1", "X" * 500]],
    "coordinate": [[1.7e308, -1.7e308], [0.0, 0.0], [91.0, 181.0], [1, 2]],
    "float": [1.7e308, -1.7e308, 1e15 + 0.5, 5e-324], "integer": [LEAST, MOST, -1],
    "text": ["daily", "None", "x" * 65_536, "\U0010ffff", "e\u0301", "\ufeff"],
    "reminders": [[[0, 0], [23, 59]], [[24, 60]], [[LEAST, MOST]], [[0, 0]] * 2000],
    "schedule": ["daily", [1, 7], [0], [8], [7, 1], [LEAST]], "frequency": ["oncePerDay", 1, 0, MOST],
    "weights": [[["a", 1.0], ["b", 1.7e308]], [["b", 1.0], ["a", 1.0]]],
    "zone changes": [[["a", "b", MOST]], [["../etc", "", LEAST]]],
    "blob": [bytes(49_152), [0, bytes(32)], [1 << 30, bytes(32)], [(1 << 30) + 1, bytes(32)], [bytes(16)] * 500, []],
    "owner": [
        [2, TRIP_ID], [1, TRIP_ID], [7, TRIP_ID], [0, bytes(16)], [12_287, bytes(16)], [LEAST, bytes(16)]]}


class Records:
    """Entries of new records, one for each value of each field."""

    def __init__(self):
        self.number, self.seen, self.entries = 0, set(), [[INSERT, 1, TRIP_ID, {1: "Poison"}]]

    def add(self, kind, fields):
        self.number += 1
        record = b"poison" + kind.to_bytes(2, "big") + self.number.to_bytes(8, "big")
        self.entries.append([INSERT, kind, record, fields])
        return record

    def is_first(self, *place):
        seen = place in self.seen
        self.seen.add(place)
        return not seen

    def all(self):
        for kind in KINDS.values():
            for field in kind.fields.values():
                values = OF_ALL_TYPES + OF_TYPE.get(field.type, [])
                for value in values:
                    # Long values are written once for each kind and type.
                    if len(encode(value)) > 5000 and not self.is_first(kind.number, field.type, len(encode(value))):
                        continue
                    fields = {field.number: value}
                    if kind.parent and field.number != 1:
                        fields[1] = [2, TRIP_ID] if kind.name == "attachment" else TRIP_ID
                    if kind.number not in (PROFILE,):
                        self.add(kind.number, fields)
        return self


def size_of(entry):
    content = content_of([entry])
    return len(content.plan) + len(content.values)


def sets_of(client, entries):
    """Splits entries into as many sets as needed, one after another."""
    for lane in (RECORDS, SETTINGS):
        rows, size = [], 0
        for entry in sorted((e for e in entries if lane_of(e[1]) == lane), key=lambda e: (e[1], e[2], e[0])):
            length = size_of(entry)
            if rows and (size + length > 200_000 or len(rows) == 1000):
                yield lane, rows
                rows, size = [], 0
            rows.append(entry)
            size += length
        if rows:
            yield lane, rows


def brings(stage, node, entries):
    client = stage.trudy
    stage.sync(client, node)
    session = stage.dial(client, node)
    session.settle()
    for lane, rows in sets_of(client, entries):
        raw = client.write(lane, rows)
        session.push(lane, [raw])
        stage.eventually(lambda: raw.id in stage.ids(session.peer), "a set is stored")
        session.pump(0.01)
    session.close()
    stage.settle()


def reads(stage):
    """Every command that shows records to a person."""
    path, stage.memory_more = stage.folder / "out", 64 << 20
    for node in stage.nodes:
        commands = [(f"{kind.name}.list", {}) for kind in KINDS.values()
                    if kind.name in ("trip", "lodging", "transportation", "activity", "organization", "attachment",
                                     "habit", "category", "entry")]
        commands += [(name, {}) for name in (
            "status", "members.list", "conflicts.list", "history", "profile.show", "settings.list", "onboarding.show",
            "sync.status", "premium.show", "peers.list")]
        commands += [("trip.timeline", {"id": "Poison"}), ("trip.show", {"id": "Poison"})]
        for command, arguments in commands:
            node.ask(command, **arguments)
        for format_ in ("ritualist", "traveling-snails"):
            path.unlink(missing_ok=True)
            node.run("export", "--format", format_, "--output", str(path))
        for words in (("trip", "list"), ("habit", "list"), ("trip", "timeline", "Poison"), ("status",), ("history",)):
            shown = node.run(*words, json_wanted=False)
            assert "\x1b[2J" not in shown, f"{words} writes unescaped text of a record to the terminal"


def every_value_in_every_field(stage, node):
    records = Records().all()
    brings(stage, node, records.entries)
    reads(stage)
    for entry in records.entries[:: max(1, len(records.entries) // 150)]:
        kind = KINDS[entry[1]].name
        if kind in ("trip", "lodging", "activity", "habit", "entry", "organization"):
            try:
                node.ask(f"{kind}.show", id=entry[2].hex())
            except Refusal as refusal:
                assert refusal.code in ("not_found", "ambiguous", "usage"), refusal


def profile_of_foreign_types(stage, node):
    for value in OF_ALL_TYPES[:16]:
        brings(stage, node, [[PUT, PROFILE, PROFILE_ID, {number: value for number in range(1, 12)}]])
    brings(stage, node, [[DELETE, PROFILE, PROFILE_ID]])
    reads(stage)
    brings(stage, node, [[PUT, PROFILE, PROFILE_ID, {1: MOST, 2: "from the end of time"}]])
    stage.alice.ask("profile.set", fields=[["name", "Alice"]])
    stage.settle()
    assert stage.bob.ask("profile.show")["name"] == "Alice", "a date in the future wins for ever"


def profile_of_a_false_rank(stage, node):
    """The rank that the plan states counts, whatever the values are; the next edit wins nevertheless."""
    for rank in ([MOST, 65_535], [LEAST, 0], [0, 65_535]):
        brings(stage, node, [[PUT, PROFILE, PROFILE_ID, {1: 1, 2: "of a false rank"}, *rank]])
    reads(stage)
    stage.alice.ask("profile.set", fields=[["name", "Alice again"]])
    stage.settle()
    assert stage.bob.ask("profile.show")["name"] == "Alice again", "a stated rank wins for ever"
    brings(stage, node, [[INSERT, PROFILE, PROFILE_ID, {}], [ERASE, PROFILE, PROFILE_ID]])
    reads(stage)


def life_and_name_of_none(stage, node):
    brings(stage, node, [[PUT, 5, NONE_ID, {1: "Some", 2: "1"}], [DELETE, 5, NONE_ID]])
    for each in stage.nodes:
        first = each.ask("organization.list")["organizations"][0]
        assert first["name"] == "None", first
    brings(stage, node, [[RESTORE, 5, NONE_ID], [PUT, 5, NONE_ID, {1: 5, 2: None}]])
    reads(stage)


def unknown_kinds_and_fields(stage, node):
    entries = [[INSERT, 1, TRIP_ID, {1: "Poison"}]]
    entries += [[INSERT, kind, os.urandom(16), {1: "x", 63: 1, 64: 2.5, 65_535: [b"", None]}]
               for kind in (13, 14, 3000, 4095, 8193, 12_287)]
    entries += [[PUT, kind, os.urandom(16), {1: 5, 9: "x"}] for kind in (4097, 8191)]
    entries += [[INSERT, kind, os.urandom(16), {62: "x", 63: "y", 64: "z", 1000: None}] for kind in (1, 9)]
    entries += [[INSERT, kind, os.urandom(16), {}] for kind in (1, 9, 3000, 4097, 9000)]
    entries += [[DELETE, 4000, os.urandom(16)], [RESTORE, 4001, os.urandom(16)], [ERASE, 4002, os.urandom(16)]]
    brings(stage, node, entries)
    reads(stage)


def thousand_entries(stage, node):
    for entry in ([PUT, 3000, None, {1: 0}], [DELETE, 2, None], [INSERT, 11, None, {1: TRIP_ID, 3: 1.0}]):
        brings(stage, node, [[entry[0], entry[1], n.to_bytes(16, "big"), *entry[3:]] for n in range(1000)])
    stage.alice.ask("status", acknowledge=True)


def largest_set(stage, node):
    """Exactly 262,144 bytes."""
    client = stage.trudy
    stage.sync(client, node)

    def made(padding):
        rows = [[PUT, 3000, os.urandom(16), {1: [bytes(49_000)] * 5, 2: bytes(padding)}]]
        return seal(**client.lanes[RECORDS].draft(client, rows, milliseconds()))

    raw = made(262_144 - made(1000).declared + 1000)
    assert sum(map(len, raw.wire)) == raw.declared == 262_144
    session = stage.dial(client, node)
    session.settle()
    session.push(RECORDS, [raw])
    stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
    session.channel.wire.close()
    stage.settle()
    stage.sync(client, node)


def parents_in_a_circle(stage, node):
    """Attachments that belong to each other, an item whose trip is not a trip, and records without a parent."""
    a, b = os.urandom(16), os.urandom(16)
    brings(stage, node, [
        [INSERT, 7, a, {1: [7, b], 2: "a"}], [INSERT, 7, b, {1: [7, a], 2: "b"}],
        [INSERT, 2, a, {1: a, 2: "itself"}], [INSERT, 3, a, {1: os.urandom(16), 2: "nothing"}],
        [INSERT, 11, a, {1: a, 3: 1.0}], [INSERT, 10, a, {1: "\0"}]])
    reads(stage)


def pieces_of_files_that_lie(stage, node):
    """Content under an id that is not its hash, and a file whose pieces are missing or are the file itself."""
    content, owner = os.urandom(16), os.urandom(16)
    brings(stage, node, [
        [INSERT, 8, content, {1: bytes(49_152)}], [INSERT, 2, owner, {1: TRIP_ID, 2: "owner"}],
        [INSERT, 7, content, {1: [2, owner], 2: "../../../tmp/x", 4: MOST, 9: [content] * 400}],
        [INSERT, 7, owner, {1: [2, owner], 2: "/etc/passwd", 9: [os.urandom(16)]}]])
    reads(stage)


def setting_with_any_value(stage, node):
    brings(stage, node, [[INSERT, SETTING, os.urandom(16), {1: value, 2: value}] for value in OF_ALL_TYPES])
    reads(stage)


ATTEMPTS = [
    unknown_kinds_and_fields, life_and_name_of_none, parents_in_a_circle, pieces_of_files_that_lie,
    setting_with_any_value, profile_of_foreign_types, profile_of_a_false_rank, largest_set,
    every_value_in_every_field, thousand_entries]
