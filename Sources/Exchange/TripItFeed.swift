import Platform
import Records
import Wire

/// Reads the events in a TripIt feed. Trips are all-day events, and their items have UIDs that begin with `item-`. A
/// stay or a rental car appears as two events, one at its start and one at its end.
struct TripItFeed {
  private var trips: [Trip] = []

  private struct Trip {
    let id: RecordID
    /// The trip's number, from the URL in its notes; nil if there is none.
    let number: String?
    let first: CalendarDay
    let last: CalendarDay
  }

  private struct Item {
    let event: CalendarEvent
    let marker: String
    let trip: RecordID
    /// The start or end of a stay or rental, if the event is only that half; nil for a whole event.
    let half: Half?
  }

  private struct Half {
    let isStart: Bool
    /// The name that both halves have, such as `Hotel Rosa`.
    let name: String
    let kind: Kind
  }

  static func isOf(_ uid: String) -> Bool { uid.hasSuffix("@tripit.com") }

  /// Reads the events, and returns those that belong to no trip in the feed.
  mutating func read(
    _ events: [CalendarEvent], into builder: inout PlanBuilder, _ organizations: inout OrganizationNames
  ) -> [CalendarEvent] {
    for event in events where !event.uid.hasPrefix("item-") && event.days != nil { readTrip(event, &builder) }
    var items: [Item] = []
    var left: [CalendarEvent] = []
    for event in events where event.uid.hasPrefix("item-") || event.days == nil {
      guard let trip = trip(of: event) else {
        builder.warn("\(event.place): \"\(event.name)\" belongs to no trip of the feed")
        left.append(event)
        continue
      }
      items.append(Item(event: event, marker: Self.marker(event), trip: trip, half: Self.half(event.name)))
    }
    for (start, end) in pairs(items, &builder) { add(start, end, &builder, &organizations) }
    return left
  }

  // MARK: Trips

  private mutating func readTrip(_ event: CalendarEvent, _ builder: inout PlanBuilder) {
    guard let days = event.days else { return }
    var draft = CalendarItem.trip(
      RecordID(event: event.uid, Kind.trip), event.name, days.first, days.last)
    draft[Kind.trip.number("notes")] = event.notes.map(Value.text) ?? .null
    do throws(RowError) {
      try builder.add(draft, isComplete: true)
    } catch {
      return builder.skip(Location(event.place), error.reason)
    }
    trips.append(Trip(id: draft.id, number: Self.number(event.notes), first: days.first, last: days.last))
    event.noteUnheld(in: &builder)
    if let place = event.component.text("LOCATION"), !(event.notes ?? "").contains(place) {
      builder.count("events: LOCATION of a trip is not supported and is left out")
    }
  }

  /// Returns the trip that an item's URL names, or else the first trip whose days include the item's start.
  private func trip(of event: CalendarEvent) -> RecordID? {
    if let number = Self.number(event.notes), let trip = trips.first(where: { $0.number == number }) {
      return trip.id
    }
    let day = floorDivision(event.start.milliseconds, 86_400_000)
    // An evening west of Greenwich is already on the next day in UTC.
    return self.trip(on: day, slack: 0) ?? self.trip(on: day, slack: 1)
  }

  private func trip(on day: Int64, slack: Int64) -> RecordID? {
    trips.first { $0.first.daysSince1970 <= day + slack && day - slack <= $0.last.daysSince1970 }?.id
  }

  /// Returns the number after `/show/id/` or `?id=` in a string; nil if there is none.
  private static func number(_ text: String?) -> String? {
    guard let text else { return nil }
    for mark in ["/show/id/", "?id="] {
      guard let range = text.firstRange(of: mark) else { continue }
      let digits = text[range.upperBound...].prefix { $0.isASCII && $0.isNumber }
      if !digits.isEmpty { return String(digits) }
    }
    return nil
  }

  // MARK: Items

  /// Returns the word in a marker such as `[Flight]`; empty if there is no marker.
  private static func marker(_ event: CalendarEvent) -> String {
    let lines = (event.notes ?? "").split(separator: "\n").map(\.trimmed)
    guard let line = lines.first(where: { $0.hasPrefix("[") }), let end = line.firstIndex(of: "]") else {
      return ""
    }
    return String(line[line.index(after: line.startIndex)..<end])
  }

  /// Returns the rest of the marker's line, such as `Hotel Rosa; primary guest …`.
  private static func detail(_ event: CalendarEvent) -> String {
    let lines = (event.notes ?? "").split(separator: "\n").map(\.trimmed)
    guard let line = lines.first(where: { $0.hasPrefix("[") }), let end = line.firstIndex(of: "]") else {
      return ""
    }
    return line[line.index(after: end)...].trimmed
  }

  private static let halves: [(prefix: String, isStart: Bool, kind: Kind)] = [
    ("Check-in: ", true, Kind.lodging), ("Check-out: ", false, Kind.lodging),
    ("Pick-up Rental Car: ", true, Kind.transportation),
    ("Drop-off Rental Car: ", false, Kind.transportation),
  ]

