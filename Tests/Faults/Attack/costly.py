"""Valid sets that are as expensive as possible for a node, from members without premium, in the settings lane.

Each attack is measured by the latency of an honest change from Alice to Bob. Only Alice is attacked.
"""

import multiprocessing
import os
import time

from change_set import INSERT, SETTINGS, content_of, seal
from channel import Ended, Silence
from circle import Ticket
from client import Client
from encoding import encode
from session import HEADS, SETS, milliseconds

# A kind of the settings lane that no version knows.
KIND = 9_000
RECORD = bytes(15) + b"\1"
PER_MESSAGE = 500


def incarnation_of(number):
    """A new incarnation with a number from 1 to 16."""
    return bytes([(number - 1) << 4]) + os.urandom(15)


def set_of(client, value, record=RECORD, incarnation=None, before=None, fields=None):
    """A set after another one of the incarnation, or its first."""
    # The last 16 bits of a clock are a counter, so no two sets have the same time.
    clock = (milliseconds() << 16) + int.from_bytes(os.urandom(2), "big")
    clock = max(clock, before.fields[7] + 1) if before else clock
    return seal(
        client.key, client.circle.id, incarnation or incarnation_of(1), SETTINGS,
        before.fields[5] + 1 if before else 1, before.id if before else None, clock, [], os.urandom(16),
        before.fields[14] + before.declared if before else 0,
        content_of([[INSERT, KIND, record, fields or {1: value}]]))


def concurrent_writes(client, count):
    """One cell, written under as many incarnations. Their numbers repeat, because there are only sixteen."""
    return [set_of(client, str(number), incarnation=incarnation_of(number % 16 + 1)) for number in range(count)]


def branches(client, count):
    """One log with as many forks as possible after its first set."""
    incarnation = incarnation_of(1)
    first = set_of(client, "first", incarnation=incarnation)
    time.sleep(0.01)
    return [first] + [set_of(client, str(number), os.urandom(16), incarnation, first) for number in range(count)]


def push(session, sets):
    for start in range(0, len(sets), PER_MESSAGE):
        session.channel.send(encode([SETS, SETTINGS, [each.wire for each in sets[start:start + PER_MESSAGE]]]))


def repeat_heads(session):
    """The same 8,192 tips of one log, as fast as the connection allows."""
    incarnation = os.urandom(16)
    tips = [[session.client.device, incarnation, 2, os.urandom(32), 0] for _ in range(8_192)]
    message = encode([HEADS, SETTINGS, False, tips])
    while True:
        session.channel.send(message)


def bring(client, sets):
    """The attacker's process; runs until it is stopped."""
    os.nice(10)
    while True:
        try:
            session = client.dial()
            session.until(lambda: session.theirs is not None, 30, "a summary")
            if sets is None:
                repeat_heads(session)
            push(session, sets)
            while True:
                time.sleep(1)
        except (AssertionError, Ended, Silence, OSError, IndexError):
            time.sleep(0.1)


def recruit(node, name):
    client = Client(name)
    ticket = Ticket(node.command("invite", "--role", "member"))
    assert client.join(ticket) is None
    return client


def attack(node, name, count):
    """A process that is ready to attack, and the number of sets that it sends."""
    client = recruit(node, name)
    sets = {"concurrent writes": concurrent_writes, "branches": branches}.get(name, lambda *_: None)(client, count)
    process = multiprocessing.Process(target=bring, args=(client, sets), daemon=True)
    return process, len(sets or [])


ATTACKS = [("concurrent writes", 2_000), ("concurrent writes", 8_000), ("branches", 400), ("branches", 3_000),
           ("repeated heads", 0)]
