"""A device written from Protocol/ alone that writes everything that a set may contain, also what no command
writes."""


import time

from catalogue import (
    ACTIVITY, CATEGORY, HABIT, LODGING, LOG, NONE_ID, ORGANIZATION, PROFILE, PROFILE_ID, SETTING, TRIP, text_id)
from change_set import DELETE, ERASE, INSERT, PUT, RECORDS, RESTORE, SETTINGS, Slot, Verified, is_whole, seal
from circle import Ticket
from client import Client
from session import milliseconds

# Kinds of each range that no program knows.
UNKNOWN, UNKNOWN_WHOLE, UNKNOWN_SETTING = 3000, 4097, 9000
DRIFT = 600_000


class Guest:
    def __init__(self, rng, node, name):
        self.rng = rng
        self.client = Client(name)
        refused = self.client.join(Ticket(node.run("invite", json_wanted=False)))
        assert refused is None, f"the guest is refused: {refused}"
        self.client.is_on = True
        self.own = [bytes([6] * 15 + [number]) for number in range(4)]
        self.written = []

    # MARK: Visits

    def visit(self, node, look):
        """Writes on top of its own state, or after syncing with this node, and sends the result; returns what the
        node holds then."""
        before = len(self.written)
        self.client.address = node.address
        session = self.client.dial()
        try:
            if self.rng.random() < 0.6:
                self.settle(session)
            else:
                session.until(lambda: session.theirs is not None, 10, "a summary")
            for _ in range(self.rng.randint(1, 5)):
                self.write(session, look)
            self.settle(session)
            return [raw for raw in self.written[before:] if session.is_open(raw.fields[4])]
        finally:
            session.close()

    def settle(self, session):
        """Waits until both hold and have folded the same; parked sets fold when they are due."""
        end = time.monotonic() + 40
        session.until(lambda: session.theirs is not None, 10, "a summary")
        while True:
            for lane in self.client.lanes.values():
                lane.wake(milliseconds())
            if session.is_equal(20):
                return
            assert time.monotonic() < end, f"not in sync with the guest within 40 s; heard {session.heard[-30:]}"
            session.pump(0.3)

    def write(self, session, look):
        lane = RECORDS if self.rng.random() < 0.85 else SETTINGS
        entries = self.entries(lane, look)
        other = {}
        if self.rng.random() < 0.04:
            # All nodes park this set for some seconds, and with it the guest's later sets.
            other["clock"] = (milliseconds() + DRIFT + self.rng.randint(0, 4_000)) << 16
        mine = self.client.lanes[lane]
        draft = mine.draft(self.client, entries, milliseconds())
        draft["clock"] = max(draft["clock"], other.get("clock", 0))
        raw = self.short(seal(**draft))
        mine.place(Verified(raw), milliseconds())
        self.written.append(raw)
        session.push(lane, [raw])

    def short(self, raw):
        """Seldom, the set lacks some of its values, here and therefore everywhere."""
        if not raw.values or self.rng.random() > 0.08:
            return raw
        return raw.without(*(slot for slot in range(6) if self.rng.random() < 0.4))

    # MARK: Sets

    def entries(self, lane, look):
        entries = {}
        for _ in range(self.rng.randint(1, 6)):
            kind, record = self.record(lane, look)
            entries[kind, record] = self.of_record(kind, record)
        return [entry for of_record in entries.values() for entry in of_record]

    def record(self, lane, look):
        if lane == SETTINGS:
            return self.rng.choice([(UNKNOWN_SETTING, self.own[0]), (SETTING, text_id(SETTING, "units")),
                                    (SETTING, text_id(SETTING, "theme")), (SETTING, self.own[1])])
        if self.rng.random() < 0.25:
            # Whole records that no person writes, with ranks that are close.
            return self.rng.choice([(PROFILE, PROFILE_ID), (PROFILE, self.own[0]), (UNKNOWN_WHOLE, self.own[0])])
        kind = self.rng.choice([TRIP, LODGING, LODGING, ACTIVITY, ORGANIZATION, 7, 7, HABIT, CATEGORY, LOG, UNKNOWN])
        others = sorted(look.visible(kind)) if kind != UNKNOWN else []
        if others and self.rng.random() < 0.5:
            return kind, self.rng.choice(others[:6])
        return self.rng.choice([(kind, self.own[0]), (kind, self.own[1]), (kind, self.own[2]), (ORGANIZATION, NONE_ID)])

    def of_record(self, kind, record):
        if is_whole(kind):
            return self.of_whole_record(kind, record)
        fields = {number: self.value(kind, number) for number in self.numbers()}
        if self.rng.random() < 0.04:
            fields = Slot(sorted(fields), self.rng.randbytes(self.rng.randrange(5)))
        put, insert = [PUT, kind, record, fields], [INSERT, kind, record, fields if self.rng.random() < 0.9 else {}]
        choice = self.rng.random()
        if choice < 0.3:
            return [insert]
        if choice < 0.6:
            return [put]
        if choice < 0.75:
            return [[DELETE, kind, record]] + ([put] if self.rng.random() < 0.3 else [])
        if choice < 0.92:
            return [[RESTORE, kind, record]] + ([put] if self.rng.random() < 0.5 else [])
        return [[ERASE, kind, record], *self.rng.choice([[], [], [put], [insert]])]

    def of_whole_record(self, kind, record):
        choice = self.rng.random()
        if choice < 0.85:
            return [[self.rng.choice([PUT, PUT, PUT, INSERT]), kind, record, self.whole(), *self.false_rank()]]
        if choice < 0.93:
            return [[DELETE, kind, record]]
        return [[ERASE, kind, record], *self.rng.choice([[], [[PUT, kind, record, self.whole()]]])]

    def false_rank(self):
        """Seldom, a rank that does not follow from the fields."""
        if self.rng.random() < 0.85:
            return []
        return [self.rng.choice([-(1 << 63), 0, milliseconds(), (1 << 63) - 1]), self.rng.choice([0, 2, 65_535])]

    def numbers(self):
        return self.rng.sample([1, 1, 1, 2, 2, 3, 5, 7, 8, 61, 62, 63, 64, 65_535], self.rng.randint(1, 4))

    def value(self, kind, number):
        """Often of the field's type, often of another."""
        if self.rng.random() < 0.5:
            if number == 1 and kind in (LODGING, ACTIVITY, LOG):
                return self.rng.choice(self.own[:3])
            if number == 1 and kind == 7:
                return [self.rng.choice([LODGING, LODGING, ACTIVITY, TRIP, UNKNOWN]), self.rng.choice(self.own[:3])]
            if number == 5:
                return [self.rng.choice(["1.50", "-0.001", "99999999999999999999"]), self.rng.choice(["EUR", None])]
        return self.rng.choice([
            None, False, True, 0, -1, (1 << 63) - 1, -(1 << 63), 1.0, 1e300, "", "a", "é", "None", b"", b"\0" * 16, [],
            [None, [0, ["x"]]], [1_700_000_000_000, "Europe/Rome"], [1_700_000_000_000, None, "2026-05-01"],
            ["12.5", "EUR"], [1.5, 2.5], self.rng.randrange(3)])

    def whole(self):
        changed = self.rng.choice([
            0, 0, 1, 1_700_000_000_000, milliseconds(), milliseconds() + 10_000_000, (1 << 63) - 1, -5,
            "soon", None, 1.5])
        fields = {1: changed, 2: self.rng.choice(["", "Alice", "Alice", self.value(PROFILE, 2)]),
                  40: self.rng.choice([None, "", "x"])}
        return fields if self.rng.random() < 0.8 else {2: "only a name"}
