"""The vectors of Protocol/vectors, read by this client: it must accept and refuse the same inputs."""

import json
import pathlib

import files
import merge
import messages as forms
import session_vectors
import transcript
from change_set import is_whole, parse
from channel import NONCE, VERSION, is_answer, preamble
from circle import Circle, Statement, Ticket, pairing_key, session_key
from encoding import Refused, check_value, decode_counted, encode, require
from membership import share
from purchase import TRANSACTION, Unreadable, kept, payload
from replica import Lane
from values import ABSENT

FOLDER = pathlib.Path(__file__).parents[3] / "Protocol" / "vectors"
FAR = (1 << 48) - 1
TRIP, TITLE = 1, 1


def load(name):
    return json.loads((FOLDER / name).read_text())


def unhex(text):
    parts = [part.split("*") for part in text.split()]
    return b"".join(bytes.fromhex(p[0]) * (int(p[1]) if len(p) > 1 else 1) for p in parts)


def check(title, is_accepted, read):
    try:
        read()
    except Refused as refusal:
        assert not is_accepted, f"{title}: refused, {refusal}"
    else:
        assert is_accepted, f"{title}: accepted"


def value(data):
    read, items = decode_counted(data)
    require(items <= 20_000, "items of a slot")
    check_value(read)
    assert encode(read) == data


def map_of_values(data):
    read, _ = decode_counted(data)
    require(type(read) is dict, "a map")
    for each in read.values():
        check_value(each)
    assert encode(read) == data


def cbor():
    for group, read in (("values", value), ("maps", map_of_values)):
        for is_accepted in (True, False):
            for case in load("cbor.json")[group]["accepted" if is_accepted else "refused"]:
                check("cbor: " + case["name"], is_accepted, lambda: read(unhex(case["bytes"])))


def parts(case):
    return [unhex(case[key]) for key in ("header", "signature", "plan", "values")]


def change_sets():
    document = load("change-sets.json")
    for case in [s for a in document["accepted"] for s in a["sets"]] + document["atTheLimits"]:
        assert parse(parts(case)).id.hex() == case["id"]
    for case in document["accepted"]:
        for each in case["sets"]:
            assert parse(parts(each)).declared == each["declaredBytes"], case["name"]
    for case in document["refused"]:
        check(f"change set: {case['stage']}, {case['name']}", False, lambda: parse(parts(case)))
    copies(document)
    for case in document["closure"]:
        check_closure(case)


def copies(document):
    """Sets with missing and with unreadable slots."""
    for case in document["copies"]:
        whole = document["accepted"][case["accepted"]]["sets"][case["set"]]
        read = parse(parts({**whole, "values": case["values"]}))
        assert read.id.hex() == whole["id"] and read.values.missing == case["absent"] == absent(read), case["name"]
        assert parse(parts(whole)).without(*case["absent"]).raw == read.raw, case["name"]
    for case in document["unreadable"]:
        read = parse(parts(case))
        assert read.id.hex() == case["id"] and read.values.missing == [], case["name"]
        assert absent(read) == case["absent"], (case["name"], absent(read))


def absent(verified):
    """The slots of which all values are absent; no slot has some that are and some that are not."""
    found = []
    for entry in filter(lambda entry: entry.fields, verified.entries):
        are_absent = {value is ABSENT for value in entry.fields.values()}
        assert len(are_absent) == 1
        found += [verified.slots[entry.key]] * are_absent.pop()
    return found


def check_closure(case):
    before, after = parse(parts(case["predecessor"])), parse(parts(case["set"]))
    lane = Lane(before.lane, before.circle, quota=lambda device, lane: 1 << 70)
    assert lane.place(before, FAR)
    check(f"closure: {case['flag']}, {case['name']}", case["flag"] == "none", lambda: lane.place(after, FAR))


def preambles():
    document = load("noise.json")["preambles"]
    assert session_key(unhex(document["circle"])).hex() == document["session_key"]
    assert pairing_key(unhex(document["ticket_secret"])).hex() == document["pairing_key"]
    keys = [unhex(document["session_key"]), unhex(document["pairing_key"])]

    def read(data, key):
        require(data == preamble(key, version=data[8], nonce=data[NONCE]), "MAC of a preamble")

    for case in document["accepted"]:
        for key in keys:
            check("preamble", key.hex() == case["key"], lambda: read(unhex(case["bytes"]), key))
    for case in document["refused"]:
        for key in keys:
            check("preamble: " + case["why"], False, lambda: read(unhex(case["bytes"]), key))
    for case in document["other_version"]:
        start, key = unhex(case["bytes"]), unhex(case["key"])
        check("preamble of another version", True, lambda: read(start, key))
        assert is_answer(unhex(case["answer"]), start, key, VERSION)


