"""Strangers: they can reach the port and have proven nothing. Needs no packages."""

import os
import random
import socket
import struct
import threading
import time

MAGIC = b"WAYMARK\0"
VERSION = 2
SESSION = MAGIC + bytes([VERSION, 0])


def dial(address):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), 10)
    connection.settimeout(30)
    return connection


def until_closed(connection):
    try:
        while connection.recv(65_536):
            pass
    except OSError:
        pass


def silent(connection):
    until_closed(connection)


def half_open(connection):
    """Begins a valid handshake and sends nothing more."""
    connection.sendall(SESSION + struct.pack(">H", 32) + os.urandom(32))
    until_closed(connection)


def almost(connection):
    """Sends the longest message 3 without its last byte."""
    connection.sendall(SESSION + struct.pack(">H", 32) + os.urandom(32))
    connection.recv(98)
    connection.sendall(struct.pack(">H", 6_208) + os.urandom(6_207))
    until_closed(connection)


def slow(connection):
    """Sends a byte every half second."""
    for byte in SESSION + struct.pack(">H", 32) + os.urandom(32):
        connection.sendall(bytes([byte]))
        time.sleep(0.5)


def garbage(connection):
    connection.sendall(os.urandom(random.randint(1, 20_000)))
    until_closed(connection)
    time.sleep(0.01)


def false_proof(connection):
    """Makes the node compute as much as a stranger can."""
    connection.sendall(SESSION + struct.pack(">H", 32) + os.urandom(32))
    connection.recv(98)
    connection.sendall(struct.pack(">H", 200) + os.urandom(200))
    until_closed(connection)


def long_length(connection):
    connection.sendall(SESSION + struct.pack(">H", 65_535))
    until_closed(connection)
    time.sleep(0.01)


def guess(connection):
    """Tries a ticket."""
    connection.sendall(MAGIC + bytes([VERSION, 1]) + os.urandom(8) + struct.pack(">H", 48) + os.urandom(48))
    until_closed(connection)
    time.sleep(0.01)


KINDS = [silent, half_open, almost, slow, garbage, false_proof, long_length, guess]


def again_and_again(address, kind):
    while True:
        try:
            connection = dial(address)
        except OSError:
            time.sleep(0.05)
            continue
        try:
            kind(connection)
        except OSError:
            pass
        finally:
            connection.close()


def attack(address, count):
    """Keeps the given number of connections of all kinds busy for ever."""
    os.nice(10)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        threading.Thread(target=again_and_again, args=(address, kind), daemon=True).start()
    while True:
        time.sleep(60)
