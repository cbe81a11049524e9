"""Checks of Protocol/session.md, "Opening", and of introductions in circle.md."""

import os
import select
import socket
import time

import circle as circles
from channel import PREAMBLE, Ended, Silence, Wire
from checks import READER, Failed, Skipped, check, require
from circle import CERTIFICATE, GENESIS, Statement
from devices import Connection
from encoding import Refused, decode, encode
from nacl.signing import SigningKey
from session import INTRODUCTION, STATE, STATEMENTS, SUMMARY, milliseconds
from world import parts_of


@check("opening.joins", READER, "circle", "Joining")
def joins(world):
    """The client has joined with a request that verifies, and gets a key in the reply that it does not know."""
    require(world.client is not None, "expected the client to join")
    keys = sorted(world.joined)
    require(set(range(5)) <= set(keys), f"expected the keys 0 to 4 in the join request; it has {keys}")


@check("opening.dials", READER, "circle", "Joining")
def dials(world):
    """After joining, the client dials for a session; as the initiator it shows its introduction in message 3."""
    if world.listener is None:
        raise Skipped("the client was accepted before")
    purpose, channel = world.accepts(30, "a connection for a session")
    while purpose != "session":
        world.admits(channel)
        purpose, channel = world.accepts(30, "a connection for a session")
    peer = circles.read_introduction(channel.payload, world.circle, channel.peer)
    require(peer == world.client, "expected the introduction of the client that joined")
    session = world.alice.answered(channel)
    world.sessions.append(session)
    session.in_sync("the same state in the session that the client dialled")
    session.waits_for(lambda: STATE in session.heard, "a state message from the initiator: at least every 6.25 s", 8)
    world.listener.close()
    world.listener = None
    world.announce(world.alice)


@check("opening.introduction", READER, "session", "Opening")
def introduction(world):
    """The client's first message is its introduction, then its summary."""
    channel = world.alice.channel()
    first = decode(channel.receive(5))
    require(type(first) is list and len(first) == 2 and first[0] == INTRODUCTION,
            f"expected the introduction first; {str(first)[:60]} arrived")
    fields = decode(first[1])
    require({0, 1, 2, 3} <= set(fields) and fields[0] == 1, f"expected the keys 0 to 3; it has {sorted(fields)}")
    require(len(first[1]) <= 6_144, f"expected at most 6,144 bytes; it has {len(first[1])}")
    off = abs(fields[3] - milliseconds())
    require(off < 600_000, f"expected the wall clock in key 3; it is off by {off} ms")
    second = decode(channel.receive(5))
    require(second[0] == SUMMARY and len(second) == 5, f"expected a summary second; the tag {second[0]} arrived")
    require(second[3][0] == 0, f"expected reason 0 for the settings lane; it is {second[3][0]}")
    channel.close()


@check("opening.unknown-keys", READER, "growth", "What a device does with what it does not know")
def unknown_keys(world):
    """An introduction with keys of a newer version is accepted."""
    plain = world.bob.introduction()
    channel = world.bob.channel(encode({**decode(plain), 20: [1, 2], 21: "new"}))
    session = world.bob.introduced(channel)
    world.sessions.append(session)
    session.in_sync("a session after an introduction with unknown keys")


def is_refused(device, payload, what):
    """The client closes without a message."""
    try:
        channel = device.channel(payload)
        message = channel.receive(5)
    except Ended:
        return
    except Silence:
        raise Failed(f"expected the connection to close after {what}; it stayed open without a message") from None
    raise Failed(f"expected the connection to close without a message after {what}; the message with the tag"
                 f" {decode(message)[0]} arrived")


@check("opening.strangers", READER, "circle", "Introduction")
def strangers(world):
    """A device that is not a member is closed without a message."""
    alice, eve = world.alice, world.stranger("Eve")
    genesis, now = world.circle.genesis, milliseconds()

    def certificate(issuer, key):
        return Statement.make(CERTIFICATE, key, {
            0: 1, 1: world.circle.id, 2: issuer, 3: eve.device, 4: eve.transport_public, 5: "Eve", 6: 0, 7: now})

    bobs = world.circle.chains()[world.bob.device]
    kind, body, signature = decode(certificate(alice.device, alice.key).data)
    forged = encode([kind, body, bytes([signature[0] ^ 1]) + signature[1:]])
    cases = {
        "no introduction": b"", "random bytes": os.urandom(500),
        "a certificate that a stranger signed for itself":
            circles.introduction([genesis, certificate(eve.device, eve.key)], [], now),
        "a certificate that a member without the role of admin signed":
            circles.introduction([*bobs, certificate(world.bob.device, world.bob.key)], [], now),
        "a certificate with a wrong signature": encode({0: 1, 1: [genesis.data, forged], 2: [], 3: now}),
        "the introduction of another device": circles.introduction(bobs, [], now),
        "an introduction of another circle": circles.introduction([founded(eve)], [], now),
        "an introduction without a chain": circles.introduction([], [], now)}
    for what, payload in cases.items():
        is_refused(eve, payload, what)
    world.settled()


