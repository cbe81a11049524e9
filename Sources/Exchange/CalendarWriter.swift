import Records
import Wire

/// Writes trips as iCalendar (RFC 5545): a trip is an all-day event, and each of its items is an event.
struct CalendarWriter {
  private let source: ExportSource
  private let now: Int64
  private let zones: ZoneOffsets
  private var lines = CalendarLines()
  private var warnings: [String] = []
  /// The times used in each zone, which the definition of the zone must cover.
  private var times: [String: [Int64]] = [:]

  init(source: ExportSource, now: Int64, zones: ZoneOffsets) {
    self.source = source
    self.now = now
    self.zones = zones
  }

  mutating func write() -> ExportedFile {
    let trips = source.records(Kind.trip) { $0.integer("startDate") ?? Int64.max }
    var items: [RecordID: [RecordDraft]] = [:]
    for kind in CalendarExport.kinds.dropFirst() {
      for item in source.records(kind, by: { $0.held("start").time ?? Int64.max }) {
        items[item.reference("trip") ?? RecordID(Bytes16(0, 0)), default: []].append(item)
      }
    }
    for trip in trips { write(trip, items[trip.id] ?? []) }
    if !source.legs.isEmpty {
      warnings.append("the legs of journeys are left out: a calendar has each journey as one event")
    }
    var file = CalendarLines()
    file.add("BEGIN", "VCALENDAR")
    file.add("VERSION", "2.0")
    file.add("PRODID", "-//Waymark//Waymark//EN")
    file.add("CALSCALE", "GREGORIAN")
    file.add("X-WR-CALNAME", text: trips.count == 1 ? trips[0].text("name") ?? "Waymark" : "Waymark")
    for zone in times.keys.sorted() { file.append(definition(zone)) }
    file.append(lines)
    file.add("END", "VCALENDAR")
    return ExportedFile(bytes: file.bytes, warnings: warnings)
  }

  // MARK: Trips

  private mutating func write(_ trip: RecordDraft, _ items: [RecordDraft]) {
    guard let days = days(trip, items) else {
      return warnings.append(
        "trip \"\(trip.text("name") ?? "")\" has no dates and is left out with its items")
    }
    begin(trip)
    lines.add("DTSTART;VALUE=DATE", Self.day(days.first))
    lines.add("DTEND;VALUE=DATE", Self.day(CalendarDay(daysSince1970: days.last.daysSince1970 + 1)))
    lines.add("X-WAYMARK-START", trip.integer("startDate").map(Self.utc) ?? CalendarExport.none)
    lines.add("X-WAYMARK-END", trip.integer("endDate").map(Self.utc) ?? CalendarExport.none)
    if let created = trip.integer("createdDate") { lines.add("CREATED", Self.utc(created)) }
    if let notes = trip.text("notes")?.nonEmpty { lines.add("DESCRIPTION", text: notes) }
    if let isProtected = trip.bool("isProtected") {
      lines.add("X-WAYMARK-PROTECTED", isProtected ? "TRUE" : "FALSE")
    }
    lines.add("TRANSP", "TRANSPARENT")
    lines.add("END", "VEVENT")
    for item in items { write(item, of: trip) }
  }

  /// Returns the first and last day of a trip. If a date is missing, the days of the trip's items are used instead; nil
  /// if there are none.
  private func days(_ trip: RecordDraft, _ items: [RecordDraft]) -> (first: CalendarDay, last: CalendarDay)? {
    let times = items.flatMap { [$0.held("start").time, $0.held("end").time] }.compactMap(\.self)
    guard
      let first = trip.integer("startDate") ?? times.min() ?? trip.integer("endDate"),
      let last = trip.integer("endDate") ?? times.max() ?? trip.integer("startDate")
    else { return nil }
    return (Self.day(of: first), max(Self.day(of: first), Self.day(of: last)))
  }

  private static func day(of time: Int64) -> CalendarDay {
    CalendarDay(daysSince1970: floorDivision(time.clampedToCalendar, 86_400_000))
  }

