"""Protocol/session.md, "Messages": the form of each message, looked at alone."""

import files
from change_set import SEQUENCE_MAX, SET_MAX, SETTINGS, RECORDS, parse as parse_set
from encoding import Reader, ascends, decode, is_bytes, is_number, require

(INTRODUCTION, SUMMARY, STATEMENT_IDS, STATEMENTS, HEADS, WANT, SETS, SERVED, STATE, GOODBYE, QUERY,
 ANSWER, WANT_VALUES, VALUES) = range(1, 15)
HEADS_OF, DIGESTS_OF, BUCKET_OF, INVENTORY_OF = range(4)
LANES = (SETTINGS, RECORDS)
TAG_MAX, KNOWN_TAG_MAX, PARTS_MAX = 255, 19, 16
# The number of parts, with the tag, of messages that may be about a lane of a newer version.
OF_LANES = {HEADS: 4, WANT: 3, SETS: 3, SERVED: 2, QUERY: 4, WANT_VALUES: 3, VALUES: 3}
NUMBER_MAX, TIME_MAX, KIND_MAX, REASON_MAX = (1 << 64) - 1, (1 << 48) - 1, 12_287, 255
HEADS_MAX, WANTS_MAX, ITEMS_MAX, FILLED_MAX = 8_192, 1_024, 4_096, 65_535
STATEMENT_MAX = 262_144
# Sets and slots in one message about missing values, and the slots of a set.
VALUE_SETS, VALUE_SLOTS, SLOTS = 256, 4_096, 1_000


def parse(data):
    """Returns [tag, *parts]; None for a message of a newer version, of which only tag and lane are read."""
    if is_newer(Reader(data)):
        return None
    tag, *parts = decode(data)
    if tag in files.TAGS:
        files.read(tag, parts)
    else:
        counts, check = FORMS[tag]
        require(len(parts) in counts, "parts of a message")
        check(*parts)
    return [tag, *parts]


def is_newer(reader):
    first = reader.take(1)[0]
    require(first >> 5 == 4, "a message is an array")
    count = reader.argument(first & 31)
    require(1 <= count <= min(PARTS_MAX, len(reader.data) - reader.at), "parts of a message")
    tag = reader.item()
    require(is_number(tag, 1, TAG_MAX), "tag")
    if OF_LANES.get(tag) != count:
        return tag > KNOWN_TAG_MAX
    if tag == QUERY:
        require(is_number(reader.item(), 0, NUMBER_MAX), "token")
    lane = reader.item()
    require(is_number(lane, 0, NUMBER_MAX), "lane")
    return lane not in LANES


def is_array(value, *counts):
    return type(value) is list and len(value) in counts


def check_list(values, most, check):
    require(type(values) is list and len(values) <= most, "a list")
    for each in values:
        check(each)


def is_lane(value):
    return is_number(value, SETTINGS, RECORDS)


def check_hash(value):
    require(is_bytes(value, 32), "32 bytes")


def check_introduction(data):
    require(type(data) is bytes, "introduction")


def check_summary(certificates, wall, *states):
    check_hash(certificates)
    require(is_number(wall, 0, TIME_MAX), "wall clock")
    for each in states:
        require(is_array(each, 4) and is_number(each[0], 0, REASON_MAX), "lane state")
        for value in each[1:]:
            check_hash(value)


def check_ids(reply, ids):
    require(type(reply) is bool, "reply")
    check_list(ids, NUMBER_MAX, check_hash)


def check_statements(last, statements):
    require(type(last) is bool and type(statements) is list, "statements")
    require(all(type(each) is bytes and len(each) <= STATEMENT_MAX for each in statements), "statements")


def check_heads(lane, complete, heads):
    require(is_lane(lane) and type(complete) is bool, "heads")
    check_list(heads, HEADS_MAX, check_head)


def check_head(head):
    require(is_array(head, 5), "head")
    device, incarnation, sequence, tip, folded = head
    require(is_bytes(device, 32) and is_bytes(incarnation, 16) and is_bytes(tip, 32), "ids of a head")
    require(is_number(sequence, 1, SEQUENCE_MAX) and is_number(folded, 0, sequence), "sequences of a head")


def check_wants(lane, wants):
    require(is_lane(lane), "want")
    check_list(wants, WANTS_MAX, check_want)


def check_want(want):
    require(is_array(want, 5), "want")
    device, incarnation, first, through, tip = want
    require(is_bytes(device, 32) and is_bytes(incarnation, 16) and is_bytes(tip, 32), "ids of a want")
    require(is_number(through, 1, SEQUENCE_MAX) and is_number(first, 1, through), "range of a want")


