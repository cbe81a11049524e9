"""Protocol/transcript.md: a pairing and a session, replayed as each side.

Each side opens every frame that the other sends, reads the message and applies it. What a side sends is computed again
from what it holds and has received, and must be the same bytes.
"""

import hashlib
import json
import pathlib
import re
import warnings

from nacl.public import PrivateKey
from nacl.signing import SigningKey

import circle as circles
import files
import merge
from change_set import RECORDS, SETTINGS, ChangeSet, content_of, parse, seal
from channel import CLOSE, LAST, MORE, PART, PREAMBLE, noise, preamble
from circle import Circle, Statement, Ticket
from encoding import decode, encode, hashed, require, sign
from messages import (
    ANSWER, GOODBYE, HEADS, INTRODUCTION, LANES, QUERY, SERVED, SETS, STATE, STATEMENT_IDS, STATEMENTS, SUMMARY, VALUES,
    WANT, WANT_VALUES, check_values, check_want_values)
from needs import Needs
from replica import Lane
from statement import CERTIFICATE

# noiseprotocol warns that ephemeral keys are set, which is what a transcript needs.
warnings.filterwarnings("ignore", module="noise")

FILE = pathlib.Path(__file__).parents[3] / "Protocol" / "vectors" / "transcript.json"
SHUTTING_DOWN = 18
# Longer byte strings are left out of the diagnostic form.
DIAGNOSTIC_MAX = 1_024
NAMES = {number: name for number, name in enumerate((
    "introduction", "summary", "statement ids", "statements", "heads", "want", "sets", "served", "state", "goodbye",
    "query", "answer", "want values", "values", "want leaves", "leaf list", "leaf bytes", "files here"), 1)}
# The order of the parts of a set in the file.
PARTS = ("header", "signature", "plan", "values")


def blake(data):
    return hashlib.blake2b(data, digest_size=32).digest()


class Diagnostic:
    """Reads the diagnostic notation of the file: RFC 8949, section 8, with << … >> for a byte string that contains
    CBOR. Long byte strings are left out, with their length as a comment; they are read as zeros."""

    def __init__(self, text):
        self.text, self.at = text, 0

    @classmethod
    def read(cls, text):
        reader = cls(text)
        value = reader.value()
        assert reader.at == len(text), text[reader.at:]
        return value

    def takes(self, token):
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def match(self, pattern):
        found = re.compile(pattern).match(self.text, self.at)
        assert found, self.text[self.at:self.at + 20]
        self.at = found.end()
        return found[1]

    def value(self):
        if self.takes("<<"):
            content = encode(self.value())
            assert self.takes(">>")
            return content
        for token, simple in (("true", True), ("false", False), ("null", None)):
            if self.takes(token):
                return simple
        if self.takes("["):
            return self.items("]", self.value)
        if self.takes("{"):
            return dict(self.items("}", self.pair))
        if self.takes("h'"):
            data = bytes.fromhex(self.match("([0-9a-f]*)'"))
            return bytes(int(self.match("([0-9]+) bytes /"))) if self.takes(" / ") else data
        if self.takes('"'):
            return self.match('([^"\\\\]*)"')
        return int(self.match("(-?[0-9]+)"))

    def pair(self):
        key = self.value()
        assert self.takes(": ")
        return key, self.value()

    def items(self, end, read):
        found = []
        while not self.takes(end):
            assert not found or self.takes(", ")
            found.append(read())
        return found


class Secrets:
    """The keys of a device."""

    def __init__(self, row):
        self.name, self.key = row["name"], SigningKey(bytes.fromhex(row["seed"]))
        self.device, self.incarnation = bytes(self.key.verify_key), bytes.fromhex(row["incarnation"])
        self.transport = bytes.fromhex(row["transportSecret"])
        self.transport_public = bytes(PrivateKey(self.transport).public_key)
        assert self.device.hex() == row["device"] and self.transport_public.hex() == row["transport"]


