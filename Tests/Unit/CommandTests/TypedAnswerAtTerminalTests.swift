import Foundation
import JSONDocument
import Processes
import Synchronization
import Testing

/// Questions of a command at a terminal, and what follows from the answers that a person types.
@Suite(.serialized) struct TypedAnswerAtTerminalTests {
  private static let right = "correct horse battery staple"

  @Test func `a new passphrase is typed twice without being shown, and two that differ change nothing`()
    async throws
  {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      func protection() async throws -> JSON? {
        try await alice.run("paths", "--json").json["passphrases"]?["device"]
      }
      let terminal = try TypingTerminal()
      let set = ["keys", "passphrase", "set"]
      let other = "correct horse battery stable"
      let differing = try await terminal.run(
        alice, set, answers: [("New passphrase: ", Self.right), ("Repeat it: ", other)])
      #expect(differing.code == 2, "\(differing.text)")
      #expect(differing.text.contains("The passphrases differ; nothing was changed."), "\(differing.text)")
      #expect(!differing.text.contains("battery"), "\(differing.text)")
      #expect(terminal.echoes, "the terminal is as it was before")
      #expect(try await protection() == "plain")

      let same = try await terminal.run(
        alice, set, answers: [("New passphrase: ", Self.right), ("Repeat it: ", Self.right)])
      #expect(same.code == 0, "\(same.text)")
      #expect(!same.text.contains("battery") && terminal.echoes, "\(same.text)")
      #expect(try await protection() == "sealed")

      let opened = try await terminal.run(
        alice, ["status", "--json"], answers: [("device.key: ", Self.right)])
      #expect(opened.code == 0 && opened.output.contains("waymark.status/1"), "\(opened.text)")
      #expect(!opened.text.contains("Wrong passphrase"))
      #expect(opened.text.components(separatedBy: "Passphrase of ").count == 2, "\(opened.text)")

      let guess = (question: "device.key: ", answer: "some other words")
      let wrong = try await terminal.run(alice, ["status"], answers: [guess, guess, guess])
      #expect(wrong.code == 12, "\(wrong.text)")
      #expect(wrong.text.components(separatedBy: "Passphrase of ").count == 4, "asked three times")
      #expect(wrong.text.components(separatedBy: "Wrong passphrase. Try again.").count == 3)
    }
  }

  @Test func `each key file has its own attempts, and a text that is too short is one`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let (root, other) = (workshop.path("root.key"), "another horse battery staple")
      try FileManager.default.moveItem(atPath: alice.home + "/keys/root.key", toPath: root)
      let terminal = try TypingTerminal()
      for (words, passphrase) in [(["--key", root], other), ([], Self.right)] {
        let set = try await terminal.run(
          alice, ["keys", "passphrase", "set"] + words,
          answers: [("New passphrase: ", passphrase), ("Repeat it: ", passphrase)])
        #expect(set.code == 0, "\(set.text)")
      }
      let device = "keys/device.key: "
      let short = try await terminal.run(
        alice, ["status"], answers: [(device, "short"), (device, "short"), (device, "short")])
      #expect(short.code == 12 && short.text.contains("Wrong passphrase for"), "\(short.text)")
      let issued = try await terminal.run(
        alice, ["premium", "self", "--root-key", root, "--yes"],
        answers: [
          (device, "short"), (device, "some other words"), (device, Self.right), ("/root.key: ", other),
        ])
      #expect(issued.code == 0, "\(issued.text)")
      #expect(issued.text.contains("/root.key: "), "\(issued.text)")
    }
  }

  @Test func `what can't be undone is shown first, and then needs the word that is asked for`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      try await alice.run("trip", "add", "name=Rome")
      let terminal = try TypingTerminal()
      for answer in ["yes", "rome", "Romee", ""] {
        let declined = try await terminal.run(alice, ["erase", "Rome"], answers: [("Rome: ", answer)])
        #expect(declined.code == 7, "\(answer): \(declined.text)")
        #expect(declined.text.contains("trip Rome visible"), "\(declined.text)")
        #expect(declined.text.contains("nothing was changed"), "\(declined.text)")
      }
      #expect(try await alice.status()["counts"]?["trips"] == 1)
      let erased = try await terminal.run(alice, ["erase", "Rome"], answers: [("Rome: ", "Rome")])
      #expect(erased.code == 0, "\(erased.text)")
      #expect(try await alice.status()["counts"]?["trips"] == 0)
    }
  }

  @Test func `a question lists what it is about, and only a yes counts as one`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      let folder = alice.home + "/backups"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for number in 1...2 {
        try Data(repeating: 1, count: 1_000).write(to: URL(filePath: "\(folder)/before-\(number).waymark"))
      }
      func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder) }
      let terminal = try TypingTerminal()
      let prune = ["backups", "prune", "--keep", "0"]
      for answer in ["", "n", "yes please"] {
        let declined = try await terminal.run(alice, prune, answers: [("[y/N] ", answer)])
        #expect(declined.code == 7, "\(answer): \(declined.text)")
        #expect(declined.text.contains("before-1.waymark"), "\(declined.text)")
        #expect(declined.text.contains("Remove 2 backups (2.0 kB)?"), "\(declined.text)")
        #expect(try names().count == 2, "\(answer)")
      }
      let done = try await terminal.run(alice, prune, answers: [("[y/N] ", "Y")])
      #expect(done.code == 0 && done.text.contains("Removed 2 backups"), "\(done.text)")
      #expect(try names().isEmpty)
    }
  }

  @Test func `a large undo that a person confirms keeps what was changed since`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      for value in 1...2 {
        let days = (0..<110).map { "Run,\(2_010 + $0 / 11)-05-\(10 + $0 % 11),\(value)\n" }.joined()
        let file = workshop.path("\(value).csv")
        try "HabitName,CalendarDate,Value\n\(days)".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try await alice.run("import", file).code == 0)
      }
      try await alice.run("habit", "set", "Run", "5", "--date", "2010-05-10")
      func values() async throws -> [Int64: Int] {
        let entries = try await alice.run("entry", "list", "--json").json["entries"]?.array ?? []
        return Dictionary(grouping: entries) { $0["value"]?.integer ?? -1 }.mapValues(\.count)
      }
      let operations = try await alice.run("history", "--json").json["operations"]?.array ?? []
      let imported = try #require(operations.first { $0["verb"] == "import" }?["id"]?.string)
      let terminal = try TypingTerminal()
      let declined = try await terminal.run(alice, ["undo", imported], answers: [("[y/N] ", "n")])
      #expect(declined.code == 7 && declined.text.contains("nothing was changed"), "\(declined.text)")
      #expect(declined.text.contains("109 entries changed"), "\(declined.text)")
      #expect(try await values() == [2: 109, 5: 1])
      let undone = try await terminal.run(alice, ["undo", imported], answers: [("[y/N] ", "y")])
      #expect(undone.code == 0, "\(undone.text)")
      #expect(try await values() == [1: 109, 5: 1])
    }
  }

  @Test func `a join without a ticket asks for one`() async throws {
    try await Workshop.with { workshop in
      let bob = workshop.device("bob")
      let terminal = try TypingTerminal()
      let outcome = try await terminal.run(
        bob, ["join"], answers: [("Ticket (from waymark invite): ", "nonsense")])
      #expect(outcome.code == 2, "\(outcome.text)")
      #expect(outcome.text.contains("This is not a Waymark ticket."), "\(outcome.text)")
      #expect(!FileManager.default.fileExists(atPath: bob.home + "/store.db"))
    }
  }

  @Test func `a QR code is drawn only where it fits, with a note where it may be too high`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let node = try await alice.start()
      func invite(columns: Int, rows: Int) async throws -> TypingTerminal.Outcome {
        let terminal = try TypingTerminal(columns: columns, rows: rows)
        return try await terminal.run(alice, ["invite", "--qr"], answers: [])
      }
      let black = "\u{1B}[38;5;16"
      let narrow = try await invite(columns: 40, rows: 100)
      #expect(narrow.code == 0 && !narrow.text.contains(black), "\(narrow.text)")
      #expect(narrow.output.hasPrefix("waymark1"), "the ticket is printed in either case")
      let found = narrow.text.firstMatch(of: #/needs ([0-9]+) columns, and this terminal has 40/#)
      let columns = try #require(found.flatMap { Int($0.output.1) }, "\(narrow.text)")
      #expect(!narrow.text.contains("taller"))
      // Two rows of modules take one line, and the prompt of the shell takes one more.
      let lines = (columns + 1) / 2
      let low = try await invite(columns: columns, rows: lines)
      #expect(low.text.contains(black) && low.text.contains("make the window taller"), "\(low.text)")
      let high = try await invite(columns: columns, rows: lines + 1)
      #expect(high.text.contains(black) && !high.text.contains("make the window"), "\(high.text)")
      #expect(try await node.stop() == 0)
    }
  }
}

