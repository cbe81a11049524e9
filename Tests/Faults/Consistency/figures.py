"""Figures of a run, from its history: counts, latencies, times until convergence, violations."""

import collections

from checker import GUARANTEES
from history import FAILED, MOVE, OK, READ, UNKNOWN, WRITE

WIDTH = 80


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def milliseconds(seconds):
    return "–" if seconds is None else f"{seconds * 1_000:.1f}" if seconds < 0.1 else f"{seconds * 1_000:.0f}"


class Figures:
    def __init__(self, history, violations):
        self.history, self.violations = history, violations
        self.outcomes = collections.Counter((each.kind, each.outcome) for each in history.operations)
        self.refusals = collections.Counter(
            each.error for each in history.operations if each.outcome == FAILED and each.kind != MOVE)
        self.faults = [event for event in history.events if event["event"] == "fault"]
        self.healed = [event for event in history.events if event["event"] == "healed"]
        self.convergence = [event["converged"] - event["at"] for event in self.healed
                            if event["converged"] is not None and event.get("round", True)]
        self.by_guarantee = collections.Counter(violation.guarantee for violation in violations)
        self.latencies = collections.defaultdict(lambda: ([], []))
        for each in history.operations:
            if each.outcome == OK and each.command != "wait":
                during = any(fault["begin"] <= each.end and each.begin <= fault["end"] for fault in self.faults)
                self.latencies[each.command][during].append(each.end - each.begin)

    @property
    def acknowledged(self):
        return self.outcomes[WRITE, OK]

    def count(self, outcome):
        return sum(number for (_, each), number in self.outcomes.items() if each == outcome)

    def fault_counts(self):
        return sorted(collections.Counter(event["fault"] for event in self.faults).items())

    def latency_rows(self):
        """Command, count, and p50 and p99 without and with faults, as text."""
        rows = []
        for command, (calm, faulty) in sorted(self.latencies.items(), key=lambda each: -len(each[1][0] + each[1][1])):
            rows.append((command, f"{len(calm) + len(faulty):,}", *(
                milliseconds(percentile(values, share)) for values in (calm, faulty) for share in (0.5, 0.99))))
        return rows

    def convergence_text(self):
        if not self.convergence:
            return "–"
        return (f"p50 {percentile(self.convergence, 0.5):.1f} s, p99 {percentile(self.convergence, 0.99):.1f} s "
                f"({len(self.convergence)} times)")

    def lines(self):
        about, operations = self.history.about, self.history.operations
        yield f"{len(about['nodes'])} nodes, seed {about.get('seed')}, {about.get('build', '')}"
        yield ""
        yield (f"operations {len(operations):,}: ok {self.count(OK):,}, unknown {self.count(UNKNOWN):,}, "
               f"failed {self.count(FAILED):,}")
        yield f"writes acknowledged {self.acknowledged:,}, unknown {self.outcomes[WRITE, UNKNOWN]:,}"
        yield (f"reads {self.outcomes[READ, OK]:,}; sessions moved {self.outcomes[MOVE, OK]:,} times, and "
               f"{self.outcomes[MOVE, FAILED]:,} times did not, as the nodes were not in sync")
        yield "faults: " + (", ".join(f"{kind} {number}" for kind, number in self.fault_counts()) or "none")
        if self.refusals:
            yield "writes rejected: " + ", ".join(f"{code} {number}" for code, number in sorted(self.refusals.items()))
        yield f"all nodes had all writes after the faults ended: {self.convergence_text()}"
        yield ""
        yield f"{'latency in ms':<16}{'count':>9}   {'without faults':>18}   {'during faults':>18}"
        yield f"{'':<16}{'':>9}   {'p50':>9}{'p99':>9}   {'p50':>9}{'p99':>9}"
        for command, count, *values in self.latency_rows():
            yield f"{command:<16}{count:>9}   {values[0]:>9}{values[1]:>9}   {values[2]:>9}{values[3]:>9}"
        yield ""
        yield f"{'guarantee':<32}{'violations':>12}"
        for guarantee in GUARANTEES:
            yield f"{guarantee:<32}{self.by_guarantee[guarantee]:>12}"
