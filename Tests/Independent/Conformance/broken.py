"""Clients with one planted fault each: the tool must find each fault, with the check that is meant for it, and no other
fault before it. And clients that leave out what their profile may leave out: the tool must find nothing wrong."""

import concurrent.futures
import sys
from typing import Callable, NamedTuple

import change_set
import circle
import client
import devices
import files
import membership
import merge
import needs
import replica
import session
import values
from checks import CHECKS, FULL, MEMBER, PROFILES, READER
from encoding import Refused, require
from statement import ENTITLEMENT, LOG_CUT, NAMES, REVOCATION

AT_ONCE, PATIENCE = 8, 4


class Fault(NamedTuple):
    what: str
    # Each is the only check that must fail among those of its group up to it.
    checks: tuple
    # Changes the program in the process of the client; called with the module target.py.
    plant: Callable


class Reduction(NamedTuple):
    what: str
    profile: int
    # Beginnings of the names of checks.
    only: tuple
    plant: Callable


FAULTS, REDUCTIONS = {}, {}


def fault(*checks):
    def add(function):
        FAULTS[function.__name__] = Fault(function.__doc__.rstrip("."), checks, function)
        return function
    return add


def reduction(profile, *only):
    def add(function):
        REDUCTIONS[function.__name__] = Reduction(function.__doc__.rstrip("."), profile, only, function)
        return function
    return add


def program():
    return sys.modules["__main__"]


# Channel and opening

@fault("channel.silence")
def hasty(target):
    """closes at once if the preamble is not authentic."""
    type(target).ignores = lambda self, wire, start: None


@fault("channel.silence")
def talkative(target):
    """answers a preamble that is not authentic."""
    def ignores(self, wire, start):
        wire.send(b"?")
        waits(self, wire, start)
    waits = type(target).ignores
    type(target).ignores = ignores


@fault("channel.version")
def mute(target):
    """does not answer another version."""
    type(target).says_version = staticmethod(lambda wire, key, data: None)


@fault("channel.message-3")
def patient_with_message_3(target):
    """waits for the content of a message 3 of any length."""
    program().MESSAGE_3 = range(65_536)


@fault("channel.slow-handshake")
def slow(target):
    """gives a handshake a minute."""
    program().HANDSHAKE_SECONDS = 60


@fault("channel.sealed-frames")
def roomy(target):
    """accepts messages of any length."""
    devices.MESSAGE = 1 << 40


@fault("opening.unknown-keys")
def exact(target):
    """refuses an introduction with keys of a newer version."""
    read = circle.read_introduction

    def exactly(data, *more):
        require(set(circle.decode(data)) == {0, 1, 2, 3}, "keys")
        return read(data, *more)

    circle.read_introduction = exactly


@fault("opening.revoked")
def lenient(target):
    """keeps the session of a device that has been revoked."""
    type(target).parts = lambda self: None


@fault("opening.strangers")
def trusting(target):
    """admits a device whose certificate no admin has signed."""
    def read(data, of, transport):
        last = circle.Statement(circle.decode(data)[1][-1])
        return last.fields[3]
    circle.read_introduction = read


@fault("opening.duplicate")
def abrupt(target):
    """ends the older of two connections without a goodbye."""
    end = program().Open.end
    program().Open.end = lambda self, goodbye=None: end(self)


@fault("opening.joins")
def anonymous(target):
    """sends a join request without a name."""
    encode = client.encode
    client.encode = lambda value: encode({key: value[key] for key in value if key != 3}) if (
        type(value) is dict and len(value) == 5) else encode(value)


@fault("opening.dials")
def waiting(target):
    """does not dial for a session after it has joined."""
    type(target).dials = lambda self: None


@fault("opening.introduction")
def timeless(target):
    """introduces itself without the time."""
    introduction = circle.introduction
    circle.introduction = lambda chain, entitlements, now: introduction(chain, entitlements, 0)


@fault("opening.voided-revocation")
def incurious(target):
    """ignores revocations in an introduction."""
    def without(data, *more):
        fields = circle.decode(data)
        kept = [each for each in fields[1] if circle.Statement(each).kind != REVOCATION]
        return read(circle.encode({**fields, 1: kept}), *more)
    read = circle.read_introduction
    circle.read_introduction = without


@fault("opening.dials-addresses")
def unguarded(target):
    """sends message 3 to a stranger that it has dialled."""
    circle.Circle.device_with = lambda self, transport: b"anyone"


