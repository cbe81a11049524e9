"""A premium member that names 17 files of 1 GiB and sends their leaves as fast as they are requested.

That is one file more than its quota allows. Only Alice is attacked; Bob is not premium, so he fetches no file.
"""

import multiprocessing
import os
import time

import costly
from change_set import INSERT, RECORDS
from channel import Ended, Silence
from circle import ENTITLEMENT
from files import FILE_MAX, LEAF, file_id, leaf_count, leaf_hash

# Kinds and fields of Protocol/records.md.
TRIP, LODGING, ATTACHMENT, NAME, OWNER, SIZE, DATA = 1, 2, 7, 2, 1, 4, 9
FILES = 17
WAIT_SECONDS = 60


class LargeFile:
    """A file of zeros except for its first leaf. Only that leaf is in memory."""

    zeros = bytes(LEAF)

    def __init__(self, number, other=None):
        self.first = number.to_bytes(LEAF, "big")
        rest = other.hashes[1:] if other else [leaf_hash(each, self.zeros) for each in range(1, leaf_count(FILE_MAX))]
        self.hashes = [leaf_hash(0, self.first), *rest]
        self.reference = [FILE_MAX, file_id(FILE_MAX, self.hashes)]

    def leaf(self, index):
        return self.zeros if index else self.first


def record(number):
    return bytes(15) + bytes([number])


def name_files(client):
    files = [LargeFile(1)]
    files += [LargeFile(number, files[0]) for number in range(2, FILES + 1)]
    client.files = {tuple(each.reference): each for each in files}
    entries = [[INSERT, TRIP, record(1), {1: "Rome"}], [INSERT, LODGING, record(2), {1: record(1), 2: "Casa"}]]
    for number, each in enumerate(files, 3):
        entries.append([INSERT, ATTACHMENT, record(number), {
            OWNER: [LODGING, record(2)], NAME: f"{number}.mov", SIZE: FILE_MAX, DATA: each.reference}])
    client.write(RECORDS, entries)
    # Looked up for each question and request of the node, which would take most of this process's time.
    client.named_files = lambda: client.files


def bring(client):
    """The attacker's process. Dials again when it is disconnected."""
    os.nice(10)
    while True:
        try:
            session = client.dial()
            session.settle()
            while True:
                session.pump(1)
        except (AssertionError, Ended, Silence, OSError, IndexError):
            time.sleep(0.1)


def attack(node):
    client = costly.recruit(node, "Eve")
    node.premium(client)
    client.is_on = True
    session = client.dial()
    session.until(lambda: client.circle.of(ENTITLEMENT), 20, "the entitlement")
    session.settle()
    session.close()
    name_files(client)
    return multiprocessing.Process(target=bring, args=(client,), daemon=True), client


def named(node):
    """How many files the node's records name, and whether it reports the member for them."""
    status = node.json("status")
    files = status["files"]
    large = [each for each in status["notices"] if each["reason"] == "member_is_large"]
    return files["here"] + files["missing"], any(each["large"]["lane"] == "files" for each in large)


def wait_until_named(node):
    end = time.monotonic() + WAIT_SECONDS
    while named(node) != (FILES, True):
        assert time.monotonic() < end, f"the node does not report {FILES} files within {WAIT_SECONDS} s: {named(node)}"
        time.sleep(0.2)
