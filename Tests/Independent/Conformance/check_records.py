"""Checks of the gate and of the records lane: for clients that sync records."""

import os

from change_set import DELETE, ERASE, INSERT, PUT, RECORDS, RESTORE, Slot, Verified, content_of, seal
from checks import MEMBER, READER, Failed, check, require
from circle import LOG_CUT
from client import HABIT
from encoding import encode
from session import HEADS, SERVED, SETS, VALUES, WANT, WANT_VALUES, milliseconds
from world import DAY, habit

PROFILE, TRIP = 4096, 1
THE_PROFILE = b"waymark\0" + (2).to_bytes(8, "big")
HOUR = 3_600_000


def reason_of(world, session, wanted, what):
    def is_given():
        return session.theirs is not None and session.theirs[RECORDS][0] in wanted
    try:
        session.waits_for(is_given, "a summary")
    except Failed:
        given = session.theirs and session.theirs[RECORDS][0]
        listed = " or ".join(map(str, wanted)) if len(wanted) < 9 else "other than 0"
        raise Failed(f"expected a reason {listed} for the records lane {what}; the client says {given}") from None


@check("gate.free-tier", READER, "session", "Gate")
def free_tier(world):
    """Without an entitlement the records lane is closed, and its messages are dropped without an answer."""
    session = world.dial()
    if world.premium:
        raise Failed("expected no entitlement yet; run this check before those of records")
    wanted = (1, 2) if world.profile > READER else range(1, 256)
    reason_of(world, session, wanted, "without an entitlement")
    session.in_sync()
    before = list(session.of_records)
    raw = seal(**world.bob.draft(RECORDS, habit(os.urandom(16), name="Free")))
    session.send(SETS, RECORDS, [raw.wire])
    session.send(HEADS, RECORDS, True, [[world.bob.device, world.bob.incarnation, 1, raw.id, 1]])
    session.send(WANT, RECORDS, [[world.bob.device, world.bob.incarnation, 1, 1, raw.id]])
    session.goes_on("messages of a closed lane")
    require(session.of_records == before, "expected no messages of the records lane while it is closed")


@check("gate.reasons", MEMBER, "circle", "The gate")
def reasons(world):
    """An entitlement that has not begun is reason 4, one that has ended reason 3."""
    if world.premium:
        raise Failed("expected no entitlement yet; run this check before those of records")
    session = world.dial()
    for wanted, since, until, what in (
            (4, DAY, 2 * DAY, "with an entitlement that has not begun"),
            (3, -2 * DAY, -DAY, "with an entitlement that has ended")):
        world.keep(world.entitlement([world.client], since, until))
        session.send_summary()
        session.in_sync("the same statements")
        reason_of(world, session, (wanted,), what)


@check("gate.withdrawn", MEMBER, "circle", "Withdrawal (13)")
def withdrawn(world):
    """An entitlement that its issuer or the root key withdraws is reason 2; no other key can withdraw it."""
    if world.premium:
        raise Failed("expected no entitlement yet; run this check before those of records")
    session = world.dial()
    for key, signer in ((world.issuer, "its issuer"), (world.root, "the root key")):
        given = world.entitlement([world.client], -DAY, 9 * DAY)
        world.keep(given)
        world.withdraw(world.alice.key, given)
        session.send_summary()
        session.in_sync("the same statements")
        reason_of(world, session, (0, 1), "with an entitlement that only another key has withdrawn")
        world.withdraw(key, given)
        session.send_summary()
        session.in_sync("the same statements")
        reason_of(world, session, (2,), f"with an entitlement that {signer} has withdrawn")


@check("gate.opens", MEMBER, "session", "Gate")
def opens(world):
    """With an entitlement, and sync turned on, the lane opens; records are exchanged."""
    world.alice.writes(RECORDS, habit(os.urandom(16), name="Read"))
    world.records()


@check("gate.peer-without-premium", MEMBER, "session", "Gate")
def peer_without_premium(world):
    """A peer without premium gets reason 7, and no records."""
    world.records().close()
    session = world.dial(world.device("Mallory"))
    reason_of(world, session, (7,), "to a member without premium")
    session.in_sync()
    tip = next(iter(world.lanes[RECORDS].by_id.values()))
    session.send(WANT, RECORDS, [[*tip.log, 1, tip.sequence, tip.id]])
    session.goes_on("a want for records from a member without premium")
    require(not session.of_records, f"expected no records; the client sent the tags {session.of_records}")


