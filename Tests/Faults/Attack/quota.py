"""A member without premium that writes far more settings than its quota, as fast as the connection allows.

`flood` is one log of 400 MiB. `branches` are 400 branches of one log in a second incarnation, each of which fills the
share of that incarnation. Only Alice is attacked; Bob receives what Alice stores.
"""

import multiprocessing
import os
import pathlib
import time

import costly
from channel import Ended, Silence

# Each field holds at most 64 KiB.
FIELD_BYTES = 60_000
FLOOD_BYTES = 400 << 20
BRANCHES = 400
SHARE = (4 << 20) // 32
# What the quota of one device may cost a disk: change sets, the same values in tables, and the write-ahead log.
DISK_BYTES_MAX = 3 * (4 << 20) + (8 << 20)


def value(fields=3):
    return {field: os.urandom(FIELD_BYTES // 2).hex() for field in range(1, fields + 1)}


def filled(client, incarnation, before, fields=3):
    return costly.set_of(client, None, os.urandom(16), incarnation, before, value(fields))


def flood(client):
    incarnation, last, sent = costly.incarnation_of(1), None, 0
    while sent < FLOOD_BYTES:
        last = filled(client, incarnation, last)
        sent += last.declared
        yield last


def branches(client):
    incarnation = costly.incarnation_of(2)
    first = filled(client, incarnation, None, 1)
    yield first
    for _ in range(BRANCHES):
        yield filled(client, incarnation, first, 1)


ATTACKS = {"flood": flood, "branches": branches}


def bring(client, name, done):
    """The attacker's process. Dials again when it is disconnected, and goes on where it was."""
    os.nice(10)
    sets, waiting = ATTACKS[name](client), []
    while True:
        try:
            session = client.dial()
            session.until(lambda: session.theirs is not None, 30, "a summary")
            while True:
                waiting = waiting or [each for each, _ in zip(sets, range(4))]
                if not waiting:
                    done.set()
                    session.pump(1)
                    continue
                costly.push(session, waiting)
                waiting = []
        except (AssertionError, Ended, Silence, OSError, IndexError):
            time.sleep(0.1)


def attack(node, name):
    client, done = costly.recruit(node, name), multiprocessing.Event()
    return multiprocessing.Process(target=bring, args=(client, name, done), daemon=True), done, client


def disk(node):
    """The bytes of a node's store, with its write-ahead log."""
    return sum(each.stat().st_size for each in pathlib.Path(node.home).glob("store.db*"))
