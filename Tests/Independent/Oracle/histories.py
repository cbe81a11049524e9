"""Short histories of three devices, generated and shrunk by hypothesis, with each step compared with the model.

    histories.py [SEED [HISTORIES [STEPS]]]

Nodes exchange data only when they meet, so most failing histories fail again, and hypothesis can find the shortest.
It is printed in words and kept in .build/oracle-histories, to be tried first next time.
"""

import collections
import pathlib
import random
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time

from hypothesis import HealthCheck, Phase, seed as seeded, settings, strategies
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from compare import Difference, expect
from company import Company
from folding import Folding
from look import Look
from people import People
from resolving import check_resolved
from scenario import EXPECTED
from statement import REVOCATION
from undoing import check_undo

NAMES = ("alice", "bob", "carol")
COPIES_MAX = 2
KEPT = pathlib.Path(__file__).parents[3] / ".build" / "oracle-histories"
who = strategies.integers(0, len(NAMES) + COPIES_MAX - 1)
chance = strategies.randoms(use_true_random=False)


class Figures:
    histories = steps = 0
    done, refused = collections.Counter(), collections.Counter()
    # The shortest history that failed, in words, and why.
    failure = None


class Life(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stage = pathlib.Path(tempfile.mkdtemp(prefix="wm-life-", dir="/tmp"))
        self.words, self.names, self.backups, self.kept = [], {}, [], []
        self.failed = False
        try:
            self.company = Company(self.stage, NAMES)
        except BaseException:
            shutil.rmtree(self.stage)
            raise
        self.people = People(random.Random(0), self.stage)

    @property
    def nodes(self):
        return self.company.nodes

    def node(self, number):
        return self.nodes[number % len(self.nodes)]

    def tell(self, text):
        """Replaces ids by readable names."""
        def name(found):
            return self.names.setdefault(found.group().lower(), f"<{len(self.names) + 1}>")
        self.words.append(re.sub(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9a-f]{32,64}", name, text))

    def step(self, text, action):
        """Runs one step and checks every node concerned; keeps the description of a history that fails."""
        Figures.steps += 1
        self.tell(text)
        try:
            for node in action() or []:
                self.company.check(node)
        except Exception as error:
            self.fail(error)
            raise

    def fail(self, error):
        self.failed = True
        self.tell(f"{type(error).__name__}: {error}")
        if Figures.failure is None:
            print(f"failed after {Figures.histories} histories; shrinking it", *self.words, sep="\n    ", flush=True)
        if Figures.failure is None or len(self.words) <= len(Figures.failure):
            Figures.failure = self.words

    # MARK: What people do

    @initialize(is_rich=strategies.booleans())
    def begin(self, is_rich):
        """Records that all devices know, so that they can conflict."""
        alice = self.nodes[0]

        def act():
            trip = alice.ask("trip.add", fields=[["name", "Rome"]])["id"]
            alice.ask("lodging.add", fields=[["trip", trip], ["name", "Casa"]])
            alice.ask("habit.add", fields=[["name", "Run"]])
            for other in self.nodes[1:]:
                self.company.meet(alice, other)
            return self.nodes
        if is_rich:
            self.step("alice adds a trip, a lodging, a habit; all meet her", act)

    @rule(number=who, rng=chance)
    def add(self, number, rng):
        self.change(number, "add", rng)

    @rule(number=who, rng=chance)
    def edit(self, number, rng):
        self.change(number, "edit", rng)

    @rule(number=who, change=strategies.sampled_from(["delete", "restore"]), rng=chance)
    def trash(self, number, change, rng):
        self.change(number, change, rng)

    @rule(number=who, change=strategies.sampled_from(["setting", "profile", "day"]), rng=chance)
    def note_down(self, number, change, rng):
        self.change(number, change, rng)

    @rule(number=who, change=strategies.sampled_from(["undo_last", "undo", "resolve"]), rng=chance)
    def think_again(self, number, change, rng):
        self.change(number, change, rng)

    @rule(number=who, change=strategies.sampled_from(["export", "import_", "cleanup"]), rng=chance)
    def tidy_up(self, number, change, rng):
        self.change(number, change, rng)

    def change(self, number, change, rng):
        node = self.node(number)
        self.people.rng = rng
        action = getattr(self.people, change)(Look(node))
        if action is None:
            return
        command, arguments, wishes = action
        self.step(f"{node.name}: {command} {arguments}", lambda: self.ask(node, command, arguments, wishes))

    def ask(self, node, command, arguments, wishes):
        done, refusal, fresh = self.company.write(node, command, arguments)
        if refusal is not None:
            return self.refuse(node, command, refusal)
        Figures.done[command] += 1
        entries = [entry for each in fresh for entry in each.entries]
        for wish in wishes(done):
            if not wish.is_in(entries):
                raise Difference(f"{node.name} acknowledged {command}, but did not write {wish}; it wrote {entries}")
        if command == "undo":
            check_undo(node, done, fresh, arguments["yes"])
        if command == "conflicts.resolve":
            check_resolved(node, self.people.conflict, arguments["take"], fresh)
        return [node]

    def refuse(self, node, command, refusal):
        self.tell(f"    refused: {refusal}")
        Figures.refused[command, refusal.code] += 1
        is_out = bytes.fromhex(node.device) not in self.company.diagnostics(node).membership.members
        if refusal.code not in EXPECTED and refusal.exit not in (2, 3, 5, 7) and refusal.code != "exit" and not is_out:
            raise Difference(f"{node.name} refused {command}: {refusal}")
        return [node]

    @rule(one=who, other=who)
    def meet(self, one, other):
        one, other = self.node(one), self.node(other)
        if one.persona != other.persona:
            self.step(f"{one.name} and {other.name} meet", lambda: self.let_meet(one, other, False))

    @rule(number=who)
    def visit_all(self, number):
        node = self.node(number)
        for other in list(self.nodes):
            if other.persona != node.persona:
                self.step(f"{node.name} and {other.name} meet", lambda: self.let_meet(node, other, False))

    @rule(one=who, other=who)
    def stay_connected(self, one, other):
        one, other = self.node(one), self.node(other)
        if one.persona == other.persona or frozenset((one, other)) in self.company.open:
            return
        self.step(f"{one.name} and {other.name} stay connected", lambda: self.let_meet(one, other, True))

    def let_meet(self, one, other, stays):
        if self.company.estranged(one, other):
            return self.turn_away(one, other)
        Figures.done["stay connected" if stays else "meet"] += 1
        self.company.meet(one, other, stays)
        return [one, other]

    def turn_away(self, one, other):
        """Pairs in which one device knows that the other is revoked: nothing is exchanged."""
        for node in (one, other):
            self.company.wake(node)
        # What a device states about itself at a start is not compared.
        time.sleep(0.05)
        before = [self.company.held(node, True) for node in (one, other)]
        self.company.meet(one, other)
        time.sleep(0.05)
        expect([self.company.held(node, True) for node in (one, other)], before, f"{one.name} and {other.name}: held")
        Figures.done["turned away"] += 1
        return [one, other]

    @rule(number=who, is_on=strategies.booleans())
    def sync(self, number, is_on):
        node = self.node(number)

        def act():
            node.ask("sync.on" if is_on else "sync.off", **({"yes": True} if is_on else {}))
            node.is_on = is_on
            return [node]
        if node.is_on != is_on and not self.is_out(node):
            self.step(f"{node.name}: sync {'on' if is_on else 'off'}", act)

    def is_out(self, node):
        return bytes.fromhex(node.device) not in self.company.diagnostics(node).membership.members

    # MARK: What happens to devices

    @rule(number=who)
    def halt(self, number):
        """Commands for a node that does not run are separate processes."""
        node = self.node(number)
        self.step(f"{node.name} ends", lambda: node.end())

    @rule(number=who, ahead=strategies.sampled_from([0, 300, -3_600, 3_600]), is_killed=strategies.booleans())
    def restart(self, number, ahead, is_killed):
        node = self.node(number)
        if ahead > 600 and any(other.ran_ahead for other in self.nodes if other.persona != node.persona):
            # With two wrong clocks it would be undecidable which one is right.
            ahead = 0

        def act():
            self.company.restart(node, ahead, is_killed)
            Figures.done["clock ahead" if ahead > 600 else "restart"] += 1
            return [node]
        self.step(f"{node.name} {'is killed' if is_killed else 'ends'} and starts, its clock {ahead} s ahead", act)

    @rule(number=who, is_clone=strategies.booleans())
    def copy(self, number, is_clone):
        node = self.node(number)
        if len(self.nodes) >= len(NAMES) + COPIES_MAX:
            return

        def act():
            copy = self.company.copy(node, is_clone)
            Figures.done["clone" if is_clone else "copy"] += 1
            self.tell(f"    it is {copy.name}")
            return [node, copy]
        self.step(f"the directory of {node.name} is {'cloned' if is_clone else 'copied'}", act)

    @rule(number=who)
    def keep(self, number):
        node = self.node(number)

        def act():
            self.kept.append((node, self.company.keep(node, len(self.kept))))
        self.step(f"the directory of {node.name} is copied away", act)

    @rule(index=strategies.integers(0, 3), is_clone=strategies.booleans())
    def put_back(self, index, is_clone):
        if not self.kept:
            return
        node, kept = self.kept[index % len(self.kept)]

        def act():
            self.company.put_back(node, kept, is_clone)
            Figures.done["put back"] += 1
            return [node]
        self.step(f"an old directory of {node.name} is put back{', inode and all' if is_clone else ''}", act)

    @rule(number=who)
    def back_up(self, number):
        node = self.node(number)

        def act():
            path = self.stage / f"backup-{len(self.backups)}.waymark"
            node.ask("backup", file=str(path))
            self.backups.append((path, node.name, {each.operation for each in self.company.diagnostics(node).stored}))
            return [node]
        self.step(f"{node.name}: backup", act)

    @rule(number=who, index=strategies.integers(0, 3))
    def restore(self, number, index):
        if not self.backups:
            return
        node = self.node(number)
        path, author, operations = self.backups[index % len(self.backups)]

        def act():
            node.end()
            node.run("restore", str(path), "--yes")
            node.promises = [promise for promise in node.promises if promise.operation in operations]
            node.is_on = node.ask("status")["sync"]["preference"]
            Figures.done["restore"] += 1
            return [node]
        self.step(f"{node.name}: restore the backup of {author}", act)

    @rule(number=who)
    def restamp(self, number):
        node = self.node(number)
        if node.ran_ahead and not node.ahead:
            self.step(f"{node.name}: restamp", lambda: self.ask(node, "restamp", {"yes": True}, lambda done: []))

    @rule(one=who, other=who)
    def revoke(self, one, other):
        one, other = self.node(one), self.node(other)
        if one.persona != other.persona and not self.is_out(one):
            self.step(f"{one.name} revokes {other.persona}", lambda: self.let_revoke(one, other))

    def let_revoke(self, one, other):
        before = self.company.diagnostics(one)
        known = {each.id for each in before.statements}
        done, refusal, _ = self.company.write(one, "revoke", {"device": [other.persona], "yes": True})
        if refusal is not None:
            return self.refuse(one, "revoke", refusal)
        after = self.company.diagnostics(one)
        key = bytes.fromhex(other.device)
        for each in after.statements:
            if each.id not in known and each.kind == REVOCATION and each.fields[3] == key:
                Figures.done["revoke"] += 1
                expect(each.fields.get(4, []), Folding(before, 0).tips(key), f"{one.name}: tips that are kept")
        return [one]

    # MARK: The end

    def teardown(self):
        try:
            if not self.failed:
                self.step("all meet", self.company.heal)
                Figures.histories += 1
        finally:
            self.company.end()
            shutil.rmtree(self.stage, ignore_errors=True)


def too_late(*_):
    raise KeyboardInterrupt("stopped early")


def main(arguments):
    seed = int(arguments[0]) if arguments and arguments[0] else secrets.randbelow(1_000_000)
    histories = int(arguments[1]) if len(arguments) > 1 and arguments[1] else 100
    steps = int(arguments[2]) if len(arguments) > 2 and arguments[2] else 20
    print(f"seed {seed}, {histories} histories of at most {steps} steps", flush=True)
    signal.signal(signal.SIGTERM, too_late)
    began = time.monotonic()
    wanted = settings(
        max_examples=histories, stateful_step_count=steps, deadline=None, report_multiple_bugs=False,
        database=DirectoryBasedExampleDatabase(KEPT), suppress_health_check=list(HealthCheck),
        phases=[Phase.reuse, Phase.generate, Phase.shrink], print_blob=False)
    try:
        run_state_machine_as_test(seeded(seed)(Life), settings=wanted)
    except BaseException:
        if Figures.failure is not None:
            print(f"seed {seed} failed. The shortest failing history:", *Figures.failure, sep="\n    ", flush=True)
        raise
    seconds = time.monotonic() - began
    print(f"    done: {', '.join(f'{key} {count}' for key, count in Figures.done.most_common())}")
    print(f"    refused: {', '.join(' '.join(key) + f' {count}' for key, count in Figures.refused.most_common())}")
    print(f"ok  seed {seed}, {Figures.histories} histories, {Figures.steps} steps in {seconds:.0f} s, "
          f"{Figures.histories * 60 / seconds:.0f} histories a minute")


if __name__ == "__main__":
    main(sys.argv[1:])
