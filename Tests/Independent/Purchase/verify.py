"""Verifies purchases by Protocol/purchase.md, apart from the node and from the script that makes the vectors.

    verify.py                                       compares every row of Protocol/vectors/purchase.json
    verify.py TOKENFILE [--root DER] [--circle HEX] judges a transaction, and the renewal info that may follow it

TOKENFILE has one or two tokens, separated by white space. DER is a file with the pinned root; the default is the root
of the vectors.
"""

import argparse
import json
import pathlib
import sys

from evaluation import Circle, Subscription, is_accepted, kept
from jws import (
    REQUIRED_OF_TRANSACTION, TRANSACTION, NotReadable, Token, account_token, fault, is_bound, read_transaction,
    renewal_of)
from statement import BadSignature, Malformed, Statement

VECTORS = pathlib.Path(__file__).absolute().parents[3] / "Protocol/vectors/purchase.json"


def of_statement(row):
    try:
        Statement(bytes.fromhex(row["bytes"]))
    except Malformed:
        return {"error": "malformed"}
    except BadSignature:
        return {"error": "badSignature"}
    return {"error": None}


def of_judged(row, document, root, circle):
    policy = row.get("policy", document["policy"])
    transaction = read_transaction(row["transaction"])
    found = {"readable": transaction is not None, "genuine": None, "bound": None, "renewalCounts": False,
             "end": None, "trusted": None, "at": [{**each, "state": "none"} for each in row["at"]]}
    if not transaction:
        return found
    renewal = renewal_of(transaction, row["renewal"])
    if renewal and fault(renewal, root):
        renewal = None
    found |= {"genuine": fault(transaction, root) is None, "bound": is_bound(transaction, circle),
              "renewalCounts": renewal is not None}
    if is_accepted(transaction, circle, root, policy):
        subscription = Subscription(transaction, renewal, policy)
        found |= {"end": subscription.end, "trusted": subscription.trusted, "at": [
            {**each, "state": subscription.state(each["time"])} for each in row["at"]]}
    return found


def of_kept(row):
    statements = [Statement(bytes.fromhex(each)) for each in row["statements"]]
    ids = {each.id for each in kept(statements)}
    return {"kept": [n for n, each in enumerate(statements) if each.id in ids]}


def of_gate(row, root):
    circle = Circle([Statement(bytes.fromhex(each)) for each in row["statements"]], root, row["policy"])
    device = bytes.fromhex(row["device"])
    return {"at": [{"time": each["time"], **circle.evaluate(device, each["time"])} for each in row["at"]]}


def differences(found, row):
    """What differs from a row, of lists of evaluations only the entries that differ."""
    for key, value in found.items():
        if key == "at":
            pairs = zip(value, row["at"], strict=True)
        else:
            pairs = [(value, row[key])]
        yield from (f"{key} is {one}; expected: {other}" for one, other in pairs if one != other)


def compare(document):
    """The rows of each section, and the differences."""
    root, circle = bytes.fromhex(document["root"]), bytes.fromhex(document["circle"])
    sections = {
        "tokens": lambda row: {"token": account_token(bytes.fromhex(row["circle"]))},
        "statements": of_statement,
        "judged": lambda row: of_judged(row, document, root, circle),
        "kept": of_kept,
        "gates": lambda row: of_gate(row, root)}
    counts, faults = {}, []
    if document["pki"]["root"] != document["root"]:
        faults.append("pki: its root is not the pinned one")
    for section, answer in sections.items():
        counts[section] = len(document[section])
        for row in document[section]:
            name = f"{section}: {row.get('name', row.get('circle'))}"
            faults += [f"{name}: {difference}" for difference in differences(answer(row), row)]
        if not document[section]:
            faults.append(f"{section}: no rows")
    return counts, faults


def judge_file(path, root, circle):
    """What a file with one or two tokens says."""
    try:
        words = pathlib.Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} can't be read ({error}); name a file with a transaction") from None
    if len(words) not in (1, 2):
        raise SystemExit(f"{path} has {len(words)} words; expected: a transaction, and possibly its renewal info")
    try:
        transaction = Token(words[0], TRANSACTION, REQUIRED_OF_TRANSACTION)
    except NotReadable as reason:
        return {"readable": False, "reason": str(reason)}
    reason = fault(transaction, root)
    found = {"readable": True, "genuine": reason is None, "reason": reason, "transaction": transaction.fields,
             "bound": is_bound(transaction, circle) if circle else None,
             "accountToken": account_token(circle) if circle else None}
    if words[1:]:
        renewal = renewal_of(transaction, words[1])
        found["renewal"] = renewal and {
            "genuine": fault(renewal, root) is None, "reason": fault(renewal, root), **renewal.fields}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", metavar="TOKENFILE")
    parser.add_argument("--root", metavar="DER", help="a file with the pinned root")
    parser.add_argument("--circle", metavar="HEX", help="the id of the circle")
    options = parser.parse_args()
    document = json.loads(VECTORS.read_text(encoding="utf-8"))
    if options.file:
        root = pathlib.Path(options.root).read_bytes() if options.root else bytes.fromhex(document["root"])
        circle = bytes.fromhex(options.circle) if options.circle else None
        print(json.dumps(judge_file(options.file, root, circle), indent=1, ensure_ascii=False))
        return 0
    counts, faults = compare(document)
    for each in faults:
        print(f"FAILED {each}", file=sys.stderr)
    rows = ", ".join(f"{count} {section}" for section, count in counts.items())
    print(f"{'failed' if faults else 'passed'}: {rows}; {len(faults)} differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
