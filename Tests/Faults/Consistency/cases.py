"""Histories written by hand, each with what the checker must say about it.

One operation a line, one after the other unless it is given times:

    Alice@a writes x=1 y=1        a confirmed write; `tries` for one without an answer, `fails` for a rejected one
    Alice@a reads x=1 y=-         these keys, `-` for no value; `lists` for all keys that begin with a prefix, as in
    Alice@a lists x/ x/1=1        this one: x/2 has no value
    Alice@a moves b               has waited until a and b are in sync
    Alice@a ends x=1              a final read, of all keys
    [3-9] Alice@a writes x=1      begins at 3 and ends at 9
    healed                        all nodes have all writes in time; `unhealed` if not

Each line is numbered from 1: violations name operations by these numbers.
"""

import re

import checker
from history import FAILED, MOVE, OK, READ, UNKNOWN, WRITE, History, Operation

LINE = re.compile(r"(?:\[(\d+)-(\d+)\] )?(\w+)@(\w+) (\w+)(.*)")
KINDS = {"writes": (WRITE, OK), "tries": (WRITE, UNKNOWN), "fails": (WRITE, FAILED), "reads": (READ, OK),
         "lists": (READ, OK), "ends": (READ, OK), "moves": (MOVE, OK)}


def history(text):
    lines = [line.split("  #")[0].strip() for line in text.strip().splitlines()]
    nodes = sorted({match[4] for match in map(LINE.fullmatch, lines) if match})
    made = History({"nodes": nodes})
    for number, line in enumerate(lines, 1):
        if line in ("healed", "unhealed"):
            made.events.append({"event": "healed", "at": 2 * number, "deadline": 60,
                                "converged": 2 * number + 1 if line == "healed" else None})
            continue
        begin, end, session, node, verb, rest = LINE.fullmatch(line).groups()
        kind, outcome = KINDS[verb]
        begin, end = (float(begin), float(end)) if begin else (2.0 * number, 2.0 * number + 1)
        words = rest.split()
        operation = Operation(number, session, node, begin, None if outcome == UNKNOWN else end, kind, outcome)
        if kind == MOVE:
            operation.to = words[0]
        else:
            if verb == "lists":
                operation.scope = (words.pop(0),)
            if verb == "ends":
                operation.scope, operation.final = ("",), True
            values = {key: None if value == "-" else value for key, value in (word.split("=") for word in words)}
            if kind == WRITE:
                operation.writes = values
            else:
                operation.values = values
        made.operations.append(operation)
    return made


VALID = {
    "another node need not show a write": """
        Alice@a writes x=1
        Bob@b reads x=-
        Bob@b reads x=1
        Bob@b ends x=1
        Alice@a ends x=1""",
    "of two concurrent writes either may win, as long as it is the same everywhere": """
        Alice@a writes x=1
        Bob@b writes x=2
        Alice@a reads x=1
        Bob@b reads x=2
        Bob@b reads x=1
        Alice@a ends x=1
        Bob@b ends x=1""",
    "concurrent change sets may both remain in part": """
        Alice@a writes x=1 y=1
        Bob@b writes y=2 z=2
        Alice@a ends x=1 y=2 z=2
        Bob@b ends x=1 y=2 z=2""",
    "a write without an answer may take effect late, or never": """
        Alice@a writes x=1
        Alice@a tries x=2
        Alice@a reads x=1
        Bob@a reads x=1
        Alice@a reads x=2
        Bob@a tries x=3
        Bob@a ends x=2""",
    "a rejected write has no effect": """
        Alice@a writes x=1
        Alice@a fails x=2
        Alice@a reads x=1
        Alice@a ends x=1""",
    "requests at the same time have no order": """
        Alice@a writes x=1
        [10-20] Alice@a writes x=2
        [11-19] Bob@a reads x=2
        [12-18] Carol@a reads x=1
        [13-21] Dave@a reads x=2
        [40-41] Alice@a ends x=2""",
    "of two equal times neither is before the other": """
        Alice@a writes x=1
        [10-12] Alice@a writes x=2
        [12-14] Bob@a reads x=1
        [20-21] Bob@a ends x=2""",
    "a session that moves without waiting is another session": """
        Alice@a writes x=1
        Alices@b reads x=-
        Alices@b ends x=1
        Alice@a ends x=1""",
    "a deleted record may be visible elsewhere for a while, and is gone at the end": """
        Alice@a writes r/1=1 r/2=2
        Bob@b lists r/ r/1=1 r/2=2
        Alice@a writes r/1=-
        Alice@a lists r/ r/2=2
        Bob@b lists r/ r/1=1 r/2=2
        Bob@b lists r/ r/2=2
        healed
        Alice@a ends r/2=2
        Bob@b ends r/2=2""",
    "a delete without an answer may explain why a record is gone": """
        Alice@a writes r/1=1
        Alice@a tries r/1=-
        Alice@a lists r/ r/1=1
        Alice@a lists r/
        Alice@a ends""",
    "what a third node relays has its past": """
        Alice@a writes x=1
        Bob@b reads x=1
        Bob@b writes y=2
        Carol@c reads x=1 y=2
        Alice@a ends x=1 y=2
        Bob@b ends x=1 y=2
        Carol@c ends x=1 y=2""",
}

