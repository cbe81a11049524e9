"""A device written from Protocol/ talks to a real node and behaves correctly. (Tests/Independent/Hostile behaves incorrectly.)"""

import sys
import time
import uuid

import merge
import vectors
from change_set import PUT, RECORDS, SETTINGS, Verified, body_of, seal
from circle import CERTIFICATE, ENTITLEMENT, GENESIS, Ticket
from client import HABIT, SETTING, Client, listen, text_id
from node import Node
from session import BUCKET_OF, DIGESTS_OF, HEADS_OF, INVENTORY_OF, milliseconds


def step(text):
    print(f"ok  {text}", flush=True)


def follow(session, node, done, what, timeout=20):
    """Keeps the session going until the node reaches the expected state."""
    end = time.monotonic() + timeout
    while not done():
        assert time.monotonic() < end, f"timed out after {timeout} s waiting until {what}; heard {session.heard[-20:]}"
        session.pump(0.2)


def in_sync(session, node):
    session.settle()
    peer = lambda: node.peer(session.client)  # noqa: E731
    follow(session, node, lambda: peer()["state"] == "in_sync", "in_sync")
    lanes = peer()["lanes"]
    for lane, name in ((SETTINGS, "settings"), (RECORDS, "records")):
        if session.is_open(lane):
            assert lanes[name]["digestEqual"] is True, lanes
            digest = session.client.lanes[lane].hashes()[2].hex()
            assert node.json("status")["lanes"][name]["digest"] == digest


def pair(node, name):
    ticket = Ticket(node.command("invite"))
    client = Client(name)
    assert client.join(ticket) is None
    return client, ticket


def pairing(node):
    bob, ticket = pair(node, "Bob")
    assert ticket.circle.hex() == node.circle and node.address in ticket.addresses
    kinds = [each.kind for each in bob.circle.statements.values()]
    assert kinds[0] == GENESIS and CERTIFICATE in kinds
    assert bob.join(ticket) is None, "the same device may come again"
    assert Client("Eve").join(ticket) == 1, "a ticket is for one device"
    step("paired with a ticket and certified; the ticket is spent")
    return bob


def settings(node, bob):
    node.command("settings", "set", "units", "metric")
    session = bob.dial()
    assert session.peer.hex() == node.device
    in_sync(session, node)
    assert bob.lanes[SETTINGS].value(SETTING, text_id(SETTING, "units"), 2) == "metric"
    step("as initiator: introduced, settings fetched and folded, in sync")
    raw = bob.write(SETTINGS, bob.setting("theme", "dark"))
    session.push(SETTINGS, [raw])
    in_sync(session, node)
    assert node.command("settings", "get", "theme") == "dark"
    node.command("settings", "set", "theme", "light")
    in_sync(session, node)
    assert bob.lanes[SETTINGS].value(SETTING, text_id(SETTING, "theme"), 2) == "light"
    step("a setting written by the client appears on the node, and its edit on the node appears on the client")
    session.close()


def responding(node, bob):
    listener, address = listen()
    node.command("peers", "add", address)
    session = bob.accept(listener)
    listener.close()
    assert session.peer.hex() == node.device
    in_sync(session, node)
    node.command("settings", "set", "units", "imperial")
    in_sync(session, node)
    session.close()
    step("as responder: dialled by the node, in sync")


def records(node, bob):
    habit = node.json("habit", "add", "name=Read")["id"]
    node.command("habit", "tick", "Read")
    trip = node.json("trip", "add", "name=Rome", "startDate=2026-05-03", "endDate=2026-05-09")["id"]
    node.command("activity", "add", "trip=Rome", "name=Forum", "cost=12.50", "currency=EUR")
    node.command("profile", "set", "name=Alice")
    session = bob.dial()
    in_sync(session, node)
    assert not bob.lanes[RECORDS].by_id and bob.reason() == 2, "a device without premium gets no records"
    node.premium(bob)
    bob.is_on = True
    follow(session, node, lambda: bob.circle.of(ENTITLEMENT), "the entitlement arrives")
    in_sync(session, node)
    lane = bob.lanes[RECORDS]
    assert lane.value(HABIT, uuid.UUID(habit).bytes, 1) == "Read"
    assert lane.value(1, uuid.UUID(trip).bytes, 1) == "Rome"
    kinds = {cell[0] for cell in merge.cells(lane.folded.values())}
    assert {1, 4, 9, 11, 4096} <= kinds, kinds
    step("with an entitlement: habit, log, trip, activity and profile fetched; digest and state equal")
    own = uuid.uuid4()
    session.push(RECORDS, [bob.write(RECORDS, [[PUT, HABIT, own.bytes, {
        0: True, 1: "Swim", 4: "numeric", 6: 2.5, 7: [1, 3, 5]}]])])
    in_sync(session, node)
    shown = node.json("habit", "show", str(own))
    assert "Swim" in str(shown) and "2.5" in str(shown), shown
    step("a habit written by the client appears on the node")
    return session, own


