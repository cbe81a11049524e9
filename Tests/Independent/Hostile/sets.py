"""Change sets that no correct device writes, from a member that does not have premium."""

import os

from change_set import (
    DELETE, ERASE, INSERT, PUT, RECORDS, RESTORE, SETTINGS, Content, assemble, content_of, seal)
from client import HABIT, SETTING, Client, text_id
from encoding import encode, sign
from frames import closing, closes
from session import SETS, milliseconds
from values import Values

GROUP_ORDER = (1 << 252) + 27742317777372353535851937790883648493


def entries(key="mallory", value="evil"):
    return [[INSERT, SETTING, text_id(SETTING, key), {1: key, 2: value}]]


def habit():
    return content_of([[INSERT, HABIT, bytes(16), {1: "x"}]])


def of_rows(*rows):
    """A plan with these entries, exactly as they are, and a slot for each list of fields."""
    slots = [encode([1] * len(row[3])) for row in rows if len(row) > 3 and row[3]]
    return assemble({0: "edit", 2: list(rows)}, slots)


def draft(session, **other):
    lane = session.client.lanes[SETTINGS]
    return seal(**{**lane.draft(session.client, entries(), milliseconds()), **other})


def first(session, **other):
    """A set at the beginning of a new log."""
    return draft(session, **{"key_3": os.urandom(16), "sequence": 1, "previous": None, "log_bytes": 0, **other})


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
    pushes(session, [raw.header, bytes([raw.signature[0] ^ 1]) + raw.signature[1:], raw.plan, raw.values])


def truncated_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature[:63], raw.plan, raw.values])


def long_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature + b"\0", raw.plan, raw.values])


def malleated_signature(session):
    """S + L verifies wherever S does, unless S is checked to be below the order of the group."""
    raw = draft(session)
    number = int.from_bytes(raw.signature[32:], "little") + GROUP_ORDER
    pushes(session, [raw.header, raw.signature[:32] + number.to_bytes(32, "little"), raw.plan, raw.values])


def no_signature(session):
    raw = draft(session)
    pushes(session, [raw.header, bytes(64), raw.plan, raw.values])


def signature_with_another_prefix(session):
    raw = draft(session)
    signature = sign(session.client.key, "addresses-signature/v1", raw.header)
    pushes(session, [raw.header, signature, raw.plan, raw.values])


def in_the_name_of_another(session):
    """Signed by Mallory, with the other end's device as author."""
    raw = draft(session)
    header = encode({**raw.fields, 2: session.peer})
    pushes(session, [header, sign(session.client.key, "change-set-signature/v1", header), raw.plan, raw.values])


def key_of_small_order(session):
    """For the key 1 (the neutral point) and S = 0, R = the key, a lax check verifies anything."""
    key = b"\1" + bytes(31)
    raw = draft(session)
    header = encode({**raw.fields, 2: key})
    pushes(session, [header, key + bytes(32), raw.plan, raw.values])


def signed_header_with_another_plan(session):
    raw = draft(session)
    pushes(session, [raw.header, raw.signature, raw.plan.replace(b"edit", b"undo"), raw.values])


def old_set_with_a_new_header(session):
    """Another device's set with a higher sequence; the signature is that of the old header."""
    old = of_another(session)
    header = encode({**old.raw.fields, 5: old.sequence + 1, 6: old.id, 15: old.log_bytes + old.declared})
    pushes(session, [header, old.raw.signature, old.raw.plan, old.raw.values])


# Form

def another_circle(session):
    pushes(session, draft(session, circle=bytes(31) + b"\1"))


def kind_of_the_other_lane(session):
    pushes(session, draft(session, content=habit()))


def set_in_the_other_lane(session):
    pushes(session, draft(session, lane=RECORDS, content=habit()))


def kind_beyond_all(session):
    pushes(session, draft(session, content=of_rows([PUT, 12_288, bytes(16), [1]])))


def kind_0(session):
    pushes(session, draft(session, content=of_rows([PUT, 0, bytes(16), [1]])))


def entries_backwards(session):
    pushes(session, draft(session, content=of_rows(*([PUT, SETTING, bytes([n] * 16), [1]] for n in (2, 1)))))


def entry_twice(session):
    pushes(session, draft(session, content=of_rows(*[[PUT, SETTING, bytes(16), [1]]] * 2)))


