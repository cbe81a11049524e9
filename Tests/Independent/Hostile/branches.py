"""A device that writes more branches than fold: both nodes prove it, keep the same sets, and honest sets pass."""

import os

from change_set import SETTINGS, Verified, content_of, seal
from forks import bring, branches, entries
from session import milliseconds


def reasons(node):
    return [notice["reason"] for notice in node.ask("status")["notices"]]


def many(author_name, count, are_logs):
    def attempt(stage, node):
        author = getattr(stage, author_name)
        stage.sync(author)
        author.begin_incarnation()
        if are_logs:
            found = [first_set(author, number) for number in range(count)]
        else:
            author.write(SETTINGS, entries(author, SETTINGS, "before"))
            stage.sync(author)
            found = [branch[0] for branch in branches(author, SETTINGS, count)]
        # Sixteen branches fold. One more, which the other node has not seen, is already too many.
        bring(stage, author, SETTINGS, stage.alice, found[:8])
        bring(stage, author, SETTINGS, stage.bob, found[8:16])
        stage.settle()
        session = stage.dial(author, stage.alice)
        session.until(lambda: session.theirs is not None and session.is_open(SETTINGS), 10, "an open lane")
        session.push(SETTINGS, found[16:])
        for each in stage.nodes:
            stage.eventually(lambda: "too_many_branches" in reasons(each), f"{each.name} reports the branches")
        session.channel.wire.close()
        stage.settle()
        gone = {each.id for each in found}
        for each in stage.nodes:
            assert not gone & stage.ids(each.device), f"{each.name} keeps sets beyond the line"
        # Honest sets that have seen some of the branches still pass.
        stage.write_on()
        stage.settle()
        author.begin_incarnation()
        stage.sync(author)
    attempt.__name__ = f"{count} {'logs of one number' if are_logs else 'branches'} by {author_name}"
    return attempt


def first_set(author, number):
    """The first set of a new log whose incarnation has the author's number."""
    author.incarnation = author.new_incarnation()
    draft = author.lanes[SETTINGS].draft(author, entries(author, SETTINGS, str(number)), milliseconds())
    made = seal(**{**draft, "operation": os.urandom(16),
                   "content": content_of(entries(author, SETTINGS, str(number)))})
    author.lanes[SETTINGS].place(Verified(made), milliseconds())
    return made


ATTEMPTS = [many("mallory", 40, False), many("trudy", 40, True)]
