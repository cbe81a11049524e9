"""Protocol/purchase.md: the times of the vectors' purchases, in milliseconds, and the limits that they meet."""

import datetime

DAY = 86_400_000
AHEAD, TRUST = 600_000, 35 * DAY  # purchaseAheadMilliseconds, purchaseTrustMilliseconds
BOUGHT = 1_772_366_400_000  # 2026-03-01 12:00 UTC
SIGNED = BOUGHT + 4_321
SIGNED_SECOND = datetime.datetime(2026, 3, 1, 12, 0, 4)
EXPIRES = BOUGHT + 31 * DAY
TRUSTED = SIGNED + TRUST
NOON = BOUGHT + DAY
