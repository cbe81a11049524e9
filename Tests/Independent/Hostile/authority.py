"""Authority: chains, self-made admins, early and late revocations, and a revoked device that keeps writing."""

import contextlib
import os
import time

from nacl.signing import SigningKey

import circle as circles
from change_set import INSERT, RECORDS, SETTINGS, content_of, seal
from channel import Ended, Silence
from checker import Holding, diagnostics, read
from circle import ADDRESSES, CERTIFICATE, FORK_PROOF, GRANT, ISSUERS, LOG_CUT, REVOCATION, Statement
from client import HABIT, Client
from encoding import encode
from frames import closes
from replica import Lane
from session import LANES, STATEMENTS, milliseconds
from strangers import used_ticket


def joined(name, circle):
    """A device with its own keys, not certified yet."""
    client = Client(name)
    client.circle = circle
    client.lanes = {
        lane: Lane(lane, circle.id, lambda *log: circle.membership.cuts(*log),
                   lambda device, lane: circle.membership.quota(device, lane),
                   lambda *log: circle.membership.line(*log)) for lane in LANES}
    return client


def certificate(stage, issuer, client, role=0):
    fields = {0: 1, 1: stage.circle, 2: issuer.device, 3: client.device, 4: client.transport_public,
              5: client.name, 6: role, 7: milliseconds()}
    return Statement.make(CERTIFICATE, issuer.key, fields)


def revocation(stage, issuer, device, kept=(), valid=()):
    """`kept`: (incarnation, lane, tips)."""
    fields = {0: 1, 1: stage.circle, 2: issuer.device, 3: device, 6: milliseconds()}
    if kept:
        fields[4] = sorted([incarnation, lane, sorted(tips)] for incarnation, lane, tips in kept)
    if valid:
        fields[5] = sorted(each.id for each in valid)
    return Statement.make(REVOCATION, issuer.key, fields)


def is_let_in(stage, client, node):
    """Whether a node accepts a session with a device."""
    client.address = node.address
    chain = client.circle.membership.chains_of.get(client.device) or client.chain
    channel = client.channel(circles.introduction(chain, [], milliseconds()))
    try:
        channel.receive(5)
    except Ended:
        return False
    channel.close()
    return True


# Statements that a member may not make

def without_effect(make):
    """Kept and forwarded like any statement of the circle, without effect."""
    def attempt(stage, node):
        members = set(stage.mallory.circle.chains())
        stage.statement(stage.mallory, *make(stage), node=node)
        stage.settle()
        for each in stage.nodes:
            assert set(Holding(each.store).circle.chains()) == members, "the members have changed"
            told = {row["device"] for row in each.ask("members.list")["members"]}
            assert told == {device.hex() for device in members}, "the node reports something else"
    attempt.__name__ = make.__name__
    return attempt


def certificate_by_a_member(stage):
    return [certificate(stage, stage.mallory, Client("Eve"))]


def admin_by_its_own_word(stage):
    """Mallory certifies itself as an admin, and Eve with that certificate."""
    return [certificate(stage, stage.mallory, stage.mallory, 1), certificate(stage, stage.mallory, Client("Eve"), 1)]


def admin_by_a_stranger(stage):
    eve = Client("Eve")
    return [certificate(stage, eve, eve, 1), certificate(stage, eve, stage.mallory, 1)]


def revocation_by_a_member(stage):
    return [revocation(stage, stage.mallory, device) for device in (stage.alice.device, stage.ada.device)]


def revocation_by_a_stranger(stage):
    return [revocation(stage, Client("Eve"), stage.alice.device)]


def revocation_of_the_root(stage):
    """The root key is not a device."""
    return [revocation(stage, stage.ada, stage.mallory.circle.genesis.fields[2])]


def revocation_of_nobody(stage):
    return [revocation(stage, stage.ada, os.urandom(32), [(os.urandom(16), 1, [os.urandom(32)])])]


def grant_by_a_member(stage):
    """Mallory grants itself as much as a grant can say, and Eve grants Mallory the same."""
    signers = [stage.mallory, Client("Eve")]
    return [Statement.make(GRANT, each.key, {
        0: 1, 1: stage.circle, 2: each.device, 3: stage.mallory.device, 4: lane, 5: 1 << 50, 6: milliseconds()})
        for each in signers for lane in LANES]