@fault("channel.message-1")
def patient_with_message_1(target):
    """waits for the content of a message 1 of any length."""
    frame = type(target).frame
    type(target).frame = lambda self, wire, lengths, end: frame(
        self, wire, range(65_536) if len(lengths) == 1 else lengths, end)


@fault("channel.fragments")
def undivided(target):
    """accepts no message in several fragments."""
    devices.MORE = 99


@fault("channel.close")
def clinging(target):
    """does not end a connection that the other side has closed."""
    def receive(self, timeout):
        while True:
            try:
                return receives(self, timeout)
            except devices.Ended as ended:
                if not ended.orderly:
                    raise
    receives = devices.Connection.receive
    devices.Connection.receive = receive


# Statements and growth

@fault("statements.without-effect-kept")
def selective(target):
    """drops entitlements of issuers that the circle does not accept."""
    def keeps(self, statement):
        if statement.kind != ENTITLEMENT or statement.fields[2] in self.membership.issuers():
            add(self, statement)
    add = circle.Circle.add
    circle.Circle.add = keeps


@fault("statements.newest-addresses")
def hoarding(target):
    """keeps all addresses that a device has announced."""
    circle.ADDRESSES = 0


@fault("statements.purchases")
def never_replaced(target):
    """keeps all purchases that a device has shown."""
    circle.PURCHASE = 0


@fault("statements.refused")
def tolerant(target):
    """ignores statements with a wrong signature, and goes on."""
    def on_statements(self, last, statements):
        try:
            on(self, last, statements)
        except Refused:
            pass
    on = program().Open.on_statements
    program().Open.on_statements = on_statements


@fault("growth.messages")
def closed_minded(target):
    """closes the session at a message that it does not know."""
    def of_a_newer_version(self):
        raise Refused("tag")
    program().Open.of_a_newer_version = of_a_newer_version


@fault("growth.statements")
def forgetful(target):
    """drops statements of kinds that it does not know."""
    def keeps(self, statement):
        if statement.kind in NAMES:
            add(self, statement)
    add = circle.Circle.add
    circle.Circle.add = keeps


@fault("statements.converge")
def withholding(target):
    """sends its ids, and no statements."""
    def on_ids(self, reply, ids):
        if reply:
            self.send(session.STATEMENT_IDS, False, sorted(self.target.circle.statements))
        self.send(session.STATEMENTS, True, [])
    program().Open.on_ids = on_ids
    type(target).learned = lambda self, statements, source: None


@fault("statements.ids")
def insistent(target):
    """asks again in the answer to a list of ids."""
    def send(self, *message):
        sends(self, *((*message[:1], True, *message[2:]) if message[0] == session.STATEMENT_IDS else message))
    sends = program().Open.send
    program().Open.send = send


@fault("growth.refused")
def boundless(target):
    """ignores messages with a tag above 255."""
    handle = program().Open.handle
    program().Open.handle = lambda self, data: None if data[1:4] == b"\x19\1\0" else handle(self, data)


@fault("session.state")
def verbose(target):
    """answers an equal state with its hash."""
    def send(self, *message):
        is_short = message[0] == session.STATE and message[1] == b""
        sends(self, *((message[0], self.state(), *message[2:]) if is_short else message))
    sends = program().Open.send
    program().Open.send = send


# Settings

@fault("settings.concurrent", "records.concurrent")
def last_arrival(target):
    """lets the write win that arrives last."""
    merge.winner = lambda of_cell: of_cell[-1]


@fault("settings.unknown")
def narrow(target):
    """does not count kinds that it does not know."""
    writes = merge.writes
    merge.writes = lambda verified: (each for each in writes(verified) if each[0][0] <= 8_192)


@fault("settings.absent", "records.absent")
def demanding(target):
    """refuses sets with missing values."""
    read = values.Values.read.__func__

    def whole(cls, data):
        found = read(cls, data)
        require(not found.missing, "all values")
        return found

    values.Values.read = classmethod(whole)


@fault("settings.erase", "records.erase")
def remembering(target):
    """keeps and serves values that were erased."""
    replica.Lane.drop = lambda self, id, key: None


@fault("settings.wrong-values")
def credulous(target):
    """accepts values that do not match their commitments."""
    program().Open.on_values = lambda self, lane, sets: None


@fault("settings.parked", "records.parked")
def eager(target):
    """folds sets that are dated ahead."""
    replica.DRIFT = 1 << 48


