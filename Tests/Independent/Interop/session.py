"""Protocol/session.md: the messages between two members, from this side."""

import time

import files
import merge
from change_set import RECORDS, SEQUENCE_MAX, SET_MAX, SETTINGS, parse
from channel import Ended, Silence
from circle import Statement
from encoding import ascends, decode, encode, hashed, is_bytes, is_number, require

(INTRODUCTION, SUMMARY, STATEMENT_IDS, STATEMENTS, HEADS, WANT, SETS, SERVED, STATE, GOODBYE, QUERY,
 ANSWER, WANT_VALUES, VALUES) = range(1, 15)
HEADS_OF, DIGESTS_OF, BUCKET_OF, INVENTORY_OF = range(4)
LANES = (SETTINGS, RECORDS)


# Sets and slots in one message about missing values, and the slots of a set.
VALUE_SETS, VALUE_SLOTS, SLOTS = 256, 4_096, 1_000


def check_want_values(lane, sets):
    """Checks the parts of a request for values."""
    require(lane in LANES and type(sets) is list and 1 <= len(sets) <= VALUE_SETS, "want values")
    for each in sets:
        require(type(each) is list and len(each) == 5, "a set")
        device, incarnation, sequence, id, slots = each
        require(is_bytes(device, 32) and is_bytes(incarnation, 16) and is_bytes(id, 32), "ids of a set")
        require(is_number(sequence, 1, SEQUENCE_MAX) and type(slots) is list, "a set")
    check_slots([each[3] for each in sets], [each[4] for each in sets])


def check_values(lane, sets):
    """Checks the parts of an answer with values."""
    require(lane in LANES and type(sets) is list and len(sets) <= VALUE_SETS, "values")
    for each in sets:
        require(type(each) is list and len(each) == 2 and is_bytes(each[0], 32) and type(each[1]) is list, "a set")
        for slot in each[1]:
            require(type(slot) is list and len(slot) == 3 and is_bytes(slot[1], 16), "a slot")
            require(type(slot[2]) is bytes and len(slot[2]) <= SET_MAX, "the content of a slot")
    check_slots([each[0] for each in sets], [[slot for slot, *_ in each[1]] for each in sets])


def check_slots(ids, slots):
    require(len(set(ids)) == len(ids), "a set twice")
    require(sum(map(len, slots)) <= VALUE_SLOTS, "slots of a message")
    for each in slots:
        require(each and all(is_number(slot, 0, SLOTS - 1) for slot in each) and ascends(each), "slots of a set")


def milliseconds():
    return int(time.time() * 1000)


class Session:
    """One introduced connection. `step` handles a message; `heard` keeps the received tags."""

    def __init__(self, client, channel, peer, is_initiator):
        self.client, self.channel, self.peer, self.is_initiator = client, channel, peer, is_initiator
        self.heard, self.theirs, self.sent, self.answers, self.goodbye = [], None, None, {}, None
        self.asked = {}
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
        parts = [self.client.circle.hash]
        for lane in LANES:
            if self.is_open(lane):
                parts += [bytes([lane]), *self.client.lanes[lane].hashes()]
        return hashed("state/v1", *parts)

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
        message = decode(self.channel.receive(timeout))
        require(type(message) is list and message and type(message[0]) is int, "message")
        tag, *parts = message
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
        if tag > files.NO_SUCH_FILE:
            return  # of a newer version: Protocol/growth.md
        require(tag in handlers, "tag")
        handlers[tag](*parts)

    def on_summary(self, certificates, wall, settings, records):
        require(is_bytes(certificates, 32) and is_number(wall, 0, (1 << 64) - 1), "summary")
        for state in (settings, records):
            require(len(state) == 4 and all(is_bytes(each, 32) for each in state[1:]), "lane state")
        self.theirs = {SETTINGS: settings, RECORDS: records}
        if self.sent != self.summary():
            self.send_summary()
        if certificates != self.client.circle.hash and self.is_initiator:
            self.send(STATEMENT_IDS, True, sorted(self.client.circle.statements))
        for lane in LANES:
            if self.is_open(lane) and self.theirs[lane][1:3] != self.client.lanes[lane].hashes()[:2]:
                self.send(HEADS, lane, True, self.client.lanes[lane].heads())

    def on_ids(self, reply, ids):
        require(type(reply) is bool and all(is_bytes(each, 32) for each in ids), "statement ids")
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
        require(type(last) is bool, "statements")
        for each in statements:
            self.client.circle.add(Statement(each))
        self.client.judge()
        if self.reason() != self.sent[2][0]:
            self.send_summary()

    def on_heads(self, lane, complete, heads):
        require(lane in LANES and type(complete) is bool, "heads")
        if not self.is_open(lane):
            return
        for device, incarnation, sequence, tip, folded in heads:
            require(is_bytes(tip, 32) and 0 <= folded <= sequence and sequence >= 1, "head")
        known = [each for each in heads if self.client.circle.may_author(each[0])]
        wants = self.client.lanes[lane].wants(known)
        if wants:
            self.send(WANT, lane, wants)

    def on_want(self, lane, wants):
        require(lane in LANES, "want")
        if not self.is_open(lane):
            return
        self.push(lane, self.client.lanes[lane].serve(wants))
        self.send(SERVED, lane)

    def push(self, lane, sets):
        for start in range(0, len(sets), 3):
            self.send(SETS, lane, [each.wire for each in sets[start:start + 3]])

    def on_sets(self, lane, sets):
        require(lane in LANES, "sets")
        for each in sets:
            verified = parse(each)
            if self.is_open(lane) and self.client.circle.may_author(verified.device):
                try:
                    self.client.lanes[lane].place(verified, milliseconds())
                except KeyError:
                    pass  # a set arrived too early: heads are compared again

    def on_served(self, lane):
        require(lane in LANES, "served")

    def on_state(self, state, token, echo):
        require(type(echo) is bool and (is_bytes(state, 32) or state == b"" and not echo), "state")
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

    def on_want_values(self, *parts):
        check_want_values(*parts)
        lane, sets = parts
        if self.is_open(lane):
            self.send(VALUES, lane, self.client.lanes[lane].values_of(sets))

    def on_values(self, *parts):
        check_values(*parts)
        lane, sets = parts
        require(lane in self.wanted, "values without a request")
        wanted = self.wanted.pop(lane)
        for id, slots in sets:
            require(id in wanted and {slot for slot, *_ in slots} <= set(wanted[id]), "values that were not requested")
            self.client.lanes[lane].fill(id, slots)

    # Questions

    def ask(self, lane, *question, timeout=10):
        """The peer's answer without the token; [reason] if it refuses."""
        self.token += 1
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
        require(is_number(token, 1, self.token) and len(answer) in (1, 4), "answer")
        self.told[token] = answer

    def on_query(self, token, lane, question):
        require(is_number(token, 0, (1 << 64) - 1) and lane in LANES, "query")
        mine, (form, *more) = self.client.lanes[lane], question
        if lane == RECORDS and self.reason() != 0:
            return self.send(ANSWER, token, self.reason())
        place = tuple(more[-1]) if more and more[-1] else (0, b"")
        if form == HEADS_OF:
            content = mine.heads()
        elif form == DIGESTS_OF:
            content = b"".join(merge.sums(mine.folded.values()))
        elif form == BUCKET_OF:
            content = [row for row in merge.hashes(mine.folded.values())
                       if row[1][0] == more[0] and tuple(row[:2]) > place]
        else:
            content = [row for row in merge.inventory(mine.folded.values()) if tuple(row[:2]) > place]
        self.send(ANSWER, token, lane, mine.hashes()[1], True, [form, content])

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
