"""A device written from Protocol/ talks to a real node and behaves correctly. (Tests/Independent/Hostile behaves incorrectly.)"""

import os
import sys
import time
import uuid

import merge
import vectors
from change_set import ERASE, INSERT, PUT, RECORDS, SETTINGS, Slot, Verified, content_of, seal
from circle import CERTIFICATE, ENTITLEMENT, GENESIS, Statement, Ticket
from client import HABIT, SETTING, Client, listen, text_id
from encoding import decode, encode
from files import LEAF, Download, File
from node import Node
from session import (
    BUCKET_OF, DIGESTS_OF, HEADS, HEADS_OF, INVENTORY_OF, QUERY, SERVED, STATEMENTS, WANT_VALUES, milliseconds)
from values import ABSENT


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
    session.push(RECORDS, [bob.write(RECORDS, [[INSERT, HABIT, own.bytes, {
        1: "Swim", 4: "numeric", 6: 2.5, 7: [1, 3, 5]}]])])
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
    best, others = lane.conflict((HABIT, habit.bytes, 1))
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
    session.push(RECORDS, [bob.write(RECORDS, [[INSERT, HABIT, own.bytes, {1: "Walk"}]])])
    session.pump(0.5)
    assert session.is_equal() and node.stored() == before
    node.command("sync", "on")
    in_sync(session, node)
    assert "Walk" in str(node.json("habit", "show", str(own)))
    step("sync off closes the records lane; on again, it catches up")


def absent_values(node, bob, session):
    """Sets whose values are not all here, or are not what they should be: their records show without them."""
    lane = bob.lanes[RECORDS]

    def send(entries, change=lambda raw: raw):
        raw = change(seal(**lane.draft(bob, entries, milliseconds())))
        lane.place(Verified(raw), milliseconds())
        session.push(RECORDS, [raw])
        in_sync(session, node)

    here, gone, last, unreadable = (uuid.UUID(int=number) for number in (1 << 64, 2 << 64, 3 << 64, 4 << 64))
    send([[INSERT, HABIT, each.bytes, {1: name, 6: 1.5}] for each, name in ((here, "Here"), (gone, "Withheld"))],
         lambda raw: raw.without(1))
    assert lane.value(HABIT, gone.bytes, 1) is ABSENT
    assert node.json("habit", "show", str(here))["name"] == "Here"
    shown = node.json("habit", "show", str(gone))
    assert not shown["name"] and "Withheld" not in str(shown) and "1.5" not in str(shown), shown
    step("a set with a missing slot folds: the record shows without these values; digest equal")
    send([[PUT, HABIT, gone.bytes, {1: "Told later"}], [INSERT, HABIT, last.bytes, {1: "Salted"}]],
         lambda raw: raw.salted())
    names = [node.json("habit", "show", str(each))["name"] for each in (gone, last)]
    assert names == ["Told later", "Salted"], names
    step("complete values with salts instead of the seed are the same values, and a later write shows")
    send([[INSERT, HABIT, unreadable.bytes, Slot([1, 6], b"\x81\x61x")]])
    assert lane.value(HABIT, unreadable.bytes, 1) is ABSENT
    assert not node.json("habit", "show", str(unreadable))["name"]
    step("a slot that is not the array that it should be: its values are absent, and the set folds")


def missing_values(node, bob, session):
    """Values that are missing on one side come from the other side, in both directions."""
    lane, record = bob.lanes[RECORDS], uuid.UUID(int=5 << 64)
    raw = seal(**lane.draft(bob, [[INSERT, HABIT, record.bytes, {1: "Sent on request", 6: 2.5}]], milliseconds()))
    lane.place(Verified(raw), milliseconds())
    session.push(RECORDS, [raw.without(0)])
    name = lambda: node.json("habit", "show", str(record))["name"]  # noqa: E731
    follow(session, node, lambda: WANT_VALUES in session.heard and name() == "Sent on request", "the value arrives")
    in_sync(session, node)
    step("the node requests the value that a set lacks, and shows it")
    mine = lane.by_id[raw.id] = lane.folded[raw.id] = lane.by_id[raw.id].without(0)
    assert mine.id in lane.missing() and lane.value(HABIT, record.bytes, 1) is ABSENT
    session.want_values(RECORDS)
    session.until(lambda: RECORDS not in session.wanted, 10, "values")
    assert lane.value(HABIT, record.bytes, 1) == "Sent on request"
    assert raw.id not in lane.missing()
    step("the node sends the value that this client lacks, and it matches its commitment")


