"""Random histories of a small replicated store in memory, which keeps the promises of checker.py, or breaks one of them.

Each node has a log of change sets with stamps (Lamport clock and node), and delivers them to others in causal order. A
key shows the write with the greatest stamp. A process may be killed: it answers nothing for a while. A fault is one way in
which such a store was broken in practice.
"""

import random

from history import MOVE, OK, READ, UNKNOWN, WRITE, History, Operation

NODES = ("a", "b", "c")
REGISTERS = tuple(f"x/{number}" for number in range(4))

# The planted faults, each with the guarantees of which at least one must be reported as violated.
FAULTS = {
    "stale snapshot": "a read is answered from an older snapshot of the node",
    "dropped write": "a confirmed write is not stored",
    "forgotten after kill": "a killed node has lost its newest confirmed writes",
    "torn change set": "a received change set is applied in two steps",
    "dropped half": "one of the writes of a received change set is lost",
    "no causal order": "change sets are delivered without what they depend on",
    "last received wins": "the winner is the write that arrived last",
    "winner by node": "one node prefers the smaller stamp",
    "resurrected record": "a node ignores deletes of others",
    "never sent": "one node does not send some of its writes",
    "applied after error": "a write that is rejected takes effect",
}


class Replica:
    def __init__(self, name):
        self.name, self.clock = name, 0
        self.sets, self.cells, self.heads = [], {}, dict.fromkeys(NODES, 0)
        self.old = []


