"""Protocol/circle.md, "Who is a member" and "What folds": evaluates a set of statements from the root outward."""

from statement import (
    BRANCH_PROOF, CERTIFICATE, ENTITLEMENT, GRANT, ISSUERS, LOG_CUT, REVOCATION, WITHDRAWAL, tree_of)

LINKS_MAX = 8
QUOTAS = [4 << 20, 1 << 30]  # of settings and of records


def number_of(incarnation):
    return (incarnation[0] >> 4) + 1


def share(quota, number):
    """The bytes that a log may hold: change-set.md, "Quotas"."""
    return quota // 2 if number == 1 else quota // 32


class Membership:
    def __init__(self, genesis, statements):
        self.genesis, self.statements = genesis, statements
        self.root = genesis.fields[2]
        self.certificates = [s for s in self.of(CERTIFICATE) if s.fields[3] != self.root]
        self.counted, self.quotas = [], {}
        self.granters = set(self.depths())  # whether they are revoked or not
        for length in range(1, LINKS_MAX + 2):
            depths = self.depths()
            self.counted += [
                each for each in self.of(REVOCATION) if each.fields[3] != self.root
                and depths.get(each.fields[2]) == length - 1 and not self.is_void(each)]
        self.admit()

    def of(self, kind):
        return sorted((s for s in self.statements if s.kind == kind), key=lambda s: s.id)

    def is_void(self, statement):
        """Whether a revocation that counts makes this statement of its signer void."""
        return any(each.fields[3] == statement.fields[2] and statement.id not in each.fields.get(5, [])
                   for each in self.counted)

    def standing(self, admins_only=False):
        """(issuer, device, role, statement) of certificates that are not void, including the founder's."""
        founder = self.genesis.fields
        yield self.root, founder[3], 1, self.genesis
        for each in self.certificates:
            if not self.is_void(each) and (each.fields[6] == 1 or not admins_only):
                yield each.fields[2], each.fields[3], each.fields[6], each

    def depths(self):
        depths = {self.root: 0}
        for depth in range(1, LINKS_MAX + 1):
            found = {device for issuer, device, _, _ in self.standing(True) if depths.get(issuer) == depth - 1}
            depths.update({device: depth for device in found if device not in depths})
        return depths

    def admit(self):
        depths, newest, parents = self.depths(), {}, {}
        for issuer, device, role, each in self.standing():
            if depths.get(issuer, LINKS_MAX) > LINKS_MAX - 1:
                continue
            time = each.fields[7]
            if device not in newest or (newest[device][2].fields[7], newest[device][2].id) < (time, each.id):
                newest[device] = (issuer, device, each)
            if role == 1 and depths.get(device) == depths[issuer] + 1:
                if device not in parents or each.id < parents[device][1].id:
                    parents[device] = (issuer, each)
        self.revoked = {each.fields[3] for each in self.counted}
        self.certified, self.chains_of, rows = set(newest), {}, []
        for issuer, device, each in newest.values():
            chain = [each]
            while issuer in parents and len(chain) < LINKS_MAX:
                issuer, above = parents[issuer]
                chain.insert(0, above)
            rows.append((len(chain), each.id, device, chain))
        self.members = {}
        taken = {self.transport_of(row[3]) for row in rows if row[2] in self.revoked}
        for _, _, device, chain in sorted(rows, key=lambda row: row[:2]):
            key = self.transport_of(chain)
            if device not in self.revoked and key not in taken:
                taken.add(key)
                self.members[device] = chain

    @staticmethod
    def transport_of(chain):
        return chain[-1].fields[4]

    def is_named(self, device):
        """Whether any certificate names the device, whether or not it counts."""
        return device in self.certified or any(each.fields[3] == device for each in self.of(CERTIFICATE))

    def cuts(self, device, incarnation, lane):
        """The tips that each cut of a log keeps; none without a cut."""
        if device not in self.certified:
            return [set()]
        cuts = []
        for each in self.counted:
            if each.fields[3] == device:
                kept = [log[2] for log in each.fields.get(4, []) if log[:2] == [incarnation, lane]]
                cuts.append(set(kept[0]) if kept else set())
        for each in self.of(LOG_CUT):
            of = (each.fields[2], each.fields[3], each.fields[4])
            if of == (device, incarnation, lane) and not self.is_void(each):
                cuts.append({each.fields[5]} if 5 in each.fields else set())
        return cuts

    def quota(self, device, lane):
        if (device, lane) not in self.quotas:
            self.quotas[device, lane] = self.greatest_grant(device, lane)
        return self.quotas[device, lane]

    def greatest_grant(self, device, lane):
        mine = [each for each in self.of(GRANT) if (each.fields[3], each.fields[4]) == (device, lane)]
        return max([each.fields[5] for each in mine if each.fields[2] in self.granters] + [QUOTAS[lane]])

    def line(self, device, incarnation, lane):
        """The sequence after which nothing of a log folds; None without a branch proof that counts."""
        if device not in self.certified or device in self.revoked:
            return None
        tree = tree_of(device, incarnation, lane)
        return min((each.line for each in self.of(BRANCH_PROOF) if each.tree == tree), default=None)

    def pinned(self):
        """The issuers that were named at some time."""
        issuers = set(self.genesis.fields.get(6, []))
        for each in self.of(ISSUERS):
            if each.fields[2] == self.root:
                issuers |= set(each.fields[3])
        return issuers

    def issuers(self):
        by_root = [each for each in self.of(WITHDRAWAL) if each.fields[2] == self.root]
        withdrawn = {key for each in by_root for key in each.fields.get(3, [])}
        return self.pinned() - (withdrawn - {self.root})

    def is_withdrawn(self, entitlement):
        """Whether a withdrawal by the root key or by its issuer names an entitlement of an accepted issuer."""
        return any(entitlement.id in each.fields.get(4, []) and each.fields[2] in (self.root, entitlement.fields[2])
                   for each in self.of(WITHDRAWAL))

    def entitlements(self, device):
        issuers = self.issuers()
        mine = [s for s in self.of(ENTITLEMENT)
                if s.fields[2] in issuers and device in s.fields.get(3, [device]) and not self.is_withdrawn(s)]
        return sorted(mine, key=lambda s: -s.fields[7])

    def has_lost(self, device):
        """Whether a withdrawn entitlement would have lasted longer than all that count for a device."""
        valid = self.entitlements(device)
        lost = [s for s in self.of(ENTITLEMENT)
                if s.fields[2] in self.pinned() and device in s.fields.get(3, [device]) and s not in valid]
        return bool(lost) and max(s.fields[7] for s in lost) > max((s.fields[7] for s in valid), default=-1)

    def gate_time(self, wall):
        """The gate time of a device that has folded nothing."""
        issuers = self.issuers()
        return max([wall] + [s.fields[5] for s in self.of(ENTITLEMENT)
                             if s.fields[2] in issuers and not self.is_withdrawn(s)])

    def reason(self, device, now):
        """The reason for a closed gate by entitlements alone; None for a device with premium."""
        if device not in self.members:
            return "free_tier"
        valid = [(s.fields[6], s.fields[7]) for s in self.entitlements(device)]
        if any(start <= now < end for start, end in valid):
            return None
        if self.has_lost(device):
            return "entitlement_withdrawn"
        if any(end <= now for _, end in valid):
            return "entitlement_expired"
        return "entitlement_not_yet_valid" if valid else "free_tier"