def circles():
    document = load("circle.json")
    for case in document["statements"]:
        check("statement: " + case["name"], case["accepted"], lambda: Statement(unhex(case["bytes"])))
    for case in document["tickets"]:
        check("ticket: " + case["name"], case["accepted"], lambda: Ticket(case["line"]))
        if case["accepted"]:
            ticket = Ticket(case["line"])
            assert (ticket.id.hex(), ticket.psk.hex()) == (case["id"], case["psk"])
            assert ticket.key.hex() == case["pairingKey"]
            assert session_key(ticket.circle).hex() == case["sessionKey"]
    for case in document["circles"]:
        circle = Circle(Statement(unhex(case["statements"][0])))
        for each in case["statements"][1:]:
            circle.add(Statement(unhex(each)))
        assert circle.hash.hex() == case["setHash"], case["name"]
        check_members(circle, case)
    for case in document["quotas"]:
        circle = Circle(Statement(unhex(case["statements"][0])))
        for each in case["statements"][1:]:
            circle.add(Statement(unhex(each)))
        for device, quotas in case["quotas"].items():
            found = [circle.membership.quota(unhex(device), lane) for lane in (0, 1)]
            assert found == [quotas["settings"], quotas["records"]], case["name"]
    for case in document["gates"]:
        given = [Statement(unhex(each)) for each in case["statements"]]
        for order in (given, given[:1] + given[:0:-1]):
            circle = Circle(order[0])
            for each in order[1:]:
                circle.add(each)
            judged = circle.membership
            assert judged.reason(unhex(case["device"]), case["time"]) == case["reason"], case["name"]
            assert case["gateTime"] in (None, judged.gate_time(case["time"])), case["name"]
    for case in document["shares"]:
        assert share(case["quota"], case["number"]) == case["share"], case


def purchases():
    document = load("purchase.json")
    for case in document["statements"]:
        check("purchase: " + case["name"], case.get("error") is None, lambda: Statement(unhex(case["bytes"])))
    for case in document["kept"]:
        statements = [Statement(unhex(each)) for each in case["statements"]]
        told = {statements[each].id for each in case["kept"]}
        for order in (statements, statements[::-1]):
            signers = {each.signer for each in order}
            found = {s.id for signer in signers for s in kept([each for each in order if each.signer == signer])}
            assert found == told, case["name"]
    for case in document["judged"]:
        try:
            payload(case["transaction"], TRANSACTION)
            is_readable = True
        except Unreadable:
            is_readable = False
        assert is_readable == case["readable"], case["name"]


def check_members(circle, case):
    judged = circle.membership
    members = {
        device.hex(): {"name": chain[-1].fields[5], "links": len(chain), "transport": circle.transport(device).hex()}
        for device, chain in judged.members.items()}
    told = {device: {key: row[key] for key in ("name", "links", "transport")}
            for device, row in case["members"].items()}
    assert members == told, case["name"]
    assert sorted(each.hex() for each in judged.revoked) == sorted(case["revoked"]), case["name"]
    for log in case["logs"]:
        device, incarnation = bytes.fromhex(log["device"]), bytes.fromhex(log["incarnation"])
        cuts = judged.cuts(device, incarnation, log["lane"]) if judged.is_named(device) else None
        line = judged.line(device, incarnation, log["lane"])
        assert (None if line is None else str(line)) == log.get("line"), (case["name"], log, line)
        said = "unknown" if cuts is None else "open" if not cuts and line is None else "cut"
        assert said == log["admission"], (case["name"], log, cuts)
        kept = set(map(frozenset, cuts or []))
        told = {frozenset(bytes.fromhex(tip) for tip in cut) for cut in log["cuts"]}
        assert (frozenset() in kept) == (frozenset() in told), (case["name"], log)
        assert frozenset() in kept or kept == told, (case["name"], log)


def merging():
    document = load("merge.json")
    for history in document["histories"]:
        lane = Lane(1, unhex(document["circle"]))
        for each in history["sets"]:
            assert lane.place(parse(parts(each)), FAR)
        assert merge.digest(lane.folded.values()).hex() == history["digest"], history["name"]
        check_merged(lane, history, [parse(parts(each)).id for each in history["sets"]])
    ranks = []
    for each in document["ranks"]:
        [[_, write]] = merge.writes(parse(parts(each)))
        assert write.rank[:2] == (each["updatedAt"], each["nonEmptyFields"]), each["name"]
        ranks.append(write.rank)
    assert ranks == sorted(ranks)


def check_merged(lane, history, ids):
    """Winner and siblings of each cell, absent values, and the values that are no longer stored."""
    cells, lost = merge.cells(lane.folded.values()), []
    assert len(cells) == len(history["cells"]), history["name"]
    for told in history["cells"]:
        cell = told["kind"], unhex(told["record"]), told["field"]
        best = merge.winner(cells[cell])
        others = {each.set.id for each in lane.siblings(cell)}
        assert best.set.id == ids[told["winner"]], (history["name"], told)
        assert others == {ids[each] for each in told["siblings"]}, (history["name"], told)
        lost += [told["kind"], told["record"], told["field"]] if best.is_absent else []
    told = [value for each in history["erased"] for value in (each["kind"], each["record"], each["field"])]
    assert lost == told, (history["name"], lost, told)
    gaps = [{"set": place, "slots": lane.by_id[each].values.missing} for place, each in enumerate(ids)]
    assert [gap for gap in gaps if gap["slots"]] == history["gaps"], history["name"]
    check_conflicts(lane, cells, history, ids)


