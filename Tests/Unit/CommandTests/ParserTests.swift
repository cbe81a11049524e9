import Console
import Control
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

struct ParserTests {
  private func parse(_ line: String...) throws -> Invocation {
    try CommandParser(directory: "/here").parse(line)
  }

  private func failure(_ line: String...) -> WaymarkError? {
    do {
      _ = try CommandParser(directory: "/here").parse(line)
      return nil
    } catch {
      return error as? WaymarkError
    }
  }

  @Test(arguments: [
    ("log list", "entry list"), ("help log list", "help entry list"),
    ("log list --help", "entry list --help"),
    ("log level debug", "logging level debug"), ("help log level", "help logging level"),
  ])
  func `a former name of a command still works`(former: String, current: String) throws {
    let parser = CommandParser(directory: "/here")
    func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
    #expect(try parser.parse(words(former)) == parser.parse(words(current)))
    #expect(throws: WaymarkError.self) { try parser.parse(["entry", "level"]) }
  }

  @Test func `words before the operands name the command`() throws {
    let invocation = try parse("trip", "show", "Rome")
    #expect(invocation.request == ControlRequest(command: "trip.show", arguments: ["id": "Rome"]))
  }

  @Test func `global options may appear anywhere on the line`() throws {
    for line in [
      ["--home", "a", "--json", "status"], ["status", "--json", "--home=a"],
      ["--json", "status", "--home", "a"],
    ] {
      let invocation = try CommandParser(directory: "/here").parse(line)
      #expect(invocation.words == ["status"])
      #expect(invocation.options == GlobalOptions(home: "/here/a", json: true))
    }
  }

  @Test func `an empty home stays empty to be refused, and does not become the working directory`() throws {
    #expect(try parse("--home", "", "status").options.home == "")
    #expect(throws: WaymarkError.self) { try Home.resolve(flag: "", environment: ["HOME": "/tmp"]) }
    #expect(try parse("--home", "a", "status").options.home == "/here/a")
  }

  @Test func `a group without a subcommand means its default one`() throws {
    #expect(try parse("peers").words == ["peers", "list"])
    #expect(try parse("onboarding", "--json").words == ["onboarding", "show"])
  }

  @Test func `fields become pairs in the order in which they are typed`() throws {
    let invocation = try parse("lodging", "add", "trip=Rome", "name=A=B", "notes=")
    #expect(invocation.arguments["fields"] == [["trip", "Rome"], ["name", "A=B"], ["notes", ""]])
  }

  @Test func `paths are absolute in the request, and a dash still means standard input`() throws {
    #expect(try parse("import", "a.json", "/b.json").arguments["files"] == ["/here/a.json", "/b.json"])
    #expect(try parse("entitlement", "install", "-").arguments["file"] == "-")
  }

  @Test func `durations become milliseconds`() throws {
    #expect(try parse("wait", "--timeout", "2m").arguments["timeoutMilliseconds"] == 120_000)
    #expect(failure("wait", "--timeout", "soon")?.exitCode == ExitCode.usage)
    #expect(failure("wait", "--timeout", "99999999999999999999s")?.exitCode == ExitCode.usage)
  }

  @Test func `negative numbers are values and a double dash ends the options`() throws {
    #expect(try parse("habit", "set", "Water", "-5").arguments["value"] == "-5")
    #expect(try parse("trip", "show", "--", "--json").arguments["id"] == "--json")
  }

  @Test func `options that may be repeated are collected`() throws {
    let invocation = try parse("run", "--peer", "a:1", "--no-discovery", "--peer=b:2")
    #expect(invocation.arguments == ["peer": ["a:1", "b:2"], "noDiscovery": true])
  }

  @Test func `yes is passed to the command`() throws {
    #expect(try parse("trip", "delete", "Rome", "--yes").arguments["yes"] == true)
  }

  @Test func `an empty line and a request for help show the help`() throws {
    #expect(try parse().words == ["help"])
    #expect(try parse("trip", "--help").arguments["topic"] == ["trip"])
    #expect(try parse("-h").words == ["help"])
    #expect(try parse("--version").words == ["version"])
    #expect(try parse("--version", "--json").options.json == true)
  }

