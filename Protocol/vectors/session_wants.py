"""Protocol/session.md, "Heads and needs": what a device requests of a peer, and what it serves."""

from dataclasses import replace

from change_set import INSERT, PUT, SETTINGS, Device, Log, operation
from deterministic_cbor import encode
from generate_merge import described
from session_hashes import SETTING, in_bucket
from statements import (
    ALICE, CAROL, CIRCLE, DAVE, GENESIS, MALLORY, certificate, cut_pairs, envelope, revocation, statement)

HEADS, WANT, SETS, SERVED = 5, 6, 7, 8
# Alice receives, Bob is the peer. Carol and Dave write; no statement names Mallory.
HELD = [GENESIS, certificate(ALICE, "bob", 1), certificate(ALICE, "carol", 1), certificate(ALICE, "dave", 1)]


def device(name, signer, number):
    return Device(name, number, number, bytes(signer), CIRCLE)


carol, dave, mallory = device("carol", CAROL, 3), device("dave", DAVE, 4), device("mallory", MALLORY, 5)


class Case:
    """Sets; those that the receiver holds; what the peer sends, and the `want` that follows."""

    def __init__(self, name, held=HELD):
        self.name, self.held = name, held
        self.sets, self.stored, self.steps = [], [], []

    def write(self, log, count, *seen, wall=1_000):
        """The positions of the next sets of a log; the first of them has seen the sets at `seen`."""
        first = len(self.sets)
        for position in seen:
            log.see(self.sets[position])
        for _ in range(count):
            number = len(self.sets)
            entries = [[PUT if log.sequence else INSERT, SETTING, in_bucket(log.device.incarnation[1], 1),
                        {1: f"key of {log.device.name}", 2: number}]]
            self.sets += log.write("set", entries, wall=wall + 10 * number, operation=operation(number % 200))
        return list(range(first, len(self.sets)))

    def head(self, position):
        fields = self.sets[position].fields
        return [fields[2], fields[3], fields[5], self.sets[position].id, fields[5]]

    def asked(self, position, first):
        fields = self.sets[position].fields
        return [fields[2], fields[3], first, fields[5], self.sets[position].id]

    def step(self, messages, *wants):
        """Wants as (position of the tip, from)."""
        want = encode([WANT, SETTINGS, [self.asked(*each) for each in wants]]).hex() if wants else None
        self.steps.append({"messages": [encode(each).hex() for each in messages], "want": want})
        return self

    def heads(self, positions, *wants, complete=True):
        return self.step([[HEADS, SETTINGS, complete, [self.head(each) for each in positions]]], *wants)

    def delivers(self, positions, *wants):
        sets = [self.sets[each] for each in positions]
        return self.step([
            [SETS, SETTINGS, [[each.header, each.signature, each.plan, each.values] for each in sets]],
            [SERVED, SETTINGS]], *wants)

    def described(self):
        return {"name": self.name, "held": [each.hex() for each in self.held], "sets": described(self.sets),
                "stored": self.stored, "steps": self.steps}


def copy_of(log):
    return replace(log, unseen=list(log.unseen))


def branches(case, shared, *counts):
    """A log of Carol's with some sets in common, and its branches."""
    log = Log(carol, SETTINGS)
    path = case.write(log, shared)
    return path, [case.write(copy_of(log), count, wall=2_000 + 1_000 * n) for n, count in enumerate(counts)]


