"""Checks of Protocol/channel.md: what a client does before and below the messages of a session."""

import contextlib
import os
import select
import struct
import time

from change_set import SETTINGS
from channel import CLOSE, LAST, MAGIC, MORE, VERSION, Ended, is_answer, noise, preamble
from checks import READER, check, require
from circle import pairing_key, session_key
from encoding import encode
from session import SERVED, STATE

PREAMBLE_SECONDS, HANDSHAKE_SECONDS = 3, 5
# What a deadline may be off by.
EARLY, LATE = 0.7, 3.0


@check("channel.silence", READER, "channel", "Preamble")
def silence(world):
    """Without an authentic preamble nothing is answered, and the connection is closed after 3 seconds, not before."""
    right, other = preamble(session_key(world.circle.id)), preamble(session_key(os.urandom(32)))
    hello = bytes(noise(world.alice.transport, True, other).write_message())
    probes = {
        "another protocol": b"GET / HTTP/1.1\r\n\r\n",
        "a wrong magic": preamble(session_key(world.circle.id), b"WAYMARX\0"),
        "half a preamble": right[:40], "version 1 without a MAC": MAGIC + bytes([1, 0, 0, 32]) + os.urandom(32),
        "another circle, and message 1": other + struct.pack(">H", len(hello)) + hello,
        "an unknown ticket": preamble(pairing_key(os.urandom(16))) + struct.pack(">H", 48) + os.urandom(48),
        "another version, of another circle": preamble(session_key(os.urandom(32)), version=VERSION + 1),
        **{f"a preamble with byte {at} changed": changed(right, at) for at in (0, 8, 9, 40)}}
    # A listener has room for four unrecognized connections of one address; loopback addresses are exempt.
    names = list(probes)
    batch = len(names) if world.is_local else 4
    for start in range(0, len(names), batch):
        silent(world, {name: probes[name] for name in names[start:start + batch]})