  @Test(arguments: [
    (["stauts"], "Did you mean `waymark status`?"), (["trip", "lst"], "Did you mean `waymark trip list`?"),
    (["trip"], "needs one of: list, show, add, edit, delete, restore, timeline"),
    (["trip", "show"], "needs ID"), (["trip", "show", "a", "b"], "Unexpected argument “b”"),
    (["trip", "edit", "Rome", "Roma"], "expected NAME=VALUE"),
    (["--jsno", "status"], "Did you mean --json?"),
    (["status", "--peer", "x"], "`waymark status` has no option --peer"),
    (["wait", "--peer"], "--peer needs a value"),
    (["status", "--json=yes"], "--json takes no value"),
    (["invite", "--role", "boss"], "expected admin or member"),
    (["status", "--foo"], "There is no option --foo."),
    (["trip", "list", "--delted"], "Did you mean --deleted?"),
    (["trip", "add", "--name=Rome"], "write name=VALUE"),
    (["wait", "--peer", "a", "--peer", "b"], "--peer is given twice"), (["status", "-x"], "no option -x"),
  ])
  func `a mistake is named, with what to type instead`(line: [String], says: String) throws {
    let failure = #expect(throws: WaymarkError.self) { try CommandParser(directory: "/").parse(line) }
    #expect(failure?.exitCode == ExitCode.usage)
    #expect(failure?.message.description.contains(says) == true, "\(failure?.message ?? "nothing")")
    #expect(failure?.next?.description.hasPrefix("waymark help") == true, "each error refers to a help page")
  }

  @Test func `sync takes over a peer's records, or gives all devices the own ones, by plain words`() throws {
    let take = try parse("sync", "--take", "phone", "--preview")
    #expect(
      take.words == ["mirror"] && take.arguments["from"] == "phone" && take.arguments["preview"] == true)
    #expect(try parse("sync", "--push", "--only", "trip").words == ["assert"])
    #expect(try parse("sync").words == ["sync", "status"])
    #expect(throws: WaymarkError.self) { try parse("sync", "on", "--push") }
  }

  @Test func `an option takes a value in every command or in none`() {
    let options = GlobalOptions.specs + CommandTable.all.flatMap(\.options)
    for (flag, same) in Dictionary(grouping: options, by: \.flag) {
      #expect(Set(same.map { $0.placeholder == nil }).count == 1, "\(flag)")
    }
  }

  @Test func `a flag whose value may be left out takes it only after an equals sign`() throws {
    #expect(try parse("invite", "--qr").arguments["qr"] == "half")
    #expect(try parse("invite", "--qr=full").arguments["qr"] == "full")
    #expect(try parse("invite", "--qr", "--role", "admin").arguments["role"] == "admin")
    #expect(
      failure("invite", "--qr", "full")?.message.description.contains("Unexpected argument “full”") == true)
    #expect(failure("invite", "--qr=small")?.message.description.contains("expected half or full") == true)
  }

  @Test(arguments: [80, 100])
  func `every command and topic has a page of help that fits, with nothing cut off`(width: Int) {
    let topics =
      CommandTable.all.map(\.words) + HelpTopic.all.map { [$0.name] } + [[]]
      + FieldPages.topics
    for topic in topics {
      var page = Page(width: width, hasColor: false)
      #expect(HelpPages.write(topic, into: &page), "\(topic)")
      for line in page.lines {
        #expect(line.displayWidth <= width, "\(topic): \(line)")
        #expect(line.firstMatch(of: /[a-z ]…$/) == nil, "\(topic): \(line)")
      }
      #expect(!page.lines.isEmpty)
    }
  }

  @Test func `help on a word that is both a command and a topic explains both`() {
    var page = Page(width: 80, hasColor: false)
    #expect(HelpPages.write(["sync"], into: &page))
    #expect(page.text.contains("two lanes") && page.text.contains("sync now"))
  }

  @Test func `help on adding a record names its fields`() {
    var page = Page(width: 80, hasColor: false)
    #expect(HelpPages.write(["lodging", "add"], into: &page))
    #expect(page.text.contains("startTZ") && page.text.contains("currency"))
  }
}

/// The examples of help parse.
struct ExampleTests {
  @Test func `every command has an example, which uses that command`() throws {
    for spec in CommandTable.all {
      let example = try #require(spec.example, "`waymark \(spec.name)` has no example")
      let words = Self.words(example)
      #expect(words.first == "waymark")
      let invocation = try CommandParser(directory: "/").parse(Array(words.dropFirst()))
      #expect(invocation.words == spec.words, "\(example)")
    }
  }

  /// The words of a line as a shell splits them, with single quotes only.
  static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for character in line {
      switch character {
      case "'":
        isQuoted.toggle()
        word = word ?? ""
      case " " where !isQuoted:
        if let word { words.append(word) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }
}
