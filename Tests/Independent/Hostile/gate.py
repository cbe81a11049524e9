"""A device without premium that claims to have it: it receives no record, and none of its records is stored."""

from nacl.signing import SigningKey

import circle as circles
from change_set import INSERT, RECORDS, seal
from channel import Ended
from circle import ISSUERS, Statement
from client import HABIT
from encoding import decode, encode
from frames import closes
from session import HEADS, HEADS_OF, INVENTORY_OF, SETS, STATEMENTS, SUMMARY, WANT, milliseconds
from stage import DAY

# The issuer key of development builds, which is public; the default build does not accept it.
DEVELOPER = SigningKey(b"waymark development issuer seed\0")


def evil(client, lane):
    """A well-formed set of the records lane, which Mallory is not entitled to send."""
    return seal(**lane.draft(client, [[INSERT, HABIT, bytes(16), {1: "evil"}]], milliseconds()))


def demands(stage, session):
    """Claims that the lane is open, requests all records, and sends some of its own and of others."""
    grace = stage.grace.lanes[RECORDS]
    certificates, settings, records = session.summary()
    session.send(SUMMARY, certificates, milliseconds(), settings, [0, *records[1:]])
    session.send(HEADS, RECORDS, True, [])
    session.send(WANT, RECORDS, [[*head[:2], 1, head[2], head[3]] for head in grace.heads()])
    own = evil(session.client, grace)
    others = grace.write(stage.grace, [[INSERT, HABIT, bytes(16), {1: "not yet"}]], milliseconds())
    session.send(SETS, RECORDS, [own.wire])
    session.send(SETS, RECORDS, [others.wire])
    session.send(HEADS, RECORDS, False, [[session.client.device, session.client.incarnation, 1, own.id, 1]])
    return others


def gets_nothing(stage, session):
    """What it sent is not stored, and what it requested does not arrive. (Grace sends her own set herself later.)"""
    others = demands(stage, session)
    for question in ([HEADS_OF], [1], [2, 0, None], [INVENTORY_OF, None]):
        answer = session.ask(RECORDS, *question)
        assert len(answer) == 1 and answer[0] != 0, f"answered {answer}"
    session.pump(0.3)
    assert not session.of_records, f"messages of the records lane: {session.of_records}"
    assert session.theirs[RECORDS][0] != 0, "says that the lane is open"
    assert others.id not in stage.ids(session.peer), "stores a record that came through a closed lane"
    session.close()


def claims(make, shown=False):
    """With the certificates from `make`, shown in the introduction or sent in the session."""
    def attempt(stage, node):
        client = stage.mallory
        statements = make(stage)
        if shown:
            chain = client.circle.chains()[client.device]
            payload = circles.introduction(chain, statements, milliseconds())
            introduction, client.introduction = client.introduction, lambda: payload
        try:
            session = stage.dial(client, node)
        finally:
            if shown:
                del client.introduction
        for each in statements:
            client.circle.add(each)
        if not shown:
            session.send(STATEMENTS, True, [each.data for each in statements])
        session.settle()
        gets_nothing(stage, session)
    attempt.__name__ = f"{make.__name__} {'shown' if shown else 'brought'}"
    return attempt


def no_certificate(stage):
    return []


def expired(stage):
    return [stage.entitlement(devices=[stage.mallory.device], issued=1, since=1, until=milliseconds() - 1)]


def expired_this_second(stage):
    """By this clock the entitlement has ended, and no other clock brings it back."""
    now = milliseconds()
    return [stage.entitlement(devices=[stage.mallory.device], issued=now - DAY, since=now - DAY, until=now)]


def not_yet_valid(stage):
    now = milliseconds()
    return [stage.entitlement(devices=[stage.mallory.device], since=now + DAY, until=now + 2 * DAY)]


def for_other_devices(stage):
    return [stage.entitlement(devices=stage.premium)]


def of_an_unknown_issuer(stage):
    return [stage.entitlement(SigningKey.generate())]


def signed_by_itself(stage):
    return [stage.entitlement(stage.mallory.key, devices=[stage.mallory.device])]


