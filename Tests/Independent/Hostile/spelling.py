"""Allowed values in an encoding that encoding.md forbids, in every place where CBOR is read."""

import struct

from change_set import INSERT, SETTINGS
from channel import Channel
from client import SETTING, Client, text_id
from encoding import encode, head, hashed, sign
from frames import closing
from session import SETS, STATE, STATEMENTS, milliseconds
from values import Values


class Raw:
    def __init__(self, data):
        self.data = data


def spell(value):
    """Like `encode`, but Raw is inserted unchanged."""
    if type(value) is Raw:
        return value.data
    if type(value) in (list, tuple):
        return head(4, len(value)) + b"".join(map(spell, value))
    if type(value) is dict:
        return head(5, len(value)) + b"".join(encode(key) + spell(value[key]) for key in sorted(value))
    return encode(value)


def content(value):
    """The pairs of a map or the items of an array, each encoded."""
    if type(value) is dict:
        return [encode(key) + spell(value[key]) for key in sorted(value)]
    return [spell(each) for each in value]


def long_argument(value):
    return bytes([spell(value)[0] & 0xE0 | 24, len(value)]) + b"".join(content(value))


def longer_argument(value):
    return bytes([spell(value)[0] & 0xE0 | 27]) + len(value).to_bytes(8, "big") + b"".join(content(value))


def indefinite(value):
    return bytes([spell(value)[0] | 31]) + b"".join(content(value)) + b"\xff"


def repeated(value):
    """Repeats a map's last key; adds an item to an array."""
    parts = content(value)
    return spell(value)[:1].replace(head(5, len(parts)), head(5, len(parts) + 1)).replace(
        head(4, len(parts)), head(4, len(parts) + 1)) + b"".join(parts) + parts[-1]


def backwards(value):
    return spell(value)[:1] + b"".join(content(value)[::-1])


def tagged(value):
    return b"\xc1" + spell(value)


def bytes_behind(value):
    return spell(value) + b"\0"


def cut_short(value):
    return spell(value)[:-1]


def nothing(value):
    return b""


def text_keys(value):
    return spell(value)[:1] + b"".join(b"\x61k" + part for part in content(value))


TWISTS = [long_argument, longer_argument, indefinite, repeated, backwards, tagged, bytes_behind, cut_short, nothing,
          text_keys]
VALUES = {
    "not a number": b"\xfb\x7f\xf8" + bytes(6), "another NaN": b"\xfb\xff\xf0" + bytes(5) + b"\1",
    "infinity": b"\xfb\x7f\xf0" + bytes(6), "minus infinity": b"\xfb\xff\xf0" + bytes(6),
    "minus zero": b"\xfb\x80" + bytes(7), "a half float": b"\xf9\x3c\x00",
    "a single float": b"\xfa" + struct.pack(">f", 1.5), "undefined": b"\xf7", "a simple value": b"\xe0",
    "a simple value of two bytes": b"\xf8\xff", "a break": b"\xff", "a reserved length": b"\x1c",
    "beyond Int64": b"\x1b\x80" + bytes(7), "below Int64": b"\x3b\x80" + bytes(7),
    "a big number": b"\xc2\x49\x01" + bytes(8), "a map": b"\xa1\x01\x02", "a date": b"\xc0\x6a2026-05-03",
    "a long zero": b"\x18\x00", "a long text": b"\x78\x01a", "indefinite text": b"\x7f\x61a\xff",
    "indefinite bytes": b"\x5f\x41a\xff", "an indefinite array": b"\x9f\x01\xff",
    "overlong UTF-8": b"\x62\xc0\x80", "a surrogate": b"\x63\xed\xa0\x80", "beyond Unicode": b"\x64\xf4\x90\x80\x80",
    "half a character": b"\x61\xc3", "a lone continuation": b"\x61\x80",
    "nine levels": b"\x81" * 8 + b"\xf6", "a depth bomb": b"\x81" * 100_000 + b"\xf6",
    "text beyond 64 KiB": head(3, 65_537) + b"a" * 65_537, "bytes beyond 48 KiB": head(2, 49_153) + bytes(49_153),
    "gigabytes": b"\x5a\xff\xff\xff\xff", "exabytes of text": b"\x7b" + b"\xff" * 8,
    "an array of exabytes": b"\x9b\x7f" + b"\xff" * 7, "a million items": head(4, 1_000_000) + b"\xf6" * 200_000}


