"""The scripted devices: clients of Tests/Independent/Interop that share what the circle holds, and their sessions."""

import base64
import struct
import time

import circle as circles
from change_set import RECORDS, SETTINGS, Verified
from channel import CLOSE, LAST, MESSAGE, MORE, Channel, Ended, Silence, noise
from checks import Failed, Skipped, require
from circle import Circle
from client import Client
from encoding import decode, encode, hashed
from encoding import require as refuse_unless
from replica import Lane
from session import INTRODUCTION, LANES, Session, milliseconds

LANE_NAMES = {SETTINGS: "settings", RECORDS: "records"}


class Connection(Channel):
    """A channel whose reading may be interrupted: what has arrived of a message stays."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.partial = b""

    @classmethod
    def answer(cls, wire, start, transport, psk=None):
        """The responder's side, after the preamble."""
        state = noise(transport, False, start, psk)
        handshake = state.noise_protocol.handshake_state
        refuse_unless(state.read_message(wire.take_frame(5)) == b"", "payload in message 1")
        wire.send_frame(bytes(state.write_message()))
        payload = bytes(state.read_message(wire.take_frame(5)))
        return cls(wire, state, handshake.rs.public_bytes, payload)

    def fill(self, count, end):
        while len(self.wire.received) < count:
            self.wire.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = self.wire.socket.recv(65_536)
            except TimeoutError:
                raise Silence from None
            except OSError:
                data = b""
            if not data:
                raise Ended(False)
            self.wire.received += data

    def receive(self, timeout):
        end = time.monotonic() + timeout
        while True:
            self.fill(2, end)
            length = 2 + struct.unpack(">H", self.wire.received[:2])[0]
            self.fill(length, end)
            frame, self.wire.received = self.wire.received[2:length], self.wire.received[length:]
            plain = bytes(self.noise.decrypt(frame))
            refuse_unless(plain and plain[0] in (MORE, LAST, CLOSE), "fragment header")
            kind, part = plain[0], plain[1:]
            if kind == CLOSE:
                refuse_unless(not part and not self.partial, "close with content or within a message")
                raise Ended(True)
            refuse_unless(part or kind == LAST, "an empty part with more to come")
            self.partial += part
            refuse_unless(len(self.partial) <= MESSAGE, "message beyond its limit")
            if kind == LAST:
                message, self.partial = self.partial, b""
                return message


class Talk(Session):
    """A session that says in which part two sides differ, and whose own words a check may change."""

    def __init__(self, *arguments):
        self.certificates, self.sets, self.listed, self.fetches = None, [], [], True
        super().__init__(*arguments)

    def on_summary(self, certificates, *more):
        self.certificates = certificates
        super().on_summary(certificates, *more)

    def on_sets(self, lane, sets):
        self.sets += [(lane, each) for each in sets]
        super().on_sets(lane, sets)

    def on_heads(self, lane, complete, heads):
        self.listed.append((lane, complete, heads))
        if self.fetches:
            super().on_heads(lane, complete, heads)

    def differences(self):
        if self.theirs is None:
            return ["no summary"]
        found = [] if self.certificates == self.client.circle.hash else ["certificates hash"]
        for lane in LANES:
            if self.is_open(lane):
                pairs = zip(("heads hash", "folded heads hash", "digest"), self.theirs[lane][1:],
                            self.client.lanes[lane].hashes())
                found += [f"{name} of {LANE_NAMES[lane]}" for name, theirs, ours in pairs if theirs != ours]
        return found

    def in_sync(self, what="the same state on both sides", seconds=None):
        """Exchanges messages until the state hashes are equal."""
        if self.client.world.diverged:
            raise Skipped(f"the client's state differs from the model since {self.client.world.diverged}")
        seconds = seconds or self.client.world.patience
        end = time.monotonic() + seconds
        try:
            self.until(lambda: self.theirs is not None, seconds, "a summary")
            while not self.is_equal(max(1, end - time.monotonic())):
                if time.monotonic() > end:
                    # The newest summary shows where they differ.
                    self.send_summary()
                    self.pump(1)
                    found = ", ".join(self.differences()) or "only the state hash"
                    raise Failed(f"expected {what} within {seconds} s; different: {found}; the client sent the tags"
                                 f" {self.heard[-12:]}")
                self.pump(0.15)
                for lane in self.client.lanes.values():
                    lane.wake(milliseconds())
        except AssertionError as late:
            raise Failed(f"expected {what}; {late}") from None

    def waits_for(self, done, what, seconds=10):
        try:
            self.until(done, seconds, what, 0.1)
        except AssertionError as late:
            raise Failed(str(late)) from None

    def closes(self, what, seconds=5):
        """Expects the client to end the session; returns what it sent before."""
        before = len(self.heard)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self.step(left)
            except Ended:
                return self.heard[before:]
            except Silence:
                break
        raise Failed(f"expected the session to close after {what}; {seconds} s later it is open, and the client has"
                     f" sent the tags {self.heard[before:]}")

    def goes_on(self, what):
        """Expects the session to stay open: the client still answers `state`."""
        try:
            self.is_equal()
        except Ended:
            raise Failed(f"expected the session to go on after {what}; the client closed it") from None
        except AssertionError as late:
            raise Failed(f"expected an answer to state after {what}; {late}") from None


