"""Change sets that no correct device writes, from a member that does not have premium."""

import os

from change_set import PUT, RECORDS, SETTINGS, body_of, seal
from client import HABIT, SETTING, Client, text_id
from encoding import encode, sign
from frames import closing
from session import SETS, milliseconds

GROUP_ORDER = (1 << 252) + 27742317777372353535851937790883648493


def entries(key="mallory", value="evil"):
    return [[PUT, SETTING, text_id(SETTING, key), {0: True, 1: key, 2: value}]]


def habit():
    return body_of([[PUT, HABIT, bytes(16), {0: True, 1: "x"}]])


def draft(session, **other):
    lane = session.client.lanes[SETTINGS]
    return seal(**{**lane.draft(session.client, entries(), milliseconds()), **other})


def of_another(session):
    """The newest set of a device other than Mallory."""
    sets = session.client.lanes[SETTINGS].by_id.values()
    return [each for each in sets if each.device != session.client.device][-1]


def pushes(session, *sets, lane=SETTINGS):
    session.send(SETS, lane, [each if type(each) is list else each.wire for each in sets])


def ignored(make):
    """The set from `make` is not stored, and the session is not closed."""
    def attempt(stage, node):
        session = stage.dial(stage.mallory, node)
        session.settle()
        sets = make(session)
        pushes(session, *(sets if type(sets) is list else [sets]))
        assert session.is_equal(), "still answers, with the earlier state"
        session.pump(0.2)
        session.close()
    attempt.__name__ = make.__name__
    return attempt


# Signatures

def flipped_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, bytes([raw.signature[0] ^ 1]) + raw.signature[1:], raw.body])


def truncated_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature[:63], raw.body])


def long_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature + b"\0", raw.body])


def malleated_signature(session):
    """S + L verifies wherever S does, unless S is checked to be below the order of the group."""
    raw = draft(session)
    number = int.from_bytes(raw.signature[32:], "little") + GROUP_ORDER
    pushes(session, [raw.header, raw.signature[:32] + number.to_bytes(32, "little"), raw.body])


def no_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, bytes(64), raw.body])


def signature_with_another_prefix(session):
    raw = draft(session)
    pushes(session, [raw.header, sign(session.client.key, "addresses-signature/v1", raw.header), raw.body])


def in_the_name_of_another(session):
    """Signed by Mallory, with the other end's device as author."""
    raw = draft(session)
    header = encode({**raw.fields, 2: session.peer})
    pushes(session, [header, sign(session.client.key, "change-set-signature/v1", header), raw.body])


def key_of_small_order(session):
    """For the key 1 (the neutral point) and S = 0, R = the key, a lax check verifies anything."""
    key = b"\1" + bytes(31)
    raw = draft(session)
    header = encode({**raw.fields, 2: key})
    pushes(session, [header, key + bytes(32), raw.body])


def signed_header_with_another_body(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature, raw.body.replace(b"evil", b"good")])


def old_set_with_a_new_header(session):
    """Another device's set with a higher sequence; the signature is that of the old header."""
    old = of_another(session)
    header = encode({**old.raw.fields, 5: old.sequence + 1, 6: old.id})
    pushes(session, [header, old.raw.signature, old.raw.body])


# Form

def another_circle(session):
    pushes(session, draft(session, circle=bytes(31) + b"\1"))


def kind_of_the_other_lane(session):
    pushes(session, draft(session, body=habit()))


def set_in_the_other_lane(session):
    pushes(session, draft(session, lane=RECORDS, body=habit()))


def kind_beyond_all(session):
    pushes(session, draft(session, body=body_of([[PUT, 12_288, bytes(16), {1: 1}]])))


def kind_0(session):
    pushes(session, draft(session, body=body_of([[PUT, 0, bytes(16), {1: 1}]])))


def entries_backwards(session):
    body = encode({0: "edit", 2: [[PUT, SETTING, bytes([n] * 16), {1: "x"}] for n in (2, 1)]})
    pushes(session, draft(session, body=body))


