"""Frames and messages that no correct node sends: each ends the session."""

import os

from channel import CLOSE, LAST, MORE, Ended
from change_set import SETTINGS
from circle import Statement
from encoding import encode
from session import ANSWER, HEADS, HEADS_OF, QUERY, STATE, WANT


def closes(session):
    assert session.is_closed_by_peer(), f"still open; heard {session.heard[-20:]}"


def closing(make, is_settled=True):
    """An attempt that acts in a session of Mallory's and expects it to be closed."""
    def attempt(stage, node):
        session = stage.dial(stage.mallory, node)
        if is_settled:
            session.settle()
        try:
            make(session)
        except Ended:
            return
        closes(session)
    attempt.__name__ = make.__name__
    return attempt


def bytes_that_close(make):
    return closing(make, is_settled=False)


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
    """Each part is within its limits; only the message exceeds its own."""
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


def tag_0(session):
    session.send(0, 1)


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


def tiny_items(session):
    """A million heads of one byte each."""
    sends(session, b"\x84\x05\x00\xf5\x9a" + (1_000_000).to_bytes(4, "big") + bytes(1_000_000))


def tiny_ids(session):
    sends(session, b"\x83\x03\xf5\x9a" + (1_000_000).to_bytes(4, "big") + b"\x40" * 1_000_000)


def short_statement_id(session):
    session.send(3, True, [bytes(31)])


def summary_of_three_lanes(session):
    session.send(2, bytes(32), 1, *3 * [[0] + 3 * [bytes(32)]])


def answer_in_another_lane(session):
    """The node asked no question, so any answer has a token that was never used."""
    session.send(ANSWER, 0, 1, bytes(32), True, [HEADS_OF, []])


def random_bytes(session):
    sends(session, os.urandom(5_000))


def message_beyond_a_mebibyte(session):
    sends(session, b"\x82\x01\x5a" + (1 << 20).to_bytes(4, "big") + bytes(1 << 20))


def close_with_content(session):
    session.channel.send_part(CLOSE, b"x")


def close_within_a_message(session):
    session.channel.send_part(MORE, b"x")
    session.channel.send_part(CLOSE)


def frame_without_a_header(session):
    session.channel.wire.send_frame(session.channel.noise.encrypt(b""))


CLOSING = [
    tampered_frame, frame_twice, empty_frame, fragment_header_3, empty_part, endless_fragments,
    endless_small_fragments, empty_message, argument_too_long, indefinite_array, bytes_behind, tag_0,
    second_introduction, answer_to_nothing, refusal_that_is_none, unknown_question, bucket_256, depth_bomb,
    huge_bytes, huge_array, head_of_sequence_0, want_backwards, statement_of_another_circle, tiny_items, tiny_ids,
    short_statement_id, summary_of_three_lanes, answer_in_another_lane, random_bytes,
    message_beyond_a_mebibyte, close_with_content, close_within_a_message, frame_without_a_header]
ATTEMPTS = [bytes_that_close(each) for each in CLOSING]
