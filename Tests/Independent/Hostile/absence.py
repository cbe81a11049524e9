"""Valid sets whose values are missing or unreadable, and erases by a member: all of them fold, and all nodes end with
the same digests."""

import os

from catalogue import NONE_ID, ORGANIZATION, PROFILE, PROFILE_ID, SETTING, TRIP, uuid_bytes, uuid_text
from change_set import ERASE, INSERT, PUT, RECORDS, SETTINGS, Slot, Verified, seal
from checker import Holding, read
from client import text_id
from encoding import encode, head
from replica import DRIFT
from session import VALUES as VALUES_MESSAGE, milliseconds
from spelling import VALUES
from values import ITEMS_MAX, read_content

# Contents of a slot for two fields that are not an array of two field values.
UNREADABLE = [
    b"", b"\0", encode(None), encode([]), encode(["x"]), encode(["x", "y", "z"]), encode({1: "x", 2: "y"}),
    encode([["x", "y"]]), encode(["x", "y"]) + b"\0", encode(["x", "y"])[:-1],
    encode(["x", [None] * (ITEMS_MAX - 2)]), *(head(4, 2) + encode("x") + data for data in VALUES.values())]


def marker():
    """A text that nothing else contains."""
    return "erased " + os.urandom(8).hex()


def trip(record, name):
    return [INSERT, TRIP, record, {1: name, 2: "notes"}]


def write(client, lane, entries, change=lambda raw: raw, **other):
    """Writes a set on top of everything that the device holds, and keeps the copy that it is going to send."""
    mine = client.lanes[lane]
    raw = change(seal(**{**mine.draft(client, entries, milliseconds()), **other}))
    mine.place(Verified(raw), milliseconds())
    return raw


def bring(stage, client, node, lane, *sets):
    session = stage.dial(client, node)
    session.until(lambda: session.theirs is not None and session.is_open(lane), 10, "an open lane")
    session.push(lane, list(sets))
    stage.eventually(lambda: {each.id for each in sets} <= stage.ids(session.peer), "the sets are stored")
    session.settle()
    session.close()
    stage.settle()


def trips(node):
    return {uuid_bytes(each["id"]): each for each in node.ask("trip.list")["trips"]}


def tables_with(node, text):
    """The tables of a store that contain a text."""
    # A virtual table keeps its content in tables of its own.
    names = [name for name, in read(
        node.store, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")[0]]
    found = zip(names, read(node.store, *(f"SELECT * FROM {name}" for name in names)))
    return [name for name, rows in found if any(
        text.encode() in (value if type(value) is bytes else str(value).encode()) for row in rows for value in row)]


def is_gone(stage, *texts):
    """No node holds the texts in any table, and every byte of the stores is valid."""
    for node in stage.nodes:
        Holding(node.store)
        for text in texts:
            assert tables_with(node, text) == [], f"{node.name} still has {text} in {tables_with(node, text)}"
        for command in ("status", "history", "conflicts.list"):
            node.ask(command)


# Missing and unreadable values

def missing_slots(stage, node):
    """Of four slots two are missing: their records show without these values."""
    author, records = stage.trudy, [os.urandom(16) for _ in range(4)]
    stage.sync(author, node)
    entries = [trip(record, f"Trip {number}") for number, record in enumerate(sorted(records))]
    bring(stage, author, node, RECORDS, write(author, RECORDS, entries, lambda raw: raw.without(0, 2)))
    for each in stage.nodes:
        names = [trips(each)[record]["name"] or None for record in sorted(records)]
        assert names == [None, "Trip 1", None, "Trip 3"], f"{each.name} shows {names}"
    stage.eventually(lambda: author.device.hex() in withholders(node), f"{node.name} says who sent no values", 10)


def withholders(node):
    """The devices that a node names as senders of sets without values."""
    return [each.get("device", "").lower() for each in node.ask("status")["notices"] if each["reason"] == "values_missing"]


def all_slots_missing(stage, node):
    author, record = stage.trudy, os.urandom(16)
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [trip(record, "Trip")], lambda raw: raw.without(0)))
    assert all(not trips(each)[record]["name"] for each in stage.nodes)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[PUT, TRIP, record, {1: "Named again"}]]))
    assert all(trips(each)[record]["name"] == "Named again" for each in stage.nodes)


