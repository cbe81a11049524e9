"""Judges a recorded history (history.py). It knows nothing about the program that the history was recorded from.

What is promised
----------------
Every node has a copy of all keys and answers alone, also while it is cut off. The promises are those of *causal
consistency with convergence* (causal+; Lloyd et al. 2011), with the session guarantees of Terry et al. 1994:

- **At one node.** An answer includes everything that the node confirmed or showed before the request began, to any
  client, also if the process was killed in between. This implies the session guarantees for sessions that stay there:
  *read your writes* (a session sees its own confirmed writes), *monotonic reads* (it does not go back to an older
  value), and *node order* (the same, among the clients of a node).
- **Across nodes.** A write is visible at another node once it was synced, in no promised time. It is never visible
  without its past: the writes that its own node had confirmed or shown before it. This implies *monotonic writes* (no
  one sees a session's second write without its first) and *writes follow reads* (no one sees an answer without the
  question that its author had read). A session that changes nodes keeps its guarantees if it first waits until the two
  nodes are in sync.
- **Atomic change sets.** The writes of one operation are visible together or not at all, at every node.
- **A deterministic winner.** A write replaces those in its past. Of two concurrent writes to one key (neither is in the
  past of the other) one wins, by an order of change sets that is the same for all keys and nodes. Keys are merged one by
  one: if two concurrent change sets overlap in some keys, one of them wins all of these, and the rest of both remains.
- **Convergence.** Once the faults have ended, all nodes get all writes within the deadline, and then show the same.
- **No acknowledged write is lost.** At the end each confirmed write is visible on every node, or superseded by a write
  that is not in its past.
- **No invented values.** A value that is read was written, by an operation that had begun and was not rejected.

What is not promised: linearizability or any other real-time order between nodes; that a read at one node shows what was
confirmed at another; an order for reads of several keys in several requests, beyond the above.

How it is checked
-----------------
Values are unique, so a read identifies the writes that it shows. The checker sweeps over time and keeps, for each node
and session, the set of writes that must be visible: the *past*. An operation's past is what its node and session had
when it began. A write that ends well joins the past of its node and session, together with its own past; so does
each write that a read shows. (All sets are integers used as bit sets.) This is a lower bound, as an operation may take
effect later than it began; so what is reported as a violation is one.

A read that shows write `u` of a key, while the past has another write `w` of that key, means that `u` supersedes `w`:

- if `u` is in the past of `w`, the read is *stale*. The violated guarantee depends on how `w` came into the past;
- if `w` is in the past of `u`, it is as it should be;
- otherwise they are concurrent, and the read is evidence that `u` wins over `w`.

Finally, the evidence and the causal order must have no cycle: otherwise no single order of change sets explains what the
nodes showed. Final reads have all confirmed writes in their past.

A key without a value never had one or was deleted. If it must have had one, some delete that had begun must explain
that; if there is exactly one such delete, it counts as what was read.
"""

import collections
import dataclasses
import functools
import sys

from history import FAILED, MOVE, OK, READ, UNKNOWN, WRITE, BadHistory, History

READ_YOUR_WRITES = "read your writes"
MONOTONIC_READS = "monotonic reads"
MONOTONIC_WRITES = "monotonic writes"
WRITES_FOLLOW_READS = "writes follow reads"
NODE_ORDER = "node order"
ATOMIC = "atomic change sets"
WINNER = "deterministic winner"
CONVERGENCE = "convergence"
NOT_LOST = "no acknowledged write lost"
NOT_INVENTED = "no invented values"
GUARANTEES = (READ_YOUR_WRITES, MONOTONIC_READS, MONOTONIC_WRITES, WRITES_FOLLOW_READS, NODE_ORDER, ATOMIC, WINNER,
              CONVERGENCE, NOT_LOST, NOT_INVENTED)


@dataclasses.dataclass(frozen=True)
class Violation:
    guarantee: str
    # The ids of the operations that show it.
    operations: tuple
    text: str