def erasing(node, bob, session):
    """Erases: the node drops the values that the erase has seen, and keeps what is concurrent with it."""
    lane, record, setting = bob.lanes[RECORDS], uuid.uuid4(), text_id(SETTING, "secret")
    kept = [bob.write(RECORDS, [[INSERT, HABIT, record.bytes, {1: "Password of mine"}]])]
    kept += [bob.write(RECORDS, [[PUT, HABIT, record.bytes, {2: "written on a note"}]])]
    session.push(RECORDS, kept)
    session.push(SETTINGS, [bob.write(SETTINGS, bob.setting("secret", "hunter2"))])
    in_sync(session, node)
    assert node.json("habit", "show", str(record))["name"] == "Password of mine"
    session.push(RECORDS, [bob.write(RECORDS, [[ERASE, HABIT, record.bytes]])])
    session.push(SETTINGS, [bob.write(SETTINGS, [[ERASE, SETTING, setting]])])
    in_sync(session, node)
    assert lane.value(HABIT, record.bytes, 0) is False and lane.value(HABIT, record.bytes, 1) is ABSENT
    assert "Password of mine" not in str(node.json("habit", "list"))
    assert "hunter2" not in str(node.json("settings", "list"))
    step("an erase folds: record and setting are gone on the node; digest equal")
    erin, _ = pair(node, "Erin")
    node.premium(bob, erin)
    erin.is_on = True
    other = erin.dial()
    follow(other, node, lambda: erin.circle.entitlements(erin.device), "the entitlement arrives")
    in_sync(other, node)
    other.close()
    for raw in kept:
        received = erin.lanes[RECORDS].by_id[raw.id]
        assert received.values.missing == [0] and received.raw == lane.by_id[raw.id].raw, received.raw
    for each in erin.lanes[SETTINGS].by_id.values():
        assert b"hunter2" not in each.raw.values
    step("the node serves the sets without the erased values")
    in_sync(session, node)
    again = [[INSERT, HABIT, record.bytes, {1: "Kept of it"}], [ERASE, HABIT, record.bytes]]
    session.push(RECORDS, [bob.write(RECORDS, again)])
    in_sync(session, node)
    assert node.json("habit", "show", str(record))["name"] == "Kept of it"
    step("an insert with an erase in one set: the record lives, with its new values alone")
    # Both write before they hear of each other.
    node.command("habit", "edit", str(record), "name=Edited meanwhile")
    session.push(RECORDS, [bob.write(RECORDS, [[ERASE, HABIT, record.bytes]])])
    in_sync(session, node)
    assert lane.value(HABIT, record.bytes, 1) == "Edited meanwhile"
    [listed] = node.json("conflicts")["conflicts"]
    assert (listed["reason"], listed["record"].lower()) == ("edit-lost-to-delete", str(record)), listed
    session.push(RECORDS, [bob.write(RECORDS, [[ERASE, HABIT, record.bytes]])])
    in_sync(session, node)
    assert lane.value(HABIT, record.bytes, 1) is ABSENT and node.json("conflicts")["conflicts"] == []
    step("a concurrent edit is hidden with the record and listed; an erase that has seen it closes the conflict")


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
    bob.write(RECORDS, [[INSERT, HABIT, uuid.uuid4().bytes, {1: "Run"}]])
    code, preview = node.during(session, "sync", "on", "--preview")
    total = preview["total"]
    assert (code, total["onlyHere"], total["onlyThere"], total["differing"]) == (0, 0, 1, 0), preview
    node.command("sync", "on")
    in_sync(session, node)
    step("the node verifies this client and previews what it would get from it")


ATTACHMENT, LODGING, FILE_NAME, FILE_DATA = 7, 2, 2, 9


def attach(bob, file, lodging, name):
    """A set that attaches a file to a lodging."""
    record = uuid.uuid4()
    return record, bob.write(RECORDS, [[INSERT, ATTACHMENT, record.bytes, {
        1: [LODGING, lodging.bytes], FILE_NAME: name, 4: len(file.data), FILE_DATA: file.reference}]])


def fetched_files(node, bob, session):
    """The client fetches a file of the node, in two sessions."""
    path, data = node.folder / "photo.raw", os.urandom(LEAF * 40 + 123)
    path.write_bytes(data)
    lodging = uuid.UUID(node.json("lodging", "add", "trip=Rome", "name=Casa")["id"])
    attached = node.json("attachment", "add", f"file={path}", "lodging=Casa")["id"]
    in_sync(session, node)
    reference = bob.lanes[RECORDS].value(ATTACHMENT, uuid.UUID(attached).bytes, FILE_DATA)
    assert reference == File(data).reference, reference
    step("an attachment of 2.6 MB is a reference of the size and the id that this client computes")
    assert session.files.ask(reference, [LEAF, bytes(32)]) == [tuple(reference)] and session.files.keeps is True
    download = Download(reference)
    assert session.files.fetch(download, leaves_max=20) and len(download.leaves) == 20
    session.close()
    session = bob.dial()
    in_sync(session, node)
    assert session.files.fetch(download) and download.data == data and download.fetched == 41
    step("asked for, and fetched leaf by leaf in two sessions, each leaf once")
    return session, lodging


