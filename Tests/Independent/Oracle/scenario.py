"""Five nodes, one random history decided by one seed, and a final comparison with the model.

    run [SEED [STEPS [SECONDS]]]

The seed decides what people do and when connections and processes end; the speed of the nodes varies. So a failing
seed may have to run several times to fail again.
"""

import collections
import pathlib
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time

from circle_of_nodes import Circle
from compare import Difference, compare_conflicts, compare_lists, compare_status, compare_store, expect, expect_same
from overrides import Override
from guest import Guest
from ledger import Ledger
from look import Look
from node import HungUp, Refusal
from past import compare_history, keys_with_history
from people import People
from resolving import check_resolved
from store import Snapshot
from undoing import check_undo

# Errors that are allowed: another write was faster, or something needed is missing at the moment.
EXPECTED = {"not_found", "ambiguous", "in_use", "usage", "not_in_sync", "offline", "bad_value",
            "nothing_to_undo", "not_deleted", "erased", "hidden", "needs_yes", "connecting", "dial_refused",
            "no_answer"}
WEIGHTS = {
    "add": 20, "edit": 30, "delete": 7, "restore": 5, "day": 8, "setting": 6, "profile": 4, "undo": 5, "undo_last": 3,
    "resolve": 7, "export": 1, "import_": 2, "mirror": 2, "assert_": 2, "cleanup": 1}
# Events at nodes: methods of the scenario, as the ones above are of the people.
FAULTS = {
    "pause": 6, "resume": 5, "stop": 3, "kill": 3, "kill_busy": 3, "start": 9, "rest": 12, "look": 2, "visit": 9,
    "back_up": 1, "go_back": 1, "gate": 3}