@fault("settings.fork", "records.fork")
def first_branch(target):
    """keeps only the branch of a forked log that arrives first."""
    def place(self, verified, now):
        if any((each.log, each.sequence) == (verified.log, verified.sequence) and each.id != verified.id
               for each in self.by_id.values()):
            return False
        return placed(self, verified, now)
    placed = replica.Lane.place
    replica.Lane.place = place


@fault("settings.revoked-with-tips", "records.revoked-with-tips")
def uncut(target):
    """folds what a revoked device has written after the kept tip."""
    membership.Membership.cuts = lambda self, *log: []


@fault("settings.log-cut", "records.log-cut")
def past_the_cut(target):
    """ignores log cuts."""
    of = membership.Membership.of
    membership.Membership.of = lambda self, kind: [] if kind == LOG_CUT else of(self, kind)


@fault("settings.own-log-back")
def one_way(target):
    """does not name the receiver's own logs in its heads."""
    def send(self, *message):
        if message[0] == session.HEADS:
            message = (*message[:3], [each for each in message[3] if each[0] != self.peer])
        sends(self, *message)
    sends = program().Open.send
    program().Open.send = send


@fault("settings.want", "gate.opens")
def incommunicative(target):
    """requests no sets that heads name."""
    needs.Needs.wants = lambda self: []


@fault("settings.push")
def formal(target):
    """stores only sets that it has requested."""
    def on_want(self, *message):
        self.has_asked = self.__dict__.get("has_asked", False) or message[0] == session.WANT
        sends(self, *message)
    sends, on = program().Open.send, program().Open.on_sets
    program().Open.send = on_want
    program().Open.on_sets = lambda self, *parts: on(self, *parts) if self.__dict__.get("has_asked") else None


@fault("settings.too-early")
def unhurried(target):
    """does not request what a set that arrived too early depends on."""
    needs.Needs.came_early = lambda self, verified: None


@fault("settings.life", "records.entries")
def fatalistic(target):
    """does not bring deleted records back."""
    life = change_set.Verified.life
    change_set.Verified.life = lambda self, entry: None if entry.type == change_set.RESTORE else life(self, entry)


@fault("settings.missing-values", "records.missing-values")
def content(target):
    """requests no missing values."""
    program().Open.fetches = lambda self: None


@fault("settings.dropped")
def accusing(target):
    """closes the session at a set of a device that no certificate names."""
    def on_sets(self, lane, sets):
        for each in sets:
            require(self.target.circle.may_author(change_set.parse(each).device), "author")
        on(self, lane, sets)
    on = program().Open.on_sets
    program().Open.on_sets = on_sets


@fault("settings.revoked-without-tips")
def sparing(target):
    """keeps the logs that a revocation does not name."""
    cuts = membership.Membership.cuts
    membership.Membership.cuts = lambda self, *log: [each for each in cuts(self, *log) if each]


@fault("settings.voided-revocation")
def unforgiving(target):
    """never takes back what a revocation has excluded."""
    def judge(self, now):
        judges(self, now)
        banned.update(each.id for each in self.by_id.values() if not self.is_stored(each))

    def is_stored(self, verified):
        return stored(self, verified) and verified.id not in banned

    banned, judges, stored = set(), replica.Lane.judge, replica.Lane.is_stored
    replica.Lane.judge, replica.Lane.is_stored = judge, is_stored


# Refusal and records

@fault("refusal.signatures")
def unverified(target):
    """does not verify the signatures of change sets."""
    change_set.verify = lambda *parts: None


@fault("refusal.signatures")
def malleable(target):
    """accepts signatures whose S is not below the order of the group."""
    def reduced(key, prefix, body, signature):
        order = (1 << 252) + 27742317777372353535851937790883648493
        number = int.from_bytes(signature[32:], "little") % order
        verify(key, prefix, body, signature[:32] + number.to_bytes(32, "little"))
    verify = change_set.verify
    change_set.verify = reduced


@fault("refusal.plans")
def open_ended(target):
    """accepts kinds beyond 12,287."""
    lane_of = change_set.lane_of
    change_set.lane_of = lambda kind: 0 if kind > 12_287 else lane_of(kind)


@fault("refusal.closure")
def backwards(target):
    """accepts a set that is dated before its predecessor."""
    permits(replica, "clock rule")


def permits(module, *rules):
    """Leaves out some rules of a module."""
    module.require = lambda holds, rule: require(holds or rule in rules, rule)


@fault("refusal.headers")
def of_any_version(target):
    """accepts headers of any version."""
    permits(change_set, "version")


@fault("refusal.values")
def uncommitted(target):
    """accepts values that do not match the header."""
    permits(change_set, "commitments", "length of the values", "number of slots")