def entry_twice(session):
    body = encode({0: "edit", 2: [[PUT, SETTING, bytes(16), {1: "x"}]] * 2})
    pushes(session, draft(session, body=body))


def life_written_twice(session):
    body = encode({0: "edit", 2: [[1, SETTING, bytes(16)], [2, SETTING, bytes(16)]]})
    pushes(session, draft(session, body=body))


def insert_of_the_dead(session):
    pushes(session, draft(session, body=body_of([[PUT, SETTING, bytes(16), {0: False, 1: "x"}]])))


def no_fields(session):
    pushes(session, draft(session, body=encode({0: "edit", 2: [[PUT, SETTING, bytes(16), {}]]})))


def field_65536(session):
    pushes(session, draft(session, body=encode({0: "edit", 2: [[PUT, SETTING, bytes(16), {65_536: 1}]]})))


def no_verb(session):
    pushes(session, draft(session, body=encode({0: ""})))


def long_verb(session):
    pushes(session, draft(session, body=encode({0: "v" * 33})))


def unknown_key_in_the_body(session):
    pushes(session, draft(session, body=encode({0: "edit", 3: 1})))


def unknown_key_in_the_header(session):
    pushes(session, draft(session, key_12=1))


def version_2(session):
    pushes(session, draft(session, key_0=2))


def clock_0(session):
    pushes(session, draft(session, clock=0))


def clock_of_all_ones(session):
    pushes(session, draft(session, clock=(1 << 64) - 1))


def sequence_0(session):
    pushes(session, draft(session, sequence=0))


def sequence_beyond(session):
    pushes(session, draft(session, sequence=1 << 63, previous=bytes(32)))


def first_with_a_predecessor(session):
    pushes(session, draft(session, key_3=os.urandom(16), sequence=1, key_6=bytes(32)))


def second_without_a_predecessor(session):
    pushes(session, draft(session, key_3=os.urandom(16), sequence=2, previous=None))


def false_length(session):
    pushes(session, draft(session, key_10=5))


def body_length_of_gigabytes(session):
    pushes(session, draft(session, key_10=1 << 40))


def dependency_on_the_own_log(session):
    own = [session.client.device, session.client.incarnation, 1, bytes(32)]
    pushes(session, draft(session, dependencies=[own]))


def dependencies_backwards(session):
    depends = [[bytes([n] * 32), bytes(16), 1, bytes(32)] for n in (2, 1)]
    pushes(session, draft(session, key_8=depends))


def sixty_five_dependencies(session):
    depends = [[bytes([n] * 32), bytes(16), 1, bytes(32)] for n in range(65)]
    pushes(session, draft(session, key_8=depends))


def thousand_and_one_entries(session):
    rows = [[PUT, SETTING, n.to_bytes(16, "big"), {1: 0}] for n in range(1001)]
    pushes(session, draft(session, body=body_of(rows)))


def twenty_thousand_and_one_items(session):
    rows = [[PUT, SETTING, n.to_bytes(16, "big"), {1: [0] * 20}] for n in range(800)]
    pushes(session, draft(session, body=body_of(rows)))


def million_entries(session):
    """Declares a million entries and sends as many bytes as fit."""
    body = b"\xa2\x00\x64edit\x02\x9a" + (1_000_000).to_bytes(4, "big") + b"\x80" * 200_000
    pushes(session, draft(session, body=body))


def one_byte_too_large(session):
    """262,145 bytes in all; with one byte less the set would be valid."""
    values = [bytes(49_000)] * 5
    rows = [[PUT, SETTING, bytes(16), {1: values, 2: b""}]]
    size = sum(map(len, draft(session, body=body_of(rows)).wire))
    rows[0][3][2] = bytes(262_145 - size - 2)
    raw = draft(session, body=body_of(rows))
    assert sum(map(len, raw.wire)) == 262_145, sum(map(len, raw.wire))
    pushes(session, raw)


