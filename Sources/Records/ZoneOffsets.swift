// Protocol/records.md, "Times"

/// A table of time zones. The caller provides it, because this module reads no files.
package struct ZoneOffsets: Sendable {
  /// Returns the offset of an IANA zone at an instant (in milliseconds since 1970), in seconds east of UTC; nil if
  /// the zone is unknown.
  package let seconds: @Sendable (_ milliseconds: Int64, _ zone: String) -> Int?

  package init(seconds: @escaping @Sendable (_ milliseconds: Int64, _ zone: String) -> Int?) {
    self.seconds = seconds
  }

  /// Returns the calendar day of an instant in a zone; in UTC if the zone is nil or unknown.
  package func day(milliseconds: Int64, zone: String?) -> CalendarDay {
    let offset = zone.flatMap { seconds(milliseconds, $0) } ?? 0
    let wall = milliseconds.clampedToCalendar + Int64(offset % 86_400) * 1_000
    return CalendarDay(daysSince1970: floorDivision(wall, 86_400_000))
  }

  /// Returns the instant of a local time in a zone; nil if the zone is unknown.
  ///
  /// When clocks are set back, some local times occur twice; the result is then the first of the two instants. When
  /// clocks are set forward, some local times do not occur; such a time is read with the offset from before the
  /// change, which makes it an hour later on the new clock.
  package func milliseconds(wall: Int64, zone: String) -> Int64? {
    let day: Int64 = 86_400_000
    guard let before = seconds(wall - day, zone), let after = seconds(wall + day, zone) else { return nil }
    for offset in [before, after] {
      let candidate = wall - Int64(offset) * 1_000
      if seconds(candidate, zone) == offset { return candidate }
    }
    return wall - Int64(before) * 1_000
  }

  /// Formats an instant as RFC 3339 text with the offset of a zone; in UTC if the zone is nil or unknown.
  package func text(milliseconds: Int64, zone: String?) -> String {
    let offset = zone.flatMap { seconds(milliseconds, $0) } ?? 0
    return timeText(milliseconds: milliseconds, offsetSeconds: offset)
  }
}
