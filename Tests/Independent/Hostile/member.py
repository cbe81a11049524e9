"""A random hostile member: honest and hostile by turns, as the seed decides; the circle must not be affected.

    run random [SEED [STEPS]]

The seed decides what is done and in which order; when it arrives depends on the machine.
"""

import collections
import os
import random
import secrets

import authority
import clocks
import forks
import frames
import gate
import lies
import sets
import spelling
import strangers
from change_set import (
    DELETE, ERASE, INSERT, PUT, RECORDS, RESTORE, SETTINGS, Content, Slot, Verified, assemble, seal)
from channel import MORE, Ended, Silence
from client import HABIT, SETTING
from encoding import Refused, encode
from session import HEADS, QUERY, SERVED, SETS, STATE, STATEMENT_IDS, STATEMENTS, SUMMARY, WANT, milliseconds

LANES = (SETTINGS, RECORDS)
# Attempts that take a minute, that use up an allowance of a node, or that need a log that has begun, are left out.
CALM = [each for group in (
    strangers.ATTEMPTS, frames.ATTEMPTS, spelling.ATTEMPTS, sets.ATTEMPTS, gate.CLOSED, authority.CLOSING)
    for each in group if "ticket" not in each.__name__ and "join request" not in each.__name__
    and each.__name__ not in (
        "other_psk", "false_proof", "key_of_a_member", "another_transport_key", "log_bytes_without_the_set_before", "blamed_for_values")]
WEIGHTS = {
    "honest": 20, "settles": 8, "node_writes": 12, "refused": 12, "lies": 8, "flips": 14, "random_message": 10,
    "random_sets": 14, "forks": 4, "parks": 3, "statements": 5, "half_a_message": 3, "vanishes": 6, "hurries": 4}


