"""The disk of one of two nodes runs full and gets room again, repeatedly, while people write on both nodes.

    run full [CYCLES [SEED]]

The disk is a small tmpfs of 8 to 48 MiB. While it is full, writes are rejected with the code disk_full, reading and
sending go on, and a killed node starts again. When there is room, the node resumes by itself, and nothing that it
acknowledged is lost.
"""

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time

from node import Refusal
from people import Journal, Line, Writer
from stage import Circle, Device, Failure, check, eventually, percentile, stage, told, visible

MEBIBYTE = 1 << 20
SIZES = (8, 12, 16, 24, 32, 48)


class OnSmallDisk(Device):
    """Only Alice's home is on a separate disk."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.home.mkdir(mode=0o700)
        if name == "alice":
            mount(self.home, SIZES[0])


def mount(path, mebibytes, *options):
    options = ",".join([f"size={mebibytes}m", "mode=0700", *options])
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], check=True)


class Full:
    def __init__(self, folder, circle, cycles, seed):
        self.folder, self.circle, self.cycles = folder, circle, cycles
        self.rng = random.Random(seed)
        self.alice, self.bob = circle.nodes
        self.filler = self.alice.home / "filler"
        self.journals = {node.name: Journal(folder / f"{node.name}.journal") for node in circle.nodes}
        self.writers = {
            node.name: Writer(node, self.journals[node.name], random.Random(f"{seed} {node.name}"), pause=0.02)
            for node in circle.nodes}
        self.writers["alice"].expected = {"disk_full"}
        self.back, self.refused, self.killed = [], 0, 0

    def run(self):
        begun = time.monotonic()
        self.write_steadily()
        for writer in self.writers.values():
            writer.start()
            writer.may_write.set()
        for number in range(1, self.cycles + 1):
            self.once(number)
        for writer in self.writers.values():
            writer.rest()
            writer.is_over = True
        self.circle.settle(60)
        self.compare()
        acknowledged = sum(journal.acknowledged for journal in self.journals.values())
        print(
            f"disk full {self.cycles}, killed meanwhile {self.killed}, acknowledged {acknowledged}, refused "
            f"{self.refused}, lost 0, {time.monotonic() - begun:.0f} s, writing again after p50 "
            f"{percentile(self.back, 0.5):.1f} s, p99 {percentile(self.back, 0.99):.1f} s")

    def write_steadily(self):
        """Under constant writes the write-ahead log must not fill a small disk by itself."""
        subprocess.run(["mount", "-o", "remount,size=16m", str(self.alice.home)], check=True)
        line = Line(self.alice)
        trip = line.ask("trip.add", fields=[["name", "steady"]])["id"]
        for number in range(900):
            line.ask("trip.edit", id=trip, fields=[["notes", f"step {number}"]])
        line.close()

    def once(self, number):
        size = SIZES[number % len(SIZES)] if self.cycles > 2 else SIZES[1 + 3 * (number % 2)]
        # Everything written so far has to fit, with some room to spare.
        size = max(size, 2 * used(self.alice.home) // MEBIBYTE + 8)
        subprocess.run(["mount", "-o", f"remount,size={size}m", str(self.alice.home)], check=True)
        eventually("alice writes on a disk with room", lambda: self.may_write(f"room {number}"), 30)
        if number % 2:
            self.start_on_full()
        # A start on a full disk may have used the reserve for the note that releases own sets; then they wait for
        # room.
        eventually(lambda: f"bob is in sync: {self.lacking()[:3]}", lambda: not self.lacking(), 30)
        eventually("alice reports that her disk is full", lambda: self.is_full_for_good(number), 30)
        self.look(number)
        if self.rng.random() < 0.5:
            self.restart_full(number)
        self.fill()
        time.sleep(self.rng.uniform(0, 0.3))
        self.bob_goes_on(number)
        self.filler.unlink()
        begun = time.monotonic()
        eventually("alice writes again", lambda: self.may_write(f"again {number}"), 30)
        self.back.append(time.monotonic() - begun)
        self.arrives(number)

    def is_full_for_good(self, number):
        """At first the write-ahead log may be what takes the room; the node frees that by itself."""
        self.fill()
        refusal = self.write_until_refused(number)
        check(refusal.exit == 1 and "full" in refusal.message, f"it was rejected with {refusal}")
        self.refused += 1
        self.fill()
        time.sleep(0.1)
        return any(notice["reason"] == "disk_full" for notice in self.alice.ask("status")["notices"])

    def fill(self):
        """Fills the disk to the last byte."""
        with open(self.filler, "ab", buffering=0) as file:
            for size in (MEBIBYTE, 4_096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def write_until_refused(self, number):
        """Room that the store's journal has allocated can be used, so the first writes may succeed."""
        line = Line(self.alice)
        trip = None
        try:
            for step in range(2_000):
                if trip is None:
                    trip = line.ask("trip.add", fields=[["name", f"full {number}"]])["id"]
                line.ask("trip.edit", id=trip, fields=[["notes", "x" * 9_000 + str(step)]])
        except Refusal as refusal:
            check(refusal.code == "disk_full", f"alice was refused with {refusal}")
            return refusal
        finally:
            line.close()
        raise Failure("alice wrote 18 MB on a disk that is full")

    def look(self, number):
        """Reading works, and acknowledged writes reach Bob."""
        check(len(self.alice.ask("trip.list")["trips"]) > 0, "no trips while the disk is full")
        eventually(lambda: f"bob has all that alice wrote before her disk was full: {self.lacking()[:3]}",
                   lambda: not self.lacking(), 30)

    def lacking(self):
        return self.journals["alice"].lost(self.bob)

    def restart_full(self, number):
        """A node that is killed now starts again and serves what it has stored."""
        self.killed += 1
        self.writers["alice"].rest()
        self.alice.end(signal.SIGKILL)
        self.fill()
        self.alice.start()
        lost = self.journals["alice"].lost(self.alice)
        check(not lost, f"alice has lost {len(lost)} writes: {lost[:5]}")
        check(len(self.alice.ask("trip.list")["trips"]) > 0, "no trips after a start on a full disk")
        self.writers["alice"].may_write.set()

    def start_on_full(self):
        """The disk ran full while the node was not running: its ballast is enough to start."""
        self.writers["alice"].rest()
        self.alice.end()
        self.fill()
        self.alice.start()
        check(not (self.alice.home / "ballast").exists(), "alice started on a full disk without her ballast")
        check(len(self.alice.ask("trip.list")["trips"]) > 0, "no trips after a start on a full disk")
        self.filler.unlink()
        # No write happens meanwhile: the node itself checks for room.
        eventually("alice holds her ballast again", (self.alice.home / "ballast").exists, 30)
        self.writers["alice"].may_write.set()
        eventually("alice writes on a disk with room", lambda: self.may_write("room again"), 30)

    def bob_goes_on(self, number):
        self.bob.ask("trip.add", fields=[["name", f"from bob {number}"]])

    def may_write(self, text):
        try:
            self.alice.ask("trip.add", fields=[["name", text]])
            return True
        except Refusal as refusal:
            check(refusal.code == "disk_full", f"alice was refused with {refusal}")
            return False

    def arrives(self, number):
        """Alice receives by herself what Bob wrote meanwhile."""
        eventually(
            lambda: f"what bob wrote reaches alice: {told(self.alice.ask('status'))} {files(self.alice.home)}",
            lambda: any(row[0] == f"from bob {number}" for row in visible(self.alice, "trips", "name").values()), 40)
        for writer in self.writers.values():
            check(writer.trouble is None, f"the {writer.name} was told: {writer.trouble!r}")

    def compare(self):
        for node in self.circle.nodes:
            verdict = node.ask("verify", deep=True)
            check(verdict["ok"], f"{node.name} is damaged: {verdict}")
            for name, journal in self.journals.items():
                lost = journal.lost(node)
                check(not lost, f"{node.name} lacks {len(lost)} writes of {name}: {lost[:5]}")
        for node in self.circle.nodes:
            node.end()


def files(home):
    """Files on the disk, and the room left in KiB."""
    status = os.statvfs(home)
    sizes = {each.name: each.stat().st_size // 1_024 for each in sorted(home.iterdir()) if each.is_file()}
    block = status.f_frsize
    return sizes | {"free": status.f_bavail * block // 1_024, "all": status.f_blocks * block // 1_024}


def used(path):
    status = os.statvfs(path)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def main():
    if "--inside" not in sys.argv:
        again = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv, "--inside"]
        probe = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode != 0:
            print("skipped: without the right to mount there is no small disk to fill")
            return
        os.execvp(again[0], again)
    words = [word for word in sys.argv[1:] if word != "--inside"]
    cycles = int(words[0]) if words else 20
    seed = int(words[1]) if len(words) > 1 else secrets.randbelow(1 << 32)
    print(f"full {cycles} {seed}", flush=True)
    with stage("full") as folder:
        try:
            with Circle(folder, ("alice", "bob"), OnSmallDisk) as circle:
                Full(folder, circle, cycles, seed).run()
        finally:
            subprocess.run(["umount", "--lazy", str(folder / "alice")], check=False)


main()
