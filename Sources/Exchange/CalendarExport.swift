import Records
import Wire

/// The properties that Waymark adds to standard iCalendar, so that an export can be imported without loss.
enum CalendarExport {
  static let kinds = [Kind.trip, Kind.lodging, Kind.transportation, Kind.activity]

  /// The text fields of items for which iCalendar has no property, with the properties that Waymark uses.
  static let texts = [
    ("paid", "X-WAYMARK-PAID"), ("reservation", "X-WAYMARK-RESERVATION"),
    ("confirmation", "X-WAYMARK-CONFIRMATION"), ("type", "X-WAYMARK-TYPE"),
  ]

  static let none = "NONE"

  /// The details shown below the notes in a calendar.
  static func details(_ item: RecordDraft, organization: String?) -> String {
    var lines: [String] = []
    let (word, name) =
      item.kind == Kind.transportation ? ("Confirmation", "confirmation") : ("Reservation", "reservation")
    if let code = item.text(name)?.nonEmpty { lines.append("\(word): \(code)") }
    if case .text(let amount) = item.held("cost").part(0) {
      var price = amount
      if case .text(let currency) = item.held("cost").part(1) { price += " \(currency)" }
      lines.append("Cost: \(price)")
    }
    if let organization = organization?.nonEmpty { lines.append("With: \(organization)") }
    return lines.joined(separator: "\n")
  }

  /// Returns the notes in a description that may end with these details; nil if there are no notes.
  static func notes(_ description: String?, details: String) -> String? {
    guard let description, description != details else { return nil }
    guard !details.isEmpty, description.hasSuffix("\n\n\(details)") else { return description }
    return String(description.dropLast(details.count + 2))
  }
}

/// Reads the output of `CalendarWriter`, even if it was edited in a calendar application in the meantime.
struct CalendarExportReader {
  private let zones: ZoneOffsets
  private var trips: Set<RecordID> = []

  init(zones: ZoneOffsets) { self.zones = zones }

  mutating func read(
    _ events: [CalendarEvent], into builder: inout PlanBuilder, _ organizations: inout OrganizationNames
  ) {
    let sorted = events.filter { $0.component.text("X-WAYMARK-KIND") == Kind.trip.name }
    for event in sorted + events.filter({ $0.component.text("X-WAYMARK-KIND") != Kind.trip.name }) {
      do throws(RowError) {
        let word = event.component.text("X-WAYMARK-KIND") ?? ""
        guard let kind = CalendarExport.kinds.first(where: { $0.name == word }) else {
          throw RowError("X-WAYMARK-KIND cannot be \"\(word.prefix(40))\"")
        }
        let isTrip = kind == Kind.trip
        try builder.add(isTrip ? try trip(event) : try item(event, kind, &builder), isComplete: true)
        event.noteUnheld(in: &builder)
      } catch {
        builder.skip(Location(event.place), error.reason)
      }
    }
  }

  // MARK: Trips

  private mutating func trip(_ event: CalendarEvent) throws(RowError) -> RecordDraft {
    let kind = Kind.trip
    guard let days = event.days else { throw RowError("a trip must be an all-day event") }
    var draft = RecordDraft(kind, RecordID(event: event.uid, kind))
    trips.insert(draft.id)
    draft[kind.number("name")] = .text(event.component.text("SUMMARY") ?? "")
    draft[kind.number("notes")] = event.component.text("DESCRIPTION").map(Value.text) ?? .null
    draft[kind.number("startDate")] = date(event, "X-WAYMARK-START", days.first, days)
    draft[kind.number("endDate")] = date(event, "X-WAYMARK-END", days.last, days)
    if let line = event.component["CREATED"], let time = WrittenCalendarTime(line.value), time.isUTC {
      draft[kind.number("createdDate")] = .integer(time.wall)
    }
    if let flag = event.component.text("X-WAYMARK-PROTECTED") {
      draft[kind.number("isProtected")] = .bool(flag == "TRUE")
    }
    return draft
  }

