"""Devices of a person: homes of the real program, with or without a running node."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from browser import Failed

PROGRAM = os.environ.get("WAYMARK", "waymark")


class Device:
    def __init__(self, folder, name):
        self.name, self.home, self.node = name, os.path.join(folder, name), None
        self.folder = folder

    def run(self, *words, input=None, code=0):
        """Runs a command; returns what it prints."""
        done = subprocess.run(
            [PROGRAM, "--home", self.home, *words], input=input, capture_output=True, text=True, timeout=120,
            cwd=self.folder, env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "TZ": "UTC"})
        if done.returncode != code:
            raise Failed(f"{self.name}: waymark {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))

    def start(self, *options):
        """Runs the node; waits until it is ready. Returns the address at which it listens."""
        self.log = open(os.path.join(self.folder, f"{self.name}.log"), "a")
        self.node = subprocess.Popen(
            [PROGRAM, "--home", self.home, "run", "--listen", "127.0.0.1:0", "--no-discovery", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "TZ": "UTC"})
        for line in self.node.stdout:
            if found := re.match(r"ready (\S+)", line):
                return found[1]
        raise Failed(f"{self.name}: the node did not start; see its log")

    def stop(self):
        if self.node:
            self.node.send_signal(signal.SIGTERM)
            self.node.wait(timeout=30)
            self.node.stdout.close()
            self.log.close()
            self.node = None


class Circle:
    """Devices in a folder of their own, which is removed at the end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="waymark-page-")
        self.devices = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for device in self.devices:
            try:
                device.stop()
            except subprocess.TimeoutExpired:
                device.node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def found(self, name):
        """A device with a circle of its own."""
        device = Device(self.folder, name)
        self.devices.append(device)
        device.run("init", "--name", name)
        return device

    def pair(self, first, name):
        """A second device in the circle of the first, both with premium and sync. Both nodes are running."""
        first.run("premium", "self")
        first.run("sync", "on")
        first.start()
        ticket = first.run("invite").split()[0]
        second = Device(self.folder, name)
        self.devices.append(second)
        second.run("join", "-", "--name", name, input=ticket)
        address = first.json("status")["listen"]
        second.start("--peer", address)
        second.run("sync", "on")
        second.run("wait", "--timeout", "30")
        return second


def until(condition, purpose, seconds=30):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failed(f"waited {seconds} s in vain for {purpose}")
        time.sleep(0.05)
    return value