@check("records.entries", MEMBER, "change-set", "Plan")
def entries(world):
    """Inserts, puts, deletes, restores, and what may be together in one set."""
    session = world.records(world.bob)
    one, two, three = (os.urandom(16) for _ in range(3))
    steps = [
        [habit(one, name="Swim", target=2.5), [INSERT, TRIP, two, {1: "Rome", 60_000: "new"}]],
        [[PUT, HABIT, one, {1: "Swim far"}], [DELETE, TRIP, two]],
        [[PUT, TRIP, two, {2: "notes"}], [RESTORE, TRIP, two]],
        [[DELETE, HABIT, one]], [[PUT, HABIT, one, {2: "#112233"}]], [[INSERT, 4_000, three, {1: "new"}]],
        [[PUT, 4_000, three, {900: [1, [2]]}], [DELETE, 4_000, three]]]
    session.push(RECORDS, [world.bob.writes(RECORDS, *each) for each in steps])
    session.in_sync("the digest after inserts, puts, deletes and restores")


@check("records.concurrent", MEMBER, "merge", "Cells")
def concurrent(world):
    """A concurrent edit, and a delete that is concurrent with an edit, give the digest of the model."""
    session, record, other = world.records(), os.urandom(16), os.urandom(16)
    session.push(RECORDS, [world.alice.writes(RECORDS, habit(record, name="Run"), habit(other, name="Walk"))])
    session.in_sync("a new record")
    made = [
        world.alice.draft(RECORDS, [PUT, HABIT, record, {1: "Run far"}], [DELETE, HABIT, other]),
        world.bob.draft(RECORDS, [PUT, HABIT, record, {1: "Run fast"}], [PUT, HABIT, other, {1: "Stroll"}])]
    sets = sorted((seal(**each) for each in made), key=lambda raw: Verified(raw).stamp, reverse=True)
    for each in sets:
        world.alice.keeps(each)
        session.push(RECORDS, [each])
    session.in_sync("the digest that concurrent edits give")


@check("records.whole", MEMBER, "merge", "Whole records")
def whole(world):
    """Of concurrent puts of the profile the one with the highest rank wins, not the newest one."""
    session, now = world.records(), milliseconds()
    made = [
        world.alice.draft(RECORDS, [INSERT, PROFILE, THE_PROFILE, {1: now, 2: "Alice"}, now + 10 * HOUR, 2]),
        world.bob.draft(RECORDS, [INSERT, PROFILE, THE_PROFILE, {1: now, 2: "Bob", 4: "UTC"}, now - HOUR, 3],
                        [INSERT, 5_000, os.urandom(16), {1: 1, 7: "new"}, 1, 2])]
    for each in made:
        session.push(RECORDS, [world.alice.keeps(seal(**each))])
    session.in_sync("the digest of whole records, by rank")
    later = [INSERT, PROFILE, THE_PROFILE, {1: now, 2: "Later"}, now - DAY, 1]
    session.push(RECORDS, [world.bob.writes(RECORDS, later)])
    session.in_sync("the digest after a put that ranks below one in its past")


@check("records.erase", MEMBER, "merge", "Erase")
def erase(world):
    """An erase, an insert with an erase, and an edit that is concurrent with an erase."""
    session, record = world.records(world.bob), os.urandom(16)
    secret = world.bob.writes(RECORDS, habit(record, name="Password of mine"))
    session.push(RECORDS, [secret])
    session.in_sync("a record that is to be erased")
    edit = world.alice.draft(RECORDS, [PUT, HABIT, record, {1: "Edited meanwhile"}])
    session.push(RECORDS, [world.bob.writes(RECORDS, [ERASE, HABIT, record])])
    session.in_sync("the digest after an erase")
    session.push(RECORDS, [world.alice.keeps(seal(**edit))])
    session.in_sync("the digest after an edit that is concurrent with an erase")
    session.push(RECORDS, [world.bob.writes(
        RECORDS, [INSERT, HABIT, record, {1: "Kept of it"}], [ERASE, HABIT, record])])
    session.in_sync("the digest after an insert with an erase")
    verified = world.lanes[RECORDS].by_id[secret.id]
    session.send(WANT, RECORDS, [[*verified.log, verified.sequence, verified.sequence, verified.id]])
    session.waits_for(lambda: session.heard[-1:] == [SERVED] or SERVED in session.heard, "served")
    require(not any(b"Password of mine" in parts[3] for _, parts in session.sets),
            "expected the set without the value that was erased")