def back_dated_by_an_unknown_issuer(stage):
    now = milliseconds()
    return [stage.entitlement(SigningKey.generate(), issued=now - 300 * DAY, since=now - 300 * DAY)]


def of_the_development_issuer(stage):
    return [stage.entitlement(DEVELOPER, devices=[stage.mallory.device], issued=0, since=0, until=(1 << 48) - 1)]


def issuer_pinned_by_a_member(stage):
    """Only the root key pins issuers."""
    key, client = SigningKey.generate(), stage.mallory
    pinned = Statement.make(ISSUERS, client.key, {0: 1, 1: stage.circle, 2: client.device,
                                                  3: [bytes(key.verify_key)], 4: milliseconds()})
    return [pinned, stage.entitlement(key)]


def issuer_pinned_by_an_admin(stage):
    key, client = SigningKey.generate(), stage.ada
    pinned = Statement.make(ISSUERS, client.key, {0: 1, 1: stage.circle, 2: client.device,
                                                  3: [bytes(key.verify_key)], 4: milliseconds()})
    return [pinned, stage.entitlement(key)]


def far_future_of_an_unknown_issuer(stage):
    """Claims to be issued at the end of time: no other entitlement ends because of it."""
    last = (1 << 48) - 1
    return [stage.entitlement(SigningKey.generate(), issued=last, since=last - 1, until=last)]


def rejected(make, shown=False):
    """Statements that do not belong to this circle: the connection is closed."""
    def attempt(stage, node):
        statements = make(stage)
        if shown:
            stage.mallory.address = node.address
            chain = [each.data for each in stage.mallory.circle.chains()[stage.mallory.device]]
            channel = stage.mallory.channel(encode({0: 1, 1: chain, 2: statements, 3: milliseconds()}))
            assert channel.wire.ended(), "still open"
            return
        session = stage.dial(stage.mallory, node)
        try:
            session.send(STATEMENTS, True, statements)
        except Ended:
            return
        closes(session)
    attempt.__name__ = f"{make.__name__} {'shown' if shown else 'brought'}"
    return attempt


def of_another_circle(stage):
    return [stage.entitlement(circle=bytes(32), devices=[stage.mallory.device]).data]


def tampered_devices(stage):
    """Grace's certificate with Mallory's device in place of hers."""
    held = stage.grace.circle.entitlements(stage.grace.device)[0].data
    return [held.replace(stage.grace.device, stage.mallory.device)]


def tampered_end(stage):
    data = expired(stage)[0]
    kind, body, signature = decode(data.data)
    return [encode([kind, encode({**decode(body), 7: milliseconds() + DAY}), signature])]


def ends_before_it_begins(stage):
    good = decode(expired(stage)[0].data)
    fields = {**decode(good[1]), 6: 10, 7: 10}
    body = encode(fields)
    return [encode([good[0], body, stage.issuer.sign(b"waymark/entitlement-signature/v1\0" + body).signature])]


def no_devices(stage):
    """An empty list means neither all devices nor none: the entitlement is invalid."""
    good = decode(expired(stage)[0].data)
    body = encode({**decode(good[1]), 3: []})
    return [encode([good[0], body, stage.issuer.sign(b"waymark/entitlement-signature/v1\0" + body).signature])]


CLAIMS = [
    no_certificate, expired, expired_this_second, not_yet_valid, for_other_devices, of_an_unknown_issuer,
    signed_by_itself, back_dated_by_an_unknown_issuer, of_the_development_issuer, issuer_pinned_by_a_member,
    issuer_pinned_by_an_admin, far_future_of_an_unknown_issuer]
REJECTED = [of_another_circle, tampered_devices, tampered_end, ends_before_it_begins, no_devices]
ATTEMPTS = [claims(each) for each in CLAIMS] + [
    claims(each, True) for each in (expired, for_other_devices, of_an_unknown_issuer, of_the_development_issuer)]
CLOSED = [rejected(each) for each in REJECTED] + [rejected(each, True) for each in REJECTED]
