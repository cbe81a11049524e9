import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Which peer or record `why` means.
struct WhyCommandTests {
  @Test func `a word that names both a peer and a record is ambiguous, and this device is neither`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let alice = circle["alice"]
    #expect(try await alice.run("why", ["subject": "bob"])["subject"] == "peer")
    let device = try await circle["bob"].status().device
    let beginning = String(device.description.prefix(12))
    #expect(try await alice.run("why", ["subject": .string(beginning)])["subject"] == "peer")
    let own = await #expect(throws: WaymarkError.self) { try await alice.run("why", ["subject": "alice"]) }
    #expect(own?.code == .usage && own?.next?.description == "waymark status")
    let nothing = await #expect(throws: WaymarkError.self) { try await alice.run("why", ["subject": "Oslo"]) }
    #expect(nothing?.code == .notFound)
    _ = try await alice.save(Trip(name: "Rome"))
    #expect(try await alice.run("why", ["subject": "Rome"])["subject"] == "record")
    _ = try await alice.save(Trip(name: "bob"))
    let both = await #expect(throws: WaymarkError.self) { try await alice.run("why", ["subject": "bob"]) }
    #expect(both?.code == .ambiguous && both?.candidates.count == 2)
    #expect(both?.candidates.first == "peer bob  \(device)")
    // A record with the name of this device is a record.
    _ = try await alice.save(Trip(name: "alice"))
    #expect(try await alice.run("why", ["subject": "alice"])["subject"] == "record")
    await circle.close()
  }

  @Test func `an explanation arrives at the command line as the node gave it`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let alice = circle["alice"]
    _ = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await circle.settle()
    _ = try await alice.save(Trip(name: "Oslo"))
    for subject in ["bob", "Rome"] {
      let sent = try AnswerCoding.encode(try await alice.answer(Explain(subject: subject)).get())
      let read = try AnswerCoding.decode(Explain.Answer.self, from: sent)
      #expect(try AnswerCoding.encode(read) == sent, "\(subject)")
    }
    let explained = try await alice.answer(Explain(subject: "bob")).get()
    guard case .peer(let peer) = explained else {
      Issue.record("not a peer")
      return
    }
    #expect(peer.holds?.lacking == 1 && peer.peer.name == "bob")
    guard
      case .peer(let read) = try AnswerCoding.decode(
        Explain.Answer.self, from: try AnswerCoding.encode(explained))
    else {
      Issue.record("not read as a peer")
      return
    }
    #expect(read.holds == peer.holds && read.peer.state == peer.peer.state)
    #expect(read.causes.map(\.reason) == peer.causes.map(\.reason))
    await circle.close()
  }
}
