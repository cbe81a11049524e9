"""Builds the tree with all mistakes of Catalogue, and finds out which tests notice each of them.

    run [NAME…] [--part 2/4] [--minutes 15] [--budget 1500] [--jobs 2] [--survivors] [--again]
        [--build] [--no-build] [--table]

The results are kept in the scratch folder, so a run continues where an earlier one was stopped. --survivors judges
again what nothing has found, --again everything. --build only builds, --no-build takes the last build, and --table only
prints what is known.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import catalogue
import detectors

LEAST = 95
SCRATCH = pathlib.Path(os.environ.get("SCRATCH") or catalogue.ROOT / ".build-planted").resolve()
BUILD = SCRATCH / "build" / "release"
# As in `make test`. Optimized tests are faster.
OPTIONS = ["-c", "release", "-Xswiftc", "-enable-testing", "-Xswiftc", "-DDEBUG"]


class Results:
    """What is known of each mistake and of each detector without a mistake, in a file that outlives the run."""

    def __init__(self):
        self.path, self.lock = SCRATCH / "results.json", threading.RLock()
        self.known = self.read()

    def read(self):
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        return {part: kept.get(part, {}) for part in ("found", "baseline", "alone")}

    def of(self, mistake):
        found = self.known["found"].get(mistake.name)
        return found if found and found["hash"] == mistake.hash else None

    def put(self, part, key, value):
        with self.lock:
            # Another run may have added results of other mistakes.
            self.known = self.read()
            self.known[part][key] = value
            temporary = self.path.with_suffix(".new")
            temporary.write_text(json.dumps(self.known, indent=1, ensure_ascii=False))
            temporary.replace(self.path)


class Judge:
    def __init__(self, results, machine, budget, deadline):
        self.results, self.machine, self.budget, self.deadline = results, machine, budget, deadline
        self.baselines = {}
        self.lock = threading.Lock()

    def run(self, detector, number, known=(), limit=None):
        taken = self.machine.enter(detector.is_alone)
        try:
            log = SCRATCH / "logs" / f"{number}-{detector.name.split()[0]}-{threading.get_ident() % 10_000}"
            return detector.run(BUILD, number, log, known, limit)
        finally:
            self.machine.leave(taken)

    def baseline(self, detector):
        """The failures of a detector without a mistake, and how long it takes."""
        key = " ".join(detector.command)
        with self.lock:
            mutex = self.baselines.setdefault(key, threading.Lock())
        with mutex:
            known = self.results.known["baseline"].get(key)
            if known is None:
                failing, seconds = [], None
                while True:
                    outcome = self.run(detector, 0, set(failing))
                    if outcome.test:
                        failing.append(outcome.test)
                        continue
                    seconds = None if outcome.failure else outcome.seconds
                    break
                known = {"failing": failing, "seconds": seconds, "why": outcome.failure}
                self.results.put("baseline", key, known)
                if failing or seconds is None:
                    say(f"without a mistake, {detector.name} fails: {failing or outcome.failure}")
            return known

    def is_confirmed(self, mistake, test):
        alone = detectors.one_test(test)
        if not self.run(alone, mistake.number).failure:
            return False
        if test not in self.results.known["alone"]:
            self.results.put("alone", test, self.run(alone, 0).failure is None)
        return self.results.known["alone"][test]

    def judge(self, mistake):
        if time.monotonic() > self.deadline:
            return
        began, tried = time.monotonic(), []
        for detector in detectors.detectors(mistake):
            if tried and time.monotonic() - began > self.budget:
                break
            baseline = self.baseline(detector)
            if baseline["seconds"] is None:
                continue
            found = self.find(mistake, detector, baseline)
            tried.append(detector.name)
            if found:
                return self.note(mistake, found, began, tried)
            if time.monotonic() > self.deadline:
                return say(f"{mistake.name}: out of time after {', '.join(tried)}")
        self.note(mistake, None, began, tried)

    def find(self, mistake, detector, baseline):
        known = set(baseline["failing"])
        limit = max(60, min(detector.seconds, 5 * baseline["seconds"]))
        for _ in range(4):
            outcome = self.run(detector, mistake.number, known, limit)
            if not outcome.failure:
                return None
            if outcome.test is None:
                return f"{detector.name}: {outcome.failure}"
            if self.is_confirmed(mistake, outcome.test):
                return outcome.test
            known.add(outcome.test)
        return None

    def note(self, mistake, found, began, tried):
        seconds = round(time.monotonic() - began)
        self.results.put(
            "found", mistake.name,
            {"hash": mistake.hash, "by": found, "seconds": seconds, "with": tried[-1] if found else ", ".join(tried)})
        say(f"{mistake.name}: {'found by ' + found if found else 'SURVIVED ' + ', '.join(tried)} ({seconds} s)")


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def build(planted):
    catalogue.make_copy(SCRATCH / "tree", planted)
    log = SCRATCH / "logs" / "build"
    command = ["swift", "build", "--build-tests", *OPTIONS, "--scratch-path", str(SCRATCH / "build")]
    with open(log, "w") as kept:
        environment = {key: value for key, value in os.environ.items() if key != "WAYMARK_STRICT"}
        code = subprocess.run(command, cwd=SCRATCH / "tree", env=environment, stdout=kept, stderr=kept).returncode
    if code != 0:
        lines = {line for line in log.read_text().splitlines() if line.startswith("/") and "error:" in line}
        sys.exit("\n".join(sorted(lines)) or f"the build failed; see {log}")


def table(planted, results):
    """Prints all results, and the share of mistakes that were found."""
    rows, caught, judged = [], 0, 0
    for each in planted:
        found = results.of(each)
        judged += found is not None
        caught += bool(found and found["by"])
        by = "not judged" if found is None else found["by"] or "**nothing**"
        rows.append(f"| {each.area} | {each.name} | {each.sentence} | {by} | {found['seconds'] if found else ''} |")
    print("\n| area | mistake | what is broken | found by | seconds |\n|---|---|---|---|---|")
    print("\n".join(rows))
    share = 100 * caught / max(judged, 1)
    print(f"\nplanted mistakes: {caught} of {judged} caught, {share:.0f} %; {len(planted) - judged} not judged")
    return judged == len(planted) and share >= LEAST


def chosen(planted, options):
    if options.names:
        unknown = set(options.names) - {each.name for each in planted}
        if unknown:
            sys.exit(f"There are no mistakes {', '.join(sorted(unknown))}.")
        return [each for each in planted if each.name in options.names]
    if options.part:
        part, parts = (int(number) for number in options.part.split("/"))
        return planted[part - 1 :: parts]
    return planted


def is_open(mistake, results, options):
    found = results.of(mistake)
    return found is None or options.again or bool(options.names) or (options.survivors and not found["by"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part")
    parser.add_argument("--minutes", type=float, default=24 * 60)
    parser.add_argument("--budget", type=float, default=1_500, help="seconds for one mistake")
    parser.add_argument("--jobs", type=int, default=2)
    for flag in ("--survivors", "--again", "--build", "--no-build", "--table"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    planted = catalogue.mistakes()
    (SCRATCH / "logs").mkdir(parents=True, exist_ok=True)
    results = Results()
    selected = chosen(planted, options)
    if not options.table and not options.no_build:
        build(planted)
        say(f"built with {len(planted)} mistakes")
    if not options.table and not options.build:
        deadline = time.monotonic() + options.minutes * 60
        judge = Judge(results, detectors.Machine(options.jobs), options.budget, deadline)
        waiting = [each for each in selected if is_open(each, results, options)]
        signal.signal(signal.SIGTERM, lambda *_: detectors.end_all())
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(judge.judge, waiting))
    if options.build:
        return
    sys.exit(0 if table(selected, results) else 1)


main()
