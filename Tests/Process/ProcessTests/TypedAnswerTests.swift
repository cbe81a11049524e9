import Foundation
import JSONDocument
import Testing

extension Device {
  /// Runs a command on a pseudo-terminal, types a line when it asks for an answer, and exits as the command does.
  private static let typing = """
    import os, pty, sys
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.argv[2], sys.argv[2:])
    said, isAnswered = b"", False
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
        isTyped = b"To confirm, type" in said and said.rstrip().endswith(b":")
        if not isAnswered and (isTyped or said.rstrip().endswith(b"[y/N]")):
            isAnswered = True
            os.write(terminal, sys.argv[1].encode() + b"\\n")
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """

  /// Runs a command at a terminal, where a person types an answer to its question.
  func run(_ arguments: [String], typing answer: String) async throws -> Outcome {
    try await run(
      arguments, environment: ["TERM": "xterm"], under: ["/usr/bin/python3", "-c", Self.typing, answer])
  }
}

/// Questions that a person answers at the terminal.
struct TypedAnswerTests {
  @Test func `a large undo that a person confirms keeps what was changed since`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    for value in 1...2 {
      let days = (0..<110).map { "Run,\(2_010 + $0 / 11)-05-\(10 + $0 % 11),\(value)\n" }.joined()
      try await alice.text(
        "import", try stage.write(Array("HabitName,CalendarDate,Value\n\(days)".utf8), "\(value).csv"))
    }
    try await alice.text("habit", "set", "Run", "5", "--date", "2010-05-10")
    func values() async throws -> [Int64: Int] {
      let entries = try await alice.json("entry", "list")["entries"]?.array ?? []
      return Dictionary(grouping: entries) { $0["value"]?.integer ?? -1 }.mapValues(\.count)
    }
    let operations = try await alice.json("history")["operations"]?.array ?? []
    let imported = try #require(operations.first { $0["verb"] == "import" }?["id"]?.string)
    let declined = try await alice.run(["undo", imported], typing: "n")
    #expect(declined.code == 7 && declined.output.contains("nothing was changed"), "\(declined)")
    #expect(declined.output.contains("109 entries changed"), "\(declined)")
    #expect(try await values() == [2: 109, 5: 1])
    let undone = try await alice.run(["undo", imported], typing: "y")
    #expect(undone.code == 0, "\(undone)")
    #expect(try await values() == [1: 109, 5: 1])
  }
}
