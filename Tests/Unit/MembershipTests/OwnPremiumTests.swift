import Membership
import Records
import Testing

/// When a circle that issues premium to itself issues the next entitlement, and how long that lasts.
struct OwnPremiumTests {
  private let day: Int64 = 86_400_000
  /// 3 May 2026, 08:00 UTC.
  private let now: Int64 = 1_777_795_200_000

  private func end(after end: Int64?, wanted: Int64? = nil, days: Int64 = 0) -> Int64? {
    OwnPremium.endToIssue(after: end, wanted: wanted, at: now + days * day)
  }

  @Test func `the first year ends with a day`() throws {
    let first = try #require(end(after: nil))
    #expect(first > now + 365 * day && first <= now + 366 * day)
    #expect(endText(milliseconds: first) == "2027-05-03 UTC")
  }

  @Test func `the next year is issued when 30 days are left, and begins where the last one ends`() throws {
    let first = try #require(end(after: nil))
    #expect(end(after: first) == nil)
    let due = first - 30 * day
    #expect(OwnPremium.endToIssue(after: first, at: due - 1) == nil)
    #expect(OwnPremium.endToIssue(after: first, at: due) == first + 365 * day)
    #expect(OwnPremium.untilDue(first, at: due - 1) == 1)
    #expect(OwnPremium.untilDue(first, at: first + day) == 0)
  }

  @Test func `what has expired is renewed for a year from now`() throws {
    let first = try #require(end(after: nil))
    let late = first + 100 * day + 1
    #expect(OwnPremium.endToIssue(after: first, at: late) == first + 466 * day)
  }

  @Test func `a later end is issued at once, an earlier one never`() {
    let held = now + 200 * day
    #expect(end(after: held, wanted: held + 1) == held + 1)
    #expect(end(after: held, wanted: held) == nil)
    #expect(end(after: held, wanted: now + day) == nil)
    #expect(end(after: nil, wanted: now + 1) == now + 1)
    #expect(end(after: now - day, wanted: now - 1) == nil, "in the past")
  }

  @Test func `an end is written as the day that it ends, or as a time`() {
    #expect(endText(milliseconds: 1_830_297_600_000) == "2027-12-31 UTC")
    #expect(endText(milliseconds: 1_830_297_600_000 - 6 * 3_600_000) == "2027-12-31 18:00 UTC")
  }
}
