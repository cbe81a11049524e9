"""A writer at a node's control socket, and the journal of what the node acknowledged.

The journal is kept outside the node: every entry was answered with a result, so the write must last. A write whose
answer did not arrive may exist or not.
"""

import json
import socket
import threading
import time
import uuid

from node import HungUp, Refusal
from stage import RETRIES, visible

SECONDS = 60
# A value that was never written.
NOTHING = ""


class Line:
    """A separate connection to a node's control socket."""

    def __init__(self, node):
        self.node = node
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(node.home / "control.sock"))
        self.input = self.socket.makefile("rb")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"command": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self.input.readline()
            if not answer.endswith(b"\n"):
                raise HungUp(f"{self.node.name} hung up")
            answer = json.loads(answer)
            if answer["type"] == "result":
                return answer["document"]
            if answer["type"] == "error":
                raise Refusal(answer)

    def close(self):
        self.input.close()
        self.socket.close()


class Trip:
    """The known values of a record: the last acknowledged one, and all that were tried since."""

    def __init__(self):
        self.value = NOTHING
        self.tried = []
        self.is_deleted = False
        self.may_be_deleted = False

    @property
    def allowed(self):
        return {self.value, *self.tried}


class Journal:
    """The writes acknowledged to one person. No other person writes to these records."""

    def __init__(self, path):
        self.file = open(path, "a")
        self.lock = threading.Lock()
        self.trips = {}
        self.imports = []
        self.acknowledged = 0

    def note(self, *words):
        self.acknowledged += 1
        print(json.dumps(words), file=self.file, flush=True)

    def lost(self, node):
        """Describes what is wrong or missing in a store."""
        with self.lock:
            found = visible(node, "trips", "name", "notes")
            names = {row[0] for row in found.values()}
            lost = [f"import “{name}” is not whole" for prefix, count in self.imports for name in
                    (f"{prefix} {number}" for number in range(count)) if name not in names]
            for id, trip in self.trips.items():
                if trip.is_deleted:
                    if id in found:
                        lost.append(f"the deleted trip {id} is back")
                elif id not in found:
                    if not trip.may_be_deleted:
                        lost.append(f"the trip {id} is gone")
                elif (found[id][1] or NOTHING) not in trip.allowed:
                    lost.append(f"the trip {id} says {found[id][1]!r}, acknowledged was {trip.allowed}")
            return lost


class Writer(threading.Thread):
    """Writes at one node while it runs, and waits while it does not."""

    def __init__(self, node, journal, rng, pause=0.02):
        super().__init__(daemon=True, name=f"writer at {node.name}")
        self.node, self.journal, self.rng, self.pause = node, journal, rng, pause
        # While cleared no writes start; `is_idle` says that none is under way.
        self.may_write, self.is_idle = threading.Event(), threading.Event()
        self.is_over = False
        self.refused = {}
        self.trouble = None
        self.line = None
        self.number = 0
        # Errors that this run provokes.
        self.expected = set()

    def run(self):
        try:
            while not self.is_over:
                if not self.may_write.is_set():
                    self.is_idle.set()
                    self.may_write.wait(0.05)
                    continue
                self.is_idle.clear()
                self.write()
                time.sleep(self.pause)
        except Exception as error:  # noqa: BLE001: told by the main thread
            self.trouble = error
        self.is_idle.set()

    def rest(self, seconds=SECONDS):
        """Returns when nothing is under way at the node."""
        self.may_write.clear()
        if not self.is_idle.wait(seconds):
            raise TimeoutError(f"the {self.name} has waited for an answer for {seconds} seconds")

    def write(self):
        try:
            if self.line is None:
                self.line = Line(self.node)
            self.act()
        except RETRIES:
            self.hang_up()
            time.sleep(0.01)
        except Refusal as refusal:
            if refusal.code not in self.expected:
                raise
            self.refused[refusal.code] = self.refused.get(refusal.code, 0) + 1

    def hang_up(self):
        if self.line is not None:
            self.line.close()
        self.line = None

    def act(self):
        mine = [id for id, trip in self.journal.trips.items() if not trip.is_deleted and not trip.may_be_deleted]
        choice = self.rng.random()
        self.number += 1
        if choice < 0.45 or not mine:
            self.add()
        elif choice < 0.92:
            self.edit(self.rng.choice(mine[-40:]))
        else:
            self.delete(self.rng.choice(mine[-40:]))

    def add(self):
        text = f"{self.node.name} {self.number} {uuid.uuid4().hex[:8]}"
        id = self.line.ask("trip.add", fields=[["name", text]])["id"].upper()
        with self.journal.lock:
            self.journal.trips[id] = Trip()
            self.journal.note("add", id, text)

    def edit(self, id):
        trip, value = self.journal.trips[id], f"n{self.number}"
        with self.journal.lock:
            trip.tried.append(value)
        try:
            self.line.ask("trip.edit", id=id, fields=[["notes", value]])
        except Refusal:
            # An error is an answer, too: nothing was written.
            with self.journal.lock:
                trip.tried.remove(value)
            raise
        with self.journal.lock:
            trip.value, trip.tried = value, []
            self.journal.note("edit", id, value)

    def delete(self, id):
        trip = self.journal.trips[id]
        with self.journal.lock:
            trip.may_be_deleted = True
        try:
            self.line.ask("trip.delete", id=id)
        except Refusal:
            with self.journal.lock:
                trip.may_be_deleted = False
            raise
        with self.journal.lock:
            trip.is_deleted = True
            self.journal.note("delete", id)
