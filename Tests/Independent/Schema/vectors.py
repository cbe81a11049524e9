"""The items of Protocol/vectors: each with its rule in waymark.cddl, and with what its vector says about it."""

import base64
import hashlib
import json
import pathlib
from typing import NamedTuple

import reasons
from cddl_verifier.cbor import decode, encode

PROTOCOL = pathlib.Path(__file__).absolute().parents[3] / "Protocol"
FOLDER = PROTOCOL / "vectors"


class Item(NamedTuple):
    vector: str
    rule: str
    data: bytes
    expected: str


def expand(text):
    """Bytes of `hh*count` notation."""
    parts = (part.split("*") for part in text.split())
    return b"".join(bytes.fromhex(part[0]) * int(part[1] if part[1:] else 1) for part in parts)


def all_items():
    """Every item of every file. A file that no function reads is an error, so that new vectors are validated."""
    names = {path.stem for path in FOLDER.glob("*.json")}
    unread = names - set(READERS) - set(reasons.FILES_WITHOUT_CBOR)
    if unread:
        raise SystemExit(f"{', '.join(sorted(unread))}: add the file to READERS or to FILES_WITHOUT_CBOR")
    for name in sorted(names & set(READERS)):
        yield from READERS[name](json.loads((FOLDER / f"{name}.json").read_text()))


def flagged(place, rule, rows, key="bytes"):
    """Rows with a flag: `none`, or the reason why the row is refused."""
    for row in rows:
        flag = row.get("flag", "none")
        expected = reasons.MATCHES if flag in ("none", "unknown") else reasons.of(place, flag, row["name"])
        yield Item(f"{place}: {row['name']}", rule, expand(row[key]), expected)


def judged(place, rule, rows):
    """Rows that are accepted or not, without a flag: the name is the reason."""
    for row in rows:
        expected = reasons.MATCHES if row["accepted"] else reasons.of(place, row["name"], row["name"])
        yield Item(f"{place}: {row['name']}", rule, expand(row["bytes"]), expected)


def parts_of(row):
    return {part: expand(row[part]) for part in ("header", "signature", "plan", "values")}


def change_set(vector, parts, refused=None, verdict=reasons.MATCHES):
    """The parts of a set. All match their rules, except perhaps the refused one."""
    for part, data in parts.items():
        expected = verdict if part == refused else reasons.MATCHES
        if part == "signature":
            yield Item(vector, part, encode(data), expected)
        elif part == "values" and not data:
            yield Item(vector, "set-values", encode(data), expected)
        else:
            yield Item(vector, part, data, expected)


def in_message(vector, parts, expected=reasons.MATCHES):
    lane = decode(parts["header"])[4]
    yield Item(vector, "sets", encode([7, lane, [list(parts.values())]]), expected)


def contents(values):
    """The contents of slots, without those that are missing."""
    if not values:
        return []
    items = decode(values)
    return items[1] if len(items) == 2 else [slot[1] for slot in items[0] if isinstance(slot, list)]


def readable(vector, parts):
    for number, content in enumerate(contents(parts["values"])):
        yield Item(f"{vector}, slot {number}", "slot-content", content, reasons.MATCHES)


def cbor(document):
    for section, rule in (("values", "field-value"), ("maps", "map-of-values")):
        place = f"cbor.json {section}"
        yield from flagged(place, rule, document[section]["accepted"])
        yield from flagged(place, rule, document[section]["refused"])


def change_sets(document):
    for row in document["accepted"]:
        for number, one in enumerate(row["sets"]):
            vector = f"change-sets.json accepted: {row['name']}, set {number}"
            yield from whole_set(vector, parts_of(one))
    for row in document["copies"]:
        one = document["accepted"][row["accepted"]]["sets"][row["set"]]
        yield from whole_set(f"change-sets.json copies: {row['name']}", parts_of(one | {"values": row["values"]}))
    for row in document["atTheLimits"]:
        yield from whole_set(f"change-sets.json atTheLimits: {row['name']}", parts_of(row))
    for row in document["unreadable"]:
        vector, parts = f"change-sets.json unreadable: {row['name']}", parts_of(row)
        yield from change_set(vector, parts)
        for number, content in enumerate(contents(parts["values"])):
            expected = reasons.MATCHES
            if number in row["absent"]:
                expected = reasons.of("change-sets.json unreadable", row["name"], f"slot {number}")
            yield Item(f"{vector}, slot {number}", "slot-content", content, expected)
    for row in document["refused"]:
        vector, parts = f"change-sets.json refused: {row['name']} ({row['flag']})", parts_of(row)
        expected = reasons.of(f"change-sets.json {row['stage']}", row["flag"], row["name"])
        if row["stage"] == "size":
            yield from in_message(vector, parts, expected)
        else:
            yield from change_set(vector, parts, reasons.PART_OF_STAGE[row["stage"]], expected)
    for row in document["closure"]:
        vector = f"change-sets.json closure: {row['name']}"
        yield from change_set(vector, parts_of(row["predecessor"]))
        yield from change_set(vector, parts_of(row["set"]))