def complete_with_salts(stage, node):
    author, record = stage.trudy, os.urandom(16)
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [trip(record, "Salted")], lambda raw: raw.salted()))
    assert all(trips(each)[record]["name"] == "Salted" for each in stage.nodes)


def other_copies_at_other_nodes(stage, node):
    """One node gets a set with its values, the other one without: their digests are equal."""
    author, record = stage.trudy, os.urandom(16)
    stage.sync(author, node)
    raw = write(author, RECORDS, [trip(record, "Here, and perhaps there")])
    node.ask("peers.pause", peer=stage.other(node).name)
    for each, copy in ((node, raw), (stage.other(node), raw.without(0))):
        session = stage.dial(author, each)
        session.until(lambda: session.theirs is not None and session.is_open(RECORDS), 10, "an open lane")
        session.push(RECORDS, [copy])
        stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
        session.channel.wire.close()
    node.ask("peers.resume", peer=stage.other(node).name)
    stage.settle()
    assert trips(node)[record]["name"] == "Here, and perhaps there"
    assert record in trips(stage.other(node))
    stage.sync(author, node)


def unreadable_slots(stage, node):
    """A slot may contain any bytes: if they are not the values of its fields, the fields have no values."""
    author = stage.trudy
    stage.sync(author, node)
    assert all(read_content(content, 2) is None for content in UNREADABLE)
    records = [os.urandom(16) for _ in UNREADABLE]
    sets = [write(author, RECORDS, [[INSERT, TRIP, record, Slot([1, 2], content)]])
            for record, content in zip(records, UNREADABLE)]
    last = os.urandom(16)
    most = encode(["The most items", [None] * (ITEMS_MAX - 3)])
    sets.append(write(author, RECORDS, [[INSERT, TRIP, last, Slot([1, 2], most)]]))
    bring(stage, author, node, RECORDS, *sets)
    for each in stage.nodes:
        found = trips(each)
        assert not any(found[record]["name"] for record in records), f"{each.name} reads a slot that is none"
        assert found[last]["name"] == "The most items", f"{each.name} does not read the most items"


# Missing values on request

def answering(stage, node, answer):
    """Sends a set without its values, and answers the request for them. Returns the record and the session."""
    author, record = stage.trudy, os.urandom(16)
    stage.sync(author, node)
    raw = write(author, RECORDS, [trip(record, "Requested")])
    session = stage.dial(author, node)
    session.until(lambda: session.theirs is not None and session.is_open(RECORDS), 10, "an open lane")
    session.on_want_values = lambda lane, sets: session.send(VALUES_MESSAGE, lane, answer(raw, sets))
    session.push(RECORDS, [raw.without(0)])
    return record, session


def ends(stage, node, answer):
    """An answer that ends the session. The value is not shown, and is taken from someone honest later."""
    record, session = answering(stage, node, answer)
    assert session.is_closed_by_peer(15), "the session goes on"
    session.channel.wire.close()
    assert not trips(node)[record]["name"]
    stage.settle()


def values_right(raw, *slots):
    held = Verified(raw).values.slots
    return [[slot, *held[slot]] for slot in slots]


def value_with_another_content(stage, node):
    ends(stage, node, lambda raw, sets: [[raw.id, [[0, values_right(raw, 0)[0][1], encode(["Forged", "notes"])]]]])


def value_of_a_slot_out_of_range(stage, node):
    ends(stage, node, lambda raw, sets: [[raw.id, values_right(raw, 0) + [[999, bytes(16), encode(["x"])]]]])


