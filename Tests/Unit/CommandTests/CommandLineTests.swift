import Console
import Control
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// From a typed line to a request: short forms, options, help, and what is refused before a command begins.
struct CommandLineTests {
  private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

  private func parse(_ line: String) throws -> Invocation {
    try CommandParser(directory: "/here").parse(words(line))
  }

  private func context(home: Home = Home(path: "/nonexistent")) -> CommandContext {
    let terminal = Terminal(noColor: true, environment: [:])
    return CommandContext(
      home: home, terminal: terminal, environment: [:],
      events: EventPrinter(terminal, printsJSON: false), printsJSON: false)
  }

  private func spec(_ name: String) throws -> CommandSpec {
    try #require(CommandTable.all.first { $0.name == name }, "there is no command \(name)")
  }

  // MARK: Parsing

  @Test(arguments: [
    ("entitlement show", "premium show"), ("help entitlement show", "help premium show"),
    ("trips rm Rome", "trip delete Rome"), ("help trips rm", "help trip delete"),
    ("habits ls", "habit list"), ("trips timeline Rome", "trip timeline Rome"),
    ("organizations add Hertz", "organization add name=Hertz"),
  ])
  func `a former name and a plural work with every action`(short: String, long: String) throws {
    #expect(try parse(short) == parse(long))
  }

  @Test func `each general option sets only itself, and the value of an option may hold equals signs`() throws
  {
    #expect(try parse("status --no-color").options == GlobalOptions(noColor: true))
    #expect(try parse("status --no-pager").options == GlobalOptions(noPager: true))
    #expect(try parse("status --json").options == GlobalOptions(json: true))
    #expect(try parse("--yes status --no-pager").options == GlobalOptions(noPager: true, yes: true))
    #expect(try parse("run --peer=a=b --page").arguments == ["peer": ["a=b"], "page": "127.0.0.1:0"])
    #expect(try parse("run --page=[::1]:80").arguments == ["page": "[::1]:80"])
  }