def issuers_by_a_member(stage):
    return [Statement.make(ISSUERS, stage.mallory.key, {
        0: 1, 1: stage.circle, 2: stage.mallory.device, 3: [os.urandom(32)], 4: milliseconds()})]


def statements_of_kinds_to_come(stage):
    key = SigningKey.generate()
    return [Statement.make(kind, key, {0: 1, 1: stage.circle, 2: bytes(key.verify_key), 3: [None, "x", 1.5]})
            for kind in (11, 40, 63)]


def largest_statement(stage):
    """Exactly 64 KiB."""
    key = SigningKey.generate()
    fields = {0: 1, 1: stage.circle, 2: bytes(key.verify_key), 3: bytes(40_000), 4: b""}
    fields[4] = bytes(65_536 - len(Statement.make(11, key, fields).data) - 2)
    statement = Statement.make(11, key, fields)
    assert len(statement.data) == 65_536, len(statement.data)
    return [statement]


def addresses_that_lead_elsewhere(stage):
    """Mallory announces an unused address, with the greatest clock."""
    fields = {0: 1, 1: stage.circle, 2: stage.mallory.device, 3: (1 << 64) - 1,
              4: [f"127.0.0.1:{port}" for port in range(1, 17)]}
    return [Statement.make(ADDRESSES, stage.mallory.key, fields)]


# Invalid statements

def rejected(make):
    def attempt(stage, node):
        session = stage.dial(stage.mallory, node)
        try:
            session.send(STATEMENTS, True, make(stage))
        except Ended:
            return
        closes(session)
    attempt.__name__ = make.__name__
    return attempt


def unsigned(kind, key, fields):
    """A statement signed by another key."""
    body = encode(fields)
    names = {2: "device-certificate", 3: "revocation", 4: "log-cut", 7: "fork-proof", 8: "addresses"}
    signature = key.sign(b"waymark/%b-signature/v1\0" % names[kind].encode() + body).signature
    return encode([kind, body, signature])


def certificate_in_an_admins_name(stage):
    eve = Client("Eve")
    fields = {0: 1, 1: stage.circle, 2: stage.alice.device, 3: eve.device, 4: eve.transport_public, 5: "Eve", 6: 1,
              7: milliseconds()}
    return [unsigned(CERTIFICATE, stage.mallory.key, fields)]


def revocation_in_an_admins_name(stage):
    fields = {0: 1, 1: stage.circle, 2: stage.alice.device, 3: stage.ada.device, 6: milliseconds()}
    return [unsigned(REVOCATION, stage.mallory.key, fields)]


def cut_of_anothers_log(stage):
    fields = {0: 1, 1: stage.circle, 2: stage.alice.device, 3: bytes(16), 4: 1, 6: milliseconds()}
    return [unsigned(LOG_CUT, stage.mallory.key, fields)]


def addresses_of_another(stage):
    fields = {0: 1, 1: stage.circle, 2: stage.alice.device, 3: (1 << 64) - 1, 4: []}
    return [unsigned(ADDRESSES, stage.mallory.key, fields)]


def control_characters_in_a_name(stage):
    fields = {0: 1, 1: stage.circle, 2: stage.mallory.device, 3: os.urandom(32), 4: os.urandom(32),
              5: "a\x1b[2J", 6: 0, 7: 1}
    return [unsigned(CERTIFICATE, stage.mallory.key, fields)]


def fork_proof(stage, first, second):
    headers = sorted((first, second), key=lambda raw: raw.id)
    body = encode({0: 1, 1: stage.circle, 3: headers[0].header, 4: headers[1].header})
    return encode([FORK_PROOF, body, headers[0].signature + headers[1].signature])


def proof_of_two_places(stage):
    """Two consecutive sets of Alice's are not a fork."""
    sets = [each.raw for each in stage.mallory.lanes[SETTINGS].by_id.values() if each.device == stage.alice.device]
    return [fork_proof(stage, sets[0], sets[1])]


