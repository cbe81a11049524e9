import Exchange
package import JSONDocument
import Records
package import Replication

/// Times as documents write them, in the zones that this machine knows.
package enum CivilTime {
  /// The zone of this process.
  package static var ownZoneName: String { ZoneOffsets.local }

  static let offsets = ZoneOffsets.system

  static func isZone(_ name: String) -> Bool { offsets.seconds(0, name) != nil }

  /// RFC 3339 with the offset of the zone; UTC if none is given or known.
  package static func text(_ instant: Int64, zone name: String? = nil) -> String {
    offsets.text(milliseconds: instant, zone: name)
  }

  /// The day that a zone's calendar shows at an instant.
  static func day(_ instant: Int64, zone name: String) -> String {
    offsets.day(milliseconds: instant, zone: name).description
  }
}

/// RFC 3339, or null if there is no such time.
package func timeJSON(_ moment: Moment?, zone: String? = nil) -> JSON {
  moment.map { .string(CivilTime.text($0, zone: zone)) } ?? .null
}
