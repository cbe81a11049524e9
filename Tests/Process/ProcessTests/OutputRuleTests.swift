import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Where commands may write: one rule for all, with and without a running node.
@Suite(.serialized) struct OutputRuleTests {
  private let shell = "/bin/sh"

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func mode(_ path: String) throws -> Int? {
    (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
  }

  @Test(arguments: [false, true])
  func `no command replaces a file without a yes, or writes through a link or to a directory`(
    runs: Bool
  ) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    let attached = try stage.write([1, 2], "a.txt")
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("lodging", "add", "trip=Rome", "name=Casa")
    try await alice.text("attachment", "add", "file=\(attached)", "lodging=Casa")
    let id = try await alice.status().circle
    if !runs { try await alice.stop() }
    let file = try stage.write(Array("PRECIOUS".utf8), "keep.txt")
    symlink("keep.txt", stage.path("link"))
    symlink("nowhere", stage.path("dangling"))
    let commands: [(String) -> [String]] = [
      { ["export", "--format", "traveling-snails", "--output", $0] },
      { ["attachment", "show", "a.txt", "--output", $0] },
      { ["doctor", "--report", $0] },
      { ["backup", $0] },
      {
        [
          "issuer", "issue", "--key", circle.seller.key, "--circle", id, "--until", "2099-01-01", "--output",
          $0,
        ]
      },
    ]
    for command in commands {
      let name = command("")[0]
      let asked = try await alice.run(command(file))
      #expect(asked.code == 7, "\(name): \(asked)")
      expectPlainWords(asked.errors, ["keep.txt", "--yes"], name)
      for (place, wanted) in [
        ("new/", "directory"), ("link", "link"), ("dangling", "link"),
      ] {
        let refused = try await alice.run(command(stage.path("") + "/" + place) + ["--yes"])
        #expect(refused.code == 1, "\(name) to \(place): \(refused)")
        expectPlainWords(refused.errors, [wanted], name)
      }
      #expect(try text(file) == "PRECIOUS")
      #expect(!FileManager.default.fileExists(atPath: stage.path("nowhere")))
      // A directory means a file with the usual name in it.
      let directory = stage.path("directory-for-\(name)")
      mkdir(directory, 0o700)
      let inside = try await alice.run(command(directory + "/"))
      #expect(inside.code == 0 || name == "doctor", "\(name): \(inside)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1, "\(name)")
      #expect(try await alice.run(command(directory)).code == 7, "\(name)")
      let replaced = stage.path("replaced-by-\(name)")
      try Data("old".utf8).write(to: URL(filePath: replaced))
      chmod(replaced, 0o644)
      let done = try await alice.run(command(replaced) + ["--yes"])
      // `doctor` exits with 1 if it found something.
      #expect(done.code == 0 || name == "doctor", "\(name): \(done)")
      #expect(try Data(contentsOf: URL(filePath: replaced)) != Data("old".utf8))
      #expect(try mode(replaced) == 0o600, "\(name)")
    }
    #expect(
      try await alice.run(["metrics", "--write", file]).code == 7, "this file was not written by metrics")
    let collected = stage.path("waymark.prom")
    for _ in 0..<2 {
      let metrics = try await alice.run(["metrics", "--write", collected])
      #expect(metrics.code == 0, "metrics are for collectors and replace their own file")
    }
    #expect(try mode(collected) == 0o644)
  }

  @Test func `if the current directory was removed nothing is written to the root directory`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let gone = [shell, "-c", #"mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@""#, stage.path("gone")]
    let mark = "waymark-\(UUID().uuidString)"
    for words in [["backup", mark], ["export", "--format", "json", "--output", mark]] {
      let outcome = try await alice.run(words, under: gone)
      #expect(outcome.code == 1)
      expectPlainWords(outcome.errors, ["The current directory no longer exists."], words[0])
      #expect(!FileManager.default.fileExists(atPath: "/\(mark)"))
    }
    let absolute = try await alice.run(["backup", stage.path("whole.waymark")], under: gone)
    #expect(absolute.code == 0, "\(absolute.errors)")
  }

  @Test func `an empty home is an error, and without HOME the error says what to set`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    func run(_ words: [String], _ environment: [String]) async throws -> Outcome {
      // Without the --home that the device adds.
      let script =
        #"program="$1"; exec env -i \#(environment.joined(separator: " ")) "$program" \#(words.joined(separator: " "))"#
      return try await alice.run([], under: [shell, "-c", script, "sh"])
    }
    for (environment, words, wanted) in [
      ([String](), ["status"], "HOME"), (["HOME="], ["status"], "HOME"),
      (["HOME=relative"], ["status"], "HOME"),
      (["HOME=/tmp", "WAYMARK_HOME="], ["status"], "WAYMARK_HOME is empty"),
      (["HOME=/tmp"], ["--home", "''", "status"], "--home is empty"),
    ] {
      let outcome = try await run(words, environment)
      #expect(outcome.code == 2, "\(environment) \(words): \(outcome)")
      expectPlainWords(outcome.errors, [wanted, "--home DIR"], words.joined(separator: " "))
    }
    for words in [["version"], ["help"], ["completions", "bash"], ["issuer", "init", stage.path("issuer")]] {
      let outcome = try await run(words, [])
      #expect(outcome.code == 0, "\(words): \(outcome.errors)")
    }
  }

  @Test func `a change whose output can't be written is reported as done`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    var places = [[shell, "-c", #"exec "$@" >&-"#, "sh"]]
    if FileManager.default.fileExists(atPath: "/dev/full") {
      places.append([shell, "-c", #"exec "$@" >/dev/full"#, "sh"])
    }
    for (number, place) in places.enumerated() {
      let added = try await alice.run(["trip", "add", "name=Rome \(number)"], under: place)
      #expect(added.code == 9, "\(added)")
      expectPlainWords(added.errors, ["has been carried out", "waymark history"], "trip add")
      #expect(try await alice.status().count("trips") == Int64(number + 1))
      let file = stage.path("backup-\(number)")
      let stream = try await alice.run(["backup", file, "--json"], under: place)
      #expect(stream.code == 9, "a progress line that can't be written does not stop the work: \(stream)")
      #expect(FileManager.default.fileExists(atPath: file))
      let listed = try await alice.run(["trip", "list"], under: place)
      #expect(listed.code == 1, "\(listed)")
      #expect(!listed.errors.contains("carried out"))
    }
  }

  @Test func `exported folders are private to the user, and only an empty folder is filled`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("trip", "add", "name=Rome")
    mkdir(stage.path("empty"), 0o755)
    for place in ["new", "empty", "slash/"] {
      let folder = stage.path("") + "/" + place
      try await alice.text("export", "--format", "csv", "--output", folder)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!names.isEmpty && !names.contains { $0.contains(".part-") })
      for name in names { #expect(try mode(folder + "/" + name).map { $0 & 0o077 } == 0) }
      let again = try await alice.run(["export", "--format", "csv", "--output", folder, "--yes"])
      #expect(again.code == 1)
      expectPlainWords(again.errors, ["is not an empty folder"], "export")
    }
  }
}