def proof_against_oneself_twice(stage):
    raw = next(each.raw for each in stage.mallory.lanes[SETTINGS].by_id.values())
    return [fork_proof(stage, raw, raw)]


def proof_with_a_made_up_half(stage):
    """A set of Alice's, and one that only claims to be hers."""
    real = next(e.raw for e in stage.mallory.lanes[SETTINGS].by_id.values() if e.device == stage.alice.device)
    header = encode({**real.fields, 9: os.urandom(16)})
    signature = stage.mallory.key.sign(b"waymark/change-set-signature/v1\0" + header).signature
    return [fork_proof(stage, real, type(real)(header, signature, b"", b""))]


def second_genesis(stage):
    key = SigningKey.generate()
    return [Statement.make(1, key, {
        0: 1, 2: bytes(key.verify_key), 3: stage.mallory.device, 4: stage.mallory.transport_public, 5: "Mallory",
        7: 1, 8: bytes(16)}).data]


def one_byte_too_large(stage):
    """One byte more than 64 KiB."""
    key = SigningKey.generate()
    fields = {0: 1, 1: stage.circle, 2: bytes(key.verify_key), 3: bytes(40_000), 4: b""}
    fields[4] = bytes(65_537 - len(Statement.make(11, key, fields).data) - 2)
    body = encode(fields)
    data = encode([11, body, key.sign(b"waymark/statement-11-signature/v1\0" + body).signature])
    assert len(data) == 65_537
    return [data]


# Chains

def chain_too_long(stage, node):
    """The genesis and seven more links are valid; with an eighth the device is a stranger."""
    issuer, made = stage.ada, []
    for links in range(3, 10):
        client = joined(f"link {links}", stage.ada.circle)
        made.append(certificate(stage, issuer, client, 1))
        client.chain = (getattr(issuer, "chain", None) or stage.ada.circle.chains()[stage.ada.device]) + [made[-1]]
        client.links = links
        stage.statement(stage.ada, made[-1], node=node)
        stage.settle()
        if links in (8, 9):
            client.chain = client.chain[-8:]
            for each in stage.nodes:
                assert is_let_in(stage, client, each) == (links == 8), f"a chain of {links} links at {each.name}"
        issuer = client


# Revocations. Each has its own device with premium, which Ada admits and later revokes.

def admitted(stage, name, role=0):
    client = joined(name, stage.ada.circle)
    made = certificate(stage, stage.ada, client, role)
    stage.statement(stage.ada, made, stage.entitlement(devices=[client.device]))
    stage.settle()
    client.is_on = True
    client.chain = stage.ada.circle.chains()[client.device]
    return client


def habit(client, number):
    return [[INSERT, HABIT, client.device[:15] + bytes([number]), {1: f"{client.name} {number}"}]]


def written(stage, client, count, lane=RECORDS):
    return [client.write(lane, habit(client, number)) for number in range(count)]


def holds(stage, raw):
    """The number of nodes that hold a set."""
    return sum(1 for node in stage.nodes if raw.id in stage.ids(node.device))


def relay(stage, carrier, node, *sets):
    """Another member delivers the sets."""
    session = stage.dial(carrier, node)
    session.until(lambda: session.theirs is not None and session.is_open(RECORDS), 10, "an open lane")
    session.push(RECORDS, list(sets))
    session.pump(0.3)
    session.channel.wire.close()


