import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// `status --watch` on a terminal: a pseudo-terminal with a simulated user.
@Suite(.serialized) struct WatchTests {
  @Test func `the display follows the terminal size, and Ctrl-C restores the terminal`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await alice.text("peers", "rename", "bob", "the-old-desktop-in-the-study-upstairs")
    try await bob.start()
    try await bob.waitForSync(with: alice)
    let said = stage.folder.appending(path: "terminal")
    let child = try Child(
      URL(filePath: "/usr/bin/env"),
      ["python3", "-c", Self.person, Build.plain.program.path, "--home", alice.home, "status", "--watch"],
      environment: [
        "PATH": "/usr/bin:/bin", "HOME": stage.path("nobody"), "TZ": "UTC", "TERM": "xterm",
        "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
      ],
      input: nil, output: said, errors: said)
    let code = try await child.wait(seconds: 60, for: "the user at the terminal")
    let text = String(decoding: try Data(contentsOf: said), as: UTF8.self)
    #expect(code == 130, "\(text)")
    let parts = text.components(separatedBy: "<resized>")
    try #require(parts.count == 2, "\(text)")
    #expect(parts[0].hasPrefix("\u{1B}[?1049h\u{1B}[?25l"), "it uses the alternate screen, without a cursor")
    let row = "the-old-desktop-in-the-study-upstairs  settings only"
    #expect(parts[0].contains("the-old-des") && !parts[0].contains(row), "cut at 60 columns")
    #expect(parts[1].contains(row), "and not at 100")
    #expect(parts[1].contains("\u{1B}[32m"), "a terminal has colours")
    let last = parts[1].components(separatedBy: "\u{1B}[?25h\u{1B}[?1049l")
    #expect(last.count == 2, "the cursor and the screen come back once")
    #expect(last.last?.contains("the-old-desktop") == true, "and the last picture stays")
    #expect(
      parts[0].contains("\u{1B}[H") && !parts[0].contains("\u{1B}[2J\u{1B}[H\u{1B}[2J"), "drawn in place")
  }

  @Test func `without a node the watch sees changes by commands, and a node that starts`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let (watch, output, _) = try alice.begin(["status", "--watch"])
    func last() throws -> JSON {
      let lines = try String(contentsOf: output, encoding: .utf8).split(separator: "\n")
      return try lines.last.map { try JSON.parse(String($0)) } ?? .null
    }
    try await eventually("the watch prints something") { try last()["running"] == false }
    // It refreshes only when something has changed; constant refreshing would block these commands.
    for number in 1...5 { try await alice.text("trip", "add", "name=Trip of \(number)") }
    try await eventually("the watch has seen all") { try last()["counts"]?["trips"] == 5 }
    try await alice.start()
    try await eventually("the watch has seen the node") { try last()["running"] == true }
    try await alice.stop()
    try await eventually("the watch has seen it stop") { try last()["running"] == false }
    watch.signal(SIGINT)
    #expect(try await watch.wait(seconds: 10, for: "the watch after Ctrl-C") == 130)
  }

  /// Reads what the program draws, makes the terminal wider, and presses Ctrl-C.
  private static let person = """
    import fcntl, os, pty, select, struct, sys, termios, time

    def size(columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    child, terminal = pty.fork()
    if child == 0:
        time.sleep(0.3)
        os.execv(sys.argv[1], sys.argv[1:])
    size(60)
    seen = b""

    def read(marks, seconds=20):
        global seen
        found, end = b"", time.monotonic() + seconds
        while not all(mark in found for mark in marks) and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    found += os.read(terminal, 65536)
                except OSError:
                    break
        seen += found

    read([b"PEER", b"nothing", b"\\x1b[J"], 10)
    seen += b"<resized>"
    size(100)
    read([b"upstairs", b"\\x1b[J"])
    os.write(terminal, b"\\x03")
    read([b"\\x1b[?1049l", b"never-said"], 3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stdout.buffer.write(seen)
    sys.exit(code)
    """
}
