public import Foundation

/// The rule that determines on which day an entry counts, according to the profile's display zone.
///
/// If the profile's display zone is the current zone, each entry counts on the day that it was in the zone where the
/// entry was made, so days remain as the user experienced them while travelling. If the display zone is a fixed zone
/// (the home zone or another one), each entry counts on the day that it was in that zone.
public struct DayCount: Hashable, Sendable, Codable {
  /// The zone in which all entries are counted; nil if each entry is counted in its own zone.
  public let fixed: TimeZone?
  /// The zone that determines which day is today.
  public let zone: TimeZone

  /// Creates the rule that a profile's settings describe.
  public init(_ profile: Profile) {
    zone = profile.displayTimeZone
    fixed = profile.displayZone == .current ? nil : zone
  }

  /// Creates the rule that all entries are counted in one zone.
  public init(in zone: TimeZone) { (fixed, self.zone) = (zone, zone) }

  /// Returns the day on which an entry counts.
  public func day(of log: HabitEntry) -> Day { fixed.map { Day(log.date, in: $0) } ?? log.day }

  /// Returns the current day, or the day on which another time falls.
  public func day(at date: Date = .now) -> Day { Day(date, in: zone) }
}
