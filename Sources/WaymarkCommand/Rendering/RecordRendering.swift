import Console
import Control
import Platform
import JSONDocument
import Model
import Records
import Waymark

// Lists of records of one kind, and one record with all its fields.

extension Rendering {
  /// Writes the records that a list found: on a terminal a table with short ids, otherwise lines with whole ids.
  mutating func list(_ command: ListRecords, _ answer: ListRecords.Answer) {
    guard let kind = Schema.known.kind(named: command.kind), let listing = kind.listing else { return }
    guard !answer.items.isEmpty else { return notes.paragraph(emptyText(command, answer)) }
    if command.printsLines { return lines(answer.items) }
    guard !command.deleted else { return trash(command, answer, listing) }
    // The column of the parent would have the same value in every row.
    let parent = command.parent(of: kind, .known)?.name.uppercased()
    let columns = listing.columns.filter { $0.heading != parent }
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
    return command.isFiltered(.known) ? "No \(answer.plural) match." : "No \(answer.plural) yet."
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
    switch record.cell(content) {
    case nil: ""
    case .text(let text): text
    case .day(let time): time.map { String($0.prefix(10)) } ?? "–"
    case .minute(let time): minute(time)
    case .end(let end, let start): endText(end, start: start)
    case .money(let money): "\(money)"
    // No-break spaces keep an amount and its currency on one line.
    case .sums(let sums): sums.map { "\($0)".replacing(" ", with: "\u{A0}") }.joined(separator: " + ")
    case .number(let number): grouped(number)
    case .bytes(let bytes): data.isPiped ? "\(bytes)" : byteText(bytes)
    case .file(let state): state.text
    case .flag(let flag): flag ? "yes" : "no"
    }
  }

  /// The time at which something ends, without the day if it begins on the same day, and without the year if it begins
  /// in the same year: `18:00`, `05-06 10:00`. A program gets the day and the time.
  func endText(_ end: String?, start: String?) -> String {
    let text = minute(end)
    guard !data.isPiped, end != nil, let start else { return text }
    if text.prefix(10) == start.prefix(10) { return String(text.dropFirst(11)) }
    return text.prefix(4) == start.prefix(4) ? String(text.dropFirst(5)) : text
  }

  // MARK: One record

  /// Writes every field that has a value. A structured value is written in the form in which the user types it.
  mutating func show(_ record: ShownRecord, _ kind: Kind?) {
    guard let kind else { return }
    let entries = record.entries(of: kind)
    if entries.isEmpty { notes.paragraph("Nothing yet.") }
    data.pairs(entries.map { ($0.name, text($0.value)) })
    if let habit = record.habitCalendar { calendar(habit) }
    guard entries.contains(where: { isLocal($0.value) }) else { return }
    data.line("Times without a zone are in \(time.zone.name).", .faint)
  }

  private func text(_ value: ShownEntry.Value) -> String {
    switch value {
    case .plain(let value): time.text(value)
    case .typed(let text): printable(text)
    case .file(let state, let bytes): state.text(bytes: bytes)
    case .day(let day): day
    case .time(let time, let zone): "\(minute(time)) \(printable(zone))"
    }
  }

  /// Whether a time is shown in the reader's zone.
  private func isLocal(_ value: ShownEntry.Value) -> Bool {
    switch value {
    case .plain(.text(let text)), .time(let text, _): text.hasSuffix("Z") && TimeText.moment(text) != nil
    default: false
    }
  }

  // MARK: Habits

  /// Writes the streaks of a habit and the days of the month: `✓` done, `·` due and not done, blank otherwise.
  private mutating func calendar(_ habit: HabitCalendar) {
    let (streak, best) = (Int64(habit.streak), Int64(habit.bestStreak))
    data.gap()
    data.line("Streak: \(counted(streak, "day")); best: \(counted(best, "day"))", .strong)
    data.gap()
    data.line("\(habit.today.description.prefix(7))", .strong)
    data.line(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map { "  " + $0 }.joined(), .heading)
    var weeks: [[String]] = []
    for mark in habit.month {
      if weeks.isEmpty || mark.day.weekday == .monday { weeks.append(Array(repeating: "     ", count: 7)) }
      weeks[weeks.count - 1][mark.day.weekday.number - 1] = cell(mark, habit.today)
    }
    for week in weeks { data.line(week.joined()) }
    data.gap()
    data.line("✓ done   · not done   ! today is not done yet", .faint)
  }

  private func cell(_ habit: HabitMark, _ today: Day) -> String {
    let (mark, stress): (String, Stress) =
      switch (habit.isDone, habit.isDue) {
      case (true, _): ("✓", .good)
      case (false, true) where habit.day == today: ("!", .careful)
      case (false, true) where habit.day < today: ("·", .none)
      default: (" ", .faint)
      }
    let number = "\(habit.day.day)".padded(to: 2, isRight: true)
    return " " + data.paint(number + mark, stress) + " "
  }
}
