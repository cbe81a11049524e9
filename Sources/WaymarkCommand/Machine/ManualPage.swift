import Waymark

/// The manual page in the language of `man(7)`: the table of commands, the topics of help, and a little prose.
struct ManualPage {
  private(set) var lines: [String] = []

  static var text: String {
    var page = ManualPage()
    page.write()
    return page.lines.joined(separator: "\n") + "\n"
  }

  private mutating func write() {
    lines.append(
      ".TH WAYMARK 1 \"\(WaymarkVersion.date)\" \"Waymark \(WaymarkVersion.text)\" \"User Commands\"")
    section("NAME")
    text("waymark - your trips and habits on all your devices, without a server")
    section("SYNOPSIS")
    lines += [".B waymark", ".I command", "[operand ...] [option ...]"]
    description()
    section("COMMANDS")
    for group in CommandTable.groups {
      lines.append(".SS \(Self.quoted(group.title))")
      for spec in group.commands { command(spec) }
    }
    section("OPTIONS")
    text("These go with every command, anywhere on the line.")
    for option in GlobalOptions.specs { self.option(option) }
    for topic in HelpTopic.all where topic.name != "exit-codes" { self.topic(topic) }
    environment()
    files()
    if let codes = HelpTopic.named("exit-codes") {
      section("EXIT STATUS")
      asItStands(codes.split(separator: "\n").dropFirst().map(String.init))
    }
    section("SEE ALSO")
    lines += [".BR systemctl (1),", ".BR journalctl (1),", ".BR sqlite3 (1)"]
  }

  private mutating func description() {
    section("DESCRIPTION")
    text(
      "Every device keeps a complete SQLite store, works offline, and exchanges signed change sets with the other "
        + "devices of its circle over encrypted TCP. What two devices changed at the same time is merged field by "
        + "field, by the same rules everywhere; what loses is kept and shown.")
    lines.append(".PP")
    text("Every command works with and without a running node; what needs one says so. The first steps:")
    asItStands([
      "waymark init --name laptop", "waymark service install        # or: waymark run", "waymark invite",
    ])
    text("and on the other device, with the ticket that was printed:")
    asItStands(["waymark join --name phone     # asks for the ticket", "waymark service install"])
    text("Data goes to standard output, everything else to standard error.")
  }

  private mutating func command(_ spec: CommandSpec) {
    lines += [".TP", ".B \(Self.escaped(spec.usage))"]
    text(spec.summary.prefix(1).uppercased() + spec.summary.dropFirst() + ".")
    if let details = spec.details { self.details(details) }
    for option in spec.options {
      lines += [".RS", ".TP"]
      lines.append(Self.head(option))
      text(option.summary + ".")
      lines.append(".RE")
    }
    if let example = spec.example {
      lines += [".IP", "Example:", ".RS", ".EX"]
      lines.append(Self.escaped(example))
      lines += [".EE", ".RE"]
    }
  }

  /// Lines that are indented stand as they are.
  private mutating func details(_ details: String) {
    lines.append(".IP")
    var isExample = false
    for line in details.split(separator: "\n") {
      let stands = line.hasPrefix("  ")
      if stands != isExample { lines += stands ? [".RS", ".EX"] : [".EE", ".RE", ".IP"] }
      isExample = stands
      text(String(line.drop { $0 == " " }))
    }
    if isExample { lines += [".EE", ".RE"] }
  }

  private mutating func option(_ option: CommandSpec.Option) {
    lines += [".TP", Self.head(option)]
    text(option.summary.prefix(1).uppercased() + option.summary.dropFirst() + ".")
  }

  private mutating func topic(_ topic: HelpTopic) {
    let parts = topic.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    section(parts[0].uppercased())
    asItStands(Array(parts.dropFirst()))
  }

  private mutating func environment() {
    section("ENVIRONMENT")
    for (name, meaning) in Self.variables {
      lines += [".TP", ".B \(Self.escaped(name))"]
      text(meaning)
    }
  }

  private mutating func files() {
    section("FILES")
    for (name, meaning) in [
      ("~/.local/share/waymark", "The home of the node of this user; waymark paths lists what is in it."),
      ("store.db", "The store, in it. It may be opened read-only with any SQLite tool."),
      ("keys/device.key, keys/root.key", "The keys, in it. Keep a copy of the folder elsewhere."),
      ("config.json", "What flags would say, in it: name, listen, peers."),
    ] {
      lines += [".TP", ".I \(Self.escaped(name))"]
      text(meaning)
    }
  }

  /// A test compares them with what the sources ask for.
  static let variables: [(name: String, meaning: String)] = [
    ("WAYMARK_HOME", "Where the node lives, if --home does not say."),
    ("WAYMARK_NAME", "What a new device is called, if --name does not say."),
    ("WAYMARK_DISCOVERY", "on or off: whether the node looks for its peers on the networks it is on."),
    ("WAYMARK_LISTEN", "Where the node listens, if --listen does not say."),
    ("WAYMARK_PEERS", "Addresses to dial, with commas between, if --peer does not say."),
    ("WAYMARK_PASSPHRASE_FILE", "A file whose first line opens sealed keys, where nobody can be asked."),
    ("WAYMARK_LOG", "How much a node logs: debug, info, warning or error."),
    ("WAYMARK_LOG_FORMAT", "How: text, journal or json. By default what fits where standard error goes."),
    ("NO_COLOR", "If it is not empty, there are no colours."),
    ("NOTIFY_SOCKET, WATCHDOG_USEC, JOURNAL_STREAM", "Set by systemd; a node tells it how it is."),
  ]

  // MARK: The language

  private mutating func section(_ title: String) { lines.append(".SH \(Self.quoted(title))") }

  private mutating func text(_ text: some StringProtocol) { lines.append(Self.escaped(String(text))) }

  private mutating func asItStands(_ content: [String]) {
    let first = content.firstIndex { !$0.isEmpty } ?? 0
    lines += [".RS 2", ".EX"]
    lines += content.dropFirst(first).map { $0.isEmpty ? "" : Self.escaped($0) }
    lines += [".EE", ".RE"]
  }

  private static func head(_ option: CommandSpec.Option) -> String {
    let value = option.placeholder.map { " \\fI\(escaped($0))\\fR" } ?? ""
    return "\\fB\(escaped(option.flag))\\fR\(value)"
  }

  private static func quoted(_ text: String) -> String {
    "\"" + escaped(text).replacing("\"", with: "\\(dq") + "\""
  }

  /// Nothing in the text means anything to the formatter; dashes are those that can be typed again.
  static func escaped(_ text: String) -> String {
    var escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("'", with: "\\(aq")
      .replacing("…", with: "...").replacing("“", with: "\\(lq").replacing("”", with: "\\(rq")
      .replacing("·", with: "\\(bu").replacing("`", with: "\\(ga").replacing("^", with: "\\(ha")
      .replacing("~", with: "\\(ti")
    if escaped.hasPrefix(".") { escaped = "\\&" + escaped }
    return escaped
  }
}
