"""Compares one node with the model of the change sets that it has folded."""

import collections
import datetime

import catalogue
from catalogue import KINDS, NONE_ID, ORGANIZATION, PROFILE, SEEDS, uuid_text
from change_set import is_whole
from encoding import decode, encode
from model import LIFE
from store import Snapshot


class Difference(AssertionError):
    """A difference between a node and the model."""


def expect(found, wanted, what):
    if found != wanted:
        raise Difference(f"{what}: the node has {brief(found)}, the model {brief(wanted)}")


def brief(value):
    text = repr(value)
    return text if len(text) < 600 else text[:600] + "…"


def expect_same(found, wanted, what):
    """Compares two collections and reports only differences."""
    found, wanted = set(found), set(wanted)
    if found != wanted:
        raise Difference(f"{what}: only the node has {brief(found - wanted)}, only the model {brief(wanted - found)}")


def compare_store(path, who):
    """Reads one state of the store and checks log and tables; returns snapshot and model."""
    snapshot = Snapshot(path)
    model = snapshot.model()
    order(snapshot, who)
    erased(snapshot, model, who)
    for lane in (0, 1):
        expect(snapshot.digests.get(lane, 0).to_bytes(32, "big"), model.digest(lane), f"{who}: digest of lane {lane}")
    rows(snapshot, model, who)
    for kind, ids in snapshot.views.items():
        expect_same(ids, shown(model, kind), f"{who}: visible {KINDS[kind].plural}")
    conflicts(snapshot, model, who)
    history(snapshot, model, who)
    return snapshot, model


def order(snapshot, who):
    """A set is stored after its past, and folded only if its past is."""
    folded = {each.id for each in snapshot.folded}
    for number, each in snapshot.by_number.items():
        for identity in [each.previous, *(dependency[3] for dependency in each.dependencies)]:
            if identity is None:
                continue
            if snapshot.is_tolerated(each, identity):
                continue
            if snapshot.numbers.get(identity, number) >= number:
                raise Difference(f"{who}: set {each.id.hex()} is stored before its past")
            if each.id in folded and identity not in folded:
                raise Difference(f"{who}: set {each.id.hex()} is folded before its past")


def erased(snapshot, model, who):
    """The log does not contain the values of writes that a folded set has erased."""
    for key, of_cells in model.records.items():
        sets = {write.set for of_cell in of_cells.values() for write in of_cell if write.is_erased}
        for each in sets:
            slot = each.slots.get(key)
            if slot is not None and slot not in each.values.missing:
                raise Difference(f"{who}: {describe(key)}: set {each.id.hex()} has values that were erased")


def shown(model, kind):
    seeds = {record for number, record in SEEDS if number == kind}
    return model.visible_of(kind) | seeds


# MARK: Rows

def rows(snapshot, model, who):
    untouched = {key for key in SEEDS if key not in model.winners}
    expect_same(set(snapshot.rows) - untouched, model.winners, f"{who}: records")
    for key, cells in model.winners.items():
        try:
            row(snapshot, key, snapshot.rows[key], cells, model)
        except Difference as difference:
            raise Difference(f"{who}: {describe(key)}: {difference}") from None


def describe(key):
    return f"{KINDS[key[0]].name if key[0] in KINDS else key[0]} {uuid_text(key[1])}"


def row(snapshot, key, row, cells, model):
    stamps = {number: snapshot.by_number[set_number].id for number, set_number in row.stamps.items() if set_number}
    if is_whole(key[0]):
        expect(stamps.get(0), cells[0].set.id, "winner")
        values = cells[0].value
    else:
        expect(stamps, {number: write.set.id for number, write in cells.items()}, "winners")
        values = {number: write.value for number, write in cells.items()}
        if key not in SEEDS:
            expect(row.life, {True: 1, False: 0, None: None}[values.get(LIFE)], "life")
    if key[0] in KINDS:
        columns(KINDS[key[0]], row, values, key)
    else:
        extra(row, {number: value for number, value in values.items() if number != LIFE})


def columns(kind, row, values, key):
    unread = {
        number: value for number, value in values.items() if number != LIFE
        and (number not in kind.fields or catalogue.columns_of(kind.fields[number], value) is None)}
    for number, field in kind.fields.items():
        if key == (ORGANIZATION, NONE_ID) and number == 1:
            continue
        value = None if number in unread else values.get(number)
        for name, wanted in zip(field.columns, catalogue.columns_of(field, value)):
            found = row.columns[name]
            if not (wanted == found and (type(wanted) is catalogue.Json or type(wanted) is type(found))):
                raise Difference(f"column {name}: the node has {brief(found)}, the model {brief(wanted)}")
    extra(row, unread)