def whole_set(vector, parts):
    yield from change_set(vector, parts)
    yield from in_message(vector, parts)
    yield from readable(vector, parts)


def circle(document):
    yield from judged("circle.json statements", "statement", document["statements"])
    for section in ("circles", "quotas", "gates"):
        for row in document[section]:
            for statement in row["statements"]:
                vector = f"circle.json {section}: {row['name']}"
                yield Item(vector, "statement", expand(statement), reasons.MATCHES)
    tickets = [row | {"bytes": payload(row["line"]).hex()} for row in document["tickets"]]
    yield from judged("circle.json tickets", "ticket", tickets)
    for form in ("join", "reply", "introduction"):
        rows = [row for row in document["messages"] if row["message"] == form]
        yield from judged(f"circle.json {form}", FORMS[form], rows)


def payload(line):
    """The CBOR of a ticket; no bytes if the line is not a ticket at all."""
    text = line.strip(" \t\r\n").lower()
    digits = text.removeprefix("waymark1")
    if digits == text or not digits.isascii() or set(digits) - set("abcdefghijklmnopqrstuvwxyz234567"):
        return b""
    try:
        data = base64.b32decode(digits.upper() + "=" * (-len(digits) % 8))
    except ValueError:
        return b""
    found, checksum = data[:-4], data[-4:]
    whole = hashlib.blake2b(b"waymark/ticket-checksum/v1\0" + found, digest_size=32).digest()
    return found if whole.startswith(checksum) else b""


def cuts(document):
    for row in document["cases"]:
        for one in row["sets"]:
            yield from change_set(f"cuts.json: {row['name']}", parts_of(one))


def files(document):
    for row in document["files"]:
        vector = f"files.json files: {row['size']} bytes"
        yield Item(vector, "file-reference", expand(row["reference"]), reasons.MATCHES)
    yield from flagged("files.json references", "file-reference", document["references"], key="value")
    yield from flagged("files.json messages", "message", document["messages"])


def growth(document):
    for row in document["messages"]:
        vector, data = f"growth.json messages: {row['name']}", expand(row["bytes"])
        if row["name"] in reasons.IGNORED_WITHOUT_CBOR:
            yield Item(vector, "newer-message", data, reasons.NOT_CBOR)
            continue
        for rule, does in (("message", "read"), ("newer-message", "ignored")):
            yield Item(vector, rule, data, reasons.MATCHES if row["does"] == does else reasons.DIFFERS)
    for section, does in (("statements", "kept"), ("maps", "read")):
        place = f"growth.json {section}"
        for row in document[section]:
            expected = reasons.MATCHES if row["does"] == does else reasons.of(place, row["name"], row["name"])
            rule = FORMS[row.get("form", "statement")]
            yield Item(f"{place}: {row['name']}", rule, expand(row["bytes"]), expected)
    for row in document["sets"]:
        yield from whole_set(f"growth.json sets: {row['name']}", parts_of(row))


def merge(document):
    for section in ("histories", "ranks"):
        for row in document[section]:
            for one in row.get("sets", [row]):
                yield from change_set(f"merge.json {section}: {row['name']}", parts_of(one))


def messages(document):
    ignored = [row for row in document["messages"] if row["flag"] == "ignored"]
    yield from flagged("messages.json", "message", [row for row in document["messages"] if row not in ignored])
    for row in ignored:
        vector, data = f"messages.json: {row['name']}", expand(row["bytes"])
        if row["name"] in reasons.IGNORED_WITHOUT_CBOR:
            yield Item(vector, "newer-message", data, reasons.NOT_CBOR)
            continue
        yield Item(vector, "message", data, reasons.DIFFERS)
        yield Item(vector, "newer-message", data, reasons.MATCHES)


