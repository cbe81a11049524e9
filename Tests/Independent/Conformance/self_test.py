"""Judges what must pass, and what must not: the node, and clients with planted faults. Also compares the checks with the
pages that they name."""

import pathlib
import re

import broken
from checks import CHECKS, FULL
from conformance import say
from node_test import judge_node

PAGES = pathlib.Path(__file__).parents[3] / "Protocol"


def wrong_names():
    """Sections that do not exist, and checks that Protocol/profiles.md does not list, or lists under another name."""
    found = []
    for each in CHECKS:
        page = (PAGES / each.chapter).read_text()
        if not re.search(rf"^#+ {re.escape(each.section)}$|\*\*{re.escape(each.section)}", page, re.M):
            found.append(f'{each.name} names {each.chapter}, "{each.section}", which does not exist')
    listed = set(re.findall(r"`([a-z]+\.[a-z0-9*-]+)`", (PAGES / "profiles.md").read_text()))
    covers = lambda word, name: name == word or word.endswith("*") and name.startswith(word[:-1])  # noqa: E731
    found += [f"profiles.md does not list {each.name}" for each in CHECKS
              if not any(covers(word, each.name) for word in listed)]
    found += [f"profiles.md lists {word}, which is no check" for word in sorted(listed)
              if not any(covers(word, each.name) for each in CHECKS)]
    found += [f"no planted fault fails {each.name}" for each in CHECKS
              if not any(each.name in planted.checks for planted in broken.FAULTS.values())]
    return found


def main(only=(), is_verbose=False, is_brief=False):
    def node():
        say("The node, profile full:")
        results = judge_node(FULL, only, is_verbose)
        say(f"The node, profile full: {results.summary()}")
        return results.code

    wrong = wrong_names()
    for each in wrong:
        say(f"FAIL  {each}")
    if only:
        return node() or int(bool(wrong))
    return broken.main(node, list(broken.FAULTS)[::10] if is_brief else broken.FAULTS) or int(bool(wrong))