def plain():
    case = Case("a log that the receiver has nothing of")
    log = case.write(Log(carol, SETTINGS), 3)
    yield case.heads([log[2]], (log[2], 1))

    case = Case("a log that the receiver has the beginning of")
    log = case.write(Log(carol, SETTINGS), 5)
    case.stored = log[:2]
    yield case.heads([log[4]], (log[4], 3))

    case = Case("the receiver has as much")
    case.stored = log = case.write(Log(carol, SETTINGS), 3)
    yield case.heads([log[2]])

    case = Case("the receiver has more")
    case.stored = log = case.write(Log(carol, SETTINGS), 3)
    yield case.heads([log[1]])

    case = Case("no head")
    case.stored = case.write(Log(carol, SETTINGS), 3)
    yield case.heads([])

    case = Case("several logs, in one message")
    of_carol, of_dave = case.write(Log(carol, SETTINGS), 4), case.write(Log(dave, SETTINGS), 2)
    case.stored = of_carol[:1]
    tips = sorted([(of_carol[3], 2), (of_dave[1], 1)], key=lambda each: case.head(each[0])[:2])
    yield case.heads([of_dave[1], of_carol[3]], *tips)

    case = Case("a log of a device that no certificate names")
    log = case.write(Log(mallory, SETTINGS), 2)
    yield case.heads([log[1]])

    case = Case("heads that have moved since")
    of_carol, of_dave = case.write(Log(carol, SETTINGS), 2), case.write(Log(dave, SETTINGS), 3)
    case.stored = of_carol + of_dave[:1]
    yield case.heads([of_carol[1], of_dave[0]]).heads([of_dave[2]], (of_dave[2], 2), complete=False)

    case = Case("what is still missing is requested again once the answer has ended")
    log = case.write(Log(carol, SETTINGS), 4)
    yield case.heads([log[3]], (log[3], 1)).delivers(log[:2], (log[3], 3)).delivers(log[2:])


def forks():
    case = Case("another set at the sequence of the receiver's head")
    path, [mine, theirs] = branches(case, 2, 1, 1)
    case.stored = path + mine
    yield case.heads(theirs, (theirs[0], 3)).delivers(theirs)

    case = Case("no known fork: a head with a smaller sequence counts as stored")
    path, [mine, theirs] = branches(case, 2, 3, 1)
    case.stored = path + mine
    yield case.heads(theirs)

    case = Case("the peer names two heads: the one that is not stored is requested")
    path, [mine, theirs] = branches(case, 2, 2, 1)
    case.stored = path + mine
    yield case.heads([theirs[0], mine[1]], (theirs[0], 3))

    case = Case("the peer names two heads that the receiver has")
    path, [mine, theirs] = branches(case, 2, 2, 1)
    case.stored = path + mine + theirs
    yield case.heads([theirs[0], mine[1]])

    case = Case("the receiver knows the fork, and the peer names one head of it")
    path, [one, other, theirs] = branches(case, 2, 3, 2, 1)
    case.stored = path + one + other
    yield case.heads([theirs[0], one[2]], (theirs[0], 3))

    case = Case("two heads of one log are missing, and one of another log: the second of the first log comes last")
    path, [mine, shorter, longer] = branches(case, 3, 1, 2, 3)
    of_dave = case.write(Log(dave, SETTINGS), 1)
    case.stored = path + mine
    firsts = sorted([(shorter[1], 5), (of_dave[0], 1)], key=lambda each: case.head(each[0])[:2])
    yield case.heads([longer[2], shorter[1], of_dave[0]], *firsts, (longer[2], 5))

    case = Case("a fork that is 76 sets back: 16 sets more are requested, then 64 sets more, then all")
    path, [mine, theirs] = branches(case, 4, 76, 86)
    case.stored = path + mine
    tip = theirs[-1]
    at = {case.sets[each].fields[5]: each for each in theirs}
    case.heads([tip], (tip, 81)).delivers([at[81]], (tip, 65)).delivers([at[65]], (tip, 17))
    yield case.delivers([at[17]], (tip, 1)).delivers(path + theirs)

    case = Case("a set that came early is requested with all that is missing before it")
    log = case.write(Log(carol, SETTINGS), 6)
    case.stored = log[:2]
    early = case.sets[log[5]]
    yield case.step([[SETS, SETTINGS, [[early.header, early.signature, early.plan, early.values]]]], (log[5], 3))


def branch_proof(sets):
    """Protocol/circle.md, "Branch proof": of sets that follow one set."""
    ordered = sorted(sets, key=lambda each: each.id)
    body = encode({0: 1, 1: CIRCLE, 3: [each.header for each in ordered]})
    return envelope(10, body, b"".join(each.signature for each in ordered))


