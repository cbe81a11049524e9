"""What a person does with the client while the checks run."""

import pathlib
import sys
import time


class Person:
    """Someone in front of the client: told what to do, and given time."""

    def __init__(self, say, ticket=None, seconds=300):
        self.say, self.ticket, self.patience = say, ticket, seconds

    def says(self, text):
        self.say(f"      … {text}")

    def joins(self, ticket):
        self.say(f"Join with this ticket on the client:\n\n{ticket}\n")

    def turns_sync_on(self):
        self.say("Turn sync of records on, on the client.")

    def writes(self):
        self.say("Change a setting on the client.")

    def invites(self):
        """A ticket that the client has made: from a file once it is there, or from standard input."""
        if not self.ticket:
            return None
        self.say("Make a ticket on the client, for one device, and "
                 + ("enter it here." if self.ticket == "-" else f"write it into {self.ticket}."))
        if self.ticket == "-":
            return sys.stdin.readline()
        path, end = pathlib.Path(self.ticket), time.monotonic() + self.patience
        while time.monotonic() < end:
            if path.exists() and path.read_text().strip():
                return path.read_text()
            time.sleep(0.5)
        return None