/// A terminal at which a command runs, and at which the test types.
private final class TypingTerminal: Sendable {
  struct Outcome {
    let code: Int32
    /// What was shown on the terminal, with each run of white space as one space.
    let text: String
    /// What went to standard output, which is not the terminal.
    let output: String
  }

  private let master: Int32
  private let slave: Int32
  private let path: String
  private let received = Mutex<[UInt8]>([])

  init(columns: Int = 80, rows: Int = 24) throws {
    let opened = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var (isLocked, number): (Int32, UInt32) = (0, 0)
    // TIOCSPTLCK and TIOCGPTN of Linux, which Swift does not import.
    let codes = [ioctl(opened, 0x4004_5431, &isLocked), ioctl(opened, 0x8004_5430, &number)]
    try #require(codes == [0, 0])
    var size = winsize()
    (size.ws_col, size.ws_row) = (UInt16(columns), UInt16(rows))
    let isSized = ioctl(opened, UInt(TIOCSWINSZ), &size) == 0
    try #require(isSized)
    _ = fcntl(opened, F_SETFL, O_NONBLOCK)
    let name = "/dev/pts/\(number)"
    (master, slave, path) = (opened, open(name, O_RDWR | O_NOCTTY), name)
  }

  deinit {
    close(slave)
    close(master)
  }