def of_one_record(name, *types):
    """A plan with these entries of one record, in their order."""
    def attempt(session):
        rows = [[type_, SETTING, bytes(16), *([[1]] if type_ in (PUT, INSERT) else [])] for type_ in sorted(types)]
        pushes(session, draft(session, content=of_rows(*rows)))
    attempt.__name__ = name
    return attempt


TWO_OF_ONE_RECORD = [
    of_one_record("delete and restore", DELETE, RESTORE), of_one_record("delete and insert", DELETE, INSERT),
    of_one_record("restore and insert", RESTORE, INSERT), of_one_record("erase and delete", ERASE, DELETE),
    of_one_record("erase and restore", ERASE, RESTORE), of_one_record("erase twice", ERASE, ERASE),
    of_one_record("put and insert", PUT, INSERT), of_one_record("put and insert and erase", PUT, INSERT, ERASE)]


def entry_of_type_5(session):
    pushes(session, draft(session, content=of_rows([5, SETTING, bytes(16)])))


def erase_with_fields(session):
    pushes(session, draft(session, content=of_rows([ERASE, SETTING, bytes(16), [1]])))


def life_among_the_fields(session):
    pushes(session, draft(session, content=of_rows([INSERT, SETTING, bytes(16), [0, 1]])))


def fields_in_a_map(session):
    """As in version 1."""
    plan = {0: "edit", 2: [[PUT, SETTING, bytes(16), {1: "x"}]]}
    pushes(session, draft(session, content=assemble(plan, [encode(["x"])])))


def fields_backwards(session):
    pushes(session, draft(session, content=of_rows([PUT, SETTING, bytes(16), [2, 1]])))


def field_twice(session):
    pushes(session, draft(session, content=of_rows([PUT, SETTING, bytes(16), [1, 1]])))


def no_fields(session):
    pushes(session, draft(session, content=of_rows([PUT, SETTING, bytes(16), []])))


def field_65536(session):
    pushes(session, draft(session, content=of_rows([PUT, SETTING, bytes(16), [65_536]])))


def rank_of_a_setting(session):
    """Only whole records have a rank."""
    pushes(session, draft(session, content=of_rows([PUT, SETTING, bytes(16), [1], 0, 1])))


def no_verb(session):
    pushes(session, draft(session, content=Content(encode({0: ""}))))


def long_verb(session):
    pushes(session, draft(session, content=Content(encode({0: "v" * 33}))))


def unknown_key_in_the_plan(session):
    pushes(session, draft(session, content=Content(encode({0: "edit", 3: 1}))))


def unknown_key_in_the_header(session):
    pushes(session, draft(session, key_16=1))


def version_1(session):
    pushes(session, draft(session, key_0=1))


def version_3(session):
    pushes(session, draft(session, key_0=3))


def clock_0(session):
    pushes(session, draft(session, clock=0))


def clock_of_all_ones(session):
    pushes(session, draft(session, clock=(1 << 64) - 1))


def sequence_0(session):
    pushes(session, draft(session, sequence=0))


def sequence_beyond(session):
    pushes(session, draft(session, sequence=1 << 63, previous=bytes(32)))


def first_with_a_predecessor(session):
    pushes(session, first(session, key_6=bytes(32)))


def second_without_a_predecessor(session):
    pushes(session, draft(session, key_3=os.urandom(16), sequence=2, previous=None))


def false_length(session):
    pushes(session, draft(session, key_10=5))


def plan_length_of_gigabytes(session):
    pushes(session, draft(session, key_10=1 << 40))


def values_length_of_gigabytes(session):
    pushes(session, draft(session, key_12=1 << 40))


def commitments_without_a_length(session):
    pushes(session, draft(session, key_12=None))


def length_without_commitments(session):
    pushes(session, draft(session, key_13=None))


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
    rows = [[DELETE, SETTING, n.to_bytes(16, "big")] for n in range(1001)]
    pushes(session, draft(session, content=of_rows(*rows)))


def twenty_thousand_and_one_items(session):
    """Five outside the entries, and 26 in each of 769 entries and 2 more."""
    rows = [[PUT, SETTING, n.to_bytes(16, "big"), list(range(1, 22))] for n in range(769)]
    rows[0][3] += [22, 23]
    pushes(session, draft(session, content=of_rows(*rows)))


