"""Protocol/vectors/session.json, read by this client."""

import files
import merge
import messages
from change_set import SETTINGS
from change_set import parse as parse_set
from circle import Circle, Statement, read_introduction
from client import Client
from encoding import Refused, decode, encode, hashed, require
from messages import HEADS, SERVED, SETS
from needs import Needs
from replica import Lane
from session import Session, check_answer_of, state_hash

FAR = (1 << 48) - 1


def check_all(document, unhex):
    Checks(unhex).run(document)


class Checks:
    def __init__(self, unhex):
        self.unhex = unhex

    def run(self, document):
        for name in ("certificates", "heads", "states", "contents", "stores", "introductions", "exchanges", "endings",
                     "wants", "values", "fills", "files"):
            assert document[name], name
            for row in document[name]:
                getattr(self, name)(row)
        self.serving(document["serving"])

    # What the rows consist of

    def circle_of(self, statements):
        genesis, *rest = sorted(map(self.statement, statements), key=lambda each: each.kind)
        circle = Circle(genesis)
        for each in rest:
            circle.add(each)
        return circle

    def statement(self, text):
        return Statement(self.unhex(text))

    def sets(self, rows):
        keys = ("header", "signature", "plan", "values")
        return [parse_set([self.unhex(row[key]) for key in keys]) for row in rows]

    def message(self, text):
        return messages.parse(self.unhex(text))

    def lane_with(self, row, number, now=FAR):
        lane = Lane(number, self.unhex(row["circle"]))
        sets = self.sets(row["sets"])
        for each in sets:
            assert lane.place(each, now)
        return lane, sets

    # Hashes and answers

    def certificates(self, row):
        assert self.circle_of(row["statements"]).hash.hex() == row["hash"], row["name"]

    def heads(self, row):
        tag, _, _, heads = self.message(row["bytes"])
        found = [each.hex() for each in heads_hashes(heads)]
        assert tag == HEADS and found == [row["heads"], row["folded"]], row["name"]

    def states(self, row):
        keys = ("heads", "folded", "digest")
        lanes = {lane["lane"]: [self.unhex(lane[key]) for key in keys] for lane in row["lanes"]}
        assert state_hash(self.unhex(row["certificates"]), lanes).hex() == row["hash"], row["name"]

    def contents(self, row):
        fields = {field["number"]: decode(self.unhex(field["content"])) for field in row["fields"]}
        assert merge.contents_hash(fields).hex() == row["hash"], row["name"]

    def stores(self, row):
        lane, _ = self.lane_with(row, row["lane"])
        for each in row["answers"]:
            _, token, number, question = self.message(each["question"])
            answer = [messages.ANSWER, token, number, lane.hashes()[1], True, lane.answer(question)]
            assert encode(answer) == self.unhex(each["answer"]), (row["name"], question)
            check_answer_of(number, question, *answer[2:])

    # Introductions, answers and endings

    def introductions(self, row):
        circle = self.circle_of(row["held"])
        before = set(circle.statements)
        try:
            member = read_introduction(self.unhex(row["bytes"]), circle, self.unhex(row["transport"])).hex()
        except Refused:
            member = None
        assert (member or "closed") == (row["member"] or row["outcome"]), row["name"]
        assert sorted(each.hex() for each in set(circle.statements) - before) == row["kept"], row["name"]

    def exchanges(self, row):
        _, token, lane, question = self.message(row["question"])
        _, same, *answer = self.message(row["answer"])
        assert token == same
        self.is_refused(row, lambda: check_answer_of(lane, question, *answer))

    def endings(self, row):
        client = Client("of another circle")
        client.enter(founded_by(client))
        session = Session(client, Silent(self.unhex(row["message"])), client.device, True)
        self.is_refused(row, lambda: session.step(0))

    def is_refused(self, row, does):
        try:
            does()
        except Refused as refusal:
            assert row["flag"] != "none", f"{row['name']}: refused, {refusal}"
        else:
            assert row["flag"] == "none", f"{row['name']}: accepted"

    # Wants

    def wants(self, row):
        circle = self.circle_of(row["held"])
        judged = circle.membership
        lane = Lane(SETTINGS, circle.id, judged.cuts, judged.quota, judged.line)
        sets = self.sets(row["sets"])
        for each in row["stored"]:
            assert lane.place(sets[each], FAR)
        needs = Needs(lane, circle.may_author)
        for number, step in enumerate(row["steps"]):
            for each in step["messages"]:
                self.comes(needs, *self.message(each))
            told = self.message(step["want"])[2] if step["want"] else []
            self.check_wants(needs.wants(), told, (row["name"], number))

    def comes(self, needs, tag, *parts):
        if tag == HEADS:
            needs.hear(*parts[1:])
        elif tag == SETS:
            for each in parts[1]:
                needs.arrive(parse_set(each), FAR)
        else:
            assert tag == SERVED

    def check_wants(self, found, told, title):
        """All of the tips that must be requested, none later than it must be, and no other."""
        rows = {tip: (of, through, first) for *of, first, through, tip in found}
        assert len(rows) == len(found) and set(rows) == {each[4] for each in told}, title
        for *of, first, through, tip in told:
            assert rows[tip][:2] == (of, through) and rows[tip][2] <= first, title

    def serving(self, row):
        lane, sets = self.lane_with(row, SETTINGS)
        for each in row["answers"]:
            _, _, wants = self.message(each["want"])
            served = [parse_set(raw.wire) for raw in lane.serve(wants)]
            assert sorted(one.id for one in served) == sorted(sets[one].id for one in each["sets"]), each["name"]
            assert is_causal(served), each["name"]

    # Values and files

    def values(self, row):
        lane, sets = self.lane_with(row, 1, row["now"])
        missing = {sets[each["set"]].id: each["slots"] for each in row["missing"]}
        assert lane.missing() == missing, row["name"]
        for each in row["answers"]:
            _, number, wants = self.message(each["request"])
            _, same, told = self.message(each["answer"])
            assert number == same == 1
            assert sorted(lane.values_of(wants)) == sorted(told), (row["name"], each["name"])

    def fills(self, row):
        lane, [only] = self.lane_with(row, 1)
        _, _, [[id, slots]] = self.message(row["values"])
        assert id == only.id and lane.missing() == {id: [0, 1]}
        self.is_refused(row, lambda: lane.fill(id, slots))
        assert lane.missing().get(id, []) == row["missing"], row["name"]

    def files(self, row):
        lane, _ = self.lane_with(row, 1, row["now"])
        named = files.named_by(lane)
        for each in row["files"]:
            file = files.read_reference(decode(self.unhex(each["reference"])))
            assert (file in named) == each["named"], (row["name"], each["name"])


def heads_hashes(heads):
    """The hashes of heads that came in any order."""
    ordered = sorted(heads, key=lambda head: (head[:3], head[3]))
    return [
        hashed(name, *(head[0] + head[1] + head[at].to_bytes(8, "big") + head[3] for head in ordered))
        for name, at in (("heads/v1", 2), ("folded-heads/v1", 4))]


def is_causal(sets):
    """Whether each set comes after those of the others that it names."""
    places = {each.id: place for place, each in enumerate(sets)}
    return all(
        places.get(before, -1) < places[each.id]
        for each in sets for before in [each.previous, *(dependency[3] for dependency in each.dependencies)])


class Silent:
    """A channel on which one message comes; what is sent is dropped."""

    def __init__(self, message):
        self.message = message

    def send(self, data):
        require(messages.parse(data), "own messages have the right form")

    def receive(self, timeout):
        return self.message


def founded_by(client):
    return Circle(Statement.make(1, client.key, {
        0: 1, 2: client.device, 3: bytes([1]) * 32, 4: bytes(32), 5: "laptop", 7: 1, 8: bytes(16)}))