  /// Whether the terminal shows what is typed.
  var echoes: Bool {
    var state = termios()
    return tcgetattr(slave, &state) == 0 && state.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Runs a command at this terminal, and types each answer once its question is there.
  func run(
    _ device: TestDevice, _ words: [String], answers: [(question: String, answer: String)]
  ) async throws -> Outcome {
    received.withLock { $0 = [] }
    let output = URL(filePath: device.workshop.path(UUID().uuidString))
    let environment = ProcessInfo.processInfo.environment
      .merging(["TERM": "xterm", "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let child = try Child(
      device.build.program, ["--home", device.home] + words, environment: environment,
      input: URL(filePath: path), output: output, errors: URL(filePath: path))
    defer { child.signal(SIGKILL) }
    for (question, answer) in answers {
      try await until("the question “\(question)” is there") {
        shown().contains(question) || child.code != nil
      }
      guard child.code == nil else { break }
      let count = received.withLock { $0.count }
      earlier.withLock { $0 = count }
      let typed = Array((answer + "\n").utf8)
      #expect(write(master, typed, typed.count) == typed.count)
    }
    try await until("`waymark \(words.joined(separator: " "))` has ended", seconds: 60) {
      _ = shown()
      return child.code != nil
    }
    _ = shown()
    earlier.withLock { $0 = 0 }
    let text = oneLine([String(decoding: received.withLock { $0 }, as: UTF8.self)])
    return Outcome(
      code: child.code ?? -1, text: text, output: try String(contentsOf: output, encoding: .utf8))
  }

  /// How much had been shown when the last answer was typed.
  private let earlier = Mutex(0)

  /// What has been shown since the last answer.
  private func shown() -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(master, &buffer, buffer.count)
      guard count > 0 else { break }
      received.withLock { $0 += buffer[..<count] }
    }
    let start = earlier.withLock { $0 }
    return received.withLock { String(decoding: $0.dropFirst(start), as: UTF8.self) }
  }
}
