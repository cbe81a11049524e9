"""Checks of the settings lane: exchange, merge, forks, cuts and parked sets. Every profile must pass them."""

import os

from change_set import DELETE, ERASE, INSERT, PUT, RESTORE, SETTINGS, ChangeSet, Slot, Verified, content_of, seal
from checks import READER, Failed, Skipped, check, require
from circle import LOG_CUT
from client import SETTING, text_id
from session import SERVED, VALUES, WANT, WANT_VALUES, milliseconds
from world import setting

HOUR = 3_600_000


@check("settings.want", READER, "session", "Heads and needs")
def want(world):
    """The client requests sets that heads name, and folds them."""
    for number in range(5):
        world.alice.writes(SETTINGS, setting(f"key{number}", number))
    session = world.dial()
    session.in_sync("the settings that heads named")
    require(WANT in session.heard, f"expected a want; the client sent the tags {session.heard}")


@check("settings.push", READER, "session", "Gossip")
def push(world):
    """Sets that were not requested are stored and folded as well."""
    session = world.settled(world.bob)
    before = session.heard.count(WANT)
    session.push(SETTINGS, [world.bob.writes(SETTINGS, setting("theme", "dark"))])
    session.in_sync("the setting that was pushed")
    require(session.heard.count(WANT) == before, "expected no want for a set that was pushed")


@check("settings.too-early", READER, "session", "Sets")
def too_early(world):
    """A set that arrives before its predecessor is requested again, together with what is missing."""
    session = world.settled(world.bob)
    first, second = (world.bob.writes(SETTINGS, setting("order", number)) for number in (1, 2))
    before = session.heard.count(WANT)
    session.push(SETTINGS, [second])
    session.waits_for(lambda: session.heard.count(WANT) > before, "a want for the set before the one that was pushed")
    session.in_sync("both sets, after the second had arrived first")
    require(first.id in world.lanes[SETTINGS].by_id, "expected the first set in the model")


@check("settings.concurrent", READER, "merge", "Cells")
def concurrent(world):
    """Concurrent edits merge: the digest is the one that all writes give, in whatever order they arrive."""
    world.sends("a setting that both edit", world.alice.writes(SETTINGS, setting("volume", 0)))
    made = []
    for device, value in ((world.alice, 7), (world.bob, 8)):
        made.append(device.draft(SETTINGS, setting("volume", value), setting(f"of {device.name}", value)))
    earlier, later = sorted((seal(**each) for each in made), key=lambda raw: Verified(raw).stamp)
    alice, bob = world.settled(), world.settled(world.bob)
    for each in (later, earlier):
        world.alice.keeps(each)
    # The winner arrives first.
    bob.push(SETTINGS, [later])
    alice.push(SETTINGS, [earlier])
    world.pump(0.3)
    alice.in_sync("the digest that concurrent edits of one setting give")
    bob.in_sync("the digest that concurrent edits of one setting give")


@check("settings.life", READER, "merge", "Life")
def life(world):
    """Deletes, restores, edits of dead records, and a put before its insert."""
    key, again = text_id(SETTING, "life"), text_id(SETTING, "again")
    steps = [
        [setting("again", 1)], [[DELETE, SETTING, again]], [[RESTORE, SETTING, again]],
        [setting("life", 1)], [[DELETE, SETTING, key]], [[PUT, SETTING, key, {2: 2}], [RESTORE, SETTING, key]],
        [[PUT, SETTING, key, {2: 3}], [DELETE, SETTING, key]], [[INSERT, SETTING, key, {}]],
        [[PUT, SETTING, text_id(SETTING, "unborn"), {2: "kept"}]]]
    world.sends("the digest after deletes, restores and edits of a dead record",
                *(world.bob.writes(SETTINGS, *entries) for entries in steps))


@check("settings.unknown", READER, "growth", "What a device does with what it does not know")
def unknown(world):
    """Kinds and fields of a newer version fold and count in the digest."""
    raw = world.bob.writes(
        SETTINGS, [INSERT, 8_193, os.urandom(16), {1: "new", 65_535: [1, [2.5, None]]}],
        [INSERT, 12_287, os.urandom(16), {9: True}], [PUT, SETTING, text_id(SETTING, "theme"), {60_000: "new"}])
    world.sends("the digest with unknown kinds and fields", raw)