def four_parts(session):
    raw = draft(session)
    pushes(session, [*raw.wire, b""])


# Clocks and the past

def clock_behind_the_predecessor(session):
    own = [each for each in session.client.lanes[SETTINGS].tips() if each.device == session.client.device]
    pushes(session, draft(session, clock=own[-1].clock))


# Not stored

def sequence_gap(session):
    return draft(session, sequence=70, previous=bytes(32))


def predecessor_of_another_log(session):
    other = of_another(session)
    return draft(session, key_3=os.urandom(16), sequence=other.sequence + 1, previous=other.id)


def clock_behind_a_dependency(session):
    """The sender may know of a cut that excludes what the set has seen, so it is not blamed."""
    newest = max(session.client.lanes[SETTINGS].folded.values(), key=lambda each: each.clock)
    depends = [[*newest.log, newest.sequence, newest.id]]
    return draft(session, key_3=os.urandom(16), sequence=1, previous=None, clock=newest.clock, dependencies=depends)


def unknown_dependency(session):
    return draft(session, dependencies=[[os.urandom(32), bytes(16), 1, bytes(32)]])


def dependency_with_another_sequence(session):
    other = of_another(session)
    return draft(session, dependencies=[[*other.log, other.sequence + 1, other.id]])


def dependency_in_another_log(session):
    other = of_another(session)
    return draft(session, dependencies=[[other.device, bytes(16), other.sequence, other.id]])


def circle_of_two(session):
    """Each names the other as a dependency; the hashes cannot both be right."""
    logs = sorted(os.urandom(16) for _ in range(2))
    first = draft(session, key_3=logs[0], sequence=1, previous=None,
                  dependencies=[[session.client.device, logs[1], 1, bytes(32)]])
    second = draft(session, key_3=logs[1], sequence=1, previous=None,
                   dependencies=[[session.client.device, logs[0], 1, first.id]])
    return [first, second, first]


def author_without_a_certificate(session):
    eve = Client("Eve")
    return seal(**session.client.lanes[SETTINGS].draft(eve, entries(), milliseconds()))


def out_of_order_without_end(session):
    """A thousand sets whose past is missing here."""
    sets, previous = [], os.urandom(32)
    for number in range(1000):
        sets.append(draft(session, key_3=b"\7" * 16, sequence=number + 2, previous=previous))
        previous = sets[-1].id
    for start in range(0, 1000, 250):
        pushes(session, *sets[start:start + 250])
    return []


def old_sets_again(session):
    """All sets of the circle, ten times."""
    sets = [each.raw for each in session.client.lanes[SETTINGS].by_id.values()]
    for _ in range(10):
        pushes(session, *sets)
    return []


CLOSING = [
    flipped_signature, truncated_signature, long_signature, malleated_signature, no_signature,
    signature_with_another_prefix, in_the_name_of_another, key_of_small_order, signed_header_with_another_body,
    old_set_with_a_new_header, another_circle, kind_of_the_other_lane, set_in_the_other_lane, kind_beyond_all, kind_0,
    entries_backwards, entry_twice, life_written_twice, insert_of_the_dead, no_fields, field_65536, no_verb, long_verb,
    unknown_key_in_the_body, unknown_key_in_the_header, version_2, clock_0, clock_of_all_ones, sequence_0,
    sequence_beyond, first_with_a_predecessor, second_without_a_predecessor, false_length, body_length_of_gigabytes,
    dependency_on_the_own_log, dependencies_backwards, sixty_five_dependencies, thousand_and_one_entries,
    twenty_thousand_and_one_items, million_entries, one_byte_too_large, four_parts, clock_behind_the_predecessor]
IGNORED = [
    sequence_gap, predecessor_of_another_log, clock_behind_a_dependency, unknown_dependency,
    dependency_with_another_sequence, dependency_in_another_log, circle_of_two, author_without_a_certificate,
    out_of_order_without_end, old_sets_again]
ATTEMPTS = [closing(each) for each in CLOSING] + [ignored(each) for each in IGNORED]
