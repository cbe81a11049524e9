"""Protocol/circle.md, "Statements": the content of each kind, and what makes it invalid."""

from encoding import (
    ascends, check_value, decode, decode_counted, encode, hashed, is_bytes, is_number, require, sign, verify)
from purchase import is_token

GENESIS, CERTIFICATE, REVOCATION, LOG_CUT, ENTITLEMENT, ISSUERS, FORK_PROOF, ADDRESSES, GRANT = range(1, 10)
NAMES = {
    1: "genesis", 2: "device-certificate", 3: "revocation", 4: "log-cut", 5: "entitlement", 6: "issuers",
    7: "fork-proof", 8: "addresses", 9: "grant", 10: "branch-proof", 12: "purchase"}  # of prefixes
KEYS = {  # needed, and optional
    GENESIS: ({0, 2, 3, 4, 5, 7, 8}, {6}),
    CERTIFICATE: ({0, 1, 2, 3, 4, 5, 6, 7}, set()),
    REVOCATION: ({0, 1, 2, 3, 6}, {4, 5}),
    LOG_CUT: ({0, 1, 2, 3, 4, 6}, {5}),
    ENTITLEMENT: ({0, 1, 2, 4, 5, 6, 7, 8, 9}, {3}),
    ISSUERS: ({0, 1, 2, 3, 4}, set()),
    FORK_PROOF: ({0, 1, 3, 4}, set()),
    ADDRESSES: ({0, 1, 2, 3, 4}, set()),
    GRANT: ({0, 1, 2, 3, 4, 5, 6}, set())}
BRANCH_PROOF = 10
KEYS[BRANCH_PROOF] = ({0, 1, 3}, set())
PURCHASE = 12
KEYS[PURCHASE] = ({0, 1, 2, 3}, {4})
WITHDRAWAL = 13  # signed as a kind without a name
KEYS[WITHDRAWAL] = ({0, 1, 2, 5}, {3, 4})
WITHDRAWN_MAX = 256
TIME_MAX = (1 << 48) - 1
QUOTA_MAX = 1 << 50
BRANCHES_MAX = 16


