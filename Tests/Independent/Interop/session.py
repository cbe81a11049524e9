"""Protocol/session.md: the messages between two members, from this side."""

import time

import files
import messages
from change_set import RECORDS, SETTINGS, is_whole, lane_of, parse
from channel import Ended, Silence
from circle import Statement
from encoding import ascends, encode, hashed, require
from messages import (  # noqa: F401  the tags and questions are this chapter's too
    ANSWER, BUCKET_OF, DIGESTS_OF, GOODBYE, HEADS, HEADS_OF, INTRODUCTION, INVENTORY_OF, LANES, QUERY, SERVED, SETS,
    STATE, STATEMENT_IDS, STATEMENTS, SUMMARY, VALUES, WANT, WANT_VALUES)
from needs import Needs


def milliseconds():
    return int(time.time() * 1000)


def state_hash(certificates, lanes):
    """The hash of what two sides have in common; `lanes`: lane → its three hashes, for each open lane."""
    return hashed("state/v1", certificates, *(bytes([lane]) + b"".join(lanes[lane]) for lane in sorted(lanes)))


def check_answer_of(asked_lane, question, lane, folded, done, content):
    """Checks that an answer is one to this question."""
    asked, *more = question
    form, items = content
    require((form, lane) == (asked, asked_lane), "an answer to another question")
    require(done or form in (BUCKET_OF, INVENTORY_OF) and items, "more follows")
    if form in (HEADS_OF, DIGESTS_OF):
        return
    keys = [tuple(each[:2]) for each in items]
    place = [] if more[-1] is None else [tuple(more[-1])]
    require(ascends(place + keys), "records ascend from the place")
    require(all(lane_of(kind) == lane for kind, _ in keys), "lane of a record")
    if form == BUCKET_OF:
        require(all(record[0] == more[0] for _, record in keys), "bucket of a record")
    else:
        require(all((len(each) == 8) == is_whole(each[0]) for each in items), "ranks of whole records")