def founded(device):
    key = SigningKey.generate()
    return Statement.make(GENESIS, key, {
        0: 1, 2: bytes(key.verify_key), 3: device.device, 4: device.transport_public, 5: "Eve", 7: milliseconds(),
        8: bytes(16)})


@check("opening.revoked", READER, "session", "Certificates")
def revoked(world):
    """A revocation ends the open session with its device, which gets the revocation; later it is told nothing."""
    ruth = world.device("Ruth")
    session, alice = world.settled(ruth), world.dial()
    alice.in_sync()
    revocation = world.revoke(ruth)
    told = []
    session.on_statements = lambda last, statements: told.extend(statements)
    alice.send(STATEMENTS, False, [revocation.data])
    session.closes("the revocation of its device")
    require(revocation.data in told, "expected the revoked device to get its revocation before the session closes;"
                                     f" {len(told)} other statements arrived")
    alice.in_sync()
    chain = [world.circle.genesis, next(
        s for s in world.circle.of(CERTIFICATE) if s.fields[3] == ruth.device)]
    is_refused(ruth, circles.introduction(chain, [], milliseconds()), "the introduction of a revoked device")


@check("opening.voided-revocation", READER, "circle", "Introduction")
def voided_revocation(world):
    """A device that shows a shorter revocation, which voids its own, is a member again."""
    ada, victor = world.device("Ada", role=1), world.device("Victor")
    session = world.settled(victor)
    session.close()
    world.revoke(victor, by=ada)
    world.settled().close()
    shown = world.revoke(ada)
    chain = [shown, *world.circle.chains()[victor.device]]
    try:
        channel = victor.channel(circles.introduction(chain, [], milliseconds()))
        session = victor.introduced(channel)
    except Ended:
        raise Failed("expected a device to be admitted that shows the revocation of its revoker; the client closed"
                     ) from None
    world.sessions.append(session)
    session.in_sync("the same statements after a revocation was shown in an introduction")


@check("opening.duplicate", READER, "session", "Opening")
def duplicate(world):
    """Of two connections that one device dialled, the older one ends with goodbye 17."""
    older = world.settled(world.bob)
    newer = world.bob.dial()
    world.sessions.append(newer)
    older.closes("a newer connection of the same device")
    require(older.goodbye == 17, f"expected goodbye 17 on the older connection; {older.goodbye} arrived")
    newer.in_sync("a session on the newer connection")


@check("opening.dials-addresses", READER, "session", "Connecting")
def dials_addresses(world):
    """The client dials an address that a statement names; a stranger that listens there gets no message 3, and a member
    that sends anything before its introduction is closed."""
    host = world.listens_at.rsplit(":", 1)[0]
    listener = socket.create_server(parts_of(f"{host}:0"))
    try:
        world.announce(world.bob, f"{host}:{listener.getsockname()[1]}")
        world.settled()
        first = dialled(listener, 20)
        if first is None:
            raise Skipped("the client did not dial the address of a statement within 20 s")
        wire = Wire(first)
        start = wire.take(PREAMBLE, 5)
        eve = world.stranger("Eve")
        try:
            Connection.answer(wire, start, eve.transport)
        except (Ended, Refused, Silence):
            pass
        else:
            raise Failed("expected no message 3 for a transport key that no certificate names; it arrived")
        wire.close()
        second = dialled(listener, 30)
        require(second is not None, "expected the client to dial the address again within 30 s")
        wire = Wire(second)
        channel = Connection.answer(wire, wire.take(PREAMBLE, 5), world.bob.transport)
        channel.send(encode([SUMMARY, world.circle.hash, 1] + 2 * [[0] + 3 * [bytes(32)]]))
        require(wire.last_words() is not None, "expected the session to close after a summary before the introduction")
        third = dialled(listener, 30)
        require(third is not None, "expected the client to dial the address again within 30 s")
        wire = Wire(third)
        session = world.bob.answered(Connection.answer(wire, wire.take(PREAMBLE, 5), world.bob.transport))
        world.sessions.append(session)
        session.in_sync("the same state in the session that the client dialled")
    finally:
        listener.close()
        world.announce(world.bob)


def dialled(listener, seconds):
    """The next connection to a listener; None if there is none in time. Others are served meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([listener], [], [], 0.5)[0]:
            return listener.accept()[0]
    return None
