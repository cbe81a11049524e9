"""Plants a small mistake at every condition and statement of some modules, and lists those that no unit test notices.

    everywhere.py MODULE… [--sample 1000] [--minutes 30] [--jobs 2] [--build] [--no-build]

All mistakes are in one build, as with Catalogue. Each suite is run once without a mistake, to find out which mistakes
it reaches. Then each mistake is judged by the suites that reach it, the shortest first, until a test fails or half a
minute of suites is over. Many mistakes that survive change nothing that a user would notice: the list is for reading,
not a measure.

The results are kept in the scratch folder, so a run continues where an earlier one was stopped, if the sources are the
same. Tests with processes do not count.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

import catalogue
import detectors
import sites

SCRATCH = pathlib.Path(os.environ.get("SCRATCH") or catalogue.ROOT / ".build-planted").resolve() / "everywhere"
BUILD = SCRATCH / "build" / "debug"
SUITE = re.compile(
    r"(?m)^(?:@Suite(?:\(.*\))? )?(?:@MainActor )?(?:final )?(?:struct|class|actor) (\w+Tests\b|`[^`\n]+`)")
# These take minutes, have processes, or judge the sources.
LEFT_OUT = re.compile(rf"{detectors.EXHAUSTIVE}|CircleWorldTests|GoldenTests")
# The mistakes of one process that are reached are kept until it ends.
DEFINITION = catalogue.DEFINITION.rpartition("@_silgen_name")[0] + """
nonisolated(unsafe) private let reached: UnsafeMutablePointer<UInt8>? = {
  guard getenv("WAYMARK_REACHED") != nil else { return nil }
  let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 17)
  bytes.initialize(repeating: 0, count: 1 << 17)
  atexit { keepReached() }
  return bytes
}()

private func keepReached() {
  guard let reached, let path = getenv("WAYMARK_REACHED"), let file = fopen(path, "w") else { return }
  fwrite(reached, 1, 1 << 17, file)
  fclose(file)
}

