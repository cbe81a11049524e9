"""A node with few file descriptors gets a flood of connections: it must not spin, must not crash, and must recover.

    run descriptors [SECONDS [LIMIT…]]

LIMIT is how many descriptors the node may have (default 32).
"""

import os
import pathlib
import shutil
import socket
import sys
import threading
import time

from node import Refusal
from people import Line
from stage import RETRIES, Circle, Failure, NotReady, check, eventually, stage


class Flood:
    """Opens connections, holds them, and reopens each that is closed."""

    def __init__(self, address, count):
        host, _, port = address.rpartition(":")
        self.place = (host.strip("[]"), int(port))
        self.count = count
        self.sockets = []
        self.opened = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over:
            while len(self.sockets) < self.count and not self.is_over:
                try:
                    each = socket.create_connection(self.place, timeout=2)
                    each.setblocking(False)
                    self.sockets.append(each)
                    self.opened += 1
                except OSError:
                    time.sleep(0.02)
            for each in list(self.sockets):
                try:
                    if each.recv(1) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    pass
                except OSError:
                    each.close()
                    self.sockets.remove(each)
            time.sleep(0.01)

    def end(self):
        self.is_over = True
        self.thread.join()
        for each in self.sockets:
            each.close()


class Gauge:
    """Processor time that a process has used so far."""

    def __init__(self, process):
        self.folder = pathlib.Path(f"/proc/{process}")

    @property
    def seconds(self):
        fields = (self.folder / "stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def descriptors(self):
        return len(list((self.folder / "fd").iterdir()))


class Descriptors:
    def __init__(self, folder, circle, seconds):
        self.folder, self.circle, self.seconds = folder, circle, seconds
        self.alice, self.bob = circle.nodes

    def run(self, limit):
        """Alice has few descriptors, and hundreds of strangers connect to her."""
        alice = self.alice
        alice.end()
        alice.wrapper = ["prlimit", f"--nofile={limit}:{limit}"]
        alice.start()
        before = Gauge(alice.process.pid).descriptors
        flood = Flood(alice.address, 200)
        try:
            busy, said, most, answers = self.watch()
        finally:
            flood.end()
        begun = time.monotonic()
        eventually("alice answers her commands again", self.answers, 20)
        self.meets()
        back = time.monotonic() - begun
        check(alice.process.poll() is None, f"alice ended with {alice.process.poll()}: {alice.last_words()}")
        eventually(lambda: f"alice leaks descriptors: {before} before, {Gauge(alice.process.pid).descriptors} now",
                   lambda: Gauge(alice.process.pid).descriptors <= before + 2, 30)
        print(
            f"descriptors {limit}: {flood.opened} connections of strangers, {most} descriptors at most, {busy:.0f} % "
            f"of a core, {answers[0]} commands answered and {answers[1]} not, {said} lines in the log, recovered "
            f"after {back:.1f} s", flush=True)
        check(answers[1] == 0, f"{answers[1]} of {sum(answers)} commands were not answered during the flood")
        # The node must not spin on failing accepts: each round would add a line to the log or accept a connection.
        check(said < 200 * self.seconds, f"the log got {said} lines in {self.seconds} s")
        return busy

    def start_with_too_few(self):
        """A limit that is too low gives a clear error, not a failure in the middle of the start."""
        for limit in (10, 14, 20, 31):
            self.alice.end()
            self.alice.wrapper = ["prlimit", f"--nofile={limit}:{limit}"]
            try:
                self.alice.start()
            except NotReady as ended:
                check(ended.code == 1 and "ulimit" in ended.said, f"with {limit} files alice ended with {ended.code}: "
                      f"{ended.said[-300:]}")
            else:
                raise Failure(f"alice serves with {limit} files")
        self.alice.wrapper = []
        self.alice.start()

    def watch(self):
        gauge = Gauge(self.alice.process.pid)
        time.sleep(0.5)
        lines, used, begun, most, answers = self.lines(), gauge.seconds, time.monotonic(), 0, [0, 0]
        while time.monotonic() < begun + self.seconds:
            check(self.alice.process.poll() is None,
                  f"alice ended with {self.alice.process.poll()} in the flood: {self.alice.last_words()}")
            most = max(most, gauge.descriptors)
            answers[0 if self.answers() else 1] += 1
            time.sleep(0.25)
        busy = (gauge.seconds - used) / (time.monotonic() - begun) * 100
        return busy, self.lines() - lines, most, answers

    def lines(self):
        return self.alice.log.read_text().count("\n")

    def answers(self):
        """Whether a command on a new connection is answered; an error with a reason is an answer."""
        try:
            line = Line(self.alice)
            line.socket.settimeout(5)
            line.ask("status")
            line.close()
            return True
        except Refusal:
            return True
        except RETRIES:
            return False

    def meets(self):
        """Writes on either side reach the other."""
        self.circle.settle(40)
        Line(self.alice).ask("trip.add", fields=[["name", "after the flood"]])
        self.circle.settle(20)


def main():
    words = [int(word) for word in sys.argv[1:]]
    seconds, limits = (words[0] if words else 10), (words[1:] or [32])
    if shutil.which("prlimit") is None:
        print("skipped: there is no prlimit")
        return
    print(f"descriptors {seconds} {limits}", flush=True)
    with stage("descriptors") as folder, Circle(folder, ("alice", "bob")) as circle:
        run = Descriptors(folder, circle, seconds)
        run.start_with_too_few()
        for limit in limits:
            run.run(limit)


main()
