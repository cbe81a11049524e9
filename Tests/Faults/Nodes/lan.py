"""Nodes that find each other on one network by themselves, and a stranger who listens, replays and floods.

    run lan [SEED]

Each device has its own network on a shared bridge and starts without an address of any other.
"""

import ctypes
import os
import pathlib
import random
import socket
import struct
import subprocess
import threading
import time

from networks import begin, inside, system
from node import BINARY
from stage import Circle, Device, agree, check, clock_can_be_set, eventually, stage, told

NAMES = ("alice", "bob", "carol")
STRANGER = "eve"
PORT = 7433
LIBC = ctypes.CDLL(None, use_errno=True)
REPEATED = 40
LENGTHS = (217, 313, 505)


def address(name, text):
    inside(name, "ip", "-4", "address", "flush", "dev", "eth0")
    if text:
        inside(name, "ip", "address", "add", f"{text}/24", "broadcast", "+", "dev", "eth0")


def lay_wires():
    """A network for each name, and a bridge between them."""
    system("mount", "-t", "tmpfs", "tmpfs", "/run")
    system("ip", "link", "add", "bridge0", "type", "bridge", "mcast_snooping", "0")
    system("ip", "link", "set", "bridge0", "up")
    for number, name in enumerate((*NAMES, STRANGER), 1):
        system("ip", "netns", "add", name)
        system("ip", "link", "add", f"wire{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        system("ip", "link", "set", f"wire{number}", "master", "bridge0", "up")
        inside(name, "ip", "link", "set", "lo", "up")
        address(name, f"10.77.0.{number}")
        inside(name, "ip", "link", "set", "eth0", "up")


class Finding(Device):
    """A device that listens on any port of its own network and looks for the others."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        program = folder / f"{name}-program"
        program.write_text(f'#!/bin/sh\nexec ip netns exec {name} {BINARY} "$@"\n')
        program.chmod(0o755)
        self.binary, self.finds = str(program), True

    @property
    def environment(self):
        return super().environment | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def start(self):
        words = [] if self.finds else ["--no-discovery"]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.binary, "--home", self.home, "run", "--listen", "[::]:0", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        ready = self.process.stdout.readline().split()
        check(ready[:1] == ["ready"], f"{self.name} is not ready: {self.last_words()}")

    def cpu_seconds(self):
        """Processor time in user and system mode."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def counted(self, name):
        text = self.run("metrics", json_wanted=False)
        return int(float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"waymark_{name} "))))


class Ear:
    """Captures every frame that reaches a machine of the network."""

    def __init__(self, name):
        with InNetworkOf(name):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.socket.bind(("eth0", 0))
        self.frames, self.is_over = [], False
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        self.socket.settimeout(0.2)
        while not self.is_over:
            try:
                frame, where = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            if where[2] != socket.PACKET_OUTGOING:
                self.frames.append((time.monotonic(), frame))

    def beacons(self, since=0.0):
        """(time, bytes of the frame, source, datagram) of each beacon, of either family."""
        found = []
        for moment, frame in self.frames:
            kind = struct.unpack("!H", frame[12:14])[0]
            if kind == 0x0800 and frame[23] == 17:
                start, source = 14 + (frame[14] & 15) * 4, socket.inet_ntop(socket.AF_INET, frame[26:30])
            elif kind == 0x86DD and frame[20] == 17:
                start, source = 54, socket.inet_ntop(socket.AF_INET6, frame[22:38])
            else:
                continue
            if moment >= since and struct.unpack("!H", frame[start + 2:start + 4])[0] == PORT:
                found.append((moment, len(frame), source, frame[start + 8:]))
        return found

    def dials_to(self, host):
        """Connection attempts to an address."""
        packed = socket.inet_aton(host)
        return [frame for _, frame in self.frames
                if frame[12:14] == b"\x08\x00" and frame[23] == 6 and frame[30:34] == packed and frame[47] & 2]

    def end(self):
        self.is_over = True
        self.thread.join()
        self.socket.close()


def enter(network):
    check(LIBC.setns(network, 0x40000000) == 0, "a network can't be entered")