def extra(row, values):
    held = decode(row.extra) if row.extra else {}
    expect({number: encode(value) for number, value in held.items()},
           {number: encode(value) for number, value in values.items()}, "fields that the program does not know")


# MARK: History

def history(snapshot, model, who):
    """Every write of a record and every undo can be found, whatever has replaced it."""
    for key, cells in model.records.items():
        wrote = {write.set.id for of_cell in cells.values() for write in of_cell}
        stamped = {snapshot.by_number[number].id for number in snapshot.rows[key].stamps.values() if number}
        noted = snapshot.writes.get(key, stamped)
        if not wrote <= noted <= model.touching[key]:
            raise Difference(f"{who}: {describe(key)}: written by {brief(wrote)}, noted are {brief(noted)}")
    undos = {
        (each.target, each.operation, each.device) for each in model.ordered if each.verb == "undo" and each.target}
    expect_same(snapshot.undos, undos, f"{who}: undos")


# MARK: Conflicts

def conflicts(snapshot, model, who):
    content = {
        (each.id, key, number): write.content for key, cells in model.records.items()
        for number, of_cell in cells.items() for write in of_cell for each in [write.set]}
    wanted = {
        (c.kind, c.record, c.field or 0, loser, content[loser, (c.kind, c.record), c.field or 0])
        for c in model.conflicts if c.reason in ("field", "profile") for loser in c.losers}
    differing = {key for key, differs in snapshot.siblings.items() if differs}
    expect_same(differing, wanted, f"{who}: siblings that differ")
    wanted = {
        (c.kind, c.record, loser, int(c.reason == "hidden-by-parent"), c.winner)
        for c in model.conflicts if c.reason not in ("field", "profile") for loser in c.losers}
    expect_same(snapshot.hidden, wanted, f"{who}: hidden writes")


def milliseconds(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def compare_conflicts(document, model, who):
    """`conflicts list`: the same conflicts, with authors and times."""
    found = collections.Counter()
    for each in document["conflicts"]:
        sides = [side(each["winner"]), tuple(sorted(map(side, each["losers"])))]
        field = None if each["reason"] != "field" else each["field"]
        found[each["reason"], each["kind"], each["record"], field, *sides] += 1
    wanted = collections.Counter()
    for each in model.conflicts:
        kind = KINDS.get(each.kind)
        field = None if each.field is None else "life" if each.field == LIFE else (
            kind.fields[each.field].name if kind and each.field in kind.fields else f"field {each.field}")
        author = lambda identity: (model.sets[identity].device.hex(), model.sets[identity].clock >> 16)  # noqa: E731
        wanted[each.reason, kind.name if kind else f"kind {each.kind}", uuid_text(each.record), field,
               author(each.winner), tuple(sorted(map(author, each.losers)))] += 1
    expect_same(found, wanted, f"{who}: conflicts")
    expect(found, wanted, f"{who}: conflicts")


def side(document):
    return document["device"], milliseconds(document["time"])


# MARK: Documents

def compare_status(status, model, who):
    for lane, name in enumerate(("settings", "records")):
        expect(status["lanes"][name]["digest"], model.digest(lane).hex(), f"{who}: status, digest of {name}")
    expect({name: status["counts"][name] for name in model.counts()}, model.counts(), f"{who}: status, counts")
    expect(status["conflicts"], len(model.conflicts), f"{who}: status, conflicts")


def compare_lists(node, model, who):
    """`KIND list`: ids, names, and unchanged texts."""
    for kind in KINDS.values():
        if not kind.view or kind.number in (PROFILE, catalogue.SETTING) or kind.name == "address":
            continue
        document = node.ask(f"{kind.name}.list")
        items = {catalogue.uuid_bytes(item["id"]): item for item in document[kind.plural]}
        expect_same(items, shown(model, kind.number), f"{who}: {kind.name} list")
        for record, item in items.items():
            for field in kind.fields.values():
                plain(field, item, model.field((kind.number, record), field.number), (kind.number, record), who)


def plain(field, item, value, key, who):
    if field.type in ("text", "integer", "float", "bool") and (key[1] != NONE_ID or field.name != "name"):
        value = None if catalogue.columns_of(field, value) is None else value
        expect(item[field.parts[0]], value, f"{who}: {describe(key)}, {field.name} in the list")
