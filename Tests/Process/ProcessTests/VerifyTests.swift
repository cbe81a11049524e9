import Foundation
import JSONDocument
import Testing
import Wire

/// `verify` and previews between processes: their exit codes, and a peer that hangs.
@Suite struct VerifyTests {
  @Test func `the exit code says whether stores are equal, and a peer that hangs is not waited for`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    #expect(try await bob.run(["verify"]).code == 3)
    #expect(try await bob.run(["sync", "on", "--preview"]).code == 3)
    #expect(try await alice.run(["verify"]).code == 5, "no peer is connected to compare with")
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    let equal = try await bob.run(["verify", "alice"])
    #expect(
      equal.code == 0 && equal.output == "alice: settings equal · records equal\n" && equal.errors.isEmpty)

    let hung = try #require(bob.nodeID)
    kill(hung, SIGSTOP)
    let silent = try await alice.run(["verify", "bob", "--json"], seconds: 60)
    kill(hung, SIGCONT)
    #expect(silent.code == 5 && silent.json["verdict"] == "unknown")
    let settings = silent.json["peers"]?[0]?["lanes"]?["settings"]
    #expect(settings?["reason"] == "no_answer")
    #expect(settings?["text"] == "bob did not answer within 10 seconds.")
    #expect(try await alice.run(["verify", "bob"]).code == 0, "late answers are ignored")
  }
}
