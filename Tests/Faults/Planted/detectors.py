"""What can find a mistake: groups of tests, histories and the simulator, each with a time limit.

A detector counts only for failures that it has with the mistake and not without. So each is first run without a
mistake, and a test that failed with one is run again by itself, with the mistake and without, before it counts: a
deadline that was missed because the machine was busy proves nothing.
"""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FAILED = re.compile(r"✘ Test (\"[^\"]*\"|\S+?\(.*?\)) .*?recorded an issue")
# The searches of all small worlds take minutes, and the others judge the sources or repeat what the histories do.
EXHAUSTIVE = "SmallWorldTests|JournalWorldTests|StoreWorldTests|SimulationTests|TidyTests|FuzzTests|HistoriesTests"
NODE = r"^(WaymarkTests|CommandTests)\."
PROCESS = r"^ProcessTests\."
# The modules that simulated runs reach best.
CORE = {"Membership", "RecordTables", "Replication", "Storage", "Wire"}


RUNNING = set()


class Machine:
    """Lets several mistakes be judged at once, except where tests have deadlines."""

    def __init__(self, jobs):
        self.jobs, self.free = jobs, jobs
        self.changed, self.queue = threading.Condition(), threading.Lock()

    def enter(self, is_alone):
        wanted = self.jobs if is_alone else 1
        with self.queue, self.changed:
            self.changed.wait_for(lambda: self.free >= wanted)
            self.free -= wanted
        return wanted

    def leave(self, taken):
        with self.changed:
            self.free += taken
            self.changed.notify_all()


class Outcome:
    def __init__(self, failure, test, seconds):
        self.failure, self.test, self.seconds = failure, test, seconds


class Detector:
    def __init__(self, name, command, seconds, is_alone=False, watches=None):
        self.name, self.command, self.seconds, self.is_alone = name, command, seconds, is_alone
        self.watches = watches

    def run(self, build, number, log, known=(), limit=None):
        """Runs until the first failure that is not known, or to the end."""
        began = time.monotonic()
        # A backtrace of a crash takes most of a minute, and is not read.
        environment = dict(os.environ, WAYMARK_PLANTED=str(number), SWIFT_BACKTRACE="enable=no")
        command = [str(build / self.command[0]), *self.command[1:]]
        with open(log, "w") as kept:
            child = subprocess.Popen(
                command, cwd=build.parents[1] / "tree", env=environment, start_new_session=True, text=True,
                errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            RUNNING.add(child)
            late = threading.Event()
            timer = threading.Timer(limit or self.seconds, lambda: (late.set(), end(child)))
            timer.start()
            failure, test = None, None
            for line in child.stdout:
                line = COLOUR.sub("", line)
                kept.write(line)
                failure, test = self.failed(line)
                if failure and (test is None or test not in known):
                    end(child)
                    break
                failure, test = None, None
            code = child.wait()
            RUNNING.discard(child)
            timer.cancel()
        end_orphans(build)
        if not failure and late.is_set():
            failure = "no end within the time limit"
        elif not failure and code < 0:
            failure = f"crash: signal {-code}"
        elif not failure and code > 0 and not known:
            failure = f"exit code {code}"
        return Outcome(failure, test, time.monotonic() - began)

    def failed(self, line):
        if self.watches is None:
            found = FAILED.search(line)
            return (found.group(1), found.group(1)) if found else (None, None)
        found = re.search(self.watches, line)
        return (line.strip()[:200], None) if found else (None, None)


def end(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    """Ends this program with everything that it runs."""
    for child in list(RUNNING):
        end(child)
    os._exit(1)


def end_orphans(build):
    """Ends the nodes that a test started and that outlived it, because it was stopped at its first failure."""
    folder = str(build.resolve())
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == "1" and os.readlink(process / "exe").startswith(folder):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


def tests(name, *selection, seconds=300, is_alone=False):
    command = ["waymarkPackageTests.xctest", "--testing-library", "swift-testing", *selection]
    return Detector(name, command, seconds, is_alone)


def one_test(test):
    """The detector that runs a test by its name, whatever quotes it."""
    words = re.escape(test.strip("\"`'").removesuffix("()").strip("`")).replace(r"\ ", ".")
    return tests(f"the test {test}", "--filter", words, seconds=180)


def detectors(mistake):
    """The detectors for a mistake, in the order in which they are tried."""
    if mistake.tests:
        yield tests(f"first {mistake.area}", "--filter", mistake.tests, seconds=240)
    yield tests("transcripts", "--filter", r"\.TranscriptTests/", seconds=240)
    histories = [
        Detector(
            "histories", ["HistoryRunner", "--runs", "60", "--seed", "1", "--steps", "60", "--devices", "3"], 300,
            watches="^shortening"),
        Detector(
            "simulated histories", ["HistoryRunner", "--simulated", "--runs", "60", "--seed", "1", "--steps", "60"],
            300, watches="^shortening"),
    ]
    # Nothing else stops a machine between two changes of a file.
    yield from reversed(histories) if mistake.area == "stops" else histories
    deadlines = rf"^TransportTests\.|^HTTPTests\.|{NODE}|{PROCESS}"
    yield tests("units", "--skip", f"{deadlines}|{EXHAUSTIVE}", seconds=400)
    yield tests("sockets", "--filter", r"^(TransportTests|HTTPTests)\.", seconds=300, is_alone=True)
    yield tests("nodes", "--filter", NODE, seconds=600, is_alone=True)
    if mistake.area == "core" or mistake.path.split("/")[1] in CORE:
        yield Detector(
            "simulator", ["simulator", "--seeds", "1", "60", "--no-shrink"], 400, watches="^FAILED")
    yield tests("processes", "--filter", PROCESS, seconds=900, is_alone=True)
