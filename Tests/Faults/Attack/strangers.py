"""Strangers: they can reach the port and have proven nothing. Needs no packages.

Half of them know the circle, as a revoked device does: their preamble is authentic, and the node answers message 1.
"""

import hashlib
import os
import random
import socket
import struct
import threading
import time

VERSION = 2


def preamble(circle):
    """An authentic preamble of a session; one of another circle if `circle` is None."""
    circle = os.urandom(32) if circle is None else bytes.fromhex(circle)
    key = hashlib.blake2b(b"waymark/session-preamble/v1\0" + circle, digest_size=32).digest()
    start = b"WAYMARK\0" + bytes([VERSION]) + os.urandom(16)
    return start + hashlib.blake2b(start, digest_size=16, key=key).digest()


def dial(address, source=None):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), 10, (source, 0) if source else None)
    connection.settimeout(30)
    return connection


def until_closed(connection):
    try:
        while connection.recv(65_536):
            pass
    except OSError:
        pass


def silent(connection, circle):
    until_closed(connection)


def half_open(connection, circle):
    """Begins a valid handshake and sends nothing more."""
    connection.sendall(preamble(circle) + struct.pack(">H", 32) + os.urandom(32))
    until_closed(connection)


def almost(connection, circle):
    """Sends the longest message 3 without its last byte."""
    connection.sendall(preamble(circle) + struct.pack(">H", 32) + os.urandom(32))
    connection.recv(98)
    connection.sendall(struct.pack(">H", 6_208) + os.urandom(6_207))
    until_closed(connection)


def slow(connection, circle):
    """Sends a byte every half second."""
    for byte in preamble(circle) + struct.pack(">H", 32) + os.urandom(32):
        connection.sendall(bytes([byte]))
        time.sleep(0.5)


def garbage(connection, circle):
    connection.sendall(os.urandom(random.randint(1, 20_000)))
    until_closed(connection)
    time.sleep(0.01)


def false_proof(connection, circle):
    """Makes the node compute as much as a stranger can."""
    connection.sendall(preamble(circle) + struct.pack(">H", 32) + os.urandom(32))
    connection.recv(98)
    connection.sendall(struct.pack(">H", 200) + os.urandom(200))
    until_closed(connection)


def long_length(connection, circle):
    connection.sendall(preamble(circle) + struct.pack(">H", 65_535))
    until_closed(connection)
    time.sleep(0.01)


def guess(connection, circle):
    """Tries a ticket."""
    connection.sendall(preamble(None) + struct.pack(">H", 48) + os.urandom(48))
    until_closed(connection)
    time.sleep(0.01)


KINDS = [silent, half_open, almost, slow, garbage, false_proof, long_length, guess]


def again_and_again(address, kind, circle, source=None):
    while True:
        try:
            connection = dial(address, source)
        except OSError:
            time.sleep(0.05)
            continue
        try:
            kind(connection, circle)
        except OSError:
            pass
        finally:
            connection.close()


def attack(address, count, circle):
    """Keeps the given number of connections of all kinds busy forever. Every other one of each kind knows the circle."""
    os.nice(10)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        known = circle if number // len(KINDS) % 2 else None
        threading.Thread(target=again_and_again, args=(address, kind, known), daemon=True).start()
    while True:
        time.sleep(60)


def attack_from(address, sources, circle):
    """Keeps two connections from each source busy forever: one silent, and one of all kinds in turn. Every other source
    knows the circle."""
    os.nice(10)
    threading.stack_size(262_144)
    for number, source in enumerate(sources):
        known = circle if number % 2 else None
        for kind in (silent, KINDS[number // 2 % len(KINDS)]):
            threading.Thread(target=again_and_again, args=(address, kind, known, source), daemon=True).start()
    while True:
        time.sleep(60)
