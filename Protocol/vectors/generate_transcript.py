"""Writes transcript.json: every byte of a pairing and of a session, with fixed keys, ephemeral keys and clocks.

Protocol/transcript.md says how to read the file. The bytes follow from the chapters alone; where a chapter leaves it
open what is sent when, the order is that of this program, and a comment here says why.
"""

import base64
import hashlib
import struct
import warnings

import cbor2
from nacl.bindings import crypto_scalarmult_base
from nacl.signing import SigningKey

import noise_channel
from change_set import INSERT, PUT, RECORDS, SETTINGS, Device, Log, clock, in_order, is_whole
from deterministic_cbor import compact, describe, encode, save, write
from leaves import LEAF_BYTES, cut, file_id, leaf_list
from statements import blake, pub, sign, statement, statement_id

# noiseprotocol warns that ephemeral keys are set, which is what a transcript needs.
warnings.filterwarnings("ignore", module="noise")

(INTRODUCTION, SUMMARY, STATEMENT_IDS, STATEMENTS, HEADS, WANT, SETS, SERVED, STATE, GOODBYE, QUERY, ANSWER,
 WANT_VALUES, VALUES, WANT_LEAVES, LEAF_LIST, LEAF_BYTES_MESSAGE, FILES_HERE) = range(1, 19)
TRIP, LODGING, ATTACHMENT, SETTING = 1, 2, 7, 8192
FOUNDED = 1_800_000_000_000
PAIRED, MET = FOUNDED + 60_000, FOUNDED + 3_600_000
HOUR, YEAR = 3_600_000, 31_536_000_000
# How long a message travels. It decides in which order messages cross.
TRAVEL = 2
WRITTEN_AT = 300
# What the steady clock of each device shows at the first step of the session.
STEADY = {"laptop": 500_000, "phone": 90_000}
# How much of a message fits into one sealed frame.
PART = 65_518
# Longer byte strings are left out of the diagnostic form.
DIAGNOSTIC_MAX = 1_024
LANES = {SETTINGS: "settings", RECORDS: "records"}


def secret(name, count=32):
    """Bytes that anyone can derive again."""
    return hashlib.sha256(b"waymark transcript " + name.encode()).digest()[:count]


def hashed(data):
    return hashlib.blake2b(data, digest_size=32).digest()


# MARK: Diagnostic notation (RFC 8949, section 8). Byte strings that contain CBOR are written << … >>, as in RFC 8610,
# appendix G.

structured = {}


def contains(data, value=None):
    """Remembers that a byte string contains CBOR."""
    structured[data] = cbor2.loads(data) if value is None else value
    return data


def diagnostic(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bytes):
        if value in structured:
            return "<<" + diagnostic(structured[value]) + ">>"
        if len(value) > DIAGNOSTIC_MAX:
            return f"h'' / {len(value)} bytes /"
        return f"h'{value.hex()}'"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{diagnostic(k)}: {diagnostic(value[k])}" for k in sorted(value)) + "}"
    return "[" + ", ".join(map(diagnostic, value)) + "]"


# MARK: Devices and statements


class Member(Device):
    """A device of the circle with its keys for channels."""

    def __init__(self, name):
        self.name, self.seed = name, secret(name + " device")
        self.signing = SigningKey(self.seed)
        self.key = pub(self.signing)
        self.transport_secret = secret(name + " transport")
        self.transport = crypto_scalarmult_base(self.transport_secret)
        # The first four bits are the number of the incarnation, minus 1.
        random = secret(name + " incarnation", 16)
        self.incarnation = bytes([random[0] & 15]) + random[1:]

    def described(self):
        return {
            "name": self.name, "seed": self.seed.hex(), "device": self.key.hex(),
            "transportSecret": self.transport_secret.hex(), "transport": self.transport.hex(),
            "incarnation": self.incarnation.hex()}


ROOT, ISSUER = SigningKey(secret("root")), SigningKey(secret("issuer"))
laptop, phone, desktop = Member("laptop"), Member("phone"), Member("desktop")


def made(kind, pairs, signer):
    data = statement(kind, pairs, signer)
    contains(data)
    contains(cbor2.loads(data)[1])
    return data


GENESIS = made(1, {
    0: 1, 2: pub(ROOT), 3: laptop.key, 4: laptop.transport, 5: "laptop", 6: [pub(ISSUER)], 7: FOUNDED,
    8: secret("genesis", 16)}, ROOT)
CIRCLE = statement_id(GENESIS)
for each in (laptop, phone, desktop):
    each.circle = CIRCLE


def certificate(member, issued):
    return made(2, {
        0: 1, 1: CIRCLE, 2: laptop.key, 3: member.key, 4: member.transport, 5: member.name, 6: 0, 7: issued},
        laptop.signing)


def addresses(member, at, *listed):
    return made(8, {0: 1, 1: CIRCLE, 2: member.key, 3: clock(at), 4: list(listed)}, member.signing)


