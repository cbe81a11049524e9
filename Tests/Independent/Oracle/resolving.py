"""Protocol/merge.md, "Resolving": the required result of a decision about a conflict."""

from catalogue import BY_NAME, uuid_bytes
from change_set import is_whole
from compare import Difference, brief, describe
from model import LIFE
from store import Snapshot


def check_resolved(node, conflict, take, fresh):
    """`conflict`: as listed before; `fresh`: the sets that the decision wrote."""
    snapshot = Snapshot(node.store, rows=False)
    everything = snapshot.model()
    lane = fresh[0].lane
    seen = [each for each in everything.ordered if each.lane == lane and everything.covers(fresh[0], each)]
    before, after = snapshot.model([each for each in seen if each.id != fresh[0].id]), snapshot.model(seen + fresh)
    key = kind_number(conflict["kind"]), uuid_bytes(conflict["record"])
    if everything.has_erase_outside(key, {each.id for each in seen}):
        # The values of that time are not known any more.
        return
    if is_whole(key[0]) and any(write.is_absent for write in everything.records[key][0]):
        # The profile is written without the fields that are absent, and not with nulls.
        return
    place = conflict["reason"], *key, field_number(key[0], conflict)
    decided = next((each for each in before.conflicts if named(each) == place), None)
    who = f"{node.name}: {describe(key)}, {conflict['reason']} of {conflict['field']}"
    if decided is None:
        raise Difference(f"{who} was decided, but was not a conflict")
    if any(named(each) == place for each in after.conflicts):
        raise Difference(f"{who} was decided for the {take}, and is still a conflict")
    if conflict["reason"] in ("field", "profile"):
        cell = place[3] or 0
        wanted = {decided.winner} if take == "winner" else decided.losers
        said = {write.says for write in before.records[key][cell] if write.set.id in wanted}
        if after.winners[key][cell].says not in said:
            raise Difference(f"{who} shows {brief(after.winners[key][cell].value)} after it was decided for the {take}")
    elif (after.hiding(key) is None) != (take == "loser"):
        raise Difference(f"{who} was decided for the {take}: hidden by {after.hiding(key)}")


def named(conflict):
    return conflict.reason, conflict.kind, conflict.record, conflict.field


def kind_number(name):
    return BY_NAME[name].number if name in BY_NAME else int(name.split()[-1])


def field_number(kind, conflict):
    name = conflict["field"]
    if conflict["reason"] != "field" or is_whole(kind):
        return None
    if name == "life":
        return LIFE
    return int(name.split()[-1]) if name.startswith("field ") else BY_NAME[conflict["kind"]].named(name).number