class Scenario:
    def __init__(self, seed, steps, stage):
        self.rng = random.Random(seed)
        self.steps, self.stage = steps, stage
        self.people = People(self.rng, stage)
        self.ledger = Ledger()
        self.missing = set()
        self.done, self.refused = collections.Counter(), collections.Counter()
        self.history = open(stage / "history", "w")
        self.circle = Circle(stage)
        self.nodes = self.circle.nodes
        self.guests = [Guest(self.rng, self.nodes[0], name) for name in ("frank", "grace")]
        self.paused = set()
        # Backups, with the sets that they are certain to contain.
        self.backups = []

    def say(self, text):
        print(f"{time.monotonic():.3f} {text}", file=self.history, flush=True)

    # MARK: Steps

    def run(self):
        for number in range(self.steps):
            weights = WEIGHTS | FAULTS
            name = self.rng.choices(list(weights), list(weights.values()))[0]
            node = self.rng.choice(self.nodes)
            self.say(f"step {number}: {name} at {node.name}")
            if name in FAULTS:
                getattr(self, name)(node)
            else:
                self.act(name, node)
        self.heal()

    def act(self, name, node):
        action = self.action(name, node)
        if action is None:
            return
        command, arguments, wishes = action
        self.say(f"  {command} {arguments}")
        is_override = command in ("mirror", "assert")
        override = Override(self.nodes, node, command, arguments) if is_override else None
        try:
            done = node.ask(command, **arguments)
        except Refusal as refusal:
            return self.refuse(node, name, command, refusal)
        self.done[command] += 1
        fresh = self.ledger.acknowledge(node, f"{command} {arguments}", wishes(done))
        if command == "undo":
            check_undo(node, done, fresh, arguments["yes"])
        if command == "conflicts.resolve":
            check_resolved(node, self.people.conflict, arguments["take"], fresh)
        if is_override:
            override.check(done, fresh)
            self.done[f"{command}, checked"] += override.is_checked

    def action(self, name, node):
        if name in self.missing:
            return None
        peers = [each.name for each in self.nodes if each is not node]
        arguments = (peers,) if name == "mirror" else ()
        return getattr(self.people, name)(Look(node), *arguments)

    def refuse(self, node, name, command, refusal):
        self.say(f"  refused: {refusal}")
        self.refused[command, refusal.code] += 1
        if refusal.is_unknown_command:
            self.missing.add(name)
        elif refusal.code not in EXPECTED and refusal.exit not in (2, 3, 5, 7) and not (
                refusal.code == "exit" and command.endswith(("undo", "restore"))):
            raise Difference(f"{node.name} refused {command}: {refusal}")
        # Anything it wrote nevertheless is in its log and must stay.
        self.ledger.catch_up(node, command)

    # MARK: Faults

    def pause(self, node):
        peer = self.rng.choice([each for each in self.nodes if each is not node])
        node.ask("peers.pause", peer=peer.name)
        self.paused.add((node, peer))

    def resume(self, node):
        for pair in sorted(self.paused, key=lambda pair: (pair[0].name, pair[1].name)):
            if pair[0] is node and self.rng.random() < 0.7:
                node.ask("peers.resume", peer=pair[1].name)
                self.paused.remove(pair)

    def gate(self, node):
        """Closes or reopens the node's own records lane."""
        if self.rng.random() < 0.6:
            node.ask("sync.on", yes=True)
        else:
            node.ask("sync.off")

    def stop(self, node):
        node.end()

    def kill(self, node):
        node.kill()

    def start(self, node):
        """Starts this node, or another that is not running."""
        stopped = [each for each in self.nodes if not each.is_running]
        if stopped:
            (node if not node.is_running else self.rng.choice(stopped)).start()

    def kill_busy(self, node):
        """Kills a node while it executes several commands: answered ones must last."""
        if not node.is_running:
            return
        names = ["add", "edit", "edit", "day", "setting", "delete", "profile", "import_", "undo_last"]
        actions = [self.action(self.rng.choice(names), node) for _ in range(4)]
        actions = [action for action in actions if action is not None]
        answers = self.rng.randint(0, len(actions))
        wanted = []
        try:
            for command, arguments, _ in actions:
                self.say(f"  {command} {arguments}")
                node.send(command, arguments)
            for command, arguments, wishes in actions[:answers]:
                try:
                    wanted += wishes(node.answer())
                except Refusal as refusal:
                    self.say(f"  refused: {refusal}")
        except HungUp as ended:
            raise Difference(f"{ended} before it was killed") from None
        node.kill()
        self.say(f"  killed after {answers} answers")
        node.start()
        self.ledger.acknowledge(node, f"{len(actions)} commands, {answers} answered, then killed", wanted)

    def rest(self, node):
        time.sleep(self.rng.choice([0.02, 0.1, 0.4]))

    def look(self, node):
        """Compares one node with the model immediately, whatever it is doing."""
        snapshot, _ = compare_store(node.store, node.name)
        self.ledger.check(node.name, OwnOnly(snapshot, node, self.ledger))

    def visit(self, node):
        """A guest visits this node."""
        guest = self.rng.choice(self.guests)
        if node.is_running:
            self.ledger.deliver(guest.client, guest.visit(node, Look(node)))

    def back_up(self, node):
        path = self.stage / f"backup-{len(self.backups)}.waymark"
        held = {each.id for each in Snapshot(node.store, rows=False).stored}
        node.ask("backup", file=str(path))
        self.backups.append((path, held))

    def go_back(self, node):
        """Replaces this node's state by an older one, perhaps another node's."""
        if not self.backups:
            return
        path, held = self.rng.choice(self.backups)
        node.end()
        others = {each.id for other in self.nodes if other is not node
                  for each in Snapshot(other.store, rows=False).stored}
        self.ledger.forgo([line for line in self.ledger.lines if line.set.id not in others | held])
        for line in self.ledger.lines:
            if line.node == node.name and line.set.id not in held:
                # It must come back from the other nodes.
                line.node = "the others"
        node.run("restore", str(path), "--yes")
        self.done["restore FILE"] += 1
        node.last = max(Snapshot(node.store, rows=False).by_number, default=0)
        node.start()

    # MARK: Healing

    def heal(self):
        self.say("healing")
        for node in self.nodes:
            if not node.is_running:
                node.start()
            node.ask("sync.on", yes=True)
        for node, peer in self.paused:
            node.ask("peers.resume", peer=peer.name)
        self.paused.clear()
        self.circle.settle()

    def judge(self):
        """Compares each node with the model of its own log, all nodes with each other, and the ledger with all."""
        first = None
        for node in self.nodes:
            node.ask("wait", timeoutMilliseconds=20_000)
            snapshot, model = compare_store(node.store, node.name)
            compare_status(node.ask("status"), model, node.name)
            compare_conflicts(node.ask("conflicts.list"), model, node.name)
            compare_lists(node, model, node.name)
            self.ledger.check(node.name, snapshot)
            self.recall(node, model)
            expect(node.ask("verify")["verdict"], "equal", f"{node.name}: verify")
            same = (set(model.sets), model.conflicts, exports(node, self.stage), conflict_ids(node))
            first = first or same
            for found, wanted, what in zip(same, first, ("change sets", "conflicts", "export", "conflict ids")):
                expect_same(found, wanted, f"{node.name} and {self.nodes[0].name}: {what}")
                expect(found, wanted, f"{node.name} and {self.nodes[0].name}: {what}")
        return model

    def recall(self, node, model):
        """Checks all lines of the first node's history and some of the others'."""
        keys = keys_with_history(model)
        if "undo" not in self.missing:
            compare_history(node, model, keys if node is self.nodes[0] else self.rng.sample(keys, min(len(keys), 10)))

    def report(self, model):
        reasons = collections.Counter(conflict.reason for conflict in model.conflicts)
        print(f"    done: {brief(self.done)}\n    refused: {brief(self.refused)}")
        print(f"    sets {len(model.sets)}, records {len(model.records)}, logs {len({e.log for e in model.ordered})}, "
              f"acknowledged {len(self.ledger.lines)}, forgone {len(self.ledger.forgone)}, "
              f"conflicts {dict(reasons)}, not offered {sorted(self.missing)}")