class Statement:
    def __init__(self, data, is_verified=True):
        """`is_verified`: whether to verify the signature now; those of proofs are always verified."""
        self.data, self.is_verified = bytes(data), is_verified
        parts = decode(self.data)
        require(type(parts) is list and len(parts) == 3, "statement")
        require(len(self.data) <= (262_144 if parts[0] == BRANCH_PROOF else 65_536), "size of a statement")
        self.kind, self.body, self.signature = parts
        require(is_number(self.kind, 1, 63) and type(self.body) is bytes, "kind and body of a statement")
        if self.kind == BRANCH_PROOF:
            require(type(self.signature) is bytes and len(self.signature) % 64 == 0, "signatures of a branch proof")
        else:
            require(is_bytes(self.signature, 128 if self.kind == FORK_PROOF else 64), "signature of a statement")
        self.id = hashed("statement-id/v1", bytes([self.kind]), self.body)
        self.fields = decode_map(self.body)
        self.check()

    @classmethod
    def make(cls, kind, key, fields):
        body = encode(fields)
        return cls(encode([kind, body, sign(key, name(kind) + "-signature/v1", body)]))

    @property
    def circle(self):
        return self.id if self.kind == GENESIS else self.fields[1]

    @property
    def signer(self):
        if self.kind == FORK_PROOF:
            return decode(self.fields[3])[2]
        return decode(self.fields[3][0])[2] if self.kind == BRANCH_PROOF else self.fields[2]

    @property
    def certified(self):
        """The device that a certificate or the genesis names."""
        return self.fields[3] if self.kind in (GENESIS, CERTIFICATE) else None

    def check(self):
        fields = self.fields
        require(type(fields) is dict and fields.get(0) == 1, "version of a statement")
        if self.kind == FORK_PROOF:
            return self.check_fork()
        if self.kind == BRANCH_PROOF:
            return self.check_branches()
        if self.kind not in KEYS:
            require({0, 1, 2} <= set(fields), "keys of a newer kind")
            for value in fields.values():
                check_value(value)
        else:
            needed, optional = KEYS[self.kind]
            require(needed <= set(fields) <= needed | optional, "keys of a statement")
        require(self.kind == GENESIS or is_bytes(fields[1], 32), "circle of a statement")
        require(is_bytes(fields[2], 32), "signer")
        if self.is_verified:
            verify(fields[2], name(self.kind) + "-signature/v1", self.body, self.signature)
        check = {GENESIS: check_genesis, CERTIFICATE: check_certificate, REVOCATION: check_revocation,
                 LOG_CUT: check_log_cut, ENTITLEMENT: check_entitlement,
                 ISSUERS: lambda f: check_issuers(f[3]), ADDRESSES: check_addresses,
                 GRANT: check_grant, PURCHASE: check_purchase, WITHDRAWAL: check_withdrawal}.get(self.kind)
        if check:
            check(fields)

    def check_fork(self):
        require(type(self.fields.get(3)) is bytes and type(self.fields.get(4)) is bytes, "headers of a fork")
        first, second = read_place(self.fields[3]), read_place(self.fields[4])
        require(all(first.get(key) == second.get(key) for key in range(1, 7)), "place of a fork")
        require(first[1] == self.fields[1], "circle of a fork")
        ids = [hashed("change-set-id/v1", self.fields[key]) for key in (3, 4)]
        require(ids[0] < ids[1], "order of a fork")
        verify(first[2], "change-set-signature/v1", self.fields[3], self.signature[:64])
        verify(first[2], "change-set-signature/v1", self.fields[4], self.signature[64:])

    def check_branches(self):
        require(set(self.fields) == {0, 1, 3}, "keys of a branch proof")
        listed = self.fields[3]
        require(type(listed) is list and listed and all(type(each) is bytes for each in listed), "headers")
        headers = [read_place(each) for each in listed]
        require(all(each[1] == self.fields[1] for each in headers), "circle of branches")
        require(len({tree_of(each[2], each[3], each[4]) for each in headers}) == 1, "tree of branches")
        order = [(each[5], hashed("change-set-id/v1", data)) for each, data in zip(headers, listed)]
        require(ascends(order), "order of branches")
        forks = {}
        for each in headers:
            fork = (each[5],) if each[5] == 1 else (each[3], each[5], each[6])
            forks[fork] = forks.get(fork, 0) + 1
        require(all(count >= 2 for count in forks.values()), "a set without a fork")
        require(len(headers) - len(forks) == BRANCHES_MAX, "number of branches")
        require(len(self.signature) == 64 * len(listed), "number of signatures")
        for number, data in enumerate(listed):
            verify(headers[0][2], "change-set-signature/v1", data, self.signature[64 * number:64 * number + 64])
        self.tree, self.line = tree_of(headers[0][2], headers[0][3], headers[0][4]), order[0][0] - 1


def tree_of(device, incarnation, lane):
    """The logs whose incarnations have one number; the number is the first four bits, minus 1."""
    return device, incarnation[0] >> 4, lane


def decode_map(data):
    """A map within the limits of bodies and of headers in proofs."""
    value, items = decode_counted(data)
    require(type(value) is dict and len(value) <= 32 and items <= 20_000, "map of a statement")
    return value


def read_place(data):
    """A header in a proof. Its fields say where in which log a set is; the rest has only to be field values."""
    header = decode_map(data)
    require(header.get(0) == 2, "version of a header")
    for key, value in header.items():
        if not (key == 7 and is_number(value, 0, (1 << 64) - 1)):
            check_value(value)
    require(is_bytes(header.get(1), 32) and is_bytes(header.get(2), 32), "circle and device of a header")
    require(is_bytes(header.get(3), 16) and is_number(header.get(4), 0, 1), "log of a header")
    require(is_number(header.get(5), 1, (1 << 63) - 1), "sequence of a header")
    require((6 in header) == (header[5] > 1) and is_bytes(header.get(6, bytes(32)), 32), "predecessor in a header")
    return header


