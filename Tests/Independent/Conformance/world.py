"""The circle of the scripted peer: its devices, its statements, and the client that is tested."""

import contextlib
import os
import select
import socket
import threading
import time

from nacl.signing import SigningKey

import circle as circles
from change_set import INSERT, RECORDS, SETTINGS
from channel import NONCE, PREAMBLE, Ended, Silence, Wire, preamble
from checks import READER, Failed, require
from circle import CERTIFICATE, ENTITLEMENT, GENESIS, REVOCATION, Circle, Statement
from client import HABIT, SETTING, text_id
from devices import Connection, Device, lanes_of, ticket_line
from encoding import Refused, decode, encode, verify
from encoding import require as refuse_unless
from session import milliseconds
from statement import ADDRESSES, WITHDRAWAL

DAY = 86_400_000
# How long the tool waits for a person.
PERSON_SECONDS = int(os.environ.get("WAIT", "300"))
# A penalty delays a device that dials in by a tenth of a second; some clients may be slower.
REDIAL_SECONDS = 12


class World:
    """Alice founds the circle and is its only admin at first; Bob is a member; both have premium once the issuer has
    issued it. Other devices are made when a check needs one."""

    def __init__(self, person, listen="127.0.0.1:0", target=None, is_verbose=False):
        self.person, self.is_verbose = person, is_verbose
        # The check since which the client's state differs from that of the scripted devices.
        self.profile, self.diverged = READER, None
        # How long the two sides may take to agree, in seconds.
        self.patience = 15
        self.address, self.is_local = target, target is None or is_local(target)
        self.root, self.issuer = SigningKey.generate(), SigningKey.generate()
        self.sessions, self.wires, self.devices, self.premium = [], [], {}, []
        self.client, self.client_transport, self.client_name, self.joined = None, None, None, None
        self.circle, self.lanes, self.invitation = None, {}, None
        alice = Device(self, "Alice")
        genesis = Statement.make(GENESIS, self.root, {
            0: 1, 2: bytes(self.root.verify_key), 3: alice.device, 4: alice.transport_public, 5: "Alice",
            6: [bytes(self.issuer.verify_key)], 7: milliseconds(), 8: os.urandom(16)})
        self.circle = alice.circle = Circle(genesis)
        self.lanes = alice.lanes = lanes_of(self.circle)
        alice.address = target
        self.alice = self.devices["Alice"] = alice
        self.bob = self.device("Bob")
        self.secret, self.expires = os.urandom(16), milliseconds() + 1000 * PERSON_SECONDS + 600_000
        self.listener = socket.create_server(parts_of(listen))
        host = listen.rsplit(":", 1)[0]
        self.listens_at = f"{host}:{self.listener.getsockname()[1]}"
        self.announce(alice, self.listens_at)
        self.ticket = ticket_line(self.circle.id, alice.transport_public, [self.listens_at], self.secret, self.expires)

    # Devices and statements

    def device(self, name, role=0, premium=False):
        """The device of that name; a new one is certified by Alice."""
        if name not in self.devices:
            device = self.devices[name] = Device(self, name)
            device.address = self.address
            self.certify(device.device, device.transport_public, name, role)
        if premium:
            self.entitle(self.devices[name])
        return self.devices[name]

    def stranger(self, name):
        """A device that no certificate names, with what a former member or the holder of a ticket may know."""
        device = Device(self, name)
        device.address = self.address
        return device

    def target(self, address):
        self.address = address
        for each in self.devices.values():
            each.address = address

    def states(self, kind, key, fields):
        """Makes a statement and keeps it."""
        statement = Statement.make(kind, key, {number: value for number, value in fields.items() if value is not None})
        self.keep(statement)
        return statement

    def keep(self, *statements):
        for each in statements:
            self.circle.add(each)
        for lane in self.lanes.values():
            lane.judge(milliseconds())

    def announce(self, device, *addresses):
        """The addresses of a device, in the place of its former ones."""
        return self.states(ADDRESSES, device.key, {
            0: 1, 1: self.circle.id, 2: device.device, 3: time.time_ns(), 4: list(addresses)})

    def certify(self, device, transport, name, role=0, by=None):
        by = by or self.alice
        return self.states(CERTIFICATE, by.key, {
            0: 1, 1: self.circle.id, 2: by.device, 3: device, 4: transport, 5: name, 6: role, 7: milliseconds()})

    def revoke(self, device, by=None, kept=None, spared=None):
        """`kept` are logs as [incarnation, lane, tips]; `spared` are ids of statements that stay valid."""
        by = by or self.alice
        return self.states(REVOCATION, by.key, {
            0: 1, 1: self.circle.id, 2: by.device, 3: device.device, 4: sorted(kept) if kept else None,
            5: sorted(spared) if spared else None, 6: milliseconds()})

    def entitlement(self, devices, since=-DAY, until=DAY, key=None):
        key, now = key or self.issuer, milliseconds()
        return Statement.make(ENTITLEMENT, key, {
            0: 1, 1: self.circle.id, 2: bytes(key.verify_key), 3: sorted(devices), 4: "premium", 5: now + min(since, 0),
            6: now + since, 7: now + until, 8: os.urandom(16), 9: "conformance"})

    def withdraw(self, key, *entitlements):
        return self.states(WITHDRAWAL, key, {
            0: 1, 1: self.circle.id, 2: bytes(key.verify_key), 4: sorted(each.id for each in entitlements),
            5: milliseconds()})

    def entitle(self, *devices):
        """Premium for Alice, Bob, the client and these devices."""
        wanted = [self.alice.device, self.bob.device, self.client, *(each.device for each in devices)]
        missing = {each for each in wanted if each is not None and each not in self.premium}
        if missing:
            self.premium += sorted(missing)
            self.keep(self.entitlement(missing))

    # Joining

    def accepts(self, seconds, what):
        """The next connection to Alice's address whose preamble is authentic: a join request or a session."""
        end = time.monotonic() + seconds
        keys = {"pairing": circles.pairing_key(self.secret), "session": circles.session_key(self.circle.id)}
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.listener], [], [], left)[0]:
                break
            sock, _ = self.listener.accept()
            wire = Wire(sock)
            try:
                start = wire.take(PREAMBLE, 3)
                for purpose, key in keys.items():
                    if start == preamble(key, nonce=start[NONCE]):
                        psk = circles.Ticket(self.ticket).psk if purpose == "pairing" else None
                        return purpose, Connection.answer(wire, start, self.alice.transport, psk)
            except (Ended, Silence, Refused):
                pass
            wire.close()
        raise Failed(f"expected {what} at {self.listens_at}; none arrived within {seconds} s")

    def joins(self):
        """Waits until the client has joined with the ticket."""
        self.waits("the client to join with the ticket, and to dial Alice", lambda: self.person.joins(self.ticket))
        end = time.monotonic() + self.person.patience
        while self.client is None:
            purpose, channel = self.accepts(max(end - time.monotonic(), 0.01), "a connection that joins")
            if purpose == "session":
                channel.wire.close()
                continue
            self.joined = self.admits(channel)

    def admits(self, channel):
        request = decode(channel.receive(5))
        refuse_unless(type(request) is dict and request.get(0) == 1 and {1, 2, 3, 4} <= set(request), "join request")
        refuse_unless(request[2] == channel.peer, "the transport key of the handshake")
        verify(request[1], "join-proof/v1", channel.hash, request[4])
        self.client, self.client_transport, self.client_name = (request[key] for key in (1, 2, 3))
        # An admin, so that it can invite.
        self.certify(self.client, self.client_transport, self.client_name, 1)
        statements = [self.circle.genesis, *(s for s in self.circle.statements.values() if s.kind != GENESIS)]
        # With a key that a newer version may use.
        channel.send(encode({0: 1, 1: [each.data for each in statements], 9: "of a newer version"}))
        with contextlib.suppress(Ended, Silence, Refused):
            channel.receive(5)
        channel.wire.close()
        return request

    def waits(self, what, action):
        """Says what the tool waits for, and asks the person to do it."""
        self.person.says(f"waiting up to {self.person.patience} s for {what}")
        threading.Thread(target=action, daemon=True).start()

    # Sessions

    def pace(self):
        """A listener admits four handshakes a second from one address; loopback addresses are exempt."""
        if not self.is_local:
            time.sleep(0.3)

    def dial(self, device=None, seconds=REDIAL_SECONDS):
        """A session of a device with the client. A penalty may delay it."""
        device = device or self.alice
        # The client would end the older of two sessions with one device.
        for each in [each for each in self.sessions if each.client.device == device.device]:
            self.end(each)
        end = time.monotonic() + seconds
        while True:
            try:
                session = device.dial()
                break
            except (Ended, Silence, OSError) as failure:
                if time.monotonic() > end:
                    raise Failed(f"expected a session as {device.name} with {device.address} within {seconds} s; the"
                                 f" last attempt ended with: {failure}") from None
                time.sleep(0.2)
        self.sessions.append(session)
        return session

    def settled(self, device=None, what="the same state on both sides"):
        """A session that has agreed."""
        session = self.dial(device)
        session.in_sync(what)
        return session

    def holds(self, session):
        """The session's client and the scripted devices agree, by one more exchange."""
        session.in_sync()

    def sends(self, what, *sets, device=None, statements=()):
        """Pushes sets and expects the client to agree with the model."""
        session = self.settled(device)
        for lane in (SETTINGS, RECORDS):
            session.push(lane, [each for each in sets if each.fields[4] == lane])
        session.in_sync(what)
        return session

    def wire(self):
        self.pace()
        wire = Wire.dial(self.address)
        self.wires.append(wire)
        return wire

    def is_gone(self):
        """Whether the client does not listen any more."""
        try:
            socket.create_connection(parts_of(self.address), 5).close()
        except OSError:
            return True
        return False

    def compares(self, name):
        """After a failed check: whether the two sides still agree. If not, later checks can't compare states."""
        try:
            if self.diverged is None:
                self.dial().in_sync(seconds=4)
        except Exception:
            self.diverged = name
        self.hang_up()

    def end(self, session):
        with contextlib.suppress(Exception):
            session.channel.close()
        self.sessions.remove(session)

    def hang_up(self):
        for each in list(self.sessions):
            self.end(each)
        for each in self.wires:
            with contextlib.suppress(OSError):
                each.close()
        self.wires = []

    def pump(self, seconds, *sessions):
        """Handles what arrives in several sessions."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for each in sessions or self.sessions:
                with contextlib.suppress(Silence):
                    each.step(0.02)

    def until(self, done, what, seconds=10):
        end = time.monotonic() + seconds
        while not done():
            require(time.monotonic() < end, f"expected {what} within {seconds} s; it did not happen")
            self.pump(0.1)

    # Premium of the client

    def records(self, device=None):
        """A session whose records lane is open."""
        self.entitle(*([device] if device else []))
        session = self.dial(device or self.alice)
        asked = False
        end = time.monotonic() + 15
        while session.theirs is None or not session.is_open(RECORDS):
            with contextlib.suppress(Silence):
                session.step(0.2)
            reason = session.theirs and session.theirs[RECORDS][0]
            if reason == 1 and not asked:
                asked = True
                self.waits("records sync to be turned on", self.person.turns_sync_on)
                end = time.monotonic() + self.person.patience
            require(time.monotonic() < end, f"expected the records lane to open (reason 0); the client says {reason}")
            if session.reason() != session.sent[2][0]:
                session.send_summary()
        session.in_sync("the same records on both sides")
        return session


def is_local(address):
    """Whether an address is on the loopback interface, where a listener limits no origin."""
    return parts_of(address)[0] in ("127.0.0.1", "localhost", "::1")


def parts_of(address):
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)


def habit(record, **fields):
    numbers = {"name": 1, "color": 2, "target": 6}
    return [INSERT, HABIT, record, {numbers[name]: value for name, value in fields.items()}]


def setting(key, value):
    return [INSERT, SETTING, text_id(SETTING, key), {1: key, 2: value}]
