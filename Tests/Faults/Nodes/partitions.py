"""Five nodes, each in its own network, joined by a bridge whose links fail, fail one way, flap, and are slow.

    run partitions [ROUNDS [SEED [SECONDS]]]

The seed decides what fails when. Meanwhile people write on all nodes; after healing all nodes agree soon.
"""

import collections
import random
import secrets
import shutil
import threading
import time

from networks import NAMES, InNetwork, begin, inside, lay_wires, system
from people import Journal, Writer
from stage import Circle, check, percentile, sound, stage

NOBODY = "02:00:00:00:00:01"
SLOW = ("tbf", "rate", "64kbit", "burst", "4kb", "latency", "400ms")


class Partitions:
    def __init__(self, folder, circle, rounds, seed, seconds):
        self.circle, self.nodes, self.rounds, self.seconds = circle, circle.nodes, rounds, seconds
        self.rng = random.Random(seed)
        self.has_slow = self.can_be_slow()
        self.journals = {node.name: Journal(folder / f"{node.name}.journal") for node in self.nodes}
        self.writers = [
            Writer(node, self.journals[node.name], random.Random(f"{seed} {node.name}"), pause=0.1)
            for node in self.nodes]
        self.healed, self.faults = [], collections.Counter()
        self.cures = []

    def can_be_slow(self):
        words = ("tc", "qdisc", "add", "dev", "wire1", "root", *SLOW)
        if shutil.which("tc") is None or not system(*words, may_fail=True):
            print("skipped: no slow link, as this system has no token bucket filter", flush=True)
            return False
        system("tc", "qdisc", "del", "dev", "wire1", "root")
        return True

    def run(self):
        begun = time.monotonic()
        for writer in self.writers:
            writer.start()
        for _ in range(self.rounds):
            self.once()
        for writer in self.writers:
            writer.is_over = True
        self.compare()
        acknowledged = sum(journal.acknowledged for journal in self.journals.values())
        print(
            f"partitions {self.rounds}, {dict(self.faults)}, acknowledged {acknowledged}, lost 0, in sync after "
            f"p50 {percentile(self.healed, 0.5):.1f} s, p99 {percentile(self.healed, 0.99):.1f} s, "
            f"{time.monotonic() - begun:.0f} s")

    def once(self):
        for writer in self.writers:
            writer.may_write.set()
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            kinds = ["cut", "split", "one_way", "flap"] + ["slow"] * self.has_slow
            kind = self.rng.choice(kinds)
            self.faults[kind.replace("_", " ")] += 1
            getattr(self, kind)()
            time.sleep(self.rng.uniform(0.2, self.seconds / 2))
            if self.rng.random() < 0.4:
                self.heal()
        for writer in self.writers:
            writer.rest()
            check(writer.trouble is None, f"the {writer.name} was told: {writer.trouble!r}")
        self.heal()
        self.healed.append(self.circle.settle(60))

    # MARK: Faults

    def cut(self):
        """The link of one node is down."""
        self.down(self.rng.choice(self.nodes))

    def split(self):
        """Two or three of five nodes are isolated, also from each other."""
        for node in self.rng.sample(self.nodes, self.rng.choice((2, 3))):
            self.down(node)

    def down(self, node):
        system("ip", "link", "set", node.port, "down")
        self.cures.append(lambda: system("ip", "link", "set", node.port, "up"))

    def one_way(self):
        """Packets in one direction are dropped silently; the other direction works."""
        sender, receiver = self.rng.sample(self.nodes, 2)
        inside(sender.name, "ip", "neighbour", "replace", receiver.host, "lladdr", NOBODY, "dev", "eth0", "nud",
               "permanent")
        self.cures.append(lambda: inside(
            sender.name, "ip", "neighbour", "del", receiver.host, "dev", "eth0", may_fail=True))

    def flap(self):
        """A bad plug: the link goes up and down many times a second."""
        node, over = self.rng.choice(self.nodes), threading.Event()
        pauses = [self.rng.uniform(0.01, 0.12) for _ in range(400)]

        def work():
            for number, pause in enumerate(pauses):
                system("ip", "link", "set", node.port, "down" if number % 3 == 0 else "up")
                if over.wait(pause):
                    break
            system("ip", "link", "set", node.port, "up")

        thread = threading.Thread(target=work, daemon=True)
        thread.start()

        def cure():
            over.set()
            thread.join()

        self.cures.append(cure)

    def slow(self):
        """64 kbit/s to one node."""
        node = self.rng.choice(self.nodes)
        system("tc", "qdisc", "replace", "dev", node.port, "root", *SLOW)
        self.cures.append(lambda: system("tc", "qdisc", "del", "dev", node.port, "root", may_fail=True))

    def heal(self):
        for cure in reversed(self.cures):
            cure()
        self.cures = []

    def compare(self):
        sound(self.nodes, self.journals)
        for node in self.nodes:
            node.end()


def main():
    words = begin("partitions can't be tested")
    if words is None:
        return
    rounds = int(words[0]) if words else 20
    seed = int(words[1]) if len(words) > 1 else secrets.randbelow(1 << 32)
    seconds = float(words[2]) if len(words) > 2 else 8
    print(f"partitions {rounds} {seed} {seconds:g}", flush=True)
    lay_wires()
    with stage("parts") as folder, Circle(folder, NAMES, InNetwork) as circle:
        Partitions(folder, circle, rounds, seed, seconds).run()


main()
