"""Writes the result of a run into Tests/REPORT.md, as the section "Consistency during faults", with its pictures."""

import pathlib
import re
import subprocess
import textwrap

import plots
from checker import GUARANTEES
from history import MOVE, OK, READ, UNKNOWN, WRITE

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "REPORT.md"
HEADING, NEXT = "## Consistency during faults", "## Speed"


def commit():
    """The commit of the work tree; empty without one."""
    done = subprocess.run(["git", "-C", str(HERE), "log", "-1", "--format=%h"], capture_output=True, text=True)
    return f", commit {done.stdout.strip()}" if done.returncode == 0 else ""


def section(figures):
    history, outcomes = figures.history, figures.outcomes
    about = history.about
    faults = ", ".join(f"{number} × {kind}" for kind, number in figures.fault_counts())
    yield HEADING
    yield (f"`make consistency MINUTES={about['minutes']:g} SEED={about['seed']}`, recorded on {about['date']} ({about['build']}"
           f"{commit()}). Clients read and write at five nodes, each a process with a network, a disk and a clock of its own, "
           "during faults. A checker that knows nothing about the program judges what the clients were told. "
           "[checker.py](Faults/Consistency/checker.py) begins with the exact promises and with what is not promised.")
    yield ""
    yield (f"- Operations: {len(history.operations):,}, of which {figures.count(UNKNOWN):,} without an answer. Acknowledged "
           f"writes: {figures.acknowledged:,}. Reads: {outcomes[READ, OK]:,}. Sessions that moved between nodes: "
           f"{outcomes[MOVE, OK]:,} times.")
    yield f"- Faults: {faults}. Writes rejected, as the disk was full: {outcomes[WRITE, 'failed']:,}."
    yield f"- Time until all nodes had all writes, after the faults: {figures.convergence_text()}."
    yield ""
    yield "| Guarantee | Violations |"
    yield "|---|---|"
    for guarantee in GUARANTEES:
        yield f"| {guarantee} | {figures.by_guarantee[guarantee]} |"
    yield ""
    yield "| Request | Answered | p50, p99 without faults (ms) | p50, p99 during faults (ms) |"
    yield "|---|---|---|---|"
    for command, count, *values in figures.latency_rows():
        yield f"| `{command}` | {count} | {values[0]}, {values[1]} | {values[2]}, {values[3]} |"
    yield ""
    yield ("A client waits at most two seconds for an answer, and its latency includes the scheduling of all nodes and "
           "clients on two shared cores.")
    yield ""
    yield "![Latency over time, with the faults](Faults/Consistency/latency.svg)"
    yield ""
    yield "![Time until all nodes had all writes, after each round of faults](Faults/Consistency/convergence.svg)"


def wrapped(line):
    """Breaks prose at 120 characters, as the pages of the repository do."""
    if len(line) <= 120 or line.startswith(("|", "!")):
        return [line]
    return textwrap.wrap(line, 120, subsequent_indent="  " if line.startswith("- ") else "", break_long_words=False,
                         break_on_hyphens=False)


def write(figures):
    plots.latency(figures.history, figures.faults, HERE / "latency.svg")
    plots.convergence(figures.convergence, HERE / "convergence.svg")
    text = "\n".join(part for line in section(figures) for part in wrapped(line)) + "\n\n"
    page = PAGE.read_text()
    page = re.sub(rf"{HEADING}\n.*?(?={NEXT}\n)", "", page, flags=re.S)
    PAGE.write_text(page.replace(f"{NEXT}\n", f"{text}{NEXT}\n", 1))
    print(f"written: {PAGE.relative_to(HERE.parents[2])}, and two pictures", flush=True)