class OwnOnly:
    """Checks one node before all are connected: it must hold its own writes."""

    def __init__(self, snapshot, node, ledger):
        self.folded = [*snapshot.folded, *(line.set for line in ledger.lines if line.node != node.name)]


def brief(counter):
    return ", ".join(f"{' '.join(key) if type(key) is tuple else key} {count}" for key, count in counter.most_common())


def exports(node, stage):
    path = stage / "final-export.json"
    texts = []
    for format_ in ("ritualist", "traveling-snails"):
        node.ask("export", format=format_, output=str(path), yes=True)
        texts += steady(path.read_text())
    return texts


def steady(text):
    """An export without its time of creation."""
    return [line for line in text.splitlines() if not line.startswith(('  "exportedAt"', '    "timestamp"'))]


def conflict_ids(node):
    return sorted(each["id"] for each in node.ask("conflicts.list")["conflicts"])


def too_late(*_):
    raise TimeoutError("stopped early")


def main(arguments):
    seed = int(arguments[0]) if arguments else secrets.randbelow(1_000_000)
    steps = int(arguments[1]) if len(arguments) > 1 else 300
    print(f"seed {seed}, {steps} steps", flush=True)
    signal.signal(signal.SIGALRM, too_late)
    signal.signal(signal.SIGTERM, too_late)
    signal.alarm(int(arguments[2]) if len(arguments) > 2 else 0)
    stage = pathlib.Path(tempfile.mkdtemp(prefix="wm-oracle-", dir="/tmp"))
    began = time.monotonic()
    scenario = None
    try:
        scenario = Scenario(seed, steps, stage)
        scenario.run()
        scenario.report(scenario.judge())
    except BaseException as error:
        print(f"seed {seed} failed; files are kept in {stage}: {type(error).__name__}: {error}", flush=True)
        if scenario is not None:
            scenario.circle.end()
        raise
    scenario.circle.end()
    shutil.rmtree(stage)
    print(f"ok  seed {seed}, {steps} steps in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
