"""Runs attempts against the running circle and reports each that the nodes did not withstand."""

import socket
import time
import traceback

from channel import Ended, Silence
from encoding import Refused
from node import HungUp, Refusal

FAILURES = (
    AssertionError, Ended, Silence, Refused, Refusal, HungUp, LookupError, ValueError, StopIteration, socket.error)


class Attempts:
    def __init__(self, stage, say, wanted):
        self.stage, self.say, self.wanted, self.count, self.failures = stage, say, wanted, 0, []

    def group(self, title, attempts, leaves_nothing=True):
        """Runs each attempt against one of the nodes in turn, then checks everything that must hold."""
        if self.wanted and title not in self.wanted:
            return
        start = time.monotonic()
        for attempt in attempts:
            self.count += 1
            self.attempt(attempt, leaves_nothing)
        self.checked(title, self.stage.check)
        self.say(f"{title}: {len(attempts)} attempts, {time.monotonic() - start:.1f} s")

    def attempt(self, attempt, leaves_nothing):
        node = self.stage.nodes[self.count % 2]
        before = self.stage.diagnostics()
        for client in self.stage.hostile:
            client.address = node.address

        def run():
            attempt(self.stage, node)
            self.stage.check_lives()
            assert not leaves_nothing or self.stage.diagnostics() == before, "something was stored"

        self.checked(attempt.__name__.replace("_", " "), run)

    def checked(self, name, run):
        try:
            run()
        except FAILURES as failure:
            self.failures.append(name)
            place = traceback.extract_tb(failure.__traceback__)[-1]
            place = f"{place.name}, line {place.lineno}: {place.line}"
            print(f"BAD {name}: {type(failure).__name__} {failure} ({place})", flush=True)
            self.stage.check_lives()
            for node in self.stage.nodes:
                # If a node does not answer, the run ends: later results would mean nothing.
                node.ask("sync.status")