def check_conflicts(lane, cells, history, ids):
    """The conflicts of cells. Hidden writes replace that of the life of a dead record; this client doesn't compute
    them."""
    found, told = {}, {}
    for cell in cells:
        best, others = lane.conflict(cell)
        if others and (cell[2] != 0 or is_whole(cell[0]) or best.value):
            found[cell] = best.set.id, {each.set.id for each in others}
    for each in history["conflicts"]:
        if each["reason"] in ("field", "profile"):
            cell = each["kind"], unhex(each["record"]), each["field"] or 0
            told[cell] = ids[each["winner"]], {ids[loser] for loser in each["losers"]}
    assert found == told, history["name"]


def cutting():
    document = load("cuts.json")
    for case in document["cases"]:
        cuts = {(unhex(log["device"]), unhex(log["incarnation"])): [set(map(unhex, tips)) for tips in log["cuts"]]
                for log in case["cuts"]}
        lane = Lane(1, unhex(document["circle"]), lambda device, incarnation, _: cuts.get((device, incarnation), []))
        sets, waiting = [parse(parts(each)) for each in case["sets"]], []
        for stage in case["stages"]:
            waiting = arriving(lane, waiting + [sets[each] for each in stage["arrives"]])
            heads = sorted([sets[tip].id, folded] for tip, folded in stage["heads"])
            assert sorted(row[3:] for row in lane.heads()) == heads, (case["name"], stage)
            assert lane.hashes()[2].hex() == stage["digest"], (case["name"], stage)
            title = (TRIP, bytes(15) + b"\x01", TITLE)
            if title in merge.cells(lane.folded.values()):
                won, lost = lane.conflict(title)
                assert (won.set.id, sorted(each.set.id for each in lost)) == (
                    sets[stage["winner"]].id, sorted(sets[each].id for each in stage["losers"])), (case["name"], stage)


def arriving(lane, waiting):
    """Stores whatever can be stored until nothing changes; returns the sets that are left."""
    while True:
        left = []
        for each in waiting:
            try:
                lane.place(each, FAR)
            except KeyError:
                left.append(each)
        if len(left) == len(waiting):
            return left
        waiting = left


def messages():
    for case in load("messages.json")["messages"]:
        title, data = f"message: {case['flag']}, {case['name']}", unhex(case["bytes"])
        is_accepted = case["flag"] in ("none", "unknown", "ignored")
        check(title, is_accepted, lambda: forms.parse(data))
        if is_accepted:
            assert (forms.parse(data) is None) == (case["flag"] == "ignored"), title


def sessions():
    session_vectors.check_all(load("session.json"), unhex)


def exchanging_files():
    document = load("files.json")
    for row in document["files"]:
        data = b"".join(bytes([place // 4096 % 256 + 1]) * min(4096, row["size"] - place)
                        for place in range(0, row["size"], 4096))
        file = files.File(data)
        assert file.hashes == [unhex(each) for each in row["leaves"]], row["size"]
        assert file.reference == decode_counted(unhex(row["reference"]))[0] and file.reference[1].hex() == row["id"]
    for row in document["leaves"]:
        data, size, index = unhex(row["bytes"]), row["size"], row["index"]
        is_right = index < files.leaf_count(size) and len(data) == files.leaf_length(size, index)
        is_right = is_right and files.leaf_hash(index, data) == unhex(row["hash"])
        assert is_right == (row["flag"] == "none"), row["name"]
    for row in document["lists"]:
        leaves = [unhex(each) for each in row["leaves"]]
        is_right = len(leaves) == files.leaf_count(row["size"])
        is_right = is_right and files.file_id(row["size"], leaves) == unhex(row["id"])
        assert is_right == (row["flag"] == "none"), row["name"]
    for row in document["references"]:
        check("file reference: " + row["name"], row["flag"] == "none",
              lambda: files.read_reference(decode_counted(unhex(row["value"]))[0]))
    for row in document["messages"]:
        check("message about files: " + row["name"], row["flag"] == "none", lambda: message_of_files(row))


def message_of_files(row):
    data = unhex(row["bytes"])
    require(len(data) <= files.MESSAGE_MAX, "length")
    tag, *parts = decode_counted(data)[0]
    require(tag in files.TAGS, "tag")
    files.read(tag, parts)


def growing():
    document = load("growth.json")
    for row in document["messages"]:
        check("growth: " + row["name"], row["does"] != "refused", lambda: forms.parse(unhex(row["bytes"])))
    for row in document["statements"]:
        check("growth: " + row["name"], row["does"] == "kept", lambda: Statement(unhex(row["bytes"])))
    for row in document["sets"]:
        check("growth: " + row["name"], row["does"] == "folded", lambda: parse(parts(row)))


def run(step):
    for each in (
            cbor, change_sets, preambles, circles, purchases, merging, cutting, messages, sessions, exchanging_files, growing,
            transcript.replay):
        each()
    step("the vectors of encoding, change sets, preambles, circle, purchases, merge, cuts, messages, sessions, files and"
         " growth, and the transcript")
