"""Writes cuts.json: what Protocol/circle.md, "What folds", makes of logs that are cut.

What is stored and folded is computed from all that is here at once, never from an order in which it came.
"""

import random
from dataclasses import replace

from change_set import CIRCLE, INSERT, PUT, Log, alice, bob, carol, operation, record
from deterministic_cbor import save
from generate_merge import TRIP, described, digests, stamp

LIFE, TITLE = 0, 1
NOTES = [
    "sets: all edit one trip; those with a number in `arrives` have come when that stage is looked at, in any order. One "
    "that has no place yet comes again when others have come.",
    "cuts: of each log that is cut the tips of every cut; a tip that is no set of the case is held by nobody.",
    "heads: [position of the tip, folded sequence] of each branch that is stored.",
    "winner, losers: of the trip's title, as positions; a loser is listed as a conflict.",
]


class Writer:
    def __init__(self, history, device, log=None):
        self.history, self.log = history, log or Log(device)

    def write(self, *seen):
        """Edits the title after having seen some sets, as positions."""
        sets = self.history.sets
        self.log.unseen = [[s.fields[2], s.fields[3], s.fields[5], s.id] for s in (sets[i] for i in seen)]
        self.log.clock = max([self.log.clock] + [sets[i].fields[7] for i in seen])
        position = len(sets)
        entries = [[PUT if position else INSERT, TRIP, record(1), {TITLE: f"title {position}"}]]
        sets += self.log.write("edit", entries, wall=1_000 + 10 * position, operation=operation(position % 200))
        self.history.fields.append((TITLE,) if position else (LIFE, TITLE))
        return position

    def copy(self):
        return Writer(self.history, self.log.device, replace(self.log))


class History:
    """Sets in a causal order, and cuts: log -> list of sets of ids."""

    def __init__(self):
        self.sets, self.fields, self.cuts = [], [], {}

    def writer(self, device):
        return Writer(self, device)

    def cut(self, device, *cuts):
        """Each cut as positions of its tips, or the id of one that nobody holds."""
        log = device.key, device.incarnation
        self.cuts[log] = [{self.sets[t].id if isinstance(t, int) else t for t in tips} for tips in cuts]


