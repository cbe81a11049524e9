import JSONDocument
import Model
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Which undos are confirmed first.
struct LargeUndoTests {
  @Test func `an undo of a hundred records happens at once, and one of more asks`() async throws {
    let alice = try await TestNode.founder("alice")
    for (count, asks) in [(100, false), (101, true)] {
      try await alice.node.change("many") { changes in
        for number in 1...count { changes.save(Trip(name: "Trip \(number)")) }
      }
      let refused = try await failure(alice, "undo")
      let (reason, left): (Reason?, JSON) = asks ? (.largeUndo, 101) : (nil, 0)
      #expect(refused?.reason == reason, "\(count)")
      #expect(try await alice.run("status")["counts"]?["trips"] == left)
    }
    let preview = try await alice.run("undo", ["preview": true])
    #expect(preview["preview"] == true && preview["changes"]?[0]?["deleted"] == 101)
    #expect(try await alice.run("status")["counts"]?["trips"] == 101)
    try await alice.run("undo", ["yes": true])
    #expect(try await alice.run("status")["counts"]?["trips"] == 0)
    await alice.close()
  }

  @Test(arguments: ["added", "changed", "deleted", "restored"])
  func `an undo asks whatever it does to more than a hundred records`(effect: String) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    var document = try await alice.run("undo", ["preview": true])
    await alice.close()
    var change = try #require(document["changes"]?[0])
    #expect(change["deleted"] == 1)
    for (count, asks) in [(100, false), (101, true)] {
      for each in ["added", "changed", "deleted", "restored"] {
        change[each] = .number(each == effect ? "\(count)" : "0")
      }
      document["changes"] = .array([change])
      #expect(
        try (AnswerCoding.decode(UndoSummary.self, from: document).question(in: .builtIn) != nil) == asks,
        "\(count)")
    }
  }

  @Test(arguments: [
    ("join", "brought along"), ("restore", "from before the restore"), ("mirror", "the mirror reverted"),
    ("assert", "the assert reverted"),
  ])
  func `an undo of a whole state asks for even one record, and says what it means`(
    verb: String, means: String
  ) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    var document = try await alice.run("undo", ["preview": true])
    await alice.close()
    func question() throws -> WaymarkError? {
      try AnswerCoding.decode(UndoSummary.self, from: document).question(in: .builtIn)
    }
    #expect(try question() == nil, "the addition of a trip")
    document["operation"]?["verb"] = .string(verb)
    let asked = try #require(try question())
    #expect(asked.reason == .largeUndo && asked.exitCode == ExitCode.needsYes)
    let message = asked.message.description
    #expect(
      message.contains(means) && message.contains("1 record will") && message.contains("1 trip deleted"))
    let id = try #require(document["operation"]?["id"]?.string).prefix(8)
    #expect(
      asked.next?.description == "waymark undo \(id) --preview, then waymark undo \(id) --yes", "\(asked)")
    document["changes"] = []
    #expect(try question() == nil, "nothing would change")
  }
}
