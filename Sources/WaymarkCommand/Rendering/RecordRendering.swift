import Control
import FoundationEssentials
import JSONDocument
import Records
import Waymark

// Lists of records of one kind, and one record with all its fields.

extension Rendering {
  /// Writes the records that a list found: on a terminal a table with short ids, otherwise lines with whole ids.
  mutating func list(_ command: ListRecords, _ answer: ListRecords.Answer) {
    guard let kind = Registry.kind(named: command.kind), let listing = kind.listing else { return }
    guard !answer.items.isEmpty else { return notes.paragraph(emptyText(command, answer)) }
    if command.filters["ndjson"] != nil { return lines(answer.items) }
    guard !command.deleted else { return trash(command, answer, listing) }
    // The column of the parent would have the same value in every row.
    let columns = listing.columns.filter { column in
      !(column.heading == "TRIP" && command.filters["trip"] != nil)
        && !(column.heading == "HABIT" && command.filters["habit"] != nil)
    }
    var table = TextTable(
      [.init("ID")]
        + columns.map { .init($0.heading, isRight: $0.isRight, widthMin: $0.widthMin.map { min($0, 10) }) })
    table.isList = true
    // The sums of several currencies continue on the next line, because a sum must not be cut.
    table.wrapsLast = columns.last.map { if case .sums = $0.content { true } else { false } } ?? false
    table.rows = answer.items.map { item in
      [idCell(item.record.id, item.record.shortID)]
        + columns.map { .init(text($0.content, of: item.record)) }
    }
    data.table(table)
    guard answer.total > answer.items.count else { return }
    notes.paragraph(
      "\(grouped(Int64(answer.items.count))) of \(grouped(Int64(answer.total))) are shown; "
        + "--limit N shows more.")
  }

  private func emptyText(_ command: ListRecords, _ answer: ListRecords.Answer) -> String {
    if command.deleted { return "No \(answer.plural) in the trash." }
    let kind = Registry.kind(named: command.kind)
    let isFiltered = command.filters.keys.contains { key in
      ["text", "upcoming", "date", "from", "to"].contains(key)
        || kind?.parentKinds.contains { Registry.kind($0)?.name == key } == true
    }
    return isFiltered ? "No \(answer.plural) match." : "No \(answer.plural) yet."
  }

  /// Writes each row of a list as one line of JSON.
  mutating func lines(_ items: [some Encodable]) {
    for item in items {
      guard let json = try? AnswerCoding.document(item) else { continue }
      data.line(json.text(.line))
    }
  }