class Replica:
    """What a device makes of the sets that have come to it."""

    def __init__(self, history, here):
        self.sets, self.fields = history.sets, history.fields
        self.cuts = history.cuts
        self.position = {s.id: i for i, s in enumerate(self.sets)}
        self.stored = self.with_ground(sorted(here))
        self.stored = {i for i in self.stored if self.is_kept(i)}
        self.past = {i: self.past_of(i) for i in sorted(self.stored)}
        self.folded = []
        for i in sorted(self.stored):
            if self.is_allowed(i) and all(g in self.folded for g in map(self.newest_allowed, self.ground(i)) if g is not None):
                self.folded.append(i)

    # Places

    def log(self, i):
        return self.sets[i].fields[2], self.sets[i].fields[3]

    def dependencies(self, i):
        return [(tuple(d[:2]), d[3]) for d in self.sets[i].fields.get(8, [])]

    def previous(self, i):
        before = self.sets[i].fields.get(6)
        return None if before is None else self.position[before]

    def with_ground(self, here):
        """What may be stored: its predecessor and dependencies are, but for what a cut in effect excludes."""
        stored, grows = set(), True
        while grows:
            placed = {i for i in here if i not in stored and self.has_ground(i, stored)}
            stored, grows = stored | placed, bool(placed)
        return stored

    def has_ground(self, i, stored):
        if self.previous(i) is not None and self.previous(i) not in stored:
            return False
        return all(
            self.position.get(id) in stored or any(self.knows(tips, stored) for tips in self.cuts.get(log, []))
            for log, id in self.dependencies(i))

    def knows(self, tips, stored):
        return all(self.position.get(tip) in stored for tip in tips)

    # Cuts

    def leads(self, i, tips):
        return any(i in self.path(self.position[tip]) for tip in tips)

    def path(self, tip):
        path = [tip]
        while self.previous(path[-1]) is not None:
            path.append(self.previous(path[-1]))
        return path

    def is_kept(self, i):
        cuts = self.cuts.get(self.log(i), [])
        if not cuts or not all(self.knows(tips, self.stored) for tips in cuts):
            return True
        return any(self.leads(i, tips) for tips in cuts)

    def is_allowed(self, i):
        """Whether no cut in effect excludes a set."""
        return all(
            self.leads(i, tips) for tips in self.cuts.get(self.log(i), []) if self.knows(tips, self.stored))

    # Folding

    def ground(self, i):
        before = [] if self.previous(i) is None else [self.previous(i)]
        seen = [self.position.get(id) for _, id in self.dependencies(i)]
        return before + [p for p in seen if p in self.stored]

    def newest_allowed(self, i):
        """The newest set that no cut excludes, of a stored set and what it stands on in its log."""
        return next((p for p in self.path(i) if self.is_allowed(p)), None)

    def past_of(self, i):
        """What it and those before it in its log declare, each with all before it in its log; nothing beyond."""
        return {p for own in self.path(i) for seen in [own, *self.ground(own)] for p in self.path(seen)}

    # What it shows

    def heads(self):
        before = {self.previous(i) for i in self.stored}
        tips = sorted(self.stored - before)
        return [[tip, sum(1 for p in self.path(tip) if p in self.folded)] for tip in tips]

    def cell(self, field):
        return [i for i in self.folded if field in self.fields[i]]

    def newest(self, field):
        return max(self.cell(field), key=lambda i: stamp(self.sets[i]))

    def digest(self):
        cells = [
            {"kind": TRIP, "record": record(1).hex(), "field": field, "winner": self.newest(field)}
            for field in (LIFE, TITLE) if self.cell(field)]
        total = sum(int.from_bytes(h, "big") for h in digests(self.sets, cells).values())
        return (total % 2**256).to_bytes(32, "big").hex()

    def shown(self):
        writes = self.cell(TITLE)
        stage = {"heads": self.heads(), "digest": self.digest()}
        if writes:
            winner = self.newest(TITLE)
            maximal = [i for i in writes if not any(j != i and i in self.past[j] for j in writes)]
            stage |= {"winner": winner, "losers": [i for i in maximal if i != winner]}
        return stage


def described_case(name, history, arrives):
    """`arrives`: for each stage the positions that come then."""
    here, stages = set(), []
    for positions in arrives:
        here |= set(positions)
        stages.append({"arrives": list(positions)} | Replica(history, here).shown())
    cuts = [
        {"device": device.hex(), "incarnation": incarnation.hex(),
         "cuts": [sorted(tip.hex() for tip in tips) for tips in cuts]}
        for (device, incarnation), cuts in sorted(history.cuts.items())]
    return {"name": name, "cuts": cuts, "sets": described(history.sets), "stages": stages}


def written(count):
    """Alice writes some sets; Bob has seen them all and edits too."""
    history = History()
    writer = history.writer(alice)
    for _ in range(count):
        writer.write()
    reader = history.writer(bob)
    reader.write(count - 1)
    return history, writer


def one_by_one(history):
    return [[i] for i in range(len(history.sets))]


