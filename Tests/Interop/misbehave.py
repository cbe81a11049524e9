"""What no correct node sends, each in a connection of its own, from a member that does not have premium."""

import os
import socket
import struct

from change_set import PUT, RECORDS, SETTINGS, body_of, seal
from channel import LAST, MAGIC, MORE, Channel, Ended, Silence, Wire, noise, preamble
from circle import CERTIFICATE, Statement, Ticket, introduction
from client import HABIT, SETTING, Client, listen, text_id
from encoding import encode
from session import (
    ANSWER, HEADS, HEADS_OF, INVENTORY_OF, QUERY, SERVED, SETS, STATE, SUMMARY, WANT, milliseconds)

YEAR = 365 * 86_400_000


# Before anyone has proven anything

def other_magic(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(b"WAYMARX\0" + bytes(2))
    assert wire.ended() and not wire.received


def one_wrong_byte(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(b"G")
    assert wire.ended(2), "MUST decide on the first byte that differs"


def other_version(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(MAGIC + bytes([2]))
    assert wire.take(9, 5) == MAGIC + bytes([1]) and wire.ended()


def other_purpose(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(MAGIC + bytes([1, 7]))
    assert wire.ended() and not wire.received


def unknown_ticket(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble(ticket=bytes(8)))
    wire.send_frame(os.urandom(48))
    assert wire.ended() and not wire.received


def length_of_message_1(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble() + struct.pack(">H", 33))
    assert wire.ended(2), "MUST refuse before the content has come"


def point_of_small_order(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble())
    wire.send_frame(bytes(32))
    assert wire.ended()


def garbage_message_3(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble())
    wire.send_frame(os.urandom(32))
    assert len(wire.take_frame(5)) == 96
    wire.send_frame(os.urandom(200))
    assert wire.ended()


def oversize_message_3(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble())
    wire.send_frame(bytes(noise(mallory.transport, True, preamble()).write_message()))
    wire.take_frame(5)
    wire.send(struct.pack(">H", 65_535))
    assert wire.ended(2), "MUST refuse before the content has come"


def silent_handshake(node, mallory):
    wire = Wire.dial(node.address)
    wire.send(preamble())
    assert wire.ended(8), "5 seconds at most"


def other_psk(node, mallory):
    ticket = Ticket(node.command("invite"))
    try:
        Client("Eve").join(ticket, psk=bytes(32))
    except Ended:
        return
    raise AssertionError("joined with another key")


def false_proof(node, mallory):
    ticket = Ticket(node.command("invite"))
    eve = Client("Eve")
    channel = Channel.dial(node.address, eve.transport, lambda _: True, ticket=ticket.id, psk=ticket.psk)
    channel.send(encode({0: 1, 1: mallory.device, 2: eve.transport_public, 3: "Eve", 4: bytes(64)}))
    assert channel.receive(5) == encode({0: 1, 2: 6})


# Introductions

def closes_introduction(node, mallory, payload):
    channel = mallory.channel(payload)
    try:
        message = channel.receive(5)
    except Ended:
        return
    raise AssertionError(f"answered {message.hex()}")


def no_introduction(node, mallory):
    channel = mallory.channel(b"")
    try:
        channel.send(encode([SUMMARY, mallory.circle.hash, 1] + 2 * [[0] + 3 * [bytes(32)]]))
    except Ended:
        pass
    assert channel.wire.ended()


def certificate_of_another(node, mallory):
    chain = [mallory.circle.genesis]
    closes_introduction(node, mallory, introduction(chain, [], milliseconds()))


def own_certificate(node, mallory):
    """A stranger that certifies itself."""
    eve = Client("Eve")
    eve.circle, eve.address = mallory.circle, node.address
    fields = {0: 1, 1: eve.circle.id, 2: eve.device, 3: eve.device, 4: eve.transport_public, 5: "Eve", 6: 1, 7: 1}
    certificate = Statement.make(CERTIFICATE, eve.key, fields)
    chain = [eve.circle.genesis, certificate]
    closes_introduction(node, eve, introduction(chain, [], milliseconds()))


def certificate_by_a_member(node, mallory):
    """Only admins certify."""
    eve = Client("Eve")
    eve.circle, eve.address = mallory.circle, node.address
    fields = {0: 1, 1: eve.circle.id, 2: mallory.device, 3: eve.device, 4: eve.transport_public, 5: "Eve",
              6: 0, 7: milliseconds()}
    chain = mallory.circle.chains()[mallory.device] + [Statement.make(CERTIFICATE, mallory.key, fields)]
    closes_introduction(node, eve, introduction(chain, [], milliseconds()))


# Frames and messages

def closes(session):
    assert session.is_closed_by_peer(), f"still open; heard {session.heard[-20:]}"


def bytes_that_close(make):
    def attempt(node, mallory):
        session = mallory.dial()
        try:
            make(session)
        except Ended:
            return
        closes(session)
    attempt.__name__ = make.__name__
    return attempt


def sends(session, data):
    session.channel.send(data)


def tampered_frame(session):
    sealed = bytearray(session.channel.noise.encrypt(b"\1" + encode([STATE, bytes(32), 1, True])))
    sealed[5] ^= 1
    session.channel.wire.send_frame(bytes(sealed))


def frame_twice(session):
    sealed = session.channel.noise.encrypt(b"\1" + encode([STATE, bytes(32), 1, False]))
    session.channel.wire.send_frame(sealed)
    session.channel.wire.send_frame(sealed)


def empty_frame(session):
    session.channel.wire.send_frame(b"")


def fragment_header_3(session):
    session.channel.send_part(3, b"x")


def empty_part(session):
    session.channel.send_part(MORE)


def endless_fragments(session):
    for _ in range(40):
        session.channel.send_part(MORE, bytes(65_000))


def endless_small_fragments(session):
    """Each is within every limit but the message's."""
    for _ in range(1100):
        session.channel.send_part(MORE, bytes(1000))


def empty_message(session):
    session.channel.send_part(LAST)


def argument_too_long(session):
    sends(session, b"\x84\x18\x09" + encode(bytes(32)) + encode(1) + encode(True))


def indefinite_array(session):
    sends(session, b"\x9f\x08\x00\xff")


def bytes_behind(session):
    sends(session, encode([STATE, bytes(32), 1, True]) + b"\0")


def unknown_tag(session):
    session.send(99, 1)


def second_introduction(session):
    session.send(1, session.client.introduction())


def depth_bomb(session):
    sends(session, b"\x81" * 500_000)


def huge_bytes(session):
    sends(session, b"\x82\x01\x5b\x7f" + b"\xff" * 7)


def huge_array(session):
    sends(session, b"\x83\x05\x00\x9b" + b"\xff" * 8)


def head_of_sequence_0(session):
    session.send(HEADS, SETTINGS, True, [[bytes(32), bytes(16), 0, bytes(32), 0]])


def want_backwards(session):
    session.send(WANT, SETTINGS, [[bytes(32), bytes(16), 5, 1, bytes(32)]])


def answer_to_nothing(session):
    session.send(ANSWER, 1, SETTINGS, bytes(32), True, [HEADS_OF, []])


def refusal_that_is_none(session):
    session.send(ANSWER, 1, 0)


def unknown_question(session):
    session.send(QUERY, 1, SETTINGS, [4])


def bucket_256(session):
    session.send(QUERY, 1, SETTINGS, [2, 256, None])


def statement_of_another_circle(session):
    key = session.client.key
    session.send(4, True, [Statement.make(8, key, {0: 1, 1: bytes(32), 2: bytes(key.verify_key), 3: 1, 4: []}).data])


# Change sets

def entries(key="mallory"):
    return [[PUT, SETTING, text_id(SETTING, key), {0: True, 1: key, 2: "evil"}]]


def draft(session, **other):
    lane = session.client.lanes[SETTINGS]
    return seal(**{**lane.draft(session.client, entries(), milliseconds()), **other})


def pushes(session, raw, lane=SETTINGS):
    session.send(SETS, lane, [raw.wire])


def bad_signature(session):
    raw = draft(session)
    session.send(SETS, SETTINGS, [[raw.header, bytes([raw.signature[0] ^ 1]) + raw.signature[1:], raw.body]])


def bad_body(session):
    raw = draft(session)
    session.send(SETS, SETTINGS, [[raw.header, raw.signature, raw.body.replace(b"evil", b"good")]])


def other_circle(session):
    pushes(session, draft(session, circle=bytes(31) + b"\1"))


def kind_of_other_lane(session):
    pushes(session, draft(session, body=body_of([[PUT, HABIT, bytes(16), {0: True, 1: "x"}]])))


def set_in_other_lane(session):
    raw = draft(session, lane=RECORDS, body=body_of([[PUT, HABIT, bytes(16), {0: True, 1: "x"}]]))
    pushes(session, raw, SETTINGS)


def body_not_canonical(session):
    pushes(session, draft(session, body=b"\xa2\x00\x78\x01x\x02\x80"))


def clock_behind_its_past(session):
    newest = max(session.client.lanes[SETTINGS].folded.values(), key=lambda each: each.clock)
    device, incarnation = newest.log
    depends = [[device, incarnation, newest.sequence, newest.id]]
    pushes(session, draft(session, clock=newest.clock, dependencies=depends))


def missing(make):
    """Sets whose past is not there are neither stored nor a reason to close."""
    def attempt(node, mallory):
        session = mallory.dial()
        session.settle()
        pushes(session, make(session))
        session.pump(1)
        assert session.is_equal(), "still answers, with the state of before"
        session.close()
    attempt.__name__ = make.__name__
    return attempt


def sequence_gap(session):
    return draft(session, sequence=7, previous=bytes(32))


def wrong_previous(session):
    newest = next(iter(session.client.lanes[SETTINGS].by_id))
    return draft(session, sequence=2, previous=newest)


def missing_dependency(session):
    return draft(session, dependencies=[[bytes(32), bytes(16), 1, bytes(32)]])


def author_without_certificate(session):
    eve = Client("Eve")
    lane = session.client.lanes[SETTINGS]
    return seal(**lane.draft(eve, entries(), milliseconds()))


# The gate

def records_wanted_by_a_free_device(node, mallory, bob):
    session = mallory.dial()
    session.settle()
    session.send(HEADS, RECORDS, True, [])
    heads = bob.lanes[RECORDS].heads()
    session.send(WANT, RECORDS, [[*head[:2], 1, head[2], head[3]] for head in heads])
    session.pump(1.5)
    assert not {HEADS, SETS, SERVED} & set(session.heard), session.heard
    assert session.is_equal()
    session.close()


def records_asked_about_by_a_free_device(node, mallory, bob):
    session = mallory.dial()
    session.settle()
    for question in ([HEADS_OF], [INVENTORY_OF, None]):
        assert session.ask(RECORDS, *question) == (7,), "the peer is not premium"
    assert len(session.ask(SETTINGS, HEADS_OF)) == 4
    session.close()


def records_sent_by_a_free_device(node, mallory, bob):
    session = mallory.dial()
    session.settle()
    lies = session.summary()
    lies[2][0] = 0  # says that its gate is open
    session.send(SUMMARY, lies[0], milliseconds(), *lies[1:])
    raw = bob.lanes[RECORDS].draft(mallory, [[PUT, HABIT, bytes(16), {0: True, 1: "evil"}]], milliseconds())
    pushes(session, seal(**raw), RECORDS)
    session.pump(1.5)
    assert not {HEADS, WANT, SETS, SERVED} & set(session.heard), session.heard
    session.close()


# Where the node dials

def dialled(node, mallory):
    """The node's connection to an address of ours, up to message 2."""
    listener, address = listen()
    node.command("peers", "add", address)
    listener.settimeout(20)
    sock, _ = listener.accept()
    listener.close()
    return sock


def stranger_that_listens(node, mallory):
    wire = Wire(dialled(node, mallory))
    state = noise(Client("Eve").transport, False, wire.take(10, 5))
    state.read_message(wire.take_frame(5))
    wire.send_frame(bytes(state.write_message()))
    assert wire.ended() and not wire.received, "no stranger gets message 3"


def message_before_introduction(node, mallory):
    channel = Channel.accept(dialled(node, mallory), mallory.transport)
    channel.send(encode([SUMMARY, mallory.circle.hash, 1] + 2 * [[0] + 3 * [bytes(32)]]))
    assert channel.wire.ended()


def newer_version_that_listens(node, mallory):
    wire = Wire(dialled(node, mallory))
    wire.take(10, 5)
    wire.take_frame(5)
    wire.send(MAGIC + bytes([2]))
    assert wire.ended(8)


# A clock that ran ahead

def ahead(node, bob, mallory, step):
    """Correct in itself: stored and forwarded, not folded."""
    before = node.stored()["settings"]
    session = mallory.dial()
    session.settle()
    raw = mallory.write(SETTINGS, entries(), clock=(milliseconds() + YEAR) << 16)
    pushes(session, raw)
    session.settle()
    session.close()
    changes, parked, digest = node.stored()["settings"]
    assert (changes, parked, digest) == (before[0] + 1, before[1] + 1, before[2]), node.stored()
    session = bob.dial()
    session.settle()
    lane = bob.lanes[SETTINGS]
    assert raw.id in lane.by_id and raw.id not in lane.folded
    session.push(SETTINGS, [bob.write(SETTINGS, bob.setting("theme", "sepia"))])
    session.settle()
    session.close()
    assert node.command("settings", "get", "theme") == "sepia"
    assert all(each.clock >> 16 < milliseconds() + YEAR // 2 for each in lane.folded.values())
    step("a set of next year is stored, forwarded and parked; it pulls no clock along")


SILENT = [
    stranger_that_listens, message_before_introduction, newer_version_that_listens,
    other_magic, one_wrong_byte, other_version, other_purpose, unknown_ticket, length_of_message_1,
    point_of_small_order, garbage_message_3, oversize_message_3, silent_handshake, other_psk, false_proof,
    no_introduction, certificate_of_another, own_certificate, certificate_by_a_member]
CLOSING = [
    tampered_frame, frame_twice, empty_frame, fragment_header_3, empty_part, endless_fragments,
    endless_small_fragments, empty_message, argument_too_long, indefinite_array, bytes_behind, unknown_tag,
    second_introduction, answer_to_nothing, refusal_that_is_none, unknown_question, bucket_256, depth_bomb,
    huge_bytes, huge_array, head_of_sequence_0, want_backwards,
    statement_of_another_circle, bad_signature, bad_body, other_circle, kind_of_other_lane, set_in_other_lane,
    body_not_canonical, clock_behind_its_past]
MISSING = [sequence_gap, wrong_previous, missing_dependency, author_without_certificate]
GATE = [records_wanted_by_a_free_device, records_asked_about_by_a_free_device, records_sent_by_a_free_device]


def run(node, bob, mallory, step):
    honest = mallory.dial()
    honest.settle()
    honest.close()
    attempts = [(each.__name__, each, ()) for each in SILENT]
    attempts += [(each.__name__, bytes_that_close(each), ()) for each in CLOSING]
    attempts += [(each.__name__, missing(each), ()) for each in MISSING]
    attempts += [(each.__name__, each, (bob,)) for each in GATE]
    before = node.stored()
    failures = []
    for name, attempt, more in attempts:
        try:
            attempt(node, mallory, *more)
            assert node.is_alive(), "the node died"
            assert node.stored() == before, "something was stored"
            good = bob.dial()
            good.settle()
            good.close()
            step("refused: " + name.replace("_", " "))
        except (AssertionError, Ended, Silence, socket.error) as failure:
            failures.append(name)
            print(f"BAD {name}: {type(failure).__name__} {failure}", flush=True)
    ahead(node, bob, mallory, step)
    assert not failures, failures