@check("settings.absent", READER, "change-set", "Slots and values")
def absent(world):
    """Sets with missing slots, in salted form, or with unreadable contents are stored and folded like others."""
    session = world.settled(world.bob)
    made = [world.bob.writes(SETTINGS, *(setting(f"{name} {part}", part) for part in (1, 2)))
            for name in ("salted", "withheld")]
    unreadable = world.bob.writes(
        SETTINGS, [INSERT, SETTING, os.urandom(16), Slot([1, 2], b"\x81\x61x")],
        [INSERT, SETTING, os.urandom(16), Slot([1], b"\xff")])
    session.on_want_values = lambda lane, sets: session.send(VALUES, lane, [])
    session.push(SETTINGS, [made[0].salted(), made[1].without(1), unreadable])
    session.in_sync("the digest with absent values")


@check("settings.erase", READER, "merge", "Erase")
def erase(world):
    """An erase takes the values that it has seen; the sets stay, and no one gets the values again."""
    kept = world.bob.writes(SETTINGS, setting("secret", "hunter2"))
    world.sends("the setting that is to be erased", kept)
    session = world.sends("the digest after an erase",
                          world.bob.writes(SETTINGS, [ERASE, SETTING, text_id(SETTING, "secret")]))
    verified = world.lanes[SETTINGS].by_id[kept.id]
    values = []
    session.on_values = lambda lane, sets: values.extend(sets)
    session.send(WANT_VALUES, SETTINGS, [[*verified.log, verified.sequence, verified.id, [0]]])
    session.waits_for(lambda: VALUES in session.heard, "an answer to a request for values, even an empty one")
    require(values == [], f"expected no value that was erased; {len(values)} sets with values arrived")
    session.send(WANT, SETTINGS, [[*verified.log, verified.sequence, verified.sequence, verified.id]])
    session.waits_for(lambda: SERVED in session.heard, "served")
    require(not any(b"hunter2" in parts[3] for _, parts in session.sets), "expected the set without the erased value")


def requested(world, session):
    try:
        session.waits_for(lambda: WANT_VALUES in session.heard, "a request for the missing value")
    except Failed:
        if world.profile > READER:
            raise
        raise Skipped("the client requests no missing values (MAY)") from None


@check("settings.missing-values", READER, "session", "Missing values")
def missing_values(world):
    """The client requests a slot that no erase explains, and accepts it."""
    session = world.settled(world.bob)
    raw = world.bob.writes(SETTINGS, setting("on request", "here it is"))
    session.push(SETTINGS, [raw.without(0)])
    session.in_sync("the digest with a missing value")
    requested(world, session)
    session.in_sync("a session that goes on after the value was sent")


@check("settings.wrong-values", READER, "session", "Missing values")
def wrong_values(world):
    """A value that does not match its commitment ends the session."""
    trudy = world.device("Trudy")
    session = world.settled(trudy)
    raw = trudy.writes(SETTINGS, setting("wrong", "right"))

    def lie(lane, sets):
        session.send(VALUES, lane, [[id, [[slot, bytes(16), b"\x80"] for slot in slots]] for *_, id, slots in sets])

    session.on_want_values = lie
    session.push(SETTINGS, [raw.without(0)])
    requested(world, session)
    session.closes("a value that does not match its commitment")


@check("settings.parked", READER, "change-set", "Causal closure")
def parked(world):
    """A set dated more than ten minutes ahead is stored and counts in the heads, but is not folded."""
    paula = world.device("Paula")
    near, far = milliseconds() + HOUR // 12, milliseconds() + HOUR
    sets = [paula.writes(SETTINGS, setting("ahead", 0), clock=near << 16)]
    sets += [paula.writes(SETTINGS, setting("ahead", number), clock=(far + number) << 16) for number in (1, 2)]
    world.sends("the same heads, folded heads and digest with two parked sets", *sets, device=paula)
    world.sends("the same state: others are not affected by a parked set",
                world.alice.writes(SETTINGS, setting("not ahead", 1)))


@check("settings.fork", READER, "change-set", "Logs and branches")
def fork(world):
    """Both branches of a forked log fold, whichever came first, and each has a head."""
    fred = world.device("Fred")
    world.sends("the first set of a log", fred.writes(SETTINGS, setting("before", 1)), device=fred)
    draft = fred.draft(SETTINGS, setting("branch", "first"))
    branches = [seal(**draft), seal(**{**draft, "content": content_of([setting("branch", "second")])})]
    session = world.settled(fred)
    for each in branches:
        fred.keeps(each)
    session.push(SETTINGS, branches[:1])
    session.pump(0.3)
    session.push(SETTINGS, branches[1:])
    session.in_sync("the same heads and digest with a forked log")
    longer = seal(**world.lanes[SETTINGS].draft(
        fred, [setting("branch", "longer")], milliseconds(), after=world.lanes[SETTINGS].by_id[branches[0].id]))
    fred.keeps(longer)
    session.push(SETTINGS, [longer])
    session.in_sync("the same heads and digest after one branch has grown")


