"""A whole client in Python, written from Protocol/ like those of Interop: it joins, listens, dials, relays and keeps
files. The tool must find nothing wrong with it; `broken.py` plants faults in it.

    target.py LISTEN [FAULT]    reads commands from standard input: join TICKET, sync on, write, invite
"""

import contextlib
import os
import socket
import struct
import sys
import threading
import time

import circle as circles
import merge
import messages
from change_set import RECORDS, SETTINGS, parse
from channel import NONCE, PREAMBLE, VERSION, Ended, Silence, Wire, noise, preamble
from circle import CERTIFICATE, GENESIS, Circle, Statement, Ticket
from client import Client
from devices import Connection, lanes_of, ticket_line
from encoding import Refused, decode, encode, require, verify
from files import (
    ANNOUNCEMENT, FILES_HERE, LEAVES_MAX, TAGS, WANT_LEAVES, Download, File, leaf_count, read_reference)
from session import (
    GOODBYE, HEADS, INTRODUCTION, LANES, STATE, STATEMENTS, WANT_VALUES, Session, milliseconds)
from statement import ADDRESSES, REVOCATION

PREAMBLE_SECONDS, HANDSHAKE_SECONDS, MESSAGE_3 = 3, 5, range(64, 6_209)
NAMES = {
    2: "summary", 3: "ids", 4: "statements", 5: "heads", 6: "want", 7: "sets", 8: "served", 9: "state", 10: "goodbye",
    11: "query", 12: "answer", 13: "want_values", 14: "values"}


class Open(Session):
    """A session of the target. All of its messages are handled under one lock."""

    def __init__(self, target, *arguments):
        self.target, self.is_over, self.asked_of, self.asked_values = target, False, set(), set()
        super().__init__(target, *arguments)

    def run(self):
        """Handles messages until the connection ends."""
        last = time.monotonic()
        try:
            while not self.is_over:
                with contextlib.suppress(Silence):
                    data = self.channel.receive(0.5)
                    with self.target.lock:
                        if not self.is_over:
                            self.handle(data)
                            self.target.follow(self)
                if self.is_initiator and time.monotonic() - last > 4:
                    last = time.monotonic()
                    with self.target.lock:
                        self.send(STATE, self.state(), int(last * 1000), True)
        except Exception:
            pass  # Whatever is wrong with a message ends the session.
        with self.target.lock:
            self.target.forget(self)
            self.end()

    def end(self, goodbye=None):
        if not self.is_over:
            self.is_over = True
            with contextlib.suppress(Ended, Silence, OSError):
                if goodbye is not None:
                    self.send(GOODBYE, goodbye)
                self.channel.send_part(2)
                self.channel.wire.socket.shutdown(socket.SHUT_RDWR)
            self.channel.wire.close()

    def handle(self, data):
        message = messages.parse(data)
        if message is None:
            return self.of_a_newer_version()
        tag, *parts = message
        if tag in TAGS:
            return self.files.on(tag, *parts)
        getattr(self, "on_" + NAMES[tag])(*parts)

    def of_a_newer_version(self):
        """Ignored."""

    def on_statements(self, last, statements):
        known = set(self.target.circle.statements)
        super().on_statements(last, statements)
        self.target.learned([each for id, each in self.target.circle.statements.items() if id not in known], self)

    def on_sets(self, lane, sets):
        held = self.target.lanes[lane].by_id
        before = len(held)
        super().on_sets(lane, sets)
        early = {parse(each).id for each in sets} - set(held) - self.asked_of
        self.asked_of |= early
        self.want(lane, [each for each in self.needs[lane].wants() if each[4] in early])
        if len(held) > before:
            self.target.announce(lane, self)

    def fetches(self):
        """Requests what is missing here: values, then files."""
        for lane in LANES:
            missing = self.target.lanes[lane].missing() if self.is_open(lane) and lane not in self.wanted else {}
            missing = {id: slots for id, slots in missing.items() if id not in self.asked_values}
            if missing:
                self.asked_values |= set(missing)
                self.wanted[lane] = missing
                sets = [self.target.lanes[lane].by_id[each] for each in missing]
                self.send(WANT_VALUES, lane, [[*each.log, each.sequence, each.id, missing[each.id]] for each in sets])
        if self.is_open(RECORDS):
            for file in self.target.wanted_files():
                if file not in self.files.downloads and (self.peer, file) not in self.target.liars:
                    self.files.downloads[file] = Fetch(self, file)

    def on_values(self, lane, sets):
        if lane in self.wanted:
            super().on_values(lane, sets)


