import Foundation
import JSONDocument
import Reasons
import SQLite
import Testing
import WaymarkTesting

@testable import NodeOperations
@testable import Waymark

/// Comparison of stores that have folded the same change sets.
@Suite struct VerifyTests {
  /// Alice and Bob in sync, with three trips.
  private func inSync() async throws -> SocketCircle {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    for trip in ["Rome", "Oslo", "Turin"] {
      try await circle.run("alice", "trip.add", fields("name=\(trip)"))
    }
    try await circle.inSync()
    return circle
  }

  /// Closes a node, modifies its store, and opens it again.
  private func damage(_ circle: SocketCircle, _ name: String, _ sql: String) async throws -> Node {
    let home = circle[name].home
    await circle[name].close()
    let connection = try Connection(.file(home.store))
    try connection.setUp()
    try connection.execute(sql)
    let node = try Node(home: home)
    let alice = try #require(try await circle.run("alice", "status")["listen"]?.string)
    try await node.serve(listen: "127.0.0.1:0", peers: [alice])
    _ = try await node.run("wait", ["lane": "settings", "timeoutMilliseconds": 10_000])
    return node
  }

  private func perform(_ node: Node, _ command: String, _ arguments: JSON = [:]) async throws -> JSON {
    try await node.run(command, arguments)
  }

  private func verdict(_ document: JSON) -> JSON? { document["peers"]?[0]?["lanes"]?["records"] }

  @Test func `identical stores are equal in every lane`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    for arguments: JSON in [[:], ["peer": "bob"]] {
      let document = try await circle.run("alice", "verify", arguments)
      #expect(document["verdict"] == "equal")
      #expect(
        document["peers"]?[0]?["lanes"] == [
          "settings": ["verdict": "equal"], "records": ["verdict": "equal"],
        ])
    }
  }

  @Test func `a closed lane is not compared, and reported as closed`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    try await circle.run("bob", "sync.off")
    let here = try await circle.run("bob", "verify")
    #expect(here["verdict"] == "equal")
    #expect([verdict(here)?["verdict"], verdict(here)?["reason"]] == ["not_compared", "sync_off"])
    let there = try await circle.run("alice", "verify")
    #expect([there["verdict"], verdict(there)?["reason"]] == ["equal", "peer_sync_off"])
  }

  @Test func `a damaged row is named from both sides`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    // Rome takes the stamps of Oslo; the digest changes when the row is written next.
    let bob = try await damage(
      circle, "bob",
      """
      UPDATE trip_rows SET stamps = (SELECT stamps FROM trip_rows WHERE name = 'Oslo') WHERE name = 'Rome'
      """)
    _ = try await perform(bob, "trip.edit", fields("notes=old", id: "Rome"))
    try await eventually("Bob's node notices") {
      try await perform(bob, "status")["notices"]?.array?.contains {
        $0["reason"] == "digest_mismatch" && $0["next"] == "waymark verify --deep --repair, here and on alice"
      } ?? false
    }
    for document in [try await perform(bob, "verify"), try await circle.run("alice", "verify")] {
      #expect(document["verdict"] == "differs")
      #expect(verdict(document)?["records"]?.array?.map { $0["name"] } == ["Rome"])
    }
    #expect(try await perform(bob, "verify")["peers"]?[0]?["next"] == "waymark verify --deep --repair")
    await bob.close()
  }

  @Test func `an unreadable row is named too`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    let bob = try await damage(
      circle, "bob",
      "UPDATE trip_rows SET stamps = x'ff' WHERE name = 'Turin'; DELETE FROM digests WHERE lane = 1")
    let id = try await circle.run("alice", "trip.show", ["id": "Turin"])["id"]
    let document = try await perform(bob, "verify", ["peer": "alice"])
    let records = verdict(document)?["records"]?.array
    #expect(records?.map { $0["id"] } == [id] && records?.map { $0["name"] } == [.null])
    await bob.close()
  }

  @Test func `a wrong digest is distinguished from a wrong record`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    let bob = try await damage(circle, "bob", "UPDATE digests SET sum = zeroblob(32) WHERE lane = 1")
    let document = try await perform(bob, "verify")
    #expect([document["verdict"], verdict(document)?["records"]] == ["differs", []])
    #expect(verdict(document)?["digestWrongHere"]?.array?.count == 1)
    #expect(verdict(document)?["digestWrongThere"] == [])
    let there = try await circle.run("alice", "verify")
    #expect(verdict(there)?["digestWrongThere"] == verdict(document)?["digestWrongHere"])
    #expect(there["peers"]?[0]?["next"] == "waymark verify --deep --repair, on bob")
    await bob.close()
  }

  @Test func `an offline peer is not in sync, and an unknown one is not found`() async throws {
    let circle = try await inSync()
    defer { circle.end() }
    await circle["bob"].close()
    try await eventually("Bob is gone") {
      try await circle.run("alice", "peers.list")["peers"]?[0]?["state"] == "offline"
    }
    for arguments: JSON in [[:], ["peer": "bob"]] {
      #expect(try await circle.failure("alice", "verify", arguments)?.exitCode == ExitCode.notInSync)
    }
    #expect(try await circle.failure("alice", "verify", ["peer": "eve"])?.exitCode == ExitCode.notFound)
  }

  private func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
    for _ in 0..<100 {
      if try await holds() { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("waited 10 seconds: \(what)")
  }
}
