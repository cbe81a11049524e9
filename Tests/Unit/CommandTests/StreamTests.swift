import Console
import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// Standard streams, pipes and devices, as a shell passes them to the program.
@Suite(.serialized) struct StreamTests {
  private func founder(_ workshop: Workshop) async throws -> TestDevice {
    let alice = workshop.device("alice")
    #expect(try await alice.run("init", "--name", "alice").code == 0)
    return alice
  }

  private static let run = "run --listen 127.0.0.1:0 --no-discovery"

  @Test func `output that can't be written ends a command with an error message`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      let full = try await alice.shell("$W export --format json > /dev/full")
      #expect(full.code == 1)
      #expect(full.errors.contains("Can't write to standard output: no space left"), "\(full.errors)")
      let closed = try await alice.shell("$W export --format json >&-")
      #expect(closed.code == 1)
      #expect(closed.errors.contains("Can't write to standard output"), "\(closed.errors)")
      let unread = try await alice.shell("$W export --format json | true")
      #expect(unread.code == 0 && unread.errors.isEmpty, "\(unread.errors)")
    }
  }

  @Test func `a non-blocking output receives everything all the same`() async throws {
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK)
    let reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    var terminal = Terminal(noColor: true, environment: [:])
    terminal.output.descriptor = ends[1]
    let text = String(repeating: "0123456789", count: 100_000)
    async let read = Task.detached { try reader.readToEnd() }.value
    await Task.detached { [terminal, writer = ends[1]] in
      terminal.raw(text)
      close(writer)
    }.value
    #expect(try await read == Data(text.utf8))
  }

  @Test func `a node keeps running when its output is no longer read`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      let child = try alice.begin(
        "mkfifo $H.pipe; head -n 1 $H.pipe > $H.line & exec $W \(Self.run) 2> $H.pipe")
      try await until("the node serves") { try await alice.status()["running"] == true }
      for level in ["debug", "info", "debug", "info"] {
        #expect(try await alice.run("logging", "level", level).code == 0)
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(FileManager.default.fileExists(atPath: alice.home + ".line"))
      #expect(try await alice.status()["running"] == true)
      child.signal(SIGTERM)
      #expect(try await child.wait(seconds: 20, for: "the node to end") == 0)
    }
  }

  @Test func `a node without standard streams does not write its log into one of its own files`() async throws
  {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      let child = try alice.begin("exec $W \(Self.run) <&- >&- 2>&-")
      try await until("the node serves") { try await alice.status()["running"] == true }
      #expect(try await alice.run("logging", "level", "debug").code == 0)
      let lock = try String(contentsOfFile: alice.home + "/store.db.lock", encoding: .utf8)
      #expect(lock == "\(child.id)\n")
      child.signal(SIGTERM)
      #expect(try await child.wait(seconds: 20, for: "the node to end") == 0)
    }
  }

  @Test func `a wait of over a second is shown on a terminal only, and Ctrl-C says what holds`() async throws
  {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      let bob = workshop.device("bob")
      let node = try await alice.start()
      let ticket = try await alice.run("invite").output.trimmingCharacters(in: .newlines)
      let terminal = try PseudoTerminal()
      // A suspended node accepts connections and never answers.
      node.child.signal(SIGSTOP)
      let join = "timeout --preserve-status -s INT 2.5 $W join \(ticket)"
      let shown = try await bob.shell("\(join) 2> \(terminal.path)")
      let piped = try await bob.shell(join)
      node.child.signal(SIGCONT)
      let text = terminal.read()
      #expect(shown.code == 130 && piped.code == 130)
      #expect(text.contains("Waiting for the inviting device"), "\(text)")
      #expect(text.contains("\r\u{1B}[KInterrupted. The ticket remains valid for this device"), "\(text)")
      #expect(piped.errors.hasPrefix("Interrupted. The ticket remains valid"), "\(piped.errors)")
      let joined = try await bob.run("join", "--name", "bob")
      #expect(joined.code == 0, "\(joined.errors)")
      #expect(try await node.stop() == 0)
    }
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func `a node closes its store on the signals that end it`(signal: Int32) async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      #expect(try await alice.start().stop(signal) == 0)
      #expect(try await alice.status()["running"] == false)
    }
  }

  @Test(arguments: [false, true])
  func `a dash means standard input and output, and pipes are read and written`(runs: Bool) async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      var size = SampleData.Size()
      (size.habits, size.logs) = (3, 30)
      let file = workshop.path("export.json")
      try Data(SampleData.ritualist(seed: 1, size: size)).write(to: URL(filePath: file))
      if runs { _ = try await alice.start() }
      #expect(try await alice.shell("cat \(file) | $W import -").code == 0)
      #expect(try await alice.status()["counts"]?["habitEntries"] == 30)
      for again in ["$W import /dev/stdin < \(file)", "mkfifo $H.in; cat \(file) > $H.in & $W import $H.in"] {
        let outcome = try await alice.shell(again)
        #expect(outcome.code == 0, "\(again): \(outcome.errors)")
      }
      let bad = try await alice.shell("echo x | $W import -")
      #expect(bad.code == 1 && bad.errors.contains("standard input"), "\(bad.errors)")
      // Each contains its time of creation, always with the same number of digits.
      let whole = try await alice.run("export", "--format", "json").output.count
      #expect(whole > 1_000)
      let folder = workshop.folder.path
      for line in [
        "cd \(folder); $W export --format json --output -",
        "$W export --format json --output /dev/fd/1 | cat",
        "mkfifo $H.out; timeout 20 cat $H.out & $W export --format json --output $H.out; wait",
      ] {
        #expect(try await alice.shell(line).output.count == whole, "\(line)")
      }
      #expect(!FileManager.default.fileExists(atPath: workshop.path("-")))
    }
  }

  @Test func `a dash without a meaning is refused, and so is a pipe where a file is needed`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      for words in [
        ["backup", "-"], ["restore", "-"], ["doctor", "--report", "-"],
      ] {
        let outcome = try await alice.run(arguments: words)
        #expect(outcome.code == 2 && outcome.errors.contains("must be a file"), "\(words): \(outcome.errors)")
      }
      let node = try await alice.start()
      let pipe = workshop.path("pipe")
      mkfifo(pipe, 0o600)
      for words in [
        ["issuer", "trust", pipe], ["profile", "set", "avatar=\(pipe)"],
      ] {
        let outcome = try await alice.run(arguments: words)
        #expect(outcome.code == 1 && outcome.errors.contains("is a pipe"), "\(words): \(outcome.errors)")
      }
      #expect(try await node.stop() == 0)
    }
  }

  /// The other end of a terminal that the test holds, unlocked.
  fileprivate static func terminal(of master: Int32) -> String? {
    var (isLocked, number): (Int32, UInt32) = (0, 0)
    // TIOCSPTLCK and TIOCGPTN of Linux, which Swift does not import.
    guard ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
      return nil
    }
    return "/dev/pts/\(number)"
  }

  @Test func `a signal during the passphrase prompt restores the terminal`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
      defer { close(master) }
      let name = try #require(Self.terminal(of: master))
      let slave = open(name, O_RDWR | O_NOCTTY)
      defer { close(slave) }
      func echoes() -> Bool {
        var state = termios()
        return tcgetattr(slave, &state) == 0 && state.c_lflag & tcflag_t(ECHO) != 0
      }
      #expect(echoes())
      for signal in [SIGTERM, SIGINT, SIGHUP] {
        let child = try Child(
          alice.build.program, ["--home", alice.home, "keys", "passphrase", "set"],
          environment: ["TERM": "xterm"], input: URL(filePath: name),
          output: URL(filePath: workshop.path("said")),
          errors: URL(filePath: name))
        try await until("the question is there") { !echoes() || child.code != nil }
        child.signal(signal)
        #expect(try await child.wait(seconds: 20, for: "the command to end") == -signal)
        #expect(echoes())
      }
    }
  }
}

