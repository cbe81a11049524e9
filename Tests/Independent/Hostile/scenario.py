"""Attacks on a running circle of two nodes, by devices written from Protocol/ alone.

    run [GROUP…]             all attempts, or those of some groups
    run brief                some of each group
    run random [SEED [STEPS]]   a hostile member at random: see member.py
"""

import os
import pathlib
import shutil
import sys
import tempfile
import time

import absence
import authority
import branches
import clocks
import forks
import frames
import gate
import leaves
import lies
import member
import poison
import sets
import spelling
import strangers
from attempts import Attempts
from stage import Stage

START = time.monotonic()


def say(text):
    print(f"{time.monotonic() - START:6.1f}  {text}", flush=True)


# Title, attempts, whether they must leave nothing in the stores, and N: a brief run tries every Nth attempt.
GROUPS = [
    ("strangers", strangers.ATTEMPTS, True, 2), ("frames and messages", frames.ATTEMPTS, True, 4),
    ("spelling", spelling.ATTEMPTS, True, 9), ("change sets", sets.ATTEMPTS, True, 3),
    ("lies", lies.ATTEMPTS, False, 5), ("claims of premium", gate.ATTEMPTS, False, 4),
    ("certificates that are none", gate.CLOSED, True, 3), ("statements that are none", authority.CLOSING, True, 3),
    ("authority", authority.ATTEMPTS, False, 3), ("forks", forks.ATTEMPTS, False, 4),
    ("branches", branches.ATTEMPTS, False, 2), ("clocks", clocks.ATTEMPTS, False, 4),
    ("absent values", absence.ATTEMPTS, False, 4), ("files", leaves.ATTEMPTS, False, 4),
    ("poison", poison.ATTEMPTS, False, 3),
    ("slowness", strangers.SLOW + lies.SLOW, True, 5), ("no room", authority.LAST, False, 1)]


def attack(stage, words):
    is_brief = words[:1] == ["brief"]
    attempts = Attempts(stage, say, words[1:] if is_brief else words)
    stage.begin(stage.mallory)
    for title, group, leaves_nothing, every in GROUPS:
        attempts.group(title, group[::every] if is_brief else group, leaves_nothing)
        if title == "change sets" and attempts.count:
            stage.check_blame(stage.mallory)
    assert not attempts.failures, attempts.failures
    say(f"{attempts.count} attempts, and the circle is intact")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wm-hostile-"))
    stage = None
    try:
        stage = Stage(folder)
        say("a circle of two nodes, and four devices written in Python")
        if sys.argv[1:2] == ["random"]:
            member.run(stage, sys.argv[2:], say)
        else:
            attack(stage, sys.argv[1:])
    except BaseException:
        for node in stage.nodes if stage else []:
            print(f"--- {node.name}", node.last_words(), file=sys.stderr)
        raise
    finally:
        if stage:
            stage.end()
        if "KEEP" not in os.environ:
            shutil.rmtree(folder)


main()
