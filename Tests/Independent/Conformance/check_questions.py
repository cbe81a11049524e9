"""Checks of Protocol/session.md, "Questions"."""

import os

import merge
from change_set import DELETE, RECORDS, SETTINGS
from channel import Ended
from checks import FULL, READER, check, require
from client import HABIT
from session import ANSWER, BUCKET_OF, DIGESTS_OF, HEADS_OF, INVENTORY_OF, QUERY
from world import habit, setting

NAMES = {SETTINGS: "settings", RECORDS: "records"}


@check("questions.answer-or-refusal", READER, "session", "Questions")
def answer_or_refusal(world):
    """A question is answered or refused, not ignored: the one who asks waits for 10 seconds."""
    session = world.settled()
    session.ask(SETTINGS, HEADS_OF)


@check("questions.answers", FULL, "session", "Questions")
def answers(world):
    """Heads, digests, buckets and inventory of both lanes are those of the model."""
    shown, dead = os.urandom(16), os.urandom(16)
    world.bob.writes(SETTINGS, setting("asked", 1))
    world.bob.writes(RECORDS, habit(shown, name="Shown"), habit(dead, name="Deleted"))
    world.bob.writes(RECORDS, [DELETE, HABIT, dead])
    session = world.records()
    for lane in (SETTINGS, RECORDS):
        mine, folded = world.lanes[lane], world.lanes[lane].folded.values()
        told = session.ask(lane, HEADS_OF)
        require(len(told) == 4, f"expected an answer about {NAMES[lane]}; a refusal with reason {told} arrived")
        of_lane, hash, done, (form, heads) = told
        require((of_lane, hash, done, form) == (lane, mine.hashes()[1], True, HEADS_OF),
                "expected the lane, the folded heads hash, done = true and the form of the question")
        require(sorted(heads) == mine.heads(), f"expected the heads of the lane {NAMES[lane]}")
        require(session.ask(lane, DIGESTS_OF)[3] == [DIGESTS_OF, b"".join(merge.sums(folded))],
                f"expected the 256 sums of the lane {NAMES[lane]}")
        rows = [row for bucket in sorted({row[1][0] for row in merge.hashes(folded)})
                for row in session.ask_all(lane, BUCKET_OF, bucket)]
        require(sorted(rows) == merge.hashes(folded), f"expected what each record adds to the digest of {NAMES[lane]}")
        items, wanted = session.ask_all(lane, INVENTORY_OF), merge.inventory(folded)
        odd = [item[:2] for item in items if item not in wanted] + [item[:2] for item in wanted if item not in items]
        require(items == wanted, f"expected the inventory of {NAMES[lane]}; different or out of order: {odd[:3]}")


@check("questions.refuses", FULL, "session", "Questions")
def refuses(world):
    """A member without premium is answered about settings, and refused about records."""
    world.records().close()
    session = world.settled(world.device("Mallory"))
    require(len(session.ask(SETTINGS, HEADS_OF)) == 4, "expected an answer about settings")
    told = session.ask(RECORDS, HEADS_OF)
    require(len(told) == 1 and told[0] != 0, "expected a refusal about records, with a reason other than 0")


@check("questions.form", FULL, "session", "Questions")
def form(world):
    """A question of no form ends the session, and so does an answer that no one asked for."""

    cases = {
        "the question 4": [QUERY, 1, SETTINGS, [4]], "the bucket 256": [QUERY, 1, SETTINGS, [BUCKET_OF, 256, None]],
        "an answer with a token that was never used": [ANSWER, 7, SETTINGS, bytes(32), True, [HEADS_OF, []]]}
    for what, message in cases.items():
        session = world.settled(world.device("Mallory"))
        try:
            session.send(*message)
            session.closes(what)
        except Ended:
            pass