class Session:
    """One introduced connection. `step` handles a message; `heard` keeps the received tags."""

    def __init__(self, client, channel, peer, is_initiator):
        self.client, self.channel, self.peer, self.is_initiator = client, channel, peer, is_initiator
        self.heard, self.theirs, self.sent, self.answers, self.goodbye = [], None, None, {}, None
        self.asked, self.questions = {}, {}
        self.needs = {lane: Needs(client.lanes[lane], client.circle.may_author) for lane in LANES}
        # Lane → the requested slots of each set.
        self.wanted = {}
        self.token, self.told, self.of_records = 0, {}, []
        self.files = files.Exchange(self)
        self.send_summary()

    def send(self, *message):
        self.channel.send(encode(list(message)))

    # Summary and state

    def is_open(self, lane):
        if lane == SETTINGS:
            return True
        return self.reason() == 0 and self.theirs is not None and self.theirs[RECORDS][0] == 0

    def reason(self):
        """This client's gate of the records lane, or that the peer is not premium."""
        if self.client.reason() != 0:
            return self.client.reason()
        return 0 if self.client.circle.is_premium(self.peer, milliseconds()) else 7

    def summary(self):
        lanes = [[0 if lane == SETTINGS else self.reason(), *self.client.lanes[lane].hashes()]
                 for lane in LANES]
        return [self.client.circle.hash, *lanes]

    def send_summary(self):
        certificates, *lanes = self.sent = self.summary()
        self.send(SUMMARY, certificates, milliseconds(), *lanes)

    def state(self):
        return state_hash(self.client.circle.hash, {
            lane: self.client.lanes[lane].hashes() for lane in LANES if self.is_open(lane)})

    def is_equal(self, timeout=5):
        """Whether the peer's state hash is ours."""
        token = len(self.answers) + 1
        self.asked[token] = self.state()
        self.send(STATE, self.asked[token], token, True)
        self.until(lambda: token in self.answers, timeout, "an answer to state")
        return self.answers[token] == self.state()

    # Receiving

    def until(self, done, timeout, what, look=None):
        """Handles messages until `done`, which is checked after each message, and after `look` seconds without
        one."""
        end = time.monotonic() + timeout
        while not done():
            left = end - time.monotonic()
            assert left > 0, f"waited {timeout} s for {what}; heard {self.heard[-20:]}"
            try:
                self.step(min(left, look or left))
            except Silence:
                pass

    def settle(self, timeout=15):
        """Exchanges messages until both sides are in sync."""
        end = time.monotonic() + timeout
        self.until(lambda: self.theirs is not None, timeout, "a summary")
        while not self.is_equal():
            assert time.monotonic() < end, f"not in sync within {timeout} s; heard {self.heard[-30:]}"
            self.pump(0.3)
            for lane in self.client.lanes.values():
                lane.wake(milliseconds())

    def pump(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self.step(left)
            except Silence:
                return

    def step(self, timeout):
        message = messages.parse(self.channel.receive(timeout))
        if message is None:
            return  # of a newer version: Protocol/growth.md
        tag, *parts = message
        require(tag != INTRODUCTION, "a second introduction")
        self.heard.append(tag)
        if tag in (HEADS, WANT, SETS, SERVED, WANT_VALUES, VALUES) and parts[0] == RECORDS:
            self.of_records.append(tag)
        handlers = {SUMMARY: self.on_summary, STATEMENT_IDS: self.on_ids, STATEMENTS: self.on_statements,
                    HEADS: self.on_heads, WANT: self.on_want, SETS: self.on_sets, SERVED: self.on_served,
                    STATE: self.on_state, GOODBYE: self.on_goodbye,
                    QUERY: self.on_query, ANSWER: self.on_answer,
                    WANT_VALUES: self.on_want_values, VALUES: self.on_values}
        if tag in files.TAGS:
            return self.files.on(tag, *parts)
        handlers[tag](*parts)

    def on_summary(self, certificates, wall, settings, records):
        self.theirs = {SETTINGS: settings, RECORDS: records}
        if self.sent != self.summary():
            self.send_summary()
        if certificates != self.client.circle.hash and self.is_initiator:
            self.send(STATEMENT_IDS, True, sorted(self.client.circle.statements))
        for lane in LANES:
            if self.is_open(lane) and self.theirs[lane][1:3] != self.client.lanes[lane].hashes()[:2]:
                self.send(HEADS, lane, True, self.client.lanes[lane].heads())

    def on_ids(self, reply, ids):
        known = self.client.circle.statements
        if reply:
            self.send(STATEMENT_IDS, False, sorted(known))
        batch = []
        for each in sorted(set(known) - set(ids)):
            if sum(map(len, batch)) + len(known[each].data) > 500_000:
                self.send(STATEMENTS, False, batch)
                batch = []
            batch.append(known[each].data)
        self.send(STATEMENTS, True, batch)

    def on_statements(self, last, statements):
        for each in statements:
            self.client.circle.add(Statement(each))
        self.client.judge()
        if self.reason() != self.sent[2][0]:
            self.send_summary()

    def on_heads(self, lane, complete, heads):
        if not self.is_open(lane):
            return
        self.needs[lane].hear(complete, heads)
        named = [each[:2] for each in heads]
        self.want(lane, [each for each in self.needs[lane].wants() if each[:2] in named])

    def want(self, lane, wants):
        if wants:
            self.send(WANT, lane, wants)

    def on_want(self, lane, wants):
        if not self.is_open(lane):
            return
        self.push(lane, self.client.lanes[lane].serve(wants))
        self.send(SERVED, lane)

    def push(self, lane, sets):
        for start in range(0, len(sets), 3):
            self.send(SETS, lane, [each.wire for each in sets[start:start + 3]])

    def on_sets(self, lane, sets):
        for each in sets:
            verified = parse(each)
            require((verified.circle, verified.lane) == (self.client.circle.id, lane), "circle and lane of a set")
            if self.is_open(lane) and self.client.circle.may_author(verified.device):
                self.needs[lane].arrive(verified, milliseconds())

    def on_served(self, lane):
        """Requests what turned out to be further back."""
        back = self.needs[lane].back
        self.want(lane, [each for each in self.needs[lane].wants() if tuple(each[:2]) in back])

    def on_state(self, state, token, echo):
        if echo:
            self.send(STATE, b"" if state == self.state() else self.state(), token, False)
        else:
            state = state or self.asked.get(token)
            if state is None:
                return
            self.answers[token] = state
        if state != self.state():
            self.send_summary()

    def on_goodbye(self, reason):
        self.goodbye = reason

    # Missing values

    def want_values(self, lane):
        """Requests the slots that are missing here and not erased."""
        self.wanted[lane] = self.client.lanes[lane].missing()
        sets = [self.client.lanes[lane].by_id[each] for each in self.wanted[lane]]
        require(len(sets) <= 256, "this client requests everything at once")
        self.send(WANT_VALUES, lane, [[*each.log, each.sequence, each.id, self.wanted[lane][each.id]] for each in sets])

    def on_want_values(self, lane, sets):
        if self.is_open(lane):
            self.send(VALUES, lane, self.client.lanes[lane].values_of(sets))

    def on_values(self, lane, sets):
        wanted = self.wanted.get(lane, {})
        if not {id for id, _ in sets} <= set(wanted):
            return  # not requested: dropped, and a request stays open
        self.wanted.pop(lane, None)
        for id, slots in sets:
            require({slot for slot, *_ in slots} <= set(wanted[id]), "values that were not requested")
            self.client.lanes[lane].fill(id, slots)

    # Questions

    def ask(self, lane, *question, timeout=10):
        """The peer's answer without the token; [reason] if it refuses."""
        self.token += 1
        self.questions[self.token] = lane, question
        self.send(QUERY, self.token, lane, list(question))
        self.until(lambda: self.token in self.told, timeout, "an answer")
        return self.told[self.token]

    def ask_all(self, lane, *question):
        """The items of all pages of an answer."""
        place, items = None, []
        while True:
            _, folded, done, (form, page) = self.ask(lane, *question, place)
            require(form == question[0] and folded == self.client.lanes[lane].hashes()[1], "answer")
            require(done or page, "page")
            items += page
            if done:
                return items
            place = page[-1][:2]

    def on_answer(self, token, *answer):
        require(1 <= token <= self.token, "token of an answer")
        if len(answer) > 1 and token in self.questions:
            check_answer_of(*self.questions[token], *answer)
        self.told[token] = answer

    def on_query(self, token, lane, question):
        mine = self.client.lanes[lane]
        if lane == RECORDS and self.reason() != 0:
            return self.send(ANSWER, token, self.reason())
        self.send(ANSWER, token, lane, mine.hashes()[1], True, mine.answer(question))

    def is_closed_by_peer(self, timeout=5):
        """Reads until the other side closes."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            try:
                self.step(left)
            except Ended:
                return True
            except Silence:
                break
        return False

    def close(self):
        self.channel.close()
