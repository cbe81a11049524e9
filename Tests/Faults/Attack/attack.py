"""Fifty hostile connections to one of two nodes: the effect on its honest peer, and the cost to the node.

The attackers share the processor. To see the effect of that alone, they attack a node of another circle first:
`elsewhere`.

`costly` measures one hostile member that sends few but expensive sets: `costly.py`. `quota` measures one that writes
far more than its quota: `quota.py`. `files` measures one that names more files than its quota allows: `large_files.py`.

`addresses` lets strangers with 300 addresses, each in a network of its own, attack the node. It measures a change, and how
soon a device that starts is in sync.
"""

import json
import multiprocessing
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Independent" / "Interop"))
import node as nodes  # noqa: E402

import strangers  # noqa: E402

try:
    import costly
    import large_files
    import members
    import quota
except ImportError:
    costly = large_files = members = quota = None

WRITES = 30
SETTLE_SECONDS = 8


class Peer(nodes.Node):
    """A device that joined another device's circle and serves."""

    def __init__(self, name, founder):
        self.founder = founder
        super().__init__(name)

    def command(self, *words):
        if words[0] == "issuer":
            return ""
        if words[0] == "init":
            ticket = self.founder.command("invite")
            return super().command("join", ticket, "--name", words[2], *words[5:])
        return super().command(*words)


class Gauge:
    """Processor time, memory and descriptors of a process."""

    def __init__(self, process):
        self.folder = pathlib.Path(f"/proc/{process.pid}")

    def field(self, name):
        for line in (self.folder / "status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        return 0

    @property
    def resident(self):
        return self.field("VmRSS") / 1024

    @property
    def threads(self):
        return self.field("Threads")

    @property
    def descriptors(self):
        return len(list((self.folder / "fd").iterdir()))

    @property
    def seconds(self):
        fields = (self.folder / "stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Control:
    """The node's control socket, kept open so that a write starts no process."""

    def __init__(self, home):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(home / "control.sock"))
        self.lines = self.socket.makefile("rb")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"command": command, "arguments": arguments}).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        assert answer.get("type") == "result", answer
        return answer["document"]


def latency(control, reader, value):
    """Milliseconds from a write here until the other node's settings contain it."""
    start = time.monotonic()
    control.ask("settings.set", key="attack", value=value)
    copy = reader.home / "settings.json"
    while value not in copy.read_text():
        assert time.monotonic() < start + 60, "a write did not reach the peer within a minute"
        time.sleep(0.001)
    return (time.monotonic() - start) * 1_000


def measure(alice, bob, label):
    """Latencies of writes in both directions, one after another."""
    controls = Control(alice.home), Control(bob.home)
    times = []
    for number in range(WRITES):
        writer, reader = (controls[0], bob) if number % 2 == 0 else (controls[1], alice)
        times.append(latency(writer, reader, f"{label}-{number}"))
        time.sleep(0.1)
    return times


def wait_in_sync(alice, bob):
    end = time.monotonic() + 30
    while not any(row["state"] == "in_sync" for row in alice.json("peers")["peers"]):
        assert time.monotonic() < end, "the two nodes never got in sync"
        time.sleep(0.2)
    (bob.home / "settings.json").exists() or bob.command("settings", "set", "attack", "none")
    end = time.monotonic() + 30
    while not all((each.home / "settings.json").exists() for each in (alice, bob)):
        assert time.monotonic() < end, "no copy of the settings"
        time.sleep(0.2)


def attackers(alice):
    """Attacking processes that run until stopped: one for all strangers, and one per hostile member."""
    hostile = members.recruit(alice) if members else []
    count = 50 - len(hostile)
    found = [(strangers.attack, (alice.address, count, alice.circle))]
    found += [(members.attack, (each, kind)) for each, kind in hostile]
    return [multiprocessing.Process(target=body, args=arguments, daemon=True) for body, arguments in found]


def row(name, times):
    ordered = sorted(times)
    return (f"{name:<10} median {statistics.median(ordered):7.1f} ms   90 % {ordered[len(ordered) * 9 // 10]:7.1f} ms"
            f"   most {ordered[-1]:7.1f} ms")


def elsewhere(alice, bob, other):
    """Latencies while a node of another circle is attacked on the same machine."""
    processes = attackers(other)
    for each in processes:
        each.start()
    time.sleep(SETTLE_SECONDS)
    times = measure(alice, bob, "elsewhere")
    for each in processes:
        each.kill()
        each.join()
    return times


