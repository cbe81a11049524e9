"""Writes session.json: what Protocol/session.md says of more than a single message."""

import session_exchanges
import session_hashes
import session_introductions
import session_values
import session_wants
from deterministic_cbor import save

NOTES = [
    "Byte strings are hexadecimal; `hh*count` between spaces is a byte repeated. Messages and statements are encoded.",
    "certificates: the hash of statements, which are in any order. heads: both hashes of the heads in the message "
    "`bytes`. states: the hash of a certificates hash and the lanes that are open. contents: the hash of the fields of "
    "a record, each with its encoded content.",
    "stores: sets in causal order, and what a device that has stored and folded them answers to each question. The "
    "heads of an answer may be in any order.",
    "introductions: what a device that holds the statements `held` makes of the introduction `bytes`, after a "
    "handshake with the transport key `transport`. outcome: member (`member` is admitted) or closed. kept: the ids of "
    "the statements that are in its set only afterwards. flag: none, revoked (closed, and the statements are kept), or "
    "the check that fails: form, parts, range, count and length as in messages.json, circle (a statement of another "
    "circle), transport (the last link names another transport key), chain (no link leads to the last one from a known "
    "signer), verify (a wrong signature), member (with the new statements, no member with this transport key).",
    "exchanges: a question and an answer with its token. The session closes unless flag is none. form: another form or "
    "lane than the question asks for. count: no items, and more are to follow. order: the items do not ascend, or do "
    "not lie after the place. range: an item is of another bucket or lane. parts: a rank is missing or too much.",
    "endings: `message` comes when both sides have been introduced, in a circle that its content does not belong to. "
    "The session closes unless flag is none. token: no question had it. circle, lane: of another one. twice: a second "
    "introduction. form, verify: as in messages.json.",
    "wants: a device that holds the statements `held`, and of `sets` those in `stored`, in this order. After "
    "`messages` have come from a peer, it sends `want`, or none. Another device may send the wants in another order or "
    "in several messages, may begin them earlier, and may send wants for the tips of a log one after another. It "
    "requests each of these tips, none of them later than from this sequence, and no other tip.",
    "serving: a device has stored and folded `sets`. To `want` it sends the sets at the positions `sets`, each once, in "
    "any order in which each comes after its predecessor and its dependencies, as far as these are sent too.",
    "values: a device has stored `sets`, some of them without some values; at the wall clock `now` those that are not "
    "parked are folded. missing: the slots that it requests. answers: what it answers to `want values`; the sets may "
    "be in any order.",
    "fills: `values` for a set of which slots 0 and 1 are missing and were requested. flag: none, or commitment (the "
    "session closes). missing: the slots that are missing afterwards.",
    "files: whether a folded record or a sibling names a file, so that the device answers about it.",
]

if __name__ == "__main__":
    save("session.json", {
        "notes": NOTES,
        **session_hashes.document(),
        "introductions": session_introductions.introductions(),
        **session_exchanges.document(),
        **session_wants.document(),
        **session_values.document(),
    })