def million_entries(session):
    """Declares a million entries and sends as many bytes as fit."""
    plan = b"\xa2\x00\x64edit\x02\x9a" + (1_000_000).to_bytes(4, "big") + b"\x80" * 200_000
    pushes(session, draft(session, content=Content(plan)))


def one_byte_too_large(session):
    """262,145 bytes in all; with one byte less the set would be valid."""
    fields = {1: [bytes(49_000)] * 5, 2: bytes(1000)}
    size = draft(session, content=content_of([[PUT, SETTING, bytes(16), fields]])).declared
    fields[2] = bytes(1000 + 262_145 - size)
    raw = draft(session, content=content_of([[PUT, SETTING, bytes(16), fields]]))
    assert sum(map(len, raw.wire)) == raw.declared == 262_145, raw.declared
    pushes(session, raw)


def too_large_without_its_values(session):
    """The same; the declared size counts, even if all values are missing."""
    content = content_of([[PUT, SETTING, bytes(16), {1: [bytes(49_000)] * 5, 2: bytes(17_000)}]])
    pushes(session, draft(session, content=content).without(0))


def three_parts(session):
    """As in version 1."""
    raw = draft(session)
    pushes(session, raw.wire[:3])


def five_parts(session):
    raw = draft(session)
    pushes(session, [*raw.wire, b""])


# Values

def sent_with(raw, values):
    """A set with other values than its own."""
    return [*raw.wire[:3], values]


def values_that_do_not_match(session):
    raw = draft(session)
    pushes(session, sent_with(raw, raw.values.replace(b"evil", b"good")))


def salted_values_that_do_not_match(session):
    raw = draft(session).salted()
    pushes(session, sent_with(raw, raw.values.replace(b"evil", b"good")))


def another_seed(session):
    raw = draft(session)
    values = Values.read(raw.values)
    pushes(session, sent_with(raw, raw.values.replace(values.seed, bytes(16))))


def another_salt(session):
    raw = draft(session).salted()
    [(salt, _)] = Values.read(raw.values).slots
    pushes(session, sent_with(raw, raw.values.replace(salt, bytes(16))))


def another_commitment(session):
    pushes(session, sent_with(draft(session), encode([[os.urandom(32)]])))


def values_of_another_set(session):
    pushes(session, sent_with(draft(session), of_another(session).raw.values))


def no_values(session):
    """Not even commitments."""
    pushes(session, sent_with(draft(session), b""))


def no_slots(session):
    pushes(session, sent_with(draft(session), encode([[]])))


def one_slot_more(session):
    raw = draft(session)
    values = Values.read(raw.values)
    contents = [content for _, content in values.slots]
    pushes(session, sent_with(raw, Values.seeded(values.seed, contents * 2).data))


def values_of_a_plan_without_slots(session):
    raw = draft(session, content=of_rows([DELETE, SETTING, bytes(16)]))
    pushes(session, sent_with(raw, encode([bytes(16), []])))


def commitments_of_a_plan_without_slots(session):
    content = of_rows([DELETE, SETTING, bytes(16)])
    values = Values.seeded(bytes(16), [encode([1])])
    pushes(session, draft(session, content=Content(content.plan, values.data, b"".join(values.commitments))))


def a_slot_more_than_the_plan_has(session):
    """The header commits to two slots, the plan has one."""
    plan = {0: "edit", 2: [[PUT, SETTING, bytes(16), [1]]]}
    pushes(session, draft(session, content=assemble(plan, [encode(["x"])] * 2)))


def values_of_another_length(session):
    """The header declares one byte more than the values have."""
    raw = draft(session)
    pushes(session, draft(session, key_12=len(raw.values) + 1))


# The size of a log

def wrong_log_bytes(session):
    pushes(session, draft(session, log_bytes=draft(session).fields[14] + 1))


def log_bytes_without_the_set_before(session):
    before = session.client.lanes[SETTINGS].by_id[draft(session).fields[6]]
    pushes(session, draft(session, log_bytes=before.log_bytes))


def log_bytes_at_the_beginning(session):
    pushes(session, first(session, log_bytes=1))


def log_bytes_beyond(session):
    pushes(session, draft(session, log_bytes=(1 << 62) + 1))


# Clocks and the past

def clock_behind_the_predecessor(session):
    own = [each for each in session.client.lanes[SETTINGS].tips() if each.device == session.client.device]
    pushes(session, draft(session, clock=own[-1].clock))


