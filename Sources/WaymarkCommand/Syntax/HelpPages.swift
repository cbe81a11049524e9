import Console
import Records
import Waymark

/// The pages of `waymark help`, derived from the command table and the topics.
enum HelpPages {
  /// Writes the help page. Returns false if there is no such command or topic.
  static func write(_ topic: [String], into page: inout Page) -> Bool {
    if topic.isEmpty {
      overview(&page)
      return true
    }
    if topic.count == 2, topic[0] == HelpTopic.fields.name, let kind = FieldPages.kind(topic[1]) {
      FieldPages.write(kind, into: &page)
      return true
    }
    if let found = HelpTopic.named(topic.joined(separator: "-")) {
      page.line(found.title)
      page.explain(found.body)
      let same = CommandTable.all.filter { $0.words.starts(with: topic) }
      if !same.isEmpty {
        page.gap()
        page.line("Commands", .heading)
        page.table(summaries(same))
        page.line("More about one command: waymark help \(same[0].name)", .faint)
      }
      return true
    }
    // `help trip add Rome` explains `trip add`.
    for count in stride(from: topic.count, to: 0, by: -1) {
      let words = Array(topic.prefix(count))
      let found = CommandTable.all.filter { $0.words.starts(with: words) }
      guard !found.isEmpty else { continue }
      commands(found, named: words, &page)
      return true
    }
    return false
  }

  // MARK: Overview

  private static func overview(_ page: inout Page) {
    page.line("waymark: your trips and habits on all your devices, without a server", .strong)
    page.paragraph(
      "First steps: waymark init, waymark invite; on the next device waymark join; then waymark run")
    page.gap()
    for group in CommandTable.groups {
      page.line(group.title, .heading)
      page.table(summaries(grouped(group.commands)))
      if group.commands.contains(where: { $0.words == [Schema.known.listed[0].name, "list"] }) {
        page.paragraph("  KIND: \(Schema.known.listed.map(\.name).joined(separator: ", "))", indent: 6)
        page.paragraph(
          "  In short: trips for trip list, ls for list, rm for delete, trip add Rome for trip add name=Rome",
          indent: 6)
      }
      page.gap()
    }
    page.line("Options of every command", .heading)
    for option in GlobalOptions.specs { write(option, width: 24, indent: 2, &page) }
    page.gap()
    page.paragraph("Topics: \(HelpTopic.all.map(\.name).joined(separator: ", "))")
    page.line("For details: waymark help COMMAND, or waymark help TOPIC", .faint)
  }

  /// Returns commands with those that begin with the same word next to each other.
  private static func grouped(_ commands: [CommandSpec]) -> [CommandSpec] {
    var groups: [(word: String, commands: [CommandSpec])] = []
    for spec in commands {
      if let index = groups.firstIndex(where: { $0.word == spec.words[0] }) {
        groups[index].commands.append(spec)
      } else {
        groups.append((spec.words[0], [spec]))
      }
    }
    return groups.flatMap(\.commands)
  }

  /// Returns a table with one line per command. Actions that all kinds share are listed only once.
  private static func summaries(_ commands: [CommandSpec]) -> TextTable {
    var rows: [(String, String)] = []
    let kinds = Schema.known.listed.map(\.name)
    let actions = ["list", "show", "add", "edit", "delete", "restore"]
    for spec in commands {
      let isShared = kinds.contains(spec.words[0]) && actions.contains(spec.words.last ?? "")
      if !isShared { rows.append((short(spec), spec.summary)) }
    }
    if rows.count < commands.count {
      rows.insert(
        ("KIND list [TEXT] | show ID | delete ID | restore ID", "KIND is one of the kinds below"), at: 0)
      rows.insert(("KIND add FIELD=VALUE…", "see waymark help fields"), at: 1)
      rows.insert(("KIND edit ID FIELD=VALUE…", "an empty value clears the field"), at: 2)
    }
    var table = TextTable([.init(""), .init(""), .init("", widthMin: 20)])
    table.rows = rows.map { [.init(""), .init($0.0), .init($0.1)] }
    table.hasHead = false
    table.wrapsLast = true
    return table
  }

  private static func short(_ spec: CommandSpec) -> String {
    let words = spec.impliesLastWord ? spec.words.dropLast() + ["[\(spec.words.last ?? "")]"] : spec.words
    return (words + spec.operands.map(\.usage)).joined(separator: " ")
  }

  // MARK: Commands

  private static func commands(_ found: [CommandSpec], named words: [String], _ page: inout Page) {
    for spec in found {
      page.paragraph(spec.usage, .strong, indent: 4)
      page.paragraph("  \(spec.summary)", indent: 2)
      let width = spec.options.map { $0.usage.displayWidth }.max() ?? 0
      for option in spec.options { write(option, width: width, indent: 4, &page) }
      let fields =
        spec.takesFields
        ? (Schema.known.kind(named: spec.words[0])?.assignableNames ?? []) : []
      if !fields.isEmpty {
        page.paragraph("  Fields: \(fields.joined(separator: ", "))", indent: 2)
        page.paragraph("  Their values: waymark help fields \(spec.words[0])", indent: 2)
      }
      if let details = spec.details { page.explain(details, lead: 2) }
      if let example = spec.example { page.paragraph("  For example: \(example)", indent: 4) }
    }
    page.gap()
    page.line("Every command: \(GlobalOptions.specs.map(\.usage).joined(separator: "  "))", .faint)
  }

  private static func write(_ option: CommandSpec.Option, width: Int, indent: Int, _ page: inout Page) {
    let head = String(repeating: " ", count: indent) + option.usage.padded(to: max(width, 16)) + "  "
    let column = head.displayWidth
    let lines = wrapped(option.summary, width: max(20, page.width - column), indent: 0)
    for (index, line) in lines.enumerated() {
      page.line((index == 0 ? head : String(repeating: " ", count: column)) + line)
    }
  }

  /// Returns the topic or command that the user probably meant.
  static func suggestion(for topic: String) -> String? {
    let known = HelpTopic.all.map(\.name) + Array(Set(CommandTable.all.map { $0.words[0] }))
    return Suggestion.nearest(to: topic, among: known)
  }
}
