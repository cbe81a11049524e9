"""Protocol/purchase.md, "Which purchases are kept" and "Which purchases count"; Protocol/circle.md, "The gate"."""

import math

from jws import fault, is_bound, read_transaction, renewal_of
from statement import CERTIFICATE, ENTITLEMENT, GENESIS, ISSUERS, PURCHASE

AHEAD = 600_000
TRUST = 35 * 24 * 3600 * 1000
PURCHASES_PER_SIGNER_MAX = 16
LINKS_MAX = 8
NEVER_LISTED = ("Consumable", "Non-Renewing Subscription")


def order(statement):
    transaction = read_transaction(statement.fields[3])
    if not transaction:
        return 0, 0, 0, statement.id
    renewal = renewal_of(transaction, statement.fields.get(4))
    return transaction["purchaseDate"], transaction["signedDate"], renewal["signedDate"] if renewal else 0, statement.id


def kept(purchases):
    """The purchases that no later ones of their signer replace."""
    by_signer = {}
    for each in purchases:
        transaction = read_transaction(each.fields[3])
        subscription = transaction.subscription if transaction else None
        subscriptions = by_signer.setdefault(each.signer, {})
        before = subscriptions.get(subscription)
        if not before or order(before) < order(each):
            subscriptions[subscription] = each
    found = []
    for subscriptions in by_signer.values():
        found += sorted(subscriptions.values(), key=order)[-PURCHASES_PER_SIGNER_MAX:]
    return found


def app_of(transaction, policy):
    return next((app for app in policy["apps"] if app["bundle"] == transaction["bundleId"]), None)


def is_accepted(transaction, circle, root, policy):
    """Whether a readable transaction is for the circle, except for its signer."""
    environments = ["Production", "Sandbox"] if policy["sandbox"] else ["Production"]
    return (not fault(transaction, root) and is_bound(transaction, circle)
            and app_of(transaction, policy) is not None and transaction["environment"] in environments)


class Subscription:
    """What the transaction that decides gives, with the renewal info of its subscription."""

    def __init__(self, transaction, renewal, policy):
        self.transaction, app = transaction, app_of(transaction, policy)
        self.end = transaction["expiresDate"]
        if self.end is not None and renewal:
            self.end = max(self.end, renewal["gracePeriodExpiresDate"] or 0)
        self.trusted = None if self.end is None else transaction["signedDate"] + TRUST
        self.start = transaction["signedDate"] - AHEAD
        is_product = transaction["productId"] in app["products"]
        self.is_listed = (
            (is_product or transaction["subscriptionGroupIdentifier"] in app["groups"])
            and transaction["type"] not in NEVER_LISTED
            and (policy["family"] or transaction["inAppOwnershipType"] != "FAMILY_SHARED")
            and (self.end is not None or is_product and transaction["type"] != "Auto-Renewable Subscription"))

    def lasting_state(self):
        """The state that no time changes; None if time decides."""
        if not self.is_listed:
            return "not_listed"
        if self.transaction["isUpgraded"]:
            return "upgraded"
        return "refunded" if self.transaction["revocationDate"] is not None else None

    def state(self, time):
        lasting = self.lasting_state()
        if lasting:
            return lasting
        if time < self.start:
            return "not_yet"
        if self.end is None:
            return "valid"
        if time >= self.end:
            return "expired"
        return "unconfirmed" if time >= self.trusted else "valid"

    def period(self):
        """The times at which it is valid, or None."""
        last = math.inf if self.end is None else min(self.end, self.trusted)
        return None if self.lasting_state() or last <= self.start else (self.start, last)


class Circle:
    """A set of statements with one genesis, as the gate reads it. Revocations are not looked at: no row needs them."""

    def __init__(self, statements, root, policy):
        self.root, self.policy = root, policy
        self.genesis = next(each for each in statements if each.kind == GENESIS)
        self.statements = [each for each in statements if each.circle == self.genesis.id]
        self.devices = self.find_devices()
        self.subscriptions = self.find_subscriptions()

    def of(self, kind):
        return [each for each in self.statements if each.kind == kind]

    def find_devices(self):
        """The devices whose purchases count: whether they are revoked does not matter."""
        root_key, founder = self.genesis.fields[2], self.genesis.fields[3]
        certificates = [each for each in self.of(CERTIFICATE) if each.fields[3] != root_key]
        reached = {root_key: 0, founder: 1}
        for depth in range(1, LINKS_MAX + 1):
            for each in certificates:
                if each.fields[6] == 1 and reached.get(each.signer) == depth - 1:
                    reached.setdefault(each.fields[3], depth)
        return {founder} | {each.fields[3] for each in certificates if each.signer in reached}

    def find_subscriptions(self):
        found = {}
        for each in kept(self.of(PURCHASE)):
            transaction = read_transaction(each.fields[3])
            if transaction and each.signer in self.devices and is_accepted(
                    transaction, self.genesis.id, self.root, self.policy):
                found.setdefault(transaction.subscription, []).append((each, transaction))
        return [self.subscription(each) for each in found.values()]

    def subscription(self, purchases):
        _, deciding = max(purchases, key=lambda row: (row[1]["purchaseDate"], row[1]["signedDate"], row[0].id))
        renewals = [(renewal["signedDate"], each.id, renewal) for each, transaction in purchases
                    if (renewal := renewal_of(transaction, each.fields.get(4))) and not fault(renewal, self.root)]
        renewal = max(renewals, key=lambda row: row[:2])[2] if renewals else None
        return Subscription(deciding, renewal, self.policy)

    def entitlements(self, device):
        issuers = set(self.genesis.fields.get(6, []))
        for each in self.of(ISSUERS):
            if each.signer == self.genesis.fields[2]:
                issuers |= set(each.fields[3])
        return [(each.fields[6], each.fields[7]) for each in self.of(ENTITLEMENT)
                if each.signer in issuers and device in each.fields.get(3, [device])]

    def evaluate(self, device, time):
        """The evaluation of a member at a gate time."""
        bought = [each.period() for each in self.subscriptions if each.period()]
        certified = self.entitlements(device)
        states = [each.state(time) for each in self.subscriptions]
        if "valid" in states:
            source = "purchase"
        elif any(start <= time < end for start, end in certified):
            source = "certificate"
        else:
            return {"premium": False, "source": "none", "until": None, "reason": self.reason(states, certified, time)}
        until = time
        for start, end in sorted(bought + certified):
            if start <= until:
                until = max(until, end)
        return {"premium": True, "source": source, "until": None if until == math.inf else until, "reason": None}

    @staticmethod
    def reason(states, certified, time):
        if "unconfirmed" in states:
            return "purchase_unconfirmed"
        if "refunded" in states:
            return "purchase_refunded"
        if "expired" in states or any(end <= time for _, end in certified):
            return "entitlement_expired"
        if "not_yet" in states or any(start > time for start, _ in certified):
            return "entitlement_not_yet_valid"
        return "free_tier"