# Not stored

def sequence_gap(session):
    return draft(session, sequence=70, previous=bytes(32))


def predecessor_of_another_log(session):
    other = of_another(session)
    return draft(session, key_3=os.urandom(16), sequence=other.sequence + 1, previous=other.id,
                 log_bytes=other.log_bytes + other.declared)


def clock_behind_a_dependency(session):
    """The sender may know of a cut that excludes what the set has seen, so it is not blamed."""
    newest = max(session.client.lanes[SETTINGS].folded.values(), key=lambda each: each.clock)
    depends = [[*newest.log, newest.sequence, newest.id]]
    return first(session, clock=newest.clock, dependencies=depends)


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
    one = first(session, key_3=logs[0], dependencies=[[session.client.device, logs[1], 1, bytes(32)]])
    other = first(session, key_3=logs[1], dependencies=[[session.client.device, logs[0], 1, one.id]])
    return [one, other, one]


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


def beyond_the_share_of_an_incarnation(session):
    """Valid, but larger than what an incarnation after the first may write in the settings lane."""
    large = {field: os.urandom(30_000).hex() for field in (1, 2, 3)}
    content = content_of([[INSERT, SETTING, text_id(SETTING, "mallory"), large]])
    return [first(session, key_3=bytes([(number - 1) << 4]) + os.urandom(15), content=content)
            for number in (2, 16)]


def beyond_the_quota_by_its_own_word(session):
    """The header of a set says that its log is as full as it may be. The set before it is never sent."""
    return [first(session, sequence=2, previous=os.urandom(32), log_bytes=size) for size in (2 << 20, 1 << 40, 1 << 62)]


def old_sets_again(session):
    """All sets of the circle, ten times."""
    sets = [each.raw for each in session.client.lanes[SETTINGS].by_id.values()]
    for _ in range(10):
        pushes(session, *sets)
    return []


def blamed_for_values(stage, node):
    """A member that sends values that do not match is named in the status. Trudy has not been named before."""
    session = stage.dial(stage.trudy, node)
    session.settle()
    values_that_do_not_match(session)
    closes(session)
    stage.check_blame(stage.trudy, node)


CLOSING = [
    flipped_signature, truncated_signature, long_signature, malleated_signature, no_signature,
    signature_with_another_prefix, in_the_name_of_another, key_of_small_order, signed_header_with_another_plan,
    old_set_with_a_new_header, another_circle, kind_of_the_other_lane, set_in_the_other_lane, kind_beyond_all, kind_0,
    entries_backwards, entry_twice, *TWO_OF_ONE_RECORD, entry_of_type_5, erase_with_fields, life_among_the_fields,
    fields_in_a_map, fields_backwards, field_twice, no_fields, field_65536, rank_of_a_setting, no_verb, long_verb,
    unknown_key_in_the_plan, unknown_key_in_the_header, version_1, version_3, clock_0, clock_of_all_ones, sequence_0,
    sequence_beyond, first_with_a_predecessor, second_without_a_predecessor, false_length, plan_length_of_gigabytes,
    values_length_of_gigabytes, commitments_without_a_length, length_without_commitments,
    dependency_on_the_own_log, dependencies_backwards, sixty_five_dependencies, thousand_and_one_entries,
    twenty_thousand_and_one_items, million_entries, one_byte_too_large, too_large_without_its_values, three_parts,
    five_parts, values_that_do_not_match, salted_values_that_do_not_match, another_seed, another_salt,
    another_commitment, values_of_another_set, no_values, no_slots, one_slot_more, values_of_a_plan_without_slots,
    commitments_of_a_plan_without_slots, a_slot_more_than_the_plan_has, values_of_another_length, wrong_log_bytes,
    log_bytes_without_the_set_before, log_bytes_at_the_beginning, log_bytes_beyond, clock_behind_the_predecessor]
IGNORED = [
    sequence_gap, predecessor_of_another_log, clock_behind_a_dependency, unknown_dependency,
    dependency_with_another_sequence, dependency_in_another_log, circle_of_two, author_without_a_certificate,
    out_of_order_without_end, beyond_the_share_of_an_incarnation, beyond_the_quota_by_its_own_word, old_sets_again]
ATTEMPTS = [closing(each) for each in CLOSING] + [blamed_for_values] + [ignored(each) for each in IGNORED]
