"""Separate networks for the devices of one run, in a namespace that ends with the run."""

import os
import shutil
import subprocess
import sys

from stage import check

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