def value_of_another_set(stage, node):
    """The answer is dropped, and the session goes on."""
    record, session = answering(stage, node, lambda raw, sets: [
        [raw.id, values_right(raw, 0)], [os.urandom(32), values_right(raw, 0)]])
    session.settle()
    assert not trips(node)[record]["name"]
    session.close()
    stage.settle()


def values_without_a_request(stage, node):
    """They are dropped, the right ones too; a request is answered as before."""
    author, record = stage.trudy, os.urandom(16)
    stage.sync(author, node)
    raw = write(author, RECORDS, [trip(record, "Asked for")])
    session = stage.dial(author, node)
    session.until(lambda: session.theirs is not None and session.is_open(RECORDS), 10, "an open lane")
    for _ in range(20):
        session.send(VALUES_MESSAGE, RECORDS, [[raw.id, values_right(raw, 0)]])
    session.push(RECORDS, [raw.without(0)])
    stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
    session.settle()
    session.until(lambda: trips(node)[record]["name"] == "Asked for", 15, "the value", look=0.2)
    session.close()
    stage.settle()


# Erases

def erase_by_a_member(stage, node):
    """Trudy erases a trip of Alice's."""
    author, text = stage.trudy, marker()
    record = uuid_bytes(stage.alice.ask("trip.add", fields=[["name", text]])["id"])
    stage.alice.ask("trip.edit", id=uuid_text(record), fields=[["notes", text + ", edited"]])
    stage.settle()
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, TRIP, record]]))
    assert all(record not in trips(each) for each in stage.nodes)
    is_gone(stage, text)
    for each in stage.nodes:
        each.ask("history", record=uuid_text(record))


def erase_of_a_setting(stage, node):
    """Mallory, who has no premium, erases a setting of Alice's."""
    author, text = stage.mallory, marker()
    stage.alice.ask("settings.set", key="secret", value=text)
    stage.settle()
    stage.sync(author, node)
    # Her log may end with a set of the last clock of all.
    author.begin_incarnation()
    bring(stage, author, node, SETTINGS, write(author, SETTINGS, [[ERASE, SETTING, text_id(SETTING, "secret")]]))
    assert all(stage.setting(each, "secret") is None for each in stage.nodes)
    is_gone(stage, text)


def erased_values_again(stage, node):
    """The sets from before the erase are sent again with all their values: these do not come back."""
    author, record, text = stage.trudy, os.urandom(16), marker()
    stage.sync(author, node)
    sets = [write(author, RECORDS, [trip(record, text)]), write(author, RECORDS, [[PUT, TRIP, record, {2: text}]])]
    bring(stage, author, node, RECORDS, *sets)
    assert all(tables_with(each, text) for each in stage.nodes)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, TRIP, record]]))
    is_gone(stage, text)
    for each in stage.nodes:
        bring(stage, author, each, RECORDS, *sets, *(raw.salted() for raw in sets))
    is_gone(stage, text)


def insert_with_an_erase(stage, node):
    """One set erases a record and inserts it again: it lives, with the new values alone."""
    author, record, text = stage.trudy, os.urandom(16), marker()
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[INSERT, TRIP, record, {1: text, 2: text}]]))
    bring(stage, author, node, RECORDS, write(author, RECORDS, [
        [INSERT, TRIP, record, {1: "Kept"}], [ERASE, TRIP, record]]))
    assert all(trips(each)[record]["name"] == "Kept" for each in stage.nodes)
    is_gone(stage, text)


def erase_concurrent_with_an_edit(stage, node):
    """An edit that the erase has not seen is kept and listed, until another erase has seen it."""
    author, text, edit = stage.trudy, marker(), marker()
    record = uuid_bytes(node.ask("trip.add", fields=[["name", text]])["id"])
    stage.settle()
    stage.sync(author, node)
    node.ask("trip.edit", id=uuid_text(record), fields=[["name", edit]])
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, TRIP, record]]))
    is_gone(stage, text)

    def listed(each):
        rows = each.ask("conflicts.list")["conflicts"]
        return [row["reason"] for row in rows if uuid_bytes(row["record"]) == record]

    for each in stage.nodes:
        assert listed(each) == ["edit-lost-to-delete"], f"{each.name} lists {listed(each)}"
        assert tables_with(each, edit), f"{each.name} has lost a concurrent edit"
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, TRIP, record]]))
    assert all(listed(each) == [] for each in stage.nodes)
    is_gone(stage, edit)


