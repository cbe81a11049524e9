"""Lets one of five real nodes lie to its clients, in several ways: the checker must find each.

    run plant [SEED]

A proxy between the clients and the node answers what a node with a planted mistake would answer. Nothing else goes wrong.
"""

import json
import random
import secrets
import signal
import sys
import threading
import time

import checker
from consistency import Run, say
from faults import faulty_circle
from networks import NAMES, begin, lay_wires, system
from node import Refusal
from stage import check, stage
from workload import Connection

SECONDS = 8
LIAR = "bob"


class Lying(Connection):
    """A connection through the proxy. At other nodes it is an ordinary one."""

    rng = random.Random()
    is_lying = True

    def ask(self, command, **arguments):
        if self.node.name != LIAR or not self.is_lying or "Marker" in str(arguments):
            return super().ask(command, **arguments)
        return self.lie(command, arguments)

    def tell(self, command, arguments):
        return super().ask(command, **arguments)


class StaleReads(Lying):
    """One read in ten is answered from a snapshot that is a second old."""

    answers = {}

    def lie(self, command, arguments):
        if command not in ("trip.show", "habit.show", "trip.list", "habit.list"):
            return self.tell(command, arguments)
        answer, now = self.tell(command, arguments), time.monotonic()
        kept = self.answers.setdefault(f"{command} {arguments}", [])
        kept.append((now, answer))
        old = [each for moment, each in kept if moment < now - 1]
        return old[-1] if old and self.rng.random() < 0.1 else answer


class DroppedWrites(Lying):
    """One edit in five is confirmed and not stored."""

    def lie(self, command, arguments):
        if command.endswith(".edit") and self.rng.random() < 0.2:
            return {"id": arguments["id"], "changed": True}
        return self.tell(command, arguments)


class LateWrites(Lying):
    """Edits are confirmed before they are stored."""

    def lie(self, command, arguments):
        if command.endswith(".edit"):
            later = Connection(self.node)
            threading.Timer(0.5, lambda: (later.ask(command, **arguments), later.close())).start()
            return {"id": arguments["id"], "changed": True}
        return self.tell(command, arguments)


class TornImports(Lying):
    """Half of an import is stored in one change set, the rest never."""

    def lie(self, command, arguments):
        if command == "import":
            with open(arguments["files"][0]) as file:
                document = json.load(file)
            document["trips"] = document["trips"][::2]
            with open(arguments["files"][0], "w") as file:
                json.dump(document, file)
        return self.tell(command, arguments)


class RejectedWrites(Lying):
    """One edit in ten is stored and reported as rejected."""

    def lie(self, command, arguments):
        answer = self.tell(command, arguments)
        if command.endswith(".edit") and self.rng.random() < 0.1:
            raise Refusal({"exit": 1, "code": "disk_full", "message": "No space is left on the disk."})
        return answer


class OldStore(Lying):
    """The node starts with an older copy of its store, as after a disk that lost what it had confirmed.

    Its link is cut meanwhile. Otherwise its peers send back what it has lost, usually before anyone reads it."""

    def lie(self, command, arguments):
        return self.tell(command, arguments)

    @staticmethod
    def disturb(node):
        system("ip", "link", "set", node.port, "down")
        # A copy as the system would hold it: no change happens while it is made.
        node.process.send_signal(signal.SIGSTOP)
        copies = {each: each.read_bytes() for each in node.home.glob("store.db*")}
        node.process.send_signal(signal.SIGCONT)
        time.sleep(2)
        node.end(signal.SIGKILL)
        for each in node.home.glob("store.db*"):
            each.unlink()
        for each, content in copies.items():
            each.write_bytes(content)
            each.chmod(0o600)
        node.start()
        system("ip", "link", "set", node.port, "up")


# Each with guarantees of which at least one must be reported.
LIES = {
    StaleReads: {checker.READ_YOUR_WRITES, checker.MONOTONIC_READS, checker.NODE_ORDER},
    DroppedWrites: {checker.READ_YOUR_WRITES, checker.NODE_ORDER, checker.NOT_LOST},
    LateWrites: {checker.READ_YOUR_WRITES, checker.NODE_ORDER},
    TornImports: {checker.ATOMIC},
    RejectedWrites: {checker.NOT_INVENTED},
    OldStore: {checker.READ_YOUR_WRITES, checker.MONOTONIC_READS, checker.NODE_ORDER, checker.NOT_LOST},
}


def once(circle, folder, seed, number, lie):
    """One kind of lie among working clients; returns the guarantees that the checker reports as violated."""
    lie.rng = random.Random(f"{seed} {lie.__name__}")
    Lying.is_lying = True
    run = Run(circle, folder, seed, prefix=f"p{number}.", connect=lie)
    run.begin()
    time.sleep(SECONDS / 2)
    if hasattr(lie, "disturb"):
        lie.disturb(circle.nodes[NAMES.index(LIAR)])
    time.sleep(SECONDS / 2)
    Lying.is_lying = False
    history = run.end(is_strict=False)
    found = {}
    for violation in checker.check(history):
        found.setdefault(violation.guarantee, violation)
    return found, history


def main():
    words = begin("the nodes can't have networks and disks of their own: run this as root")
    if words is None:
        return
    seed = int(words[0]) if words else secrets.randbelow(1 << 32)
    print(f"plant {seed}", flush=True)
    lay_wires()
    missed = []
    with stage("planted") as folder, faulty_circle(folder) as circle:
        for number, (lie, expected) in enumerate(LIES.items()):
            found, history = once(circle, folder, seed, number, lie)
            is_caught = bool(expected & set(found))
            say([f"{'caught' if is_caught else 'MISSED'}  {' '.join(lie.__doc__.split('.')[0].split())}: "
                 f"{', '.join(found) or 'no violation'}"])
            if not is_caught:
                missed.append(lie.__name__)
                history.save(folder / f"{lie.__name__}.jsonl")
            elif "--verbose" in sys.argv:
                say([next(violation.text for name, violation in found.items() if name in expected)])
        check(not missed, f"not caught: {', '.join(missed)}")


if __name__ == "__main__":
    main()
