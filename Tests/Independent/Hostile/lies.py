"""Well-formed messages with false content. None of it is believed, and other devices are not disturbed."""

import os
import time

from change_set import RECORDS, SETTINGS
from channel import MORE, Ended, Wire, preamble
from circle import session_key
from session import GOODBYE, HEADS, HEADS_OF, QUERY, SERVED, STATE, STATEMENT_IDS, SUMMARY, WANT, milliseconds

FAR = (1 << 63) - 1


def heads_of(session, lane, sequence, tip=None):
    """The node's own heads, each with another sequence and tip."""
    return [[*head[:2], sequence, tip or os.urandom(32), 0] for head in session.client.lanes[lane].heads()]


def meanwhile(lie):
    """Tells the lie; while the session stays open, honest writes succeed in both directions."""
    def attempt(stage, node):
        session = stage.dial(stage.mallory, node)
        session.settle()
        lie(session)
        session.pump(0.1)
        stage.write_on()
        lie(session)
        session.pump(0.1)
        stage.settle()
        session.close()
    attempt.__name__ = lie.__name__
    return attempt


def heads_too_high(session):
    session.send(HEADS, SETTINGS, True, heads_of(session, SETTINGS, FAR))


def heads_a_little_too_high(session):
    """Announces sets and answers each request with nothing."""
    session.send(HEADS, SETTINGS, False, [
        [*head[:2], head[2] + 3, os.urandom(32), head[2]] for head in session.client.lanes[SETTINGS].heads()])
    session.send(SERVED, SETTINGS)


def heads_too_low(session):
    heads = session.client.lanes[SETTINGS].heads()
    session.send(HEADS, SETTINGS, True, [[*head[:2], 1, os.urandom(32), 1] for head in heads])


def no_heads(session):
    session.send(HEADS, SETTINGS, True, [])


def thousand_branches(session):
    """Hundreds of tips of every log that no device has."""
    logs = [head[:2] for head in session.client.lanes[SETTINGS].heads()]
    session.send(HEADS, SETTINGS, True, [[*log, n, os.urandom(32), 0] for log in logs for n in range(1, 300)])


def thousand_logs(session):
    device = session.peer
    session.send(HEADS, SETTINGS, True, [[device, os.urandom(16), FAR, os.urandom(32), FAR] for _ in range(5000)])


def wants_of_everything(session):
    """The same range, requested a hundred times."""
    wants = [[*head[:2], 1, head[2], head[3]] for head in session.client.lanes[SETTINGS].heads()]
    for _ in range(100):
        session.send(WANT, SETTINGS, wants)


def one_want_a_thousand_times(session):
    """All in one message: cursors at the same position must not wait for each other."""
    wants = [[*head[:2], 1, head[2], head[3]] for head in session.client.lanes[SETTINGS].heads()]
    session.send(WANT, SETTINGS, (wants * 1024)[:1024])


def wants_of_nothing(session):
    session.send(WANT, SETTINGS, [[os.urandom(32), os.urandom(16), 1, FAR, os.urandom(32)] for _ in range(1024)])


def served_without_being_asked(session):
    for _ in range(100):
        session.send(SERVED, SETTINGS)
        session.send(SERVED, RECORDS)


def answers_to_no_echo(session):
    for token in (0, 1, FAR):
        session.send(STATE, os.urandom(32), token, False)


def echoes(session):
    for token in range(200):
        session.send(STATE, os.urandom(32), token, True)


def other_hashes(session):
    lane = [0, *[os.urandom(32) for _ in range(3)]]
    session.send(SUMMARY, os.urandom(32), milliseconds(), lane, [2, *lane[1:]])


def another_digest(session):
    """Equal heads with unequal digests, as after corruption on either side."""
    certificates, settings, records = session.summary()
    session.send(SUMMARY, certificates, milliseconds(), [0, *settings[1:3], os.urandom(32)], records)


def clock_of_the_end_of_time(session):
    certificates, settings, records = session.summary()
    for wall in (0, (1 << 48) - 1):
        session.send(SUMMARY, certificates, wall, settings, records)


def unknown_reasons(session):
    certificates, settings, records = session.summary()
    for reason in (8, 15, 17, 19, 255):
        session.send(SUMMARY, certificates, milliseconds(), settings, [reason, *records[1:]])


def settings_closed(session):
    """The settings lane has no gate."""
    certificates, settings, records = session.summary()
    session.send(SUMMARY, certificates, milliseconds(), [2, *settings[1:]], records)


def statement_ids_that_nobody_has(session):
    session.send(STATEMENT_IDS, True, [os.urandom(32) for _ in range(20_000)])


def statement_ids_again_and_again(session):
    for _ in range(50):
        session.send(STATEMENT_IDS, True, [])


def questions_in_a_flood(session):
    for token in range(1, 300):
        session.send(QUERY, session.token + token, SETTINGS, [HEADS_OF])
    session.token += 300


def question_with_a_token_of_before(session):
    session.token = (1 << 64) - 1
    for token in (session.token, 5, 1):
        session.send(QUERY, token, SETTINGS, [HEADS_OF])


def goodbye_and_goes_on(session):
    for reason in (16, 17, 18, 19):
        session.send(GOODBYE, reason)


def peer_that_reads_nothing(stage, node):
    """Requests everything and reads nothing: the node buffers a bounded part and goes on."""
    session = stage.dial(stage.mallory, node)
    session.settle()
    for _ in range(20):
        wants_of_everything(session)
    stage.write_on()
    session.channel.wire.close()


def reconnect_storm(stage, node):
    """Sixty sessions that end without a close right after they begin."""
    for _ in range(60):
        stage.dial(stage.mallory, node).channel.wire.close()
    stage.write_on()


def half_open_storm(stage, node):
    """Handshakes that stop after the preamble: the node closes each after 5 seconds."""
    wires = [Wire.dial(node.address) for _ in range(12)]
    for wire in wires:
        wire.send(preamble(session_key(stage.circle)))
    stage.write_on()
    for wire in wires:
        wire.close()


MEANWHILE = [
    heads_too_high, heads_a_little_too_high, heads_too_low, no_heads, thousand_branches, thousand_logs,
    wants_of_everything, one_want_a_thousand_times, wants_of_nothing, served_without_being_asked,
    answers_to_no_echo, echoes, other_hashes,
    another_digest, clock_of_the_end_of_time, unknown_reasons, settings_closed, statement_ids_that_nobody_has,
    statement_ids_again_and_again, questions_in_a_flood, question_with_a_token_of_before, goodbye_and_goes_on]
ATTEMPTS = [meanwhile(each) for each in MEANWHILE] + [peer_that_reads_nothing, reconnect_storm, half_open_storm]


def slow_body(stage, node):
    """A message that arrives at less than a kibibyte a second is given up after half a minute; no other peer
    waits."""
    session = stage.dial(stage.mallory, node)
    session.settle()
    start = time.monotonic()
    try:
        while time.monotonic() - start < 60:
            session.channel.send_part(MORE, bytes(200))
            time.sleep(1)
    except Ended:
        pass
    assert 20 < time.monotonic() - start < 55, f"ended after {time.monotonic() - start:.0f} s"


SLOW = [slow_body]
