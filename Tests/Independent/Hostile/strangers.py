"""Devices that have proven nothing, or not enough: handshakes, pairing, introductions."""

import contextlib
import os
import struct
import time

from nacl.signing import SigningKey

from channel import MAGIC, NONCE, PREAMBLE, VERSION, Channel, Ended, Wire, is_answer, noise, preamble
from circle import CERTIFICATE, GENESIS, Statement, Ticket, introduction, pairing_key, session_key
from client import Client, listen
from encoding import decode, encode, sign
from session import SUMMARY, milliseconds

# Without a key of the circle or of a ticket

def stays_silent(node, data):
    """The node answers nothing, and does not close early, which would tell a prober where the data was wrong."""
    wire = Wire.dial(node.address)
    start = time.monotonic()
    wire.send(data)
    assert wire.last_words() == b"", "the node answered a stranger"
    assert time.monotonic() - start > 2, "the node closed before the deadline"


def another_protocol(stage, node):
    stays_silent(node, b"GET / HTTP/1.1\r\n\r\n")


def other_magic(stage, node):
    stays_silent(node, preamble(session_key(stage.circle), magic=b"WAYMARX\0"))


def one_wrong_byte(stage, node):
    start = preamble(session_key(stage.circle))
    for at in (0, 8, 9, 40):
        stays_silent(node, start[:at] + bytes([start[at] ^ 1]) + start[at + 1:])


def half_a_preamble(stage, node):
    stays_silent(node, preamble(session_key(stage.circle))[:40])


def other_circle(stage, node):
    """A whole message 1 follows, as an honest device would send it."""
    start = preamble(session_key(os.urandom(32)))
    hello = bytes(noise(stage.mallory.transport, True, start).write_message())
    stays_silent(node, start + struct.pack(">H", len(hello)) + hello)


def other_version_of_a_stranger(stage, node):
    stays_silent(node, preamble(session_key(os.urandom(32)), version=VERSION + 1))


def preamble_of_version_1(stage, node):
    stays_silent(node, MAGIC + bytes([1, 0, 0, 32]) + os.urandom(32))


def unknown_ticket(stage, node):
    stays_silent(node, preamble(pairing_key(os.urandom(16))) + struct.pack(">H", 48) + os.urandom(48))


# With the key of the circle, as a revoked device has it

def begun(stage, node):
    wire, start = Wire.dial(node.address), preamble(session_key(stage.circle))
    wire.send(start)
    return wire, start


def other_version(stage, node):
    key = session_key(stage.circle)
    for version in (0, 1, VERSION + 1, 255):
        wire, start = Wire.dial(node.address), preamble(key, version=version)
        wire.send(start)
        assert is_answer(wire.last_words(), start, key, VERSION)


def length_of_message_1(stage, node):
    wire, _ = begun(stage, node)
    wire.send(struct.pack(">H", 33))
    assert wire.ended(2), "MUST refuse before the content has come"


def point_of_small_order(stage, node):
    wire, _ = begun(stage, node)
    wire.send_frame(bytes(32))
    assert wire.ended()


def garbage_message_3(stage, node):
    wire, _ = begun(stage, node)
    wire.send_frame(os.urandom(32))
    assert len(wire.take_frame(5)) == 96
    wire.send_frame(os.urandom(200))
    assert wire.ended()


def oversize_message_3(stage, node):
    wire, start = begun(stage, node)
    wire.send_frame(bytes(noise(stage.mallory.transport, True, start).write_message()))
    wire.take_frame(5)
    wire.send(struct.pack(">H", 65_535))
    assert wire.ended(2), "MUST refuse before the content has come"


def silent_handshake(stage, node):
    wire, _ = begun(stage, node)
    assert wire.ended(8), "5 seconds at most"


def other_psk(stage, node):
    ticket = Ticket(stage.invite(node=node))
    try:
        Client("Eve").join(ticket, psk=bytes(32))
    except Ended:
        return
    raise AssertionError("joined with another key")


def false_proof(stage, node):
    ticket = Ticket(stage.invite(node=node))
    eve = Client("Eve")
    channel = Channel.dial(node.address, ticket.key, eve.transport, lambda _: True, psk=ticket.psk)
    channel.send(encode({0: 1, 1: stage.mallory.device, 2: eve.transport_public, 3: "Eve", 4: bytes(64)}))
    assert channel.receive(5) == encode({0: 1, 2: 6})