DESKTOP = certificate(desktop, FOUNDED + 10_000)
# The time of issue is that of the inviter's answer.
PHONE = certificate(phone, PAIRED + 6)
LAPTOP_ADDRESSES = addresses(laptop, FOUNDED + 5_000, "192.0.2.1:7433", "[2001:db8::1]:7433")
DESKTOP_ADDRESSES = addresses(desktop, FOUNDED + HOUR // 2, "192.0.2.3:7433")
PHONE_ADDRESSES = addresses(phone, PAIRED + 5_000, "192.0.2.2:7433")
ENTITLEMENT = made(5, {
    0: 1, 1: CIRCLE, 2: pub(ISSUER), 4: "premium", 5: FOUNDED + 1_800_000, 6: FOUNDED, 7: FOUNDED + YEAR,
    8: secret("serial", 16), 9: "transcript"}, ISSUER)


# MARK: Files


def content(size, factor):
    """Byte p is (factor · p + ⌊p / 251⌋) mod 256."""
    return bytes((factor * p + p // 251) % 256 for p in range(size))


class File:
    def __init__(self, name, size, factor):
        self.name, self.size, self.factor = name, size, factor
        self.data = content(size, factor)
        self.parts, self.hashes = cut(self.data), leaf_list(self.data)
        self.reference = [size, file_id(size, self.hashes)]

    def described(self):
        return {
            "name": self.name, "size": self.size, "factor": self.factor, "id": self.reference[1].hex(),
            "leaves": [each.hex() for each in self.hashes]}


# A program would keep 700 bytes in the record itself. A reader accepts a reference of any size.
TICKET, MAP = File("ticket.txt", 700, 7), File("map.png", LEAF_BYTES + 10_000, 11)


# MARK: Change sets


def text_id(kind, text):
    return blake("waymark/string-id/v1", struct.pack(">I", kind), text.encode())[:16]


def record(name):
    return secret("record " + name, 16)


def operation(name):
    return secret("operation " + name, 16)


class Held:
    """A change set with its entries, and the slots of which the values are missing."""

    def __init__(self, sealed, entries, missing=()):
        self.sealed, self.entries, self.missing = sealed, in_order(entries), tuple(missing)
        self.log = sealed.fields[2], sealed.fields[3]
        self.sequence, self.clock = sealed.fields[5], sealed.fields[7]

    def without(self, *slots):
        return Held(self.sealed, self.entries, slots)

    @property
    def values(self):
        return self.sealed.slots.salted(self.missing) if self.missing else self.sealed.values

    @property
    def parts(self):
        return [self.sealed.header, self.sealed.signature, self.sealed.plan, self.values]

    @property
    def stamp(self):
        return self.clock.to_bytes(8, "big") + self.log[0] + self.sealed.id

    def described(self):
        header, signature, plan, values = (part.hex() for part in self.parts)
        return {"id": self.sealed.id.hex(), "header": header, "signature": signature, "plan": plan, "values": values,
                "missing": list(self.missing)}


logs = {}


def write_set(member, lane, name, at, *entries, seen=()):
    """A set of a member; `seen`: the sets of other logs that it has folded since its previous one."""
    log = logs.setdefault((member.name, lane), Log(member, lane))
    for each in seen:
        log.see(each.sealed)
    [sealed] = log.write(name, list(entries), wall=at, operation=operation(f"{member.name} {name} {at}"),
                         seed=secret(f"seed {member.name} {lane} {log.sequence + 1}", 16))
    contains(sealed.header)
    contains(sealed.plan)
    held = Held(sealed, entries)
    contains(sealed.values)
    contains(sealed.slots.salted([0]))
    for index in range(len(sealed.slots.contents)):
        contains(sealed.slots.salted([index]))
        contains(sealed.slots.contents[index])
    return held


ROME, CASA, OSLO = record("Rome"), record("Casa"), record("Oslo")
laptop_dark = write_set(
    laptop, SETTINGS, "edit", FOUNDED + 20_000,
    [INSERT, SETTING, text_id(SETTING, "colorScheme"), {1: "colorScheme", 2: "dark"}])
phone_onboarding = write_set(
    phone, SETTINGS, "edit", PAIRED + 20_000,
    [INSERT, SETTING, text_id(SETTING, "hasCompletedOnboarding"), {1: "hasCompletedOnboarding", 2: True}])
laptop_rome = write_set(
    laptop, RECORDS, "add", FOUNDED + 30_000,
    [INSERT, TRIP, ROME, {1: "Rome", 2: "By night train", 4: FOUNDED + 30 * 24 * HOUR}],
    [INSERT, LODGING, CASA, {1: ROME, 2: "Casa", 5: ["120.50", "EUR"]}])
laptop_files = write_set(
    laptop, RECORDS, "add", PAIRED + 600_000,
    [PUT, TRIP, ROME, {1: "Rome and Naples"}],
    [INSERT, ATTACHMENT, record("ticket"), {1: [LODGING, CASA], 2: "ticket.txt", 9: TICKET.reference}],
    [INSERT, ATTACHMENT, record("map"), {1: [LODGING, CASA], 2: "map.png", 9: MAP.reference}])
# The desktop has passed this set on to the phone, and had lost the values of its first slot.
phone_rome = laptop_rome.without(0)
phone_oslo = write_set(
    phone, RECORDS, "add", PAIRED + 700_000, [INSERT, TRIP, OSLO, {1: "Oslo"}], seen=[phone_rome])
# Concurrent with the laptop's edit of the same field, and later: it wins, and the other value is a sibling.
phone_edit = write_set(phone, RECORDS, "edit", PAIRED + 800_000, [PUT, TRIP, ROME, {1: "Roma"}])


# Written during the session, when the laptop has folded the sets of the phone.
laptop_note = write_set(
    laptop, RECORDS, "edit", MET + WRITTEN_AT, [PUT, TRIP, OSLO, {2: "Midsummer"}], seen=[phone_oslo, phone_edit])


# MARK: What a side holds


class Side:
    def __init__(self, member, statements, sets, files=()):
        self.member, self.statements = member, {statement_id(each): each for each in statements}
        self.lanes = {SETTINGS: [], RECORDS: []}
        for each in sets:
            self.store(each)
        self.files = list(files)
        # The lanes that are open; none outside of a session.
        self.open = []

    def opens(self, *lanes):
        return lambda: setattr(self, "open", list(lanes))

    def store(self, held):
        lane = self.lanes[held.sealed.fields[4]]
        lane[:] = [each for each in lane if each.sealed.id != held.sealed.id] + [held]

    def learn(self, *statements):
        self.statements.update((statement_id(each), each) for each in statements)

    @property
    def certificates(self):
        return blake("waymark/certificates/v1", *sorted(self.statements))

    @property
    def members(self):
        named = [cbor2.loads(cbor2.loads(each)[1]) for each in self.statements.values()
                 if cbor2.loads(each)[0] in (1, 2)]
        return sorted(each[5] for each in named)

    def heads(self, lane):
        newest = {}
        for each in self.lanes[lane]:
            if each.log not in newest or newest[each.log].sequence < each.sequence:
                newest[each.log] = each
        return [[*log, each.sequence, each.sealed.id, each.sequence] for log, each in sorted(newest.items())]

    def winners(self, lane):
        """Cell → the set whose write shows, with its value; of equal and greater stamps the greatest."""
        cells = {}
        for each in self.lanes[lane]:
            slot = -1
            for entry in each.entries:
                has_slot = entry[0] in (PUT, INSERT)
                slot += has_slot
                fields = dict(entry[3]) if has_slot else {}
                if slot in each.missing:
                    fields = {number: None for number in fields}
                if entry[0] == INSERT:
                    fields[0] = True
                for number, value in fields.items():
                    cell = entry[1], entry[2], number
                    if cell not in cells or cells[cell][0].stamp < each.stamp:
                        cells[cell] = each, value
        return cells

    def record_hashes(self, lane):
        """What each record adds to the digest."""
        inputs = {}
        for (kind, record, number), (held, _) in sorted(self.winners(lane).items()):
            inputs.setdefault((kind, record), struct.pack(">I", kind) + record)
            inputs[kind, record] += struct.pack(">I", number) + held.stamp
        return {key: blake("waymark/record-digest/v1", data) for key, data in inputs.items()}

    def sums(self, lane):
        """The digest by the first byte of record ids."""
        sums = [0] * 256
        for (_, record), each in self.record_hashes(lane).items():
            sums[record[0]] = (sums[record[0]] + int.from_bytes(each, "big")) % 2**256
        return [each.to_bytes(32, "big") for each in sums]

    def digest(self, lane):
        total = sum(int.from_bytes(each, "big") for each in self.record_hashes(lane).values())
        return (total % 2**256).to_bytes(32, "big")

    def inventory(self, lane):
        """The visible records, which here are all: [kind, record, hash of what they show]."""
        shown = {}
        for (kind, record, number), (_, value) in sorted(self.winners(lane).items()):
            shown.setdefault((kind, record), {})
            if number != 0 and value is not None:
                shown[kind, record][number] = value
        assert not any(is_whole(kind) for kind, _ in shown)
        return [[*key, blake("waymark/record-contents/v1", write(fields))] for key, fields in sorted(shown.items())]

    def hashes(self, lane):
        heads = self.heads(lane)
        stored = [device + incarnation + struct.pack(">Q", sequence) + head
                  for device, incarnation, sequence, head, _ in heads]
        folded = [device + incarnation + struct.pack(">Q", sequence) + head
                  for device, incarnation, _, head, sequence in heads]
        return [blake("waymark/heads/v1", *stored), blake("waymark/folded-heads/v1", *folded), self.digest(lane)]

    def state(self):
        parts = [self.certificates]
        for lane in self.open:
            parts += [bytes([lane]), *self.hashes(lane)]
        return blake("waymark/state/v1", *parts)

    def described(self):
        lanes = {}
        for lane, name in ((SETTINGS, "settings"), (RECORDS, "records")):
            heads, folded, digest = (each.hex() for each in self.hashes(lane))
            lanes[name] = {"heads": heads, "foldedHeads": folded, "digest": digest}
        holds = {
            "members": self.members, "certificates": self.certificates.hex(), **lanes,
            "files": sorted(each.name for each in self.files),
            "missingValues": sum(len(each.missing) for lane in self.lanes.values() for each in lane)}
        return {**holds, "state": self.state().hex()} if self.open else holds


def store_of(side):
    return {
        "statements": [side.statements[each].hex() for each in sorted(side.statements)],
        "sets": [each.described() for lane in (SETTINGS, RECORDS) for each in side.lanes[lane]],
        "files": [each.name for each in side.files], "holds": side.described()}


# MARK: Connections


class Connection:
    """One connection, which the first of two sides dials. All bytes are made by one end of `noiseprotocol` and read by
    another."""

    def __init__(self, name, sides, key, nonce, psk=None):
        self.steps, self.count, self.key = [], 0, key
        self.sides = {each.member.name: each for each in sides}
        self.start = noise_channel.preamble(key, nonce)
        protocol = noise_channel.PLAIN if psk is None else noise_channel.PSK
        self.ends = {
            each.name: noise_channel.party(
                protocol, each.transport_secret, secret(f"{each.name} ephemeral {name}"), each is sides[0].member,
                self.start, psk)
            for each in (side.member for side in sides)}

    def other(self, name):
        return next(each for each in self.ends if each != name)

    def step(self, at, sender, name, does, **parts):
        self.count += 1
        step = {"number": self.count, "at": at, "from": sender, "to": self.other(sender), "name": name,
                "does": does, **parts}
        self.steps.append(step)
        return step

    def handshake(self, at, sender, name, does, payload=b"", opening=b"", then=None):
        message = bytes(self.ends[sender].write_message(payload))
        assert bytes(self.ends[self.other(sender)].read_message(message)) == payload
        parts = {}
        if payload:
            parts = {"diagnostic": diagnostic(structured[payload]), "message": payload.hex()}
        self.arrive(self.step(at, sender, name, does, **parts, wire=(opening + frame(message)).hex()), then)

    def arrive(self, step, then):
        """Lets the receiver apply a step. It sends nothing before the step arrives, so it may do so at once."""
        if then is not None:
            then()
            step["after"] = {step["to"]: self.sides[step["to"]].described()}
        return step

    @property
    def hash(self):
        [one, other] = [bytes(each.get_handshake_hash()) for each in self.ends.values()]
        assert one == other
        return one

    def sealed(self, sender, plaintext):
        content = self.ends[sender].encrypt(plaintext)
        assert bytes(self.ends[self.other(sender)].decrypt(content)) == plaintext
        return frame(content)

    def send(self, at, sender, name, does, value, leaf=None, then=None):
        """`leaf`: the file and the number of a leaf that is not written out."""
        message = encode(value)
        parts = [message[start:start + PART] for start in range(0, len(message), PART)]
        wire = b"".join(
            self.sealed(sender, bytes([index == len(parts) - 1]) + part) for index, part in enumerate(parts))
        if leaf is None:
            step = self.step(
                at, sender, name, does, diagnostic=diagnostic(value), message=compact(message), wire=wire.hex())
        else:
            file, index = leaf
            step = self.step(
                at, sender, name, does, diagnostic=diagnostic(value), leaf={"file": file.name, "index": index},
                messageBytes=len(message), messageHash=hashed(message).hex(), wireBytes=len(wire),
                wireHash=hashed(wire).hex())
        return self.arrive(step, then)

    def close(self, at, sender, does):
        return self.step(at, sender, "close", does, wire=self.sealed(sender, b"\x02").hex())

    def local(self, at, device, name, does, **parts):
        step = {"at": at, "device": device, "name": name, "does": does, **parts}
        self.steps.append(step)
        return step


def frame(content):
    return struct.pack(">H", len(content)) + content


# MARK: Pairing

TICKET_SECRET, EXPIRY = secret("ticket", 16), FOUNDED + 600_000
INVITER = ["192.0.2.1:7433"]
PSK = blake("waymark/ticket-psk/v1", TICKET_SECRET, CIRCLE, laptop.transport)


def ticket():
    payload = cbor2.dumps({0: 1, 1: CIRCLE, 2: laptop.transport, 3: INVITER, 4: TICKET_SECRET, 5: EXPIRY})
    checked = payload + blake("waymark/ticket-checksum/v1", payload)[:4]
    key = noise_channel.preamble_key(b"pairing", TICKET_SECRET)
    return {
        "secret": TICKET_SECRET.hex(), "addresses": INVITER, "expiry": EXPIRY,
        "line": "waymark1" + base64.b32encode(checked).decode().lower().rstrip("="),
        "preambleKey": key.hex(), "presharedKey": PSK.hex()}


def pairing():
    """The phone dials the laptop, which has issued the ticket."""
    inviter = Side(laptop, [GENESIS, DESKTOP, LAPTOP_ADDRESSES], [])
    joiner = Side(phone, [], [])
    nonce = secret("pairing nonce", 16)
    line = Connection(
        "pairing", [joiner, inviter], noise_channel.preamble_key(b"pairing", TICKET_SECRET), nonce, PSK)
    line.handshake(
        0, "phone", "preamble, handshake message 1",
        "The laptop finds the ticket under whose key the MAC of the preamble verifies, and only then creates keys.",
        opening=line.start)
    line.handshake(2, "laptop", "handshake message 2",
                   "The phone checks that the static key is the transport key of the ticket.")
    line.handshake(4, "phone", "handshake message 3",
                   "The laptop knows the transport key of the phone, and that the phone has the ticket.")
    proof = sign("waymark/join-proof/v1", line.hash, phone.signing)
    line.send(
        4, "phone", "join request",
        "The laptop checks the proof over the handshake hash, and the transport key, and certifies the phone.",
        {0: 1, 1: phone.key, 2: phone.transport, 3: "phone", 4: proof})
    before = store_of(inviter)
    inviter.learn(PHONE)
    # The genesis, the chain of the phone, and then the other statements in ascending order of ids.
    others = sorted((each for each in (DESKTOP, LAPTOP_ADDRESSES)), key=statement_id)
    step = line.send(
        6, "laptop", "join reply",
        "The phone verifies the statements: they are of the circle of the ticket, and make it a member with its two "
        "keys. Before the laptop sends them, it has stored the certificate.", {0: 1, 1: [GENESIS, PHONE, *others]})
    joiner.learn(*inviter.statements.values())
    step["after"] = {"laptop": inviter.described(), "phone": joiner.described()}
    line.close(8, "phone", "The laptop ends the connection. The phone dials again for a session.")
    return {
        "wallClock": PAIRED, "steadyClocks": {}, "travelMilliseconds": TRAVEL, "ticket": ticket(),
        "preambleKey": line.key.hex(), "preambleNonce": nonce.hex(), "handshakeHash": line.hash.hex(),
        "ephemerals": {each: secret(f"{each} ephemeral pairing").hex() for each in ("phone", "laptop")},
        "before": {"laptop": before}, "steps": line.steps}


# MARK: Session


def written(held, verb, at, member):
    """What a person has entered, and the set that follows."""
    lane = held.sealed.fields[4]
    return {
        "verb": verb, "operation": held.sealed.fields[9].hex(), "seed": held.sealed.slots.seed.hex(), "lane": lane,
        "entries": [{
            "type": each[0], "kind": each[1], "record": each[2].hex(),
            "fields": [{"number": number, "value": describe(each[3][number])} for number in sorted(each[3])]}
            for each in held.entries],
        "set": held.described()}


def session():
    """The laptop dials the phone."""
    mine = Side(
        laptop, [GENESIS, DESKTOP, PHONE, LAPTOP_ADDRESSES, DESKTOP_ADDRESSES, ENTITLEMENT],
        [laptop_dark, laptop_rome, laptop_files], [TICKET, MAP])
    theirs = Side(
        phone, [GENESIS, DESKTOP, PHONE, LAPTOP_ADDRESSES, PHONE_ADDRESSES],
        [phone_onboarding, phone_rome, phone_oslo, phone_edit])
    before = {"laptop": store_of(mine), "phone": store_of(theirs)}
    nonce = secret("session nonce", 16)
    line = Connection("session", [mine, theirs], noise_channel.preamble_key(b"session", CIRCLE), nonce)
    open_session(line, mine, theirs)
    compare_statements(line, mine, theirs)
    compare_lanes(line, mine, theirs)
    exchange_sets(line, mine, theirs)
    agree(line, mine, theirs)
    fetch_files(line, mine, theirs)
    push(line, mine, theirs)
    answer_questions(line, mine)
    end(line, mine, theirs)
    return {
        "wallClock": MET, "steadyClocks": STEADY, "travelMilliseconds": TRAVEL,
        "preambleKey": line.key.hex(), "preambleNonce": nonce.hex(), "handshakeHash": line.hash.hex(),
        "ephemerals": {each: secret(f"{each} ephemeral session").hex() for each in ("laptop", "phone")},
        "before": before, "steps": line.steps}


# In what follows, each part of the session is a function. All that arrives together is handled in the order in which it
# was sent, and answered at once.


def introduction(side, entitlements, at):
    """The chain from the genesis to the certificate of the sender, and its entitlements."""
    chain = [GENESIS] if side.member is laptop else [GENESIS, PHONE]
    return contains(encode({0: 1, 1: chain, 2: entitlements, 3: MET + at}))


def summary(side, at):
    # Both gates are open, and each side finds the other premium by the entitlement: reason 0.
    lanes = [[0, *side.hashes(lane)] for lane in (SETTINGS, RECORDS)]
    return [SUMMARY, side.certificates, MET + at, *lanes]


def heads(side, lane):
    return [HEADS, lane, True, side.heads(lane)]


def want(lane, *sets):
    """Sets of one log, of which the last is the tip."""
    first, tip = sets[0], sets[-1]
    return [WANT, lane, [[*tip.log, first.sequence, tip.sequence, tip.sealed.id]]]


def sets_of(lane, *sets):
    return [SETS, lane, [each.parts for each in sets]]


def open_session(line, mine, theirs):
    line.handshake(
        0, "laptop", "preamble, handshake message 1",
        "The phone checks the MAC of the preamble with the key of its circle, and only then creates keys.",
        opening=line.start)
    line.handshake(
        2, "phone", "handshake message 2",
        "The laptop checks that a certificate names the static key, before it sends its introduction.")

    def admitted():
        theirs.learn(ENTITLEMENT)
        theirs.open = [SETTINGS]

    line.handshake(
        4, "laptop", "handshake message 3",
        "The phone verifies the introduction: the laptop is a member with this transport key. It learns the entitlement, by "
        "which both are premium. The settings lane opens.", introduction(mine, [ENTITLEMENT], 4), then=admitted)
    # The entitlement counts for all devices, so the phone shows it as its own.
    line.send(
        6, "phone", "introduction",
        "The laptop verifies the introduction: the phone is a member with this transport key. The settings lane opens.",
        [INTRODUCTION, introduction(theirs, [ENTITLEMENT], 6)], then=mine.opens(SETTINGS))
    line.send(
        6, "phone", "summary",
        "The phone announces reason 0, so the records lane opens. The certificates differ.", summary(theirs, 6),
        then=mine.opens(SETTINGS, RECORDS))
    line.send(
        8, "laptop", "summary", "The records lane opens. The certificates differ; the laptop, as initiator, compares them.",
        summary(mine, 8), then=theirs.opens(SETTINGS, RECORDS))


def compare_statements(line, mine, theirs):
    line.send(8, "laptop", "statement ids",
              "Asks for the ids of the phone, and for the statements that this list lacks.",
              [STATEMENT_IDS, True, sorted(mine.statements)])
    # The laptop asks as soon as the lane opens, about its files of which it knows no other keeper.
    line.send(8, "laptop", "files here: question",
              "Asks which of these files the phone has. No folded record of the phone names them yet.",
              [FILES_HERE, 0, False, sorted([TICKET.reference, MAP.reference], key=lambda each: each[1])])
    line.send(10, "phone", "statement ids", "The laptop finds what the phone lacks.",
              [STATEMENT_IDS, False, sorted(theirs.statements)])
    line.send(10, "phone", "statements", "What the list of the laptop lacked: the addresses of the phone.",
              [STATEMENTS, True, [PHONE_ADDRESSES]], then=lambda: mine.learn(PHONE_ADDRESSES))
    line.send(10, "phone", "files here: answer", "The phone has none of the files. It keeps all files.",
              [FILES_HERE, 1, True, []])
    line.send(12, "laptop", "statements", "What the list of the phone lacked: the addresses of the desktop.",
              [STATEMENTS, True, [DESKTOP_ADDRESSES]], then=lambda: theirs.learn(DESKTOP_ADDRESSES))


def compare_lanes(line, mine, theirs):
    """Each side has exchanged its statements, and compares the lanes: by the last summary of the other side, and again
    when the next one arrives, as long as it has requested nothing."""
    line.send(12, "laptop", "summary", "The certificates are equal now. Heads of both lanes differ.", summary(mine, 12))
    for lane in (SETTINGS, RECORDS):
        line.send(12, "laptop", f"heads: {LANES[lane]}", "The phone lacks the newest set of this log, and requests it.",
                  heads(mine, lane))
    line.send(14, "phone", "summary", "Heads of both lanes differ. The laptop sends its heads again.",
              summary(theirs, 14))
    line.send(14, "phone", "heads: settings", "The laptop lacks the set of the phone, and requests it.",
              heads(theirs, SETTINGS))
    line.send(14, "phone", "heads: records", "The laptop lacks the sets of the phone, and requests them. The set of its "
              "own log that the phone names is stored here.", heads(theirs, RECORDS))
    # The phone has answered the statements of the laptop above, and answers its summary here. The records lane has two
    # heads, and a list is repeated after half a millisecond for each head at the earliest.
    line.send(14, "phone", "heads: settings", "A repetition: the comparison of the second summary.",
              heads(theirs, SETTINGS))


def exchange_sets(line, mine, theirs):
    line.send(14, "phone", "want: settings", "The laptop reads the set.", want(SETTINGS, laptop_dark))
    line.send(14, "phone", "want: records", "The laptop reads the set after the one that the phone has.",
              want(RECORDS, laptop_files))
    for lane in (SETTINGS, RECORDS):
        line.send(16, "laptop", f"heads: {LANES[lane]}", "A repetition: the comparison of the second summary.",
                  heads(mine, lane))
    line.send(16, "laptop", "want: settings", "The phone reads the set.", want(SETTINGS, phone_onboarding))
    line.send(16, "laptop", "want: records", "The phone reads both sets.", want(RECORDS, phone_oslo, phone_edit))
    line.send(16, "laptop", "sets: settings", "The phone verifies, stores and folds the set.",
              sets_of(SETTINGS, laptop_dark), then=lambda: theirs.store(laptop_dark))
    line.send(16, "laptop", "served: settings", "The answer to the want is complete.", [SERVED, SETTINGS])
    line.send(16, "laptop", "sets: records", "The phone verifies, stores and folds the set. Its own write of the same "
              "field is later and wins; the value of the laptop is a sibling.",
              sets_of(RECORDS, laptop_files), then=lambda: theirs.store(laptop_files))
    line.send(16, "laptop", "served: records", "The answer to the want is complete.", [SERVED, RECORDS])
    line.send(18, "phone", "sets: settings", "The laptop verifies, stores and folds the set.",
              sets_of(SETTINGS, phone_onboarding), then=lambda: mine.store(phone_onboarding))
    line.send(18, "phone", "served: settings", "The answer to the want is complete.", [SERVED, SETTINGS])

    def stored():
        mine.store(phone_oslo)
        mine.store(phone_edit)

    line.send(18, "phone", "sets: records", "The laptop verifies, stores and folds both sets in their order. The "
              "second one wins the name of the trip.", sets_of(RECORDS, phone_oslo, phone_edit), then=stored)
    line.send(18, "phone", "served: records", "The answer to the want is complete.", [SERVED, RECORDS])


def agree(line, mine, theirs):
    """Each side asks as soon as it has stored what it requested. The token is its steady clock."""
    line.send(18, "phone", "state: question", "The phone has stored everything that it requested. The laptop compares.",
              [STATE, theirs.state(), STEADY["phone"] + 18, True])
    line.send(18, "phone", "want values", "The phone lacks the values of slot 0, and no sets. By its heads, the laptop "
              "has this set.",
              [WANT_VALUES, RECORDS, [[*laptop_rome.log, laptop_rome.sequence, laptop_rome.sealed.id, [0]]]])
    # The phone has folded records that name files, and begins to want them.
    line.send(18, "phone", "files here: question", "The phone wants these files. The laptop looks them up.",
              [FILES_HERE, 0, False, sorted([TICKET.reference, MAP.reference], key=lambda each: each[1])])
    line.send(20, "laptop", "state: question",
              "The laptop has stored everything that it requested. The phone compares.",
              [STATE, mine.state(), STEADY["laptop"] + 20, True])
    line.send(20, "laptop", "state: answer", "No hash: equal to the one that was asked about. The two are in sync.",
              [STATE, b"", STEADY["phone"] + 18, False])
    slots = laptop_rome.sealed.slots
    line.send(20, "laptop", "values", "The phone computes the commitment of the slot from salt and content, compares "
              "it with that in its set, and stores the values. Heads and digest stay the same.",
              [VALUES, RECORDS, [[laptop_rome.sealed.id, [[0, slots.salts[0], slots.contents[0]]]]]],
              then=lambda: theirs.store(laptop_rome))
    line.send(20, "laptop", "files here: answer", "The laptop has both files.",
              [FILES_HERE, 1, True, sorted([TICKET.reference, MAP.reference], key=lambda each: each[1])])
    line.send(22, "phone", "state: answer", "No hash: equal. The two are in sync.",
              [STATE, b"", STEADY["laptop"] + 20, False])


def fetch_files(line, mine, theirs):
    # A file of one leaf needs no list. The file with the fewest missing bytes comes first.
    line.send(22, "phone", "want leaves: bytes", "The laptop reads the only leaf of the small file, and verifies it.",
              [WANT_LEAVES, TICKET.reference, True, 0, 1])
    line.send(22, "phone", "want leaves: list", "The laptop reads the list of the large file.",
              [WANT_LEAVES, MAP.reference, False, 0, 2])
    line.send(24, "laptop", "leaf bytes", "The hash of the leaf and the size give the id of the file. The phone writes "
              "the file and makes it durable.",
              [LEAF_BYTES_MESSAGE, TICKET.reference, 0, TICKET.data], then=lambda: theirs.files.append(TICKET))
    line.send(24, "laptop", "leaf list", "The phone verifies the list against the id of the file.",
              [LEAF_LIST, MAP.reference, 0, MAP.hashes])
    line.send(26, "phone", "want leaves: bytes", "The laptop reads both leaves, and verifies them.",
              [WANT_LEAVES, MAP.reference, True, 0, 2])
    line.send(28, "laptop", "leaf bytes", "In two frames. The phone verifies the leaf against the list and writes it.",
              [LEAF_BYTES_MESSAGE, MAP.reference, 0, MAP.parts[0]], leaf=(MAP, 0))
    line.send(28, "laptop", "leaf bytes", "The last leaf is shorter. The file is complete; the phone makes it durable.",
              [LEAF_BYTES_MESSAGE, MAP.reference, 1, MAP.parts[1]], leaf=(MAP, 1),
              then=lambda: theirs.files.append(MAP))
    # 0.2 seconds after the first of the files was complete.
    line.send(226, "phone", "files here: announcement", "The laptop notes that the phone has and keeps both files.",
              [FILES_HERE, 2, True, [TICKET.reference, MAP.reference]])


def push(line, mine, theirs):
    mine.store(laptop_note)
    line.local(
        WRITTEN_AT, "laptop", "write", "A person edits the notes of a trip.",
        write=written(laptop_note, "edit", WRITTEN_AT, laptop), after={"laptop": mine.described()})
    line.send(WRITTEN_AT, "laptop", "sets: records", "Unrequested. The phone verifies, stores and folds the set.",
              sets_of(RECORDS, laptop_note), then=lambda: theirs.store(laptop_note))
    # 20 milliseconds and the round trip of the last answer after the change.
    asked = WRITTEN_AT + 20 + 2 * TRAVEL
    line.send(asked, "laptop", "state: question", "Asked after a change. The phone compares.",
              [STATE, mine.state(), STEADY["laptop"] + asked, True])
    line.send(asked + TRAVEL, "phone", "state: answer", "No hash: equal. The two are in sync again.",
              [STATE, b"", STEADY["laptop"] + asked, False])


def answer_questions(line, mine):
    """The phone asks what the laptop holds. Tokens ascend from 1."""
    folded = mine.hashes(RECORDS)[1]

    def ask(at, token, name, does, question, answered, answer, told):
        line.local(at, "phone", "ask", does, question={
            "lane": RECORDS, "form": question[0], **({"bucket": question[1]} if question[0] == 2 else {})})
        line.send(at, "phone", f"query: {name}", "The laptop checks that the phone may ask, and reads the answer.",
                  [QUERY, token, RECORDS, question])
        line.send(answered, "laptop", f"answer: {name}", told,
                  [ANSWER, token, RECORDS, folded, True, [question[0], answer]])

    ask(400, 1, "heads", "Which sets does the laptop hold?", [0], 402, mine.heads(RECORDS), "The heads of the lane.")
    # After an answer, the laptop waits for 25 milliseconds before it gives the next one.
    ask(410, 2, "sums", "Where do the records differ?", [1], 427, b"".join(mine.sums(RECORDS)),
        "The digest as 256 sums, by the first byte of record ids.")
    bucket = OSLO[0]
    hashes = mine.record_hashes(RECORDS)
    ask(440, 3, "bucket", "Which records are behind one of the sums?", [2, bucket, None], 452,
        [[*key, hashes[key]] for key in sorted(hashes) if key[1][0] == bucket],
        "The stored records whose ids begin with that byte, with what each adds to the digest.")
    ask(500, 4, "inventory", "Which records are visible, and what do they show?", [3, None], 502,
        mine.inventory(RECORDS), "The visible records, with the hash of their contents.")


def end(line, mine, theirs):
    # The initiator compares after 3.75 to 6.25 seconds, at random.
    beat = 5_174
    line.send(beat, "laptop", "state: question", "The regular comparison. The phone compares.",
              [STATE, mine.state(), STEADY["laptop"] + beat, True])
    line.send(beat + TRAVEL, "phone", "state: answer", "No hash: equal.",
              [STATE, b"", STEADY["laptop"] + beat, False])
    assert mine.described() == theirs.described()
    line.local(7_000, "laptop", "stop", "The laptop shuts down.")
    line.send(7_000, "laptop", "goodbye", "The phone learns why the connection ends.", [GOODBYE, 18])
    line.close(7_000, "laptop", "The phone ends the connection without an answer.")
    mine.open = theirs.open = []
    line.steps[-1]["after"] = {each.member.name: each.described() for each in (mine, theirs)}


NOTES = [
    "Byte strings are hexadecimal. Protocol/transcript.md says what each part means and how to use it.",
]

save("transcript.json", {
    "notes": NOTES,
    "circle": CIRCLE.hex(),
    "rootSeed": bytes(ROOT).hex(), "issuerSeed": bytes(ISSUER).hex(),
    "devices": [each.described() for each in (laptop, phone, desktop)],
    "files": [each.described() for each in (TICKET, MAP)],
    "pairing": pairing(),
    "session": session(),
})