def purchase(document):
    place = "purchase.json statements"
    for row in document["statements"]:
        expected = reasons.of(place, row["name"], row["name"]) if row["error"] else reasons.MATCHES
        yield Item(f"{place}: {row['name']}", "statement", expand(row["bytes"]), expected)
    for section in ("kept", "gates"):
        for row in document[section]:
            yield from statements_of(f"purchase.json {section}: {row['name']}", row["statements"])


def session(document):
    yield from flagged("session.json heads", "message", document["heads"])
    for row in document["certificates"]:
        yield from statements_of(f"session.json certificates: {row['name']}", row["statements"])
    for row in document["introductions"] + document["wants"]:
        yield from statements_of(f"session.json: {row['name']}", row["held"])
    yield from flagged("session.json introductions", "introduction", document["introductions"])
    for row in document["exchanges"]:
        yield Item(f"session.json exchanges: {row['name']}", "message", expand(row["question"]), reasons.MATCHES)
    yield from flagged("session.json exchanges", "message", document["exchanges"], key="answer")
    yield from flagged("session.json endings", "message", document["endings"], key="message")
    yield from flagged("session.json fills", "message", document["fills"], key="values")
    for section in ("stores", "wants", "values", "fills", "files"):
        for row in document[section]:
            for one in row["sets"]:
                yield from change_set(f"session.json {section}: {row['name']}", parts_of(one))
    for one in document["serving"]["sets"]:
        yield from change_set("session.json serving", parts_of(one))
    for row in document["files"]:
        for file in row["files"]:
            vector = f"session.json files: {file['name']}"
            yield Item(vector, "file-reference", expand(file["reference"]), reasons.MATCHES)
    rows = [(row["name"], exchange) for section in ("stores", "values")
            for row in document[section] for exchange in row["answers"]]
    rows += [("serving", row) for row in document["serving"]["answers"]]
    for name, row in rows:
        for key in ("question", "request", "answer", "want"):
            if key in row:
                yield Item(f"session.json: {name}, {key}", "message", expand(row[key]), reasons.MATCHES)
    for row in document["wants"]:
        for step in row["steps"]:
            for text in [*step["messages"], *filter(None, [step["want"]])]:
                yield Item(f"session.json wants: {row['name']}", "message", expand(text), reasons.MATCHES)


def statements_of(vector, statements):
    for statement in statements:
        yield Item(vector, "statement", expand(statement), reasons.MATCHES)


def transcript(document):
    for section, connection in document.items():
        yield from nested(f"transcript.json {section}", connection)
    line = document["pairing"]["ticket"]["line"]
    yield Item("transcript.json ticket", "ticket", payload(line), reasons.MATCHES)
    rules = {"join request": "join-request", "join reply": "join-reply", "handshake message 3": "introduction"}
    for section in ("pairing", "session"):
        for step in document[section]["steps"]:
            if "message" in step:
                vector = f"transcript.json {section}: step {step['number']}, {step['name']}"
                yield Item(vector, rules.get(step["name"], "message"), expand(step["message"]), reasons.MATCHES)


def nested(vector, node):
    """The statements and change sets anywhere in a part of a file."""
    if isinstance(node, dict) and {"header", "signature", "plan", "values"} <= set(node):
        yield from change_set(vector, parts_of(node))
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "statements":
                for statement in value:
                    yield Item(vector, "statement", expand(statement), reasons.MATCHES)
            else:
                yield from nested(vector, value)
    elif isinstance(node, list):
        for each in node:
            yield from nested(vector, each)


FORMS = {"join": "join-request", "reply": "join-reply", "introduction": "introduction", "statement": "statement"}
def schemas(document):
    """Schemas of apps are values of a field, whatever a node learns from them."""
    for row in document["schemas"]:
        yield Item(f"schemas.json: {row['name']}", "field-value", expand(row["kinds"]), reasons.MATCHES)


READERS = {
    "cbor": cbor, "change-sets": change_sets, "circle": circle, "cuts": cuts, "files": files, "growth": growth,
    "merge": merge, "messages": messages, "purchase": purchase, "schemas": schemas,
    "session": session, "transcript": transcript}
