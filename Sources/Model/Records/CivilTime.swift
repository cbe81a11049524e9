import Exchange
package import JSONDocument
package import Records
package import Replication

/// Formats times as text in the time zones that this machine knows.
package enum CivilTime {
  /// The name of this process's time zone.
  package static var ownZoneName: String { ZoneOffsets.local }

  package static let offsets = ZoneOffsets.system

  /// Formats an instant as RFC 3339 text with the offset of a zone; in UTC if the zone is nil or unknown.
  package static func text(_ instant: Int64, zone name: String? = nil) -> String {
    offsets.text(milliseconds: instant, zone: name)
  }

  /// Formats an instant for a sentence, in the zone of this process: `2026-05-03 15:00 +02:00`. In UTC, the offset is
  /// `UTC`.
  package static func sentenceText(_ instant: Int64) -> String {
    let text = text(instant, zone: ownZoneName)
    let offset = text.hasSuffix("Z") ? "UTC" : String(text.suffix(6))
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) \(offset)"
  }

  /// Returns the calendar day of an instant in a zone.
  static func day(_ instant: Int64, zone name: String) -> String {
    offsets.day(milliseconds: instant, zone: name).description
  }
}

/// Formats a time as RFC 3339 text in a JSON string; null if the time is nil.
package func timeJSON(_ moment: Moment?, zone: String? = nil) -> JSON {
  moment.map { .string(CivilTime.text($0, zone: zone)) } ?? .null
}
