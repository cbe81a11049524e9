"""Checks of the set of statements (Protocol/circle.md) and of what is unknown (Protocol/growth.md)."""

import base64
import json
import os

from nacl.signing import SigningKey

from checks import READER, check, require
from channel import Ended
from circle import CERTIFICATE, Statement
from encoding import decode, encode
from session import (
    GOODBYE, HEADS, QUERY, SERVED, SETS, STATE, STATEMENT_IDS, STATEMENTS, VALUES, WANT, WANT_VALUES, milliseconds)
from statement import ADDRESSES, PURCHASE

DAY = 86_400_000


def pass_on(world, *statements):
    """Alice sends statements; another connected device gets them, at once or when the two next compare."""
    alice, bob = world.settled(), world.dial(world.bob.alone())
    bob.waits_for(lambda: bob.theirs is not None, "a summary")
    alice.send(STATEMENTS, False, [each.data for each in statements])
    world.keep(*statements)
    held, wanted = bob.client.circle.statements, {each.id for each in statements}

    def has_arrived():
        if not wanted <= set(held):
            world.pump(0.3)
            bob.send_summary()
        return wanted <= set(held)

    world.until(has_arrived, f"{len(wanted)} statements to be passed on to another member")
    for each in statements:
        require(held[each.id].data == each.data, "expected a statement to be passed on with the bytes that arrived")
    alice.in_sync("the same statements after new ones")
    return alice


@check("statements.converge", READER, "session", "Certificates")
def converge(world):
    """Statements that one side lacks are exchanged by their ids, and passed on."""
    key = SigningKey.generate()
    world.certify(bytes(key.verify_key), os.urandom(32), "Later", 0)
    session = world.dial()
    session.in_sync("the same certificates hash after a new certificate")
    pass_on(world, Statement.make(CERTIFICATE, world.alice.key, {
        0: 1, 1: world.circle.id, 2: world.alice.device, 3: bytes(SigningKey.generate().verify_key), 4: os.urandom(32),
        5: "Pushed", 6: 0, 7: milliseconds()}))


@check("statements.ids", READER, "session", "Certificates")
def ids(world):
    """A list with reply = true is answered with the ids, and with the statements that it lacks, the last of them marked
    `last`."""
    session = world.settled()
    genesis, got, lasts = world.circle.id, [], []
    session.on_ids = lambda reply, listed: got.append((reply, listed))
    session.on_statements = lambda last, statements: lasts.append((last, statements))
    known = sorted(world.circle.statements)
    session.send(STATEMENT_IDS, True, known[:-1])
    session.waits_for(lambda: got and any(last for last, _ in lasts),
                      "statement ids (reply = false) and statements (last = true)")
    require(got[0][0] is False and sorted(got[0][1]) == known,
            f"expected the list of all {len(known)} ids with reply = false; {len(got[0][1])} ids arrived")
    sent = [each for _, statements in lasts for each in statements]
    require([Statement(each).id for each in sent] == known[-1:],
            f"expected the one statement that the list lacked; {len(sent)} arrived")
    require(genesis in known, "expected the genesis among the statements")


@check("statements.without-effect-kept", READER, "circle", "Statements")
def void_kept(world):
    """Statements that do not count are kept and passed on: void ones, and those of other issuers."""
    eve, stranger = SigningKey.generate(), SigningKey.generate()
    void = Statement.make(CERTIFICATE, world.bob.key, {
        0: 1, 1: world.circle.id, 2: world.bob.device, 3: bytes(eve.verify_key), 4: os.urandom(32), 5: "Void", 6: 1,
        7: milliseconds()})
    foreign = world.entitlement([world.bob.device], key=stranger)
    session = pass_on(world, void, foreign)
    reason = session.theirs[1][0]
    require(reason != 0, "expected an entitlement of an issuer that the circle does not accept to have no effect")


@check("statements.newest-addresses", READER, "circle", "Addresses (8)")
def newest_addresses(world):
    """Of a device's addresses only the statement with the greatest clock is kept."""
    device = world.device("Anna")

    def addresses(clock):
        return Statement.make(ADDRESSES, device.key, {
            0: 1, 1: world.circle.id, 2: device.device, 3: clock, 4: ["192.0.2.1:%d" % clock]})

    session = world.settled()
    newer, older = addresses(9), addresses(8)
    world.keep(newer)
    session.send(STATEMENTS, False, [newer.data])
    session.in_sync("the newest addresses")
    session.send(STATEMENTS, False, [older.data])
    session.in_sync("the newest addresses, after older ones have arrived")
    newest = addresses(10)
    world.keep(newest)
    session.send(STATEMENTS, False, [newest.data])
    session.in_sync("newer addresses in the place of older ones")


@check("statements.purchases", READER, "purchase", "Which purchases are kept")
def purchases(world):
    """Of a device's purchases, a newer one of the same subscription replaces an older one. None is verified."""
    device = world.device("Anna")

    def token(**fields):
        parts = [{"alg": "ES256"}, {"environment": "Production", "originalTransactionId": "1", **fields}]
        return ".".join([base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts]
                        + ["AAAA"])

    def purchase(purchased, signed, renewed):
        return Statement.make(PURCHASE, device.key, {
            0: 1, 1: world.circle.id, 2: device.device,
            3: token(bundleId="app", productId="yearly", purchaseDate=purchased, signedDate=signed),
            4: token(signedDate=renewed)})

    session = world.settled()
    for what, statement in {
            "a purchase": purchase(2, 2, 2), "a purchase of an earlier period": purchase(1, 9, 9),
            "a purchase with a newer renewal info": purchase(2, 2, 3),
            "a purchase that was signed later": purchase(2, 3, 1),
            "a purchase of a later period": purchase(3, 1, 1)}.items():
        world.keep(statement)
        session.send(STATEMENTS, False, [statement.data])
        session.in_sync(what)


