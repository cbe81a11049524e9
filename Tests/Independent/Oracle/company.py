"""Nodes of one circle that exchange data only when told to meet, so that a history can be repeated."""

import os
import shutil
import sqlite3
import time
from contextlib import closing

from change_set import is_whole
from circle_of_nodes import Circle
from compare import Difference, compare_conflicts, compare_store, describe, expect
from encoding import encode
from folding import Folding
from node import Node, Refusal
from store import Snapshot
from values import ABSENT

SECONDS = 15


class Promise:
    """What a node reported to have written: an operation and its entries. The sets may be re-authored in another
    log."""

    def __init__(self, request, each):
        self.request, self.operation, self.device = request, each.operation, each.device
        self.parts = parts(each)


def parts(each):
    """The content of a set, cell by cell; the time of change of a whole record is that of its set."""
    said = set()
    for entry in each.entries:
        said.add((entry.type, *entry.key))
        for number, value in entry.fields.items():
            if not (is_whole(entry.kind) and number == 1):
                said.add((entry.type, *entry.key, number, None if value is ABSENT else encode(value)))
    return said


class Company:
    def __init__(self, stage, names):
        self.stage = stage
        self.circle = Circle(stage, names)
        self.nodes = self.circle.nodes
        self.open, self.addressed = set(), set()
        for node in self.nodes:
            self.equip(node, node.name)
        for node in self.nodes:
            self.part(node)

    def equip(self, node, persona):
        """What is recorded about a node; `persona` is the device's name among the others."""
        node.persona, node.promises, node.is_on, node.ran_ahead = persona, [], True, False

    def end(self):
        self.circle.end()

    # MARK: Processes

    def part(self, node):
        """Lets a node exchange only with the nodes that it is to meet."""
        wanted = {other.persona for pair in self.open if node in pair for other in pair if other is not node}
        for persona in sorted({other.persona for other in self.nodes} - {node.persona}):
            try:
                node.ask("peers.resume" if persona in wanted else "peers.pause", peer=persona)
            except Refusal as refusal:
                # A revoked device is not a peer any more.
                if refusal.code != "not_found":
                    raise

    def wake(self, node):
        if not node.is_running:
            node.start()
            self.part(node)

    def restart(self, node, ahead, is_killed):
        (node.kill if is_killed else node.end)()
        node.ahead = ahead
        node.ran_ahead = node.ran_ahead or ahead > 600
        self.wake(node)

    def copy(self, node, is_clone):
        """A copy of a data directory; nothing in the directory of a clone shows that it is a copy."""
        node.end()
        copy = Node(self.stage, f"{node.persona}-{len(self.nodes)}", node.binary)
        self.lay(node.home, copy.home, is_clone)
        self.equip(copy, node.persona)
        copy.device, copy.is_on, copy.ran_ahead = node.device, node.is_on, node.ran_ahead
        copy.promises = list(node.promises)
        self.nodes.append(copy)
        return copy

    @staticmethod
    def lay(home, place, is_clone):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(home, place, symlinks=True)
        (place / "control.sock").unlink(missing_ok=True)
        token = place / "incarnation"
        if is_clone and token.exists():
            lines = token.read_text().splitlines()
            lines[2] = f"store {os.stat(place / 'store.db').st_ino}"
            token.write_text("\n".join(lines) + "\n")

    def keep(self, node, number):
        """Copies the data directory, to be put back later."""
        was_running = node.is_running
        node.end()
        self.lay(node.home, self.stage / f"kept-{number}", False)
        if was_running:
            self.wake(node)
        return self.stage / f"kept-{number}", list(node.promises), node.is_on, node.ran_ahead

    def put_back(self, node, kept, is_clone):
        node.end()
        place, promises, node.is_on, node.ran_ahead = kept
        self.lay(place, node.home, is_clone)
        node.promises = list(promises)

    # MARK: Meeting

    def estranged(self, one, other):
        """Whether one of the two knows that either was revoked."""
        keys = {bytes.fromhex(one.device), bytes.fromhex(other.device)}
        return any(not keys <= set(self.diagnostics(node).membership.members) for node in (one, other))

    @staticmethod
    def diagnostics(node):
        return Snapshot(node.store, rows=False)

    def meet(self, one, other, stays=False):
        """Lets two nodes exchange everything they may; returns whether they could connect."""
        if one.persona == other.persona:
            return False
        self.wake(one)
        self.wake(other)
        # A device and its copies are one device to the others, which connect to one of them at a time.
        rest = {pair for pair in self.open for node, peer in ((one, other), (other, one))
                if node in pair and peer not in pair and any(each.persona == peer.persona for each in pair)}
        self.open = self.open - rest | {frozenset((one, other))}
        for node in {one, other}.union(*rest):
            self.part(node)
        for node, peer in ((one, other), (other, one)):
            if peer.name != peer.persona and (node, peer.address) not in self.addressed:
                self.addressed.add((node, peer.address))
                node.ask("peers.add", address=peer.address)
        try:
            return self.wait(one, other)
        finally:
            if not stays:
                self.open.discard(frozenset((one, other)))
            self.part(one)
            self.part(other)

    def wait(self, one, other):
        end, turns = time.monotonic() + SECONDS, 0
        while True:
            if turns % 10 == 0:
                one.ask("sync.now")
                other.ask("sync.now")
            held = [self.held(node, one.is_on and other.is_on) for node in (one, other)]
            if held[0] == held[1] and self.says_so(one, other) and self.says_so(other, one):
                return True
            if self.estranged(one, other):
                return False
            if time.monotonic() > end:
                said = [[(p["name"], p["state"], p["reason"]) for p in n.ask("status")["peers"]] for n in (one, other)]
                differ = [len(each) for each in (held[0] - held[1], held[1] - held[0])]
                raise Difference(f"{one.name} and {other.name} do not get in sync: {differ} differ; they report {said}")
            turns += 1
            time.sleep(0.01)

    @staticmethod
    def held(node, with_records):
        with closing(sqlite3.connect(f"file:{node.store}?mode=ro", uri=True, timeout=20)) as store:
            sets = store.execute(
                "SELECT s.id FROM change_sets s JOIN branches b ON b.branch = s.branch WHERE b.lane <= ?",
                (int(with_records),)).fetchall()
            return {identity for identity, in sets + store.execute("SELECT id FROM statements").fetchall()}

    @staticmethod
    def says_so(node, peer):
        if node.ran_ahead or peer.ran_ahead or peer.ahead or node.ahead:
            return True
        said = [each for each in node.ask("status")["peers"] if each["device"] == peer.device]
        return bool(said) and said[0]["state"] == "in_sync"

    # MARK: Acting

    def write(self, node, command, arguments):
        """Runs a command that writes; returns its answer and the sets it wrote."""
        before = {each.id for each in self.diagnostics(node).stored}
        refusal = done = None
        try:
            done = node.ask(command, **arguments)
        except Refusal as caught:
            refusal = caught
        operations = {promise.operation for promise in node.promises}
        fresh = [each for each in self.diagnostics(node).stored if each.id not in before
                 and each.device.hex() == node.device and each.operation not in operations]
        node.promises += [Promise(f"{command} {arguments}", each) for each in fresh if each.entries]
        return done, refusal, fresh

    # MARK: Judging

    def check(self, node):
        """Compares one node with the model, whatever it has received."""
        if not node.is_running:
            # Any command folds parked sets that are due.
            node.ask("status")
        snapshot, model = compare_store(node.store, node.name)
        self.check_kept(node, snapshot.stored, node.promises)
        if bytes.fromhex(node.device) in snapshot.membership.members and not any(each.ran_ahead for each in self.nodes
                                                                                   if each.device == node.device):
            now = int(time.time() * 1000)
            latest = Folding(snapshot, now + max(node.ahead, 0) * 1000)
            (Folding(snapshot, now + node.ahead * 1000) if node.ahead < 0 else latest).check(node.name, latest)
        compare_conflicts(node.ask("conflicts.list"), model, node.name)
        return snapshot, model

    @staticmethod
    def check_kept(node, sets, promises):
        said = {}
        for each in sets:
            said.setdefault((each.operation, each.device), set()).update(parts(each))
        for promise in promises:
            missing = promise.parts - said.get((promise.operation, promise.device), set())
            if missing:
                what = {describe(part[1:3]) for part in missing}
                raise Difference(f"{node.name} has lost acknowledged writes: {promise.request}, of {sorted(what)}")

    def heal(self):
        """Corrects all clocks and lets all nodes meet; then all nodes that can connect must be equal."""
        for node in self.nodes:
            if node.ahead:
                self.restart(node, 0, False)
            self.wake(node)
            node.ask("sync.on", yes=True)
            node.is_on = True
        self.restamp()
        promises = {node: list(node.promises) for node in self.nodes}
        for _ in range(6):
            before = [self.held(node, True) for node in self.nodes]
            for index, one in enumerate(self.nodes):
                for other in self.nodes[:index]:
                    if one.persona != other.persona and not self.estranged(one, other):
                        self.meet(other, one)
            if before == [self.held(node, True) for node in self.nodes]:
                break
        else:
            raise Difference("the nodes never stop exchanging")
        for node in self.nodes:
            friends = [other for other in self.nodes if other is node or (
                other.persona != node.persona and not self.estranged(node, other))]
            if len(friends) > 1:
                self.compare(node, friends, promises)
            else:
                self.check(node)

    def restamp(self):
        """Restamps after a clock that ran ahead, while a node with a correct clock is connected."""
        for node in self.nodes:
            if not node.ran_ahead:
                continue
            for other in self.nodes:
                if not other.ran_ahead and other.persona != node.persona and not self.estranged(node, other):
                    self.meet(other, node, stays=True)
                    break
            _, refusal, _ = self.write(node, "restamp", {"yes": True})
            self.open = {pair for pair in self.open if node not in pair}
            for each in self.nodes:
                self.part(each)
            if refusal is None:
                self.write(node, "restamp", {"yes": True})
                node.ran_ahead = False

    def compare(self, node, friends, promises):
        snapshot, model = self.check(node)
        for friend in friends:
            self.check_kept(node, snapshot.folded, promises[friend])
            other = self.diagnostics(friend)
            expect({each.id for each in other.folded}, {each.id for each in snapshot.folded},
                   f"{friend.name} and {node.name}: folded sets")
            status, mine = friend.ask("status"), node.ask("status")
            for lane in ("settings", "records"):
                expect(status["lanes"][lane]["digest"], mine["lanes"][lane]["digest"],
                       f"{friend.name} and {node.name}: digest of {lane}")