extension TestDevice {
  /// A shell command: `$W` is the program on this device's home, `$H` the home itself.
  func begin(_ line: String, _ output: String = "/dev/null", _ errors: String = "/dev/null") throws -> Child {
    let script = "H='\(home)'; W='\(build.program.path) --home \(home)'; \(line)"
    return try Child(
      URL(filePath: "/bin/sh"), ["-c", script], environment: ProcessInfo.processInfo.environment, input: nil,
      output: URL(filePath: output), errors: URL(filePath: errors))
  }

  func shell(_ line: String) async throws -> Outcome {
    let marker = workshop.path(UUID().uuidString)
    let child = try begin(line, marker + "-output", marker + "-errors")
    let code = try await child.wait(seconds: 60, for: line)
    return Outcome(
      code: code, output: try String(contentsOfFile: marker + "-output", encoding: .utf8),
      errors: try String(contentsOfFile: marker + "-errors", encoding: .utf8))
  }
}

/// A terminal that the test reads.
private final class PseudoTerminal {
  private let descriptor: Int32
  let path: String

  init() throws {
    let opened = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    let name = try #require(StreamTests.terminal(of: opened))
    _ = fcntl(opened, F_SETFL, O_NONBLOCK)
    (descriptor, path) = (opened, name)
  }

  deinit { close(descriptor) }

  /// Returns what has been written to the terminal.
  func read() -> String {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<count]
    }
  }
}