class Member:
    def __init__(self, stage, seed, say):
        self.stage, self.say, self.rng = stage, say, random.Random(seed)
        self.sessions, self.done, self.closed = {}, collections.Counter(), 0
        self.records = [self.rng.randbytes(16) for _ in range(6)]

    def run(self, steps):
        for number in range(1, steps + 1):
            word = self.rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
            self.client = self.rng.choice(self.stage.hostile)
            self.node = self.rng.choice(self.stage.nodes)
            for client in self.stage.hostile:
                client.address = self.node.address
            self.done[word] += 1
            try:
                getattr(self, word)()
            except (Ended, Silence, Refused, BrokenPipeError):
                # A node may close the session, or not answer.
                self.forget()
            self.stage.check_lives()
            if number % 50 == 0:
                self.look(number)
        self.look(steps)

    def look(self, number):
        for key in list(self.sessions):
            self.sessions.pop(key).channel.wire.close()
        self.stage.check()
        self.say(f"{number} steps; {self.closed} sessions closed by the nodes; {dict(self.done)}")

    # Sessions

    @property
    def session(self):
        key = (self.client.name, self.node.name)
        if key not in self.sessions:
            session = self.sessions[key] = self.stage.dial(self.client, self.node)
            session.until(lambda: session.theirs is not None, 10, "a summary")
        session = self.sessions[key]
        session.pump(0.01)
        return session

    def forget(self):
        session = self.sessions.pop((self.client.name, self.node.name), None)
        if session is not None:
            self.closed += 1
            session.channel.wire.close()

    def lane(self, session):
        return RECORDS if session.is_open(RECORDS) and self.rng.random() < 0.6 else SETTINGS

    def value(self):
        return self.rng.choice([None, True, 0, -1, (1 << 63) - 1, 1.5, "", "x", b"", self.rng.randbytes(16), [[], "y"]])

    def entries(self, lane):
        kinds = [HABIT, 1, 2, 11, 3000, 4096, 4097] if lane == RECORDS else [SETTING, 9000]
        rows = {}
        for _ in range(self.rng.randint(1, 5)):
            kind, record = self.rng.choice(kinds), self.rng.choice(self.records)
            fields = {number: self.value() for number in self.rng.sample([1, 2, 3, 5, 62, 63, 64, 65_535], 2)}
            if self.rng.random() < 0.1 and kind not in (4096, 4097):
                fields = Slot(sorted(fields), self.rng.randbytes(self.rng.randrange(9)))
            write = [self.rng.choice([PUT, PUT, INSERT]), kind, record, fields]
            rows[kind, record] = self.rng.choice([[write]] * 6 + [
                [[DELETE, kind, record]], [[RESTORE, kind, record]], [[ERASE, kind, record]],
                [write, [ERASE, kind, record]]])
        return [entry for of_record in rows.values() for entry in of_record]

    # Honest

    def honest(self):
        session = self.session
        lane = self.lane(session)
        mine = self.client.lanes[lane]
        raw = seal(**mine.draft(self.client, self.entries(lane), milliseconds()))
        if raw.values and self.rng.random() < 0.2:
            # Complete with salts, or with some slots missing.
            raw = raw.without(*(slot for slot in range(5) if self.rng.random() < 0.3))
        mine.place(Verified(raw), milliseconds())
        session.push(lane, [raw])

    def settles(self):
        self.session.settle()

    def node_writes(self):
        number = self.rng.randrange(1000)
        if self.rng.random() < 0.5:
            self.node.ask("settings.set", key=f"random{number % 7}", value=str(number))
        else:
            self.node.ask("trip.add", fields=[["name", f"Random {number}"]])

    # Not honest

    def refused(self):
        attempt = self.rng.choice(CALM)
        before = self.stage.diagnostics()
        try:
            attempt(self.stage, self.node)
        except AssertionError:
            # An answer to something else that this member has sent may come instead of the expected one.
            assert len(self.sessions) > 0 or self.stage.diagnostics() != before, attempt.__name__
        self.sessions.pop(("Mallory", self.node.name), None)

    def lies(self):
        self.rng.choice(lies.MEANWHILE)(self.session)

    def flips(self):
        """An earlier message with some bits flipped."""
        session, rng = self.session, self.rng
        lane = self.lane(session)
        held = list(self.client.lanes[lane].by_id.values())[-3:]
        heads = self.client.lanes[lane].heads()
        messages = [
            [STATE, session.state(), 3, True], [HEADS, lane, True, heads], [STATEMENT_IDS, True, [os.urandom(32)]],
            [WANT, lane, [[*head[:2], 1, head[2], head[3]] for head in heads]], [QUERY, session.token + 1, lane, [0]],
            [SUMMARY, session.client.circle.hash, milliseconds(), *session.summary()[1:]], [SERVED, lane],
            [SETS, lane, [each.raw.wire for each in held]],
            [STATEMENTS, False, [each.data for each in list(session.client.circle.statements.values())[:3]]]]
        data = bytearray(encode(rng.choice(messages)))
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.2:
            at = rng.randrange(len(data))
            data[at:at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        if self.tells_a_token(data):
            session.token += 1 << 20
        session.channel.send(bytes(data))

    @staticmethod
    def tells_a_token(data):
        return len(data) > 1 and data[1] == QUERY

    def random_message(self):
        """The right form, with meaningless numbers and lists."""
        rng, session = self.rng, self.session
        number = lambda: rng.choice([0, 1, 2, 23, 24, 255, 65_536, (1 << 63) - 1, (1 << 64) - 1])  # noqa: E731
        device = lambda: rng.choice([self.client.device, session.peer, rng.randbytes(32)])  # noqa: E731
        log = lambda: [device(), rng.randbytes(16)]  # noqa: E731
        hash_ = lambda: rng.randbytes(32)  # noqa: E731
        session.send(*rng.choice([
            [HEADS, rng.randrange(2), rng.random() < 0.5, [[*log(), number(), hash_(), 0] for _ in range(9)]],
            [WANT, rng.randrange(2), [[*log(), 1, number(), hash_()] for _ in range(9)]],
            [STATE, hash_(), number(), rng.random() < 0.5], [SERVED, rng.randrange(2)],
            [rng.randrange(16), *[self.value() for _ in range(rng.randrange(6))]],
            [STATEMENT_IDS, rng.random() < 0.5, [hash_() for _ in range(rng.randrange(50))]]]))

    def random_sets(self):
        """Sets with an invalid header, or valid ones in a wrong order."""
        session, rng = self.session, self.rng
        lane = self.lane(session)
        mine = self.client.lanes[lane]
        draft = mine.draft(self.client, self.entries(lane), milliseconds())
        draft.update(rng.choice([
            {"sequence": rng.choice([1, 2, 9, 1 << 62])}, {"previous": rng.randbytes(32)},
            {"clock": rng.randrange(1 << 64)},
            {"incarnation": rng.randbytes(16)}, {"lane": 1 - lane}, {"circle": rng.randbytes(32)},
            {"dependencies": [[rng.randbytes(32), rng.randbytes(16), rng.randrange(1, 9), rng.randbytes(32)]]},
            {"content": Content(rng.randbytes(40))}, {"operation": rng.randbytes(16)},
            {"log_bytes": rng.choice([0, 1, draft["log_bytes"] + 1, 1 << 62])}, {"key_12": rng.randrange(300)},
            {"content": assemble({0: "edit"}, [rng.randbytes(9)])}, {}]))
        known = [each.raw for each in mine.by_id.values()][-6:]
        known = [each.salted() if each.values and rng.random() < 0.2 else each for each in known]
        batch = rng.sample(known, len(known)) + [seal(**draft)]
        session.push(rng.choice(LANES) if rng.random() < 0.1 else lane, batch)

    def forks(self):
        session = self.session
        lane = self.lane(session)
        for branch in forks.branches(self.client, lane, self.rng.randint(2, 3), self.rng.randint(1, 3)):
            self.node = self.rng.choice(self.stage.nodes)
            if self.session.is_open(lane):
                self.session.push(lane, branch)

    def parks(self):
        session = self.session
        lane = self.lane(session)
        if self.rng.random() < 0.5:
            self.client.begin_incarnation()
        ahead = self.rng.choice([1000, 300_000, 599_000, 604_000, 3_600_000, clocks.YEAR])
        draft = self.client.lanes[lane].draft(self.client, self.entries(lane), milliseconds())
        raw = seal(**{**draft, "clock": max(draft["clock"], (milliseconds() + ahead) << 16)})
        self.client.lanes[lane].place(Verified(raw), milliseconds())
        session.push(lane, [raw])
        self.client.begin_incarnation()

    def statements(self):
        """Certificates, revocations and statements of newer kinds that do not count."""
        make = self.rng.choice([each for each in authority.WITHOUT_EFFECT if each.__name__ != "largest_statement"])
        self.session.send(STATEMENTS, self.rng.random() < 0.5, [each.data for each in make(self.stage)])

    def half_a_message(self):
        self.session.channel.send_part(MORE, os.urandom(1000))
        self.vanishes()

    def vanishes(self):
        session = self.sessions.pop((self.client.name, self.node.name), None)
        if session is not None:
            session.channel.wire.close()

    def hurries(self):
        for _ in range(5):
            self.vanishes()
            self.session  # noqa: B018: dials again


def run(stage, words, say):
    seed = int(words[0]) if words and words[0] else secrets.randbits(32)
    steps = int(words[1]) if words[1:] and words[1] else 300
    say(f"seed {seed}, {steps} steps")
    stage.begin(stage.mallory)
    stage.begin(stage.trudy)
    Member(stage, seed, say).run(steps)
    say(f"seed {seed}: the circle stands")
