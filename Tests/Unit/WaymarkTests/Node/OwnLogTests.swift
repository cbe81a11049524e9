import Engine
import Foundation
import Home
import JSONDocument
import Membership
import Replication
import Storage
import Testing
import WaymarkTesting
import Wire

@testable import Waymark

/// What a node remembers of its own logs from one run to the next.
struct OwnLogTests {
  @Test func `a log with a fork proved before a crash is left at the next start`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let incarnation = try await alice.run("status")["incarnation"]
    try await alice.node.keepForkProof()
    await alice.close()
    let again = try Node(home: alice.home, wall: { TestNode.morning })
    #expect(try await again.run("status")["incarnation"] != incarnation)
    await again.close()
  }

  @Test func `sets of a released lane count as sent at the next start, others stay unsent`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync()
    // Both lanes are open and released.
    #expect(await circle["alice"].unsentCount() == nil)
    await circle["alice"].close()
    let alone = try Node(home: circle.home("alice"))
    #expect(await alone.unsentCount() == 0)
    for name in ["Oslo", "Bern"] {
      _ = try await alone.run("trip.add", fields("name=\(name)"))
    }
    #expect(await alone.unsentCount() == 2)
    await alone.close()
    let again = try Node(home: circle.home("alice"))
    #expect(await again.unsentCount() == 2)
    await again.close()
    try await circle.start("alice")
    try await circle.until("Bob has all of it") {
      try await circle.run("bob", "status")["counts"]?["trips"] == 3
    }
    #expect(await circle["alice"].unsentCount() == nil)
  }
}

extension Node {
  /// The number of own records sets that are withheld; nil if the lane was released.
  fileprivate func unsentCount() -> UInt64? {
    let log = LogKey(device: identity.device, incarnation: replicator.incarnation, lane: .records)
    return replicator.unsent.sent[log].map { store.newestHead(of: log).sequence - $0.sequence }
  }

  /// Stores the proof of a fork as if the node had ended right after creating it.
  fileprivate func keepForkProof() throws {
    let log = LogKey(device: identity.device, incarnation: replicator.incarnation, lane: .records)
    let sets = try (1...2).map { number in
      var author = Author(
        position: try store.authorPosition(circle: circle.id, log: log), key: identity.signing,
        seed: random16)
      let operation = OperationDraft(id: OperationID(Bytes16(0, UInt64(number))), verb: "test")
      return try #require(try author.write([], operation: operation, wall: wall()).first)
    }
    let (one, other) = sets[0].id < sets[1].id ? (sets[0], sets[1]) : (sets[1], sets[0])
    let proof = try ForkProof.statement(
      circle: circle.id, (one.raw.header, one.raw.signature), (other.raw.header, other.raw.signature))
    try store.saveStatements([(proof.id, proof.bytes)])
  }
}