def bits(number):
    """The positions of the bits that are set, in ascending order."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def told(operation):
    end = "no answer" if operation.end is None else f"{operation.end:.3f}"
    return (f"#{operation.id} ({operation.session} at {operation.node}, {operation.command or operation.kind}, "
            f"{operation.begin:.3f}–{end})")


class Place:
    """What is known to be visible at a node, or to a session."""

    def __init__(self):
        self.past = 0
        # The writes that reads here have shown themselves, and these with their pasts.
        self.shown = self.explained = 0
        # The keys that had a value, of the writes that were looked at.
        self.alive, self.looked_at = set(), 0

    def join(self, past):
        self.past |= past


class Checker:
    def __init__(self, history):
        self.history = history
        self.operations = sorted(history.operations, key=lambda each: (each.begin, each.id))
        self.writes = [each for each in self.operations if each.kind == WRITE]
        self.violations = {}
        self.nodes = collections.defaultdict(Place)
        self.sessions = collections.defaultdict(Place)
        # The past of each write, without itself; and of each other operation as of its begin.
        self.pasts = [0] * len(self.writes)
        self.began = {}
        # Concurrent writes of which the second wins: (loser, winner) → (key, the read that shows it).
        self.evidence = {}
        # Reads at each node that were found to be in order: (node, key) → (winner, rest of the past).
        self.checked = {}
        self.shown_by = {}
        self.index()

    def index(self):
        """Finds the writer of each value."""
        self.writer, self.of_key = {}, collections.defaultdict(int)
        self.deletes, self.creations = collections.defaultdict(list), collections.defaultdict(int)
        self.confirmed = 0
        self.number = {id(each): number for number, each in enumerate(self.writes)}
        for number, write in enumerate(self.writes):
            if write.outcome == OK:
                self.confirmed |= 1 << number
            for key, value in write.writes.items():
                self.of_key[key] |= 1 << number
                if value is None:
                    if write.outcome != FAILED:
                        self.deletes[key].append(number)
                    continue
                self.creations[key] |= 1 << number
                if (key, value) in self.writer:
                    other = self.writes[self.writer[key, value]]
                    raise BadHistory(f"{told(other)} and {told(write)} both write “{value}” to {key}")
                self.writer[key, value] = number
        self.keys = sorted(self.of_key)
        homes = {}
        ids = collections.Counter(each.id for each in self.operations)
        if ids and max(ids.values()) > 1:
            raise BadHistory(f"two operations have the id {max(ids, key=ids.get)}")
        last = {}
        for each in self.operations:
            before = last.get(each.session)
            if before is not None and before.end is not None and before.end > each.begin:
                raise BadHistory(f"{told(before)} and {told(each)} overlap in one session")
            last[each.session] = each
            if homes.setdefault(each.session, each.node) != each.node:
                raise BadHistory(f"{told(each)}: its session has not moved there")
            if each.kind == MOVE and each.outcome == OK:
                homes[each.session] = each.to

    @functools.cache
    def in_scope(self, scope):
        """The keys that a read of this scope covers."""
        return {key for key in self.keys if key.startswith(scope)}

    def note(self, guarantee, operations, text):
        operations = tuple(dict.fromkeys(each.id for each in operations))
        self.violations.setdefault((guarantee, operations), Violation(guarantee, operations, f"{guarantee}: {text}"))

    # MARK: The sweep

    def check(self):
        moments = [(each.begin, 0, each) for each in self.operations]
        # Of two equal times, the begin comes first: such operations count as concurrent.
        moments += [(each.end, 1, each) for each in self.operations if each.end is not None]
        moments.sort(key=lambda moment: (moment[0], moment[1], moment[2].id))
        for _, is_end, operation in moments:
            if is_end:
                self.end(operation)
            else:
                self.begin(operation)
        self.check_cycles(moments)
        self.check_convergence()
        order = {name: place for place, name in enumerate(GUARANTEES)}
        return sorted(self.violations.values(), key=lambda each: (order[each.guarantee], each.operations))

    def begin(self, operation):
        # What its session had is included, as a session changes nodes only after it has waited.
        past = self.nodes[operation.node].past
        if operation.kind == WRITE:
            self.pasts[self.number[id(operation)]] = past
        else:
            self.began[operation.id] = past

    def end(self, operation):
        if operation.outcome != OK:
            return
        places = [self.nodes[operation.node], self.sessions[operation.session]]
        if operation.kind == WRITE:
            number = self.number[id(operation)]
            past = self.pasts[number] | 1 << number
        elif operation.kind == READ:
            past = self.read(operation)
        else:
            past = self.began[operation.id]
            places.append(self.nodes[operation.to])
        for place in places:
            place.join(past)

    def read(self, read):
        """Checks what a read shows, and returns the past that it establishes."""
        shown = {}
        for key, value in read.values.items():
            number = None if value is None else self.source(read, key, value)
            if number is not None:
                shown[key] = number
        began = self.began[read.id]
        past = began
        for number in set(shown.values()):
            past |= self.pasts[number] | 1 << number
        # A read that comes late may show writes that a later request supersedes: only its own past counts.
        ordinary = past
        if read.final:
            past |= self.confirmed
        past, missing = self.add_deletes(read, shown, past)
        seen = 0
        for number in shown.values():
            seen |= 1 << number
        session = self.sessions[read.session]
        session.shown |= seen
        for number in bits(seen):
            session.explained |= self.pasts[number] | 1 << number
            self.shown_by.setdefault(number, {}).setdefault(read.session, read)
        for key, number in shown.items():
            self.compare(read, key, number, past, ordinary, seen)
        for key in missing:
            self.stale(read, key, None, past & self.creations[key], ordinary, seen)
        return past if not read.final else past & ~self.confirmed | ordinary

    def source(self, read, key, value):
        """The write that a value comes from; None if there can be none."""
        number = self.writer.get((key, value))
        if number is None:
            self.note(NOT_INVENTED, [read], f"{told(read)} shows “{value}” for {key}, which no operation wrote")
            return None
        write = self.writes[number]
        if write.outcome == FAILED:
            self.note(NOT_INVENTED, [read, write],
                      f"{told(read)} shows “{value}” for {key}, whose write {told(write)} was rejected")
            return None
        if write.begin > read.end:
            self.note(NOT_INVENTED, [read, write],
                      f"{told(read)} shows “{value}” for {key} before its write {told(write)} began")
            return None
        return number

    def add_deletes(self, read, shown, past):
        """Finds what keys without a value were read from. Returns the past with these deletes, and the keys that should
        have a value."""
        scope = self.in_scope(tuple(read.scope)) if read.scope else set()
        asked = {key for key, value in read.values.items() if value is None}
        missing, resolved = set(), set()
        found = True
        while found:
            # A delete brings its own past, in which other keys may have values.
            found = False
            without = (self.alive(read.node, past) & scope).difference(read.values) | asked
            for key in sorted(without - resolved):
                if not past & self.creations.get(key, 0):
                    continue
                resolved.add(key)
                begun = [each for each in self.deletes.get(key, ()) if self.writes[each].begin <= read.end]
                if not begun:
                    missing.add(key)
                elif len(begun) == 1:
                    shown[key] = begun[0]
                    past |= self.pasts[begun[0]] | 1 << begun[0]
                    found = True
                    # It need not be looked at again until a later write gives it a value.
                    self.nodes[read.node].alive.discard(key)
        return past, sorted(missing)

    def alive(self, node, past):
        """The keys that have had a value at a node, without those that were then found deleted."""
        place = self.nodes[node]
        for number in bits(past & ~place.looked_at):
            place.alive.update(key for key, value in self.writes[number].writes.items() if value is not None)
        place.looked_at |= past
        return place.alive

    def compare(self, read, key, number, past, ordinary, seen):
        """Compares the shown write with the other writes of its key in the past."""
        rest = past & self.of_key[key] & ~(1 << number)
        if self.checked.get((read.node, key)) == (number, rest):
            return
        newer = 0
        for other in bits(rest & ~self.pasts[number]):
            if self.pasts[other] >> number & 1:
                newer |= 1 << other
            else:
                self.evidence.setdefault((other, number), (key, read))
        if newer:
            self.stale(read, key, number, newer, ordinary, seen)
        else:
            self.checked[read.node, key] = (number, rest)

    # MARK: What a stale read violates

    def stale(self, read, key, number, newer, ordinary, seen):
        """Reports a read that shows an older write of `key` (or no value) than those in `newer`."""
        found = [(self.cause(read, each, ordinary, seen), -each) for each in bits(newer)]
        (place, guarantee, through), each = min(found, key=lambda one: (one[0][0], one[1]))
        write = self.writes[-each]
        what = "no value" if number is None else f"the older value of {told(self.writes[number])}"
        via = f", through {told(through)}" if through is not None else ""
        others = [] if number is None else [self.writes[number]]
        self.note(guarantee, [read, write, *([through] if through is not None else []), *others],
                  f"{told(read)} shows {what} for {key}, but {told(write)} was to be visible{via}")

    def cause(self, read, number, ordinary, seen):
        """How a write came into the past of a read: a rank, the guarantee, and the operation in between."""
        write, session = self.writes[number], self.sessions[read.session]
        if seen >> number & 1:
            return 0, ATOMIC, None
        if write.session == read.session and write.outcome == OK and session.past >> number & 1:
            return 1, READ_YOUR_WRITES, None
        if session.shown >> number & 1:
            return 2, MONOTONIC_READS, self.shown_by[number][read.session]
        if session.explained >> number & 1:
            for other in bits(session.shown):
                if self.pasts[other] >> number & 1 and self.writes[other].session == write.session:
                    return 3, MONOTONIC_WRITES, self.writes[other]
            for other in bits(session.shown):
                if self.pasts[other] >> number & 1:
                    return 4, WRITES_FOLLOW_READS, self.writes[other]
        if ordinary >> number & 1:
            return 5, NODE_ORDER, None
        return 6, NOT_LOST, None

    # MARK: One order of change sets

    def check_cycles(self, moments):
        """No cycle in the causal order and the evidence of winners."""
        edges = self.graph(moments)
        for (loser, winner) in self.evidence:
            edges[loser].append(winner)
        for component in components(edges):
            inside = set(component)
            for (loser, winner), (key, read) in self.evidence.items():
                if loser in inside and winner in inside:
                    self.report_cycle(edges, inside, loser, winner, key, read)
                    break

    def graph(self, moments):
        """The causal order as edges: between the writes, which are numbered, and the moments at each node."""
        edges = collections.defaultdict(list)
        newest = {}
        known = collections.defaultdict(int)
        for place, (_, is_end, operation) in enumerate(moments):
            moment = ("moment", place)
            if operation.node in newest:
                edges[newest[operation.node]].append(moment)
            newest[operation.node] = moment
            if operation.kind == MOVE:
                if not is_end:
                    self.began["move", operation.id] = moment
                elif operation.outcome == OK:
                    there = ("arrival", place)
                    edges[self.began["move", operation.id]].append(there)
                    if operation.to in newest:
                        edges[newest[operation.to]].append(there)
                    newest[operation.to] = there
            elif operation.kind == WRITE:
                number = self.number[id(operation)]
                if not is_end:
                    edges[moment].append(number)
                elif operation.outcome == OK:
                    edges[number].append(moment)
            elif is_end and operation.outcome == OK:
                for key, value in operation.values.items():
                    number = None if value is None else self.writer.get((key, value))
                    # Most of what a read shows, its node has shown before.
                    if number is None or known[operation.node] >> number & 1:
                        continue
                    write = self.writes[number]
                    if write.outcome != FAILED and write.begin <= operation.end:
                        known[operation.node] |= 1 << number
                        edges[number].append(moment)
        return edges

    def report_cycle(self, edges, inside, loser, winner, key, read):
        """Finds the shortest way back from the winner to the loser."""
        came = {winner: None}
        queue = collections.deque([winner])
        while queue and loser not in came:
            vertex = queue.popleft()
            for following in edges[vertex]:
                if following in inside and following not in came:
                    came[following] = vertex
                    queue.append(following)
        way = [loser]
        while way[-1] != winner:
            way.append(came[way[-1]])
        way.reverse()
        reads, steps = [read], [f"{told(read)} shows {told(self.writes[winner])} for {key}, not {told(self.writes[loser])}"]
        for one, other in zip(way, way[1:]):
            if (one, other) in self.evidence and type(one) is int:
                name, shown = self.evidence[one, other]
                reads.append(shown)
                steps.append(f"{told(shown)} shows {told(self.writes[other])} for {name}, not {told(self.writes[one])}")
        numbers = [self.writes[each] for each in way if type(each) is int]
        if len(reads) == 1:
            steps.append("but the first of these was in the past of the second")
        guarantee = ATOMIC if len(reads) > 1 and len({each.id for each in reads}) == 1 else WINNER
        self.note(guarantee, [*reads, *numbers], "no order of change sets explains that " + "; ".join(steps))

    # MARK: The end

    def check_convergence(self):
        for event in self.history.events:
            if event["event"] == "healed" and event["converged"] is None:
                self.note(CONVERGENCE, [], f"{event['deadline']:g} s after the faults ended at {event['at']:.3f}, some node "
                          "lacked writes that had been confirmed before")
        last = {}
        for read in self.operations:
            if read.kind == READ and read.final and read.outcome == OK:
                last[read.node, tuple(read.scope)] = read
        for scope in sorted({scope for _, scope in last}):
            missing = [node for node in self.history.nodes if (node, scope) not in last]
            if missing:
                self.note(CONVERGENCE, [], f"there is no final read of {' '.join(scope)} at {', '.join(missing)}")
            reads = [last[node, scope] for node in self.history.nodes if (node, scope) in last]
            for read in reads[1:]:
                first = reads[0]
                keys = sorted(key for key in {*first.values, *read.values}
                              if first.values.get(key) != read.values.get(key))
                if keys:
                    self.note(CONVERGENCE, [first, read],
                              f"{told(first)} and {told(read)} differ in {len(keys)} keys, such as {keys[0]}: "
                              f"“{first.values.get(keys[0])}” and “{read.values.get(keys[0])}”")


def components(edges):
    """The strongly connected components of more than one vertex (Tarjan, without recursion)."""
    order, low, stacked, stack, found = {}, {}, set(), [], []
    for root in list(edges):
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        stacked.add(root)
        work = [(root, iter(edges[root]))]
        while work:
            vertex, rest = work[-1]
            for following in rest:
                if following not in order:
                    order[following] = low[following] = len(order)
                    stack.append(following)
                    stacked.add(following)
                    work.append((following, iter(edges.get(following, ()))))
                    break
                if following in stacked:
                    low[vertex] = min(low[vertex], order[following])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[vertex])
                if low[vertex] == order[vertex]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        stacked.discard(component[-1])
                        if component[-1] == vertex:
                            break
                    if len(component) > 1:
                        found.append(component)
    return found


def check(history):
    """The violations of a history; an empty list if there are none."""
    return Checker(history).check()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: checker.py HISTORY")
    history = History.load(sys.argv[1])
    violations = check(history)
    for violation in violations:
        print(violation.text)
    outcomes = collections.Counter(each.outcome for each in history.operations)
    print(f"{len(history.operations)} operations, {outcomes[OK]} ok, {outcomes[FAILED]} failed, {outcomes[UNKNOWN]} unknown; "
          f"{len(violations)} violations")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