@fault("refusal.returns")
def resentful(target):
    """never admits a device again whose log did not continue correctly."""
    def refuses(holds, rule):
        banned.update([rule] if not holds else [])
        require(holds, rule)

    def admits(self, channel):
        require("log bytes" not in banned, "a device that behaved")
        return admitted(self, channel)

    banned, admitted = set(), type(target).admits
    replica.require, type(target).admits = refuses, admits


@fault("gate.free-tier")
def answering(target):
    """answers wants of a closed lane."""
    program().Open.on_want = lambda self, lane, wants: self.send(session.SERVED, lane)


@fault("gate.reasons")
def vague(target):
    """gives the same reason whatever entitlements it has had."""
    reason = type(target).reason
    type(target).reason = lambda self: 2 if reason(self) in (3, 4) else reason(self)


@fault("gate.withdrawn")
def irrevocable(target):
    """counts entitlements that were withdrawn."""
    membership.Membership.is_withdrawn = lambda self, entitlement: False


@fault("gate.peer-without-premium")
def generous(target):
    """gives records to members without premium."""
    program().Open.reason = lambda self: self.client.reason()


@fault("records.whole")
def newest_profile(target):
    """lets the newest put of a profile win, whatever its rank."""
    merge.whole_rank = lambda verified, entry: (0, 0, verified.stamp)


# What others get

@fault("serving.named")
def disorderly(target):
    """serves sets in no causal order."""
    causal = replica.Lane.causal
    replica.Lane.causal = lambda self, sets: causal(self, sets)[::-1]


@fault("serving.announces")
def silent_relay(target):
    """does not announce what it receives."""
    type(target).announce = lambda self, lane, source: None


@fault("files.wrong-leaf")
def unchecked(target):
    """does not verify leaves."""
    def on_leaf(self, index, data):
        self.leaves[index] = data
    files.Download.on_leaf = on_leaf


@fault("questions.answers")
def incomplete(target):
    """leaves out a record in its inventory."""
    inventory = merge.inventory
    merge.inventory = lambda folded: inventory(folded)[1:]


@fault("questions.refuses")
def indiscreet(target):
    """answers questions about records to a member without premium."""
    def on_query(self, *parts):
        reason, self.reason = self.reason, lambda: 0
        try:
            on(self, *parts)
        finally:
            self.reason = reason
    on = program().Open.on_query
    program().Open.on_query = on_query


@fault("pairing.bad-proof")
def unproven(target):
    """does not check a joiner's proof."""
    program().verify = lambda *parts: None


@fault("pairing.spent")
def reusable(target):
    """lets several devices join with one ticket."""
    type(target).spends = lambda self, secret, device: None


@fault("revocation.of-the-client")
def unyielding(target):
    """goes on after its own revocation."""
    def parts(self):
        """Nothing if it would end all sessions."""
        if self.device in self.circle.chains():
            ends(self)
    ends = type(target).parts
    type(target).parts = parts


@fault("serving.unknown-tip")
def eager_to_serve(target):
    """sends everything if it does not have what is wanted."""
    serve = replica.Lane.serve
    replica.Lane.serve = lambda self, wants: serve(self, wants) or [each.raw for each in self.by_id.values()]


@fault("serving.own")
def secretive(target):
    """keeps its own changes to itself."""
    def send(self, *message):
        if message[0] == session.HEADS:
            message = (*message[:3], [each for each in message[3] if each[0] != target.device])
        sends(self, *message)
    sends, push = program().Open.send, program().Open.push
    program().Open.send = send
    program().Open.push = lambda self, lane, sets: push(
        self, lane, [each for each in sets if each.fields[2] != target.device])


@fault("serving.relays")
def reclusive(target):
    """names no logs of other devices than the receiver."""
    one_way_but_back(target)


@fault("serving.catches-up")
def overwhelmed(target):
    """stores at most 40 sets of a session."""
    def on_sets(self, lane, sets):
        self.count = self.__dict__.get("count", 0) + len(sets)
        if self.count <= 40:
            on(self, lane, sets)
    on = program().Open.on_sets
    program().Open.on_sets = on_sets


@fault("files.fetches")
def without_files(target):
    """fetches no files."""
    type(target).wanted_files = lambda self: []


@fault("files.serves")
def selfish(target):
    """does not tell others which files it has."""
    type(target).named_files = lambda self: {}


@fault("files.questions")
def busy(target):
    """does not answer a question about no files."""
    on_here = files.Exchange.on_here
    files.Exchange.on_here = lambda self, what, keeps, named: on_here(self, what, keeps, named) if named else None


