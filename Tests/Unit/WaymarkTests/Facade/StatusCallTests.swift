import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Status and peers, as applications use them.
struct StatusCallTests {
  @Test func `a new node reports its identity, and that it is empty`() async throws {
    let alice = try await TestNode.founder("alice")
    let status = try await alice.node.status()
    let document = try await alice.run("status")
    #expect(status.name == "alice" && !status.isServing && status.servingSince == nil)
    #expect(status.device.description == document["device"]?.string)
    #expect(status.circle.description == document["circle"]?.string)
    #expect(status.counts.trips == 0 && status.counts.organizations == 0 && status.peers == [])
    #expect(status.settings.isOpen && !status.records.isOpen && status.records.reason == .freeTier)
    #expect(status.causes.map(\.reason) == [.freeTier])
    #expect(status.replicationRisk.changeSets == 0 && status.replicationRisk.devices == [])
    await alice.close()
  }

  @Test func `peers report their state and its reason, and can be controlled`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    let bob = try await circle.device("bob")
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync()
    let peer = try #require(try await alice.peers().first)
    #expect(peer.device == bob && peer.name == "bob" && peer.state == .inSync && peer.reason == .inSync)
    #expect(peer.behind == 0 && peer.ahead == 0 && peer.records.isEqual == true && peer.lastSync != nil)
    let ping = try await alice.ping(bob, count: 2)
    #expect(ping.roundTrips.count == 2 && ping.least <= ping.median && ping.median <= ping.most)
    try await alice.pause(bob)
    try await circle.until("bob is disconnected") {
      try await alice.peers().first.map { $0.state == .paused && $0.roundTrip == nil } == true
    }
    let paused = try #require(try await alice.peers().first)
    #expect(paused.reason == .paused && paused.remedy == .command && paused.sentence == "paused by you")
    #expect(try await refusal { _ = try await alice.ping(bob) } != nil)
    try await circle.run("alice", "trip.edit", fields("notes=sunny", id: "Rome"))
    #expect(try await alice.status().replicationRisk.changeSets == 1)
    try await alice.resume(bob)
    try await circle.inSync()
    try await alice.rename(bob, to: "the tablet")
    #expect(try await alice.peers().first?.name == "the tablet")
    try await alice.rename(bob, to: nil)
    #expect(try await alice.status().peers.first?.name == "bob")
  }

  @Test func `an unknown peer and an invalid address are refused`() async throws {
    let alice = try await TestNode.founder("alice")
    let own = try await alice.node.status().device
    #expect(try await refusal { try await alice.node.pause(own) } == "not_found")
    #expect(try await refusal { _ = try await alice.node.explanation(ofPeer: own) } == "not_found")
    #expect(try await refusal { try await alice.node.addPeer(at: "nowhere") } == "bad_value")
    try await alice.node.addPeer(at: "127.0.0.1:9")
    await alice.close()
    #expect(try await refusal { _ = try await alice.node.status() } == "closed")
  }

  @Test func `the reason why a peer is not in sync is reported down to its root cause`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let bob = try await circle.device("bob")
    try await circle["alice"].turnSyncOff()
    let why = try await circle["alice"].explanation(ofPeer: bob)
    #expect(why.peer.device == bob && why.peer.consequenceOf == .syncOff)
    #expect(why.causes.map(\.reason) == [.syncOff])
    #expect(why.causes.first?.consequences == ["bob"])
    #expect(why.holds?.device == bob)
  }

  @Test func `metrics can be read, and the home be checked`() async throws {
    let alice = try await TestNode.founder("alice")
    #expect(try await alice.node.metrics().contains("waymark_running 0"))
    let report = URL(filePath: alice.home.path + "/report.json")
    let diagnosis = try await alice.node.examine(writingTo: report)
    #expect(diagnosis.findings.contains { $0.check == .keys && $0.severity == .ok })
    #expect(diagnosis.findings.contains { $0.check == .store && $0.severity == .ok } && diagnosis.isSound)
    #expect(FileManager.default.fileExists(atPath: report.path))
    await alice.close()
    #expect(try await alice.home.examine().isSound)
  }
}
