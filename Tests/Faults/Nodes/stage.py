"""Shared by these scripts: a temporary folder, a circle of real nodes, and waiting with a description."""

import contextlib
import pathlib
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from node import BINARY, HungUp, Node

SECONDS = 60
RETRIES = (HungUp, ConnectionError, FileNotFoundError, BrokenPipeError, OSError)


class Failure(Exception):
    """A requirement that was not met."""


def check(holds, what):
    if not holds:
        raise Failure(what)


def eventually(what, holds, seconds=30.0, pause=0.05):
    """Checks repeatedly until the condition holds and returns its value; fails with the description."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"timed out after {seconds:g} seconds waiting until {what() if callable(what) else what}")
        time.sleep(pause)


def clock_can_be_set():
    """Whether the program's clock can be set, as in debug builds and that of `make test`: only then does it contain the
    name of the variable."""
    return b"WAYMARK_CLOCK_AHEAD" in pathlib.Path(BINARY).read_bytes()


@contextlib.contextmanager
def stage(name):
    """A folder in /tmp, kept if the run failed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"wm-{name}-", dir="/tmp"))
    try:
        yield folder
    except BaseException as error:
        print(f"failed; files are kept in {folder}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class Device(Node):
    """A node with additional environment variables, started through `wrapper` if given."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.extra, self.wrapper = {}, []

    @property
    def environment(self):
        return super().environment | self.extra

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, self.binary, "--home", self.home, "run", "--listen", self.address, "--no-discovery"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        check(select.select([self.process.stdout], [], [], SECONDS)[0], f"{self.name} is not ready in time")
        ready = self.process.stdout.readline().split()
        if ready[:1] != ["ready"]:
            code = self.process.wait(SECONDS)
            self.process.stdout.close()
            self.process = None
            raise NotReady(self.name, code, self.last_words())
        self.address = ready[1]


class NotReady(Failure):
    """A node that ended instead of serving."""

    def __init__(self, name, code, said):
        self.code, self.said = code, said
        super().__init__(f"{name} ended with {code}: {said}")


class Circle:
    """Nodes of one circle with premium, all running and syncing. `kind` creates each of them."""

    # Premium long enough that no clock jump ends it.
    validity = ("2000-01-01T00:00:00Z", "2099-01-01T00:00:00Z")

    def __init__(self, folder, names, kind=Device):
        self.folder = folder
        self.nodes = [kind(folder, name) for name in names]
        try:
            self.found()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def found(self):
        founder, *others = self.nodes
        issuer = str(self.folder / "issuer")
        founder.run("issuer", "init", issuer)
        self.id = founder.run("init", "--name", founder.name, "--issuer", f"{issuer}.pub")["circle"]
        since, until = self.validity
        certificate = str(self.folder / "certificate")
        founder.run("issuer", "issue", "--key", issuer, "--circle", self.id, "--from", since, "--until", until,
                    "--output", certificate)
        founder.run("entitlement", "install", certificate)
        founder.start()
        founder.ask("sync.on")
        errors = []
        threads = [threading.Thread(target=self.join, args=(node, errors)) for node in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not errors, f"a device could not join: {errors}")
        self.settle()

    def join(self, node, errors):
        try:
            ticket = self.nodes[0].run("invite", "--role", "admin", json_wanted=False)
            node.run("join", "-", "--name", node.name, "--yes", input=ticket)
            node.start()
            node.ask("sync.on")
        except Exception as error:  # noqa: BLE001: reported by the main thread
            errors.append((node.name, error))

    def states(self):
        return [node.ask("status") for node in self.nodes]

    def settle(self, seconds=60, nudges=True):
        """Waits until all nodes are in sync and hold the same; returns the seconds it took."""
        begun = time.monotonic()
        last = []

        def is_settled():
            if nudges:
                for node in self.nodes:
                    node.ask("sync.now")
            last[:] = self.states()
            return agree(last)

        eventually(lambda: "the nodes agree:\n" + "\n".join(map(told, last)), is_settled, seconds, 0.1)
        return time.monotonic() - begun

    def end(self):
        for node in self.nodes:
            if node.process is not None:
                node.process.kill()
                node.process.wait()


def agree(states):
    names = {state["name"] for state in states}
    peers = [{p["name"]: p["state"] for p in state["peers"] if p["name"] in names} for state in states]
    same = len({tuple(lane["digest"] for lane in state["lanes"].values()) for state in states}) == 1
    everybody = all(len(each) == len(names) - 1 for each in peers)
    quiet = all(state == "in_sync" for each in peers for state in each.values())
    return everybody and same and quiet and not any(
        lane["parked"] for state in states for lane in state["lanes"].values())


def told(state):
    lanes = {name: (lane["digest"][:8], lane["changeSets"], lane["parked"]) for name, lane in state["lanes"].items()}
    peers = [(p["name"], p["state"], p["reason"]) for p in state["peers"]]
    notices = [notice["reason"] for notice in state["notices"]]
    return f"  {state['name']}: {lanes} {peers} {notices}"


def visible(node, view, *columns):
    """Rows of a view by id, as an SQLite tool shows them."""
    with contextlib.closing(sqlite3.connect(f"file:{node.store}?mode=ro", uri=True, timeout=30)) as database:
        names = ", ".join(("id", *columns))
        return {row[0].upper(): row[1:] for row in database.execute(f"SELECT {names} FROM {view}")}


def sound(nodes, journals):
    """Nothing is damaged, and every acknowledged write is on all nodes."""
    for node in nodes:
        verdict = node.ask("verify", deep=True)
        check(verdict["ok"], f"{node.name} is damaged: {verdict}")
        for name, journal in journals.items():
            lost = journal.lost(node)
            check(not lost, f"{node.name} lacks {len(lost)} writes of {name}: {lost[:5]}")


def exports(node):
    """The export of a node, without the time at which it was made."""
    texts = [node.run("export", "--format", name, json_wanted=False) for name in ("ritualist", "traveling-snails")]
    return [[line for line in text.splitlines() if '"exportedAt"' not in line and '"timestamp"' not in line]
            for text in texts]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