def served_files(node, bob, session, lodging):
    """The node fetches a file of the client, which hangs up halfway."""
    file, small = bob.add_file(os.urandom(LEAF * 30 + 7)), bob.add_file(os.urandom(40_000))
    session.files.budget = 10
    record, raw = attach(bob, file, lodging, "song.flac")
    session.push(RECORDS, [raw])
    follow(session, node, lambda: session.files.budget == 0, "the node requests ten leaves")
    assert session.files.requested[0] == (tuple(file.reference), False, 0, 31), session.files.requested
    session.close()
    session = bob.dial()
    in_sync(session, node)
    is_here = lambda each: tuple(each.reference) in session.files.announced  # noqa: E731
    follow(session, node, lambda: is_here(file), "the node announces the file")
    leaves = [index for _, is_bytes, first, count in session.files.requested if is_bytes
              for index in range(first, first + count)]
    assert len(leaves) == len(set(leaves)) == 21, leaves
    assert not any(not is_bytes for _, is_bytes, _, _ in session.files.requested), "the list was there"
    show(node, record, file)
    step("the node fetches a file of the client, and after a break only the leaves that are missing")
    record, raw = attach(bob, small, lodging, "note.pdf")
    session.push(RECORDS, [raw])
    follow(session, node, lambda: is_here(small), "the node announces the small file")
    show(node, record, small)
    step("a file of one leaf needs no list")
    stranger = File(os.urandom(LEAF * 3))
    download = Download(stranger.reference)
    download.hashes = list(stranger.hashes)
    assert session.files.ask(stranger.reference) == [] and not session.files.fetch(download)
    step("of a file that no record names, the node says and sends nothing")
    return session


def show(node, record, file):
    output = node.folder / f"{record}.out"
    node.command("attachment", "show", str(record), "--output", str(output))
    assert output.read_bytes() == file.data


def newer_version(node, bob, session):
    """The client is of a newer version: it uses what the node does not know, and the node passes it on."""
    lane, record, trip = bob.lanes[RECORDS], uuid.uuid4(), uuid.UUID(int=9 << 64)
    statement = Statement.make(11, bob.key, {0: 1, 1: bob.circle.id, 2: bob.device, 3: ["of a newer version", 1.5]})
    bob.circle.add(statement)
    session.send(20, "a new message", [1, {2: b"3"}])
    session.send(HEADS, 2, True, [[bob.device, bob.incarnation, 1, bytes(32), 1]])
    session.send(SERVED, 2)
    session.send(QUERY, 1 << 40, 2, [9])
    session.send(STATEMENTS, False, [statement.data])
    session.push(RECORDS, [bob.write(RECORDS, [
        [INSERT, 1, trip.bytes, {1: "Known", 60_000: "new"}], [INSERT, 4_000, record.bytes, {1: "new", 900: 2.5}]])])
    in_sync(session, node)
    assert node.json("trip", "show", str(trip))["name"] == "Known"
    session.close()
    introduction = bob.introduction
    bob.introduction = lambda: encode({**decode(introduction()), 20: [1, 2], 21: "new"})
    session = bob.dial()
    in_sync(session, node)
    del bob.introduction
    step("new messages, lanes and keys of an introduction are ignored; the session goes on")
    finn, _ = pair(node, "Finn")
    node.premium(bob, finn)
    finn.is_on = True
    other = finn.dial()
    follow(other, node, lambda: finn.circle.entitlements(finn.device), "the entitlement arrives")
    in_sync(other, node)
    other.close()
    assert finn.circle.statements[statement.id].data == statement.data
    theirs = finn.lanes[RECORDS]
    assert theirs.value(4_000, record.bytes, 900) == 2.5 and theirs.value(1, trip.bytes, 60_000) == "new"
    assert lane.hashes()[2] == theirs.hashes()[2]
    step("new statements, kinds and fields pass through the node unseen; digest equal")
    return session


def fork(node, dave):
    """Two sets at one position: the node stores and folds both and reports the fork. This client keeps one branch
    only."""
    session = dave.dial()
    session.settle()
    before = node.stored()["settings"]
    draft = dave.lanes[SETTINGS].draft(dave, dave.setting("units", "first"), milliseconds())
    other = seal(**{**draft, "content": content_of(dave.setting("units", "second"))})
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
        missing_values(node, bob, session)
        absent_values(node, bob, session)
        erasing(node, bob, session)
        gate(node, bob, session)
        questions(node, bob, session)
        session, lodging = fetched_files(node, bob, session)
        session = served_files(node, bob, session, lodging)
        session = newer_version(node, bob, session)
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