  private mutating func begin(_ record: RecordDraft) {
    lines.add("BEGIN", "VEVENT")
    lines.add("UID", record.id.uuid)
    lines.add("DTSTAMP", Self.utc(now))
    lines.add("SUMMARY", text: record.text("name") ?? "")
    lines.add("X-WAYMARK-KIND", record.kind.name)
  }

  // MARK: Items

  private mutating func write(_ item: RecordDraft, of trip: RecordDraft) {
    guard let start = item.held("start").time else {
      return warnings.append(
        "\(item.kind.name) \"\(item.text("name") ?? "")\" has no start and is left out: events must have one"
      )
    }
    begin(item)
    lines.add("X-WAYMARK-TRIP", trip.id.uuid)
    add(start, item.held("start").part(1), "DTSTART", "X-WAYMARK-START-ZONE")
    if let end = item.held("end").time {
      // A calendar event must end after it starts.
      let isLater = wholeSecond(end) > wholeSecond(start)
      if isLater {
        add(end, item.held("end").part(1), "DTEND", "X-WAYMARK-END-ZONE")
      } else {
        lines.add("X-WAYMARK-END", Self.utc(end))
        if case .text(let zone) = item.held("end").part(1) { lines.add("X-WAYMARK-END-ZONE", text: zone) }
      }
    }
    addTexts(item)
    lines.add("END", "VEVENT")
  }

  private mutating func addTexts(_ item: RecordDraft) {
    let organization = item.reference("organizationId")
    let name = organization.flatMap { source.record(Kind.organization, $0)?.text("name") }
    let shown = organization == FixedRecords.noneID ? nil : name
    let details = CalendarExport.details(item, organization: shown)
    let notes = [item.text("notes")?.nonEmpty, details.nonEmpty].compactMap(\.self)
    if !notes.isEmpty { lines.add("DESCRIPTION", text: notes.joined(separator: "\n\n")) }
    if let location = item.kind.field(named: "customLocationName").flatMap({ item.text($0.name)?.nonEmpty }) {
      // A place that the user hides should not appear in every calendar application.
      lines.add(item.bool("hideLocation") == true ? "X-WAYMARK-LOCATION" : "LOCATION", text: location)
    }
    if item.kind.field(named: "hideLocation") != nil, item.bool("hideLocation") == true {
      lines.add("X-WAYMARK-HIDE-LOCATION", "TRUE")
    }
    for (name, property) in CalendarExport.texts where item.kind.field(named: name) != nil {
      if let text = item.text(name)?.nonEmpty { lines.add(property, text: text) }
    }
    if case .text(let amount) = item.held("cost").part(0) {
      var property = "X-WAYMARK-COST"
      if case .text(let currency) = item.held("cost").part(1) { property += ";CURRENCY=\(currency)" }
      lines.add(property, amount)
    }
    if let organization { lines.add("X-WAYMARK-ORGANIZATION;ID=\(organization.uuid)", text: shown ?? "") }
  }

  /// Adds a time as local time with its zone, or in UTC if it has no zone or if its local time is ambiguous.
  private mutating func add(_ time: Int64, _ zone: Value, _ name: String, _ zoneName: String) {
    let time = wholeSecond(time)
    guard case .text(let zone) = zone else { return lines.add(name, Self.utc(time)) }
    let wall = zones.seconds(time, zone).map { time + Int64($0) * 1_000 }
    if let wall, zones.milliseconds(wall: wall, zone: zone) == time, Self.isPlain(zone) {
      times[zone, default: []].append(time)
      return lines.add("\(name);TZID=\(zone)", Self.local(wall))
    }
    lines.add(name, Self.utc(time))
    lines.add(zoneName, text: zone)
  }

  /// Whether a zone name can be a parameter value without quotation marks.
  private static func isPlain(_ zone: String) -> Bool {
    let special = Array("\",:;^".utf8)
    return zone.utf8.allSatisfy { byte in (0x21...0x7e).contains(byte) && !special.contains(byte) }
  }

  // MARK: Zones

  private static let day: Int64 = 86_400_000

