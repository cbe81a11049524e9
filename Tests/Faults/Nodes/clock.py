"""Device clocks jump by up to ten years, between starts and while nodes run. Only for builds whose clock can be set.

    run clock [JUMPS [SEED]]

Local writes are never rejected. No device shows a change dated beyond the drift bound: it is parked, folds when its
time comes, and can be corrected by `restamp`. A device whose clock is behind also parks changes dated beyond its
own bound.
"""

import random
import secrets
import sys
import time

from node import Refusal
from stage import Circle, Device, Failure, check, clock_can_be_set, eventually, stage, told

DRIFT = 10 * 60
MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 365 * 86_400
# A short run uses the first of these.
JUMPS = (HOUR, -10 * YEAR, 10 * YEAR, -HOUR, 9 * MINUTE, -YEAR, YEAR, 12 * MINUTE, -9 * MINUTE, DAY, -DAY, 30 * DAY)


class WithClock(Device):
    """A device whose clock is ahead by the seconds in a file."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.file = folder / f"{name}.clock"
        self.file.write_text("0\n")
        self.extra = {"WAYMARK_CLOCK_FILE": str(self.file)}

    def jump(self, seconds):
        self.file.write_text(f"{seconds}\n")


class Clock:
    def __init__(self, circle, jumps, seed):
        self.circle, self.nodes, self.jumps = circle, circle.nodes, jumps
        self.rng = random.Random(seed)
        self.number, self.restamped, self.restarts = 0, 0, 0

    def run(self):
        begun = time.monotonic()
        for number in range(self.jumps):
            node = self.nodes[number % len(self.nodes)]
            self.once(node, JUMPS[number % len(JUMPS)])
        self.due()
        for node in self.nodes:
            verdict = node.ask("verify", deep=True)
            check(verdict["ok"], f"{node.name} is damaged: {verdict}")
        print(
            f"clock jumps {self.jumps}, of which between starts {self.restarts}, restamped {self.restamped}, "
            f"rejected 0, shown before their time 0, {time.monotonic() - begun:.0f} s")

    def once(self, node, seconds):
        others = [each for each in self.nodes if each is not node]
        self.jump(node, seconds)
        mine = self.write(node)
        theirs = self.write(self.rng.choice(others))
        if seconds > DRIFT:
            self.waits(others, mine, f"{node.name} is {seconds} s ahead")
            self.jump(node, 0)
            # The device continues its own log from there: these writes are not rejected either, and are parked as
            # well.
            later = self.write(node)
            self.waits(others, later, f"{node.name} was {seconds} s ahead")
            eventually(lambda: f"{node.name} can restamp: {told(node.ask('status'))}", lambda: self.restamp(node), 30)
        elif seconds < 0:
            # Other logs may already be ahead by less than the bound, so a smaller jump may exceed it.
            if seconds < -DRIFT:
                self.waits([node], theirs, f"{node.name} is {-seconds} s behind")
            self.jump(node, 0)
        for each in self.nodes:
            for name in (mine, theirs):
                eventually(lambda: f"{each.name} shows {name} after a jump of {node.name} by {seconds} s: "
                           f"{told(each.ask('status'))}", lambda: name in self.names(each), 30)
        if node.file.read_text() != "0\n":
            self.jump(node, 0)
        self.circle.settle(60)

    def jump(self, node, seconds):
        """Between two starts, or while the node runs."""
        if self.rng.random() < 0.5:
            self.restarts += 1
            node.end()
            node.jump(seconds)
            node.start()
        else:
            node.jump(seconds)

    def write(self, node):
        """Never rejected, whatever the clock shows."""
        self.number += 1
        name = f"{node.name} {self.number}"
        try:
            node.ask("trip.add", fields=[["name", name]])
        except Refusal as refusal:
            ahead = node.file.read_text().strip()
            raise Failure(f"{node.name} was not allowed to write with its clock {ahead} s ahead: {refusal}") from None
        return name

    def names(self, node):
        return {trip["name"] for trip in node.ask("trip.list")["trips"]}

    def waits(self, nodes, name, why):
        """The set has arrived and is not shown."""
        for node in nodes:
            eventually(lambda: f"{node.name} has {name} waiting for its time, as {why}: {told(node.ask('status'))}",
                       lambda: node.ask("status")["lanes"]["records"]["parked"] > 0, 30)
            check(name not in self.names(node), f"{node.name} shows {name} although {why}")

    def restamp(self, node):
        try:
            node.ask("restamp", yes=True)
        except Refusal:
            # Peers with a different clock have to be connected and to have sent their time.
            return False
        self.restamped += 1
        return True

    def due(self):
        """A parked set folds by itself when its time comes."""
        alice, bob, carol = self.nodes
        alice.jump(DRIFT + 15)
        name = self.write(alice)
        self.waits([bob, carol], name, "alice is a little ahead")
        alice.jump(0)
        eventually(lambda: f"bob shows {name} in its time: {told(bob.ask('status'))}",
                   lambda: name in self.names(bob), 40)
        self.circle.settle(60)


def main():
    jumps = int(sys.argv[1]) if len(sys.argv) > 1 else 36
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    print(f"clock {jumps} {seed}", flush=True)
    if not clock_can_be_set():
        print("skipped: the clock of this build can't be set: build it with make build")
        return
    with stage("clock") as folder:
        with Circle(folder, ("alice", "bob", "carol"), WithClock) as circle:
            Clock(circle, jumps, seed).run()


main()
