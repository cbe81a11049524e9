"""A circle of two honest nodes under attack, the attackers, and the checks that must hold whatever they do."""

import contextlib
import os
import time

from nacl.signing import SigningKey

from change_set import RECORDS, SETTINGS
from channel import Ended, Silence
from checker import Holding, diagnostics, read
from circle import ENTITLEMENT, REVOCATION, Statement, Ticket
from client import Client
from node import Node
from session import STATEMENTS, milliseconds

DAY = 86_400_000
# How much a node may grow during an attack.
MEMORY_MAX, FILES_MAX, LOG_MAX = 64 << 20, 8, 4 << 20
if "ASAN_OPTIONS" in os.environ:
    # The address sanitizer needs several times as much for itself.
    MEMORY_MAX *= 5


class Stage:
    """Alice and Bob are nodes with premium. Written in Python: Grace, an honest device with premium; Trudy, a hostile
    one with premium; Mallory, a hostile one without; Ada, an admin for actions that the hostile devices cannot do."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        # When the room for statements is full, devices need not hold the same ones.
        self.is_full = False
        self.issuer, self.tickets = SigningKey.generate(), {}
        self.alice, self.bob = self.nodes = [Node(folder, name) for name in ("alice", "bob")]
        try:
            self.found()
        except BaseException:
            self.end()
            raise

    # Making

    def found(self):
        public = self.folder / "issuer.pub"
        public.write_text(f"waymark-issuer-1 {bytes(self.issuer.verify_key).hex()}\n")
        founded = self.alice.run("init", "--name", "alice", "--issuer", str(public))
        self.circle = bytes.fromhex(founded["circle"])
        self.alice.start()
        self.bob.run("join", "-", "--name", "bob", "--yes", input=self.invite("admin"))
        self.bob.start()
        self.grace, self.trudy = self.pair("Grace"), self.pair("Trudy")
        self.mallory, self.ada = self.pair("Mallory"), self.pair("Ada", "admin")
        self.hostile = [self.mallory, self.trudy]
        devices = [bytes.fromhex(node.ask("status")["device"]) for node in self.nodes]
        self.alice.device, self.bob.device = devices
        self.premium = sorted([*devices, self.grace.device, self.trudy.device])
        self.statement(self.grace, self.entitlement(devices=self.premium))
        for node in self.nodes:
            self.eventually(lambda: node.ask("status")["premium"]["active"], f"premium of {node.name}")
            node.ask("sync.on", yes=True)
        for client in (self.grace, self.trudy):
            client.is_on = True
        self.alice.ask("trip.add", fields=[["name", "Rome"]])
        for units in ("metric", "imperial"):
            self.alice.ask("settings.set", key="units", value=units)
        self.bob.ask("habit.add", fields=[["name", "Read"]])
        self.settle()
        # Memory that a command uses to read all stored records is not counted.
        self.memory_more = 0
        self.baseline = {node.name: self.resources(node) for node in self.nodes}

    def invite(self, role="member", node=None):
        return (node or self.alice).run("invite", "--role", role, json_wanted=False)

    def ticket(self, node):
        """A ticket that is never used."""
        if node.name not in self.tickets:
            self.tickets[node.name] = Ticket(self.invite(node=node))
        return self.tickets[node.name]

    def pair(self, name, role="member"):
        client = Client(name)
        refusal = client.join(Ticket(self.invite(role)))
        assert refusal is None, f"{name} is rejected: {refusal}"
        return client

    def entitlement(self, key=None, **other):
        fields = dict(circle=self.circle, devices=None, issued=milliseconds(), since=milliseconds() - 1000,
                      until=milliseconds() + DAY)
        fields.update(other)
        key = key or self.issuer
        body = {0: 1, 1: fields["circle"], 2: bytes(key.verify_key), 3: fields["devices"], 4: "premium",
                5: fields["issued"], 6: fields["since"], 7: fields["until"], 8: os.urandom(16), 9: "test"}
        return Statement.make(ENTITLEMENT, key, {number: value for number, value in body.items() if value is not None})

    def statement(self, client, *statements, node=None):
        """A member sends statements to a node."""
        for each in statements:
            client.circle.add(each)
        client.judge()
        session = self.dial(client, node)
        session.settle()
        session.close()

    def sync(self, client, node=None):
        """A device and a node exchange everything they hold."""
        session = self.dial(client, node)
        session.settle()
        session.close()
        self.settle()

    def begin(self, client):
        """A hostile device writes a valid set."""
        session = self.dial(client)
        session.settle()
        session.push(SETTINGS, [client.write(SETTINGS, client.setting(client.name, "was here"))])
        session.settle()
        session.close()
        self.settle()

    @staticmethod
    def is_out(client, node):
        """Whether a node has applied a device's revocation, and the cuts of its logs."""
        try:
            return client.device not in Holding(node.store).circle.chains()
        except AssertionError:
            return False  # between the statement and what follows from it

    def end_of(self, client, node):
        """Ada revokes a device and tells a node, without waiting for sync first."""
        fields = {0: 1, 1: self.circle, 2: self.ada.device, 3: client.device, 6: milliseconds()}
        statement = Statement.make(REVOCATION, self.ada.key, fields)

        def is_told():
            # A node busy with earlier work may keep the first attempts waiting too long.
            with contextlib.suppress(Ended, Silence):
                session = self.dial(self.ada, node)
                session.send(STATEMENTS, False, [statement.data])
                session.pump(1)
                session.channel.wire.close()
            return statement.id in self.statements(node)

        self.eventually(is_told, f"{node.name} stores a revocation", 90)

    def dial(self, client, node=None):
        client.address = (node or self.alice).address
        return client.dial()

    def other(self, node):
        return self.bob if node is self.alice else self.alice

    # What must hold

    def eventually(self, holds, what, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"waited {seconds} s in vain until {what}"
            time.sleep(0.05)

    def settle(self):
        """Both nodes come to hold the same, and report it."""
        try:
            # A node may wait 20 seconds for each peer that promises and does not deliver.
            contents = lambda: {self.content(node) for node in self.nodes}  # noqa: E731
            self.eventually(lambda: len(contents()) == 1, "the nodes hold the same", 90)
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {[self.told(node) for node in self.nodes]}") from None

    @staticmethod
    def told(node):
        """What a node reports about its lanes and peers."""
        status = node.ask("status")
        peers = [(peer["name"], peer["state"], peer["reason"], peer["lanes"]) for peer in status["peers"]]
        return node.name, status["lanes"], peers

    def ids(self, device):
        """The ids of all sets that the node of a device holds."""
        node = next(each for each in self.nodes if each.device == device)
        return {identity for identity, in read(node.store, "SELECT id FROM change_sets")[0]}

    def statements(self, node):
        return {identity for identity, in read(node.store, "SELECT id FROM statements")[0]}

    def content(self, node):
        status = node.ask("status")
        lanes = [(lane["digest"], lane["changeSets"], lane["parked"]) for lane in status["lanes"].values()]
        return (*lanes, 0 if self.is_full else diagnostics(node.store).statements)

    def diagnostics(self):
        return [diagnostics(node.store) for node in self.nodes]

    def check_lives(self):
        for node in self.nodes:
            assert node.process.poll() is None, f"{node.name} died: {node.last_words()}"

    def check_blame(self, device, node=None):
        """A peer that misbehaves is named in the text that people read."""
        name, node = device.name, node or self.alice

        def blamed():
            peers = node.ask("status")["peers"]
            return any(each["name"] == name and each["reason"] == "bad_signature" for each in peers)

        self.eventually(blamed, f"{node.name} reports what {name} did", 30)

    def check(self):
        """After a group of attempts: checks everything, and that honest devices still sync."""
        self.check_lives()
        self.write_on()
        self.settle()
        for node in self.nodes:
            # A fork proof is stored right after the set that reveals the fork.
            self.eventually(lambda: self.is_proven(Holding(node.store)), f"{node.name} holds a proof of each fork", 10)
            strangers = {self.mallory.device, self.ada.device} & Holding(node.store).authors(RECORDS)
            assert not strangers, f"{node.name} holds records of a device without premium"
            self.check_resources(node)

    @staticmethod
    def is_proven(holding):
        forked, proven = holding.forks()
        return forked <= proven

    def write_on(self):
        """A setting from Alice to Bob, a record from Bob to Alice, and both to Grace."""
        self.number += 1
        key, name = f"key{self.number % 50}", f"Trip {self.number}"
        self.alice.ask("settings.set", key=key, value=str(self.number))
        self.bob.ask("trip.add", fields=[["name", name]])
        self.eventually(lambda: self.setting(self.bob, key) == str(self.number), "a setting is with Bob")
        self.eventually(lambda: any(t["name"] == name for t in self.alice.ask("trip.list")["trips"]),
                        "a trip is with Alice")
        if not self.is_full:
            self.sync(self.grace)

    @staticmethod
    def setting(node, key):
        rows = node.ask("settings.list")["settings"]
        return next((str(row["value"]) for row in rows if row["key"] == key), None)

    def resources(self, node):
        status = open(f"/proc/{node.process.pid}/status").read()
        memory = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) << 10
        return memory, len(os.listdir(f"/proc/{node.process.pid}/fd")), node.log.stat().st_size

    def check_resources(self, node):
        before = self.baseline[node.name]
        self.eventually(lambda: self.resources(node)[1] <= before[1] + FILES_MAX,
                        f"{node.name} closes ended connections")
        memory, _, log = self.resources(node)
        assert memory - before[0] < MEMORY_MAX + self.memory_more, f"{node.name} grew by {memory - before[0] >> 20} MiB"
        assert log - before[2] < LOG_MAX, f"the log of {node.name} grew by {log - before[2] >> 10} KiB"

    # The end

    def end(self):
        for node in self.nodes:
            with contextlib.suppress(Exception):
                if node.process is not None:
                    node.process.kill()
                    node.process.wait()