def revoked_device_goes_on(stage, node):
    """Six sets, the fourth is the kept tip: sets up to it reach all nodes, later ones reach none, and the device is
    rejected."""
    client = admitted(stage, "Rob")
    sets = written(stage, client, 6)
    session = stage.dial(client, node)
    session.settle()
    session.close()
    stage.settle()
    assert [holds(stage, raw) for raw in sets] == [2] * 6
    open_one = stage.dial(client, stage.other(node))
    open_one.settle()
    stage.statement(stage.ada, revocation(stage, stage.ada, client.device,
                                          [(client.incarnation, RECORDS, [sets[3].id])]), node=node)
    stage.settle()
    assert open_one.is_closed_by_peer(10), "a session from before the revocation goes on"
    assert [holds(stage, raw) for raw in sets] == [2] * 4 + [0] * 2
    for each in stage.nodes:
        assert not is_let_in(stage, client, each), f"{each.name} admits a revoked device"
        shown = {row["name"] for row in each.ask("habit.list")["habits"]}
        assert {name for name in shown if name.startswith("Rob")} == {f"Rob {n}" for n in range(4)}, shown
    # Later writes, after all sets or on a branch next to the kept tip, whoever delivers them.
    after = seal(**client.lanes[RECORDS].draft(client, habit(client, 9), milliseconds()))
    draft = dict(key=client.key, circle=stage.circle, incarnation=client.incarnation, lane=RECORDS,
                 sequence=3, previous=sets[1].id, clock=sets[1].fields[7] + 1, dependencies=[],
                 operation=os.urandom(16), log_bytes=sets[1].fields[14] + sets[1].declared,
                 content=content_of(habit(client, 10)))
    beside, fresh = seal(**draft), seal(**{
        **draft, "sequence": 1, "previous": None, "log_bytes": 0, "incarnation": os.urandom(16)})
    stage.sync(stage.trudy, node)
    for each in stage.nodes:
        relay(stage, stage.trudy, each, sets[4], sets[5], after, beside, fresh)
    stage.settle()
    assert [holds(stage, raw) for raw in (sets[4], sets[5], after, beside, fresh)] == [0] * 5


def revocation_before_the_sets(stage, node):
    """The nodes receive the revocation before any set: kept sets still arrive, through other devices."""
    client = admitted(stage, "Early")
    sets = written(stage, client, 4)
    stage.statement(stage.ada, revocation(stage, stage.ada, client.device,
                                          [(client.incarnation, RECORDS, [sets[1].id])]), node=node)
    stage.settle()
    relay(stage, stage.trudy, node, *sets)
    stage.eventually(lambda: [holds(stage, raw) for raw in sets] == [2, 2, 0, 0], "the kept sets are on both nodes")
    stage.settle()


def revocation_that_keeps_nothing(stage, node):
    client = admitted(stage, "Nothing")
    sets = written(stage, client, 3)
    relay(stage, client, node, *sets)
    stage.eventually(lambda: [holds(stage, raw) for raw in sets] == [2] * 3, "the sets are on both nodes")
    stage.statement(stage.ada, revocation(stage, stage.ada, client.device), node=node)
    stage.settle()
    assert [holds(stage, raw) for raw in sets] == [0] * 3


def late_revocation_at_a_node_that_was_away(stage, node):
    """Bob is away while a device is revoked, and writes a set that depends on a cut set: Bob's set stays."""
    client = admitted(stage, "Late")
    sets = written(stage, client, 2)
    relay(stage, client, stage.bob, *sets)
    stage.settle()
    stage.bob.end()
    stage.statement(stage.ada, revocation(stage, stage.ada, client.device,
                                          [(client.incarnation, RECORDS, [sets[0].id])]))
    assert sets[1].id not in stage.ids(stage.alice.device)
    stage.bob.ask("trip.add", fields=[["name", "written on what is cut"]])
    stage.bob.start()
    stage.settle()
    assert [holds(stage, raw) for raw in sets] == [2, 0]
    for each in stage.nodes:
        names = [trip["name"] for trip in each.ask("trip.list")["trips"]]
        assert "written on what is cut" in names, f"{each.name} lost an honest set"


def two_revocations_intersect(stage, node):
    client = admitted(stage, "Twice")
    sets = written(stage, client, 4)
    relay(stage, client, node, *sets)
    stage.settle()
    log = (client.incarnation, RECORDS)
    for tip, each in ((3, stage.alice), (1, stage.bob)):
        stage.statement(stage.ada, revocation(stage, stage.ada, client.device, [(*log, [sets[tip - 1].id])]),
                        node=each)
    stage.settle()
    for each in stage.nodes:
        folded = Holding(each.store).folded
        assert [raw.id in folded for raw in sets] == [True, False, False, False], each.name