@_silgen_name("waymark_planted") public func isPlantedMistake(_ number: Int32) -> Bool {
  if let reached { reached[Int(number)] = 1 }
  return number == chosen
}
"""


class Place:
    """A mistake at a place of a file, with its number in this build."""

    def __init__(self, path, line, text, what, number):
        self.path, self.line, self.text, self.what, self.number = path, line, text, what, number

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}: {' '.join(self.text.split())[:100]}"


def places(modules, broken):
    """The mistakes of some modules, and the text of each file with them. Those in `broken` do not compile."""
    found, texts = [], {}
    for module in modules:
        for path in sorted((catalogue.ROOT / "Sources" / module).rglob("*.swift")):
            name, text = str(path.relative_to(catalogue.ROOT)), path.read_text()
            pieces, end = [], 0
            for first, last, replacement, kinds in sites.File(text).sites():
                line = text.count("\n", 0, first) + 1
                if f"{name}:{text[first:last]}" in broken:
                    continue
                base = len(found) + 1
                for kind in kinds:
                    found.append(Place(name, line, text[first:last], kind, len(found) + 1))
                new = re.sub(r"PLANTED\((\d+)\)", lambda match: f"planted({base + int(match.group(1))})", replacement)
                pieces += [text[end:first], new]
                end = last
            if pieces:
                texts[name] = "".join(pieces) + text[end:] + catalogue.DECLARATION
    return found, texts


def build(modules):
    """Builds the tree with all mistakes; those that do not compile are left out, and the rest is built again."""
    kept = SCRATCH / "broken.json"
    broken = set(json.loads(kept.read_text())) if kept.exists() else set()
    for _ in range(60):
        found, texts = places(modules, broken)
        catalogue.make_copy(SCRATCH / "tree", [])
        for name, text in texts.items():
            catalogue.write(SCRATCH / "tree" / name, text)
        catalogue.write(SCRATCH / "tree" / catalogue.DEFINED_IN, DEFINITION)
        log = SCRATCH / "logs" / "build"
        environment = {key: value for key, value in os.environ.items() if key != "WAYMARK_STRICT"}
        with open(log, "w") as output:
            command = ["swift", "build", "--build-tests", "--scratch-path", str(SCRATCH / "build")]
            code = subprocess.run(
                command, cwd=SCRATCH / "tree", env=environment, stdout=output, stderr=output).returncode
        if code == 0:
            return found
        wrong = set(re.findall(r"(?m)^\S*/tree/(Sources/\S+?\.swift):(\d+):\d+: error:", log.read_text()))
        new = {name for path, line in wrong for name in near(path, int(line), texts, found)} - broken
        say(f"{len(new)} mistakes do not compile")
        if not new:
            sys.exit(f"the build failed; see {log}")
        broken |= new
        kept.write_text(json.dumps(sorted(broken)))
    sys.exit("too many mistakes do not compile")


def near(path, line, texts, found):
    """The pieces that hold the mistakes on a line of the copy, or nearest above it."""
    by_number = {each.number: each for each in found if each.path == path}
    lines = texts[path].split("\n") if path in texts else []
    for index in range(min(line, len(lines)) - 1, -1, -1):
        numbers = [int(number) for number in re.findall(r"planted\((\d+)\)", lines[index])]
        names = {f"{path}:{by_number[number].text}" for number in numbers if number in by_number}
        if names:
            return names
    return set()


def suites():
    """All suites that count, as patterns that select one each."""
    found = set()
    for path in sorted((catalogue.ROOT / "Tests" / "Unit").rglob("*.swift")):
        target = path.relative_to(catalogue.ROOT / "Tests" / "Unit").parts[0]
        for name in SUITE.findall(path.read_text()):
            if not LEFT_OUT.search(f"{target}.{name}"):
                found.add(f"{target}.{name}")
    return sorted(found)


def pattern(names):
    return "^(" + "|".join(re.escape(name) for name in names) + ")(/|$)"


class Reach:
    """Which suites reach which mistakes, how long each suite takes, and what fails without a mistake."""

    def __init__(self, key):
        self.path = SCRATCH / "reach.json"
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.suites = known.get("suites", {}) if known.get("key") == key else {}
        self.key, self.lock = key, threading.Lock()

    def measure(self, names, jobs):
        waiting = [name for name in names if name not in self.suites]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self.run, waiting))
        self.path.write_text(json.dumps({"key": self.key, "suites": self.suites}))

    def run(self, name):
        file = SCRATCH / "logs" / f"reach-{name}"
        began, failed = time.monotonic(), []
        environment = dict(os.environ, WAYMARK_REACHED=str(file), WAYMARK_PLANTED="0")
        tests = detectors.tests(name, "--filter", pattern([name])).command
        try:
            done = subprocess.run(
                [str(BUILD / tests[0]), *tests[1:]], cwd=SCRATCH / "tree", env=environment, capture_output=True,
                text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=120)
            failed = sorted(set(detectors.FAILED.findall(detectors.COLOUR.sub("", done.stdout))))
        except subprocess.TimeoutExpired:
            pass
        numbers = [number for number, byte in enumerate(file.read_bytes()) if byte] if file.exists() else []
        with self.lock:
            self.suites[name] = {"seconds": time.monotonic() - began, "failed": failed, "reached": numbers}


class Judge:
    def __init__(self, reach, deadline):
        self.deadline, self.lock = deadline, threading.Lock()
        self.suites = reach.suites
        self.failing = {name for each in reach.suites.values() for name in each["failed"]}
        self.by_number = collections.defaultdict(list)
        for name, each in sorted(reach.suites.items(), key=lambda item: item[1]["seconds"]):
            for number in each["reached"]:
                self.by_number[number].append(name)
        self.path = SCRATCH / "judged.json"
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.judged = known.get("judged", {}) if known.get("key") == reach.key else {}
        self.key = reach.key

    def judge(self, place):
        if time.monotonic() > self.deadline or str(place.number) in self.judged:
            return
        names, result = self.by_number[place.number], "not reached"
        if names:
            result = next(filter(None, (self.failure(place, some) for some in self.portions(names))), "survived")
        with self.lock:
            self.judged[str(place.number)] = result
            if len(self.judged) % 20 == 0:
                self.keep()
                say(f"{len(self.judged)} judged: {self.counts()}")

    def portions(self, names):
        """Portions of suites that take 2, 8 and 25 seconds."""
        rest = list(names)
        for seconds in (2, 8, 25):
            some, taken = [], 0
            while rest and (not some or taken + self.suites[rest[0]]["seconds"] <= seconds):
                taken += self.suites[rest[0]]["seconds"]
                some.append(rest.pop(0))
            if some:
                yield some

    def failure(self, place, some):
        limit = 20 + 4 * sum(self.suites[name]["seconds"] for name in some)
        run = detectors.tests("suites", "--filter", pattern(some))
        log = SCRATCH / "logs" / f"judge-{threading.get_ident() % 10_000}"
        outcome = run.run(BUILD, place.number, log, self.failing, limit)
        return outcome.test or outcome.failure

    def counts(self):
        kinds = collections.Counter(
            each if each in ("survived", "not reached") else "caught" for each in self.judged.values())
        return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())

    def keep(self):
        self.path.write_text(json.dumps({"key": self.key, "judged": self.judged}))


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--minutes", type=float, default=24 * 60)
    parser.add_argument("--jobs", type=int, default=2)
    for flag in ("--build", "--no-build"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    (SCRATCH / "logs").mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + options.minutes * 60
    if options.no_build:
        broken = SCRATCH / "broken.json"
        found, _ = places(options.modules, set(json.loads(broken.read_text())) if broken.exists() else set())
    else:
        found = build(options.modules)
    say(f"{len(found)} mistakes")
    if options.build:
        return
    key = hashlib.sha256(json.dumps([str(each) for each in found]).encode()).hexdigest()
    signal.signal(signal.SIGTERM, lambda *_: detectors.end_all())
    reach = Reach(key)
    reach.measure(suites(), options.jobs)
    say(f"{len(reach.suites)} suites, {sum(each['seconds'] for each in reach.suites.values()):.0f} s")
    judge = Judge(reach, deadline)
    chosen = list(found)
    random.Random(1).shuffle(chosen)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(judge.judge, chosen[: options.sample]))
    judge.keep()
    for result in ("survived", "not reached"):
        print(f"\n{result}:")
        for each in found:
            if judge.judged.get(str(each.number)) == result:
                print(each)
    print(f"\n{judge.counts()}")


main()
