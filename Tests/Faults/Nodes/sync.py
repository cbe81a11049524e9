"""The disk of a node fails to sync: fsync returns an error. The node must stop.

    run sync [CYCLES [SEED]]

It reports the error to waiting clients and in its log, and ends; no acknowledged write is lost; the next start
verifies the store before it serves, and rejects a damaged one.
"""

import os
import pathlib
import random
import secrets
import shutil
import subprocess
import sys
import time

from node import Refusal
from people import Journal, Line
from stage import RETRIES, Circle, Failure, NotReady, check, percentile, stage


def compiler():
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    return None


class Sync:
    def __init__(self, folder, circle, cycles, seed, library):
        self.circle, self.cycles, self.library = circle, cycles, library
        self.rng = random.Random(seed)
        self.alice, self.bob = circle.nodes
        self.journal = Journal(folder / "alice.journal")
        self.trips, self.unknown, self.stopped = set(), set(), []

    def run(self):
        begun = time.monotonic()
        for number in range(1, self.cycles + 1):
            self.once(number)
        add = ["trip", "add", "name=after"]
        self.without_node(add, "store.db-wal", after=1, leaves=("verify-first", "store.db-wal"))
        # SQLite ignores that error, and a power loss would lose the name of the log, and the log with it.
        self.without_node(add, "=" + str(self.alice.home), after=0)
        backup = self.alice.home.parent / "alice.backup"
        self.alice.run("backup", str(backup))
        self.without_node(["restore", "--yes", str(backup)], "store.db-wal", after=1)
        self.damaged()
        print(
            f"failed syncs {self.cycles}, acknowledged {len(self.trips)}, lost 0, ended after p50 "
            f"{percentile(self.stopped, 0.5) * 1_000:.0f} ms, p99 {percentile(self.stopped, 0.99) * 1_000:.0f} ms, "
            f"{time.monotonic() - begun:.0f} s")

    def once(self, number):
        alice = self.alice
        alice.end()
        alice.extra = {"LD_PRELOAD": str(self.library), "FAIL_FILE": self.rng.choice(("store.db", "store.db-wal")),
                       "FAIL_AFTER": str(self.rng.randrange(1, 12))}
        if self.rng.random() < 0.5:
            # One failure is enough; the next sync would succeed.
            alice.extra["FAIL_TIMES"] = "1"
        try:
            alice.start()
        except NotReady as ended:
            # The start has to write as well; then the node does not serve at all.
            self.expect_sentence(ended.code, ended.said)
        else:
            refusal = self.write_until_refused(number)
            begun = time.monotonic()
            code = alice.process.wait(20)
            self.stopped.append(time.monotonic() - begun)
            self.expect_sentence(code, alice.last_words())
            if refusal is not None:
                check(refusal.code == "store_broken" and refusal.exit == 1, f"alice was told {refusal.code}: {refusal}")
                check("disk" in refusal.message, f"alice was told {refusal}")
        alice.process = alice.line = None
        alice.extra = {}
        check((alice.home / "verify-first").exists(),
              f"no marker requests verification of the store: {os.listdir(alice.home)}")
        alice.start()
        check(not (alice.home / "verify-first").exists(), "the store was not verified")
        found = {trip["id"].upper() for trip in alice.ask("trip.list")["trips"]}
        lost = self.trips - found
        check(not lost, f"alice has lost {len(lost)} acknowledged trips: {sorted(lost)[:3]}")
        self.circle.settle(30)

    def without_node(self, command, file, after, leaves=("verify-first",)):
        """The same holds for a command without a node: it reports the error and leaves the store unchanged."""
        alice = self.alice
        alice.end()
        alice.run("trip", "add", "name=before")
        words = [alice.binary, "--home", str(alice.home), *command]
        failing = {"LD_PRELOAD": str(self.library), "FAIL_FILE": file, "FAIL_AFTER": str(after), "FAIL_TIMES": "1"}
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=alice.environment | failing)
        self.expect_sentence(done.returncode, done.stderr)
        check(not done.stdout, f"it was acknowledged: {done.stdout}")
        # Either no marker requests verification, or the store was closed with a checkpoint after a failed sync.
        for name in leaves:
            check((alice.home / name).exists(), f"there is no {name} after {command}")
        names = {trip["name"] for trip in alice.run("trip", "list")["trips"]}
        check("before" in names and not (alice.home / "verify-first").exists(), f"found {names}")
        alice.start()

    def expect_sentence(self, code, said):
        check(code == 1, f"alice ended with {code}: {said[-400:]}")
        check("waymark:" in said and "Next:" in said and "disk" in said,
              f"alice ended without a message: {said[-600:]}")

    def write_until_refused(self, number):
        """No write is acknowledged after a failed sync."""
        line = Line(self.alice)
        try:
            for step in range(40):
                trip = line.ask("trip.add", fields=[["name", f"sync {number} {step}"]])["id"].upper()
                self.trips.add(trip)
                self.journal.note("add", trip)
            # The node did not reach the checkpoint.
            line.ask("sync.now")
        except Refusal as refusal:
            return refusal
        except RETRIES:
            return None
        finally:
            line.close()
        self.alice.process.terminate()
        raise Failure(f"forty writes were acknowledged with failing syncs: {self.alice.extra}")

    def damaged(self):
        """A store that the disk has damaged is not served and the error names the next step; after a repair it is
        served."""
        alice = self.alice
        alice.end()
        (alice.home / "verify-first").touch()
        store = bytearray(alice.store.read_bytes())
        place = store.rindex(b"sync 1 0")
        store[place] ^= 1
        alice.store.write_bytes(store)
        try:
            alice.start()
        except NotReady as ended:
            check(ended.code == 1 and "damaged" in ended.said and "Next:" in ended.said, f"alice said {ended.said}")
            check((alice.home / "verify-first").exists(), "a damaged store is no longer marked for verification")
        else:
            raise Failure("a damaged store was served")


def main():
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    name = compiler()
    if name is None or not sys.platform.startswith("linux"):
        print("skipped: there is no C compiler for the library that makes syncs fail")
        return
    print(f"sync {cycles} {seed}", flush=True)
    with stage("sync") as folder:
        library = folder / "failing_sync.so"
        source = pathlib.Path(__file__).resolve().parent / "failing_sync.c"
        subprocess.run([name, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
        with Circle(folder, ("alice", "bob")) as circle:
            Sync(folder, circle, cycles, seed, library).run()


main()
