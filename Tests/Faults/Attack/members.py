"""Members that have become hostile: they use their keys and certificates against the circle."""

import os
import time

from change_set import SETTINGS
from channel import Ended, Silence
from circle import Ticket
from client import Client
from encoding import encode
from session import HEADS, QUERY, SETS, STATE, STATEMENT_IDS, STATEMENTS, SUMMARY, WANT, milliseconds
from statement import LOG_CUT, Statement


def recruit(node):
    """The four members and their attacks."""
    hostile = []
    for kind in (repeat_sets, flood_statements, promise, ask_and_say):
        client = Client(kind.__name__)
        ticket = Ticket(node.command("invite", "--role", "member"))
        assert client.join(ticket) is None
        hostile.append((client, kind.__name__))
    return hostile


def repeat_sets(session):
    """One valid set, as fast as the connection allows."""
    raw = session.client.write(SETTINGS, session.client.setting("mallory", os.urandom(4).hex()))
    message = encode([SETS, SETTINGS, [raw.wire] * 1_000])
    while True:
        session.channel.send(message)


def flood_statements(session):
    """New statements without end: each counts and has to be forwarded."""
    number = milliseconds()
    while True:
        statements = []
        for _ in range(20):
            number += 1
            fields = {0: 1, 1: session.client.circle.id, 2: session.client.device, 3: os.urandom(16), 4: 0,
                      6: number}
            statements.append(Statement.make(LOG_CUT, session.client.key, fields).data)
        session.send(STATEMENTS, False, statements)


def promise(session):
    """Announces heads that no device has, for all logs, one list after another, and delivers nothing when asked."""
    while True:
        heads = [[device, os.urandom(16), 1_000_000, os.urandom(32), 0]
                 for device in list(session.client.circle.chains()) for _ in range(200)]
        session.send(HEADS, SETTINGS, True, heads)


def ask_and_say(session):
    """Small messages that need an answer."""
    token = 0
    lie = [0] + 3 * [os.urandom(32)]
    while True:
        token += 1
        session.send(SUMMARY, os.urandom(32), milliseconds(), lie, [2] + lie[1:])
        session.send(STATE, os.urandom(32), token, True)
        session.send(STATEMENT_IDS, True, [])
        session.send(QUERY, token, SETTINGS, [3, None])
        session.send(WANT, SETTINGS, [[session.client.device, os.urandom(16), 1, 1_000, os.urandom(32)]])


def attack(client, name):
    """Reconnects whenever it is closed."""
    os.nice(10)  # The attacker's own processor time must not slow the node down.
    behaviour = globals()[name]
    while True:
        try:
            session = client.dial()
            session.settle(5)
            behaviour(session)
        except (AssertionError, Ended, Silence, OSError, IndexError):
            time.sleep(0.1)
