"""Size, shared libraries, start time and idle memory of the program, next to those of Syncthing.

    footprint.py WAYMARK [--limits]    WAYMARK is the program, of which a stripped copy is measured, as it is installed

Prints a table with ratios. With --limits, the exit code is 1 if the program exceeds one of the limits below. A column of
Syncthing stays empty if it is not installed.
"""

import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from files import Syncthing, eventually

RUNS = 31
IDLE_SECONDS = 10
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6"}
# In the unit of the table.
LIMITS = {"size": 15.0, "--version": 10.0, "status": 10.0, "written memory": 4.0, "resident memory": 20.0}


def libraries(program):
    """The shared libraries that a program needs, without the loader and the kernel's."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines()
    names = [line.split()[0] for line in lines if "=>" in line]
    return sorted(name for name in names if not name.startswith("linux-vdso"))


def start_time(command):
    """The median time in milliseconds from the start of a command to its end."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def memory(process):
    """The memory of a process in MB: what it has written and not shared, and all that is resident."""
    sizes = {}
    for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, size, _ = line.split()
        sizes[name.rstrip(":")] = int(size) * 1024 / 1e6
    return sizes["Private_Dirty"], sizes["Rss"]


def waymark(program, work):
    stripped = work / "waymark"
    shutil.copy(program, stripped)
    subprocess.run(["strip", stripped], check=True)
    command = [stripped, "--home", work / "node"]
    subprocess.run([*command, "init", "--name", "laptop"], check=True, capture_output=True)
    subprocess.run([*command, "trip", "add", "name=Rome"], check=True, capture_output=True)
    found = {"size": stripped.stat().st_size / 1e6, "libraries": libraries(stripped),
             "--version": start_time([stripped, "--version"])}
    with open(work / "log", "w") as log:
        node = subprocess.Popen(
            [*command, "run", "--listen", "127.0.0.1:0", "--no-discovery"], stdout=log, stderr=log)
    try:
        eventually("the node serves", lambda: "ready" in (work / "log").read_text())
        time.sleep(IDLE_SECONDS)
        found["written memory"], found["resident memory"] = memory(node.pid)
        found["status"] = start_time([*command, "status"])
    finally:
        node.send_signal(signal.SIGTERM)
        node.wait()
    return found


def syncthing(work):
    if (program := shutil.which("syncthing")) is None:
        return {}
    found = {"size": os.path.getsize(os.path.realpath(program)) / 1e6, "libraries": libraries(program),
             "--version": start_time([program, "--version"])}
    work.mkdir()
    instance = Syncthing(work / "home", work / "files")
    instance.configure()
    instance.start()
    try:
        time.sleep(IDLE_SECONDS)
        children = subprocess.run(["pgrep", "-P", str(instance.process.pid)], capture_output=True, text=True)
        # Its first process only watches the second.
        sizes = [memory(process) for process in [instance.process.pid, *map(int, children.stdout.split())]]
        found["written memory"], found["resident memory"] = (sum(each) for each in zip(*sizes))
    finally:
        instance.stop()
    return found


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="wm-footprint-") as folder:
        work = pathlib.Path(folder)
        ours, theirs = waymark(program, work), syncthing(work / "syncthing")
    rows = [("size", "MB"), ("--version", "ms"), ("status", "ms"), ("written memory", "MB"), ("resident memory", "MB")]
    print(f"{'':24}{'waymark':>10}{'limit':>8}{'syncthing':>11}{'ratio':>7}")
    failures = 0
    for name, unit in rows:
        own, limit, other = ours[name], LIMITS[name], theirs.get(name)
        failures += own > limit
        compared = f"{other:11.1f}{own / other:7.2f}" if other else f"{'–':>11}{'–':>7}"
        print(f"{f'{name}, {unit}':24}{own:10.1f}{limit:8.0f}{compared}" + ("  exceeded" if own > limit else ""))
    further = set(ours["libraries"]) - SYSTEM_LIBRARIES
    failures += bool(further)
    print(f"shared libraries: waymark {' '.join(ours['libraries'])}; syncthing {' '.join(theirs.get('libraries', []))}")
    if further:
        print(f"exceeded: {' '.join(sorted(further))} not part of every system's C library")
    sys.exit(1 if failures and "--limits" in sys.argv else 0)


if __name__ == "__main__":
    main()
