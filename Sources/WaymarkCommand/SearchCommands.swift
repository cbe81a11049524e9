import Console
import Control
import Platform
import JSONDocument
import Model
import Reasons
import Records
import Waymark

extension FindRecords: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["find"], summary: "find records that contain a text",
    operands: [.init(placeholder: "TEXT", key: "text")],
    options: [
      .init(
        flag: "--kind", placeholder: "K", summary: "only records of this kind",
        type: .words(Schema.known.listed.map(\.name) + [Kind.profile.name])),
      .init(flag: "--limit", placeholder: "N", summary: "show at most N records; default 100"),
    ],
    details: """
      Searches names, notes and all other text of trips and their items, organizations, attachments, habits,
      categories and the profile, regardless of case and accents: cafe finds Café. Exits with 1 if nothing
      contains the text, as grep does.
      """, exampleArguments: "cafe --kind activity")

  func render(_ answer: SearchResult, into rendering: inout Rendering) {
    guard !answer.matches.isEmpty else {
      return rendering.notes.paragraph("Nothing contains “\(printable(answer.text))”.")
    }
    var table = TextTable([
      .init("ID"), .init("KIND"), .init("NAME", widthMin: 12), .init("IN", widthMin: 8), .init("FIELD"),
      .init("TEXT", widthMin: 16),
    ])
    (table.isList, table.wrapsLast) = (true, true)
    for match in answer.matches {
      table.rows.append([
        rendering.idCell(match.id.uuidString, match.shortID), .init(match.kind.rawValue),
        .init(match.name ?? "", .strong), .init(match.parent?.name ?? ""), .init(match.field),
        .init(match.field == "name" && !rendering.data.isPiped ? "" : match.excerpt),
      ])
    }
    rendering.data.table(table)
    guard answer.total > answer.matches.count else { return }
    rendering.notes.paragraph(
      "\(grouped(Int64(answer.matches.count))) of \(grouped(Int64(answer.total))) are shown; "
        + "--limit N shows more.")
  }

  func exitCode(for answer: SearchResult) -> Int32 { answer.matches.isEmpty ? ExitCode.failed : 0 }
}

extension ShowToday: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["today"], summary: "show today's habits and what happens on the present or next trip",
    details: """
      Lists the habits that are due today with their streaks, today's entries, and what happens today on the
      trip that is under way; without one, the next trip. The profile's zone decides which day is today.
      """, exampleArguments: "")

  func render(_ answer: TodayOverview, into rendering: inout Rendering) { rendering.today(answer) }
}

extension Rendering {
  fileprivate mutating func today(_ today: TodayOverview) {
    data.line("\(weekday(today.day)), \(today.day)", .strong)
    data.gap()
    habits(today.habits)
    entries(today.entries)
    data.gap()
    trip(today)
  }

  private func weekday(_ day: Day) -> String {
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][day.weekday.number - 1]
  }

  private mutating func habits(_ habits: [TodayOverview.HabitToday]) {
    guard !habits.isEmpty else { return data.line("No habit is due today.") }
    let done = habits.count { $0.isDone }
    data.line("Habits: \(done) of \(habits.count) done", .heading)
    var table = TextTable([
      .init(""), .init("", widthMin: 12), .init(""), .init(""), .init(""),
    ])
    table.hasHead = false
    table.rows = habits.map { habit in
      [
        .init(habit.isDone ? "  ✓" : "  ·", habit.isDone ? .good : .careful),
        .init([habit.emoji, habit.name].filter { !$0.isEmpty }.joined(separator: " ")),
        .init(habit.isDone ? "done" : "not done", habit.isDone ? .good : .careful), .init(amount(habit)),
        .init(
          habit.streak > 0 ? "streak \(counted(Int64(habit.streak), "day")), best \(habit.bestStreak)" : ""),
      ]
    }
    data.table(table)
  }

  /// `6 of 8 glasses`, `3 pages`; empty for a habit that is either done or not.
  private func amount(_ habit: TodayOverview.HabitToday) -> String {
    guard habit.target != nil || !habit.unit.isEmpty else { return "" }
    let amounts = [habit.value, habit.target].compactMap(\.self).compactMap { JSON.float($0).number }
    return "\(amounts.joined(separator: " of ")) \(printable(habit.unit))".trimmed
  }

  private mutating func entries(_ entries: [TodayOverview.EntryToday]) {
    guard !entries.isEmpty else { return }
    data.gap()
    data.line("Entries", .heading)
    var table = TextTable([.init(""), .init("", widthMin: 12), .init("", isRight: true)])
    table.hasHead = false
    table.rows = entries.map { entry in
      [
        .init("  " + clock(entry.date, entry.zone)), .init(entry.habitName),
        .init(entry.value.flatMap { JSON.float($0).number } ?? ""),
      ]
    }
    data.table(table)
  }

  /// The time of day in a zone; in UTC if there is none.
  private func clock(_ date: Date?, _ zone: String?) -> String {
    guard let date else { return "–" }
    return TimeText(now: time.now, zone: zone.flatMap { Zone(named: $0) } ?? .utc).clock(date)
  }

  private mutating func trip(_ today: TodayOverview) {
    guard let trip = today.trip else { return data.line("No trip is planned.") }
    let days = trip.firstDay.distance(to: trip.lastDay) + 1
    let when =
      trip.dayNumber.map { "day \($0) of \(days)" }
      ?? (trip.daysToGo == 1 ? "begins tomorrow" : "begins in \(trip.daysToGo) days")
    data.line(
      data.paint("\(trip.dayNumber == nil ? "Next trip" : "On trip"): \(printable(trip.name))", .strong)
        + "  \(when)" + data.paint("  \(trip.firstDay) – \(trip.lastDay)", .faint))
    guard trip.dayNumber != nil else { return }
    guard !trip.items.isEmpty else { return data.line("  Nothing is planned for today.") }
    var table = TextTable([.init(""), .init(""), .init("", widthMin: 12), .init("", widthMin: 8)])
    table.hasHead = false
    table.rows = trip.items.map { item in
      [
        .init("  " + span(item, today.day)), .init(item.kind.rawValue), .init(item.name),
        .init(item.startZone ?? "UTC", .faint),
      ]
    }
    data.table(table)
  }

  /// The times of an item on a day: `09:00–12:30`, `from 15:00`, `until 10:00`, `all day`.
  private func span(_ item: TodayOverview.ItemToday, _ day: Day) -> String {
    func isToday(_ date: Date?, _ zone: String?) -> Bool {
      date.map { Day($0, in: zone.flatMap { Zone(named: $0) } ?? .utc) == day } ?? false
    }
    let endZone = item.endZone ?? item.startZone
    let (start, end) = (clock(item.start, item.startZone), clock(item.end, endZone))
    return switch (isToday(item.start, item.startZone), isToday(item.end, endZone)) {
    case (true, true): "\(start)–\(end)"
    case (true, false): item.end == nil ? start : "from \(start)"
    case (false, true): "until \(end)"
    case (false, false): "all day"
    }
  }
}
