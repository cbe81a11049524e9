"""Nodes are paused and resumed (SIGSTOP, SIGCONT) while people write; peers time out meanwhile.

    run pause [CYCLES [SEED [LONGEST]]]

LONGEST is the longest pause in seconds; some pauses are longer than peers wait for each other, most are not.
Afterwards every node has one session with each other node, and no acknowledged write is lost.
"""

import collections
import pathlib
import random
import secrets
import signal
import sys
import time

from people import Journal, Writer
from stage import Circle, check, eventually, percentile, sound, stage, told

NAMES = ("alice", "bob", "carol")
# Peers give up a silent connection after this time: Limits.idleMillisecondsMax.
PATIENCE = 60


class Pause:
    def __init__(self, folder, circle, cycles, seed, longest):
        self.circle, self.nodes = circle, circle.nodes
        self.cycles, self.longest = cycles, longest
        self.rng = random.Random(seed)
        self.journals = {node.name: Journal(folder / f"{node.name}.journal") for node in self.nodes}
        self.writers = [
            Writer(node, self.journals[node.name], random.Random(f"{seed} {node.name}"), pause=0.05)
            for node in self.nodes]
        self.back, self.timeouts = [], 0

    def run(self):
        begun = time.monotonic()
        for writer in self.writers:
            writer.start()
            writer.may_write.set()
        for number in range(1, self.cycles + 1):
            self.once(number)
        for writer in self.writers:
            writer.rest()
            writer.is_over = True
        self.circle.settle(60)
        self.compare()
        acknowledged = sum(journal.acknowledged for journal in self.journals.values())
        print(
            f"pauses {self.cycles}, longer than peers wait {self.timeouts}, acknowledged {acknowledged}, lost 0, "
            f"double sessions 0, {time.monotonic() - begun:.0f} s, in sync again after p50 "
            f"{percentile(self.back, 0.5):.1f} s, p99 {percentile(self.back, 0.99):.1f} s")

    def once(self, number):
        """One or two nodes are paused; after they resume, all nodes reconnect with one session each."""
        victims = self.rng.sample(self.nodes, self.rng.choice((1, 1, 2)))
        for node in victims:
            node.process.send_signal(signal.SIGSTOP)
        # Every tenth pause is about as long as allowed.
        seconds = self.rng.uniform(0.75, 1) * self.longest if number % 10 == 3 else self.rng.uniform(0.05, 2)
        self.timeouts += seconds > PATIENCE
        time.sleep(seconds)
        self.rng.shuffle(victims)
        for node in victims:
            node.process.send_signal(signal.SIGCONT)
            time.sleep(self.rng.uniform(0, 0.05))
        begun = time.monotonic()
        states = []

        def is_whole():
            states[:] = self.circle.states()
            return all(
                len(state["peers"]) == len(self.nodes) - 1
                and all(peer["state"] in ("in_sync", "sending", "receiving") for peer in state["peers"])
                for state in states)

        eventually(lambda: "all nodes are connected to each other:\n" + "\n".join(map(told, states)), is_whole, 60)
        self.back.append(time.monotonic() - begun)
        for writer in self.writers:
            check(writer.trouble is None, f"in cycle {number} the {writer.name} was told: {writer.trouble!r}")
        eventually(lambda: f"no two nodes have more than one session: {self.sockets()}", self.is_single, 20)

    def sockets(self):
        """The number of connections between each pair of processes."""
        return connections([node.process.pid for node in self.nodes])

    def is_single(self):
        counts = self.sockets()
        pairs = len(self.nodes) * (len(self.nodes) - 1) // 2
        return len(counts) == pairs and set(counts.values()) == {1}

    def compare(self):
        sound(self.nodes, self.journals)
        for node in self.nodes:
            node.end()


def connections(processes):
    """Established TCP connections between processes, each counted once, as the system reports them."""
    owner = {}
    for process in processes:
        for link in pathlib.Path(f"/proc/{process}/fd").iterdir():
            try:
                name = str(link.readlink())
            except OSError:
                continue
            if name.startswith("socket:["):
                owner[name[8:-1]] = process
    ends = {}
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as lines:
            next(lines)
            for line in lines:
                fields = line.split()
                if fields[3] == "01" and fields[9] in owner:
                    ends[(fields[1][-13:], fields[2][-13:])] = owner[fields[9]]
    counts = collections.Counter()
    for (local, remote), process in ends.items():
        other = ends.get((remote, local))
        if other is not None and local < remote:
            counts[tuple(sorted((process, other)))] += 1
    return counts


def main():
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    longest = float(sys.argv[3]) if len(sys.argv) > 3 else 90
    print(f"pause {cycles} {seed} {longest:g}", flush=True)
    with stage("pause") as folder, Circle(folder, NAMES) as circle:
        Pause(folder, circle, cycles, seed, longest).run()


main()
