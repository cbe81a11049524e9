"""Records what clients of five real nodes are told during faults, and judges it.

    run [MINUTES [SEED]] [--report] [--history FILE]

Each node is a process with a network, a disk and a clock of its own. In each round, clients work undisturbed for a while;
then faults begin and end, several at a time; then the time is measured until all nodes have what was confirmed before. At
the end all nodes must hold the same. With an older build in WAYMARK_OLDER, all nodes begin with it and all but one are
upgraded during the run. `--history` keeps the recorded history in a file, for checker.py; `--report` writes
the result and its pictures into Tests/REPORT.md.
"""

import argparse
import datetime
import os
import pathlib
import random
import secrets
import subprocess
import sys
import textwrap
import time

import checker
import workload
from faults import OLDER, FaultyDevice, Faults, build_clock, faulty_circle
from figures import WIDTH, Figures
from history import WRITE, History
from networks import begin, lay_wires
from node import BINARY
from stage import check, stage

CALM, FAULTY, DEADLINE = 4, 10, 60
# Seconds that the end of a run needs, without and for each operation that is judged.
END, JUDGING = 12, 0.0004


class Markers:
    """Finds out when all nodes have everything that was confirmed before now: each node writes a marker, which comes with
    its past, and all nodes are asked until they show all markers."""

    def __init__(self, clients, records, recorder):
        self.clients, self.records, self.recorder = clients, records, recorder

    def wait(self, is_round=True):
        """Returns when all nodes have everything, or None after the deadline. `is_round` says that faults preceded."""
        at = self.recorder.now()
        wanted = {}
        for client in self.clients:
            id = self.records.markers[client.node.name]
            name, value = self.records.names[id], client.unique()
            self.until(lambda: client.perform(
                WRITE, "trip.edit", sent={"id": id, "fields": [["notes", value]]}, writes={f"trip/{name}/notes": value}),
                at, f"{client.node.name} writes after the faults")
            wanted[f"trip/{name}/notes"] = value
        converged, missing = None, list(self.clients)
        while missing and self.recorder.now() - at < DEADLINE:
            missing = [client for client in missing if not self.has_all(client, wanted)]
            time.sleep(0.05)
        if not missing:
            converged = self.recorder.now()
        self.recorder.events.append({"event": "healed", "at": at, "converged": converged, "deadline": DEADLINE,
                                     "round": is_round})
        return converged

    def until(self, holds, at, what):
        while holds() is None:
            check(self.recorder.now() - at < DEADLINE, f"timed out after {DEADLINE} s waiting until {what}")
            time.sleep(0.05)

    def has_all(self, client, wanted):
        shown = {}

        def take(answer):
            shown.update(self.records.trips_shown(answer["trips"]))
            return shown

        client.perform("read", "trip.list", take=take, sent={"text": f"Marker {self.records.prefix}".strip()},
                       scope=(f"trip/{self.records.prefix}m.",))
        return all(shown.get(key) == value for key, value in wanted.items())