# Introductions

def closes_introduction(client, payload):
    channel = client.channel(payload)
    try:
        message = channel.receive(5)
    except Ended:
        return
    raise AssertionError(f"answered {message.hex()}")


def no_introduction(stage, node):
    channel = stage.mallory.channel(b"")
    try:
        channel.send(encode([SUMMARY, stage.mallory.circle.hash, 1] + 2 * [[0] + 3 * [bytes(32)]]))
    except Ended:
        pass
    assert channel.wire.ended()


def certificate_of_another(stage, node):
    chain = [stage.mallory.circle.genesis]
    closes_introduction(stage.mallory, introduction(chain, [], milliseconds()))


def own_certificate(stage, node):
    """A stranger that certifies itself."""
    eve = Client("Eve")
    eve.circle, eve.address = stage.mallory.circle, node.address
    fields = {0: 1, 1: eve.circle.id, 2: eve.device, 3: eve.device, 4: eve.transport_public, 5: "Eve", 6: 1, 7: 1}
    certificate = Statement.make(CERTIFICATE, eve.key, fields)
    chain = [eve.circle.genesis, certificate]
    closes_introduction(eve, introduction(chain, [], milliseconds()))


def certificate_by_a_member(stage, node):
    """Only admins certify."""
    eve = Client("Eve")
    eve.circle, eve.address = stage.mallory.circle, node.address
    above = stage.mallory
    fields = {0: 1, 1: eve.circle.id, 2: above.device, 3: eve.device, 4: eve.transport_public, 5: "Eve", 6: 0,
              7: milliseconds()}
    chain = above.circle.chains()[above.device] + [Statement.make(CERTIFICATE, above.key, fields)]
    closes_introduction(eve, introduction(chain, [], milliseconds()))


def certificate_with_another_transport_key(stage, node):
    """Mallory's certificate on a connection authenticated by another key."""
    eve = Client("Eve")
    eve.circle, eve.address = stage.mallory.circle, node.address
    closes_introduction(eve, stage.mallory.introduction())


def introduction_of_another_circle(stage, node):
    key = SigningKey.generate()
    fields = {0: 1, 2: bytes(key.verify_key), 3: stage.mallory.device, 4: stage.mallory.transport_public, 5: "Eve",
              7: milliseconds(), 8: bytes(16)}
    closes_introduction(stage.mallory, introduction([Statement.make(GENESIS, key, fields)], [], milliseconds()))


def introduction_of_nine_links(stage, node):
    chain = stage.mallory.circle.chains()[stage.mallory.device]
    closes_introduction(stage.mallory, introduction(chain[:1] * 8 + chain[1:], [], milliseconds()))


def introduction_without_a_chain(stage, node):
    closes_introduction(stage.mallory, introduction([], [], milliseconds()))


def introduction_that_is_none(stage, node):
    closes_introduction(stage.mallory, os.urandom(500))


def introduction_of_the_wrong_size(stage, node):
    """7 KiB: more than an introduction may have, and less than message 3 may."""
    body = encode({0: 1, 1: [bytes(7000)], 2: [], 3: milliseconds()})
    closes_introduction(stage.mallory, body)


def signature_of_a_certificate_altered(stage, node):
    genesis, own = stage.mallory.circle.chains()[stage.mallory.device]
    kind, body, signature = decode(own.data)
    forged = encode([kind, body, bytes([signature[0] ^ 1]) + signature[1:]])
    closes_introduction(stage.mallory, encode({0: 1, 1: [genesis.data, forged], 2: [], 3: milliseconds()}))


def old_session_bytes(stage, node):
    """Replays a whole session of an honest device: with the node's new key it cannot be decrypted."""
    wires = []
    dial = Wire.dial

    def recording(address):
        wire = dial(address)
        wire.sent = []
        send = wire.send
        wire.send = lambda data: (wire.sent.append(data), send(data))
        wires.append(wire)
        return wire

    Wire.dial = staticmethod(recording)
    try:
        session = stage.dial(stage.grace, node)
        session.settle()
        session.close()
    finally:
        Wire.dial = dial
    wire = dial(node.address)
    with contextlib.suppress(Ended):
        for data in wires[0].sent:
            wire.send(data)
    assert wire.ended()


# Tickets

