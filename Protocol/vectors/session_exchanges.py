"""Protocol/session.md, "Questions", "Messages" and "Sets": what answers a question, and what ends a session."""

from change_set import INSERT, PUT, RECORDS, SETTINGS, Log, alice, record
from deterministic_cbor import encode
from session_hashes import PROFILE, PROFILE_ID, SETTING, TRIP, UNKNOWN, in_bucket
from session_introductions import introduction
from statements import ALICE, GENESIS, certificate

(INTRODUCTION, SUMMARY, STATEMENT_IDS, STATEMENTS, HEADS, WANT, SETS, SERVED, STATE, GOODBYE, QUERY, ANSWER,
 WANT_VALUES, VALUES) = range(1, 15)
HASH = bytes([0xab]) * 32


def item(kind, id):
    return [kind, id, HASH]


def whole(kind=PROFILE, id=PROFILE_ID):
    return [kind, id, HASH, 1_000, 2, 65_536_000, bytes(32), HASH]


def exchanges():
    """Answers of the right form by themselves, to a question with the same token."""
    rows = []

    def row(flag, name, question, content, done=True, asked=RECORDS, lane=None):
        answer = [ANSWER, 1, asked if lane is None else lane, HASH, done, content]
        rows.append({"flag": flag, "name": name, "question": encode([QUERY, 1, asked, question]).hex(),
                     "answer": encode(answer).hex()})

    one, two, other = in_bucket(0x10, 1), in_bucket(0x10, 2), in_bucket(0x20, 1)
    sums = bytes(256 * 32)
    row("none", "heads", [0], [0, []])
    row("none", "sums", [1], [1, sums])
    row("none", "no record of a bucket", [2, 0x10, None], [2, []])
    row("none", "records of a bucket, of several kinds", [2, 0x10, None], [
        2, [item(TRIP, one), item(TRIP, two), item(UNKNOWN, one)]])
    row("none", "records of a bucket after a place", [2, 0x10, [TRIP, one]], [2, [item(TRIP, two), item(UNKNOWN, one)]])
    row("none", "records of a bucket after a place before the bucket", [2, 0x20, [TRIP, one]], [2, [item(TRIP, other)]])
    row("none", "a whole record of a bucket has no rank", [2, PROFILE_ID[0], None], [2, [item(PROFILE, PROFILE_ID)]])
    row("none", "visible records", [3, None], [3, [item(TRIP, one), item(TRIP, other), whole()]])
    row("none", "visible records after a place, and more follow", [3, [TRIP, one]], [3, [item(TRIP, two)]], done=False)
    row("none", "no visible record after a place", [3, [TRIP, one]], [3, []])
    row("none", "settings", [3, None], [3, [item(SETTING, one)]], asked=SETTINGS)
    row("form", "sums in answer to heads", [0], [1, sums])
    row("form", "visible records in answer to a bucket", [2, 0x10, None], [3, []])
    row("form", "a bucket in answer to visible records", [3, None], [2, []])
    row("form", "of the other lane", [0], [0, []], lane=SETTINGS)
    row("count", "more follow after no record", [3, None], [3, []], done=False)
    row("count", "more follow after no record of a bucket", [2, 0x10, None], [2, []], done=False)
    row("order", "records in descending order", [3, None], [3, [item(TRIP, two), item(TRIP, one)]])
    row("order", "kinds in descending order", [2, 0x10, None], [2, [item(UNKNOWN, one), item(TRIP, two)]])
    row("order", "a record twice", [3, None], [3, [item(TRIP, one), item(TRIP, one)]])
    row("order", "the record that the question names as the place", [3, [TRIP, one]], [3, [item(TRIP, one)]])
    row("order", "a record before the place", [2, 0x10, [TRIP, two]], [2, [item(TRIP, one)]])
    row("range", "a record of another bucket", [2, 0x10, None], [2, [item(TRIP, one), item(TRIP, other)]])
    row("range", "a setting in answer about records", [3, None], [3, [item(SETTING, one)]])
    row("range", "a record in answer about settings", [3, None], [3, [item(TRIP, one)]], asked=SETTINGS)
    row("parts", "a whole record without a rank", [3, None], [3, [item(PROFILE, PROFILE_ID)]])
    row("parts", "a rank of a record that is not whole", [3, None], [3, [whole(TRIP, one)]])
    return rows


def endings():
    """A single message, after both sides have been introduced. The two are of another circle than its content."""
    [trip] = Log(alice).write("add", [[INSERT, TRIP, record(1), {1: "Rome"}]], wall=1_000)
    [setting] = Log(alice, SETTINGS).write("set", [[PUT, SETTING, record(1), {2: "dark"}]], wall=1_000)
    bob = certificate(ALICE, "bob", 1)
    rows = []

    def row(flag, name, *message):
        rows.append({"flag": flag, "name": name, "message": encode(list(message)).hex()})

    def wire(sealed):
        return [sealed.header, sealed.signature, sealed.plan, sealed.values]

    row("none", "a goodbye for a reason that has no meaning yet", GOODBYE, 77)
    row("none", "the end of an answer that was not requested", SERVED, SETTINGS)
    row("none", "a want for a tip that is not in the store", WANT, SETTINGS, [[HASH, bytes(16), 1, 9, HASH]])
    row("none", "heads of a log of a device that no certificate names", HEADS, SETTINGS, False, [
        [HASH, bytes(16), 9, HASH, 9]])
    row("none", "values that were not requested", VALUES, SETTINGS, [[HASH, [[0, bytes(16), b"\x80"]]]])
    row("none", "no statements", STATEMENTS, False, [])
    row("none", "an answer to a state that was not sent", STATE, HASH, 99, False)
    row("twice", "a second introduction", INTRODUCTION, introduction([GENESIS, bob]))
    row("token", "an answer to a question that was not asked", ANSWER, 99, SETTINGS, HASH, True, [0, []])
    row("token", "a refusal of a question that was not asked", ANSWER, 99, 2)
    row("token", "an answer with token 0", ANSWER, 0, SETTINGS, HASH, True, [0, []])
    row("circle", "a statement of another circle", STATEMENTS, False, [GENESIS])
    row("circle", "a change set of another circle", SETS, SETTINGS, [wire(setting)])
    row("lane", "a change set of another lane", SETS, SETTINGS, [wire(trip)])
    row("verify", "a statement with a wrong signature", STATEMENTS, False, [bob[:-1] + bytes([bob[-1] ^ 1])])
    row("form", "a statement that is none", STATEMENTS, True, [b"\x80"])
    row("form", "a message that is none", SERVED, "x")
    return rows


def document():
    return {"exchanges": exchanges(), "endings": endings()}
