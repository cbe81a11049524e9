"""Checks of what a client gives to others: its own sets, and those of others."""

import os

from change_set import PUT, RECORDS, SETTINGS, ChangeSet, Verified
from checks import FULL, MEMBER, READER, Skipped, check, require
from client import HABIT
from session import HEADS, SERVED, WANT, milliseconds
from world import habit, setting


def causal(session, lane):
    """The sets that arrived, each after its predecessor and its dependencies, as far as these arrived too."""
    sets = [Verified(ChangeSet(*parts)) for of_lane, parts in session.sets if of_lane == lane]
    ids, seen = {each.id for each in sets}, set()
    for each in sets:
        before = {each.previous, *(dependency[3] for dependency in each.dependencies)} & ids
        require(before <= seen, f"expected sets in causal order; sequence {each.sequence} of a log came before"
                                " a set that it depends on")
        require(each.id not in seen, "expected each set once in an answer")
        seen.add(each.id)
    return sets


@check("serving.named", READER, "session", "Heads and needs")
def named(world):
    """The client sends, in causal order, every set that it names in its heads, and then `served`."""
    # Each set depends on the one before, which is of another log.
    world.sends("settings of two devices", *(device.writes(SETTINGS, setting("served", number))
                                              for number in range(3) for device in (world.alice, world.bob)))
    served(world.dial(world.bob.alone()), SETTINGS)


def served(session, lane):
    """Requests everything that the complete heads of a lane name; returns these heads."""
    session.fetches = False
    found = lambda: [heads for of, complete, heads in session.listed if of == lane and complete]  # noqa: E731
    session.waits_for(found, "complete heads")
    listed, before = found()[0], len(session.heard)
    session.send(WANT, lane, [[*head[:2], 1, *head[2:4]] for head in listed])
    session.waits_for(lambda: SERVED in session.heard[before:], "served after the sets", 20)
    sets = {each.id: each for each in causal(session, lane)}
    for device, incarnation, sequence, tip, _ in listed:
        numbers = sorted(each.sequence for each in path(sets, tip))
        require(numbers == list(range(1, sequence + 1)),
                f"expected the sets 1 to {sequence} of a log that the heads name; {len(numbers)} of them arrived")
    return listed


def path(sets, tip):
    found = []
    while tip in sets:
        found.append(sets[tip])
        tip = sets[tip].previous
    return found


@check("serving.unknown-tip", READER, "session", "Messages")
def unknown_tip(world):
    """A want for a tip that the client does not have is answered with `served` alone."""
    session = world.settled()
    session.send(WANT, SETTINGS, [[world.bob.device, world.bob.incarnation, 1, 3, os.urandom(32)]])
    session.waits_for(lambda: SERVED in session.heard, "served")
    require(not session.sets, f"expected no sets; {len(session.sets)} arrived")


@check("serving.own", MEMBER, "session", "Own logs after a start")
def own(world):
    """What the client has written itself reaches the others."""
    mine = [each for lane in world.lanes.values() for each in lane.stored() if each.device == world.client]
    if not mine:
        session = world.settled()
        world.waits("a change that is made on the client, such as a setting", world.person.writes)
        try:
            session.until(lambda: any(each.device == world.client for lane in world.lanes.values()
                                      for each in lane.by_id.values()), world.person.patience, "a set of the client")
        except AssertionError:
            session.in_sync("no sets of the client that it neither pushes nor names")
            raise Skipped("not applicable: the client has written nothing") from None
        session.in_sync("what the client has written")
    now = milliseconds()
    for lane in world.lanes.values():
        for each in lane.stored():
            if each.device == world.client:
                require(each.clock >> 16 < now + 600_000, "expected a clock that is not ahead")


@check("serving.relays", FULL, "session", "Gossip")
def relays(world):
    """A device that lacks everything gets all of it from the client, of both lanes."""
    for lane, entry in ((SETTINGS, setting("relayed", 1)), (RECORDS, habit(os.urandom(16), name="Relayed"))):
        world.alice.writes(lane, entry)
    world.records().close()
    for lane in (SETTINGS, RECORDS):
        session = world.dial(world.bob.alone())
        session.fetches = False
        session.waits_for(lambda: session.theirs is not None and session.is_open(lane), "an open lane")
        tips = sorted(tip for _, _, _, tip, _ in served(session, lane))
        wanted = sorted(each.id for each in world.lanes[lane].tips())
        require(tips == wanted, f"expected heads that name all {len(wanted)} tips of the lane; they name {len(tips)}")
    session = world.dial(world.bob.alone())
    session.in_sync("everything that the others hold", 30)


@check("serving.announces", FULL, "session", "Gossip")
def announces(world):
    """Sets that one peer sent are announced to the others at once, in incomplete heads."""
    alice, bob = world.records(), world.records(world.bob)
    bob.fetches, bob.listed = False, []
    for lane, entries in ((SETTINGS, [setting("announced", 1)]), (RECORDS, [habit(os.urandom(16), name="Announced")])):
        raw = world.alice.writes(lane, *entries)
        alice.push(lane, [raw])
        world.until(lambda: any(of == lane and raw.id in [head[3] for head in heads]
                                for of, _, heads in bob.listed),
                    "heads with the new set, to the other connected device", 5)
    require(any(not complete for _, complete, _ in bob.listed), "expected an announcement with complete = false")


@check("serving.catches-up", MEMBER, "session", "Heads and needs")
def catches_up(world):
    """Several hundred sets of two authors arrive, and fold."""
    record = os.urandom(16)
    world.alice.writes(RECORDS, habit(record, name="Many"))
    for number in range(60):
        device = (world.alice, world.bob)[number % 2]
        device.writes(RECORDS, [PUT, HABIT, record, {1: f"Many {number}"}])
    session = world.records()
    require(HEADS in session.heard or WANT in session.heard, "expected wants for what the heads named")