# MARK: Bytes on the wire


class End:
    """One end of a connection: a handshake with given keys, and then sealed frames."""

    def __init__(self, secrets, connection, start, psk, initiator):
        ephemeral = bytes.fromhex(connection["ephemerals"][secrets.name])
        self.noise = noise(secrets.transport, initiator, start, psk, ephemeral)

    def frames(self, message):
        """The sealed frames of a message; of None, of a close."""
        if message is None:
            return framed(self.noise.encrypt(bytes([CLOSE])))
        parts = [message[at:at + PART] for at in range(0, len(message), PART)] or [b""]
        headers = [MORE] * (len(parts) - 1) + [LAST]
        return b"".join(framed(self.noise.encrypt(bytes([header]) + part)) for header, part in zip(headers, parts))

    def opened(self, wire):
        """The message in these frames; None if they are a close."""
        message = b""
        while wire:
            content, wire = unframed(wire)
            plain = bytes(self.noise.decrypt(content))
            if plain[0] == CLOSE:
                require(plain[1:] == message == wire == b"", "a close by itself")
                return None
            message += plain[1:]
            require(plain[0] == (MORE if wire else LAST), "fragment header")
        return message


def framed(content):
    return len(content).to_bytes(2, "big") + content


def unframed(wire):
    end = 2 + int.from_bytes(wire[:2], "big")
    require(len(wire) >= end, "cut short")
    return wire[2:end], wire[end:]


def replayed(document, devices, name):
    """Yields each step with its message, after both ends have produced and read its bytes."""
    connection = document[name]
    messages = [step for step in connection["steps"] if "from" in step]
    assert [step["number"] for step in messages] == list(range(1, len(messages) + 1))
    dialler, dialled = messages[0]["from"], messages[0]["to"]
    key, nonce = bytes.fromhex(connection["preambleKey"]), bytes.fromhex(connection["preambleNonce"])
    psk = bytes.fromhex(connection["ticket"]["presharedKey"]) if "ticket" in connection else None
    start = preamble(key, nonce=nonce)
    ends = {each: End(devices[each], connection, start, psk, each == dialler) for each in (dialler, dialled)}
    for step in connection["steps"]:
        if "from" not in step:
            yield step, None, ends
            continue
        sender, receiver, message = ends[step["from"]], ends[step["to"]], message_of(document, step)
        if step["number"] <= 3:
            text = framed(bytes(sender.noise.write_message(message or b"")))
            if step["number"] == 1:
                text = start + text
            assert text.hex() == step["wire"], (name, step["number"])
            content, rest = unframed(text[PREAMBLE if step["number"] == 1 else 0:])
            assert rest == b"" and bytes(receiver.noise.read_message(content)) == (message or b"")
        else:
            text = sender.frames(message)
            if "wire" in step:
                assert text.hex() == step["wire"], (name, step["number"])
            else:
                assert (len(text), blake(text).hex()) == (step["wireBytes"], step["wireHash"]), (name, step["number"])
            assert receiver.opened(text) == message, (name, step["number"])
        yield step, message, ends
    for end in ends.values():
        assert end.noise.get_handshake_hash().hex() == connection["handshakeHash"], name


def message_of(document, step):
    """The message of a step; None if it has none."""
    if "message" in step:
        return unhex(step["message"])
    if "leaf" not in step:
        return None
    file = file_of(document, step["leaf"]["file"])
    message = encode([files.LEAF_BYTES, file.reference, step["leaf"]["index"], file.leaf(step["leaf"]["index"])])
    assert (len(message), blake(message).hex()) == (step["messageBytes"], step["messageHash"]), step["number"]
    return message