def end(*devices):
    """Ends the nodes that were started."""
    for each in devices:
        if each is not None:
            if "--log" in sys.argv:
                print((each.folder / "log").read_text()[-6000:], file=sys.stderr)
            each.end()


def conclude(failures):
    """Prints what failed; returns the exit code."""
    for failure in failures:
        print("FAILED: " + failure)
    return 1 if failures else 0


def run():
    alice, other = nodes.Node("Alice"), nodes.Node("Eve")
    bob = None
    try:
        bob = Peer("Bob", alice)
        wait_in_sync(alice, bob)
        gauge = Gauge(alice.process)
        measure(alice, bob, "warm")
        calm = measure(alice, bob, "calm")
        noise = elsewhere(alice, bob, other)
        processes = attackers(alice)
        before = gauge.resident, gauge.descriptors, gauge.threads
        for each in processes:
            each.start()
        time.sleep(SETTLE_SECONDS)
        begun, used = time.monotonic(), gauge.seconds
        attacked = measure(alice, bob, "attacked")
        cpu = (gauge.seconds - used) / (time.monotonic() - begun) * 100
        during = gauge.resident, gauge.descriptors, gauge.threads
        for each in processes:
            each.kill()
            each.join()
        time.sleep(SETTLE_SECONDS)
        after = gauge.resident, gauge.descriptors, gauge.threads
        alive = alice.is_alive() and bob.is_alive()
        report(calm, noise, attacked, cpu, before, during, after, alive, len(processes) - 1)
        return verdict(calm, noise, attacked, before, during, after, alive)
    finally:
        end(alice, bob, other)


def report(calm, noise, attacked, cpu, before, during, after, alive, hostile):
    middle = statistics.median
    ratio = f"{middle(attacked) / middle(calm):.1f} times, {middle(attacked) / middle(noise):.1f} times of elsewhere"
    print(f"50 connections, {hostile} of them from members")
    print(row("calm", calm))
    print(row("elsewhere", noise))
    print(row("attacked", attacked) + "   " + ratio)
    print(f"the node: {cpu:.0f} % of a core")
    for index, (name, unit) in enumerate([("memory", "MB"), ("descriptors", ""), ("threads", "")]):
        print(f"  {name:<12} {before[index]:6.0f} before {during[index]:6.0f} attacked {after[index]:6.0f} after {unit}")
    print("both nodes run" if alive else "A NODE DIED")


def verdict(calm, noise, attacked, before, during, after, alive):
    failures = []
    if not alive:
        failures.append("a node died")
    # If the attackers alone keep the machine busy, latency is compared with that.
    if statistics.median(attacked) >= max(5 * statistics.median(calm), 2 * statistics.median(noise)):
        failures.append("latency rose fivefold or more")
    if max(during[0], after[0]) - before[0] >= 64:
        failures.append("the memory rose by 64 MB or more")
    if after[1] > before[1] + 2:
        failures.append("descriptors leaked")
    return conclude(failures)


# Costly sets

COSTLY_SECONDS = 120
# How long honest changes are made and measured.
COSTLY_CHANGES_SECONDS = 15
# The longest that an honest change may take, whatever one member sends.
COSTLY_MILLISECONDS_MAX = 5_000


# How long nothing may have changed before both nodes count as done. Branches beyond the sixteenth of a tree are excluded,
# so a node stores only some of what the attacker sends.
COSTLY_QUIET_SECONDS = 5


def held_at(node):
    lane = node.json("status")["lanes"]["settings"]
    return lane["changeSets"], lane["digest"]


def quiet_at(alice, bob, end):
    """When both nodes held the same for the first time of `COSTLY_QUIET_SECONDS` without a change; None if never."""
    held, since = None, None
    while time.monotonic() < end:
        now = [held_at(each) for each in (alice, bob)]
        if now != held or now[0] != now[1]:
            held, since = now, time.monotonic()
        elif time.monotonic() > since + COSTLY_QUIET_SECONDS:
            return since
        time.sleep(0.2)
    return None