@check("statements.refused", READER, "session", "Messages")
def refused(world):
    """A statement that does not verify, or of another circle, ends the session."""
    mallory = world.device("Mallory")
    fields = {0: 1, 1: world.circle.id, 2: mallory.device, 3: 1, 4: []}
    right = Statement.make(ADDRESSES, mallory.key, fields).data
    kind, body, signature = decode(right)

    def made(change):
        fresh = encode({**fields, **change})
        return encode([kind, fresh, signed(mallory.key, fresh)])

    cases = {
        "a statement with a wrong signature": encode([kind, body, bytes([signature[0] ^ 1]) + signature[1:]]),
        "a statement of another circle": made({1: bytes(32)}), "a statement with an unknown key": made({5: 1}),
        "a statement of version 2": made({0: 2}), "a statement of kind 64": encode([64, body, signature]),
        "a statement that is not canonical": b"\x83\x18\x08" + right[2:]}
    for what, data in cases.items():
        session = world.settled(mallory)
        try:
            session.send(STATEMENTS, False, [data])
            session.closes(what)
        except Ended:
            pass


def signed(key, body):
    return key.sign(b"waymark/addresses-signature/v1\0" + body).signature


@check("growth.messages", READER, "growth", "What a device does with what it does not know")
def messages(world):
    """Messages with new tags, new lanes and new reasons are ignored; the session goes on."""
    session = world.settled()
    cases = {
        "a message with tag 20": [20, "new", [1, {2: b"3"}]], "a message with tag 255": [255],
        "a message with tag 24 and maps": [24, {1: {2: [None, 1.5]}}],
        "heads of lane 2": [HEADS, 2, True, "new"], "wants of lane 2": [WANT, 2, 7], "sets of lane 9": [SETS, 9, []],
        "served of lane 2": [SERVED, 2], "a question about lane 2": [QUERY, 1 << 40, 2, [9]],
        "a request for values of lane 2": [WANT_VALUES, 2, 1], "values of lane 255": [VALUES, 255, {}],
        "an unknown reason in goodbye": [GOODBYE, 200]}
    for what, message in cases.items():
        session.send(*message)
        session.goes_on(what)
    lanes = [[0 if lane == 0 else 200, *world.lanes[lane].hashes()] for lane in (0, 1)]
    session.send(2, world.circle.hash, milliseconds(), *lanes)
    session.goes_on("a summary with an unknown reason of a lane state")


@check("growth.refused", READER, "growth", "What a device does with what it does not know")
def not_ignored(world):
    """What is not among the places where formats grow ends the session."""
    mallory = world.device("Mallory")
    cases = {
        "tag 0": [0, 1], "tag 256": [256], "a part more in a state message": [STATE, bytes(32), 1, True, 0],
        "a part less in a heads message": [HEADS, 0, True], "an empty message": [],
        "a second introduction": [1, mallory.introduction()],
        "a head with sequence 0": [HEADS, 0, True, [[bytes(32), bytes(16), 0, bytes(32), 0]]],
        "a want that ends before it begins": [WANT, 0, [[bytes(32), bytes(16), 5, 1, bytes(32)]]],
        "a statement id of 31 bytes": [STATEMENT_IDS, True, [bytes(31)]]}
    for what, message in cases.items():
        session = world.dial(mallory)
        try:
            session.send(*message)
            session.closes(what)
        except Ended:
            pass
    session = world.dial(mallory)
    try:
        session.channel.send(encode([STATE, bytes(32), 1, True]) + b"\0")
        session.closes("a message with a byte after it")
    except Ended:
        pass


@check("growth.statements", READER, "growth", "What a device does with what it does not know")
def newer_statements(world):
    """Correctly signed statements of kinds 11 and 14 to 63 are kept and passed on."""
    body = {0: 1, 1: world.circle.id, 2: world.bob.device, 3: ["of a newer version", 1.5, None], 40: b"x"}
    pass_on(world, *(Statement.make(kind, world.bob.key, body) for kind in (11, 14, 63)))


@check("session.state", READER, "session", "Summary and state")
def state(world):
    """`state` is answered with the same token: without a hash if the hashes are equal, otherwise with the own hash."""
    session = world.settled()
    got = []
    session.on_state = lambda hash, token, echo: got.append((hash, token, echo))
    session.send(STATE, session.state(), 4_000, True)
    session.waits_for(lambda: got and got[-1][2] is False, "an answer to state")
    require(got[-1] == (b"", 4_000, False), f"expected an answer without a hash, with token 4000; {got[-1]} arrived")
    session.send(STATE, bytes(32), 1 << 63, True)
    session.waits_for(lambda: any(token == 1 << 63 and not echo for _, token, echo in got), "an answer to state")
    hash = next(hash for hash, token, echo in got if token == 1 << 63)
    require(hash == session.state(), f"expected the client's own hash in the answer; {hash.hex() or 'none'} arrived")
    session.waits_for(lambda: session.heard.count(2) > 1, "a summary after two different hashes")