def changed(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def silent(world, probes):
    """Sends each probe on a connection of its own, and watches all of them."""
    opened, words, took = {}, dict.fromkeys(probes, b""), {}
    for name, data in probes.items():
        opened[name] = world.wire(), time.monotonic()
        opened[name][0].send(data)
    end = time.monotonic() + PREAMBLE_SECONDS + LATE
    while len(took) < len(probes) and time.monotonic() < end:
        waiting = {wire.socket: name for name, (wire, _) in opened.items() if name not in took}
        for each in select.select(list(waiting), [], [], 0.1)[0]:
            name = waiting[each]
            try:
                data = each.recv(65_536)
            except OSError:
                data = b""
            words[name] += data
            if not data:
                took[name] = time.monotonic() - opened[name][1]
    for name in probes:
        require(words[name] == b"", f"expected no answer to {name}; {len(words[name])} bytes arrived:"
                                    f" {words[name][:20].hex()}")
        require(name in took, f"expected {name} to be closed 3 s after the connection; it was open 3 s later")
        require(took[name] > PREAMBLE_SECONDS - EARLY,
                f"expected {name} to be closed 3 s after the connection; it was closed after {took[name]:.1f} s")


@check("channel.version", READER, "channel", "Preamble")
def version(world):
    """An authentic preamble of another version is answered with this version, and closed."""
    key = session_key(world.circle.id)
    for number in (0, 1, VERSION + 1, 255):
        wire, start = world.wire(), preamble(key, version=number)
        wire.send(start)
        words = wire.last_words()
        require(words is not None, f"expected a connection of version {number} to be closed after the answer")
        require(is_answer(words, start, key, VERSION),
                f"expected the answer to version {number}: a preamble of version {VERSION} with the same nonce;"
                f" {words.hex() or 'nothing'} arrived")


def begun(world):
    wire, start = world.wire(), preamble(session_key(world.circle.id))
    wire.send(start)
    return wire, start


def ends(wire, what, seconds=5):
    require(wire.last_words(seconds) is not None, f"expected the connection to close after {what}; it stayed open")


@check("channel.message-1", READER, "channel", "Handshake")
def message_1(world):
    for length in (0, 31, 33, 48, 65_535):
        wire, _ = begun(world)
        wire.send(struct.pack(">H", length))
        ends(wire, f"the length {length} of message 1, before its content", 2)
    wire, _ = begun(world)
    wire.send_frame(bytes(32))
    ends(wire, "an ephemeral key of zeros")


@check("channel.message-3", READER, "channel", "Handshake")
def message_3(world):
    for length in (0, 63, 6_209, 65_535):
        wire, start = begun(world)
        wire.send_frame(bytes(noise(world.alice.transport, True, start).write_message()))
        answer = wire.take_frame(5)
        require(len(answer) == 96, f"expected message 2 of 96 bytes; {len(answer)} arrived")
        wire.send(struct.pack(">H", length))
        ends(wire, f"the length {length} of message 3, before its content", 2)
    wire, start = begun(world)
    wire.send_frame(bytes(noise(world.alice.transport, True, start).write_message()))
    wire.take_frame(5)
    wire.send_frame(os.urandom(200))
    ends(wire, "a message 3 that does not verify")


@check("channel.slow-handshake", READER, "channel", "Handshake")
def slow_handshake(world):
    """Silent, or one byte at a time: a handshake ends after 5 seconds."""
    silent_wire, drip, start = begun(world)[0], begun(world)[0], time.monotonic()
    with contextlib.suppress(Ended):
        drip.send(struct.pack(">H", 32))
        for _ in range(31):
            drip.send(b"\1")
            time.sleep(0.19)
    for wire, name in ((silent_wire, "silent"), (drip, "one byte at a time")):
        wire_ended = wire.last_words(max(0.1, start + HANDSHAKE_SECONDS + LATE - time.monotonic())) is not None
        require(wire_ended, f"expected a handshake that is {name} to end after 5 s; it was open after"
                            f" {time.monotonic() - start:.1f} s")


def raw(session, data):
    session.channel.wire.send_frame(session.channel.noise.encrypt(data))


def altered(session):
    sealed = bytearray(session.channel.noise.encrypt(b"\1" + encode([STATE, bytes(32), 1, True])))
    sealed[5] ^= 1
    session.channel.wire.send_frame(bytes(sealed))


def repeated(session):
    sealed = session.channel.noise.encrypt(b"\1" + encode([SERVED, SETTINGS]))
    session.channel.wire.send_frame(sealed)
    session.channel.wire.send_frame(sealed)


def oversize(session):
    for _ in range(17):
        session.channel.send_part(MORE, bytes(65_518))


def within(session):
    session.channel.send_part(MORE, b"\x82")
    session.channel.send_part(CLOSE)


FRAMES = {
    "a frame with one bit changed": altered, "a frame that is sent twice": repeated,
    "a frame shorter than its tag": lambda session: session.channel.wire.send_frame(b"x"),
    "a frame without a fragment header": lambda session: raw(session, b""),
    "the fragment header 3": lambda session: session.channel.send_part(3, b"x"),
    "an empty part with header 00": lambda session: session.channel.send_part(MORE),
    "a close with content": lambda session: session.channel.send_part(CLOSE, b"x"),
    "a close within a message": within,
    "a message of more than 1 MiB": oversize}


@check("channel.sealed-frames", READER, "channel", "Failures")
def sealed_frames(world):
    device = world.device("Mallory")
    for what, send in FRAMES.items():
        session = world.dial(device)
        with contextlib.suppress(Ended):
            send(session)
            session.closes(what)


@check("channel.fragments", READER, "channel", "Sealed frames")
def fragments(world):
    """A message in several fragments is one message."""
    session = world.settled()
    token, message = 77, encode([STATE, session.state(), 77, True])
    for byte in message[:-1]:
        session.channel.send_part(MORE, bytes([byte]))
    session.channel.send_part(LAST, message[-1:])
    session.asked[token] = session.state()
    session.waits_for(lambda: token in session.answers, "an answer to a state message in fragments of one byte")


@check("channel.close", READER, "channel", "Sealed frames")
def close(world):
    """An end that receives a close ends the connection."""
    session = world.settled()
    session.channel.send_part(CLOSE)
    session.closes("a close")
