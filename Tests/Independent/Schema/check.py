"""Validates every CBOR item of Protocol/vectors against Protocol/waymark.cddl.

What a chapter accepts must match its rule. What a chapter refuses must differ from it, unless CDDL can't express the
reason: reasons.py lists which reasons it can.

`--quick` leaves out items of more than 16 KiB. They take two thirds of the time: many are as large as a limit allows,
and their rules have many smaller items.
"""

import collections
import multiprocessing
import sys

import reasons
import vectors
from cddl_verifier import Validator

SCHEMA = vectors.PROTOCOL / "waymark.cddl"
validator = Validator(SCHEMA)


def judge(question):
    """The verdict on an item, and where the item first differs."""
    rule, data = question
    result = validator.validate(data, root_type=rule)
    if result.valid:
        return reasons.MATCHES, ""
    first = result.diagnostics[0]
    verdict = reasons.NOT_CBOR if first.code == "decode" else reasons.DIFFERS
    return verdict, f" ({first.path_text}: {first.message})"[:200]


def main():
    items, large = list(vectors.all_items()), 0
    if "--quick" in sys.argv[1:]:
        count = len(items)
        items = [item for item in items if len(item.data) <= 16_384]
        large = count - len(items)
    # Large items come first, so that no process is left with one at the end.
    questions = sorted({(item.rule, item.data) for item in items}, key=lambda question: -len(question[1]))
    with multiprocessing.Pool() as pool:
        verdicts = dict(zip(questions, pool.imap(judge, questions, chunksize=4)))
    counts, faults = collections.defaultdict(collections.Counter), []
    for item in items:
        verdict, where = verdicts[item.rule, item.data]
        counts[item.vector.partition(".json")[0]][verdict] += 1
        if verdict != item.expected:
            faults.append(f"{item.vector}: rule {item.rule}: {verdict}{where}; expected: {item.expected}")
    faults += [f"no vector is refused for this reason any more: {' '.join(filter(None, entry))}" for entry in
               sorted(reasons.unused, key=str)]
    for name, found in sorted(counts.items()):
        print(f"{name + '.json':18} " + ", ".join(
            f"{found[verdict]:5} {text}" for verdict, text in (
                (reasons.MATCHES, "match"), (reasons.DIFFERS, "differ"), (reasons.NOT_CBOR, "are not CBOR"))))
    for fault in faults:
        print(f"FAILED {fault}", file=sys.stderr)
    if not faults:
        left = f"; {large} large items were left out" if large else ""
        print(f"passed: {len(items)} items of {len(counts)} files agree with {SCHEMA.name}{left}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
