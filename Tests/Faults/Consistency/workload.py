"""Clients that read and write at real nodes, and the recorder of what they were told.

The keys of the history are fields of records. Registers are trips and habits whose fields are overwritten again and
again; an import overwrites a field of all members of a group, trips and a habit, in one change set; single records are
added and deleted; and an import adds a batch of trips, which `undo` removes again.
"""

import itertools
import json
import random
import select
import threading
import time
import uuid

from history import FAILED, MOVE, OK, READ, UNKNOWN, WRITE, Operation
from node import HungUp, Refusal
from people import Line
from stage import check

# Seconds after which a client gives up waiting; the request may still take effect.
PATIENCE = 2
REGISTERS, HABITS, GROUPS, MEMBERS, BATCH = 6, 4, 3, 10, 6
# At most this many records of one client exist at a time.
RECORDS = 4
# Errors that the faults provoke.
EXPECTED = {"disk_full"}


class Recorder:
    """Collects operations from all clients; times are seconds since it was made."""

    def __init__(self):
        self.begun = time.monotonic()
        self.operations, self.events = [], []
        self.lock, self.ids = threading.Lock(), itertools.count(1)
        self.not_sent = 0

    def now(self):
        return round(time.monotonic() - self.begun, 6)

    def open(self, session, node, kind, command, **more):
        with self.lock:
            number = next(self.ids)
        return Operation(number, session, node, self.now(), None, kind, UNKNOWN, command, **more)

    def close(self, operation, outcome):
        operation.outcome = outcome
        operation.end = None if outcome == UNKNOWN else self.now()
        with self.lock:
            self.operations.append(operation)


class NotSent(Exception):
    """The node could not be reached, so it has not seen the request."""


class Connection:
    """A client's connection to one node, opened when it is needed."""

    def __init__(self, node):
        self.node, self.line = node, None

    def ask(self, command, patience=PATIENCE, **arguments):
        # A node closes a connection when it ends.
        if self.line is not None and select.select([self.line.socket], [], [], 0)[0]:
            self.close()
        if self.line is None:
            try:
                self.line = Line(self.node)
            except OSError as error:
                raise NotSent(str(error)) from None
        self.line.socket.settimeout(patience)
        try:
            return self.line.ask(command, **arguments)
        except (HungUp, OSError):
            self.close()
            raise

    def close(self):
        if self.line is not None:
            self.line.close()
        self.line = None


class Records:
    """The records that all clients share, with the names by which the history knows them."""

    def __init__(self, seed, markers, folder, prefix=""):
        rng = random.Random(f"{seed} {prefix} records")
        self.folder, self.prefix = folder, prefix
        self.lock, self.names, self.files = threading.Lock(), {}, itertools.count(1)
        new = lambda name: self.name(str(uuid.UUID(int=rng.getrandbits(128), version=4)).upper(), name)  # noqa: E731
        self.registers = [new(f"{prefix}r{number}") for number in range(REGISTERS)]
        self.habits = [new(f"{prefix}h{number}") for number in range(HABITS)]
        self.markers = {name: new(f"{prefix}m.{name}") for name in markers}
        self.groups = [[new(f"{prefix}g{group}.{member}") for member in range(MEMBERS)] for group in range(GROUPS)]
        # Each group has a habit, too, so its change sets write two kinds of records.
        self.group_habits = [new(f"{prefix}gh{group}") for group in range(GROUPS)]

    def name(self, id, name):
        with self.lock:
            self.names[id] = name
        return id

    def text(self, group):
        """What the names of the members of a group, and no others, contain."""
        return f"Group {self.prefix}{group} "

    def write_file(self, trips=(), habits=()):
        path = self.folder / f"import-{self.prefix}{next(self.files)}.json"
        path.write_text(json.dumps({"schema": "waymark.export/2", "trips": list(trips), "habits": list(habits)}))
        return str(path)

    def initial(self):
        """The import that creates all of these, and what it writes."""
        named = {id: f"Register {number}" for number, id in enumerate(self.registers)}
        named |= {id: f"Marker {self.prefix}{name}" for name, id in self.markers.items()}
        for number, group in enumerate(self.groups):
            named |= {id: f"{self.text(number)}Member {place}" for place, id in enumerate(group)}
        habits = {id: f"Habit {self.prefix}{number}" for number, id in enumerate(self.habits + self.group_habits)}
        path = self.write_file([{"id": id, "name": name} for id, name in named.items()],
                               [{"id": id, "name": name} for id, name in habits.items()])
        writes = {f"trip/{self.names[id]}/name": name for id, name in named.items()}
        return path, writes | {f"habit/{self.names[id]}/name": name for id, name in habits.items()}

    def trips_shown(self, rows):
        """Keys and values of a list of trips."""
        found = {}
        for row in rows:
            name = self.names.get(row["id"].upper())
            if name is None:
                # The node chooses the id of a record that a client adds.
                if row["name"].startswith(f"Record {self.prefix}"):
                    found["record/" + row["name"]] = row["name"]
                elif not self.prefix:
                    found[f"trip/{row['id']}/name"] = row["name"]
                continue
            if not name.startswith(self.prefix):
                continue
            found[f"trip/{name}/name"] = row["name"]
            if row["notes"] is not None:
                found[f"trip/{name}/notes"] = row["notes"]
        return found

    def habits_shown(self, rows):
        found = {}
        for row in rows:
            name = self.names.get(row["id"].upper(), row["id"])
            if name.startswith(self.prefix):
                found |= {f"habit/{name}/{field}": row[field] for field in ("name", "unitLabel", "notes")
                          if row[field] is not None}
        return found


