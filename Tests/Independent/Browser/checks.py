"""Runs checks that are named by sentences, and reports each."""

import sys
import time
import traceback

from browser import Failed

checks = []


def check(function):
    """Adds a check; its docstring is its name."""
    checks.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise Failed(message)


def equal(found, expected, what):
    expect(found == expected, f"{what}: {found!r} instead of {expected!r}")


def run(world):
    """Runs all checks, or those whose names contain a word of the command line; exits with 1 if one fails.

    Closes all pages after each check."""
    words = sys.argv[1:]
    failed = 0
    for function in checks:
        if words and not any(word in function.__doc__ for word in words):
            continue
        begin = time.monotonic()
        try:
            function(world)
            print(f"ok      {function.__doc__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED  {function.__doc__}: {error}", flush=True)
            if not isinstance(error, Failed):
                traceback.print_exc()
        world.browser.close_pages()
    print(f"{len(checks)} checks, {failed} failed")
    sys.exit(1 if failed else 0)