  /// Returns the exact time of a trip's start or end. If the event has been moved to another day since the export,
  /// returns the first millisecond of that day.
  private func date(
    _ event: CalendarEvent, _ name: String, _ shown: CalendarDay,
    _ days: (first: CalendarDay, last: CalendarDay)
  ) -> Value {
    let moved = Value.integer(shown.daysSince1970 * 86_400_000)
    guard let text = event.component.text(name) else { return moved }
    if text == CalendarExport.none { return .null }
    guard let exact = WrittenCalendarTime(text)?.wall else { return moved }
    let day = CalendarDay(daysSince1970: floorDivision(exact, 86_400_000))
    // A trip that ends before it starts is shown on its first day.
    let isShown = day == shown || (days.first == days.last && day < days.first)
    return isShown ? .integer(exact) : moved
  }

  // MARK: Items

  private func item(
    _ event: CalendarEvent, _ kind: Kind, _ builder: inout PlanBuilder
  ) throws(RowError) -> RecordDraft {
    let component = event.component
    guard let trip = component.text("X-WAYMARK-TRIP").flatMap({ RecordID(uuid: $0) }) else {
      throw RowError("X-WAYMARK-TRIP is not a trip's id")
    }
    if !trips.contains(trip) { builder.count("events: an event belongs to a trip that is not in the file") }
    var draft = RecordDraft(kind, RecordID(event: event.uid, kind))
    draft[kind.number("trip")] = .bytes(trip.bytes)
    draft[kind.number("name")] = .text(component.text("SUMMARY") ?? "")
    draft[kind.number("start")] = zoned(event.start, component.text("X-WAYMARK-START-ZONE"))
    draft[kind.number("end")] = end(event)
    for (name, property) in CalendarExport.texts where kind.field(named: name) != nil {
      draft[kind.number(name)] = component.text(property).map(Value.text) ?? .null
    }
    if let location = kind.field(named: "customLocationName") {
      let text = component.text("LOCATION") ?? component.text("X-WAYMARK-LOCATION")
      draft[location.number] = text.map(Value.text) ?? .null
      draft[kind.number("hideLocation")] = .bool(component.text("X-WAYMARK-HIDE-LOCATION") == "TRUE")
    }
    draft[kind.number("cost")] = cost(component["X-WAYMARK-COST"])
    let organization = organization(component["X-WAYMARK-ORGANIZATION"], &builder)
    draft[kind.number("organizationId")] = organization.value
    let notes = CalendarExport.notes(
      component.text("DESCRIPTION"), details: CalendarExport.details(draft, organization: organization.name))
    draft[kind.number("notes")] = notes.map(Value.text) ?? .null
    return draft
  }

  private func zoned(_ time: CalendarZones.Time, _ zone: String?) -> Value {
    guard time.zone == nil, let zone else { return time.value }
    return .array([.integer(time.milliseconds), .text(zone)])
  }

  private func end(_ event: CalendarEvent) -> Value {
    let zone = event.component.text("X-WAYMARK-END-ZONE")
    if let end = event.end { return zoned(end, zone) }
    guard let text = event.component.text("X-WAYMARK-END"), let time = WrittenCalendarTime(text) else {
      return .null
    }
    return .array([.integer(time.wall), zone.map(Value.text) ?? .null])
  }

  private func cost(_ line: CalendarLine?) -> Value {
    guard let line else { return .null }
    let value = Value.array([.text(line.text), line.parameter("CURRENCY").map(Value.text) ?? .null])
    return FieldType.money.accepts(value) ? value : .null
  }

  /// Returns a reference to an organization by its id, and the organization's name, the only one of its other fields
  /// that a calendar contains.
  private func organization(_ line: CalendarLine?, _ builder: inout PlanBuilder) -> (
    value: Value, name: String?
  ) {
    guard let line, let id = line.parameter("ID").flatMap({ RecordID(uuid: $0) }) else { return (.null, nil) }
    let kind = Kind.organization
    let name = line.text.nonEmpty
    if id != FixedRecords.noneID, let name, name != FixedRecords.noneName, builder.draft(kind, id) == nil {
      let draft = RecordDraft(kind, id, [kind.number("name"): .text(name)])
      if (try? kind.validate(draft, isNew: true)) != nil { builder.put([draft]) }
    }
    return (.bytes(id.bytes), name)
  }
}