@fault("questions.answer-or-refusal")
def taciturn(target):
    """ignores questions."""
    program().Open.on_query = lambda self, *parts: None


@fault("questions.form")
def obliging(target):
    """ignores questions that do not exist."""
    def ignores(self, data):
        try:
            handle(self, data)
        except Refused:
            require(data[1] == session.QUERY, "a message that is no question")
    handle = program().Open.handle
    program().Open.handle = ignores


@fault("pairing.wrong-key")
def chatty(target):
    """answers a joiner that does not know the ticket's key."""
    def handshake(self, wire, data, end, secret):
        try:
            return shakes(self, wire, data, end, secret)
        except Exception:
            wire.send_frame(b"no")
            raise
    shakes = type(target).handshake
    type(target).handshake = handshake


@fault("pairing.joins")
def unordered(target):
    """sends a joiner the genesis last."""
    def reply(self, *request):
        answer = replies(self, *request)
        return {**answer, 1: answer[1][::-1]} if 1 in answer else answer
    replies = type(target).reply
    type(target).reply = reply


# What a profile may leave out

@reduction(READER)
def minimal(target):
    """relays nothing, refuses questions, requests no values, and never opens the records lane."""
    one_way_but_back(target)
    type(target).announce = lambda self, lane, source: None
    type(target).reason = lambda self: 2
    program().Open.fetches = lambda self: None
    program().Open.on_query = lambda self, token, lane, question: self.send(session.ANSWER, token, 255)


def one_way_but_back(target):
    """Names only its own logs and those of the receiver."""
    def send(self, *message):
        if message[0] == session.HEADS:
            message = (*message[:3], [each for each in message[3] if each[0] in (self.peer, target.device)])
        sends(self, *message)
    sends = program().Open.send
    program().Open.send = send


@reduction(MEMBER, "opening.joins", "gate", "records", "serving", "files", "questions")
def fileless(target):
    """has no files, relays nothing and refuses questions."""
    one_way_but_back(target)
    target.keeps_files = False
    type(target).announce = lambda self, lane, source: None
    type(target).wanted_files = lambda self: []
    program().Open.on_query = lambda self, token, lane, question: self.send(session.ANSWER, token, 255)


def group_of(name):
    """A check, and those of its group before it."""
    names, group = [each.name for each in CHECKS], name.split(".")[0]
    before = names[:names.index(name) + 1]
    found = [each for each in before if each.startswith(group + ".")]
    return tuple(["opening.joins", *found]) if group != "opening" else tuple(found)


def judged(word, check):
    """What is wrong with how the tool judges a client with a fault: nothing if just this check fails."""
    from python_test import judge_python
    said = []
    try:
        results = judge_python(FULL, group_of(check), word, say=said.append, patience=PATIENCE)
    except Exception as failure:
        return f"the run ended with {type(failure).__name__}: {failure}"
    if results.failed == [check]:
        return None
    return f"expected {check} to fail; failed: {results.failed or 'nothing'}\n" + "\n".join(
        each for each in said if not each.startswith("pass"))


def reduced(word):
    """What the tool finds wrong with a client that does only what its profile requires."""
    from python_test import judge_python
    planted, said = REDUCTIONS[word], []
    results = judge_python(planted.profile, planted.only, word, say=said.append)
    return "\n".join(each for each in said if each.startswith("FAIL")) if results.code else None


def told(say, wrong, sentence):
    say(f"pass  {sentence}" if wrong is None else f"FAIL  {sentence}\n      {wrong}")
    return int(wrong is not None)


def main(node, words):
    """Judges the node, a client without a fault, and those with faults, at the same time: most of it is waiting."""
    from conformance import say
    from python_test import judge_python
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = [pool.submit(node), pool.submit(judge_python, FULL)]
        allowed = {word: pool.submit(reduced, word) for word in REDUCTIONS}
        planted = {(word, check): pool.submit(judged, word, check)
                   for word in words for check in FAULTS[word].checks}
        code = found[0].result()
        results = found[1].result()
        say(f"\nA client in Python, profile full: {results.summary()} {' '.join(results.failed)}\n")
        code |= results.code
        for word, each in allowed.items():
            wrong, of = each.result(), REDUCTIONS[word]
            code |= told(say, wrong, f"profile {PROFILES[of.profile]} permits a client that {of.what}")
        for (word, check), each in planted.items():
            code |= told(say, each.result(), f"{check} finds a client that {FAULTS[word].what}")
    return code