@check("records.absent", MEMBER, "change-set", "Slots and values")
def absent(world):
    """Records with missing and unreadable values fold."""
    session = world.records(world.bob)
    gone = world.bob.writes(RECORDS, habit(os.urandom(16), name="Here"), habit(os.urandom(16), name="Withheld"))
    odd = world.bob.writes(RECORDS, [INSERT, HABIT, os.urandom(16), Slot([1, 6], encode(["one too few"]))])
    session.on_want_values = lambda lane, sets: session.send(VALUES, lane, [])
    session.push(RECORDS, [gone.without(1), odd])
    session.in_sync("the digest with absent values")


@check("records.missing-values", MEMBER, "session", "Missing values")
def missing_values(world):
    """The client requests a missing value, and gives it to others that lack it."""
    session = world.records(world.bob)
    raw = world.bob.writes(RECORDS, habit(os.urandom(16), name="Sent on request"))
    session.push(RECORDS, [raw.without(0)])
    session.waits_for(lambda: WANT_VALUES in session.heard, "a request for the missing value")
    session.in_sync("the digest with a value that was sent on request")
    verified, values = world.lanes[RECORDS].by_id[raw.id], []
    session.on_values = lambda lane, sets: values.extend(sets)
    session.send(WANT_VALUES, RECORDS, [[*verified.log, verified.sequence, verified.id, [0]]])
    session.waits_for(lambda: VALUES in session.heard, "an answer to a request for values")
    require(values == [[raw.id, [[0, *verified.values.slots[0]]]]],
            f"expected the value that was sent on request; {len(values)} sets with values arrived")


@check("records.fork", MEMBER, "change-set", "Logs and branches")
def fork(world):
    """Both branches of a forked log of records fold."""
    fred, record = world.device("Fred"), os.urandom(16)
    session = world.records(fred)
    draft = fred.draft(RECORDS, habit(record, name="first"))
    for each in (seal(**draft), seal(**{**draft, "content": content_of([habit(record, name="second")])})):
        fred.keeps(each)
        session.push(RECORDS, [each])
        session.pump(0.3)
    session.in_sync("the same heads and digest with a forked log")


@check("records.parked", MEMBER, "change-set", "Causal closure")
def parked(world):
    """Parked sets of records are stored and not folded, and neither is what depends on them."""
    paula = world.device("Paula")
    session, record = world.records(paula), os.urandom(16)
    ahead = (milliseconds() + HOUR) << 16
    first = seal(**{**paula.draft(RECORDS, habit(record, name="Tomorrow")), "clock": ahead})
    paula.keeps(first)
    verified = world.lanes[RECORDS].by_id[first.id]
    # In a log of its own, because whatever follows a parked set is parked too.
    peter = world.device("Peter", premium=True)
    draft = peter.draft(RECORDS, [PUT, HABIT, record, {1: "Later"}])
    draft["dependencies"] = sorted([*draft["dependencies"], [*verified.log, verified.sequence, verified.id]])
    second = peter.keeps(seal(**{**draft, "clock": ahead + 1}))
    require(second.id not in world.lanes[RECORDS].folded, "expected the model to park what depends on a parked set")
    session.push(RECORDS, [first, second])
    session.in_sync("the same heads, folded heads and digest with parked sets")


@check("records.revoked-with-tips", MEMBER, "circle", "What folds")
def revoked_with_tips(world):
    """A revocation with kept tips takes the later sets out; one without takes all."""
    for name, count in (("Conny", 2), ("Doris", 0)):
        device = world.device(name)
        session, record = world.records(device), os.urandom(16)
        sets = [device.writes(RECORDS, habit(record, name=f"{name} 1"))]
        sets += [device.writes(RECORDS, [PUT, HABIT, record, {1: f"{name} {number}"}]) for number in (2, 3)]
        session.push(RECORDS, sets)
        session.in_sync("the sets of a device that is to be revoked")
        session.close()
        world.revoke(device, kept=[[device.incarnation, RECORDS, [sets[count - 1].id]]] if count else None)
        world.records().in_sync("the heads and the digest after the revocation")


@check("records.log-cut", MEMBER, "circle", "Log cut (4)")
def log_cut(world):
    """A log that its own device has cut."""
    lucy = world.device("Lucy")
    session = world.records(lucy)
    sets = [lucy.writes(RECORDS, habit(os.urandom(16), name=f"Lucy {number}")) for number in range(3)]
    session.push(RECORDS, sets)
    session.in_sync("a log that is to be cut")
    cut = world.states(LOG_CUT, lucy.key, {
        0: 1, 1: world.circle.id, 2: lucy.device, 3: lucy.incarnation, 4: RECORDS, 5: sets[1].id, 6: milliseconds()})
    session.send(4, False, [cut.data])
    session.in_sync("the heads and the digest after a log cut")
