"""The client of target.py, in a process of its own, as the client that is judged."""

import contextlib
import pathlib
import subprocess
import sys

from conformance import judge
from node_test import free_port
from person import Person
from world import World


class PythonPerson(Person):
    """Starts the client, and tells it what a person would do."""

    def __init__(self, say, fault=None):
        super().__init__(say, seconds=20)
        self.address = f"127.0.0.1:{free_port()}"
        words = [sys.executable, str(pathlib.Path(__file__).with_name("target.py")), self.address]
        self.process = subprocess.Popen(
            words + ([fault] if fault else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def says(self, text):
        pass

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def joins(self, ticket):
        self.tell("join " + ticket)

    def turns_sync_on(self):
        self.tell("sync on")

    def writes(self):
        self.tell("write")

    def invites(self):
        self.tell("invite")
        return self.process.stdout.readline()

    def end(self):
        self.process.kill()
        self.process.wait()
        for each in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                each.close()


def judge_python(profile, only=(), fault=None, is_verbose=False, say=lambda text: None, patience=15):
    person = PythonPerson(say, fault)
    try:
        world = World(person, target=person.address, is_verbose=is_verbose)
        world.patience = patience
        return judge(world, profile, only, say)
    finally:
        person.end()
