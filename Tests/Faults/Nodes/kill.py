"""Three nodes of one circle are killed repeatedly while people write; no acknowledged write may be lost.

    run kill [KILLS [SEED]]

The seed decides which node is killed, when, and during which operation. How far the node has come by then varies,
so a failing seed may have to run several times to fail again.
"""

import collections
import json
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
import uuid

from node import BINARY, Node
from people import Journal, Line, Writer
from stage import RETRIES, Circle, check, exports, percentile, sound, stage, visible

NAMES = ("alice", "bob", "carol")
CHORES = {
    "write": 50, "import_": 8, "undo": 8, "backup": 6, "stop": 8, "catch_up": 8, "restore": 4, "revoke": 4,
    "restamp": 4, "invite": 4}
IMPORTED = 100
# These begin a new incarnation; a device has at most sixteen: Limits.incarnationsMax.
BEGINNING, BEGINNINGS = ("restore", "restamp"), 12
DEEP_EACH = 50


class Kill:
    def __init__(self, folder, kills, seed):
        self.folder, self.kills = folder, kills
        self.rng = random.Random(seed)
        self.circle = Circle(folder, NAMES)
        self.nodes = self.circle.nodes
        self.journals = {node.name: Journal(folder / f"{node.name}.journal") for node in self.nodes}
        self.writers = {
            node.name: Writer(node, self.journals[node.name], random.Random(f"{seed} {node.name}"))
            for node in self.nodes}
        self.back, self.chores, self.outcomes = [], collections.Counter(), collections.Counter()
        self.begun = collections.Counter()
        self.number = 0
        self.guests = []

    def run(self):
        begun = time.monotonic()
        for writer in self.writers.values():
            writer.start()
            writer.may_write.set()
        for self.number in range(1, self.kills + 1):
            self.once()
        for writer in self.writers.values():
            writer.rest()
            writer.is_over = True
        settled = self.finish()
        seconds = time.monotonic() - begun
        acknowledged = sum(journal.acknowledged for journal in self.journals.values())
        print(f"killed during: {dict(self.chores)}; completed before the kill: {dict(self.outcomes)}")
        print(
            f"kills {self.kills}, acknowledged {acknowledged}, lost 0, {seconds:.0f} s, back after p50 "
            f"{percentile(self.back, 0.5) * 1_000:.0f} ms, p99 {percentile(self.back, 0.99) * 1_000:.0f} ms, "
            f"in sync {settled:.1f} s after the last")

    # MARK: One kill

    def once(self):
        victim = self.rng.choice(self.nodes)
        chore = self.rng.choices(list(CHORES), list(CHORES.values()))[0]
        if chore in BEGINNING:
            self.begun[victim.name] += 1
            chore = chore if self.begun[victim.name] <= BEGINNINGS else "write"
        self.chores[chore.strip("_")] += 1
        getattr(self, chore)(victim)
        if victim.is_running:
            victim.end(signal.SIGKILL)
        self.restart(victim)

    def restart(self, victim):
        begun = time.monotonic()
        victim.start()
        victim.ask("status")
        self.back.append(time.monotonic() - begun)
        self.inspect(victim)

    def inspect(self, victim):
        """No write that this node acknowledged is lost; all nodes run, and all writers have succeeded."""
        lost = self.journals[victim.name].lost(victim)
        check(not lost, f"after kill {self.number} {victim.name} has lost {len(lost)} writes: {lost[:5]}")
        for node in self.nodes:
            check(node.process.poll() is None, f"the node of {node.name} is gone: {node.last_words()}")
        for writer in self.writers.values():
            check(writer.trouble is None, f"the {writer.name} was told: {writer.trouble!r}")
        if self.number % DEEP_EACH == 0:
            verdict = victim.ask("verify", deep=True)
            check(verdict["ok"], f"after kill {self.number} {victim.name} is damaged: {verdict}")

    def moment(self, least=0.05, most=0.25):
        time.sleep(self.rng.uniform(least, most))

    def during(self, name, body, most=0.04):
        """Starts `body` and returns a moment later, whether it has finished or not; `most` is about how long it
        takes."""
        trouble = []

        def work():
            try:
                body()
                self.outcomes[name] += 1
            except RETRIES:
                pass
            except Exception as error:  # noqa: BLE001: reported by the main thread
                trouble.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.moment(0, most)
        check(not trouble, f"{name} was refused: {trouble}")
        return thread

    # MARK: Operations during which the kill happens

    def write(self, victim):
        self.moment()

    def import_(self, victim):
        """An import is stored whole or not at all; whole once it was acknowledged."""
        prefix = f"import {self.number} {uuid.uuid4().hex[:6]}"
        path = self.folder / f"import-{self.number}.json"
        path.write_text(traveling_snails(prefix, IMPORTED))
        acknowledged = []

        def body():
            Line(victim).ask("import", files=[str(path)])
            acknowledged.append(True)

        thread = self.during("import", body, 0.1)
        victim.end(signal.SIGKILL)
        thread.join()
        self.restart(victim)
        count = sum(row[0].startswith(prefix) for row in visible(victim, "trips", "name").values())
        check(count in (0, IMPORTED), f"an import that was killed left {count} of {IMPORTED} trips on {victim.name}")
        check(count or not acknowledged, f"an acknowledged import of {victim.name} is lost")
        if count:
            with self.journals[victim.name].lock:
                self.journals[victim.name].imports.append((prefix, IMPORTED))
                self.journals[victim.name].note("import", prefix)

    def undo(self, victim):
        """A trip is added and undone: an acknowledged undo lasts."""
        line = Line(victim)
        id = line.ask("trip.add", fields=[["name", f"a mistake {self.number}"]])["id"].upper()
        operation = next(
            each["id"] for each in line.ask("history", limit="20")["operations"]
            if f"a mistake {self.number}" in json.dumps(each))
        acknowledged = []

        def body():
            line.ask("undo", operation=operation, yes=True)
            acknowledged.append(True)

        thread = self.during("undo", body, 0.006)
        victim.end(signal.SIGKILL)
        thread.join()
        self.restart(victim)
        is_there = id in visible(victim, "trips")
        check(not (acknowledged and is_there), f"an acknowledged undo of {victim.name} is lost")

    def backup(self, victim):
        path = self.folder / f"backup-{self.number}"
        self.during("backup", lambda: Line(victim).ask("backup", file=str(path)))

    def stop(self, victim):
        """A clean stop makes a checkpoint; the kill interrupts it."""
        victim.process.send_signal(signal.SIGTERM)
        time.sleep(self.rng.uniform(0, 0.03))

    def catch_up(self, victim):
        """The node was stopped, and is killed while it catches up."""
        victim.end(signal.SIGKILL)
        other = next(node for node in self.nodes if node is not victim)
        path = self.folder / f"missed-{self.number}.json"
        path.write_text(traveling_snails(f"missed {self.number}", 300))
        other.ask("import", files=[str(path)])
        victim.start()
        self.moment()

    def restore(self, victim):
        """An older state is restored from a backup; the restore is killed and repeated until it succeeds."""
        writer = self.writers[victim.name]
        writer.rest()
        path = self.folder / f"restore-{self.number}"
        victim.ask("backup", file=str(path))
        victim.end(signal.SIGKILL)
        words = [BINARY, "--home", str(victim.home), "restore", str(path), "--yes"]
        for _ in range(2):
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=victim.environment)
            self.moment(0, 0.15)
            process.kill()
            self.outcomes["restore"] += process.wait() == 0
            # The next command finishes the replacement, or finds the old state unchanged.
            lost = victim.run("status")
            check(lost["device"], f"no device after a killed restore on {victim.name}")
        victim.run("restore", str(path), "--yes")
        victim.start()
        writer.may_write.set()
        self.moment()

    def revoke(self, victim):
        """A guest that joined is revoked."""
        guest = self.guests.pop() if self.guests else self.let_in(victim)
        if guest is not None:
            self.during("revoke", lambda: Line(victim).ask("revoke", device=[guest], yes=True), 0.01)

    def restamp(self, victim):
        """Writes dated an hour ahead are re-authored. (A build whose clock can't be set has nothing to restamp.)"""
        victim.end(signal.SIGKILL)
        victim.extra = {"WAYMARK_CLOCK_AHEAD": "3600"}
        victim.start()
        self.moment(0.1, 0.3)
        victim.end(signal.SIGKILL)
        victim.extra = {}
        victim.start()
        self.during("restamp", lambda: Line(victim).ask("restamp", yes=True), 0.02)
        victim.end(signal.SIGKILL)
        victim.start()
        victim.ask("restamp", yes=True)

    def let_in(self, node):
        """Joins a device that never connects again; returns its name."""
        name = f"guest{self.number}"
        guest = Node(self.folder, name)
        ticket = node.run("invite", "--role", "member", json_wanted=False)
        guest.run("join", "-", "--name", name, "--yes", input=ticket)
        return name

    def invite(self, victim):
        """The kill interrupts pairing: the guest is in the circle, or is told that it is not."""
        name = f"guest{self.number}"
        guest = Node(self.folder, name)
        ticket = victim.run("invite", "--role", "member", json_wanted=False)
        process = subprocess.Popen(
            [BINARY, "--home", str(guest.home), "join", "-", "--name", name, "--yes"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=guest.environment)
        process.stdin.write(ticket + "\n")
        process.stdin.close()
        self.moment(0, 0.3)
        victim.end(signal.SIGKILL)
        said = process.stderr.read()
        code = process.wait(60)
        check(code in (0, 1), f"`join` ended with {code} when its inviter was killed: {said}")
        self.outcomes["invite"] += code == 0
        if code == 0:
            self.restart(victim)
            members = [member["name"] for member in victim.ask("members.list")["members"]]
            check(name in members, f"{name} was told that it had joined, but {victim.name} does not know it")
            self.guests.append(name)

    # MARK: The end

    def finish(self):
        """All nodes agree, nothing is damaged, and every acknowledged write is on all nodes."""
        settled = self.circle.settle(120)
        sound(self.nodes, self.journals)
        found = [exports(node) for node in self.nodes]
        check(found.count(found[0]) == len(found), "the exports of the nodes differ")
        for node in self.nodes:
            node.end()
        return settled


def traveling_snails(prefix, count):
    trips = [
        {"id": str(uuid.uuid4()).upper(), "name": f"{prefix} {number}", "notes": "",
         "createdDate": "2026-11-21T22:36:49Z", "startDate": "0001-01-01T00:00:00Z",
         "hasStartDate": False, "endDate": "4001-01-01T00:00:00Z",
         "hasEndDate": False, "totalCost": 0, "isProtected": False}
        | {key: [] for key in ("transportation", "embeddedTransportation", "lodging", "embeddedLodging",
                               "activities", "embeddedActivities")}
        for number in range(count)]
    return json.dumps({
        "exportInfo": {"version": "1.0", "timestamp": "2026-11-21T22:36:49Z", "format": "json",
                       "includesAttachments": True},
        "trips": trips, "organizations": [], "addresses": [], "attachments": []})


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    print(f"kill {kills} {seed}", flush=True)
    with stage("kill") as folder:
        run = Kill(folder, kills, seed)
        with run.circle:
            run.run()


main()