  private static func half(_ name: String) -> Half? {
    halves.first { name.hasPrefix($0.prefix) }.map {
      Half(isStart: $0.isStart, name: name.dropFirst($0.prefix.count).trimmed, kind: $0.kind)
    }
  }

  /// Pairs each start with the next end of the same stay or rental in the same trip. The result includes items that are
  /// not halves.
  private func pairs(_ items: [Item], _ builder: inout PlanBuilder) -> [(start: Item, end: Item?)] {
    let sorted = items.enumerated().sorted {
      ($0.element.event.start.milliseconds, $0.offset) < ($1.element.event.start.milliseconds, $1.offset)
    }.map(\.element)
    var pairs: [(start: Item, end: Item?)] = []
    var open: [Int] = []
    for item in sorted {
      guard let half = item.half, !half.isStart else {
        if item.half != nil { open.append(pairs.count) }
        pairs.append((item, nil))
        continue
      }
      let match = open.firstIndex { index in
        let start = pairs[index].start
        return start.trip == item.trip && start.half?.name == half.name && start.half?.kind == half.kind
      }
      if let match {
        pairs[open.remove(at: match)].end = item
      } else {
        builder.warn("\(item.event.place): \"\(item.event.name)\" has no counterpart; it is imported alone")
        pairs.append((item, nil))
      }
    }
    for index in open {
      let item = pairs[index].start
      builder.warn("\(item.event.place): \"\(item.event.name)\" has no counterpart; it is imported alone")
    }
    return pairs
  }

  private func add(
    _ item: Item, _ other: Item?, _ builder: inout PlanBuilder, _ organizations: inout OrganizationNames
  ) {
    let (kind, vehicle) = Self.kind(item)
    var draft = CalendarItem.draft(item.event, item.trip, kind)
    if let half = item.half {
      draft[kind.number("name")] = .text(half.name.nonEmpty ?? item.event.name)
      // The stay or rental does not end when its first event ends, but when the event for its other half starts.
      draft[kind.number("end")] = other?.event.start.value ?? (half.isStart ? .null : item.event.start.value)
      if !half.isStart { draft[kind.number("start")] = .null }
    }
    if kind == Kind.transportation { draft[kind.number("type")] = vehicle.map(Value.text) ?? .null }
    let code = kind == Kind.transportation ? "confirmation" : "reservation"
    draft[kind.number(code)] = Self.confirmation(item.event.notes).map(Value.text) ?? .null
    do throws(RowError) {
      draft[kind.number("organizationId")] = try organization(item, &builder, &organizations)
      try builder.add(draft, isComplete: true)
      item.event.noteUnheld(in: &builder)
      other?.event.noteUnheld(in: &builder)
    } catch {
      builder.skip(Location(item.event.place), error.reason)
    }
  }

  private static func kind(_ item: Item) -> (Kind, vehicle: String?) {
    switch item.marker.lowercased() {
    case "flight": (Kind.transportation, "plane")
    case "rail", "train": (Kind.transportation, "train")
    case "car rental", "ground transportation", "car": (Kind.transportation, "car")
    case "cruise", "ferry": (Kind.transportation, "boat")
    // Directions are a journey without a means of transport.
    case "directions": (Kind.transportation, nil)
    case "lodging": (Kind.lodging, nil)
    default: item.half?.kind == Kind.lodging ? (Kind.lodging, nil) : (Kind.activity, nil)
    }
  }

  /// Returns the confirmation number, which is the text after `conf #`; nil if there is none.
  private static func confirmation(_ notes: String?) -> String? {
    guard let notes, let range = notes.firstRange(of: "conf #") else { return nil }
    return notes[range.upperBound...].prefix { $0 != "\n" && $0 != "(" && $0 != ";" }.trimmed.nonEmpty
  }

  private func organization(
    _ item: Item, _ builder: inout PlanBuilder, _ organizations: inout OrganizationNames
  ) throws(RowError) -> Value {
    switch item.marker {
    case "Lodging", "Car Rental":
      let name = Self.detail(item.event).prefix { $0 != ";" }.trimmed
      let phone = (item.event.notes ?? "").firstRange(of: "; tel ").map { range in
        (item.event.notes ?? "")[range.upperBound...].prefix { $0 != "\n" && $0 != ";" }.trimmed
      }
      return try organizations.reference(
        name.utf8.count <= 200 ? name : nil, details: ["phone": item.marker == "Lodging" ? phone : nil],
        in: &builder)
    case "Flight":
      // `10/11/2011 US Airways(US) #403 dep …`
      let words = Self.detail(item.event).split(separator: " ", maxSplits: 1)
      guard words.count == 2, let end = words[1].firstIndex(of: "(") else { return .null }
      let name = words[1][..<end].trimmed
      return try organizations.reference(name.utf8.count <= 100 ? name : nil, in: &builder)
    default: return .null
    }
  }
}
