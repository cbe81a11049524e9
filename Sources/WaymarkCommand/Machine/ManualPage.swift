import Console
import Home
import Waymark

/// The manual page in the markup of `man(7)`: the command table, the help topics, and a little prose.
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
    text("Every command takes these options, anywhere on the line.")
    for option in GlobalOptions.specs { self.option(option) }
    for topic in HelpTopic.all where topic.name != "exit-codes" { self.topic(topic) }
    environment()
    files()
    if let codes = HelpTopic.named("exit-codes") {
      section("EXIT STATUS")
      topicText(codes)
    }
    section("SEE ALSO")
    lines += [".BR systemctl (1),", ".BR journalctl (1),", ".BR sqlite3 (1)"]
  }

  private mutating func description() {
    section("DESCRIPTION")
    text(
      "Every device keeps a complete SQLite store, works offline, and exchanges signed change sets with the other "
        + "devices of its circle over encrypted TCP. Changes made on two devices at the same time are merged field by "
        + "field, by the same rules on every device; the value that loses is kept and can be restored.")
    lines.append(".PP")
    text("Commands work with or without a running node; those that need one say so. The first steps:")
    verbatim([
      "waymark init --name laptop", "waymark service install        # or: waymark run", "waymark invite",
    ])
    text("Then on the other device, with the ticket that was printed:")
    verbatim(["waymark join --name phone     # asks for the ticket", "waymark service install"])
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

  /// Writes the details of a command. Indented lines are examples and keep their line breaks.
  private mutating func details(_ details: String) {
    lines.append(".IP")
    var isExample = false
    for line in details.split(separator: "\n") {
      let isIndented = line.hasPrefix("  ")
      if isIndented != isExample { lines += isIndented ? [".RS", ".EX"] : [".EE", ".RE", ".IP"] }
      isExample = isIndented
      text(String(line.drop { $0 == " " }))
    }
    if isExample { lines += [".EE", ".RE"] }
  }

  private mutating func option(_ option: CommandSpec.Option) {
    lines += [".TP", Self.head(option)]
    text(option.summary.prefix(1).uppercased() + option.summary.dropFirst() + ".")
  }

  private mutating func topic(_ topic: HelpTopic) {
    section(topic.title.uppercased())
    topicText(topic)
  }

  /// A topic as `waymark help` shows it, narrow enough for the indentation of a manual page on 80 columns.
  private mutating func topicText(_ topic: HelpTopic) {
    var page = Page(width: 71, hasColor: false)
    page.explain(topic.body)
    verbatim(page.lines)
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
      ("~/.local/share/waymark", "The home of this user's node; waymark paths lists its files."),
      ("store.db", "The store, in the home. Any SQLite tool can open it read-only."),
      (
        "keys/device.key, root.key, issuer.key",
        "The keys, in the home. Keep a copy of this folder elsewhere."
      ),
      ("config.json", "Defaults for flags, in the home: name, listen, peers, discovery, followSync."),
    ] {
      lines += [".TP", ".I \(Self.escaped(name))"]
      text(meaning)
    }
  }

  /// The environment variables to document. A test compares them with the variables that the sources read.
  static let variables: [(name: String, meaning: String)] = [
    ("WAYMARK_HOME", "The home of the node, if --home is not given."),
    ("WAYMARK_NAME", "The name of a new device, if --name is not given."),
    ("WAYMARK_DISCOVERY", "on or off: whether the node looks for peers on its local networks."),
    (
      "WAYMARK_FOLLOW_SYNC",
      "on or off: whether this device turns sync on when another device does so everywhere."
    ),
    ("WAYMARK_LISTEN", "The address that the node listens on, if --listen is not given."),
    ("WAYMARK_PEERS", "Addresses to dial, separated by commas, if --peer is not given."),
    (
      "WAYMARK_PASSPHRASE_FILE",
      "A file whose first line is the passphrase of sealed keys, for use without a terminal."
    ),
    ("WAYMARK_LOG", "The log level of a node: debug, info, warning or error."),
    ("WAYMARK_LOG_FORMAT", "The log format: text, journal or json; default text, or journal under systemd."),
    ("NO_COLOR", "If not empty, the output has no colours."),
    ("CLICOLOR_FORCE", "If not empty and not 0, the output has colours even without a terminal."),
    (
      "WAYMARK_PAGER, PAGER",
      "The program that shows long output on a terminal page by page; less by default, none for cat."
    ),
    (
      "WAYMARK_FORCE_TTY",
      "A number of columns: standard output looks as on a terminal of this width, even in a pipe."
    ),
    ("NOTIFY_SOCKET, WATCHDOG_USEC, JOURNAL_STREAM", "Set by systemd, to receive the node's state and log."),
  ]

  // MARK: Markup

  private mutating func section(_ title: String) { lines.append(".SH \(Self.quoted(title))") }

  private mutating func text(_ text: some StringProtocol) { lines.append(Self.escaped(String(text))) }

  private mutating func verbatim(_ content: [String]) {
    let first = content.firstIndex { !$0.isEmpty } ?? 0
    lines += [".RS 2", ".EX"]
    lines += content.dropFirst(first).map { $0.isEmpty ? "" : Self.escaped($0) }
    lines += [".EE", ".RE"]
  }

  private static func head(_ option: CommandSpec.Option) -> String {
    let flag = "\\fB\(escaped(option.flag))\\fR"
    guard let placeholder = option.placeholder else { return flag }
    let value = "\\fI\(escaped(placeholder))\\fR"
    return option.takesNextWord ? "\(flag) \(value)" : "\(flag)[=\(value)]"
  }

  private static func quoted(_ text: String) -> String {
    "\"" + escaped(text).replacing("\"", with: "\\(dq") + "\""
  }

  /// Escapes everything that the formatter would interpret. Dashes become ones that can be copied and typed.
  static func escaped(_ text: String) -> String {
    var escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("'", with: "\\(aq")
      .replacing("…", with: "...").replacing("“", with: "\\(lq").replacing("”", with: "\\(rq")
      .replacing("·", with: "\\(bu").replacing("`", with: "\\(ga").replacing("^", with: "\\(ha")
      .replacing("~", with: "\\(ti")
    if escaped.hasPrefix(".") { escaped = "\\&" + escaped }
    return escaped
  }
}