def file_of(document, name):
    row = next(row for row in document["files"] if row["name"] == name)
    file = files.File(bytes((row["factor"] * p + p // 251) % 256 for p in range(row["size"])))
    assert file.reference[1].hex() == row["id"] and [each.hex() for each in file.hashes] == row["leaves"]
    return file


# MARK: What a side holds


class Side:
    """What one device holds, and what it has received in a session."""

    def __init__(self, secrets, document, connection, store=None):
        self.secrets, self.document = secrets, document
        self.wall, self.steady = connection["wallClock"], connection["steadyClocks"].get(secrets.name, 0)
        self.circle, self.lanes, self.files, self.downloads = None, {}, {}, {}
        # The last message of each tag, from the other side, and what this side has said of its statements.
        self.heard, self.token = {}, 0
        # The lanes that are open; none outside of a session.
        self.open = []
        if store is not None:
            self.learn(map(bytes.fromhex, store["statements"]))
            for row in store["sets"]:
                self.place(set_of(row))
            for name in store["files"]:
                file = file_of(document, name)
                self.files[tuple(file.reference)] = name, file
            self.check(store["holds"])

    def learn(self, statements):
        read = [Statement(each) for each in statements]
        if self.circle is None:
            self.circle = Circle(next(each for each in read if each.kind == 1))
            self.lanes = {lane: Lane(lane, self.circle.id) for lane in LANES}
        for each in read:
            self.circle.add(each)

    def place(self, raw):
        verified = parse([raw.header, raw.signature, raw.plan, raw.values])
        assert self.circle.may_author(verified.device)
        assert self.lanes[verified.lane].place(verified, self.wall)
        return verified

    def state(self):
        return hashed("state/v1", self.circle.hash, *(
            part for lane in self.open for part in (bytes([lane]), *self.lanes[lane].hashes())))

    def check(self, holds):
        """Compares what this side holds with what the transcript says."""
        names = [chain[-1].fields[5] for chain in self.circle.chains().values()]
        assert sorted(names) == holds["members"] and self.circle.hash.hex() == holds["certificates"]
        for lane, name in ((SETTINGS, "settings"), (RECORDS, "records")):
            told = [holds[name][key] for key in ("heads", "foldedHeads", "digest")]
            assert [each.hex() for each in self.lanes[lane].hashes()] == told, (self.secrets.name, name)
        missing = sum(len(slots) for lane in self.lanes.values() for slots in lane.missing().values())
        assert missing == holds["missingValues"] and sorted(name for name, _ in self.files.values()) == holds["files"]
        assert (self.state().hex() if self.open else None) == holds.get("state")

    def introduction(self, at):
        device = self.secrets.device
        return circles.introduction(
            self.circle.chains()[device], self.circle.entitlements(device), self.wall + at)

    # What this side sends

    def expected(self, step, told):
        """The message that this side sends in a step, from what it holds. It follows the choices of `told`, the message
        in the transcript: which lane, which question, which files."""
        tag, *parts = told
        at = step["at"]
        if tag == INTRODUCTION:
            return [INTRODUCTION, self.introduction(at)]
        if tag == SUMMARY:
            return [SUMMARY, self.circle.hash, self.wall + at, *([0, *self.lanes[lane].hashes()] for lane in LANES)]
        if tag == STATEMENT_IDS:
            return [STATEMENT_IDS, STATEMENT_IDS not in self.heard, sorted(self.circle.statements)]
        if tag == STATEMENTS:
            known = self.circle.statements
            lacking = sorted(set(known) - set(self.heard[STATEMENT_IDS][1]))
            return [STATEMENTS, True, [known[each].data for each in lacking]]
        if tag == HEADS:
            return [HEADS, parts[0], parts[1], sorted(self.lanes[parts[0]].heads())]
        if tag == WANT:
            needs = Needs(self.lanes[parts[0]], self.circle.may_author)
            needs.hear(True, self.heard[HEADS, parts[0]])
            return [WANT, parts[0], needs.wants()]
        if tag == SETS:
            return [SETS, parts[0], self.sets(parts[0])]
        if tag == SERVED:
            return [SERVED, parts[0]]
        if tag == STATE:
            return self.stated(parts[2], at)
        if tag == GOODBYE:
            return [GOODBYE, SHUTTING_DOWN]
        if tag == QUERY:
            self.token += 1
            return [QUERY, self.token, parts[1], parts[2]]
        if tag == ANSWER:
            return self.answer()
        if tag == WANT_VALUES:
            missing = self.lanes[parts[0]].missing()
            sets = [self.lanes[parts[0]].by_id[each] for each in missing]
            return [WANT_VALUES, parts[0], [[*s.log, s.sequence, s.id, missing[s.id]] for s in sets]]
        if tag == VALUES:
            return [VALUES, parts[0], self.lanes[parts[0]].values_of(self.heard[WANT_VALUES][1])]
        return self.of_files(tag, parts)

    def sets(self, lane):
        """The sets that were requested, or the one that this side has just written."""
        if self.written is not None:
            written, self.written = self.written, None
            return [written.wire]
        return [each.wire for each in self.lanes[lane].serve(self.heard[WANT, lane])]

    def stated(self, echo, at):
        if echo:
            return [STATE, self.state(), self.steady + at, True]
        asked, token, _ = self.heard[STATE]
        return [STATE, b"" if asked == self.state() else self.state(), token, False]

    def answer(self):
        token, lane, (form, *more) = self.heard[QUERY]
        mine, place = self.lanes[lane], tuple(more[-1] or (0, b"")) if more else None
        folded = list(mine.folded.values())
        content = {
            0: lambda: mine.heads(),
            1: lambda: b"".join(merge.sums(folded)),
            2: lambda: [row for row in merge.hashes(folded) if row[1][0] == more[0] and tuple(row[:2]) > place],
            3: lambda: [row for row in merge.inventory(folded) if tuple(row[:2]) > place],
        }[form]()
        return [ANSWER, token, lane, mine.hashes()[1], True, [form, sorted(content) if form == 0 else content]]

    def of_files(self, tag, parts):
        if tag == files.FILES_HERE:
            what, keeps, listed = files.read(tag, parts)
            if what == files.ANSWER:
                named = self.named()
                listed = [each for each in self.heard[files.FILES_HERE][1] if each in named and each in self.files]
            elif what == files.ANNOUNCEMENT:
                assert all(each in self.files for each in listed)
            return [tag, what, what != files.QUESTION, [list(each) for each in listed]]
        if tag == files.WANT_LEAVES:
            reference, is_bytes, first, count = files.read(tag, parts)
            download = self.downloads.setdefault(reference, files.Download(reference))
            leaves = files.leaf_count(reference[0])
            assert reference in self.named() and reference not in self.files
            # The list first, if there is more than one leaf.
            return [tag, list(reference), leaves == 1 or download.has_list, 0, leaves]
        file = self.files[tuple(parts[0])][1]
        assert tuple(parts[0]) in self.named()
        if tag == files.LEAF_LIST:
            return [tag, file.reference, 0, file.hashes]
        return [tag, file.reference, parts[1], file.leaf(parts[1])]

    def named(self):
        """The files that folded records name."""
        cells = merge.cells(self.lanes[RECORDS].folded.values())
        values = [write.value for of_cell in cells.values() for write in of_cell]
        return {tuple(each) for each in values
                if type(each) is list and len(each) == 2 and type(each[1]) is bytes and len(each[1]) == 32}

    # What this side does by itself

    written = None

    def write(self, row):
        """Writes the set of a step, and checks that it is the one of the transcript."""
        entries = [[
            each["type"], each["kind"], bytes.fromhex(each["record"]),
            {field["number"]: described(field["value"]) for field in each["fields"]}] for each in row["entries"]]
        draft = self.lanes[row["lane"]].draft(self.secrets, [], self.wall + row["at"])
        draft.update(operation=bytes.fromhex(row["operation"]),
                     content=content_of(entries, row["verb"], bytes.fromhex(row["seed"])))
        raw = seal(**draft)
        assert raw == set_of(row["set"])
        self.written = self.place(raw).raw

    # What this side receives

    def receive(self, message, channel_peer):
        tag, *parts = decode(message)
        assert encode([tag, *parts]) == message
        if tag != STATE or parts[2]:
            self.heard[tag] = parts
        if tag in (HEADS, WANT):
            self.heard[tag, parts[0]] = parts[-1]
        if tag == INTRODUCTION:
            self.admit(parts[0], channel_peer)
        elif tag == SUMMARY:
            self.judge(*parts)
        elif tag == STATEMENTS:
            self.learn(parts[1])
        elif tag == SETS:
            for each in parts[1]:
                self.place(ChangeSet(*each))
        elif tag == WANT_VALUES:
            check_want_values(*parts)
        elif tag == VALUES:
            check_values(*parts)
            for id, slots in parts[1]:
                self.lanes[parts[0]].fill(id, slots)
        elif tag in files.TAGS:
            self.receive_of_files(tag, *files.read(tag, parts))

    def admit(self, introduction, transport):
        self.peer = circles.read_introduction(introduction, self.circle, transport)
        self.open = [SETTINGS]

    def judge(self, certificates, wall, settings, records):
        """Opens the records lane: both devices are premium by the statements here, and the other side says that its
        gate is open."""
        assert settings[0] == 0
        is_premium = all(self.circle.is_premium(each, self.wall) for each in (self.secrets.device, self.peer))
        self.open = [SETTINGS, RECORDS] if is_premium and records[0] == 0 else [SETTINGS]

    def receive_of_files(self, tag, *parts):
        self.heard[tag] = [parts[0], parts[-1]]
        download = self.downloads.get(parts[0])
        if tag == files.LEAF_LIST:
            download.on_list(*parts[1:])
        elif tag == files.LEAF_BYTES:
            download.on_leaf(*parts[1:])
            if download.is_whole:
                name = next(row["name"] for row in self.document["files"] if row["id"] == download.id.hex())
                self.files[parts[0]] = name, files.File(download.data)


def unhex(text):
    """Bytes in hexadecimal; `hh*count` between spaces is a byte repeated."""
    parts = [part.split("*") for part in text.split()]
    return b"".join(bytes.fromhex(part[0]) * (int(part[1]) if len(part) > 1 else 1) for part in parts)


def without_long(value):
    """A message with zeros in place of long byte strings."""
    if type(value) is list:
        return [without_long(each) for each in value]
    return bytes(len(value)) if type(value) is bytes and len(value) > DIAGNOSTIC_MAX else value


def set_of(row):
    raw = ChangeSet(*(bytes.fromhex(row[part]) for part in PARTS))
    read = parse([raw.header, raw.signature, raw.plan, raw.values])
    assert read.id.hex() == row["id"] and read.values.missing == row["missing"]
    return raw


def described(value):
    """A value in the notation of the vectors."""
    kind = value["type"]
    if kind == "text":
        return bytes.fromhex(value["utf8"]).decode()
    assert kind == "integer", "the transcript writes no other values"
    return int(value["decimal"])


# MARK: Replaying


def pairing(document, devices):
    connection = document["pairing"]
    told = connection["ticket"]
    ticket = Ticket(told["line"])
    assert [ticket.secret.hex(), ticket.addresses, ticket.until] == [told[k] for k in ("secret", "addresses", "expiry")]
    assert ticket.psk.hex() == told["presharedKey"]
    assert ticket.key.hex() == told["preambleKey"] == connection["preambleKey"]
    laptop, phone = Side(devices["laptop"], document, connection, connection["before"]["laptop"]), None
    for step, message, ends in replayed(document, devices, "pairing"):
        if message:
            assert encode(Diagnostic.read(step["diagnostic"])) == message
        if step["name"] == "join request":
            own = devices["phone"]
            proof = sign(own.key, "join-proof/v1", ends["phone"].noise.get_handshake_hash())
            assert message == encode({0: 1, 1: own.device, 2: own.transport_public, 3: own.name, 4: proof})
        if step["name"] == "join reply":
            certificate = Statement.make(CERTIFICATE, laptop.secrets.key, {
                0: 1, 1: laptop.circle.id, 2: laptop.secrets.device, 3: devices["phone"].device,
                4: devices["phone"].transport_public, 5: "phone", 6: 0, 7: laptop.wall + step["at"]})
            others = [each.data for id, each in sorted(laptop.circle.statements.items()) if each.kind != 1]
            laptop.learn([certificate.data])
            assert message == encode({0: 1, 1: [laptop.circle.genesis.data, certificate.data, *others]})
            phone = Side(devices["phone"], document, connection)
            phone.learn(decode(message)[1])
            assert phone.circle.id == ticket.circle
            assert phone.circle.transport(devices["phone"].device) == devices["phone"].transport_public
            laptop.check(step["after"]["laptop"])
            phone.check(step["after"]["phone"])
    assert phone is not None


def session(document, devices):
    connection, sides = document["session"], {}
    for name, store in connection["before"].items():
        sides[name] = Side(devices[name], document, connection, store)
        assert circles.session_key(sides[name].circle.id).hex() == connection["preambleKey"]
    # What has been sent and has not arrived yet: (time, step, message); and what a person has asked last.
    on_the_way, asked = [], None

    def arrive(until):
        while on_the_way and on_the_way[0][0] <= until:
            _, step, message = on_the_way.pop(0)
            side = sides[step["to"]]
            if message is not None:
                side.receive(message, devices[step["from"]].transport_public)
            else:
                for each in sides.values():
                    each.open = []
            for name, holds in step.get("after", {}).items():
                sides[name].check(holds)

    for step, message, _ in replayed(document, devices, "session"):
        arrive(step["at"])
        if "write" in step:
            sides[step["device"]].write({**step["write"], "at": step["at"]})
            for name, holds in step.get("after", {}).items():
                sides[name].check(holds)
            continue
        if "from" not in step:
            asked = step.get("question", asked)
            continue
        if step["name"].startswith("query"):
            assert decode(message)[2] == asked["lane"] and decode(message)[3][:2] == [
                asked["form"], *([asked["bucket"]] if asked["form"] == 2 else [None] * (asked["form"] == 3))]
        sender = sides[step["from"]]
        if step["number"] <= 3:
            if message is not None:
                assert message == sender.introduction(step["at"]) == encode(Diagnostic.read(step["diagnostic"]))
                sides[step["to"]].admit(message, devices[step["from"]].transport_public)
                for name, holds in step.get("after", {}).items():
                    sides[name].check(holds)
            continue
        if message is not None:
            told = decode(message)
            assert NAMES[told[0]] == step["name"].split(":")[0], step["number"]
            assert encode(Diagnostic.read(step["diagnostic"])) == encode(without_long(told)), step["number"]
            expected = encode(sender.expected(step, told))
            assert expected == message, (step["number"], step["name"], decode(expected), told)
        on_the_way.append((step["at"] + connection["travelMilliseconds"], step, message))
    arrive(1 << 60)


def check_founding(document):
    """The keys of the root and of the issuer are those that the genesis names."""
    genesis = next(each for each in map(Statement, map(
        bytes.fromhex, document["pairing"]["before"]["laptop"]["statements"])) if each.kind == 1)
    root, issuer = (bytes(SigningKey(bytes.fromhex(document[key])).verify_key) for key in ("rootSeed", "issuerSeed"))
    assert genesis.id.hex() == document["circle"] and genesis.fields[2] == root and genesis.fields[6] == [issuer]


def replay():
    document = json.loads(FILE.read_text())
    devices = {row["name"]: Secrets(row) for row in document["devices"]}
    check_founding(document)
    pairing(document, devices)
    session(document, devices)