def expired_ticket(stage, node):
    ticket = Ticket(node.run("invite", "--expires", "1s", json_wanted=False))
    time.sleep(1.2)
    try:
        refusal = Client("Eve").join(ticket)
    except Ended:
        return
    assert refusal == 2, f"the answer to an expired ticket is {refusal}"


def used_ticket(stage, node):
    ticket = Ticket(stage.invite(node=node))
    eve = Client("Eve")
    assert eve.join(ticket) is None
    assert eve.join(ticket) is None, "the same device may come again"
    assert Client("Mary").join(ticket) == 1, "a ticket is for one device"


def key_of_a_member(stage, node):
    """The transport key of a member cannot be used by another device."""
    eve = Client("Eve")
    eve.transport, eve.transport_public = stage.mallory.transport, stage.mallory.transport_public
    assert eve.join(Ticket(stage.invite(node=node))) == 4


def another_transport_key(stage, node):
    """A request with another transport key than the one that Noise authenticated."""
    ticket, eve = Ticket(stage.invite(node=node)), Client("Eve")
    channel = Channel.dial(node.address, ticket.key, eve.transport, lambda _: True, psk=ticket.psk)
    channel.send(encode({0: 1, 1: eve.device, 2: os.urandom(32), 3: "Eve", 4: sign(eve.key, "join-proof/v1",
                         channel.hash)}))
    with contextlib.suppress(Ended):
        assert channel.receive(5) == encode({0: 1, 2: 6})


# Slowness

def dribbled_handshake(stage, node):
    """One byte at a time: 5 seconds from the first byte to the last, however many arrive."""
    wire = Wire.dial(node.address)
    start = time.monotonic()
    with contextlib.suppress(Ended):
        for byte in preamble(session_key(stage.circle)) + bytes(34):
            wire.send(bytes([byte]))
            time.sleep(0.2)
    assert wire.ended(5) and time.monotonic() - start < 9, "5 seconds at most"


# Where the node dials

def dialled(stage, node):
    """The node's connection to an address of ours, up to message 2."""
    listener, address = listen()
    node.ask("peers.add", address=address)
    listener.settimeout(20)
    sock, _ = listener.accept()
    listener.close()
    return sock


def stranger_that_listens(stage, node):
    wire = Wire(dialled(stage, node))
    state = noise(Client("Eve").transport, False, wire.take(PREAMBLE, 5))
    state.read_message(wire.take_frame(5))
    wire.send_frame(bytes(state.write_message()))
    assert wire.ended() and not wire.received, "no stranger gets message 3"


def message_before_introduction(stage, node):
    channel = Channel.accept(dialled(stage, node), session_key(stage.circle), stage.mallory.transport)
    channel.send(encode([SUMMARY, stage.mallory.circle.hash, 1] + 2 * [[0] + 3 * [bytes(32)]]))
    assert channel.wire.ended()


def newer_version_that_listens(stage, node):
    wire = Wire(dialled(stage, node))
    start = wire.take(PREAMBLE, 5)
    wire.take_frame(5)
    wire.send(preamble(session_key(stage.circle), version=VERSION + 1, nonce=start[NONCE]))
    assert wire.ended(8)


def newer_version_of_a_stranger(stage, node):
    """An answer that only a device without the circle's key would give."""
    wire = Wire(dialled(stage, node))
    start = wire.take(PREAMBLE, 5)
    wire.take_frame(5)
    wire.send(preamble(os.urandom(32), version=VERSION + 1, nonce=start[NONCE]))
    assert wire.last_words(8) == b""


ATTEMPTS = [
    stranger_that_listens, message_before_introduction, newer_version_that_listens, newer_version_of_a_stranger,
    another_protocol, other_magic, one_wrong_byte, half_a_preamble, other_circle, other_version_of_a_stranger,
    preamble_of_version_1, unknown_ticket, other_version, length_of_message_1, point_of_small_order, garbage_message_3, oversize_message_3, other_psk, false_proof,
    no_introduction, certificate_of_another, own_certificate, certificate_by_a_member,
    certificate_with_another_transport_key, introduction_of_another_circle, introduction_of_nine_links,
    introduction_without_a_chain, introduction_that_is_none, introduction_of_the_wrong_size,
    signature_of_a_certificate_altered, old_session_bytes, expired_ticket, key_of_a_member, another_transport_key]
SLOW = [silent_handshake, dribbled_handshake]