def cut_logs():
    def cut_at(case, position):
        pairs = {**cut_pairs(CAROL, case.sets[position].id, SETTINGS), 3: carol.incarnation}
        case.held = [*HELD, statement(4, pairs, CAROL)]

    case = Case("a log that is cut, and its kept tip is missing: any head may lead to it")
    log = case.write(Log(carol, SETTINGS), 4)
    cut_at(case, log[1])
    yield case.heads([log[3]], (log[3], 1))

    case = Case("a log that is cut, and its kept tip is stored: nothing after it is requested")
    log = case.write(Log(carol, SETTINGS), 4)
    cut_at(case, log[1])
    case.stored = log[:2]
    yield case.heads([log[3]])

    case = Case("a set that has seen what a cut excludes")
    log = case.write(Log(carol, SETTINGS), 3)
    of_dave = case.write(Log(dave, SETTINGS), 1, log[2])
    cut_at(case, log[0])
    case.stored = log[:1]
    yield case.heads([log[0], of_dave[0]], (of_dave[0], 1)).delivers(of_dave)

    case = Case("a branch proof: nothing after its line is requested")
    path, tips = branches(case, 1, *[1] * 17)
    case.held = [*HELD, branch_proof([case.sets[tip] for [tip] in tips])]
    yield case.heads([each for tip in tips[:2] for each in tip]).heads(path, (path[0], 1))

    case = Case("a revocation that keeps nothing")
    log = case.write(Log(carol, SETTINGS), 2)
    case.held = [*HELD, revocation(ALICE, "carol")]
    yield case.heads([log[1]])

    case = Case("a revocation that keeps a tip, which is missing")
    log = case.write(Log(carol, SETTINGS), 3)
    case.held = [*HELD, revocation(ALICE, "carol", [[carol.incarnation, SETTINGS, [case.sets[log[1]].id]]])]
    yield case.heads([log[1]], (log[1], 1))


def serving():
    """Sets that a device holds, a `want`, and the sets that answer it."""
    case = Case("two logs that depend on each other, a fork, and what a peer requests of them")
    path, [one, other] = branches(case, 2, 2, 3)
    log = Log(dave, SETTINGS)
    of_dave = case.write(log, 1, one[0])
    more = Log(carol, SETTINGS, case.sets[one[1]].fields[5], case.sets[one[1]].id, case.sets[one[1]].fields[7],
               log_bytes=case.sets[one[1]].fields[14] + case.sets[one[1]].declared_bytes)
    later = case.write(more, 1, of_dave[0], wall=5_000)
    of_dave += case.write(log, 2, later[0], wall=6_000)
    missing = Case("")
    unknown = missing.write(Log(dave, SETTINGS), 9)

    def answer(name, wants, sets):
        return {"name": name, "want": encode([WANT, SETTINGS, wants]).hex(), "sets": sorted(sets)}

    tip, fork = later[0], other[2]
    rows = [
        answer("nothing", [], []),
        answer("a whole log", [case.asked(of_dave[2], 1)], of_dave),
        answer("the end of a log", [case.asked(of_dave[2], 3)], of_dave[2:]),
        answer("the beginning of a log", [case.asked(of_dave[0], 1)], of_dave[:1]),
        answer("one set in the middle", [case.asked(of_dave[1], 2)], of_dave[1:2]),
        answer("a branch from the first set", [case.asked(fork, 1)], path + other),
        answer("a branch from a set after the fork", [case.asked(fork, 4)], other[1:]),
        answer("both branches: the sets before the fork come once",
               [case.asked(tip, 1), case.asked(fork, 2)], path + one + other + later),
        answer("all: dependencies come first", [case.asked(of_dave[2], 1), case.asked(tip, 1), case.asked(fork, 1)],
               range(len(case.sets))),
        answer("a tip that is not in the store", [missing.asked(unknown[8], 1)], []),
        answer("one tip that is in the store and one that is not",
               [missing.asked(unknown[8], 1), case.asked(of_dave[2], 2)], of_dave[1:]),
    ]
    return {"circle": CIRCLE.hex(), "sets": described(case.sets), "answers": rows}


def document():
    return {"wants": [case.described() for case in [*plain(), *forks(), *cut_logs()]], "serving": serving()}
