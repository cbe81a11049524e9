// Protocol/records.md, "Times"

/// A table of time zones, passed in because this module reads no files.
package struct ZoneOffsets: Sendable {
  /// Seconds east of UTC at an instant (milliseconds since 1970) in an IANA zone; nil for an unknown zone.
  package let seconds: @Sendable (_ milliseconds: Int64, _ zone: String) -> Int?

  package init(seconds: @escaping @Sendable (_ milliseconds: Int64, _ zone: String) -> Int?) {
    self.seconds = seconds
  }

  /// The calendar day in the zone; in UTC if the zone is unknown.
  package func day(milliseconds: Int64, zone: String?) -> CalendarDay {
    let offset = zone.flatMap { seconds(milliseconds, $0) } ?? 0
    let wall = milliseconds.clampedToCalendar + Int64(offset % 86_400) * 1_000
    return CalendarDay(daysSince1970: floorDivision(wall, 86_400_000))
  }

  /// The instant of a local time in a zone; nil for an unknown zone.
  ///
  /// A time that occurs twice, because clocks are set back, means the first instant. A time that does not occur,
  /// because clocks are set forward, is read with the offset before the change: it is an hour later on the new
  /// clock.
  package func milliseconds(wall: Int64, zone: String) -> Int64? {
    let day: Int64 = 86_400_000
    guard let before = seconds(wall - day, zone), let after = seconds(wall + day, zone) else { return nil }
    for offset in [before, after] {
      let candidate = wall - Int64(offset) * 1_000
      if seconds(candidate, zone) == offset { return candidate }
    }
    return wall - Int64(before) * 1_000
  }

  /// RFC 3339 text with the offset of the zone; in UTC without one.
  package func text(milliseconds: Int64, zone: String?) -> String {
    let offset = zone.flatMap { seconds(milliseconds, $0) } ?? 0
    return timeText(milliseconds: milliseconds, offsetSeconds: offset)
  }
}
