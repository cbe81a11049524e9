import Exchange
package import JSONDocument
import Records
package import Replication

/// Times as text, in the time zones that this machine knows.
package enum CivilTime {
  /// The time zone of this process.
  package static var ownZoneName: String { ZoneOffsets.local }

  static let offsets = ZoneOffsets.system

  static func isZone(_ name: String) -> Bool { offsets.seconds(0, name) != nil }

  /// RFC 3339 text with the offset of the zone; UTC if the zone is not given or unknown.
  package static func text(_ instant: Int64, zone name: String? = nil) -> String {
    offsets.text(milliseconds: instant, zone: name)
  }

  /// The calendar day in a zone at an instant.
  static func day(_ instant: Int64, zone name: String) -> String {
    offsets.day(milliseconds: instant, zone: name).description
  }
}

/// RFC 3339 text; null for nil.
package func timeJSON(_ moment: Moment?, zone: String? = nil) -> JSON {
  moment.map { .string(CivilTime.text($0, zone: zone)) } ?? .null
}
