"""Checks a node's store from its raw bytes and the rules of Protocol/ alone, through SQLite, read-only."""

import collections
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import merge
from change_set import ChangeSet, Verified
from circle import Circle
from replica import DRIFT, Lane
from session import LANES, milliseconds
from statement import FORK_PROOF, GENESIS, Statement

SETS, STATEMENTS = {}, {}
# How close to its time a parked set may be for the node and this checker to disagree about it.
EDGE = 20_000


def known(cache, make, *parts):
    """Bytes that were verified before are not verified again."""
    if parts not in cache:
        cache[parts] = make(*parts)
    return cache[parts]


def read(path, *questions):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20, isolation_level=None)) as store:
        store.execute("BEGIN")
        return [store.execute(question).fetchall() for question in questions]


@dataclass(frozen=True)
class Glance:
    """Counts of a store's contents; unchanged as long as nothing was stored."""
    statements: int
    sets: int
    newest: int
    quarantined: int
    digests: tuple


def diagnostics(path):
    counts, digests = read(
        path, "SELECT (SELECT count(*) FROM statements), (SELECT count(*) FROM change_sets), "
        "(SELECT max(number) FROM change_sets), (SELECT count(*) FROM quarantine)",
        "SELECT lane, bucket, sum FROM digests ORDER BY lane, bucket")
    return Glance(*counts[0], tuple(digests))


class Holding:
    """The whole content of a store, every byte verified. Refused, KeyError or AssertionError mean that the store
    contains something invalid."""

    def __init__(self, path):
        statements, sets, quarantined, digests, held = read(
            path, "SELECT id, bytes FROM statements",
            "SELECT id, folded, header, signature, plan, field_values FROM change_sets ORDER BY number",
            "SELECT id, header, signature, plan, field_values FROM quarantine ORDER BY clock",
            "SELECT lane, sum FROM digests", "SELECT id FROM held_erases")
        # The sets of mass erases, whose values a node keeps for seven days.
        self.held = {identity for identity, in held}
        self.now = milliseconds()
        self.read_circle(statements)
        judged = self.circle.membership
        self.lanes = {lane: Lane(lane, self.circle.id, judged.cuts, judged.quota, judged.line) for lane in LANES}
        self.stored = {identity for identity, *_ in sets}
        self.folded = {identity for identity, folded, *_ in sets if folded == 1}
        self.quarantined = {identity for identity, *_ in quarantined}
        self.place([(identity, *parts) for identity, _, *parts in sets], quarantined)
        self.compare()
        self.compare_values({identity: values for identity, *_, values in sets})
        self.compare_digests(digests)

    def read_circle(self, rows):
        found = [known(STATEMENTS, Statement, data) for _, data in rows]
        assert [each.id for each in found] == [identity for identity, _ in rows], "a statement under a wrong id"
        [genesis] = [each for each in found if each.kind == GENESIS]
        self.circle = Circle(genesis)
        for each in found:
            self.circle.add(each)
        assert len(self.circle.statements) == len(found), "addresses that are superseded"

    def place(self, sets, quarantined):
        waiting = []
        for identity, *parts in [*sets, *quarantined]:
            verified = known(SETS, lambda *raw: Verified(ChangeSet(*raw)), *parts)
            assert verified.id == identity, "a set under a wrong id"
            assert self.circle.may_author(verified.device), "a set of an author without a certificate"
            waiting.append(verified)
        while waiting:
            left = [each for each in waiting if not self.is_placed(each)]
            assert len(left) < len(waiting), f"{len(left)} sets whose past is not in store"
            waiting = left
        for lane in self.lanes.values():
            lane.judge(self.now)

    def is_placed(self, verified):
        try:
            self.lanes[verified.lane].place(verified, self.now)
        except KeyError:
            return False
        return True

    def compare(self):
        lanes = self.lanes.values()
        stored = {each.id for lane in lanes for each in lane.stored()}
        assert self.stored == stored, (
            f"{len(self.stored - stored)} sets stored that no cut keeps, {len(stored - self.stored)} missing")
        self.is_at_edge = any(
            -EDGE < (each.clock >> 16) - self.now - DRIFT < EDGE for lane in lanes for each in lane.by_id.values())
        folded = {each for lane in lanes for each in lane.folded}
        assert self.is_at_edge or self.folded == folded, (
            f"{len(self.folded - folded)} sets folded that should not be, {len(folded - self.folded)} not folded")

    def compare_values(self, stored):
        """No value is stored that a folded set has erased, unless that erase is held."""
        for lane in self.lanes.values():
            held = {key for each in self.held & lane.folded.keys() for key in merge.erased(lane.folded[each])}
            for each in lane.folded.values():
                is_kept = stored.get(each.id, each.raw.values) == each.raw.values
                is_held = any(entry.key in held for entry in each.plan)
                assert self.is_at_edge or is_kept or is_held, f"set {each.id.hex()} has values that were erased"

    def compare_digests(self, rows):
        for lane in LANES:
            total = sum(int.from_bytes(each, "big") for number, each in rows if number == lane) % (1 << 256)
            told = total.to_bytes(32, "big")
            assert self.is_at_edge or told == self.lanes[lane].hashes()[2], f"digest of lane {lane}"

    def authors(self, lane):
        return {each.device for each in self.lanes[lane].by_id.values()}

    def forks(self):
        """Each forked (log, lane) with a fork proof."""
        forked, proven = set(), set()
        for lane in self.lanes.values():
            places = collections.Counter((each.log, each.previous) for each in lane.stored())
            forked |= {(log, lane.lane) for (log, _), count in places.items() if count > 1}
        for each in self.circle.of(FORK_PROOF):
            fields = ChangeSet(each.fields[3], b"", b"", b"").fields
            proven.add(((fields[2], fields[3]), fields[4]))
        return forked, proven
