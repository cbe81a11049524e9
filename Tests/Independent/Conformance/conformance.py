"""Checks a client of the protocol from outside: a scripted peer founds a circle, lets the client join, and judges it on
the wire alone.

    run TARGET=HOST:PORT [PROFILE=reader|member|full] [LISTEN=HOST:PORT] [TICKET=FILE|-] [ONLY=NAME,…] [VERBOSE=1]
    run                 judges the node of this repository, and clients with planted faults
    run brief           the same with some of the faults
    run list            lists the checks of all profiles
"""

import os
import sys

import check_opening  # noqa: F401  the order of these imports is the order of the checks
import check_channel  # noqa: F401
import check_statements  # noqa: F401
import check_settings  # noqa: F401
import check_refusal  # noqa: F401
import check_records  # noqa: F401
import check_serving  # noqa: F401
import check_files  # noqa: F401
import check_questions  # noqa: F401
import check_pairing  # noqa: F401
import checks
from person import Person
from world import PERSON_SECONDS, World, is_local


def say(text):
    print(text, flush=True)


def judge(world, profile, only=(), say=say):
    """Lets the client join, and runs the checks of a profile."""
    results, world.profile = checks.Results(), profile
    try:
        world.joins()
    except Exception as failure:
        results.failed.append("opening.joins")
        say(f"FAIL  the client did not join\n      {checks.sentence(failure)}")
        return results
    return checks.run(world, checks.chosen(profile, only), say, results)


def option(name):
    """An option as a word NAME=VALUE or from the environment."""
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    return words.get(name) or os.environ.get(name) or ""


def main():
    words = [word for word in sys.argv[1:] if "=" not in word]
    only, is_verbose = tuple(each for each in option("ONLY").split(",") if each), bool(option("VERBOSE"))
    if words == ["list"]:
        for each in checks.CHECKS:
            say(f"{checks.PROFILES[each.profile]:7} {each.title}")
        return 0
    if words not in ([], ["brief"]) or (option("PROFILE") or "full") not in checks.PROFILES:
        say(__doc__)
        return 2
    if not option("TARGET"):
        import self_test  # it imports this module
        return self_test.main(only, is_verbose, words == ["brief"])
    profile = checks.PROFILES.index(option("PROFILE") or "reader")
    target, listen = option("TARGET"), option("LISTEN") or "127.0.0.1:0"
    if ":" not in target or not is_local(target) and is_local(listen):
        say("TARGET is HOST:PORT. For a client on another machine, LISTEN names an address here that it can dial.")
        return 2
    world = World(Person(say, option("TICKET"), PERSON_SECONDS), listen, target, is_verbose)
    results = judge(world, profile, only)
    say(f"{checks.PROFILES[profile]}: {results.summary()}")
    return results.code


if __name__ == "__main__":
    sys.exit(main())