PLAN = {0: "edit", 2: [[INSERT, SETTING, text_id(SETTING, "spelling"), [1, 2]]]}
VALUES_OF_IT = Values.seeded(bytes(range(16)), [encode(["spelling", "x"])])
SEEDED = [VALUES_OF_IT.seed, [content for _, content in VALUES_OF_IT.slots]]


def header_of(client, plan):
    draft = client.lanes[SETTINGS].draft(client, client.setting("spelling", "x"), milliseconds())
    fields = {
        0: 2, 1: draft["circle"], 2: client.device, 3: draft["incarnation"], 4: SETTINGS, 5: draft["sequence"],
        6: draft["previous"], 7: draft["clock"], 8: sorted(draft["dependencies"]) or None, 9: draft["operation"],
        10: len(plan), 11: hashed("plan/v1", plan), 12: len(VALUES_OF_IT.data),
        13: hashed("values/v1", *VALUES_OF_IT.commitments), 14: draft["log_bytes"]}
    return {number: value for number, value in fields.items() if value is not None}


def set_of(client, plan=spell(PLAN), values=VALUES_OF_IT.data, twist=spell):
    header = twist(header_of(client, plan))
    return [header, sign(client.key, "change-set-signature/v1", header), plan, values]


def statement_of(client, fields, kind=20, twist=spell):
    body = twist(fields)
    return [kind, body, sign(client.key, f"statement-{kind}-signature/v1", body)]


def message(twist):
    return closing(lambda s: s.channel.send(twist([STATE, bytes(32), 1, True])))


def header(twist):
    return closing(lambda s: s.send(SETS, SETTINGS, [set_of(s.client, twist=twist)]))


def plan(twist):
    return closing(lambda s: s.send(SETS, SETTINGS, [set_of(s.client, twist(PLAN))]))


def values(twist):
    return closing(lambda s: s.send(SETS, SETTINGS, [set_of(s.client, values=twist(SEEDED))]))


def salted_slot(twist):
    salted = spell([[Raw(twist(VALUES_OF_IT.slots[0]))]])
    return closing(lambda s: s.send(SETS, SETTINGS, [set_of(s.client, values=salted)]))


def newer(client, value="x"):
    return {0: 1, 1: client.circle.id, 2: client.device, 3: value}


def statement(twist):
    return closing(lambda s: s.send(STATEMENTS, False, [twist(statement_of(s.client, newer(s.client)))]))


def statement_body(twist):
    return closing(
        lambda s: s.send(STATEMENTS, False, [spell(statement_of(s.client, newer(s.client), twist=twist))]))


def introduction(twist):
    def attempt(stage, node):
        chain = stage.mallory.circle.chains()[stage.mallory.device]
        stage.mallory.address = node.address
        channel = stage.mallory.channel(twist({0: 1, 1: [s.data for s in chain], 2: [], 3: milliseconds()}))
        assert channel.wire.ended(), "still open"
    return attempt


def join_request(twist):
    def attempt(stage, node):
        ticket, eve = stage.ticket(node), Client("Eve")
        channel = Channel.dial(node.address, ticket.key, eve.transport, lambda _: True, psk=ticket.psk)
        channel.send(twist({0: 1, 1: eve.device, 2: eve.transport_public, 3: "Eve",
                            4: sign(eve.key, "join-proof/v1", channel.hash)}))
        assert channel.receive(5) == encode({0: 1, 2: 6}), "not refused as a bad proof"
    return attempt


def value_in_a_statement(data):
    return closing(
        lambda s: s.send(STATEMENTS, False, [spell(statement_of(s.client, newer(s.client, Raw(data))))]))


def named(name, attempt):
    attempt.__name__ = name
    return attempt


PLACES = [message, header, plan, values, salted_slot, statement, statement_body, introduction]
# Ten failed requests close pairing for a while, so fewer variants are tried, half of them at each node.
TWISTED = [(place, twist) for place in PLACES for twist in TWISTS]
TWISTED += [(join_request, twist) for twist in (indefinite, repeated, backwards, bytes_behind)]
ATTEMPTS = [named(f"{place.__name__}: {twist.__name__}", place(twist)) for place, twist in TWISTED]
ATTEMPTS += [named(f"value in a statement: {name}", value_in_a_statement(data)) for name, data in VALUES.items()]
