"""Faults of the nodes of one circle: kills, pauses, cut links, shifted clocks, full disks, upgrades.

Each fault begins, lasts a while and ends; faults of different kinds and nodes overlap. They are recorded as events.
"""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

from networks import NAMES, InNetwork, inside, system
from node import BINARY
from stage import Circle

# Ahead: within the drift that nodes tolerate (ten minutes), so that no change has to wait until the time has come. Behind:
# any amount; the node then keeps newer changes of others until its clock is right again.
SHIFTS = (30, 240, 540, -45, -590, -3_600, -86_400)
NO_ONE = "02:00:00:00:00:01"
# An older build, with which all nodes begin; they are upgraded one by one.
OLDER = os.environ.get("WAYMARK_OLDER")


def build_clock(folder):
    """The library that shifts clocks; None without a C compiler."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        return None
    library = folder / "shifted_clock.so"
    source = pathlib.Path(__file__).with_name("shifted_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


class FaultyDevice(InNetwork):
    """A device with a network, a disk and a clock of its own."""

    library = None

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.is_older = OLDER is not None
        if self.is_older:
            self.use(OLDER)
        self.home.mkdir(mode=0o700)
        self.room("512m", "mount", "-t", "tmpfs", "tmpfs")
        self.clock = folder / f"{name}.clock"
        self.clock.write_text("0\n")
        if self.library is not None:
            self.extra = {"LD_PRELOAD": str(self.library), "CLOCK_FILE": str(self.clock)}

    def upgrade(self):
        self.use(BINARY)
        self.is_older = False

    def room(self, size, *words):
        options = "mode=0700,size=" + size
        subprocess.run([*(words or ("mount",)), "-o", options if words else f"remount,{options}", str(self.home)],
                       check=True)

    def shift(self, seconds):
        # Readers see the whole number.
        other = self.clock.with_suffix(".new")
        other.write_text(f"{seconds}\n")
        other.rename(self.clock)

    def shrink(self):
        """Leaves little more room than is used."""
        status = os.statvfs(self.home)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        self.room(f"{used // 1024 + 256}k")

    def fill(self):
        """Leaves no byte on the disk."""
        with open(self.home / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
            for size in (65_536, 4_096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def empty(self):
        (self.home / "filler").unlink(missing_ok=True)
        self.room("512m")


@contextlib.contextmanager
def faulty_circle(folder):
    """Running nodes with all of these. Their disks end with the run, so they are copied if it fails."""
    nodes = []
    try:
        with Circle(folder, NAMES, FaultyDevice) as circle:
            nodes = circle.nodes
            yield circle
    except BaseException:
        for node in nodes:
            shutil.copytree(node.home, folder / f"{node.name}-home", ignore=shutil.ignore_patterns("*.sock", "filler"))
        raise
    finally:
        for node in nodes:
            subprocess.run(["umount", "--lazy", str(node.home)], check=False)


class Faults:
    def __init__(self, nodes, recorder, rng):
        self.nodes, self.recorder, self.rng = nodes, recorder, rng
        self.counts = collections.Counter()
        self.busy, self.threads, self.troubles = set(), [], []
        self.kinds = ["kill", "kill", "pause", "cut", "cut", "one way", "full disk"]
        if FaultyDevice.library is not None:
            self.kinds += ["clock", "clock"]
        if OLDER is not None:
            self.kinds.append("upgrade")

    def begin(self):
        """Starts one fault that is not under way yet, in a thread."""
        kind, node = self.rng.choice(self.kinds), self.rng.choice(self.nodes)
        # A process is either killed, paused or upgraded; other kinds may meet at a node.
        part = (node.name, "process" if kind in ("kill", "pause", "upgrade")
                else "link" if kind in ("cut", "one way") else kind)
        if part in self.busy:
            return
        # One node keeps the older build, so that the builds meet until the end.
        if kind == "upgrade" and (not node.is_older or sum(each.is_older for each in self.nodes) == 1):
            return
        self.busy.add(part)
        self.counts[kind] += 1
        seconds = self.rng.uniform(0.1, 2) if kind == "kill" else self.rng.uniform(0.5, 6)
        more = {"cut": (), "kill": (), "pause": (), "upgrade": (), "full disk": (), "clock": (self.rng.choice(SHIFTS),),
                "one way": (self.rng.choice([each for each in self.nodes if each is not node]),)}[kind]

        def work():
            event = {"event": "fault", "fault": kind, "node": node.name, "begin": self.recorder.now()}
            try:
                with getattr(self, kind.replace(" ", "_"))(node, *more):
                    time.sleep(seconds)
            except Exception as error:  # noqa: BLE001: told by the main thread
                self.troubles.append((kind, node.name, error))
            event["end"] = self.recorder.now()
            self.recorder.events.append(event)
            self.busy.discard(part)

        thread = threading.Thread(target=work, daemon=True, name=f"{kind} {node.name}")
        self.threads.append(thread)
        thread.start()

    def end(self, seconds=90):
        """Waits until all faults have ended."""
        deadline = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0, deadline - time.monotonic()))
            if thread.is_alive():
                raise TimeoutError(f"the fault “{thread.name}” did not end within {seconds} s")
        self.threads = []
        if self.troubles:
            kind, name, error = self.troubles[0]
            raise RuntimeError(f"after the fault “{kind}” of {name}: {error}") from error

    # MARK: Kinds

    @contextlib.contextmanager
    def kill(self, node):
        node.end(signal.SIGKILL)
        yield
        node.start()

    @contextlib.contextmanager
    def upgrade(self, node):
        node.end(signal.SIGKILL)
        yield
        node.upgrade()
        node.start()

    @contextlib.contextmanager
    def pause(self, node):
        node.process.send_signal(signal.SIGSTOP)
        yield
        node.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def cut(self, node):
        system("ip", "link", "set", node.port, "down")
        yield
        system("ip", "link", "set", node.port, "up")

    @contextlib.contextmanager
    def one_way(self, node, other):
        """Packets from the node to another one are dropped; the other direction works."""
        inside(node.name, "ip", "neighbour", "replace", other.host, "lladdr", NO_ONE, "dev", "eth0", "nud", "permanent")
        yield
        inside(node.name, "ip", "neighbour", "del", other.host, "dev", "eth0", may_fail=True)

    @contextlib.contextmanager
    def full_disk(self, node):
        node.shrink()
        is_over = threading.Event()

        def keep_full():
            # The node makes room for itself, by checkpoints and from its ballast.
            while not is_over.wait(0.05):
                node.fill()

        thread = threading.Thread(target=keep_full, daemon=True)
        thread.start()
        yield
        is_over.set()
        thread.join()
        node.empty()

    @contextlib.contextmanager
    def clock(self, node, seconds):
        node.shift(seconds)
        yield
        node.shift(0)
