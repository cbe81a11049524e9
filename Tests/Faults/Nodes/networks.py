"""Separate networks for the devices of one run, in a namespace that ends with the run."""

import os
import pathlib
import shutil
import subprocess
import sys

from node import BINARY
from stage import Device, check

NAMES = ("alice", "bob", "carol", "dave", "erin")

# Whether this machine permits everything that a run needs.
PROBE = """mount -t tmpfs tmpfs /run && ip netns add probe \
  && ip link add probe0 type veth peer name probe1 netns probe && ip link add probe2 type bridge"""


def system(*words, may_fail=False):
    done = subprocess.run(words, capture_output=True, text=True)
    check(may_fail or done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 0


def inside(name, *words, may_fail=False):
    return system("ip", "netns", "exec", name, *words, may_fail=may_fail)


def begin(without):
    """Starts this program again in a namespace, and returns the arguments after the name of the run there. Without
    the right to create networks it prints what is not possible `without` it and returns None."""
    if "--inside" in sys.argv:
        return [word for word in sys.argv[1:] if word != "--inside"]
    spread = ["unshare", "--mount", "--net", "--propagation", "private"]
    if shutil.which("unshare") is None or not system(*spread, "sh", "-c", PROBE, may_fail=True):
        print(f"skipped: without the right to make networks, or without `ip`, {without}")
        return None
    os.execvp(spread[0], [*spread, sys.executable, *sys.argv, "--inside"])


class InNetwork(Device):
    """A device whose node and commands run in their own network."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.number = NAMES.index(name) + 1
        self.host = f"10.77.0.{self.number}"
        self.address = f"{self.host}:7433"
        self.binary = str(folder / f"{name}-program")
        self.use(BINARY)

    def use(self, program):
        """Runs another build from the next process on."""
        path = pathlib.Path(self.binary)
        # Renamed, because the file may be being executed.
        new = path.with_suffix(".new")
        new.write_text(f'#!/bin/sh\nexec ip netns exec {self.name} {program} "$@"\n')
        new.chmod(0o755)
        new.rename(path)

    @property
    def environment(self):
        return super().environment | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    @property
    def port(self):
        return f"wire{self.number}"


def lay_wires():
    """A network for each name, and a bridge between them."""
    system("mount", "-t", "tmpfs", "tmpfs", "/run")
    system("ip", "link", "add", "bridge0", "type", "bridge")
    system("ip", "link", "set", "bridge0", "up")
    for number, name in enumerate(NAMES, 1):
        system("ip", "netns", "add", name)
        system("ip", "link", "add", f"wire{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        system("ip", "link", "set", f"wire{number}", "master", "bridge0", "up")
        inside(name, "ip", "link", "set", "lo", "up")
        inside(name, "ip", "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
        inside(name, "ip", "link", "set", "eth0", "up")