def erase_that_waits(stage, node):
    """An erase that is dated ahead erases when its time comes, not before."""
    author, record, text = stage.trudy, os.urandom(16), marker()
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [trip(record, text)]))
    author.begin_incarnation()
    clock = (milliseconds() + DRIFT + 3000) << 16
    session = stage.dial(author, node)
    session.settle()
    raw = write(author, RECORDS, [[ERASE, TRIP, record]], clock=clock)
    session.push(RECORDS, [raw])
    stage.eventually(lambda: raw.id in stage.ids(session.peer), "the set is stored")
    session.close()
    assert record in trips(node) or milliseconds() + DRIFT >= clock >> 16, "erased before its time"
    stage.eventually(lambda: all(record not in trips(each) for each in stage.nodes), "the erase folds")
    assert milliseconds() + DRIFT >= clock >> 16, "folded before its time"
    author.judge()
    stage.settle()
    is_gone(stage, text)


def erase_of_none(stage, node):
    """The organization None keeps its life and its name, and loses its other fields."""
    author, text = stage.trudy, marker()
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[PUT, ORGANIZATION, NONE_ID, {2: text}]]))
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, ORGANIZATION, NONE_ID]]))
    for each in stage.nodes:
        assert each.ask("organization.list")["organizations"][0]["name"] == "None"
    is_gone(stage, text)


def erase_of_the_profile(stage, node):
    """The profile is empty afterwards, and can be edited again."""
    author, text = stage.trudy, marker()
    stage.alice.ask("profile.set", fields=[["name", text]])
    stage.settle()
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [[ERASE, PROFILE, PROFILE_ID]]))
    assert all(each.ask("profile.show")["name"] != text for each in stage.nodes)
    is_gone(stage, text)
    stage.alice.ask("profile.set", fields=[["name", "Alice, once more"]])
    stage.settle()
    assert all(each.ask("profile.show")["name"] == "Alice, once more" for each in stage.nodes)


def erase_of_nothing(stage, node):
    """Records that no set has written, of kinds that are known and of ones that are not."""
    author = stage.trudy
    stage.sync(author, node)
    bring(stage, author, node, RECORDS, write(author, RECORDS, [
        [ERASE, TRIP, os.urandom(16)], [ERASE, 3000, os.urandom(16)], [ERASE, 4097, os.urandom(16)]]))


def thousand_erases(stage, node):
    """Of records with two writes each. As a mass erase it is held: the values stay for seven days, on all nodes."""
    author, text = stage.trudy, marker()
    stage.sync(author, node)
    records = [os.urandom(16) for _ in range(1000)]
    bring(stage, author, node, RECORDS, *(
        write(author, RECORDS, [[type_, 3000, record, {1: text}] for record in records]) for type_ in (INSERT, PUT)))
    erase = write(author, RECORDS, [[ERASE, 3000, record] for record in records])
    bring(stage, author, node, RECORDS, erase)
    for each in stage.nodes:
        assert Holding(each.store).held == {erase.id}, f"{each.name} does not hold the erase"
        assert tables_with(each, text), f"{each.name} has erased the values"


ATTEMPTS = [
    missing_slots, erase_by_a_member, erase_of_a_setting, unreadable_slots, erased_values_again, all_slots_missing,
    complete_with_salts, value_with_another_content, value_of_a_slot_out_of_range, value_of_another_set,
    values_without_a_request, other_copies_at_other_nodes, insert_with_an_erase, erase_concurrent_with_an_edit,
    erase_of_none, erase_of_the_profile, erase_of_nothing, erase_that_waits, thousand_erases]