# Each history, and the violations that must be found: the guarantee, and the operations that are named.
INVALID = {
    "a session does not see its own write": ("""
        Alice@a writes x=1
        Alice@a writes x=2
        Alice@a reads x=1""", [(checker.READ_YOUR_WRITES, {3, 2, 1})]),
    "a session does not see its first write": ("""
        Alice@a writes x=1
        Alice@a reads x=-""", [(checker.READ_YOUR_WRITES, {2, 1})]),
    "a session moves and does not see its own write": ("""
        Alice@a writes x=1
        Alice@a moves b
        Alice@b reads x=-""", [(checker.READ_YOUR_WRITES, {3, 1})]),
    "a session goes back to an older value": ("""
        Alice@a writes x=1
        Alice@a writes x=2
        Bob@b reads x=2
        Bob@b reads x=1""", [(checker.MONOTONIC_READS, {4, 2, 3, 1})]),
    "a session goes back to an older value at the node to which it moves": ("""
        Alice@a writes x=1
        Alice@a writes x=2
        Bob@b reads x=2
        Bob@b moves c
        Bob@c reads x=1""", [(checker.MONOTONIC_READS, {5, 2, 3, 1})]),
    "a node lacks what it had when a session moved to it": ("""
        Alice@a writes x=1
        Alice@a moves b
        Bob@b reads x=-""", [(checker.NODE_ORDER, {3, 1})]),
    "a record that was written again after its delete is gone": ("""
        Alice@a writes r/1=1
        Alice@a writes r/1=-
        Alice@a lists r/
        Alice@a writes r/1=2
        Alice@a lists r/""", [(checker.READ_YOUR_WRITES, {5, 4, 2})]),
    "a record that was deleted is back": ("""
        Alice@a writes r/1=1
        Alice@a writes r/1=-
        Bob@a lists r/
        Bob@a lists r/ r/1=1""", [(checker.MONOTONIC_READS, {4, 2, 3, 1})]),
    "a record is gone that no one deleted": ("""
        Alice@a writes r/1=1 r/2=2
        Bob@b lists r/ r/1=1 r/2=2
        Bob@b lists r/ r/1=1""", [(checker.ATOMIC, {3, 1})]),
    "the only record is gone that no one deleted": ("""
        Alice@a writes r/1=1
        Bob@b lists r/ r/1=1
        Bob@b lists r/""", [(checker.MONOTONIC_READS, {3, 1, 2})]),
    "the second write of a session is visible without its first": ("""
        Alice@a writes x=1
        Alice@a writes y=2
        Bob@b reads x=- y=2""", [(checker.MONOTONIC_WRITES, {3, 1, 2})]),
    "a later read lacks the first write of a session whose second was visible": ("""
        Alice@a writes x=1
        Alice@a writes y=2
        Bob@b reads y=2
        Bob@b reads x=-""", [(checker.MONOTONIC_WRITES, {4, 1, 2})]),
    "an answer is visible without its question": ("""
        Alice@a writes x=1
        Bob@b reads x=1
        Bob@b writes y=2
        Carol@c reads x=- y=2""", [(checker.WRITES_FOLLOW_READS, {4, 1, 3})]),
    "a node forgets what it confirmed to another client": ("""
        Alice@a writes x=1
        Bob@a reads x=-""", [(checker.NODE_ORDER, {2, 1})]),
    "a node forgets what it showed to another client": ("""
        Alice@a writes x=1
        Bob@b reads x=1
        Carol@b reads x=-""", [(checker.NODE_ORDER, {3, 1})]),
    "a change set is visible in part": ("""
        Alice@a writes x=1 y=1
        Alice@a writes x=2 y=2
        Bob@b reads x=2 y=1""", [(checker.ATOMIC, {3, 2, 1})]),
    "a new change set is visible in part": ("""
        Alice@a writes r/1=1 r/2=1
        Bob@b lists r/ r/2=1""", [(checker.ATOMIC, {2, 1})]),
    "an undo is visible in part": ("""
        Alice@a writes r/1=1 r/2=1
        Alice@a writes r/1=- r/2=-
        Bob@b lists r/ r/1=1""", [(checker.ATOMIC, {3, 2, 1})]),
    "of two concurrent change sets each wins one key": ("""
        Alice@a writes x=1 y=1
        Bob@b writes x=2 y=2
        Carol@c reads x=1 y=2""", [(checker.ATOMIC, {3, 1, 2})]),
    "two nodes choose different winners": ("""
        Alice@a writes x=1
        Bob@b writes x=2
        Carol@c reads x=1
        Carol@c reads x=2
        Dave@d reads x=2
        Dave@d reads x=1""", [(checker.WINNER, {1, 2, 4, 6})]),
    "the winner of one key loses another one": ("""
        Alice@a writes x=1 y=1
        Bob@b writes x=2 y=2
        Carol@c reads x=2
        Carol@c reads x=1
        Dave@d reads y=1
        Dave@d reads y=2""", [(checker.WINNER, {1, 2, 4, 6})]),
    "winners contradict one another through the causal order": ("""
        Carol@c writes z=1
        Alice@a reads z=1
        Alice@a writes x=2
        Bob@b writes x=3
        Bob@b writes z=4
        Alice@a reads x=3
        Bob@b reads z=1""", [(checker.WINNER, {1, 3, 4, 5, 6, 7})]),
    "nodes differ at the end": ("""
        Alice@a writes x=1
        Bob@b writes x=2
        Alice@a ends x=1
        Bob@b ends x=2""", [(checker.CONVERGENCE, {3, 4}), (checker.WINNER, {1, 2, 3, 4})]),
    "nodes do not converge in time": ("""
        Alice@a writes x=1
        unhealed
        Alice@a ends x=1""", [(checker.CONVERGENCE, set())]),
    "a node has no final read": ("""
        Alice@a writes x=1
        Bob@b reads x=1
        Alice@a ends x=1""", [(checker.CONVERGENCE, set())]),
    "a confirmed write is lost on every node": ("""
        Alice@a writes x=1
        Bob@b reads x=1
        Alice@a writes x=2
        Bob@b ends x=1
        Alice@a ends x=1""", [(checker.NOT_LOST, {4, 3, 1}), (checker.READ_YOUR_WRITES, {5, 3, 1})]),
    "a confirmed record is lost on the other node": ("""
        Alice@a writes x=1
        Alice@a ends x=1
        Bob@b ends""", [(checker.CONVERGENCE, {2, 3}), (checker.NOT_LOST, {3, 1})]),
    "a value was written by no one": ("""
        Alice@a writes x=1
        Bob@b reads x=7""", [(checker.NOT_INVENTED, {2})]),
    "a rejected write is visible": ("""
        Alice@a writes x=1
        Alice@a fails x=2
        Alice@a reads x=2""", [(checker.NOT_INVENTED, {3, 2})]),
    "a value is visible before it is written": ("""
        Bob@b reads x=1
        Alice@a writes x=1""", [(checker.NOT_INVENTED, {1, 2})]),
}

# Not a history in this sense: nothing can be said about the nodes.
MALFORMED = {
    "two writes of one value": """
        Alice@a writes x=1
        Bob@b writes x=1""",
    "a session at two nodes": """
        Alice@a writes x=1
        Alice@b reads x=1""",
    "two requests of one session at a time": """
        [1-5] Alice@a writes x=1
        [2-3] Alice@a reads x=1""",
}