class Run:
    """Clients at the nodes of a circle, and the history of what they are told."""

    def __init__(self, circle, folder, seed, prefix="", connect=workload.Connection, about=None):
        self.circle, self.nodes, self.rng = circle, circle.nodes, random.Random(f"{seed} {prefix} faults")
        self.recorder = workload.Recorder()
        self.records = workload.Records(seed, [node.name for node in self.nodes], folder, prefix)
        self.history = History({"nodes": [node.name for node in self.nodes], "seed": seed} | (about or {}))

        def client(name, node, **more):
            return workload.Client(prefix + name, node, self.nodes, self.records, self.recorder,
                                   random.Random(f"{seed} {prefix}{name}"), connect=connect, **more)

        # One of the two clients of each node is busy, so that kills and pauses often meet a request.
        self.clients = [client(f"{node.name}-{number}", node, pause=pause)
                        for node in self.nodes for number, pause in ((1, 0.1), (2, 0.03))]
        self.clients += [client(f"roamer-{number}", self.rng.choice(self.nodes), is_roaming=True) for number in (1, 2)]
        self.watchers = [client(f"marker-{node.name}", node) for node in self.nodes]
        self.markers = Markers(self.watchers, self.records, self.recorder)
        self.faults = Faults(self.nodes, self.recorder, self.rng)

    def begin(self):
        path, writes = self.records.initial()
        created = self.watchers[0].perform(WRITE, "import", sent={"files": [path]}, writes=writes)
        check(created is not None, "the records that all clients share could not be created")
        self.circle.settle(60)
        for client in self.clients:
            client.start()

    def round(self):
        time.sleep(CALM)
        end = time.monotonic() + FAULTY
        while time.monotonic() < end:
            self.faults.begin()
            time.sleep(self.rng.uniform(0.3, 1.3))
        self.faults.end()
        return self.markers.wait()

    def look(self):
        for client in self.clients:
            if client.trouble is not None:
                raise client.trouble

    def end(self, is_strict=True):
        """Ends all clients and reads everything everywhere; returns the history.

        Clients may have been told what can't be unless `is_strict`."""
        for client in self.clients:
            client.is_over.set()
        for client in self.clients:
            client.join(60)
            check(not client.is_alive(), f"{client.name} did not end within 60 s")
        if is_strict:
            self.look()
        # Requests whose clients gave up are answered by now: nodes take one after the other.
        self.markers.wait(is_round=False)
        self.circle.settle(60)
        for client in self.watchers:
            check(client.list_trips(final=True) is not None, f"{client.node.name} does not list its trips at the end")
            check(client.list_habits(final=True) is not None, f"{client.node.name} does not list its habits at the end")
        self.history.operations, self.history.events = self.recorder.operations, self.recorder.events
        return self.history


def version(program):
    return subprocess.run([program, "version"], capture_output=True, text=True).stdout.split("\n")[0].strip()


def build():
    """The version of the program, how it was built, and the older version that is upgraded to it."""
    kind = "release" if "release" in str(pathlib.Path(BINARY).parent) else "debug"
    older = f", upgraded from {os.environ.get('WAYMARK_OLDER_COMMIT') or version(OLDER)}" if OLDER else ""
    return f"{version(BINARY)}, {kind} build{older}"


def say(lines):
    for line in lines:
        print("\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  ", drop_whitespace=False)
                        if len(line) > WIDTH else [line]), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="run", description="judge what clients of real nodes are told during faults")
    parser.add_argument("minutes", nargs="?", type=float, default=3)
    parser.add_argument("seed", nargs="?", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--history")
    # Errors and --help are told without the right to create networks, too.
    asked = parser.parse_args([word for word in sys.argv[1:] if word != "--inside"])
    if begin("the nodes can't have networks and disks of their own: run this as root") is None:
        return
    begun = time.monotonic()
    print(f"consistency {asked.minutes:g} {asked.seed}", flush=True)
    lay_wires()
    with stage("consistency") as folder:
        FaultyDevice.library = build_clock(folder)
        if FaultyDevice.library is None:
            print("skipped: no shifted clocks, as there is no C compiler", flush=True)
        about = {"build": build(), "date": datetime.date.today().isoformat(), "minutes": asked.minutes}
        with faulty_circle(folder) as circle:
            run = Run(circle, folder, asked.seed, about=about)
            run.begin()
            rounds, longest = 0, 0
            while not rounds or (time.monotonic() - begun + longest + END + JUDGING * len(run.recorder.operations)
                                 < asked.minutes * 60):
                since = time.monotonic()
                converged = run.round()
                rounds, longest = rounds + 1, max(longest, time.monotonic() - since)
                run.look()
                if converged is None:
                    break
            history = run.end()
            for node in circle.nodes:
                verdict = node.ask("verify", deep=True)
                check(verdict["ok"], f"{node.name} is damaged: {verdict}")
            path = asked.history or str(folder / "history.jsonl")
            history.save(path)
            violations = checker.check(history)
            figures = Figures(history, violations)
            say(figures.lines())
            print(f"\n{rounds} rounds, {time.monotonic() - begun:.0f} s", flush=True)
            if violations:
                say(violation.text for violation in violations[:20])
                check(False, f"{len(violations)} violations; the history is {path}")
        if asked.report:
            import report
            report.write(figures)


if __name__ == "__main__":
    main()