class Fetch(Download):
    """A file that is requested from one peer."""

    def __init__(self, session, reference):
        super().__init__(reference)
        self.session = session
        if len(self.hashes) == 1:
            self.wants_leaves()
        else:
            session.send(WANT_LEAVES, list(reference), False, 0, len(self.hashes))

    def wants_leaves(self):
        count = leaf_count(self.size)
        for first in range(0, count, LEAVES_MAX):
            self.session.send(WANT_LEAVES, list(self.reference), True, first, min(LEAVES_MAX, count - first))

    def on_list(self, first, hashes):
        self.verified(lambda: super(Fetch, self).on_list(first, hashes))
        if self.has_list:
            self.wants_leaves()

    def on_leaf(self, index, data):
        self.verified(lambda: super(Fetch, self).on_leaf(index, data))
        if self.is_whole:
            self.session.target.has_file(File(self.data))

    def verified(self, receive):
        try:
            receive()
        except Refused:
            self.session.target.liars.add((self.session.peer, self.reference))
            raise


class Target(Client):
    def __init__(self, listen):
        super().__init__("Python")
        self.lock, self.sessions, self.liars, self.invitations = threading.RLock(), [], set(), {}
        host, port = listen.rsplit(":", 1)
        self.listens_at, self.listener = listen, socket.create_server((host, int(port)), backlog=128)
        self.is_member = True

    # Joining and listening

    def joined(self, line):
        ticket = Ticket(line)
        assert self.join(ticket) is None, "refused"
        self.lanes = lanes_of(self.circle)
        threading.Thread(target=self.listens, daemon=True).start()
        threading.Thread(target=self.dials, daemon=True).start()

    def listens(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.answers, args=(sock,), daemon=True).start()

    def answers(self, sock):
        wire, start = Wire(sock), time.monotonic()
        try:
            self.opens(wire, start)
        except Exception:
            pass
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        wire.close()

    def opens(self, wire, start):
        try:
            data = self.take(wire, PREAMBLE, start + PREAMBLE_SECONDS)
        except Silence:
            return
        keys = [circles.session_key(self.circle.id), *(circles.pairing_key(secret) for secret in self.invitations)]
        key = next((key for key in keys if data == preamble(key, version=data[8], nonce=data[NONCE])), None)
        if key is None:
            return self.ignores(wire, start)
        if data[8] != VERSION:
            return self.says_version(wire, key, data)
        secret = next((each for each in self.invitations if circles.pairing_key(each) == key), None)
        channel = self.handshake(wire, data, start + HANDSHAKE_SECONDS, secret)
        if secret is not None:
            return self.pairs(channel, secret)
        with self.lock:
            session = self.admits(channel)
        session.run()

    @staticmethod
    def says_version(wire, key, data):
        wire.send(preamble(key, nonce=data[NONCE]))

    def ignores(self, wire, start):
        """Reads what arrives until three seconds have passed."""
        with contextlib.suppress(Silence, Ended):
            self.take(wire, 8_192, start + PREAMBLE_SECONDS)

    @staticmethod
    def take(wire, count, end):
        while len(wire.received) < count:
            wire.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = wire.socket.recv(65_536)
            except TimeoutError:
                raise Silence from None
            if not data:
                raise Ended(False)
            wire.received += data
        taken, wire.received = wire.received[:count], wire.received[count:]
        return taken

    def frame(self, wire, lengths, end):
        length = struct.unpack(">H", self.take(wire, 2, end))[0]
        require(length in lengths, "length of a handshake message")
        return self.take(wire, length, end)

    def handshake(self, wire, data, end, secret):
        psk = None if secret is None else self.ticket(secret).psk
        state = noise(self.transport, False, data, psk)
        handshake = state.noise_protocol.handshake_state
        require(state.read_message(self.frame(wire, (32 if psk is None else 48,), end)) == b"", "payload")
        require(handshake.re.public_bytes != bytes(32), "ephemeral key")
        wire.send_frame(bytes(state.write_message()))
        payload = bytes(state.read_message(self.frame(wire, MESSAGE_3, end)))
        return Connection(wire, state, handshake.rs.public_bytes, payload)

    def admits(self, channel):
        require(self.is_member, "a member")
        peer = self.introduced(channel.payload, channel.peer)
        for each in [each for each in self.sessions if each.peer == peer]:
            each.end(17)
        channel.send(encode([INTRODUCTION, self.introduction()]))
        return self.begins(channel, peer, False)

    def begins(self, channel, peer, is_initiator):
        session = Open(self, channel, peer, is_initiator)
        self.sessions.append(session)
        return session

    def introduced(self, payload, transport):
        """The member that introduces itself; what it shows is kept only if it is a member by it."""
        copy = Circle(self.circle.genesis)
        copy.statements = dict(self.circle.statements)
        device = circles.read_introduction(payload, copy, transport)
        new = [each for id, each in copy.statements.items() if id not in self.circle.statements]
        for each in new:
            self.circle.add(each)
        self.judge()
        self.learned(new, None)
        return device

    # Pairing

    def invite(self):
        secret = os.urandom(16)
        self.invitations[secret] = None
        return self.line(secret)

    def line(self, secret):
        return ticket_line(self.circle.id, self.transport_public, [self.listens_at], secret, milliseconds() + 600_000)

    def ticket(self, secret):
        return Ticket(self.line(secret))

    def pairs(self, channel, secret):
        request = decode(channel.receive(5))
        with self.lock:
            channel.send(encode(self.reply(channel, request, secret)))
        with contextlib.suppress(Ended, Silence):
            channel.receive(2)

    def reply(self, channel, request, secret):
        try:
            require(request[2] == channel.peer, "the authenticated key")
            verify(request[1], "join-proof/v1", channel.hash, request[4])
        except Refused:
            return {0: 1, 2: 6}
        if self.invitations[secret] not in (None, request[1]):
            return {0: 1, 2: 1}
        if self.invitations[secret] is None:
            self.spends(secret, request[1])
            certificate = Statement.make(CERTIFICATE, self.key, {
                0: 1, 1: self.circle.id, 2: self.device, 3: request[1], 4: request[2], 5: request[3], 6: 0,
                7: milliseconds()})
            self.circle.add(certificate)
            self.learned([certificate], None)
        rest = [each.data for each in self.circle.statements.values() if each.kind != GENESIS]
        return {0: 1, 1: [self.circle.genesis.data, *rest]}

    def spends(self, secret, device):
        self.invitations[secret] = device

    # Dialling

    def dials(self):
        """Dials members at the addresses that they announce."""
        while self.is_member:
            with self.lock:
                connected = {each.peer for each in self.sessions if not each.is_over}
                found = [(s.fields[2], s.fields[4]) for s in self.circle.of(ADDRESSES)
                         if s.fields[2] != self.device and s.fields[2] not in connected and s.fields[4]]
            for device, addresses in found:
                with contextlib.suppress(Exception):
                    self.dials_at(addresses[0])
            time.sleep(0.2)

    def dials_at(self, address):
        knows = lambda peer: self.circle.device_with(peer) is not None  # noqa: E731
        channel = Connection.dial(
            address, circles.session_key(self.circle.id), self.transport, knows, self.introduction())
        first = decode(channel.receive(5))
        if type(first) is not list or first[:1] != [INTRODUCTION]:
            return channel.wire.close()
        with self.lock:
            session = self.begins(channel, self.introduced(first[1], channel.peer), True)
        threading.Thread(target=session.run, daemon=True).start()

    # What follows from what arrives

    def forget(self, session):
        if session in self.sessions:
            self.sessions.remove(session)

    def learned(self, statements, source):
        """Passes new statements on, and ends the sessions of devices that are no longer members."""
        if not statements:
            return
        for each in [each for each in self.sessions if each is not source and not each.is_over]:
            with contextlib.suppress(Ended, Silence, OSError):
                each.send(STATEMENTS, False, [statement.data for statement in statements])
                if each.reason() != each.sent[2][0]:
                    each.send_summary()
        if any(each.kind == REVOCATION for each in statements):
            self.parts()

    def parts(self):
        members = self.circle.chains()
        for each in list(self.sessions):
            if each.peer not in members:
                revocations = [s.data for s in self.circle.of(REVOCATION) if s.fields[3] == each.peer]
                with contextlib.suppress(Ended, Silence, OSError):
                    each.send(STATEMENTS, False, revocations)
                each.end()
        if self.device not in members:
            self.is_member = False
            for each in list(self.sessions):
                each.end()

    def announce(self, lane, source):
        for each in [each for each in self.sessions if each is not source and not each.is_over]:
            if each.is_open(lane):
                with contextlib.suppress(Ended, Silence, OSError):
                    each.send(HEADS, lane, False, self.lanes[lane].heads())

    def follow(self, session):
        if not session.is_over:
            session.fetches()

    def wanted_files(self):
        found = set()
        for (kind, _, field), of_cell in merge.cells(self.lanes[RECORDS].folded.values()).items():
            if (kind, field) == (7, 9):
                with contextlib.suppress(Refused):
                    found.add(read_reference(merge.winner(of_cell).value))
        return sorted(each for each in found if each not in self.files)

    def has_file(self, file):
        self.files[tuple(file.reference)] = file
        for each in [each for each in self.sessions if each.is_open(RECORDS) and not each.is_over]:
            each.send(FILES_HERE, ANNOUNCEMENT, True, [file.reference])

    # A person

    def turns_sync_on(self):
        self.is_on = True
        for each in list(self.sessions):
            with contextlib.suppress(Ended, Silence):
                each.send_summary()

    def changes(self):
        raw = self.write(SETTINGS, self.setting("units", "metric"))
        for each in list(self.sessions):
            with contextlib.suppress(Ended, Silence):
                each.push(SETTINGS, [raw])


def main():
    target = Target(sys.argv[1])
    if len(sys.argv) > 2:
        import broken
        {**broken.FAULTS, **broken.REDUCTIONS}[sys.argv[2]].plant(target)
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "join":
            target.joined(rest)
            continue
        with target.lock:
            if word == "sync":
                target.turns_sync_on()
            elif word == "write":
                target.changes()
            elif word == "invite":
                print(target.invite(), flush=True)


if __name__ == "__main__":
    main()
