import Platform
import Console
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a node reports to the system that runs it, and the files with which the system runs it.
struct MachineTests {
  private let berlin = Zone(named: "GMT+2") ?? .utc
  private let noon: Int64 = 1_777_820_400_000

  @Test(arguments: [
    (LogFormat.text, "2026-05-03T17:00:00+02:00 warning peers     bob: no answer"),
    (.journal, "<4>peers: bob: no answer"),
    (
      .json,
      #"{"type":"log","time":"2026-05-03T17:00:00+02:00","level":"warning","area":"peers","message":"bob: no answer"}"#
    ),
  ])
  func `a line of the log suits its destination`(format: LogFormat, line: String) {
    #expect(format.line(.warning, "peers", "bob: no answer", now: noon, zone: berlin) == line)
  }

  @Test func `a log on a terminal shows times without dates`() {
    let line = LogFormat.text.line(.info, "peers", "hi", now: noon, isTerminal: true, zone: berlin)
    #expect(line == "17:00:00 info    peers     hi")
  }

  @Test func `each message stays on one line and each level has its priority`() {
    let priorities = NodeLog.Level.allCases.map { LogFormat.journal.line($0, "a", "b\nc", now: 0) }
    #expect(priorities == ["<7>a: b c", "<6>a: b c", "<4>a: b c", "<3>a: b c"])
  }