def mutual_revocation(stage, node):
    """Two admins of equal rank revoke each other at the same time, each at another node: both are revoked."""
    one, other = admitted(stage, "One", 1), admitted(stage, "Other", 1)
    pair = [revocation(stage, one, other.device), revocation(stage, other, one.device)]
    for statement, carrier, each in ((pair[0], stage.trudy, stage.alice), (pair[1], stage.mallory, stage.bob)):
        stage.statement(carrier, statement, node=each)
    stage.settle()
    for each in stage.nodes:
        told = {row["device"]: row for row in each.ask("members.list")["members"]}
        for device in (one, other):
            assert not is_let_in(stage, device, each), f"{each.name} lets {device.name} in"
            row = told.get(device.device.hex())
            assert row is None or row.get("revoked") or row.get("state") == "revoked", row


def certificates_after_the_revocation(stage, node):
    """A stolen admin key keeps certifying and revoking: all of that is void, whatever its dates."""
    thief = admitted(stage, "Thief", 1)
    child, later = joined("Child", stage.ada.circle), joined("Later", stage.ada.circle)
    kept = certificate(stage, thief, child)
    stage.statement(stage.ada, kept)
    stage.statement(stage.ada, revocation(stage, stage.ada, thief.device, valid=[kept]))
    stage.settle()
    made = certificate(stage, thief, later)
    stage.statement(stage.mallory, made, revocation(stage, thief, stage.bob.device), node=node)
    stage.settle()
    child.chain = stage.ada.circle.chains()[child.device]
    later.chain = thief.chain + [made]
    for each in stage.nodes:
        assert is_let_in(stage, child, each), "a certificate that the revocation keeps"
        assert not is_let_in(stage, later, each), "a certificate made after the revocation"
        assert stage.bob.device.hex() in {row["device"] for row in each.ask("members.list")["members"]}


def drain(session, seconds):
    """Reads everything and answers nothing."""
    end = time.monotonic() + seconds
    with contextlib.suppress(Silence):
        while (left := end - time.monotonic()) > 0:
            session.channel.receive(left)


def full_of_words(stage, node):
    """Mallory fills the room for uncertified signers with statements of newer kinds; its revocation is still
    accepted."""
    stage.is_full = True
    session = stage.dial(stage.mallory, node)
    session.settle()
    for size in [30_000] * 75 + [1000] * 40 + [0] * 60:
        key = SigningKey.generate()
        fields = {0: 1, 1: stage.circle, 2: bytes(key.verify_key), 3: bytes(size), 4: bytes(size)}
        session.send(STATEMENTS, False, [Statement.make(11, key, fields).data])
    count = 0
    while count < diagnostics(node.store).statements:
        count = diagnostics(node.store).statements
        drain(session, 4)
    session.channel.wire.close()
    for each in stage.nodes:
        [[size]] = read(each.store, "SELECT sum(length(bytes)) FROM statements")[0]
        assert 1 << 20 <= size < (1 << 20) + (1 << 17), f"{each.name} holds {size} bytes of statements"
    stage.end_of(stage.mallory, node)
    for each in stage.nodes:
        stage.eventually(lambda: stage.is_out(stage.mallory, each), f"{each.name} revokes", 60)


WITHOUT_EFFECT = [
    certificate_by_a_member, admin_by_its_own_word, admin_by_a_stranger, revocation_by_a_member,
    revocation_by_a_stranger, revocation_of_the_root, revocation_of_nobody, issuers_by_a_member, grant_by_a_member,
    statements_of_kinds_to_come, largest_statement, addresses_that_lead_elsewhere]
REJECTED = [
    certificate_in_an_admins_name, revocation_in_an_admins_name, cut_of_anothers_log, addresses_of_another,
    control_characters_in_a_name, proof_of_two_places, proof_against_oneself_twice, proof_with_a_made_up_half,
    second_genesis, one_byte_too_large]
REVOKED = [
    chain_too_long, revoked_device_goes_on, revocation_before_the_sets, revocation_that_keeps_nothing,
    late_revocation_at_a_node_that_was_away, two_revocations_intersect, mutual_revocation,
    certificates_after_the_revocation]
# Must be last: it adds a member that the earlier attempts do not expect.
ATTEMPTS = [without_effect(each) for each in WITHOUT_EFFECT] + REVOKED + [used_ticket]
CLOSING = [rejected(each) for each in REJECTED]
LAST = [full_of_words]
