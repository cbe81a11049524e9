"""The node of this repository as the client that is judged."""

import contextlib
import os
import pathlib
import random
import select
import shutil
import socket
import subprocess
import tempfile

from conformance import judge, say
from person import Person
from world import World

BINARY = os.environ.get("WAYMARK", ".build/debug/waymark")


def free_port():
    """Below the ephemeral range, so that no other process takes it before the node listens."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


class NodePerson(Person):
    """Runs the commands that a person would type."""

    def __init__(self, say):
        super().__init__(say, seconds=30)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waymark-conformance-"))
        self.home, self.process, self.failure = self.folder / "home", None, None
        self.address = f"127.0.0.1:{free_port()}"
        self.log = open(self.folder / "log", "w")

    def says(self, text):
        pass

    def command(self, *words, **other):
        done = subprocess.run(
            [BINARY, "--home", self.home, *words], capture_output=True, text=True, timeout=60, **other)
        if done.returncode != 0:
            self.say(f"waymark {' '.join(words)}: {done.returncode} {done.stderr}")
        return done.stdout.strip()

    def joins(self, ticket):
        self.command("join", "-", "--name", "node", "--yes", input=ticket)
        self.process = subprocess.Popen(
            [BINARY, "--home", self.home, "run", "--listen", self.address, "--no-discovery"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        if not select.select([self.process.stdout], [], [], 20)[0]:
            self.say("the node is not ready within 20 s")

    def turns_sync_on(self):
        self.command("sync", "on", "--yes")

    def writes(self):
        self.command("settings", "set", "units", "metric")

    def invites(self):
        return self.command("invite")

    def end(self):
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.stdout.close()
        self.log.close()

    def remove(self):
        shutil.rmtree(self.folder)


def judge_node(profile, only=(), is_verbose=False, say=say):
    person = NodePerson(say)
    try:
        world = World(person, target=person.address, is_verbose=is_verbose)
        results = judge(world, profile, only, say)
        if person.process.poll() is not None:
            results.failed.append("node")
            say(f"FAIL  the node ended with {person.process.returncode}")
        if results.failed:
            say((person.folder / "log").read_text()[-3000:])
        return results
    finally:
        person.end()
        person.remove()