class Store:
    def __init__(self, seed, fault=None, steps=220):
        self.rng, self.fault, self.steps = random.Random(f"{seed} {fault}"), fault, steps
        self.replicas = {name: Replica(name) for name in NODES}
        self.history = History({"nodes": list(NODES)})
        self.time, self.number, self.records = 0.0, 0, {}
        self.sessions = {f"{node}{number}": node for node in NODES for number in (1, 2)} | {"roamer": "a"}
        # Change sets without an answer that are applied later.
        self.late = []

    def run(self):
        for _ in range(self.steps):
            self.step()
        for session, node in list(self.late):
            self.apply(node, session)
        self.late = []
        for _ in range(10):
            for one in NODES:
                for other in NODES:
                    self.sync(one, other, whole=True)
        for name in NODES:
            self.read(f"end-{name}", name, "", final=True)
        return self.history

    def tick(self):
        self.time += self.rng.uniform(0.1, 1)
        return round(self.time, 3)

    def record(self, session, node, kind, outcome=OK, **more):
        begin = self.tick()
        end = self.tick()
        operation = Operation(len(self.history.operations) + 1, session, node, begin,
                              None if outcome == UNKNOWN else end, kind, outcome, **more)
        self.history.operations.append(operation)
        return operation

    def step(self):
        choice = self.rng.random()
        session = self.rng.choice(sorted(self.sessions))
        node = self.sessions[session]
        if choice < 0.3:
            self.sync(*self.rng.sample(NODES, 2))
        elif choice < 0.35:
            self.kill(node)
        elif choice < 0.4 and self.late:
            self.apply(*reversed(self.late.pop(self.rng.randrange(len(self.late)))))
        elif choice < 0.45:
            self.move()
        elif choice < 0.75:
            self.read(session, node, self.rng.choice(("", "x/", "r/", None)))
        else:
            self.write(session, node)

    # MARK: Clients

    def write(self, session, node):
        self.number += 1
        value, choice = f"{session}:{self.number}", self.rng.random()
        if choice < 0.6:
            keys = self.rng.sample(REGISTERS, self.rng.choice((1, 1, 2, 4)))
            writes = dict.fromkeys(keys, value)
        elif choice < 0.85 or not self.visible_records(node, session):
            writes = {f"r/{self.number}.{part}": value for part in range(self.rng.choice((1, 3)))}
            self.records[session] = [*self.records.get(session, ()), tuple(writes)]
        else:
            writes = dict.fromkeys(self.visible_records(node, session).pop(), None)
            self.records[session] = [each for each in self.records[session] if set(each) != set(writes)]
        outcome = self.rng.choices((OK, "failed", UNKNOWN), (88, 6, 6))[0]
        operation = self.record(session, node, WRITE, outcome, writes=writes)
        if outcome == UNKNOWN:
            if self.rng.random() < 0.7:
                self.late.append((writes, node))
        elif outcome == OK and not (self.fault == "dropped write" and self.rng.random() < 0.1):
            self.apply(node, operation.writes)
        elif outcome == "failed" and self.fault == "applied after error":
            self.apply(node, operation.writes)

    def visible_records(self, node, session):
        """The records of a session that are visible at its node, in whole groups."""
        cells = self.replicas[node].cells
        return [keys for keys in self.records.get(session, ()) if all(cells.get(key, (0, None))[1] for key in keys)]

    def read(self, session, node, prefix, final=False):
        replica = self.replicas[node]
        cells = {key: value for key, (_, value) in replica.cells.items()}
        if self.fault == "stale snapshot" and not final and replica.old and self.rng.random() < 0.1:
            cells = self.rng.choice(replica.old)
        replica.old = [*replica.old[-5:], cells]
        if prefix is None:
            keys = self.rng.sample(REGISTERS, 2)
            self.record(session, node, READ, values={key: cells.get(key) for key in keys})
        else:
            values = {key: value for key, value in cells.items() if key.startswith(prefix) and value is not None}
            self.record(session, node, READ, values=values, scope=(prefix,), final=final)

    def move(self):
        node = self.sessions["roamer"]
        to = self.rng.choice([name for name in NODES if name != node])
        operation = self.record("roamer", node, MOVE, to=to)
        self.sync(node, to, whole=True)
        self.sessions["roamer"] = operation.to

    # MARK: Nodes

    def apply(self, node, writes):
        """Writes at a node: a change set with everything the node has as its past."""
        replica = self.replicas[node]
        replica.clock += 1
        replica.heads[node] += 1
        change = (node, dict(replica.heads), (replica.clock, node), writes)
        replica.sets.append(change)
        self.fold(replica, change, writes)

    def fold(self, replica, change, writes):
        _, _, stamp, _ = change
        replica.clock = max(replica.clock, stamp[0])
        for key, value in writes.items():
            held = replica.cells.get(key)
            wins = held is None or stamp > held[0]
            if self.fault == "last received wins":
                wins = True
            if self.fault == "winner by node" and replica.name == "c" and held is not None and stamp[1] != held[0][1]:
                wins = stamp < held[0]
            if self.fault == "resurrected record" and value is None and change[0] != replica.name:
                wins = False
            if wins:
                replica.cells[key] = (stamp, value)

    def sync(self, one, other, whole=False):
        """Delivers change sets in causal order, all of them or only the first few."""
        giver, taker = self.replicas[one], self.replicas[other]
        missing = [change for change in giver.sets if change[1][change[0]] > taker.heads[change[0]]]
        if self.fault == "never sent" and one == "a":
            missing = [change for change in missing if change[0] != "a" or sum(map(ord, str(change[3]))) % 7]
        missing = missing if whole else missing[:self.rng.randrange(len(missing) + 1)]
        if self.fault == "no causal order" and not whole and missing:
            missing = self.rng.sample(missing, len(missing))[:self.rng.randrange(1, len(missing) + 1)]
        for change in missing:
            author, heads, _, writes = change
            if any(change is each for each in taker.sets):
                continue
            taker.sets.append(change)
            if self.fault != "no causal order":
                taker.heads[author] = heads[author]
            if self.fault == "dropped half" and len(writes) > 1 and self.rng.random() < 0.3:
                writes = dict(list(writes.items())[1:])
            if self.fault == "torn change set" and len(writes) > 1 and not whole and self.rng.random() < 0.5:
                parts = list(writes.items())
                self.fold(taker, change, dict(parts[:1]))
                self.read(f"{other}1", other, "")
                writes = dict(parts[1:])
            self.fold(taker, change, writes)

    def kill(self, node):
        replica = self.replicas[node]
        if self.fault != "forgotten after kill" or not replica.sets or replica.sets[-1][0] != node:
            return
        forgotten = replica.sets.pop()
        if any(forgotten in other.sets for other in self.replicas.values()):
            replica.sets.append(forgotten)
            return
        replica.heads[node] -= 1
        replica.cells = {}
        for change in replica.sets:
            self.fold(replica, change, change[3])
