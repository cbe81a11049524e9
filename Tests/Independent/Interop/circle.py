"""Protocol/circle.md: the set of statements, tickets, introductions."""

import base64

from encoding import Refused, decode, encode, hashed, is_bytes, is_number, require
from membership import Membership
from purchase import kept
from statement import (  # noqa: F401  the kinds are this chapter's too
    ADDRESSES, BRANCH_PROOF, CERTIFICATE, ENTITLEMENT, FORK_PROOF, GENESIS, GRANT, ISSUERS, LOG_CUT, PURCHASE,
    REVOCATION, TIME_MAX, WITHDRAWAL, Statement,
    check_addresses)


class Circle:
    """The statements of a circle, and the members that follow from them."""

    def __init__(self, genesis):
        require(genesis.kind == GENESIS, "a circle begins with its genesis")
        self.id, self.genesis = genesis.id, genesis
        self.statements, self.judged = {genesis.id: genesis}, None

    def add(self, statement):
        require(statement.circle == self.id, "another circle")
        if statement.kind == ADDRESSES:
            rank = (statement.fields[3], statement.id)
            same = [s for s in self.of(ADDRESSES) if s.fields[2] == statement.fields[2]]
            if any((s.fields[3], s.id) >= rank for s in same):
                return
            for each in same:
                del self.statements[each.id]
        if statement.kind == BRANCH_PROOF:
            same = [s for s in self.of(BRANCH_PROOF) if s.tree == statement.tree]
            if any((s.line, s.id) <= (statement.line, statement.id) for s in same):
                return
            for each in same:
                del self.statements[each.id]
        self.statements.setdefault(statement.id, statement)
        if statement.kind == PURCHASE:
            same = [s for s in self.of(PURCHASE) if s.fields[2] == statement.fields[2]]
            for each in set(s.id for s in same) - set(s.id for s in kept(same)):
                del self.statements[each]
        self.judged = None

    def of(self, kind):
        return [s for s in self.statements.values() if s.kind == kind]

    def copy(self):
        other = Circle(self.genesis)
        other.statements = dict(self.statements)
        return other

    def holds(self, statement):
        held = self.statements.get(statement.id)
        return held is not None and held.data == statement.data

    def is_known(self, statement):
        """Whether a statement is held, or its signer is the root key, an accepted issuer, or is or was a member."""
        if self.holds(statement) or statement.signer == self.genesis.fields[2]:
            return True
        if statement.kind == ENTITLEMENT:
            return statement.signer in self.membership.issuers()
        return statement.signer in self.membership.certified

    @property
    def hash(self):
        return hashed("certificates/v1", *sorted(self.statements))

    @property
    def membership(self):
        if self.judged is None:
            self.judged = Membership(self.genesis, list(self.statements.values()))
        return self.judged

    def chains(self):
        """The shortest chain from the genesis to each member's certificate."""
        return self.membership.members

    def may_author(self, device):
        return self.membership.is_named(device)

    def transport(self, device):
        """A member's transport key: that of its newest certificate."""
        chain = self.chains().get(device)
        return None if chain is None else chain[-1].fields[4]

    def device_with(self, transport):
        return next((each for each in self.chains() if self.transport(each) == transport), None)

    def entitlements(self, device):
        return self.membership.entitlements(device)

    def is_premium(self, device, now):
        return any(s.fields[6] <= now < s.fields[7] for s in self.entitlements(device))


def session_key(circle):
    """The preamble key of sessions between devices of a circle."""
    return hashed("session-preamble/v1", circle)


class Ticket:
    def __init__(self, line):
        line = line.strip().lower()
        require(line.startswith("waymark1"), "mark of a ticket")
        text = line[8:]
        try:
            data = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
        except ValueError:
            raise Refused("base32") from None
        require(base64.b32encode(data).decode().lower().rstrip("=") == text, "bits left over")
        payload, checksum = data[:-4], data[-4:]
        require(hashed("ticket-checksum/v1", payload)[:4] == checksum, "checksum of a ticket")
        fields = decode(payload)
        require(type(fields) is dict and set(fields) == {0, 1, 2, 3, 4, 5} and fields[0] == 1, "ticket")
        require(is_bytes(fields[1], 32) and is_bytes(fields[2], 32) and is_bytes(fields[4], 16), "ticket")
        check_addresses({3: 0, 4: fields[3]})
        require(is_number(fields[5], 0, TIME_MAX), "end of a ticket")
        self.circle, self.transport, self.addresses = fields[1], fields[2], fields[3]
        self.secret, self.until = fields[4], fields[5]
        self.id = hashed("ticket-id/v1", self.secret)[:8]
        self.key = pairing_key(self.secret)  # of the preamble
        self.psk = hashed("ticket-psk/v1", self.secret, self.circle, self.transport)


def pairing_key(secret):
    """The preamble key of a pairing with the ticket that has this secret."""
    return hashed("pairing-preamble/v1", secret)


def introduction(chain, entitlements, now):
    fields = {0: 1, 1: [s.data for s in chain], 3: now}
    fields[2] = [s.data for s in entitlements[:4]]
    return encode(fields)


def read_introduction(data, circle, transport):
    """Returns the member that introduces itself; refuses anyone else. The circle keeps what it learns."""
    links, shown = parse_introduction(data)
    require(all(each.circle == circle.id for each in shown), "an introduction to another circle")
    last = links[-1]
    require(last.certified is not None, "a chain ends in a certificate")
    require(last.fields[4] == transport, "the transport key of the handshake")
    extended = circle.copy()
    for each in believed(shown, last, circle):
        extended.add(each)
    device, was_member = last.certified, circle.transport(last.certified) == transport
    is_member = extended.transport(device) == transport
    if is_member or was_member:
        circle.statements, circle.judged = extended.statements, None
    require(is_member, "not a member with this key")
    return device


def parse_introduction(data):
    """The statements before the entitlements, and all; no signature is verified."""
    require(len(data) <= 6144, "size of an introduction")
    fields = decode(data)
    require(type(fields) is dict and {0, 1, 2, 3} <= set(fields) and fields[0] == 1, "introduction")
    require(type(fields[1]) is list and 1 <= len(fields[1]) <= 8, "length of a chain")
    require(type(fields[2]) is list and len(fields[2]) <= 4, "entitlements of an introduction")
    require(is_number(fields[3], 0, TIME_MAX), "time of an introduction")
    require(all(type(each) is bytes for each in fields[1] + fields[2]), "statements of an introduction")
    shown = [Statement(each, is_verified=False) for each in fields[1] + fields[2]]
    return shown[:len(fields[1])], shown


def believed(shown, last, circle):
    """The statements whose signers the circle knows, or whom the links of the chain certify; all are verified."""
    path = [last]
    while not circle.is_known(path[0]):
        above = [each for each in shown if each not in path and each.certified == path[0].signer]
        require(above, "no link of the chain has a signer that is known")
        path.insert(0, above[-1])
    certified = {each.certified for each in path}
    for each in path + [each for each in shown if each not in path]:
        if each in path or circle.is_known(each) or each.signer in certified:
            yield each if circle.holds(each) else Statement(each.data)