  @Test(arguments: [
    ("trip list --foo", "trip list"), ("trip --foo", "trip"), ("--foo", ""), ("nonsense --foo", ""),
    ("peers --foo", "peers"), ("trip show", "trip show"), ("trip show a b", "trip show"),
    ("trip lst", "trip"), ("trip", "trip"), ("nonsense", ""), ("issuer issue", "issuer issue"),
    ("wait --timeout soon", "wait"), ("trip list --limit", "trip list"), ("trip add =Rome", "trip add"),
    ("status --json=yes", "status"), ("wait --peer a --peer b", "wait"),
  ])
  func `a mistake refers to the help page of as many words as are known`(line: String, page: String) {
    let failure = #expect(throws: WaymarkError.self) {
      try CommandParser(directory: "/here").parse(line.split(separator: " ").map(String.init))
    }
    #expect(failure?.next?.description == (page.isEmpty ? "waymark help" : "waymark help \(page)"))
  }

  @Test func `all required options that are missing are named at once`() {
    func message(_ line: String) -> String? {
      let failure = #expect(throws: WaymarkError.self) { try parse(line) }
      return failure?.message.description
    }
    let none = message("issuer issue")
    #expect(none?.hasPrefix("`waymark issuer issue` needs --key FILE and --until TIME. Usage: ") == true)
    let one = message("issuer issue --key k")
    #expect(one?.hasPrefix("`waymark issuer issue` needs --until TIME. Usage: ") == true)
  }

  @Test func `the usage shows what may be left out, repeated or joined with an equals sign`() throws {
    #expect(try spec("peers list").usage == "waymark peers [list]")
    #expect(try spec("trip add").usage == "waymark trip add FIELD=VALUE…")
    #expect(try spec("erase").usage.hasPrefix("waymark erase [RECORD…] [--field FIELD] [--trash]"))
    #expect(
      try spec("invite").usage
        == "waymark invite [--role admin|member] [--expires 10m] [--qr[=full]] [--code] [--root-key FILE]")
    #expect(
      try spec("issuer issue").usage
        == "waymark issuer issue --key FILE [--circle ID] [--device ID]… --until TIME [--from TIME] "
        + "[--output FILE]")
  }

  @Test func `every command of the table has a type that performs it, and no other word has one`() {
    for spec in CommandTable.all where !["help", "run"].contains(spec.name) {
      let isTyped = CommandTable.typed(spec.requestName) != nil
      #expect(isTyped, "\(spec.name)")
    }
    for name in ["boat.list", "trip.fly", "trip", "list", ""] {
      let isTyped = CommandTable.typed(name) != nil
      #expect(!isTyped, "\(name)")
    }
  }

  // MARK: Help

  @Test func `help explains the command that the words begin with, a topic, or the fields of a kind`() {
    func page(_ topic: String...) -> String? {
      var page = Page(width: 100, hasColor: false)
      return HelpPages.write(topic, into: &page) ? page.text : nil
    }
    let adding = page("trip", "add", "Rome")
    #expect(adding == page("trip", "add"))
    #expect(adding?.hasPrefix("waymark trip add FIELD=VALUE…\n") == true)
    #expect(adding?.contains("waymark trip edit") == false)
    #expect(page("trip", "fly") == page("trip"))
    #expect(page("exit", "codes") != nil && page("exit", "codes") == page("exit-codes"))
    #expect(page("fields", "trips")?.hasPrefix("Fields of trips\n") == true)
    #expect(page("fields", "trips") == page("fields", "trip"))
    #expect(page("fields", "log") == page("fields", "entry"))
    #expect(page("nonsense") == nil)
    #expect(HelpPages.suggestion(for: "stauts") == "status")
    #expect(HelpPages.suggestion(for: "revokin") == "revoking")
    #expect(HelpPages.suggestion(for: "xyzzy") == nil)
  }

  // MARK: Requests

  @Test func `only a list of records that a person sees is limited, unless a limit is typed`() throws {
    func limit(_ line: String, isShown: Bool = true) throws -> JSON? {
      var terminal = Terminal(noColor: true, environment: [:])
      terminal.output.isShown = isShown
      let run = try CommandRun(
        StandardStreams(parse(line)), terminal, ["HOME": "/nonexistent", "TERM": "dumb"])
      let request = try run.request(run.invocation)
      #expect(request.arguments["zone"]?.string?.isEmpty == false, "\(line)")
      return request.arguments["limit"]
    }
    #expect(try limit("trip list") == "1000")
    #expect(try limit("entry list --habit Read") == "1000")
    #expect(try limit("trip list --limit 5") == "5")
    #expect(try limit("trip list --limit 2000") == "2000")
    for line in ["trip list --json", "trip list --ndjson", "conflicts list", "members list", "history"] {
      #expect(try limit(line) == nil, "\(line)")
    }
    #expect(try limit("trip list", isShown: false) == nil)
  }

  @Test func `a dash is standard output where there is one, and a name that is no file is refused`() throws {
    func argument(_ key: String, _ line: String) throws -> JSON? {
      try StandardStreams(parse(line)).invocation.arguments[key]
    }
    #expect(try argument("output", "export --format json --output -")?.isNull == true)
    #expect(try argument("write", "metrics --write -")?.isNull == true)
    for command in ["issuer issue --until 2027-12-31", "issuer from-purchase /a"] {
      #expect(try argument("output", "\(command) --key /k --output -")?.isNull == true, "\(command)")
    }
    #expect(try argument("output", "export --format json --output a") == "/here/a")
    // There, a dash means standard input.
    #expect(try argument("file", "keys passphrase set --file -") == "-")
    for (line, name) in [
      ("backup -", "FILE"), ("issuer issue --key - --until 2027-12-31", "--key"),
      ("page --output -", "--output"), ("keys passphrase set --key -", "--key"),
    ] {
      let failure = #expect(throws: WaymarkError.self) { try StandardStreams(parse(line)) }
      #expect(failure?.exitCode == ExitCode.usage)
      #expect(failure?.message.description == "\(name) can't be “-” here: it must be a file.")
    }
  }

  @Test func `a device that is read becomes a file, once, and keeps its name in messages`() throws {
    let streams = try StandardStreams(parse("import /dev/null /dev/null b.json"))
    let files = (streams.invocation.arguments["files"]?.array ?? []).compactMap(\.string)
    try #require(files.count == 3)
    #expect(files[0] == files[1] && files[0] != "/dev/null" && files[2] == "/here/b.json")
    #expect(FileManager.default.fileExists(atPath: files[0]))
    let failure = WaymarkError(
      exitCode: ExitCode.failed, code: .import, message: "\(files[0]) is empty.",
      next: "ls -l \(files[0])", field: "files", candidates: ["a"])
    let named = streams.naming(failure)
    #expect(named.message.description == "/dev/null is empty.")
    #expect(named.next?.description == "ls -l /dev/null")
    #expect(named.exitCode == ExitCode.failed && named.reason == .import)
    #expect(named.field == "files" && named.candidates == ["a"])
    streams.end()
    #expect(!FileManager.default.fileExists(atPath: files[0]))
  }

  // MARK: Refusals

  private func refusal<Asked: TerminalCommand>(_ type: Asked.Type, _ line: String) async throws -> String? {
    let command = try parse(line).request.command(as: type)
    do {
      _ = try await command.run(context())
      return nil
    } catch let failure as WaymarkError {
      return failure.exitCode == ExitCode.usage ? failure.message.description : "\(failure.reason)"
    }
  }

  @Test func `options that exclude each other are refused before anything happens`() async throws {
    #expect(
      try await refusal(Invite.self, "invite --qr --code")
        == "`invite` shows a ticket as a QR code or a code of six digits, not both.")
    for option in ["--trip Rome", "--output a.html", "--no-open"] {
      #expect(
        try await refusal(ShowPage.self, "page --live \(option)")
          == "--live can't be used with --trip, --output or --no-open.")
    }
    #expect(
      try await refusal(JoinCircle.self, "join waymark1abc --root-key k")
        == "`join` takes a ticket or --root-key, not both.")
    for option in ["--at 192.168.1.20:7433", "--on nas"] {
      #expect(
        try await refusal(JoinCircle.self, "join waymark1abc \(option)")
          == "--at and --on are for a code of six digits, not for a ticket.")
    }
    #expect(
      try await refusal(JoinCircle.self, "join 482913 --at 192.168.1.20:7433 --on nas")
        == "Type either --at or --on, not both.")
    #expect(
      try await refusal(RestoreBackup.self, "restore a.waymark --root-key k --new-circle")
        == "--root-key rejoins the circle of the backup and --new-circle leaves it: use only one of them.")
  }

  @Test func `a failure gets a next step only if a help page helps, and keeps everything else`() throws {
    let invocation = try CommandParser(directory: "/").parse(["--home", "/a b", "trip", "show", "Rome"])
    func next(_ failure: WaymarkError) -> String? { invocation.completing(failure).next?.description }
    #expect(next(.notFound("trip", "Rome")) == "waymark help trip show")
    #expect(next(.ambiguous("trip", "Rome", ["a", "b"])) == "waymark help ids")
    // A step of its own comes first, with the home that was typed.
    #expect(
      next(.notFound("trip", "Rome", next: .waymark("trip list"))) == "waymark --home '/a b' trip list")
    #expect(next(WaymarkError(exitCode: ExitCode.failed, code: .busy, message: "It is busy.")) == nil)
    #expect(next(WaymarkError(exitCode: ExitCode.needsYes, code: .needsYes, message: "Sure?")) == nil)
    let failure = WaymarkError(
      exitCode: ExitCode.usage, code: .badValue, message: "It can't be.", field: "name",
      candidates: ["a", "b"])
    let completed = invocation.completing(failure)
    #expect(completed.exitCode == ExitCode.usage && completed.reason == .badValue)
    #expect(completed.message == "It can't be." && completed.field == "name")
    #expect(completed.candidates == ["a", "b"])
  }

  @Test func `any error becomes one that names the file or what to run`() {
    struct Odd: Error {}
    let odd = Application.failure(Odd())
    #expect(odd.exitCode == ExitCode.failed && odd.reason == .unexpected)
    #expect(odd.next?.description == "waymark doctor")
    let own = WaymarkError.usage("No.", next: .waymark("help"))
    #expect(Application.failure(own) == own)
    let missing = "/nonexistent/\(UUID().uuidString)"
    do {
      _ = try FileManager.default.attributesOfItem(atPath: missing)
      Issue.record("\(missing) exists")
    } catch {
      let failure = Application.failure(error)
      #expect(failure.exitCode == ExitCode.failed && failure.reason == .file)
      #expect(failure.message.description.contains(missing), "\(failure.message)")
    }
  }

  // MARK: Passphrases and backups

  @Test func `a passphrase in a file is tried once for each key, and read only once`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)")
      .path
    try Data("four words nobody guesses\nanother line\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let passphrases = TerminalPassphrases(Terminal(noColor: true, environment: [:]), file: path)
    let source = passphrases.source
    let first = try #require(try source.passphrase("/a.key", 0))
    // Otherwise a wrong passphrase would be tried forever.
    let again = try source.passphrase("/a.key", 1)
    #expect(again == nil)
    try FileManager.default.removeItem(atPath: path)
    let other = try source.passphrase("/b.key", 0)
    #expect(other == first)
  }

  @Test func `old backups are removed after a yes only, and never those with names of the user`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let home = Home(path: folder.path)
    try FileManager.default.createDirectory(atPath: home.backups, withIntermediateDirectories: true)
    for (number, name) in ["mine", "before-1", "before-2", "before-3", "before-4", "before-5"].enumerated() {
      let path = "\(home.backups)/\(name).waymark"
      try Data(repeating: 1, count: 1_000).write(to: URL(filePath: path))
      let made = Date(timeIntervalSince1970: Double(number + 1) * 1_000)
      try FileManager.default.setAttributes([.modificationDate: made], ofItemAtPath: path)
    }
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: home.backups).sorted()
    }
    func prune(_ keep: String?, yes: Bool?) throws -> PruneBackups.Answer {
      var command = PruneBackups()
      (command.keep, command.yes) = (keep, yes)
      return try command.run(context(home: home))
    }
    let asked = #expect(throws: WaymarkError.self) { try prune(nil, yes: nil) }
    #expect(asked?.reason == .needsYes && asked?.exitCode == ExitCode.needsYes)
    #expect(asked?.message.description == "Remove 2 backups (2.0 kB)?")
    #expect(asked?.candidates == ["before-2.waymark", "before-1.waymark"])
    for keep in ["-1", "x", ""] {
      let refused = #expect(throws: WaymarkError.self) { try prune(keep, yes: true) }
      #expect(refused?.reason == .badValue && refused?.field == "--keep", "\(keep)")
    }
    #expect(try names().count == 6)
    let done = try prune(nil, yes: true)
    #expect(done.removed == ["before-2.waymark", "before-1.waymark"] && done.bytes == 2_000)
    #expect(
      try names() == ["before-3.waymark", "before-4.waymark", "before-5.waymark", "mine.waymark"])
    let nothing = try prune("3", yes: nil)
    #expect(nothing.removed.isEmpty && nothing.bytes == 0)
    _ = try prune("0", yes: true)
    #expect(try names() == ["mine.waymark"])
  }
}
