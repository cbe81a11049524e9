import Platform
package import Records

extension ZoneOffsets {
  /// The time zones of this machine.
  package static let system = ZoneOffsets { milliseconds, name in
    Zone(named: name)?.offset(at: floorDivision(milliseconds.clampedToCalendar, 1_000))
  }

  /// The zone that this machine is set to; UTC if that zone has no name.
  package static var local: String {
    let name = Zone.current.name
    return Zone(named: name) == nil ? "UTC" : name
  }
}
