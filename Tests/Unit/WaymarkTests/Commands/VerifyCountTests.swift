import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// How many change sets a comparison of two devices finds missing, and on which side.
struct VerifyCountTests {
  @Test func `a change that waits for its time is missing here, and ahead there`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync()
    // An hour ahead: Bob holds what Alice writes now, and does not apply it.
    try await circle.restart("alice", wall: { systemWall() + 3_600_000 })
    try await circle.inSync()
    try await circle.run("alice", "trip.edit", fields("notes=sunny", id: "Rome"))
    try await circle.until("Bob holds a parked set") {
      try await circle.run("bob", "status")["lanes"]?["records"]?["parked"] == 1
    }
    let sides: [(name: String, peer: String, behind: JSON, ahead: JSON)] = [
      ("bob", "alice", 1, 0), ("alice", "bob", 0, 1),
    ]
    for side in sides {
      let document = try await circle.run(side.name, "verify")
      #expect(document["verdict"] == "not_in_sync", "\(side.name)")
      let peer = try #require(document["peers"]?[0])
      let records = try #require(peer["lanes"]?["records"])
      #expect(records["verdict"] == "not_in_sync", "\(side.name)")
      #expect(records["behind"] == side.behind && records["ahead"] == side.ahead, "\(side.name)")
      #expect(peer["lanes"]?["settings"]?["verdict"] == "equal", "\(side.name)")
      #expect(peer["certificatesEqual"] == true, "\(side.name)")
      #expect(peer["next"] == .string("waymark wait --peer \(side.peer)"), "\(side.name)")
    }
  }
}
