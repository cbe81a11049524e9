"""Writes growth.json: messages, statements, introductions, joins and sets as a newer version may send them.

Protocol/growth.md says what a program of this version does with each: it ignores, keeps or refuses it.
"""

import json
import pathlib

import cbor2
from change_set import CIRCLE as SET_CIRCLE
from change_set import INSERT, PUT, Log, alice, record
from statements import ALICE, ROOT, blake, fixed, pub, statement

GENESIS = statement(1, {0: 1, 2: pub(ROOT), 3: pub(ALICE), 4: fixed("waymark vector transport alice", 32), 5: "laptop",
                        7: 1_700_000_000_000, 8: fixed("nonce", 16)}, ROOT)
CIRCLE = blake("waymark/statement-id/v1", bytes([1]), cbor2.loads(GENESIS)[1])
COMMON = {0: 1, 1: CIRCLE, 2: pub(ALICE)}
ID, LOG = fixed("id", 32), [pub(ALICE), fixed("incarnation", 16)]


def row(name, does, data):
    return {"name": name, "does": does, "bytes": (data if isinstance(data, bytes) else cbor2.dumps(data)).hex()}


def messages():
    return [
        row("a tag of a newer version", "ignored", [20, 1, b"new", ["x"]]),
        row("a tag of a newer version without parts", "ignored", [255]),
        row("a tag of a newer version with a map and a tagged item", "ignored",
            [21, {1: cbor2.CBORTag(1, 2)}, {"a": {}}]),
        row("a tag of a newer version with 15 parts", "ignored", [22, *range(15)]),
        row("a tag of a newer version with bytes behind", "ignored", cbor2.dumps([23, 1]) + b"\0\0"),
        row("heads of a third lane", "ignored", [5, 2, True, [[*LOG, 1, ID, 1]]]),
        row("heads of a third lane in another form", "ignored", [5, 2, True, {"new": 1}]),
        row("a want in a third lane", "ignored", [6, 2, [[*LOG, 1, 1, ID]]]),
        row("sets of a third lane", "ignored", [7, 255, [[b"h", b"s", b"p", b"v"]]]),
        row("served in a third lane", "ignored", [8, 2]),
        row("wanted values of a third lane", "ignored", [13, 2, []]),
        row("values of a third lane", "ignored", [14, 2, []]),
        row("a question about a third lane", "ignored", [11, 1, 2, [0]]),
        row("a reason to close that is new", "read", [10, 77]),
        row("a message of 16 parts", "refused", [20, *range(16)]),
        row("a tag of two bytes", "refused", [256, 1]),
        row("a tag that is not a number", "refused", ["new", 1]),
        row("a message that is a map", "refused", {20: 1}),
        row("tag 0", "refused", [0, 1]),
        row("a known tag with one part more", "refused", [8, 1, 1]),
        row("a lane that is not a number", "refused", [8, "records"]),
        row("a known message with another part", "refused", [10, "paused"]),
    ]


def statements():
    body = cbor2.dumps({**COMMON, 3: "new"})
    return [
        row("a kind of a newer version", "kept", statement(11, {**COMMON, 3: [1, b"x", ["y"]], 40: 1.5}, ALICE)),
        row("the greatest kind", "kept", statement(63, COMMON, ALICE)),
        row("a kind above the greatest", "refused", statement(64, COMMON, ALICE)),
        row("a kind of a newer version without a signer", "refused", statement(11, {0: 1, 1: CIRCLE}, ALICE)),
        row("a kind of a newer version with another signature", "refused", cbor2.dumps([11, body, bytes(64)])),
        row("a kind of a newer version, version 2", "refused", statement(11, {**COMMON, 0: 2}, ALICE)),
        row("a known kind with a new key", "refused", statement(8, {**COMMON, 3: 1, 4: ["192.0.2.1:1"], 9: 1}, ALICE)),
    ]


def maps():
    intro = {0: 1, 1: [GENESIS], 2: [], 3: 1_500}
    join = {0: 1, 1: pub(ALICE), 2: fixed("transport", 32), 3: "phone", 4: bytes(64)}
    rows = [("an introduction", "introduction", intro), ("a request to join", "join", join),
            ("an answer to a joiner", "reply", {0: 1, 1: [GENESIS]}), ("a refusal to a joiner", "reply", {0: 1, 2: 3})]
    return [{**row(f"{name} {what}", does, {**pairs, **more}), "form": form} for name, form, pairs in rows
            for what, does, more in (("with new keys", "read", {20: [1, b"x"], 21: "new"}),
                                     ("of another version", "refused", {0: 2}))]


def new_set(name, does, entries):
    [sealed] = Log(alice).write("invent", entries, wall=1_000)
    return {"name": name, "does": does, "lane": 1, "circle": SET_CIRCLE.hex(),
            **{part: getattr(sealed, part).hex() for part in ("header", "signature", "plan", "values")}}


def sets():
    return [
        new_set("a kind of the records lane that is new", "folded", [[INSERT, 4_000, record(1), {1: "new", 900: 1.5}]]),
        new_set("a whole record of a kind that is new", "folded", [[INSERT, 8_000, record(1), {1: 7, 2: "new"}]]),
        new_set("a new field of a known kind", "folded", [[PUT, 1, record(1), {60_000: "new"}]]),
    ]


document = {
    "chapter": "Protocol/growth.md",
    "notes": [
        "does: ignored (nothing happens, the session goes on), read (as a message that is known), kept (stored and "
        "passed on), folded, refused (the session is closed).",
        "statements and introductions are of the circle of `genesis`; sets are of a circle of their own.",
    ],
    "genesis": GENESIS.hex(), "messages": messages(), "statements": statements(), "maps": maps(), "sets": sets()}
path = pathlib.Path(__file__).with_name("growth.json")
path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
print(f"{path.name}: {sum(len(document[each]) for each in ('messages', 'statements', 'maps', 'sets'))} rows")