@check("settings.dropped", READER, "session", "Sets")
def dropped(world):
    """Sets of devices that no certificate names, and sets dated before a dependency, are dropped; the session goes
    on."""
    session, eve = world.settled(world.bob), world.stranger("Eve")
    session.push(SETTINGS, [seal(**eve.draft(SETTINGS, setting("stranger", 1)))])
    session.goes_on("a set of a device that no certificate names")
    draft = world.device("Fiona").draft(SETTINGS, setting("too old", 1))
    require(draft["dependencies"], "expected dependencies in the model")
    session.push(SETTINGS, [seal(**{**draft, "clock": 5 << 16})])
    session.goes_on("a set that is dated before one of its dependencies")
    session.in_sync("the same state: the dropped sets are not stored")


@check("settings.revoked-with-tips", READER, "circle", "What folds")
def revoked_with_tips(world):
    """Of a revoked device's log only the kept tip and its ancestors fold."""
    carol = world.device("Carol")
    sets = [carol.writes(SETTINGS, setting("of Carol", number)) for number in range(3)]
    world.sends("the sets of a device that is to be revoked", *sets, device=carol)
    world.alice.writes(SETTINGS, setting("after Carol", 1))
    world.settled()
    world.revoke(carol, kept=[[carol.incarnation, SETTINGS, [sets[1].id]]])
    world.settled(what="the heads and the digest that the kept tip of a revocation leaves")


@check("settings.revoked-without-tips", READER, "circle", "What folds")
def revoked_without_tips(world):
    """Nothing of a device folds whose revocation keeps none of its logs; what depends on it stays."""
    dave = world.device("Dave")
    sets = [dave.writes(SETTINGS, setting("of Dave", number)) for number in range(2)]
    world.sends("the sets of a device that is to be revoked", *sets, device=dave)
    world.sends("a set that depends on them", world.alice.writes(SETTINGS, setting("after Dave", 1)))
    world.revoke(dave)
    world.settled(what="the heads and the digest that a revocation without kept tips leaves")


@check("settings.voided-revocation", READER, "circle", "What folds")
def voided_revocation(world):
    """If a revocation turns out to be void, what it excluded folds again."""
    abel, vera = world.device("Abel", role=1), world.device("Vera")
    world.sends("the sets of a device that is to be revoked",
                *(vera.writes(SETTINGS, setting("of Vera", number)) for number in range(2)), device=vera)
    world.revoke(vera, by=abel)
    world.settled(what="the digest without the sets of a revoked device")
    world.revoke(abel)
    world.settled(what="the digest with the sets of a device whose revocation is void")


@check("settings.log-cut", READER, "circle", "Log cut (4)")
def log_cut(world):
    """A log that its own device has cut ends at the tip; a new incarnation goes on."""
    larry = world.device("Larry")
    sets = [larry.writes(SETTINGS, setting("of Larry", number)) for number in range(3)]
    world.sends("a log that is to be cut", *sets, device=larry)
    world.states(LOG_CUT, larry.key, {
        0: 1, 1: world.circle.id, 2: larry.device, 3: larry.incarnation, 4: SETTINGS, 5: sets[0].id, 6: milliseconds()})
    larry.begin_incarnation()
    world.sends("the heads and the digest after a log cut, and a new incarnation",
                larry.writes(SETTINGS, setting("of Larry", "again")), device=larry)


@check("settings.own-log-back", READER, "session", "Own logs after a start")
def own_log_back(world):
    """A device that lost its data gets its own log back: the client names it in its heads, and serves it."""
    world.settled(world.bob).close()
    lost = world.bob.alone()
    log = (world.bob.device, world.bob.incarnation)
    wanted = {each.id for each in world.lanes[SETTINGS].stored() if each.log == log}
    require(wanted, "expected sets of Bob in the model; run the checks of settings before this one")
    session = world.dial(lost)
    got = lambda: wanted & {Verified(each).id for each in raws(session)}  # noqa: E731
    session.on_statements = lambda last, statements: None
    session.waits_for(lambda: got() == wanted,
                      f"{len(wanted)} sets of the receiver's own log, named in heads and served on request")


def raws(session):
    return [ChangeSet(*parts) for _, parts in session.sets]
