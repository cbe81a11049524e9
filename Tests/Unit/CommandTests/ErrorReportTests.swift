import Control
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a command reports of a failure, where it can, and to whom.
struct ErrorReportTests {
  @Test func `messages that can't be written change neither what a command does nor its exit code`()
    async throws
  {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      try await alice.run("trip", "add", "name=Rome")
      let mistyped = try await alice.shell("$W trip list --nonsense 2> /dev/full")
      #expect(mistyped.code == 2)
      let edited = try await alice.shell("$W trip edit Rome name=Oslo 2> /dev/full")
      #expect(edited.code == 0)
      #expect(try await alice.run("trip", "list").output.contains("Oslo"))
    }
  }

  @Test(arguments: [(20, nil), (21, "  … and 1 more"), (23, "  … and 3 more")] as [(Int, String?)])
  func `a failure lists twenty candidates and counts the rest, and a document has them all`(
    count: Int, rest: String?
  ) async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      let folder = alice.home + "/backups"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for number in 1...count {
        try Data(repeating: 1, count: 10).write(to: URL(filePath: "\(folder)/before-\(number).waymark"))
      }
      let told = try await alice.run("backups", "prune", "--keep", "0")
      #expect(told.code == 7)
      let lines = told.errors.split(separator: "\n").map(String.init)
      #expect(lines.count(where: { $0.hasPrefix("  before-") }) == 20, "\(told.errors)")
      #expect(lines.first(where: { $0.contains("…") }) == rest, "\(told.errors)")
      #expect(lines.last?.hasPrefix("Next: ") == true, "\(told.errors)")
      let document = try await alice.run("backups", "prune", "--keep", "0", "--json")
      #expect(document.json["candidates"]?.array?.count == count, "\(document)")
      #expect(document.errors.isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == count)
    }
  }

  @Test func `the document of a failure has candidates only if there are some`() throws {
    let none = try JSON.parse(ErrorDocument(.usage("No.")).line)
    #expect(none["schema"] == "waymark.error/1" && none["type"] == "error" && none["exit"] == 2)
    #expect(none["candidates"] == nil)
    let some = try JSON.parse(ErrorDocument(.ambiguous("trip", "Rome", ["a", "b"])).line)
    #expect(some["candidates"] == ["a", "b"])
  }

  @Test(arguments: [
    ("verify --repart", "--repair"), ("doctor --repart", "--report"), ("trip list --repart", "--report"),
  ])
  func `a mistyped option is compared with those of its command first`(line: String, meant: String) {
    let failure = #expect(throws: WaymarkError.self) {
      try CommandParser(directory: "/here").parse(line.split(separator: " ").map(String.init))
    }
    #expect(failure?.message.description == "There is no option --repart. Did you mean \(meant)?")
  }

  @Test func `an empty variable for the log is as good as none`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      let outcome = try await alice.shell("WAYMARK_LOG= $W run")
      #expect(outcome.code == 10 && outcome.errors.contains("no Waymark store"), "\(outcome.errors)")
    }
  }

  @Test func `an interrupted restore says whether the new store was being put in place`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let home = Home(path: folder.path)
    let restore = try ControlRequest(command: "restore", arguments: ["file": "/a.waymark"])
      .command(as: RestoreBackup.self)
    #expect(restore.interruption(at: nil, home) == .nothingChanged)
    try FileManager.default.createDirectory(atPath: home.staging, withIntermediateDirectories: true)
    #expect(restore.interruption(at: nil, home) == .nothingChanged)
    try Data().write(to: URL(filePath: home.staging + "/ready"))
    let told = restore.interruption(at: nil, home)
    #expect(told.message.contains("while the restored store was being put in place"), "\(told.message)")
    #expect(told.next?.description == "waymark status")
  }
}
