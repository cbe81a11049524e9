"""The list of checks: what each is called, who must pass it, and where it is specified; and how they are run."""

import time
import traceback
from typing import Callable, NamedTuple

from nacl.exceptions import CryptoError
from noise.exceptions import NoiseInvalidMessage

from channel import Ended, Silence
from encoding import Refused

PROFILES = ["reader", "member", "full"]
READER, MEMBER, FULL = range(3)
CHECKS = []


class Failed(Exception):
    """One sentence: what was expected, and what arrived."""


class Skipped(Exception):
    """Why a check does not apply, or can't be made."""


class Check(NamedTuple):
    name: str
    profile: int
    chapter: str
    section: str
    run: Callable

    @property
    def title(self):
        return f'{self.name}  ({self.chapter}, "{self.section}")'


def check(name, profile, chapter, section):
    """Adds a function to the list. Checks run in the order in which they are defined."""
    def add(function):
        CHECKS.append(Check(name, profile, chapter + ".md", section, function))
        return function
    return add


def require(condition, sentence):
    if not condition:
        raise Failed(sentence)


def sentence(failure):
    """A failure as one sentence."""
    if isinstance(failure, Failed):
        return str(failure)
    if isinstance(failure, Ended):
        return f"expected the connection to stay open; the client ended it ({failure})"
    if isinstance(failure, Silence):
        return "expected a message; nothing arrived in time"
    if isinstance(failure, (Refused, CryptoError)):
        return f"expected valid bytes; the client sent some that break a rule: {failure}"
    if isinstance(failure, AssertionError) and str(failure):
        return str(failure)
    if isinstance(failure, NoiseInvalidMessage):
        return "expected a frame that opens; the client sent one that does not"
    place = traceback.extract_tb(failure.__traceback__)[-1]
    return f"{type(failure).__name__}: {failure} ({place.filename.rsplit('/', 1)[-1]}, line {place.lineno})"


class Results:
    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []

    @property
    def code(self):
        return 1 if self.failed or not self.passed else 0

    def summary(self):
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def chosen(profile, only=()):
    """The checks of a profile; `only` are names, or beginnings of names."""
    return [each for each in CHECKS if each.profile <= profile
            and (not only or any(each.name.startswith(name) for name in only))]


def run(world, checks, say, results=None):
    results = results or Results()
    for each in checks:
        start = time.monotonic()
        try:
            each.run(world)
        except Skipped as reason:
            results.skipped.append(each.name)
            say(f"skip  {each.title}\n      {reason}")
        except Exception as failure:
            results.failed.append(each.name)
            say(f"FAIL  {each.title}\n      {sentence(failure)}")
            if world.is_verbose:
                say("".join(traceback.format_exception(failure)))
        else:
            results.passed.append(each.name)
            say(f"pass  {each.title}" + (f"  {time.monotonic() - start:.1f} s" if world.is_verbose else ""))
        finally:
            world.hang_up()
        if each.name in results.failed:
            if world.is_gone():
                results.failed.append("client")
                say(f"FAIL  the client no longer listens at {world.address}; the other checks were not made")
                break
            world.compares(each.name)
    return results