class InNetworkOf:
    """Runs the current thread in another network."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        enter(there)
        os.close(there)

    def __exit__(self, *_):
        enter(self.own)
        os.close(self.own)


def raw_datagram(source, target, payload):
    """Builds IPv4 and UDP by hand, so that the source address can be forged."""
    length = 8 + len(payload)
    udp = struct.pack("!HHHH", 40000, PORT, length, 0) + payload
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(target)) + udp


class Scene:
    def __init__(self, circle, rng):
        self.circle, self.rng = circle, rng
        self.alice, self.bob, self.carol = circle.nodes

    def settle(self, what, seconds=40, nodes=None):
        last, begun = [], time.monotonic()
        nodes = nodes or self.circle.nodes

        def holds():
            last[:] = [node.ask("status") for node in nodes]
            return agree(last)

        eventually(lambda: f"{what}:\n" + "\n".join(map(told, last)), holds, seconds, 0.2)
        return time.monotonic() - begun

    def restart(self):
        for node in self.circle.nodes:
            node.end()
        for node in self.circle.nodes:
            node.start()

    # MARK: Requirements

    def addresses_are_not_needed(self):
        """All devices had other addresses and ports before."""
        for number, node in enumerate(self.circle.nodes, 41):
            node.end()
            address(node.name, f"10.77.0.{number}")
        for node in self.circle.nodes:
            node.start()
        seconds = self.settle("all find each other at new addresses and ports")
        sources = {peer["addressSource"] for peer in self.bob.ask("status")["peers"]}
        check(sources <= {"beacon", "incoming"}, f"addresses come from {sources}")
        return seconds

    def moves_are_followed(self):
        """A running node gets another address, and no other node is told."""
        address("bob", "10.77.0.99")
        self.bob.run("trip", "add", f"name=Moved {self.rng.random()}")
        return self.settle("all agree after bob moved")

    def link_local_is_enough(self):
        """None of the addresses that devices have announced is in use any more."""
        for node in self.circle.nodes:
            node.end()
            address(node.name, None)
        for node in self.circle.nodes:
            node.start()
        seconds = self.settle("all agree by link-local addresses alone")
        for number, node in enumerate(self.circle.nodes, 1):
            address(node.name, f"10.77.0.{number}")
        self.restart()
        self.settle("all agree again")
        return seconds

    def a_device_that_sees_everyone_is_silent(self, ear):
        time.sleep(1.5)
        since = time.monotonic()
        time.sleep(4)
        said = ear.beacons(since)
        check(not said, f"{len(said)} beacons while all devices were connected")

    def strangers_learn_nothing(self, ear):
        """Captured beacons reveal nothing about who is who."""
        secret = [node.name.encode() for node in self.circle.nodes]
        for node in self.circle.nodes:
            status = node.ask("status")
            for text in (status["circle"], status["device"], status["incarnation"]):
                secret += [bytes.fromhex(text)[:6], text[:8].encode()]
        beacons = ear.beacons()
        check(len(beacons) >= 6, f"only {len(beacons)} beacons were captured")
        seen = set()
        for _, _, _, datagram in beacons:
            check(len(datagram) in LENGTHS, f"a beacon of {len(datagram)} bytes")
            for word in secret:
                check(word not in datagram, f"{word!r} is in a beacon")
            for start in range(1, len(datagram) - 8, 8):
                run = datagram[start:start + 8]
                check(run not in seen, "two beacons have something in common")
                seen.add(run)
        return len(beacons)

    def strangers_change_nothing(self, ear):
        """Replays captured beacons: unchanged, from the stranger's own address, and with flipped bits."""
        captured = [(source, datagram) for _, _, source, datagram in ear.beacons() if "." in source]
        # Each may be new once to a node that was not running.
        self.repeat(captured)
        before = [node.counted("beacons_believed_total") for node in self.circle.nodes]
        self.repeat(captured)
        after = [node.counted("beacons_believed_total") for node in self.circle.nodes]
        check(before == after, f"replayed beacons were accepted: {before}, {after}")
        check(not ear.dials_to("10.77.0.4"), "a device dialled the stranger")
        return len(captured[-REPEATED:]) * 3

    def restarts_forget_no_beacon(self, ear):
        """The others are stopped, and a stranger replays beacons that bob received before he was restarted."""
        captured = [(source, datagram) for _, _, source, datagram in ear.beacons() if "." in source]
        self.repeat(captured)
        for node in self.circle.nodes:
            node.end()
        self.bob.start()
        self.repeat(captured)
        check(self.bob.counted("beacons_believed_total") == 0,
              "a beacon that was accepted before a restart is accepted again after it")
        self.alice.start()
        self.carol.start()
        self.settle("all agree after restarts")

    def repeat(self, captured):
        with InNetworkOf(STRANGER):
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for source, datagram in captured[-REPEATED:]:
            changed = bytearray(datagram)
            changed[self.rng.randrange(len(changed))] ^= 1 << self.rng.randrange(8)
            for claimed, payload in ((source, datagram), ("10.77.0.4", datagram), (source, bytes(changed))):
                raw.sendto(raw_datagram(claimed, "10.77.0.255", payload), ("10.77.0.255", PORT))
                time.sleep(0.016)
        raw.close()
        time.sleep(0.5)

    def floods_are_survived(self):
        """Well-formed beacons as fast as a stranger can send them; a peer that appears is found all the same."""
        self.bob.end()
        spent = self.alice.cpu_seconds()
        with InNetworkOf(STRANGER):
            flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        noise = b"\1" + self.rng.randbytes(216)
        end, sent = time.monotonic() + 3, 0
        while time.monotonic() < end:
            flood.sendto(noise, ("10.77.0.255", PORT))
            sent += 1
        flood.close()
        spent = self.alice.cpu_seconds() - spent
        check(spent < 1.5, f"{sent} datagrams of a stranger took {spent:.1f} s of a node's time in 3 s")
        self.bob.start()
        self.settle("bob is found after the flood")
        return sent

    def reasons_are_given(self):
        """A port in use by another program, and a clock an hour ahead; then both are corrected."""
        with InNetworkOf("alice"):
            taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.alice.end()
        self.bob.end()
        taker.bind(("0.0.0.0", PORT))
        self.alice.start()
        told = eventually("the port is reported as in use", lambda: self.cause("not_discovering"), 20)
        # On the socket a step is a list of words and commands.
        check(str(PORT) in told["text"] and "no-discovery" in str(told["next"]), f"the reason is {told}")
        taker.close()
        self.alice.end()
        self.alice.start()
        self.carol.end()
        self.carol.extra["WAYMARK_CLOCK_AHEAD"] = "3600"
        for number, node in ((71, self.bob), (72, self.carol)):
            address(node.name, f"10.77.0.{number}")
            inside(node.name, "ip", "link", "set", "eth0", "up")
        self.bob.start()
        self.settle("alice and bob agree", nodes=[self.alice, self.bob])
        check(self.cause("not_discovering") is None, "a reason is reported that no longer holds")
        if clock_can_be_set():
            # She can be found by beacons alone: her old address does not answer, and she dials no device.
            inside("carol", "ip", "route", "add", "blackhole", "10.77.0.1", may_fail=True)
            self.carol.start()
            eventually("the clocks are reported to differ", lambda: self.cause("clocks_differ"), 30)
            self.carol.end()
            inside("carol", "ip", "route", "del", "blackhole", "10.77.0.1", may_fail=True)
        del self.carol.extra["WAYMARK_CLOCK_AHEAD"]
        self.carol.start()
        self.settle("all agree once the clock is right")

    def cause(self, reason):
        return next((each for each in self.alice.ask("status")["reasons"] if each["reason"] == reason), None)

    def revoked_devices_hear_nothing(self, ear):
        self.carol.end()
        self.alice.run("revoke", "carol", "--yes")
        self.settle("alice and bob agree", nodes=[self.alice, self.bob])
        self.bob.end()
        said = len(self.alice.log.read_text())
        since = time.monotonic()
        self.carol.start()
        eventually("alice and carol have both sent beacons", lambda: len({source for _, _, source, _ in ear.beacons(
            since) if source in ("10.77.0.1", "10.77.0.72")}) == 2, 20)
        time.sleep(2)
        check("found carol" not in self.alice.log.read_text()[said:], "alice believed a revoked device")
        check(self.carol.counted("beacons_believed_total") == 0, "a revoked device was told where alice is")

    def those_who_do_not_want_it_are_not_found(self, ear):
        self.alice.end()
        self.alice.finds = False
        since = time.monotonic()
        self.alice.start()
        time.sleep(3)
        check(not [source for _, _, source, _ in ear.beacons(since) if source == "10.77.0.1"],
              "beacons from a node with discovery off")


def play(folder, seed):
    with Circle(folder, NAMES, Finding) as circle:
        ear = Ear(STRANGER)
        scene = Scene(circle, random.Random(seed))
        new = scene.addresses_are_not_needed()
        moved = scene.moves_are_followed()
        local = scene.link_local_is_enough()
        scene.a_device_that_sees_everyone_is_silent(ear)
        learnt = scene.strangers_learn_nothing(ear)
        repeated = scene.strangers_change_nothing(ear)
        scene.restarts_forget_no_beacon(ear)
        scene.reasons_are_given()
        flooded = scene.floods_are_survived()
        scene.revoked_devices_hear_nothing(ear)
        scene.those_who_do_not_want_it_are_not_found(ear)
        ear.end()
        print(f"lan {seed}: found at new addresses in {new:.1f} s, after a move in {moved:.1f} s, by link-local "
              f"addresses in {local:.1f} s; {learnt} beacons revealed nothing, {repeated} replayed and "
              f"{flooded} forged ones had no effect")


def main():
    words = begin("discovery can't be tested")
    if words is None:
        return
    lay_wires()
    with stage("lan") as folder:
        play(folder, words[0] if words else "1")


main()