  /// Returns the definition of a zone: its offsets around the times used, with one rule for each clock change.
  private func definition(_ zone: String) -> CalendarLines {
    var lines = CalendarLines()
    lines.add("BEGIN", "VTIMEZONE")
    lines.add("TZID", zone)
    for window in windows(times[zone] ?? []) {
      let start = zones.seconds(window.lowerBound, zone) ?? 0
      addRule(&lines, at: window.lowerBound, from: start, to: start)
      var time = window.lowerBound
      var offset = start
      while time < window.upperBound {
        let next = min(time + 7 * Self.day, window.upperBound)
        let after = zones.seconds(next, zone) ?? offset
        if after != offset { addRule(&lines, at: change(zone, time, next, offset), from: offset, to: after) }
        (time, offset) = (next, after)
      }
    }
    lines.add("END", "VTIMEZONE")
    return lines
  }

  /// Returns windows from about a year before each time to a day after it, merged where they overlap.
  private func windows(_ times: [Int64]) -> [ClosedRange<Int64>] {
    var windows: [ClosedRange<Int64>] = []
    for time in times.sorted() {
      let window = (time - 400 * Self.day)...(time + Self.day)
      if let last = windows.last, last.upperBound >= window.lowerBound {
        windows[windows.count - 1] = last.lowerBound...max(last.upperBound, window.upperBound)
      } else {
        windows.append(window)
      }
    }
    return windows
  }

  /// Returns the time between two others at which the clock changes.
  private func change(_ zone: String, _ before: Int64, _ after: Int64, _ offset: Int) -> Int64 {
    var (low, high) = (before, after)
    while high - low > 1_000 {
      let middle = low + (high - low) / 2
      if zones.seconds(middle, zone) == offset { low = middle } else { high = middle }
    }
    return wholeSecond(high)
  }

  private func addRule(_ lines: inout CalendarLines, at time: Int64, from: Int, to: Int) {
    let name = to > from ? "DAYLIGHT" : "STANDARD"
    lines.add("BEGIN", name)
    // The time of the change is given as local time before the change.
    lines.add("DTSTART", Self.local(wholeSecond(time) + Int64(from) * 1_000))
    lines.add("TZOFFSETFROM", Self.offset(from))
    lines.add("TZOFFSETTO", Self.offset(to))
    lines.add("END", name)
  }

  // MARK: Times as text

  private static func offset(_ seconds: Int) -> String {
    let size = abs(seconds)
    let rest = size % 60 == 0 ? "" : twoDigits(size % 60)
    return "\(seconds < 0 ? "-" : "+")\(twoDigits(size / 3_600))\(twoDigits(size / 60 % 60))\(rest)"
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  static func day(_ day: CalendarDay) -> String { day.description.filter { $0 != "-" } }

  static func utc(_ milliseconds: Int64) -> String { local(wholeSecond(milliseconds)) + "Z" }

  private static func local(_ wall: Int64) -> String {
    let wall = wall.clampedToCalendar
    let days = floorDivision(wall, day)
    let seconds = Int((wall - days * day) / 1_000)
    let clock = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map(twoDigits).joined()
    return "\(Self.day(CalendarDay(daysSince1970: days)))T\(clock)"
  }
}

/// The lines of a calendar. They end with CRLF, and are folded at 75 bytes but never inside a character.
struct CalendarLines {
  private(set) var bytes: [UInt8] = []
  private static let bytesMax = 75

  mutating func append(_ other: CalendarLines) { bytes += other.bytes }

  /// Adds escaped text. Control characters other than line breaks and tabs are removed, because a calendar does not
  /// allow them.
  mutating func add(_ name: String, text: String) {
    var value = ""
    for character in text.replacing("\r\n", with: "\n").unicodeScalars {
      switch character {
      case "\\", ";", ",": value += "\\\(character)"
      case "\n", "\r": value += "\\n"
      case "\t": value += "\t"
      case _ where character.value < 0x20 || character.value == 0x7f: break
      default: value.unicodeScalars.append(character)
      }
    }
    add(name, value)
  }

  mutating func add(_ name: String, _ value: String) {
    var length = 0
    for character in "\(name):\(value)".unicodeScalars {
      let encoded = Array(String(character).utf8)
      if length + encoded.count > Self.bytesMax {
        bytes += [0x0d, 0x0a, 0x20]
        length = 1
      }
      bytes += encoded
      length += encoded.count
    }
    bytes += [0x0d, 0x0a]
  }
}
