"""Clocks that run ahead: up to ten minutes a set folds, beyond that it is parked, and no other clock follows."""

import time

from change_set import SETTINGS, Verified, seal
from checker import Holding
from replica import DRIFT
from session import milliseconds

YEAR = 365 * 86_400_000
LAST = (1 << 64) - 2


def ahead(name, by, is_folded):
    def attempt(stage, node):
        author = stage.mallory
        stage.sync(author, node)
        author.begin_incarnation()
        clock = LAST if by is None else (milliseconds() + by) << 16
        session = stage.dial(author, node)
        session.settle()
        draft = author.lanes[SETTINGS].draft(author, author.setting("clock", name), milliseconds())
        raw = seal(**{**draft, "clock": max(clock, draft["clock"])})
        author.lanes[SETTINGS].place(Verified(raw), milliseconds())
        session.push(SETTINGS, [raw])
        stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
        session.close()
        stage.settle()
        for each in stage.nodes:
            assert (raw.id in Holding(each.store).folded) == is_folded, f"{each.name}: folded is not {is_folded}"
        before = milliseconds()
        stage.write_on()
        for each in stage.nodes:
            newest = max(s.clock >> 16 for lane in Holding(each.store).lanes.values() for s in lane.by_id.values()
                         if s.device == each.device)
            assert newest <= before + DRIFT + 60_000, f"the clock of {each.name} was pulled along"
    attempt.__name__ = name
    return attempt


def parked_until_its_time(stage, node):
    """Three seconds beyond the bound: the set folds by itself when they are over."""
    author = stage.mallory
    stage.sync(author, node)
    author.begin_incarnation()
    session = stage.dial(author, node)
    session.settle()
    raw = author.write(SETTINGS, author.setting("clock", "waits"), clock=(milliseconds() + DRIFT + 3000) << 16)
    session.push(SETTINGS, [raw])
    stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
    session.close()
    stage.eventually(lambda: all(stage.setting(each, "clock") == "waits" for each in stage.nodes), "it is folded")
    assert milliseconds() + DRIFT >= raw.fields[7] >> 16, "folded before its time"
    author.judge()


def on_top_of_what_waits(stage, node):
    """A set that depends on a parked set is parked as well, whatever its own clock."""
    author = stage.mallory
    stage.sync(author, node)
    author.begin_incarnation()
    session = stage.dial(author, node)
    session.settle()
    sets = [author.write(SETTINGS, author.setting("waits", str(number)), clock=(milliseconds() + YEAR + number) << 16)
            for number in range(40)]
    session.push(SETTINGS, sets)
    stage.eventually(lambda: sets[-1].id in stage.ids(session.peer), "the sets are stored")
    session.close()
    stage.settle()
    time.sleep(0.2)
    for each in stage.nodes:
        assert stage.setting(each, "waits") is None


ATTEMPTS = [
    ahead("a second ahead", 1000, True), ahead("just within ten minutes", DRIFT - 4000, True),
    ahead("just beyond ten minutes", DRIFT + 60_000, False), ahead("a year ahead", YEAR, False),
    ahead("the last clock of all", None, False), parked_until_its_time, on_top_of_what_waits]
