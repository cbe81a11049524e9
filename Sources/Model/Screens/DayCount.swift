public import Platform

/// The rule that determines on which day an entry counts, according to the profile's display zone.
///
/// If the profile's display zone is the current zone, each entry counts on the day that it was in the zone where the
/// entry was made, so days remain as the user experienced them while travelling. If the display zone is a fixed zone
/// (the home zone or another one), each entry counts on the day that it was in that zone.
public struct DayCount: Hashable, Sendable, Codable {
  let fixedZone: Zone?
  let todayZone: Zone

  private enum CodingKeys: String, CodingKey {
    case fixedZone = "fixed"
    case todayZone = "zone"
  }

  /// The zone in which all entries are counted; nil if each entry is counted in its own zone.
  public var fixed: TimeZone? { fixedZone?.timeZone }
  /// The zone that determines which day is today.
  public var zone: TimeZone { todayZone.timeZone }

  /// Creates the rule that a profile's settings describe.
  public init(_ profile: Profile) {
    todayZone = profile.shownZone
    fixedZone = profile.displayZone == .current ? nil : todayZone
  }

  /// Creates the rule that all entries are counted in one zone.
  public init(in zone: TimeZone) {
    todayZone = Zone(zone)
    fixedZone = todayZone
  }

  /// Returns the day on which an entry counts.
  public func day(of log: HabitEntry) -> Day { fixedZone.map { Day(log.date, in: $0) } ?? log.day }

  /// Returns the current day, or the day on which another time falls.
  public func day(at date: Date = .now) -> Day { Day(date, in: todayZone) }
}
