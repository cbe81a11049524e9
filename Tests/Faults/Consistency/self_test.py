"""Judges the checker: it must accept what is right and refuse what is not, naming the operations.

Histories written by hand (cases.py), random histories of a model of a replicated store, right and with planted faults
(model_store.py), and recorded ones with planted mistakes.
"""

import sys
import time

import cases
import model_store
from checker import check
from history import BadHistory

RANDOM, PLANTED = 60, 30


def by_hand():
    for name, text in cases.VALID.items():
        for violation in check(cases.history(text)):
            yield f"“{name}” is right, but was refused: {violation.text}"
    for name, (text, expected) in cases.INVALID.items():
        found = [(violation.guarantee, set(violation.operations)) for violation in check(cases.history(text))]
        if len(found) != len(expected) or any(each not in expected for each in found):
            yield f"“{name}” must be refused with {expected}, but the checker says {found}"
    for name, text in cases.MALFORMED.items():
        try:
            check(cases.history(text))
            yield f"“{name}” is no history, but was judged"
        except BadHistory:
            pass


def at_random():
    for seed in range(RANDOM):
        for violation in check(model_store.Store(seed).run()):
            yield f"the right store of seed {seed} was refused: {violation.text}"
    for fault, what in model_store.FAULTS.items():
        caught = sum(bool(check(model_store.Store(seed, fault).run())) for seed in range(PLANTED))
        # Not every random history provokes the fault.
        if caught < PLANTED // 4:
            yield f"{what}: refused in {caught} of {PLANTED} random histories only"


def main():
    begun = time.monotonic()
    problems = [*by_hand(), *at_random()]
    for problem in problems:
        print(f"FAIL  {problem}")
    print(f"{len(cases.VALID)} right and {len(cases.INVALID)} wrong histories, {RANDOM} random ones, "
          f"{len(model_store.FAULTS)} planted faults in {PLANTED} each: {len(problems)} problems, "
          f"{time.monotonic() - begun:.1f} s")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
