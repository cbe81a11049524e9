"""Protocol/circle.md: the set of statements, tickets, introductions."""

import base64

from encoding import Refused, decode, encode, hashed, is_bytes, is_number, require
from membership import Membership
from statement import (  # noqa: F401  the kinds are this chapter's too
    ADDRESSES, BRANCH_PROOF, CERTIFICATE, ENTITLEMENT, FORK_PROOF, GENESIS, GRANT, ISSUERS, LOG_CUT, REVOCATION, TIME_MAX,
    Statement,
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
        self.judged = None

    def of(self, kind):
        return [s for s in self.statements.values() if s.kind == kind]

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
    """Returns the member that introduces itself, once everything in its introduction is verified."""
    require(len(data) <= 6144, "size of an introduction")
    fields = decode(data)
    require(type(fields) is dict and {0, 1, 2, 3} <= set(fields) and fields[0] == 1, "introduction")
    chain = [Statement(each) for each in fields[1]]
    require(1 <= len(chain) <= 8 and len(fields[2]) <= 4, "length of an introduction")
    last = chain[-1]
    require(last.kind in (GENESIS, CERTIFICATE), "a chain ends in a certificate")
    device = last.fields[3]
    for each in chain + [Statement(each) for each in fields[2]]:
        circle.add(each)
    require(circle.transport(device) == transport, "not a member with this key")
    return device
