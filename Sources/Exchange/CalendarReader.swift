import Platform
import Records
import Wire

/// Reads iCalendar (RFC 5545): trips from TripIt feeds and Waymark's own exports, bookings described by KItinerary,
/// and other events as activities of one trip per calendar.
struct CalendarReader {
  private let offsets: ZoneOffsets
  private var builder = PlanBuilder()
  private var organizations = OrganizationNames(format: "ics")
  private var calendars: [CalendarComponent] = []

  init(zones: ZoneOffsets) { offsets = zones }

  mutating func read(_ bytes: [UInt8]) throws(ExchangeError) -> ImportPlan {
    var text = CalendarText(bytes)
    calendars = try text.calendars()
    var events: [CalendarEvent] = []
    for (index, calendar) in calendars.enumerated() { events += try readEvents(calendar, index) }
    events = newest(events)
    let own = events.filter { $0.component["X-WAYMARK-KIND"] != nil }
    let tripIt = events.filter { $0.component["X-WAYMARK-KIND"] == nil && TripItFeed.isOf($0.uid) }
    var exported = CalendarExportReader(zones: offsets)
    exported.read(own, into: &builder, &organizations)
    var feed = TripItFeed()
    let left = feed.read(tripIt, into: &builder, &organizations)
    let others = events.filter { $0.component["X-WAYMARK-KIND"] == nil && !TripItFeed.isOf($0.uid) }
    let byCalendar = Dictionary(grouping: left + others, by: \.calendar)
    for index in calendars.indices {
      if let events = byCalendar[index] { readOthers(events, index) }
      try Self.checkCancellation()
    }
    return builder.plan(.ics)
  }

  /// - Throws: if the import was cancelled.
  private static func checkCancellation() throws(ExchangeError) {
    if Task.isCancelled { throw .unsuitable(reason: "the import was cancelled") }
  }

  private mutating func readEvents(
    _ calendar: CalendarComponent, _ index: Int
  ) throws(ExchangeError) -> [CalendarEvent] {
    let zones = CalendarZones(calendar, zones: offsets)
    var events: [CalendarEvent] = []
    for component in calendar.components where component.name != "VTIMEZONE" {
      try Self.checkCancellation()
      do throws(RowError) {
        guard component.name == "VEVENT" else { throw RowError("\(component.name.prefix(40)): not an event") }
        let event = try CalendarEvent(component, calendar: index, zones: zones)
        if let booking = Booking(event), booking.isCancelled { throw RowError("it is cancelled") }
        events.append(event)
      } catch {
        builder.skip(Location("line \(component.line)"), error.reason)
      }
    }
    return events
  }

  /// Returns the newest event with each UID, because a file can include older versions.
  private mutating func newest(_ events: [CalendarEvent]) -> [CalendarEvent] {
    var positions: [String: Int] = [:]
    for (index, event) in events.enumerated() {
      guard let held = positions[event.uid] else {
        positions[event.uid] = index
        continue
      }
      let isNewer = event.version >= events[held].version
      builder.skip(
        Location(events[isNewer ? held : index].place),
        "another event in the file has the same UID and is newer")
      if isNewer { positions[event.uid] = index }
    }
    return events.enumerated().filter { positions[$1.uid] == $0 }.map(\.element)
  }

  // MARK: Events without a trip

  /// Reads bookings and plain events into a trip that represents their calendar.
  private mutating func readOthers(_ events: [CalendarEvent], _ index: Int) {
    guard let first = events.map(\.uid).min(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) else {
      return
    }
    let name = calendars[index].text("X-WR-CALNAME")?.trimmed.nonEmpty
    let key = name.map { "calendar \($0)" } ?? "calendar of \(first)"
    let trip = RecordID(kind: Kind.trip, key: "ics \(key)")
    var drafts: [RecordDraft] = []
    for event in events {
      do throws(RowError) {
        drafts.append(try item(event, trip))
        event.noteUnheld(in: &builder)
      } catch {
        builder.skip(Location(event.place), error.reason)
      }
    }
    guard !drafts.isEmpty else { return }
    addTrip(trip, named: name ?? (events.count == 1 ? events[0].name : nil), drafts)
  }

  private mutating func item(_ event: CalendarEvent, _ trip: RecordID) throws(RowError) -> RecordDraft {
    let draft =
      try Booking(event)?.draft(event, trip, &builder, &organizations) ?? CalendarItem.draft(event, trip)
    try builder.add(draft, isComplete: true)
    return draft
  }