def check_sets(lane, sets):
    require(is_lane(lane) and type(sets) is list, "sets")
    for each in sets:
        require(is_array(each, 4) and all(type(part) is bytes for part in each), "a set")
        parse_set(each)


def check_served(lane):
    require(is_lane(lane), "served")


def check_state(state, token, echo):
    require(is_number(token, 0, NUMBER_MAX) and type(echo) is bool, "state")
    require(is_bytes(state, 32) or state == b"" and not echo, "only an answer may come without a hash")


def check_goodbye(reason):
    require(is_number(reason, 0, NUMBER_MAX), "goodbye")


def check_query(token, lane, question):
    require(is_number(token, 0, NUMBER_MAX) and is_lane(lane), "query")
    require(type(question) is list and question and is_number(question[0], 0, 3), "question")
    form, *more = question
    require(len(more) == [0, 0, 2, 1][form], "parts of a question")
    if form == BUCKET_OF:
        require(is_number(more[0], 0, 255), "bucket")
    if form in (BUCKET_OF, INVENTORY_OF) and more[-1] is not None:
        require(is_array(more[-1], 2), "place")
        check_record(*more[-1])


def check_record(kind, record):
    require(is_number(kind, 1, KIND_MAX) and is_bytes(record, 16), "record")


def check_answer(token, *answer):
    require(is_number(token, 0, NUMBER_MAX), "token")
    if len(answer) == 1:
        return require(is_number(answer[0], 1, REASON_MAX), "reason of a refusal")
    lane, folded, done, content = answer
    require(is_lane(lane) and is_bytes(folded, 32) and type(done) is bool and is_array(content, 2), "answer")
    form, items = content
    require(is_number(form, 0, 3), "content of an answer")
    if form == DIGESTS_OF:
        return require(is_bytes(items, 256 * 32), "sums")
    check_list(items, *{HEADS_OF: (HEADS_MAX, check_head), BUCKET_OF: (ITEMS_MAX, check_bucket_item),
                        INVENTORY_OF: (ITEMS_MAX, check_item)}[form])


def check_bucket_item(item):
    require(is_array(item, 3), "a record of a bucket")
    check_item(item)


def check_item(item):
    require(is_array(item, 3, 8), "item")
    check_record(*item[:2])
    check_hash(item[2])
    if len(item) == 8:
        updated, filled, clock, device, set_id = item[3:]
        require(is_number(updated, -(1 << 63), (1 << 63) - 1) and is_number(filled, 0, FILLED_MAX), "rank of an item")
        require(is_number(clock, 0, NUMBER_MAX) and is_bytes(device, 32) and is_bytes(set_id, 32), "stamp of an item")


def check_want_values(lane, sets):
    require(is_lane(lane) and type(sets) is list and 1 <= len(sets) <= VALUE_SETS, "want values")
    for each in sets:
        require(is_array(each, 5), "a set")
        device, incarnation, sequence, id, slots = each
        require(is_bytes(device, 32) and is_bytes(incarnation, 16) and is_bytes(id, 32), "ids of a set")
        require(is_number(sequence, 1, SEQUENCE_MAX) and type(slots) is list, "a set")
    check_slots([each[3] for each in sets], [each[4] for each in sets])


def check_values(lane, sets):
    require(is_lane(lane) and type(sets) is list and len(sets) <= VALUE_SETS, "values")
    for each in sets:
        require(is_array(each, 2) and is_bytes(each[0], 32) and type(each[1]) is list, "a set")
        for slot in each[1]:
            require(is_array(slot, 3) and is_bytes(slot[1], 16), "a slot")
            require(type(slot[2]) is bytes and len(slot[2]) <= SET_MAX, "the content of a slot")
    check_slots([each[0] for each in sets], [[slot for slot, *_ in each[1]] for each in sets])


def check_slots(ids, slots):
    require(len(set(ids)) == len(ids), "a set twice")
    require(sum(map(len, slots)) <= VALUE_SLOTS, "slots of a message")
    for each in slots:
        require(each and all(is_number(slot, 0, SLOTS - 1) for slot in each) and ascends(each), "slots of a set")


# Numbers of parts, without the tag, and what checks them.
FORMS = {
    INTRODUCTION: ({1}, check_introduction), SUMMARY: ({4}, check_summary), STATEMENT_IDS: ({2}, check_ids),
    STATEMENTS: ({2}, check_statements), HEADS: ({3}, check_heads), WANT: ({2}, check_wants),
    SETS: ({2}, check_sets), SERVED: ({1}, check_served), STATE: ({3}, check_state), GOODBYE: ({1}, check_goodbye),
    QUERY: ({3}, check_query), ANSWER: ({2, 5}, check_answer), WANT_VALUES: ({2}, check_want_values),
    VALUES: ({2}, check_values)}
