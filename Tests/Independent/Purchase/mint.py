"""Makes a purchase for development builds, which accept the keys of the vectors: the signed transaction and, for a
subscription, its renewal info, each on a line. Install it with: waymark entitlement install FILE
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Protocol" / "vectors"))

import app_store  # noqa: E402

DAY = 86_400_000


def main():
    parser = argparse.ArgumentParser(description="Makes a purchase that development builds accept.")
    parser.add_argument("account", help="the circle's account token, which `waymark premium show --json` shows")
    parser.add_argument("--days", type=float, default=365, help="how long the period lasts; 0 for a purchase for life")
    parser.add_argument("--age", type=float, default=0, help="how many days ago it began")
    parser.add_argument("--product", help="the product; default the development app's")
    parser.add_argument("--bundle", default="dev.waymark.app", help="the app's bundle id")
    parser.add_argument("--original", default="1000", help="the original transaction id: the same for the same purchase")
    parser.add_argument("--refunded", action="store_true", help="the same purchase after a refund")
    parser.add_argument("--sandbox", action="store_true", help="bought in the App Store's sandbox")
    wanted = parser.parse_args()

    now = int(time.time() * 1000)
    # A refund is a newer transaction of the same period, so the period begins at a time that stays the same for a day.
    began = now // DAY * DAY - int(wanted.age * DAY)
    common = {"originalTransactionId": wanted.original, "environment": "Sandbox" if wanted.sandbox else "Production",
              "signedDate": now}
    transaction = {
        **common, "bundleId": wanted.bundle, "appAccountToken": wanted.account, "purchaseDate": began,
        "productId": wanted.product or f"dev.waymark.app.{'yearly' if wanted.days else 'lifetime'}",
        "type": "Auto-Renewable Subscription" if wanted.days else "Non-Consumable", "inAppOwnershipType": "PURCHASED"}
    if wanted.days:
        transaction["expiresDate"] = began + int(wanted.days * DAY)
    if wanted.refunded:
        transaction["revocationDate"] = now
    print(app_store.token(transaction))
    if wanted.days:
        print(app_store.token(common))


main()
