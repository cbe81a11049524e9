"""A history: what each client asked for, when, and what it was told. One JSON object per line.

The first line describes the run:

    {"history": 1, "nodes": ["alice", "bob"], "build": "…", "seed": 7, "date": "2026-11-28"}

Every other line is an operation or an event. An operation:

    {"id": 17, "session": "alice-1", "node": "alice", "begin": 3.214, "end": 3.220, "kind": "write",
     "command": "trip.edit", "outcome": "ok", "writes": {"trip/8F…/notes": "alice-1:52"}}

- `begin` and `end` are seconds of one monotonic clock for all operations; `end` is null if no answer arrived.
- `session` is one client that waits for each answer. It stays at one node until a `move` succeeds.
- `outcome` is `ok`; `failed` (the answer was an error, or nothing was sent: the operation has no effect); or `unknown` (no
  answer arrived: the operation may take effect at any later time, or never).
- `kind` is one of
  - `write`: `writes` has the new value of each key. All of them are one change set. A value is a text that no other
    operation writes to that key; null deletes the key.
  - `read`: `values` has the value of each key as of one moment. `scope` lists prefixes of keys that were read completely:
    a key in the scope that `values` lacks had no value. `final` marks the reads after everything was repaired and all
    writes had ended.
  - `move`: the session waited until the node `to` was in sync with `node`, and continues there.

An event is an interval in which something was wrong, or the time from the end of all faults until all nodes had all
earlier writes (`converged` is null if that did not happen within the deadline):

    {"event": "fault", "fault": "kill", "node": "bob", "begin": 5.0, "end": 6.2}
    {"event": "healed", "at": 9.0, "converged": 11.5, "deadline": 60}
"""

import dataclasses
import json
import math

WRITE, READ, MOVE = "write", "read", "move"
OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


class BadHistory(Exception):
    """A history that is not in this format, so it says nothing about the nodes."""


@dataclasses.dataclass(eq=False)
class Operation:
    id: int
    session: str
    node: str
    begin: float
    end: float | None
    kind: str
    outcome: str
    command: str = ""
    writes: dict = dataclasses.field(default_factory=dict)
    values: dict = dataclasses.field(default_factory=dict)
    scope: tuple = ()
    final: bool = False
    to: str | None = None
    # The code of the error if the outcome is `failed`.
    error: str | None = None

    @property
    def last(self):
        """The latest moment at which it can have taken effect."""
        return math.inf if self.end is None or self.outcome == UNKNOWN else self.end

    def document(self):
        plain = dataclasses.asdict(self)
        needed = {"id", "session", "node", "begin", "end", "kind", "outcome"}
        return {key: value for key, value in plain.items() if key in needed or value not in (None, "", {}, (), [], False)}


@dataclasses.dataclass
class History:
    about: dict
    operations: list = dataclasses.field(default_factory=list)
    events: list = dataclasses.field(default_factory=list)

    @property
    def nodes(self):
        return self.about["nodes"]

    def save(self, path):
        with open(path, "w") as file:
            print(json.dumps({"history": 1} | self.about), file=file)
            for operation in self.operations:
                print(json.dumps(operation.document(), separators=(",", ":")), file=file)
            for event in self.events:
                print(json.dumps(event), file=file)

    @staticmethod
    def load(path):
        with open(path) as file:
            about = json.loads(file.readline())
            if about.pop("history", None) != 1:
                raise BadHistory(f"{path} does not begin with a line that has \"history\": 1")
            history = History(about)
            for number, line in enumerate(file, 2):
                document = json.loads(line)
                if "event" in document:
                    history.events.append(document)
                    continue
                try:
                    history.operations.append(Operation(**document))
                except TypeError as error:
                    raise BadHistory(f"{path}:{number}: {error}") from None
        return history
