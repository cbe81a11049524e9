"""Checks that sets which do not verify end the session, and that their sender may come back."""

import os

from channel import Ended
from change_set import INSERT, PUT, RECORDS, SETTINGS, ChangeSet, Content, assemble, content_of, seal
from checks import READER, check
from client import HABIT, SETTING
from encoding import encode, sign
from session import SETS
from values import Values
from world import setting

GROUP_ORDER = (1 << 252) + 27742317777372353535851937790883648493


def rows(*entries):
    """A plan with these entries, exactly as they are."""
    slots = [encode([1] * len(row[3])) for row in entries if len(row) > 3 and row[3]]
    return assemble({0: "edit", 2: list(entries)}, slots)


class Maker:
    """Makes sets of a member, each invalid for one reason."""

    def __init__(self, device):
        self.device = device

    def set(self, **other):
        return seal(**{**self.device.draft(SETTINGS, setting("refused", os.urandom(4))), **other})

    def parts(self, **other):
        raw = self.set()
        return [{**dict(header=raw.header, signature=raw.signature, plan=raw.plan, values=raw.values), **other}[name]
                for name in ("header", "signature", "plan", "values")]

    def signatures(self):
        raw = self.set()
        flipped = bytes([raw.signature[0] ^ 1]) + raw.signature[1:]
        number = int.from_bytes(raw.signature[32:], "little") + GROUP_ORDER
        malleated = raw.signature[:32] + number.to_bytes(32, "little")
        header = encode({**raw.fields, 2: bytes([1]) + bytes(31)})
        return {
            "a wrong signature": [raw.header, flipped, raw.plan, raw.values],
            "a signature whose S is not below the order of the group": [raw.header, malleated, raw.plan, raw.values],
            "a signature with another prefix":
                [raw.header, sign(self.device.key, "addresses-signature/v1", raw.header), raw.plan, raw.values],
            "an author's key of small order": [header, bytes([1]) + bytes(63), raw.plan, raw.values],
            "a plan that the header does not name":
                [raw.header, raw.signature, raw.plan.replace(b"edit", b"undo"), raw.values]}

    def headers(self):
        header = encode({**self.set().fields, 5: 1})
        longer = b"\xb8" + bytes([header[0] & 31]) + header[1:]
        return {
            "another circle": self.set(circle=bytes(32)), "an unknown key in the header": self.set(key_16=1),
            "version 3": self.set(key_0=3), "clock 0": self.set(clock=0), "sequence 0": self.set(sequence=0),
            "a predecessor at sequence 1": self.set(sequence=1, previous=bytes(32)),
            "a header that is not canonical":
                [longer, sign(self.device.key, "change-set-signature/v1", longer), *self.parts()[2:]],
            "a set of the other lane": seal(**{**self.device.draft(SETTINGS), "lane": RECORDS, "content": content_of(
                [[INSERT, HABIT, bytes(16), {1: "x"}]])})}

    def plans(self):
        two = [[PUT, SETTING, bytes([number] * 16), [1]] for number in (2, 1)]
        return {
            "entries that do not ascend": self.set(content=rows(*two)),
            "a put and an insert of one record":
                self.set(content=rows([PUT, SETTING, bytes(16), [1]], [INSERT, SETTING, bytes(16), [1]])),
            "a kind of the other lane": self.set(content=content_of([[INSERT, HABIT, bytes(16), {1: "x"}]])),
            "kind 12,288": self.set(content=rows([PUT, 12_288, bytes(16), [1]])),
            "entry type 5": self.set(content=rows([5, SETTING, bytes(16)])),
            "field 0 among the fields": self.set(content=rows([INSERT, SETTING, bytes(16), [0, 1]])),
            "a verb of 33 bytes": self.set(content=Content(encode({0: "v" * 33}))),
            "an unknown key in the plan": self.set(content=Content(encode({0: "edit", 3: 1})))}

    def values(self):
        raw = self.set()
        other = Values.seeded(bytes(16), [encode(["refused", 1])]).data
        return {
            "values that do not match their commitments": [raw.header, raw.signature, raw.plan, other],
            "no values for a plan with a slot": [raw.header, raw.signature, raw.plan, b""]}


def refused(world, cases):
    device = world.device("Mallory")
    for what, made in cases(Maker(device)).items():
        session = world.settled(device)
        try:
            session.send(SETS, SETTINGS, [made.wire if type(made) is ChangeSet else made])
            session.closes(f"a set with {what}")
        except Ended:
            pass


@check("refusal.signatures", READER, "encoding", "Which signatures are valid")
def signatures(world):
    refused(world, Maker.signatures)


@check("refusal.headers", READER, "change-set", "Header")
def headers(world):
    refused(world, Maker.headers)


@check("refusal.plans", READER, "change-set", "Plan")
def plans(world):
    refused(world, Maker.plans)


@check("refusal.values", READER, "change-set", "Verifying")
def values(world):
    refused(world, Maker.values)


@check("refusal.closure", READER, "change-set", "Causal closure")
def closure(world):
    """A set that does not continue its log ends the session."""
    device = world.device("Mallory")
    world.sends("a first set", device.writes(SETTINGS, setting("first", 1)), device=device)
    tip = max((each for each in world.lanes[SETTINGS].by_id.values() if each.device == device.device),
              key=lambda each: each.sequence)
    changes = {
        "a clock that is not greater than its predecessor's": {"clock": tip.clock, "dependencies": []},
        "log bytes that do not follow from its predecessor's": {"key_14": tip.log_bytes + tip.declared + 1}}
    for what, change in changes.items():
        session = world.settled(device)
        try:
            session.push(SETTINGS, [Maker(device).set(**change)])
            session.closes(f"a set with {what}")
        except Ended:
            pass


@check("refusal.returns", READER, "session", "Connecting")
def returns(world):
    """A device whose message was refused may dial again: the client waits a tenth of a second and admits it."""
    device = world.device("Mallory")
    session = world.sends("a correct set of a device whose message was refused before",
                          device.writes(SETTINGS, setting("correct", 1)), device=device)
    session.close()
    world.settled(what="the same state with Alice afterwards")