  @Test func `the journal is recognised by the file behind the descriptor`() throws {
    let file = FileNumber(device: 9, number: 17)
    #expect(LogFormat.fitting(["JOURNAL_STREAM": "9:17"], file) == .journal)
    #expect(LogFormat.fitting(["JOURNAL_STREAM": "9:18"], file) == .text, "standard error is redirected")
    for broken in ["", "9", "9:", "9:17:1", "a:b"] {
      #expect(LogFormat.fitting(["JOURNAL_STREAM": broken], file) == .text)
    }
    #expect(LogFormat.fitting([:], nil) == .text)
    let named = ["JOURNAL_STREAM": "9:17", "WAYMARK_LOG_FORMAT": "json"]
    #expect(try LogFormat.chosen(flag: nil, environment: named, standardError: file) == .json)
    #expect(try LogFormat.chosen(flag: "text", environment: named, standardError: file) == .text)
    let failure = #expect(throws: WaymarkError.self) {
      try LogFormat.chosen(flag: nil, environment: ["WAYMARK_LOG_FORMAT": "xml"])
    }
    #expect(failure?.message.description.contains("text, journal, json") == true)
  }

  @Test func `the final error has error priority in the journal, and is an object for programs`() {
    let failure = WaymarkError(exitCode: 1, code: .late, message: "It is so.", next: .waymark("help"))
    #expect(LogFormat.journal.line(failure) == "<3>It is so. Next: waymark help")
    #expect(LogFormat.json.line(failure)?.hasPrefix(#"{"type":"error","exit":1,"code":"late""#) == true)
    #expect(LogFormat.text.line(failure) == nil)
  }

  // MARK: Services

  private func service(_ manager: Service.Manager, home: String = "/home/ada/.local/share/waymark") -> Service
  {
    var service = Service(manager: manager, program: "/usr/bin/waymark", home: home, isUsualHome: false)
    service.passphraseFile = "/home/ada/a \"secret\" & more"
    return service
  }

  @Test(arguments: [
    ("/tmp/a", "tmp-a"), ("/home/ada/.way-mark", #"home-ada-.way\x2dmark"#), ("/", "-"), ("/.x", #"\x2ex"#),
    ("/tmp/é%", #"tmp-\xc3\xa9\x25"#),
  ])
  func `several homes have separate services`(path: String, name: String) {
    let service = Service(manager: .systemd, program: "/w", home: path, isUsualHome: false)
    #expect(service.unit == "waymark-\(name).service")
  }

  @Test func `special characters of systemd in a path are escaped`() {
    #expect(Service.quoted(#"/a b/50%/$HOME/"q"\x"#) == #""/a b/50%%/$$HOME/\"q\"\\x""#)
    let unit = service(.systemd, home: "/tmp/50% of $HOME").text
    #expect(unit.contains(#"ExecStart="/usr/bin/waymark" "--home" "/tmp/50%% of $$HOME" "run""#))
    #expect(unit.contains(#"Environment="WAYMARK_PASSPHRASE_FILE=/home/ada/a \"secret\" & more""#))
    #expect(unit.contains("Type=notify") && unit.contains("NoNewPrivileges=yes"))
  }

  @Test func `the unit of a package serves the default home of every user`() {
    let text = Service.packaged.text
    #expect(text.contains(#"ExecStart="/usr/bin/waymark" "--home" "%h/.local/share/waymark" "run""#))
    #expect(text.contains("Description=Waymark, trips and habits on all your devices\n"))
    // All other lines are those of a unit that is written for one user.
    let own = Service(
      manager: .systemd, program: "/usr/bin/waymark", home: "/home/ada/.local/share/waymark",
      isUsualHome: true)
    func lines(_ text: String) -> [Substring] {
      text.split(separator: "\n").filter { !$0.hasPrefix("ExecStart=") }.dropFirst().map(\.self)
    }
    #expect(lines(own.text) == lines(text))
  }

  @Test func `a user needs a unit unless that of a package does the same`() {
    func isCovered(
      home: String = "/home/ada/.local/share/waymark", isUsualHome: Bool = true, secret: String? = nil,
      manager: Service.Manager = .systemd, program: String = "/usr/bin/waymark",
      text: String? = Service.packaged.text
    ) -> Bool {
      var service = Service(
        manager: manager, program: "/bin/waymark", home: home, isUsualHome: isUsualHome)
      service.passphraseFile = secret
      return service.isCovered(byPackagedText: text, resolvedProgram: program, userDirectory: "/home/ada")
    }
    #expect(isCovered())
    #expect(!isCovered(home: "/srv/waymark", isUsualHome: false))
    #expect(!isCovered(home: "/home/ada/data/waymark"), "XDG_DATA_HOME is set, which systemd need not know")
    #expect(!isCovered(secret: "/home/ada/passphrase"))
    #expect(!isCovered(manager: .launchd))
    #expect(!isCovered(program: "/usr/local/bin/waymark"))
    #expect(!isCovered(text: nil))
    #expect(!isCovered(text: Service.packaged.text + "# edited"))
  }

  @Test func `special characters of a property list in a path are escaped`() throws {
    let text = service(.launchd, home: "/tmp/<a>&b").text
    let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
    let dictionary = try #require(list as? [String: Any])
    #expect(
      dictionary["ProgramArguments"] as? [String] == ["/usr/bin/waymark", "--home", "/tmp/<a>&b", "run"])
    let environment = dictionary["EnvironmentVariables"] as? [String: String]
    #expect(environment?["WAYMARK_PASSPHRASE_FILE"] == "/home/ada/a \"secret\" & more")
    #expect(dictionary["Label"] as? String == #"local.waymark-tmp-\x3ca\x3e\x26b"#)
  }

  @Test func `only the watched process answers the watchdog`() {
    var environment = ["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "6000000", "WATCHDOG_PID": "7"]
    #expect(ServiceNotifier(environment: environment, process: 7).watchdog == .seconds(6))
    #expect(ServiceNotifier(environment: environment, process: 8).watchdog == nil)
    environment["NOTIFY_SOCKET"] = nil
    #expect(ServiceNotifier(environment: environment, process: 7).watchdog == nil)
    #expect(!ServiceNotifier(environment: ["NOTIFY_SOCKET": "vsock:2:1"]).hasSocket)
    #expect(
      !ServiceNotifier(environment: ["NOTIFY_SOCKET": "/nobody"]).send("READY=1"), "and nothing happens")
    let long = ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]
    #expect(!ServiceNotifier(environment: long).send("READY=1"))
  }

  // MARK: The manual page

  @Test func `the manual page has every command, option, topic and variable`() throws {
    let page = ManualPage.text
    for spec in CommandTable.all {
      #expect(page.contains("\n.B \(ManualPage.escaped(spec.usage))\n"), "\(spec.name)")
    }
    for topic in HelpTopic.all where topic.name != "exit-codes" {
      let title = topic.text.prefix { $0 != "\n" }.uppercased()
      #expect(page.contains(".SH \"\(ManualPage.escaped(title))\""), "\(topic.name)")
    }
    let known = Set(ManualPage.variables.flatMap { $0.name.components(separatedBy: ", ") })
    let sources = try sources()
    for match in sources.matches(of: /"(WAYMARK_[A-Z_]+)"/) where !match.output.1.hasPrefix("WAYMARK_CLOCK_")
    {
      #expect(known.contains(String(match.output.1)), "\(match.output.1)")
    }
    for name in known { #expect(sources.contains("\"\(name)\""), "\(name) is read nowhere") }
  }

  private func sources() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var text = ""
    for module in ["Console", "Home", "NodeRuntime", "NodeOperations", "Waymark", "WaymarkCommand"] {
      let folder = root.appending(path: "Sources/\(module)")
      let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      for file in files where file.hasSuffix(".swift") && !file.hasSuffix("ManualPage.swift") {
        text += try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      }
    }
    return text
  }

  @Test func `nothing in the manual page is a formatter request by accident`() {
    #expect(ManualPage.escaped(".B 'x' a\\b -c") == "\\&.B \\(aqx\\(aq a\\eb \\-c")
    for line in ManualPage.text.split(separator: "\n") where line.hasPrefix("'") {
      Issue.record("a control line: \(line)")
    }
  }

  // MARK: Completions

  @Test(arguments: Completions.shells)
  func `every command and option is in the completions`(shell: String) {
    let script = Completions().script(for: shell)
    for spec in CommandTable.all {
      #expect(script.contains(spec.name), "\(spec.name)")
      for option in spec.options {
        let flag = shell == "fish" ? "-l \(option.flag.dropFirst(2)) " : option.flag
        #expect(script.contains(flag), "\(option.flag)")
      }
    }
  }

  @Test func `completion knows which commands have subcommands, and which imply one`() throws {
    let places = Completions().places
    func place(_ name: String) throws -> Completions.Position {
      try #require(places.first { $0.name == name }, "\(name)")
    }
    #expect(try place("keys").next.map(\.word) == ["passphrase"])
    #expect(try place("peers").next.map(\.word).contains("add"))
    #expect(try place("peers").spec?.name == "peers list")
    #expect(Completions().operands(try place("import")) == .file)
    #expect(
      Completions().operands(try place("logging level")) == .words(["debug", "info", "warning", "error"]))
    #expect(Completions().operands(try place("trip show")) == .live)
  }
}
