"""Files of a home are damaged before a start: store, write-ahead log, keys, configuration and others.

    run damage [CASES [SEED]]

Each start works, repairs, or exits with a code and a message that contains the next step; it never ends by a
signal, never overwrites a damaged key, and never serves anything that was not written: what an altered row of a
derived table shows is found by `verify --deep`, and repaired unless the log is altered as well.

In addition, one bit of one stored change set is flipped before a revocation on another device and a restart, before the
tables of the store are rebuilt as by an upgrade, and before a backup and its restore. Each time only the
writes of the altered set are missing, and a peer that holds the set restores them.
"""

import collections
import json
import os
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from node import BINARY
from stage import Circle, Device, NotReady, check, eventually, stage

# In percent.
FILES = {
    "store.db": 35, "store.db-wal": 25, "store.db-shm": 4, "keys/device.key": 14, "keys/root.key": 4, "config.json": 6,
    "incarnation": 4, "settings.json": 3, "ballast": 2, "store.db.lock": 3}
HARMS = ("flip", "flips", "cut", "empty", "zero", "noise", "grow", "swap", "gone", "repeat")
CODES = {0, 1, 10, 11, 12}
LEAKS = ("Fatal error", "Swift.", "Optional(", "Stack trace", "Illegal")


class Damage:
    def __init__(self, folder, cases, seed):
        self.folder, self.cases = folder, cases
        self.rng = random.Random(seed)
        self.outcomes = collections.Counter()

    def run(self):
        begun = time.monotonic()
        self.make()
        for number in range(1, self.cases + 1):
            self.once(number)
        for number in range(1, max(1, self.cases // 50) + 1):
            for sequence in (self.revocation, self.upgrade, self.backup):
                sequence(number)
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        print(f"damaged files {self.cases}, signals 0, keys overwritten 0, altered data served 0, "
              f"{time.monotonic() - begun:.0f} s: {told}")

    def make(self):
        """A home with a write-ahead log that is not in the database yet, as a kill leaves it."""
        node = Device(self.folder, "good")
        node.run("init", "--name", "good")
        (node.home / "config.json").write_text(json.dumps({"name": "good", "listen": "127.0.0.1:0"}))
        os.chmod(node.home / "config.json", 0o600)
        node.start()
        self.truth = {}
        for number in range(60):
            name, notes = f"trip {number}", "notes " * self.rng.randrange(1, 60)
            id = node.ask("trip.add", fields=[["name", name], ["notes", notes]])["id"].upper()
            self.truth[id] = (name, notes)
            if number == 30:
                # Everything up to here is moved to the database, the rest stays in the write-ahead log.
                node.end()
                node.start()
        for key in ("units", "theme"):
            node.ask("settings.set", key=key, value="one")
        node.end(signal.SIGKILL)
        self.good = node.home
        self.node = node

    def once(self, number):
        home = self.folder / f"case-{number}"
        shutil.copytree(self.good, home, ignore=shutil.ignore_patterns("*.sock"))
        # A copy is detected by its position on the disk and gets a new incarnation; that does not matter here.
        name = self.rng.choices(list(FILES), list(FILES.values()))[0]
        harm = self.rng.choice(HARMS)
        path = home / name
        if path.exists():
            damage(path, harm, self.rng)
        case = f"case {number}: {name} {harm}"
        keys = {each.name: each.read_bytes() for each in (home / "keys").iterdir()}
        outcome = self.serve(home, case)
        self.outcomes[f"{name} {outcome}"] += 1
        for each, bytes in keys.items():
            path = home / "keys" / each
            check(path.exists() and path.read_bytes() == bytes, f"{case}: the key {each} has changed")
        shutil.rmtree(home)

    def serve(self, home, case):
        node = Device(self.folder, home.name)
        try:
            node.start()
        except NotReady as ended:
            said = node.log.read_text()
            check(ended.code in CODES, f"{case}: ended with {ended.code}: {said[-500:]}")
            check("waymark:" in said, f"{case}: exited without a message: {said[-500:]}")
            check("Next:" in said, f"{case}: names no next step: {said[-500:]}")
            check(not any(leak in said for leak in LEAKS), f"{case}: says {said[-500:]}")
            self.tools(home, case)
            return f"refused {ended.code}"
        try:
            self.compare(node, case)
        finally:
            if node.process is not None and node.process.poll() is None:
                node.process.kill()
                node.process.wait()
        return "served"

    def compare(self, node, case):
        """Only written data is served; missing data is reported, or was not durable."""
        try:
            trips = {trip["id"].upper(): trip for trip in node.ask("trip.list")["trips"]}
            found = {id: (trip["name"], node.ask("trip.show", id=id)["notes"]) for id, trip in trips.items()}
        except Exception as error:  # noqa: BLE001: the command was rejected, or the node has ended
            code = node.process.wait(10) if "hung up" in str(error) else 0
            check(code in CODES, f"{case}: ended with {code}: {node.last_words()}")
            check("store_" in str(error) or "can't be" in str(error) or code == 1, f"{case}: {error}")
            return
        altered = {id: value for id, value in found.items() if self.truth.get(id) != value}
        if altered:
            verdict = node.ask("verify", deep=True, repair=True)
            places = {finding["place"] for finding in verdict["findings"]}
            check(places, f"{case}: serves data that was not written, and verify --deep finds nothing: {altered}")
            if verdict["ok"]:
                trips = node.ask("trip.list")["trips"]
                found = {trip["id"].upper(): (trip["name"], node.ask("trip.show", id=trip["id"])["notes"])
                         for trip in trips}
                altered = {id: value for id, value in found.items() if self.truth.get(id) != value}
                check(not altered, f"{case}: still serves data that was not written after a repair: {altered}")
            else:
                check("log" in places or "file" in places, f"{case}: the repair did not help: {verdict}")
        if len(found) < len(self.truth):
            # Sets lost with a damaged write-ahead log look as if they had never been written; peers still have them.
            check("wal" in case or "shm" in case or node.ask("verify", deep=True)["ok"] is False,
                  f"{case}: {len(self.truth) - len(found)} trips are missing without a report")
        node.end()

    def tools(self, home, case):
        """The commands that a person would type next also give a sensible message."""
        for words in (["verify", "--deep"], ["status"], ["doctor"]):
            done = subprocess.run([BINARY, "--home", str(home), *words], capture_output=True, text=True, timeout=60,
                                  env=self.node.environment, stdin=subprocess.DEVNULL)
            check(done.returncode in CODES | {2, 3},
                  f"{case}: `{words[0]}` ended with {done.returncode}: {done.stderr}")
            check(not any(leak in done.stderr for leak in LEAKS), f"{case}: `{words[0]}` says {done.stderr}")


    # A single flipped bit in a change set.

    def revocation(self, number):
        """A bit is flipped on one of three devices, another device is revoked elsewhere, and the first one
        restarts."""
        case = f"flip and revocation {number}"
        folder = self.folder / f"revocation-{number}"
        folder.mkdir()
        with Circle(folder, ["alice", "bob", "carol"]) as circle:
            alice, bob, carol = circle.nodes
            for node in circle.nodes:
                for each in range(4):
                    node.ask("trip.add", fields=[["name", f"{node.name} {each}"], ["notes", "notes " * 20]])
            circle.settle()
            # Sets that Alice does not hold when she revokes Bob are cut, so Carol has to rebuild her logs.
            alice.end()
            late = bob.ask("trip.add", fields=[["name", "late"]])["id"].upper()
            eventually(f"{case}: carol has it", lambda: late in names(carol), 30, 0.2)
            carol.end()
            bob.end()
            alice.start()
            flip_set(carol.store, self.rng, case)
            alice.run("revoke", "bob", "--yes")
            for _ in range(2):
                carol.start()
                eventually(f"{case}: carol holds what alice holds", lambda: same_trips(alice, carol), 60, 0.2)
                carol.end()
            carol.start()
            verdict = carol.ask("verify", deep=True)
            check(verdict["ok"], f"{case}: carol is not repaired: {verdict}")
        self.outcomes["flip, revocation: repaired"] += 1
        shutil.rmtree(folder)

    def upgrade(self, number):
        """A bit is flipped, then the tables are rebuilt, as by a version with different tables."""
        case = f"flip and upgrade {number}"
        home = self.copy(f"upgrade-{number}")
        flip_set(home / "store.db", self.rng, case)
        sql(home / "store.db", "UPDATE meta SET value = 'other tables' WHERE key = 'derived'")
        self.serve_the_rest(home, case)
        shutil.rmtree(home)
        self.outcomes["flip, upgrade: served"] += 1

    def backup(self, number):
        """A bit is flipped; `backup` reports it, and `restore --partial` restores everything intact."""
        case = f"flip and backup {number}"
        home, file = self.copy(f"backup-{number}"), self.folder / f"{number}.waymark"
        flip_set(home / "store.db", self.rng, case)
        refused = self.command(home, "backup", str(file))
        check(refused.returncode == 7, f"{case}: `backup` ended with {refused.returncode}: {refused.stderr}")
        check(not file.exists(), f"{case}: a backup was written without confirmation")
        made = self.command(home, "backup", "--yes", str(file))
        check(made.returncode == 0, f"{case}: `backup --yes` ended with {made.returncode}: {made.stderr}")
        whole = self.command(home, "restore", "--yes", str(file))
        check(whole.returncode == 1 and "--partial" in whole.stderr,
              f"{case}: `restore` ended with {whole.returncode}: {whole.stderr}")
        partial = self.command(home, "restore", "--partial", "--yes", str(file))
        check(partial.returncode == 0, f"{case}: `restore --partial`: {partial.returncode}: {partial.stderr}")
        self.serve_the_rest(home, case)
        shutil.rmtree(home)
        self.outcomes["flip, backup, restore: served"] += 1

    def copy(self, name):
        home = self.folder / name
        shutil.copytree(self.good, home, ignore=shutil.ignore_patterns("*.sock"))
        # The whole write-ahead log is moved to the database.
        sql(home / "store.db", "PRAGMA wal_checkpoint(TRUNCATE)")
        return home

    def command(self, home, *words):
        return subprocess.run([BINARY, "--home", str(home), *words], capture_output=True, text=True, timeout=60,
                              env=self.node.environment, stdin=subprocess.DEVNULL)

    def serve_the_rest(self, home, case):
        """The node starts and serves all written trips but at most one."""
        node = Device(self.folder, home.name)
        node.start()
        try:
            trips = {trip["id"].upper(): trip["name"] for trip in node.ask("trip.list")["trips"]}
            missing = {id: value for id, value in self.truth.items() if trips.get(id) != value[0]}
            check(len(missing) <= 1, f"{case}: the altered set costs {len(missing)} trips: {missing}")
            check(set(trips) <= set(self.truth), f"{case}: serves data that was not written")
            reasons = [notice["reason"] for notice in node.ask("status")["notices"]]
            # No other set depends on the newest set of a log: after a restore, its loss cannot be noticed.
            check("damaged_set" in reasons or len(missing) <= 1 and "backup" in case,
                  f"{case}: status does not name the altered set: {reasons}")
            node.ask("trip.add", fields=[["name", "written afterwards"]])
        finally:
            node.end()


def names(node):
    return {trip["id"].upper(): trip["name"] for trip in node.ask("trip.list")["trips"]}


def same_trips(one, other):
    lanes = [node.ask("status")["lanes"]["records"]["digest"] for node in (one, other)]
    return names(one) == names(other) and lanes[0] == lanes[1]


def sql(store, statement, *values):
    database = sqlite3.connect(store, isolation_level=None)
    try:
        return database.execute(statement, values).fetchall()
    finally:
        database.close()


def flip_set(store, rng, case):
    """Flips one bit in a stored change set of the records lane."""
    numbers = [row[0] for row in sql(
        store, "SELECT c.number FROM change_sets c JOIN branches b ON b.branch = c.branch "
        "WHERE b.lane = 1 AND length(c.field_values) > 0")]
    check(numbers, f"{case}: there is no change set to flip")
    number, column = rng.choice(numbers), rng.choice(("header", "plan", "field_values"))
    data = bytearray(sql(store, f"SELECT {column} FROM change_sets WHERE number = ?", number)[0][0])
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    sql(store, f"UPDATE change_sets SET {column} = ? WHERE number = ?", bytes(data), number)


def damage(path, harm, rng):
    data = bytearray(path.read_bytes())
    size = len(data)
    place = rng.randrange(max(1, size))
    if harm == "flip" and size:
        data[place] ^= 1 << rng.randrange(8)
    elif harm == "flips" and size:
        for _ in range(rng.randrange(2, 64)):
            data[rng.randrange(size)] ^= 1 << rng.randrange(8)
    elif harm == "cut":
        del data[place:]
    elif harm == "empty":
        data.clear()
    elif harm == "zero":
        length = min(size - place, rng.choice((16, 512, 4_096, 20_000)))
        data[place:place + length] = bytes(length)
    elif harm == "noise":
        length = min(size - place, rng.choice((16, 512, 4_096)))
        data[place:place + length] = rng.randbytes(length)
    elif harm == "grow":
        data += rng.randbytes(rng.choice((1, 24, 4_096)))
    elif harm == "swap" and size >= 8_192:
        first, second = (4_096 * rng.randrange(size // 4_096) for _ in range(2))
        data[first:first + 4_096], data[second:second + 4_096] = data[second:second + 4_096], data[first:first + 4_096]
    elif harm == "repeat":
        data += data[:place]
    path.unlink()
    if harm != "gone":
        path.write_bytes(data)
        os.chmod(path, 0o600)


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    print(f"damage {cases} {seed}", flush=True)
    with stage("damage") as folder:
        Damage(folder, cases, seed).run()


main()
