"""A device written from the chapters of Protocol alone: it joins a circle, dials, listens, reads and writes."""

import os
import socket

from nacl.public import PrivateKey
from nacl.signing import SigningKey

import circle as circles
import merge
from change_set import INSERT, RECORDS
from channel import Channel
from circle import Circle, Statement
from encoding import decode, encode, hashed, require, sign
from files import File
from replica import Lane
from session import INTRODUCTION, LANES, Session, milliseconds

SETTING, HABIT = 8192, 9


class Client:
    def __init__(self, name):
        self.name = name
        self.key, transport = SigningKey.generate(), PrivateKey.generate()
        self.transport, self.transport_public = bytes(transport), bytes(transport.public_key)
        self.number = 1
        self.incarnation = self.new_incarnation()
        self.circle, self.address, self.lanes, self.is_on = None, None, {}, False
        # Files by reference, and whether this device says that it keeps all of them.
        self.files, self.keeps_files = {}, True

    @property
    def device(self):
        return bytes(self.key.verify_key)

    def begin_incarnation(self):
        """The next sets begin a new log in each lane. After the last number, the numbers start again."""
        self.number = self.number % 16 + 1
        self.incarnation = self.new_incarnation()

    def new_incarnation(self):
        """The first four bits are the number, minus 1."""
        random = os.urandom(16)
        return bytes([(self.number - 1) << 4 | random[0] & 15]) + random[1:]

    # Joining

    def join(self, ticket, address=None, psk=None):
        self.address = address or ticket.addresses[0]
        channel = Channel.dial(
            self.address, ticket.key, self.transport, lambda peer: peer == ticket.transport,
            psk=ticket.psk if psk is None else psk)
        channel.send(encode({
            0: 1, 1: self.device, 2: self.transport_public, 3: self.name,
            4: sign(self.key, "join-proof/v1", channel.hash)}))
        answer = decode(channel.receive(10))
        channel.close()
        require(type(answer) is dict and answer.get(0) == 1, "answer to a joiner")
        if 2 in answer:
            return answer[2]
        statements = [Statement(each) for each in answer[1]]
        circle = Circle(statements[0])
        for each in statements[1:]:
            circle.add(each)
        require(circle.id == ticket.circle, "the circle of the ticket")
        require(circle.transport(self.device) == self.transport_public, "a member with its own keys")
        self.enter(circle)
        return None

    def enter(self, circle):
        self.circle = circle
        cuts = lambda *log: self.circle.membership.cuts(*log)  # noqa: E731
        quota = lambda *owner: self.circle.membership.quota(*owner)  # noqa: E731
        line = lambda *log: self.circle.membership.line(*log)  # noqa: E731
        self.lanes = {lane: Lane(lane, self.circle.id, cuts, quota, line) for lane in LANES}

    def judge(self):
        """Applies what new statements say about logs."""
        for lane in self.lanes.values():
            lane.judge(milliseconds())

    # Sessions

    def reason(self):
        """This client's gate of the records lane."""
        entitlements, now = self.circle.entitlements(self.device), milliseconds()
        if self.circle.is_premium(self.device, now):
            return 0 if self.is_on else 1
        if self.circle.membership.has_lost(self.device):
            return 2
        if any(each.fields[7] <= now for each in entitlements):
            return 3
        return 4 if entitlements else 2

    def introduction(self):
        chain = self.circle.chains()[self.device]
        return circles.introduction(chain, self.circle.entitlements(self.device), milliseconds())

    def channel(self, payload=None):
        payload = self.introduction() if payload is None else payload
        return Channel.dial(
            self.address, circles.session_key(self.circle.id), self.transport,
            lambda peer: self.circle.device_with(peer) is not None, payload)

    def dial(self):
        channel = self.channel()
        first = decode(channel.receive(5))
        require(type(first) is list and len(first) == 2 and first[0] == INTRODUCTION, "introduction first")
        peer = circles.read_introduction(first[1], self.circle, channel.peer)
        return Session(self, channel, peer, True)

    def accept(self, listener, timeout=30):
        """The first member that dials; `listener` is a listening socket."""
        listener.settimeout(timeout)
        while True:
            sock, _ = listener.accept()
            channel = Channel.accept(sock, circles.session_key(self.circle.id), self.transport)
            peer = circles.read_introduction(channel.payload, self.circle, channel.peer)
            channel.send(encode([INTRODUCTION, self.introduction()]))
            return Session(self, channel, peer, False)

    # Writing

    def write(self, lane, entries, **other):
        return self.lanes[lane].write(self, entries, milliseconds(), **other)

    def add_file(self, data):
        file = File(data)
        self.files[tuple(file.reference)] = file
        return file

    def named_files(self):
        """The files here that a folded record of the records lane names, by reference."""
        cells = [each for of_cell in merge.cells(self.lanes[RECORDS].folded.values()).values() for each in of_cell]
        named = {tuple(each.value) for each in cells
                 if type(each.value) is list and len(each.value) == 2 and type(each.value[1]) is bytes}
        return {reference: file for reference, file in self.files.items() if reference in named}

    def setting(self, key, value):
        """Entries that set a setting; its id is derived from its key."""
        return [[INSERT, SETTING, text_id(SETTING, key), {1: key, 2: value}]]


def text_id(kind, text):
    return hashed("string-id/v1", kind.to_bytes(4, "big"), text.encode())[:16]


def listen():
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, "127.0.0.1:%d" % listener.getsockname()[1]