class Device(Client):
    """A scripted member. Unless it is `alone`, it holds everything that the scripted devices hold together."""

    def __init__(self, world, name, alone=False):
        super().__init__(name)
        self.world, self.is_on = world, True
        if not alone:
            self.circle, self.lanes = world.circle, world.lanes

    def alone(self):
        """A copy of this device, with the same keys, that holds statements but no change sets."""
        other = Device(self.world, self.name, alone=True)
        other.key, other.transport, other.transport_public = self.key, self.transport, self.transport_public
        other.address, other.incarnation = self.address, self.incarnation
        other.circle = Circle(self.circle.genesis)
        for each in self.circle.statements.values():
            other.circle.add(each)
        other.lanes = lanes_of(other.circle)
        return other

    def channel(self, payload=None):
        payload = self.introduction() if payload is None else payload
        self.world.pace()
        return Connection.dial(
            self.address, circles.session_key(self.circle.id), self.transport,
            lambda peer: self.circle.device_with(peer) is not None, payload)

    def dial(self):
        return self.introduced(self.channel())

    def introduced(self, channel):
        first = decode(channel.receive(5))
        require(type(first) is list and len(first) == 2 and first[0] == INTRODUCTION,
                f"expected an introduction as the first message; it was {str(first)[:80]}")
        peer = circles.read_introduction(first[1], self.circle, channel.peer)
        return Talk(self, channel, peer, True)

    def answered(self, channel):
        """The session of a device that has dialled this one."""
        peer = circles.read_introduction(channel.payload, self.circle, channel.peer)
        channel.send(encode([INTRODUCTION, self.introduction()]))
        return Talk(self, channel, peer, False)

    def writes(self, lane, *entries, **other):
        """A set that all scripted devices hold from now on; it is not sent yet."""
        return self.write(lane, list(entries), **other)

    def draft(self, lane, *entries, **other):
        return self.lanes[lane].draft(self, list(entries), milliseconds(), **other)

    def keeps(self, raw):
        """Stores a set that was made from a draft."""
        verified = Verified(raw)
        self.lanes[verified.lane].place(verified, milliseconds())
        return raw


def lanes_of(circle):
    cuts = lambda *log: circle.membership.cuts(*log)  # noqa: E731
    quota = lambda *owner: circle.membership.quota(*owner)  # noqa: E731
    line = lambda *log: circle.membership.line(*log)  # noqa: E731
    return {lane: Lane(lane, circle.id, cuts, quota, line) for lane in LANES}


def ticket_line(circle, transport, addresses, secret, until):
    """A ticket as one line of text."""
    payload = encode({0: 1, 1: circle, 2: transport, 3: addresses, 4: secret, 5: until})
    data = payload + hashed("ticket-checksum/v1", payload)[:4]
    return "waymark1" + base64.b32encode(data).decode().lower().rstrip("=")
