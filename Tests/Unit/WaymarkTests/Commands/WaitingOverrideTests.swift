import Engine
import Home
import JSONDocument
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// An override that waits for change sets of a peer that has gone, and the next override.
struct WaitingOverrideTests {
  /// Alice mirrors Bob, but his trip has not arrived when he goes. Her own trip, which Carol has too, would be deleted.
  private func waitingMirror() async throws -> TestCircle {
    let circle = try await TestCircle("alice", "bob", "carol", storage: .directories)
    let (alice, bob) = (circle["alice"], circle["bob"])
    await circle.partition(["alice", "carol"], ["bob"])
    _ = try await alice.save(Trip(name: "Rome"))
    _ = try await bob.save(Trip(name: "Oslo"))
    try await circle.settle()
    let (peer, wanted) = await bob.withCore { ($0.identity.device, $0.store.heads(.records)) }
    try await alice.withCore { core in
      let request = OverrideRequest(
        verb: "mirror", operation: OperationID(random16()), peer: peer, asked: core.wall(),
        revert: Revert(wanted: wanted, present: core.store.heads(.records)))
      try OverrideOperation.begin(request, on: core)
    }
    return circle
  }

  private func isWaiting(_ node: Node) async throws -> Bool {
    try await node.status().notices.contains { $0.reason == .overrideWaiting }
  }

  private func trips(_ node: Node) async throws -> [String] {
    try await node.records(Trip.all.sorted(by: \.name)).map(\.name)
  }

  @Test func `a mirror that waits is carried out when the peer comes back`() async throws {
    let circle = try await waitingMirror()
    #expect(try await isWaiting(circle["alice"]))
    await circle.heal()
    try await circle.settle()
    for name in circle.names { #expect(try await trips(circle[name]) == ["Oslo"], "\(name)") }
    await circle.close()
  }

  @Test(arguments: [("assert", [:]), ("mirror", ["from": "carol"])] as [(String, JSON)])
  func `a later override replaces one that waits, although it finds nothing to change`(
    command: String, arguments: JSON
  ) async throws {
    let circle = try await waitingMirror()
    let alice = circle["alice"]
    let question = await #expect(throws: WaymarkError.self) {
      try await circle.during { try await alice.run(command, arguments) }
    }
    #expect(question?.code == .needsYes)
    #expect(try await isWaiting(alice))
    var confirmed = arguments
    confirmed["yes"] = true
    let done = try await circle.during { [confirmed] in try await alice.run(command, confirmed) }
    #expect(done["operation"] == .null && done["backup"]?.string != nil, "\(done.text())")
    #expect(try await !isWaiting(alice))
    // Bob's trip arrives, and nothing is left that would delete Alice's.
    await circle.heal()
    try await circle.settle()
    for name in circle.names { #expect(try await trips(circle[name]) == ["Oslo", "Rome"], "\(name)") }
    await circle.close()
  }
}