class Client(threading.Thread):
    """One session after the other at one node, or moving between nodes."""

    def __init__(self, name, node, nodes, records, recorder, rng, is_roaming=False, connect=Connection, pause=0.1):
        super().__init__(daemon=True, name=name)
        self.node, self.nodes, self.records, self.recorder, self.rng = node, nodes, records, recorder, rng
        self.is_roaming, self.connect, self.pause = is_roaming, connect, pause
        self.session, self.sessions = name, 1
        self.connection = connect(node)
        self.number, self.failures = 0, 0
        # Confirmed records by id, and batches, of this client. It alone deletes them.
        self.own, self.batches = {}, {}
        self.is_over, self.trouble = threading.Event(), None
        acts = {self.edit_trip: 15, self.edit_habit: 10, self.overwrite: 6, self.add: 6, self.delete: 4, self.add_batch: 2,
                self.undo_batch: 2, self.show: 28, self.list_trips: 7, self.list_habits: 8, self.list_group: 12}
        if is_roaming:
            acts[self.move] = 12
        self.acts, self.weights = list(acts), list(acts.values())

    def run(self):
        try:
            while not self.is_over.wait(self.rng.uniform(0.5, 1.5) * self.pause):
                self.rng.choices(self.acts, self.weights)[0]()
                if self.is_roaming and self.failures > 10:
                    self.leave()
        except Exception as error:  # noqa: BLE001: told by the main thread
            self.trouble = error
        self.connection.close()

    def unique(self):
        self.number += 1
        return f"{self.name}:{self.number}"

    def perform(self, kind, command, take=None, sent=None, **more):
        """Sends a request and records it; returns the document, or None without one. `take` fills in what was read."""
        operation = self.recorder.open(self.session, self.node.name, kind, command, **more)
        try:
            document = self.connection.ask(command, **(sent or {}))
        except NotSent:
            self.recorder.not_sent += 1
            self.failures += 1
            return None
        except Refusal as refusal:
            operation.error = refusal.code
            self.recorder.close(operation, FAILED)
            check(refusal.code in EXPECTED or kind == MOVE, f"{self.session} was refused: {command} {sent}: {refusal}")
            return None
        except (HungUp, OSError):
            self.recorder.close(operation, UNKNOWN)
            self.failures += 1
            return None
        self.failures = 0
        if take is not None:
            operation.values = take(document)
        self.recorder.close(operation, OK)
        return document

    # MARK: Writes

    def edit(self, kind, id, fields):
        values = {field: self.unique() for field in fields}
        writes = {f"{kind}/{self.records.names[id]}/{field}": value for field, value in values.items()}
        self.perform(WRITE, f"{kind}.edit", writes=writes,
                     sent={"id": id, "fields": [[field, value] for field, value in values.items()]})

    def some(self, *fields):
        return self.rng.sample(fields, self.rng.choice((1, 1, 2)))

    def edit_trip(self):
        self.edit("trip", self.rng.choice(self.records.registers), self.some("name", "notes"))

    def edit_habit(self):
        self.edit("habit", self.rng.choice(self.records.habits), self.some("unitLabel", "notes"))

    def overwrite(self):
        """A bulk edit: an import with a new value for each member of a group."""
        number, value = self.rng.randrange(GROUPS), self.unique()
        members, habit = self.records.groups[number], self.records.group_habits[number]
        path = self.records.write_file([{"id": id, "notes": value} for id in members], [{"id": habit, "notes": value}])
        writes = {f"trip/{self.records.names[id]}/notes": value for id in members}
        writes[f"habit/{self.records.names[habit]}/notes"] = value
        self.perform(WRITE, "import", sent={"files": [path]}, writes=writes)

    def add(self):
        if len(self.own) >= RECORDS:
            self.delete()
            return
        name = f"Record {self.unique()}"
        document = self.perform(WRITE, "trip.add", sent={"fields": [["name", name]]}, writes={f"record/{name}": name})
        if document is not None:
            self.own[name] = document["id"].upper()

    def delete(self):
        # A session that has left its node without waiting may not see its records there.
        if self.own and not (self.is_roaming and self.sessions > 1):
            name, id = self.own.popitem()
            self.perform(WRITE, "trip.delete", sent={"id": id}, writes={f"record/{name}": None})

    def add_batch(self):
        if len(self.batches) >= 2 or self.is_roaming:
            return
        name = self.unique()
        ids = {str(uuid.UUID(int=self.rng.getrandbits(128), version=4)).upper(): f"Batch {name} {number}"
               for number in range(BATCH)}
        for number, id in enumerate(ids):
            self.records.name(id, f"{self.records.prefix}b.{name}.{number}")
        path = self.records.write_file([{"id": id, "name": text} for id, text in ids.items()])
        writes = {f"trip/{self.records.names[id]}/name": text for id, text in ids.items()}
        if self.perform(WRITE, "import", sent={"files": [path]}, writes=writes) is not None:
            self.batches[name] = list(ids)

    def undo_batch(self):
        if not self.batches:
            return
        name, ids = self.batches.popitem()
        try:
            writes = self.connection.ask("history", record=ids[0])["writes"]
        except (NotSent, HungUp, OSError):
            return
        operation = next(write["id"] for write in writes if write["verb"] == "import")
        self.perform(WRITE, "undo", sent={"operation": operation},
                     writes={f"trip/{self.records.names[id]}/name": None for id in ids})

    # MARK: Reads

    def show(self):
        kind, ids = self.rng.choice((("trip", self.records.registers), ("habit", self.records.habits)))
        id = self.rng.choice(ids)
        shown = self.records.trips_shown if kind == "trip" else self.records.habits_shown
        self.perform(READ, f"{kind}.show", take=lambda row: shown([row]), sent={"id": id},
                     scope=(f"{kind}/{self.records.names[id]}/",))

    def list_trips(self, final=False):
        return self.perform(READ, "trip.list", take=lambda answer: self.records.trips_shown(answer["trips"]),
                            scope=(f"trip/{self.records.prefix}", f"record/Record {self.records.prefix}"), final=final)

    def list_habits(self, final=False):
        return self.perform(READ, "habit.list", take=lambda answer: self.records.habits_shown(answer["habits"]),
                            scope=(f"habit/{self.records.prefix}",), final=final)

    def list_group(self):
        number = self.rng.randrange(GROUPS)
        self.perform(READ, "trip.list", take=lambda answer: self.records.trips_shown(answer["trips"]),
                     sent={"text": self.records.text(number).strip()}, scope=(f"trip/{self.records.prefix}g{number}.",))

    # MARK: Moves

    def move(self):
        """Waits until two nodes are in sync, by asking either, and goes to the other one."""
        target = self.rng.choice([node for node in self.nodes if node is not self.node])
        operation = self.recorder.open(self.session, self.node.name, MOVE, "wait", to=target.name)
        there = self.connect(target)
        asked, peer = self.rng.choice(((self.connection, target), (there, self.node)))
        try:
            asked.ask("wait", peer=peer.name, timeoutMilliseconds=2_000, patience=3 * PATIENCE)
        except (NotSent, HungUp, OSError, Refusal) as error:
            operation.error = getattr(error, "code", None)
            self.recorder.close(operation, FAILED)
            there.close()
            return
        self.recorder.close(operation, OK)
        self.connection.close()
        self.node, self.connection = target, there

    def leave(self):
        """Goes to another node without waiting: a new session, to which nothing is promised."""
        self.sessions += 1
        self.failures = 0
        self.session = f"{self.name}.{self.sessions}"
        self.connection.close()
        self.node = self.rng.choice([node for node in self.nodes if node is not self.node])
        self.connection = self.connect(self.node)