  private mutating func addTrip(_ id: RecordID, named name: String?, _ items: [RecordDraft]) {
    let days = items.flatMap { [$0.held("start"), $0.held("end")] }.compactMap { value in
      value.time.map { time -> CalendarDay in
        var zone: String?
        if case .text(let held) = value.part(1) { zone = held }
        return offsets.day(milliseconds: time, zone: zone)
      }
    }
    guard let first = days.min(), let last = days.max() else { return }
    let span = first == last ? "\(first)" : "\(first) to \(last)"
    let draft = CalendarItem.trip(id, name ?? "Calendar of \(span)", first, last)
    do throws(RowError) {
      try builder.add(draft, isComplete: true)
    } catch {
      builder.put([CalendarItem.trip(id, "Calendar of \(span)", first, last)])
      builder.warn("a calendar's name can't be used as a trip's name: \(error.reason)")
    }
  }
}

/// Creates records from the properties that events of every origin have in common.
enum CalendarItem {
  static func trip(_ id: RecordID, _ name: String, _ first: CalendarDay, _ last: CalendarDay) -> RecordDraft {
    let kind = Kind.trip
    return RecordDraft(
      kind, id,
      [
        kind.number("name"): .text(name),
        kind.number("startDate"): .integer(first.daysSince1970 * 86_400_000),
        kind.number("endDate"): .integer(last.daysSince1970 * 86_400_000),
      ])
  }

  /// Returns an item with the name, times and notes of the event. LOCATION goes into the kind's field for it, or into
  /// the notes if there is no such field.
  static func draft(_ event: CalendarEvent, _ trip: RecordID, _ kind: Kind = Kind.activity) -> RecordDraft {
    var draft = RecordDraft(kind, RecordID(event: event.uid, kind))
    draft[kind.number("trip")] = .bytes(trip.bytes)
    draft[kind.number("name")] = .text(event.name)
    draft[kind.number("start")] = event.start.value
    draft[kind.number("end")] = event.end?.value ?? .null
    var notes = [event.notes].compactMap(\.self)
    if let location = event.component.text("LOCATION")?.trimmed.nonEmpty {
      if kind.field(named: "customLocationName") != nil {
        draft[kind.number("customLocationName")] = .text(location)
      } else if !event.name.contains(location), !(event.notes ?? "").contains(location) {
        notes.append(location)
      }
    }
    if let url = event.component.text("URL")?.trimmed.nonEmpty, !(event.notes ?? "").contains(url) {
      notes.append(url)
    }
    draft[kind.number("notes")] = notes.isEmpty ? .null : .text(notes.joined(separator: "\n\n"))
    return draft
  }
}

/// Adds organizations to which files refer only by name, with one record per name.
struct OrganizationNames {
  private let format: String

  init(format: String) { self.format = format }

  /// Returns a reference to an organization, which is added with the known details; null if there is no name.
  func reference(
    _ name: String?, details: [String: String?] = [:], in builder: inout PlanBuilder
  ) throws(RowError) -> Value {
    guard let name = name?.trimmed, !name.isEmpty else { return .null }
    guard name != FixedRecords.noneName else { return .bytes(FixedRecords.noneID.bytes) }
    let kind = Kind.organization
    let id = RecordID(kind: kind, key: "\(format) organization \(name)")
    var draft = builder.draft(kind, id) ?? RecordDraft(kind, id)
    let isKnown = !draft.fields.isEmpty
    draft[kind.number("name")] = .text(name)
    for (key, value) in details.sorted(by: { $0.key < $1.key }) {
      guard let value = value?.trimmed, !value.isEmpty, draft[kind.number(key)] == nil else { continue }
      draft[kind.number(key)] = .text(value)
    }
    if isKnown {
      guard (try? kind.validate(draft, isNew: true)) != nil else { return .bytes(id.bytes) }
      builder.put([draft])
    } else {
      try builder.add(draft, isComplete: true)
    }
    return .bytes(id.bytes)
  }

  /// Adds an address record to an organization.
  func putAddress(_ organization: Value, _ fields: [String: String?], in builder: inout PlanBuilder) {
    let kind = Kind.address
    guard let owner = organization.recordID, owner != FixedRecords.noneID,
      var holder = builder.draft(Kind.organization, owner)
    else { return }
    var draft = RecordDraft(kind, RecordID(kind: kind, key: "organization \(owner.uuid)"))
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      if let value = value?.trimmed, !value.isEmpty { draft[kind.number(key)] = .text(value) }
    }
    guard !draft.fields.isEmpty, (try? kind.validate(draft, isNew: true)) != nil else { return }
    holder[Kind.organization.number("address")] = .bytes(draft.id.bytes)
    builder.put([draft, holder])
  }
}
