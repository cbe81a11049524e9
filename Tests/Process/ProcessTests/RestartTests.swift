import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Nodes end, by a signal or a kill, and resume where they were.
@Suite(.serialized) struct RestartTests {
  @Test func `SIGTERM and SIGINT end a node cleanly, and a restart resumes`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.waitForSync(with: alice)
    let incarnation = try await bob.status().document["incarnation"]
    #expect(try await bob.stop(SIGINT) == 130)
    #expect(!FileManager.default.fileExists(atPath: stage.path("bob/control.sock")))
    try await alice.text("trip", "add", "name=Rome")
    try await bob.start()
    try await alice.text("sync", "now")
    try await bob.waitForSync(with: alice)
    #expect(try await bob.status().count("trips") == 1)
    #expect(try await bob.stop(SIGTERM) == 0)
    try await bob.text("trip", "add", "name=Oslo")
    try await bob.start()
    try await alice.text("sync", "now")
    try await alice.waitForSync(with: bob)
    #expect(try await alice.status().count("trips") == 2)
    #expect(try await bob.status().document["incarnation"] == incarnation)
  }

  @Test func `an import that is killed is complete or absent, and can be repeated`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let file = try stage.write(SampleData.ritualist(seed: 21), "habits.json")
    for milliseconds in [400, 1_500, 3_000] {
      let child = try stage.start(
        .plain, ["--home", alice.home, "import", file], output: URL(filePath: stage.path("out")),
        errors: URL(filePath: stage.path("err")))
      try await Task.sleep(for: .milliseconds(milliseconds))
      child.signal(SIGKILL)
      _ = try await child.wait(seconds: 10, for: "the import")
      let logs = try await alice.status().count("habitEntries")
      #expect(logs == 0 || logs == 20_000, "\(logs) logs are there")
    }
    let summary = try await alice.json("import", file, seconds: 60)
    #expect(summary["skipped"] == 0)
    let status = try await alice.status()
    #expect(status.count("habitEntries") == 20_000)
    let again = try await alice.json("import", file, seconds: 60)
    #expect(again["added"] == 0 && again["updated"] == 0)
    #expect(try await alice.status().everything == status.everything)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `an import from standard input that is interrupted leaves no copy of it`(_ signal: Int32) async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let folder = stage.path("scratch")
    mkdir(folder, 0o700)
    // However fast an import is, it has to wait for a node that is suspended.
    try await alice.start()
    let node = try #require(alice.nodeID)
    kill(node, SIGSTOP)
    defer { kill(node, SIGCONT) }
    let (child, _, _) = try alice.begin(
      ["import", "-"], input: String(decoding: SampleData.ritualist(seed: 23), as: UTF8.self),
      environment: ["TMPDIR": folder])
    try await eventually("the input is stored") {
      try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty
    }
    child.signal(signal)
    let code = try await child.wait(seconds: 20, for: "the import after signal \(signal)")
    #expect(code == (signal == SIGINT ? 130 : -signal))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }

  @Test func `nodes that are killed during a sync converge after a restart`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let file = try stage.write(SampleData.ritualist(seed: 22), "habits.json")
    try await alice.text("import", file, seconds: 60)
    let wanted = try await alice.status()
    try await bob.start()
    for victim in [bob, alice] {
      try await alice.text("sync", "now")
      try await Task.sleep(for: .milliseconds(300))
      #expect(try await victim.stop(SIGKILL) == -SIGKILL)
      let status = try await victim.status()
      #expect(status.changeSets("records") <= wanted.changeSets("records"))
      #expect(status.document.otherNotices == [])
      try await victim.start()
    }
    try await bob.text("sync", "now")
    try await bob.waitForSync(with: alice, seconds: 60)
    let (mine, theirs) = (try await alice.status(), try await bob.status())
    #expect(mine.digest("records") == wanted.digest("records"))
    #expect(theirs.digest("records") == wanted.digest("records"))
    #expect(theirs.count("habitEntries") == 20_000)
    #expect(try await exports(bob) == exports(alice))
  }
}
