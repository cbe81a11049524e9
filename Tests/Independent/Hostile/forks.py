"""A device that sends different branches to different nodes: every branch folds on all nodes, and the fork is
reported."""

import os

from change_set import INSERT, RECORDS, SETTINGS, Verified, content_of, seal
from client import HABIT
from session import milliseconds


def entries(client, lane, text):
    if lane == SETTINGS:
        return client.setting("fork", text)
    return [[INSERT, HABIT, bytes(15) + b"\1", {1: text}]]


def branches(client, lane, count, length=1):
    """Branches from one position, with different contents."""
    draft = client.lanes[lane].draft(client, entries(client, lane, "0"), milliseconds())
    found = []
    for number in range(count):
        content = content_of(entries(client, lane, str(number)))
        first = seal(**{**draft, "operation": os.urandom(16), "content": content})
        branch = [first]
        client.lanes[lane].place(Verified(first), milliseconds())
        while len(branch) < length:
            after = client.lanes[lane].by_id[branch[-1].id]
            more = seal(**client.lanes[lane].draft(client, entries(client, lane, os.urandom(4).hex()), milliseconds(),
                                                   after))
            client.lanes[lane].place(Verified(more), milliseconds())
            branch.append(more)
        found.append(branch)
    return found


def bring(stage, client, lane, node, sets):
    """Pushes sets to a node without answering anything that could reveal the other branches."""
    session = stage.dial(client, node)
    session.until(lambda: session.theirs is not None and session.is_open(lane), 10, "an open lane")
    session.push(lane, sets)
    ids = {each.id for each in sets}
    stage.eventually(lambda: ids <= stage.ids(session.peer), "a branch is stored")
    session.channel.wire.close()


def forked(client, lane, count, length, sides):
    """`sides` says which branches go to Alice; Bob gets the others."""
    def attempt(stage, node):
        author = getattr(stage, client)
        stage.sync(author)
        # Each attempt has its own log, so that each forks from one set.
        author.begin_incarnation()
        author.write(lane, entries(author, lane, "before"))
        stage.sync(author)
        found = branches(author, lane, count, length)
        for number, branch in enumerate(found):
            bring(stage, author, lane, stage.alice if number in sides else stage.bob, branch)
        stage.settle()
        every = {each.id for branch in found for each in branch}
        for each in stage.nodes:
            assert every <= stage.ids(each.device), f"{each.name} lacks a branch"
            reasons = [notice["reason"] for notice in each.ask("status")["notices"]]
            assert "fork" in reasons, f"{each.name} does not report the fork: {reasons}"
        stage.sync(author)
    attempt.__name__ = f"{count} branches of {length} in lane {lane} by {client}, {sides} to Alice"
    return attempt


def knows_both(stage, node):
    """A later set that has seen one branch, and a set of another device that has seen both."""
    author = stage.trudy
    stage.sync(author)
    author.begin_incarnation()
    (one,), (other,) = branches(author, SETTINGS, 2)
    bring(stage, author, SETTINGS, stage.alice, [one])
    bring(stage, author, SETTINGS, stage.bob, [other])
    stage.settle()
    stage.sync(stage.grace)
    stage.grace.write(SETTINGS, entries(stage.grace, SETTINGS, "both"))
    stage.sync(stage.grace, stage.bob)
    stage.settle()
    assert stage.setting(stage.alice, "fork") == "both"


ATTEMPTS = [
    forked("mallory", SETTINGS, 2, 1, {0}), forked("trudy", RECORDS, 2, 1, {0}),
    forked("trudy", RECORDS, 3, 1, {0, 2}), forked("trudy", RECORDS, 2, 30, {1}),
    forked("mallory", SETTINGS, 3, 20, {1}), forked("trudy", SETTINGS, 8, 2, {0, 1, 2, 3}), knows_both]