def cases():
    history, _ = written(5)
    history.cut(alice, [2])
    yield "a cut in the middle, in effect with its tip", history, one_by_one(history)
    yield "what has seen an excluded set comes before the tip: it waits for the tip", history, [[5], [0, 1], [2]]

    history, _ = written(3)
    history.cut(alice, [])
    yield "a log that is excluded whole", history, one_by_one(history)
    yield "nothing of the excluded log has come", history, [[3]]

    history, _ = written(3)
    history.cut(alice, [b"\x09" * 32])
    yield "a tip that nobody holds: the cut is not in effect", history, one_by_one(history)

    history, writer = History(), None
    writer = history.writer(alice)
    writer.write(), writer.write()
    copy = writer.copy()
    writer.write(), writer.write()
    history.writer(bob).write(3)
    copy.write(), copy.write()
    history.writer(carol).write(6)
    history.cut(alice, [6])
    yield "a tip on another branch comes last", history, one_by_one(history)
    yield "a tip on another branch comes first", history, [[0, 1], [5, 6], [2, 3], [4, 7]]
    history.cut(alice, [3], [3, 6])
    yield "two cuts, of which one keeps both branches", history, one_by_one(history)

    history, _ = written(5)
    history.cut(alice, [3], [1])
    yield "two cuts intersect; what leads to a tip of either is stored", history, one_by_one(history)
    history.cut(alice, [0], [1, 3])
    yield "the shorter cut is in effect first", history, one_by_one(history)
    history.cut(alice, [1], [4])
    yield "what has seen an excluded set comes before it", history, [[0, 1], [5], [2, 3], [4]]

    history = History()
    writer, reader = history.writer(alice), history.writer(bob)
    for _ in range(3):
        writer.write()
    reader.write(2)
    history.cut(alice, [1], [2])
    yield "who has seen an excluded set has seen what that stands on", history, [[0, 1], [2], [3]]

    for seed in range(1, 21):
        yield f"seed {seed}", *by_chance(seed)
    for seed in range(21, 61):
        history, arrives = by_chance(seed)
        yield f"seed {seed}, two logs cut, and not all comes", history, some_of(seed, history, arrives)


def by_chance(seed):
    """Three devices, one of them twice, and cuts of the log that the two share."""
    dice, history = random.Random(seed), History()
    writers = [history.writer(alice), None, history.writer(bob), history.writer(carol)]
    writers[0].write()
    writers[1] = writers[0].copy()
    for _ in range(dice.randint(6, 12)):
        writer = dice.choice(writers)
        others = [i for i, s in enumerate(history.sets) if s.fields[2] != writer.log.device.key]
        writer.write(*latest(history, dice.sample(others, min(len(others), dice.choice((0, 1, 1, 2))))))
    own = [i for i, s in enumerate(history.sets) if s.fields[2] == alice.key]
    history.cut(alice, *(dice.sample(own, min(len(own), dice.choice((1, 1, 2)))) for _ in range(dice.choice((1, 1, 2)))))
    order = causal(history, dice)
    return history, [[i] for i in order]


def some_of(seed, history, arrives):
    """Cuts a second log too; some sets never come, the others in any order, several at once."""
    dice = random.Random(seed)
    own = [i for i, s in enumerate(history.sets) if s.fields[2] == bob.key]
    if own:
        history.cut(bob, *(dice.sample(own, 1) for _ in range(dice.choice((1, 1, 2)))))
    order = [i for [i] in arrives if dice.random() < 0.85]
    dice.shuffle(order)
    stages = []
    while order:
        count = dice.choice((1, 2, 3, 5))
        stages.append(order[:count])
        order = order[count:]
    return stages


def latest(history, positions):
    """One set of each branch's log at most: a header names each log's newest."""
    newest = {}
    for i in sorted(positions):
        newest[history.sets[i].fields[2]] = i
    return newest.values()


def causal(history, dice):
    """Any order in which nothing comes before what it stands on."""
    position = {s.id: i for i, s in enumerate(history.sets)}
    needs = [
        {position[s.fields[6]]} if 6 in s.fields else set() for s in history.sets]
    for need, s in zip(needs, history.sets):
        need |= {position[d[3]] for d in s.fields.get(8, [])}
    order = []
    while len(order) < len(history.sets):
        order.append(dice.choice([i for i, need in enumerate(needs) if i not in order and need <= set(order)]))
    return order


save("cuts.json", {
    "chapter": "Protocol/circle.md",
    "notes": NOTES,
    "circle": CIRCLE.hex(),
    "cases": [described_case(*case) for case in cases()],
})