def conflict(node, bob, session, habit):
    """Both sides change the name concurrently."""
    node.command("habit", "edit", str(habit), "name=Swim far")
    raw = bob.write(RECORDS, [[PUT, HABIT, habit.bytes, {1: "Swim fast"}]])
    session.push(RECORDS, [raw])
    in_sync(session, node)
    lane = bob.lanes[RECORDS]
    writes = merge.cells(lane.folded.values())[HABIT, habit.bytes, 1]
    best = merge.winner(writes)
    others = merge.rivals(writes, lane.covers)
    assert len(others) == 1
    [listed] = node.json("conflicts")["conflicts"]
    assert listed["winner"]["value"] == best.value and listed["winner"]["device"] == best.set.device.hex(), listed
    assert [each["value"] for each in listed["losers"]] == [others[0].value], listed
    session.push(RECORDS, [bob.write(RECORDS, [[PUT, HABIT, habit.bytes, {1: "Swim well"}]])])
    in_sync(session, node)
    assert node.json("conflicts")["conflicts"] == []
    step("a concurrent edit is the conflict that merge.md predicts; a later write closes it")


def gate(node, bob, session):
    """Messages that arrive while the lane is closed are dropped; their content is sent again later."""
    node.command("sync", "off")
    follow(session, node, lambda: session.theirs[RECORDS][0] == 1, "the node reports that its sync is off")
    before, own = node.stored(), uuid.uuid4()
    session.push(RECORDS, [bob.write(RECORDS, [[PUT, HABIT, own.bytes, {0: True, 1: "Walk"}]])])
    session.pump(0.5)
    assert session.is_equal() and node.stored() == before
    node.command("sync", "on")
    in_sync(session, node)
    assert "Walk" in str(node.json("habit", "show", str(own)))
    step("sync off closes the records lane; on again, it catches up")


def questions(node, bob, session):
    """Both sides ask questions, and each compares the answers with what it computes itself."""
    for lane in (SETTINGS, RECORDS):
        mine, folded = bob.lanes[lane], bob.lanes[lane].folded.values()
        assert session.ask(lane, HEADS_OF) == (lane, mine.hashes()[1], True, [HEADS_OF, mine.heads()])
        assert session.ask(lane, DIGESTS_OF)[3] == [DIGESTS_OF, b"".join(merge.sums(folded))]
        buckets = {row[1][0] for row in merge.hashes(folded)}
        rows = [row for bucket in sorted(buckets) for row in session.ask_all(lane, BUCKET_OF, bucket)]
        assert sorted(rows) == merge.hashes(folded)
        assert session.ask_all(lane, INVENTORY_OF) == merge.inventory(folded), "inventory"
    step("heads, digests, buckets and inventory are those that this client computes")
    code, verdict = node.during(session, "verify", "Bob")
    assert (code, verdict["verdict"]) == (0, "equal"), verdict
    node.command("sync", "off")
    follow(session, node, lambda: session.theirs[RECORDS][0] == 1, "the node reports that its sync is off")
    assert session.ask(RECORDS, HEADS_OF) == (1,), "sync off"
    bob.write(RECORDS, [[PUT, HABIT, uuid.uuid4().bytes, {0: True, 1: "Run"}]])
    code, preview = node.during(session, "sync", "on", "--preview")
    total = preview["total"]
    assert (code, total["onlyHere"], total["onlyThere"], total["differing"]) == (0, 0, 1, 0), preview
    node.command("sync", "on")
    in_sync(session, node)
    step("the node verifies this client and previews what it would get from it")


def fork(node, dave):
    """Two sets at one position: the node stores and folds both and reports the fork. This client keeps one branch
    only."""
    session = dave.dial()
    session.settle()
    before = node.stored()["settings"]
    draft = dave.lanes[SETTINGS].draft(dave, dave.setting("units", "first"), milliseconds())
    other = seal(**{**draft, "body": body_of(dave.setting("units", "second"))})
    first = seal(**draft)
    dave.lanes[SETTINGS].place(Verified(first), milliseconds())
    session.push(SETTINGS, [first])
    session.settle()
    session.push(SETTINGS, [other])
    stored = lambda: node.stored()["settings"][0]  # noqa: E731
    follow(session, node, lambda: stored() == before[0] + 2, "both branches are stored")
    shown = {Verified(first).stamp: "first", Verified(other).stamp: "second"}
    assert node.command("settings", "get", "units") == shown[max(shown)]
    assert "fork" in [each["reason"] for each in node.json("status")["notices"]]
    session.close()
    step("both branches of a fork fold, and the fork is reported")


def main():
    vectors.run(step)
    node = Node("Alice")
    try:
        bob = pairing(node)
        settings(node, bob)
        responding(node, bob)
        session, habit = records(node, bob)
        conflict(node, bob, session, habit)
        gate(node, bob, session)
        questions(node, bob, session)
        session.close()
        dave, _ = pair(node, "Dave")
        fork(node, dave)
    except BaseException:
        print((node.folder / "log").read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        node.end()
    print("all well")


main()