def measure_costly(alice, bob, name, count, label):
    """Latency of changes from Alice to Bob during an attack, the time until both hold the same, and the cost to both."""
    process, brought = costly.attack(alice, name, count)
    gauges = Gauge(alice.process), Gauge(bob.process)
    used = [each.seconds for each in gauges]
    process.start()
    times, replies, begun = [], [], time.monotonic()
    while time.monotonic() < begun + COSTLY_CHANGES_SECONDS:
        # The control server closes connections that are idle for ten seconds.
        times.append(latency(Control(alice.home), bob, f"{label}-{len(times)}"))
        asked = time.monotonic()
        alice.json("status")
        replies.append((time.monotonic() - asked) * 1_000)
        time.sleep(0.05)
    # The last attack never ends, and changes nothing.
    done = quiet_at(alice, bob, begun + COSTLY_SECONDS)
    process.kill()
    process.join()
    spent = [each.seconds - start for each, start in zip(gauges, used)]
    ended = f"{done - begun:6.1f} s until both held the same" if done else f"UNEQUAL AFTER {COSTLY_SECONDS} s"
    print(f"{name:<18} {brought:6} sets   changes: median {statistics.median(times):7.1f} ms, most {max(times):7.1f} ms"
          f"   status: most {max(replies):7.1f} ms   {ended}   CPU {spent[0]:5.1f} s and {spent[1]:5.1f} s", flush=True)
    return max(times), done is not None


def run_costly():
    alice, bob, failures = nodes.Node("Alice"), None, []
    try:
        bob = Peer("Bob", alice)
        wait_in_sync(alice, bob)
        measure(alice, bob, "warm")
        print(row("calm", measure(alice, bob, "calm")), flush=True)
        for number, (name, count) in enumerate(costly.ATTACKS):
            most, is_done = measure_costly(alice, bob, name, count, f"costly-{number}")
            if most > COSTLY_MILLISECONDS_MAX or not is_done:
                failures.append(f"{name}, {count}: honest changes were delayed")
        if not (alice.is_alive() and bob.is_alive()):
            failures.append("a node died")
    finally:
        end(alice, bob)
    return conclude(failures)


# Many addresses

SOURCES = [f"10.{60 + number // 250}.{number % 250}.7" for number in range(300)]
STARTS = 8
# The longest that a device which starts may take until it is in sync, if the machine is not too busy for that anyway.
START_MILLISECONDS_MAX = 2_000


def lay_addresses():
    """Starts this program again in a network of its own with all addresses; returns False where that is not allowed."""
    if "--inside" in sys.argv:
        commands = ["link set lo up", "address add 10.50.0.1/32 dev lo"]
        commands += [f"address add {source}/32 dev lo" for source in SOURCES]
        subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)
        return True
    probe = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode != 0:
        print("skipped: without the right to make networks, or without `ip`, strangers have one address")
        return False
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv, "--inside"])


def starts(bob):
    """Milliseconds of several starts of Bob's node until it is in sync."""
    times = []
    for _ in range(STARTS):
        bob.stop()
        begun = time.monotonic()
        bob.start()
        while not any(row["state"] == "in_sync" for row in bob.json("peers")["peers"]):
            assert time.monotonic() < begun + 60, "Bob's node is not in sync a minute after its start"
            time.sleep(0.02)
        times.append((time.monotonic() - begun) * 1_000)
    return times


def run_addresses():
    if not lay_addresses():
        return 0
    nodes.Node.listen = "10.50.0.1:0"
    alice, other, bob, failures = nodes.Node("Alice"), nodes.Node("Eve"), None, []
    try:
        bob = Peer("Bob", alice)
        wait_in_sync(alice, bob)
        measure(alice, bob, "warm")
        found = {}
        for name, target in (("calm", None), ("elsewhere", other), ("attacked", alice)):
            process = multiprocessing.Process(
                target=strangers.attack_from, args=(target.address, SOURCES, target.circle), daemon=True
            ) if target else None
            if process:
                process.start()
                time.sleep(SETTLE_SECONDS)
            found[name] = measure(alice, bob, name), starts(bob)
            print(row(name, found[name][0]) + "   a start until in sync: " + row("", found[name][1]).strip(), flush=True)
            if process:
                process.kill()
                process.join()
        middle = {name: [statistics.median(each) for each in pair] for name, pair in found.items()}
        for index, what in enumerate(("a change", "a start")):
            if middle["attacked"][index] >= 2 * max(middle["calm"][index], middle["elsewhere"][index]):
                failures.append(f"{what} took twice its usual time or more")
        if max(found["attacked"][1]) > max(START_MILLISECONDS_MAX, 2 * max(found["elsewhere"][1])):
            failures.append("a device that started was kept out")
        if not (alice.is_alive() and bob.is_alive()):
            failures.append("a node died")
    finally:
        end(alice, bob, other)
    return conclude(failures)


