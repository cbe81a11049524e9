"""Files of a home are damaged before a start: store, write-ahead log, keys, configuration and what else lies there.

    run damage [CASES [SEED]]

Each start works, repairs, or ends with a code and a sentence that says what to do next; it never ends by a signal,
never writes over a damaged key, and never serves anything but what was written.
"""

import collections
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time

from node import BINARY
from stage import Device, NotReady, check, stage

# In parts of a hundred.
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
                # What is here goes into the database, the rest stays in the write-ahead log.
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
        # A copy has another place on the disk; the incarnation follows it, which is no matter here.
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
            check(path.exists() and path.read_bytes() == bytes, f"{case}: the key {each} is not as it was")
        shutil.rmtree(home)

    def serve(self, home, case):
        node = Device(self.folder, home.name)
        try:
            node.start()
        except NotReady as ended:
            said = node.log.read_text()
            check(ended.code in CODES, f"{case}: ended with {ended.code}: {said[-500:]}")
            check("waymark:" in said, f"{case}: ended without a sentence: {said[-500:]}")
            check("Next:" in said, f"{case}: says no next step: {said[-500:]}")
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
        """Only what was written is served; what is not served is told of, or was not durable."""
        try:
            trips = {trip["id"].upper(): trip for trip in node.ask("trip.list")["trips"]}
            found = {id: (trip["name"], node.ask("trip.show", id=id)["notes"]) for id, trip in trips.items()}
        except Exception as error:  # noqa: BLE001: a refusal, or the node has ended
            code = node.process.wait(10) if "hung up" in str(error) else 0
            check(code in CODES, f"{case}: ended with {code}: {node.last_words()}")
            check("store_" in str(error) or "can't be" in str(error) or code == 1, f"{case}: {error}")
            return
        altered = {id: value for id, value in found.items() if self.truth.get(id) != value}
        if altered:
            verdict = node.ask("verify", deep=True)
            check(False, f"{case}: serves what nobody wrote: {altered}; verify --deep says {verdict['ok']}")
        if len(found) < len(self.truth):
            # Sets in a damaged write-ahead log look as if they had never been written; the peers have them.
            check("wal" in case or "shm" in case or node.ask("verify", deep=True)["ok"] is False,
                  f"{case}: {len(self.truth) - len(found)} trips are gone without a word")
        node.end()

    def tools(self, home, case):
        """What a person would type next says something sensible too."""
        for words in (["verify", "--deep"], ["status"], ["doctor"]):
            done = subprocess.run([BINARY, "--home", str(home), *words], capture_output=True, text=True, timeout=60,
                                  env=self.node.environment, stdin=subprocess.DEVNULL)
            check(done.returncode in CODES | {2, 3},
                  f"{case}: `{words[0]}` ended with {done.returncode}: {done.stderr}")
            check(not any(leak in done.stderr for leak in LEAKS), f"{case}: `{words[0]}` says {done.stderr}")


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