  private mutating func trash(_ command: ListRecords, _ answer: ListRecords.Answer, _ listing: KindListing) {
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 12), .init("DELETED"), .init("BY", widthMin: 8),
      .init("WITH", widthMin: 8),
    ])
    table.isList = true
    for item in answer.items {
      let above = item.deletion?.hiddenBy.map { "\($0.kind) \($0.shownName)" }
      table.rows.append([
        idCell(item.record.id, item.record.shortID), .init(text(listing.title, of: item.record)),
        .init(time.full(item.deletion?.deletedAt)), .init(item.deletion?.deletedByName ?? ""),
        .init(above ?? ""),
      ])
    }
    data.table(table)
    notes.paragraph("To restore one: \(waymark: "\(command.kind) restore ID")")
  }

  /// The short id of a record, or the whole id for a program.
  func idCell(_ id: String, _ shortID: String?) -> TextTable.Cell {
    .init(data.isPiped ? id : shortID ?? shortRecordID(id), .faint)
  }

  private func text(_ content: ListColumn.Content, of record: ShownRecord) -> String {
    switch content {
    case .first(let names): names.lazy.compactMap { record[$0]?.cellText }.first ?? ""
    case .all(let names): names.compactMap { record[$0]?.cellText }.joined(separator: " ")
    case .day(let name): record[name]?.string.map { String($0.prefix(10)) } ?? "–"
    case .minute(let name): minute(record[name])
    case .end(let name, let start): endText(record[name], start: record[start])
    case .money(let name): record[name]?.moneyText ?? ""
    case .sums(let name):
      // No-break spaces keep an amount and its currency on one line.
      (record[name]?.array ?? []).compactMap { $0.moneyText?.replacing(" ", with: "\u{A0}") }
        .joined(separator: " + ")
    case .number(let name): grouped(record[name]?.integer ?? 0)
    case .bytes(let name): record[name]?.integer.map { data.isPiped ? "\($0)" : byteText($0) } ?? ""
    case .file(let name): record[name]?.fileState?.text ?? ""
    case .flag(let name): record[name]?.boolean == false ? "no" : "yes"
    }
  }

  /// The time at which something ends, without the day if it begins on the same day, and without the year if it begins
  /// in the same year: `18:00`, `05-06 10:00`. A program gets the day and the time.
  func endText(_ end: JSON?, start: JSON?) -> String {
    let text = minute(end)
    guard !data.isPiped, end != nil, let start = start?.string else { return text }
    if text.prefix(10) == start.prefix(10) { return String(text.dropFirst(11)) }
    return text.prefix(4) == start.prefix(4) ? String(text.dropFirst(5)) : text
  }

  // MARK: One record

  /// Writes every field that has a value. A structured value is written in the form in which the user types it.
  mutating func show(_ record: ShownRecord, _ kind: String) {
    let members = record.members.filter { member in
      !member.value.isNull && member.value != [] && !isLeftOut(member.key, record, kind)
    }
    if members.isEmpty { notes.paragraph("Nothing yet.") }
    data.pairs(members.map { ($0.key, value($0, of: record, kind)) })
    if kind == Registry.habit.name { calendar(record) }
    guard members.contains(where: { isLocal($0, kind) }) else { return }
    data.line("Times without a zone are in \(time.zone.identifier).", .faint)
  }

  /// Whether a member is shown with another one: a zone with its time, the days of a habit in the calendar. An empty
  /// content of an attachment is left out, and so is the id of the profile, of which there is only one.
  private func isLeftOut(_ key: String, _ record: ShownRecord, _ kind: String) -> Bool {
    if kind == Registry.profile.name, key == "id" || key == "shortId" { return true }
    if kind == Registry.habit.name, ["streak", "bestStreak", "today", "month"].contains(key) { return true }
    if record[key]?.fileState == nil, record[key]?["bytes"] != nil { return true }
    return ["startTZId": "start", "endTZId": "end", "timezone": "date"][key].map { record[$0] != nil }
      ?? false
  }

  private func value(_ member: JSON.Member, of record: ShownRecord, _ kind: String) -> String {
    if let typed = RecordText.typed(member.value, kind: kind, field: member.key) { return printable(typed) }
    if let file = member.value.fileText { return file }
    guard let text = member.value.string, TimeText.moment(text) != nil else {
      return time.text(ShownValue(member.value))
    }
    if isDay(member, kind) { return String(text.prefix(10)) }
    let zone = ["start": "startTZId", "end": "endTZId", "date": "timezone"][member.key]
    return zone.flatMap { record[$0]?.string }.map { "\(minute(member.value)) \(printable($0))" }
      ?? time.written(text)
  }

  /// Whether a time is a day: the first and the last day of a trip, which are stored as midnight in UTC.
  private func isDay(_ member: JSON.Member, _ kind: String) -> Bool {
    kind == Registry.trip.name && ["startDate", "endDate"].contains(member.key)
      && member.value.string?.hasSuffix("T00:00:00Z") == true
  }

  /// Whether a time is shown in the reader's zone.
  private func isLocal(_ member: JSON.Member, _ kind: String) -> Bool {
    guard let text = member.value.string, TimeText.moment(text) != nil else { return false }
    return text.hasSuffix("Z") && !isDay(member, kind)
  }

  // MARK: Habits

  /// Writes the streaks of a habit and the days of the month: `✓` done, `·` due and not done, blank otherwise.
  private mutating func calendar(_ record: ShownRecord) {
    guard let today = record["today"]?.string.flatMap({ Day($0) }), let days = record["month"]?.array else {
      return
    }
    let (streak, best) = (record["streak"]?.integer ?? 0, record["bestStreak"]?.integer ?? 0)
    data.gap()
    data.line("Streak: \(counted(streak, "day")); best: \(counted(best, "day"))", .strong)
    data.gap()
    data.line("\(today.description.prefix(7))", .strong)
    data.line(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map { "  " + $0 }.joined(), .heading)
    var weeks: [[String]] = []
    for entry in days {
      guard let day = entry["day"]?.string.flatMap({ Day($0) }) else { continue }
      if weeks.isEmpty || day.weekday == 1 { weeks.append(Array(repeating: "     ", count: 7)) }
      weeks[weeks.count - 1][day.weekday - 1] = cell(day, entry, today)
    }
    for week in weeks { data.line(week.joined()) }
    data.gap()
    data.line("✓ done   · not done   ! today is not done yet", .faint)
  }

  private func cell(_ day: Day, _ entry: JSON, _ today: Day) -> String {
    let (isDue, isDone) = (entry["due"]?.boolean == true, entry["done"]?.boolean == true)
    let (mark, stress): (String, Stress) =
      switch (isDone, isDue) {
      case (true, _): ("✓", .good)
      case (false, true) where day == today: ("!", .careful)
      case (false, true) where day < today: ("·", .none)
      default: (" ", .faint)
      }
    let number = "\(day.day)".padded(to: 2, isRight: true)
    return " " + data.paint(number + mark, stress) + " "
  }
}

extension JSON {
  /// The text of a table cell for a string or a number; nil for any other value.
  fileprivate var cellText: String? { string ?? number }
}