# Beyond the quota

QUOTA_SECONDS = 300


def measure_quota(alice, bob, name, calm):
    """Latency of changes from Alice to Bob while a member writes more than its quota, and what the disks hold after."""
    process, done, client = quota.attack(alice, name)
    before = [quota.disk(each) for each in (alice, bob)]
    process.start()
    times, begun = [], time.monotonic()
    while not done.is_set() and time.monotonic() < begun + QUOTA_SECONDS:
        times.append(latency(Control(alice.home), bob, f"{name}-{len(times)}"))
        time.sleep(0.05)
    process.kill()
    process.join()
    time.sleep(SETTLE_SECONDS)
    grown = [quota.disk(each) - size for each, size in zip((alice, bob), before)]
    print(row(name, times) + f"   disks grew by {grown[0] >> 10} and {grown[1] >> 10} KiB"
          + ("" if done.is_set() else f"   NOT ALL SENT WITHIN {QUOTA_SECONDS} s"), flush=True)
    failures = []
    if max(grown) > quota.DISK_BYTES_MAX:
        failures.append(f"{name}: a disk grew by {max(grown)} bytes")
    if statistics.median(times) > 2 * statistics.median(calm):
        failures.append(f"{name}: honest changes took more than twice their time")
    # Of branches, most are excluded by the proof against them, which makes the member no larger but forked.
    if not any(each.get("device") == client.device.hex() for each in alice.json("status")["notices"]):
        failures.append(f"{name}: status does not name the member")
    return failures


def run_quota():
    alice, bob, failures = nodes.Node("Alice"), None, []
    try:
        bob = Peer("Bob", alice)
        wait_in_sync(alice, bob)
        measure(alice, bob, "warm")
        calm = measure(alice, bob, "calm")
        print(row("calm", calm), flush=True)
        for name in quota.ATTACKS:
            failures += measure_quota(alice, bob, name, calm)
        if not (alice.is_alive() and bob.is_alive()):
            failures.append("a node died")
    finally:
        end(alice, bob)
    return conclude(failures)


# Large files

# What a node may fetch of one member by itself: 16 times its quota of records, which is 1 GiB.
FETCHED_FILES_MAX = 16


def run_files():
    alice, bob, failures = nodes.Node("Alice"), None, []
    try:
        bob = Peer("Bob", alice)
        wait_in_sync(alice, bob)
        measure(alice, bob, "warm")
        calm = measure(alice, bob, "calm")
        print(row("calm", calm), flush=True)
        process, client = large_files.attack(alice)
        process.start()
        large_files.wait_until_named(alice)
        memory = Gauge(alice.process)
        attacked = measure(alice, bob, "attacked")
        received = sum(each.stat().st_size for each in pathlib.Path(alice.home, "files").rglob("*") if each.is_file())
        print(row("attacked", attacked) + f"   {received >> 20} MiB of files received, {memory.resident:.0f} MB resident",
              flush=True)
        wait = [nodes.BINARY, "--home", alice.home, "wait", "--peer", "Eve", "--timeout", "1"]
        waiting = subprocess.run(wait, capture_output=True, text=True).stderr
        process.kill()
        process.join()
        if f" {FETCHED_FILES_MAX} files are still to come" not in waiting:
            failures.append(f"not {FETCHED_FILES_MAX} of {large_files.FILES} files are fetched: {waiting.strip()}")
        if statistics.median(attacked) > max(5 * statistics.median(calm), COSTLY_MILLISECONDS_MAX / 50):
            failures.append("latency rose fivefold or more")
        if not (alice.is_alive() and bob.is_alive()):
            failures.append("a node died")
    finally:
        end(alice, bob)
    return conclude(failures)


if __name__ == "__main__":
    if "addresses" in sys.argv:
        sys.exit(run_addresses())
    kinds = {"costly": run_costly, "quota": run_quota, "files": run_files}
    chosen = next((kinds[each] for each in sys.argv[1:] if each in kinds), run)
    sys.exit(run() if costly is None else chosen())