def name(kind):
    return NAMES.get(kind, f"statement-{kind}")


UNSEEN = [
    (0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]


def check_name(text):
    require(type(text) is str and 1 <= len(text.encode()) <= 64, "name")
    require(not any(low <= ord(each) <= high for each in text for low, high in UNSEEN), "characters of a name")


def check_issuers(keys):
    require(type(keys) is list and 1 <= len(keys) <= 2, "issuers")
    require(all(is_bytes(key, 32) for key in keys) and len(set(keys)) == len(keys), "issuers")


def check_purchase(fields):
    require(all(is_token(fields[key]) for key in (3, 4) if key in fields), "tokens of a purchase")


def check_withdrawal(fields):
    lists = [fields[key] for key in (3, 4) if key in fields]
    require(lists, "a withdrawal of nothing")
    for each in lists:
        check_ids(each)
        require(len(each) <= WITHDRAWN_MAX, "size of a withdrawal")
    require(is_number(fields[5], 0, TIME_MAX), "time of a withdrawal")


def check_genesis(fields):
    require(is_bytes(fields[3], 32) and fields[3] != fields[2] and is_bytes(fields[4], 32), "founder")
    check_name(fields[5])
    require(is_number(fields[7], 0, TIME_MAX) and is_bytes(fields[8], 16), "time and chance of a genesis")
    if 6 in fields:
        check_issuers(fields[6])


def check_certificate(fields):
    require(is_bytes(fields[3], 32) and is_bytes(fields[4], 32), "keys of a certificate")
    check_name(fields[5])
    require(is_number(fields[6], 0, 1) and is_number(fields[7], 0, TIME_MAX), "role and time")


def check_revocation(fields):
    require(is_bytes(fields[3], 32) and is_number(fields[6], 0, TIME_MAX), "device and time")
    for log in fields.get(4, []):
        require(type(log) is list and len(log) == 3, "kept log")
        require(is_bytes(log[0], 16) and is_number(log[1], 0, 1), "kept log")
        check_ids(log[2])
    logs = fields.get(4, [None])
    require(logs and (logs == [None] or ascends([log[:2] for log in logs])), "kept logs ascend")
    if 5 in fields:
        check_ids(fields[5])


def check_ids(ids):
    require(type(ids) is list and ids and all(is_bytes(each, 32) for each in ids) and ascends(ids), "ids ascend")


def check_log_cut(fields):
    require(is_bytes(fields[3], 16) and is_number(fields[4], 0, 1), "log of a cut")
    require(is_bytes(fields.get(5, bytes(32)), 32) and is_number(fields[6], 0, TIME_MAX), "cut")


def check_grant(fields):
    require(is_bytes(fields[3], 32) and is_number(fields[4], 0, 1), "device and lane of a grant")
    require(is_number(fields[5], 1, QUOTA_MAX) and is_number(fields[6], 0, TIME_MAX), "size and time of a grant")


def check_entitlement(fields):
    if 3 in fields:
        require(type(fields[3]) is list and 1 <= len(fields[3]) <= 64 and ascends(fields[3]), "devices")
    check_name(fields[4])
    check_name(fields[9])
    require(all(is_number(fields[key], 0, TIME_MAX) for key in (5, 6, 7)), "times of an entitlement")
    require(fields[6] < fields[7] and is_bytes(fields[8], 16), "entitlement")


def check_addresses(fields):
    require(is_number(fields[3], 0, (1 << 64) - 1), "clock of addresses")
    require(type(fields[4]) is list and len(fields[4]) <= 16, "addresses")
    for each in fields[4]:
        check_address(each)


def check_address(text):
    require(type(text) is str and 1 <= len(text) <= 128, "address")
    require(all(0x21 <= ord(character) <= 0x7E for character in text), "characters of an address")
