import Membership
import Foundation
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// In which state a peer is, why, and what is known about it while it is away.
struct PeerStateTests {
  /// Disconnects Alice from Bob, and waits until she has noticed.
  private func part(_ circle: TestCircle) async throws {
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return await circle["alice"].withCore { $0.replica.identifiedSessions(with: nil).isEmpty }
    }
  }

  private func peer(_ node: Node) async throws -> Peer { try #require(try await node.peers().first) }

  @Test func `a device that can't be reached is offline or refused, with the reason of the last attempt`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    try await part(circle)
    let cases: [(DialFailure, PeerState, Reason)] = [
      (.refused, .offline, .dialRefused), (.timeout, .offline, .dialTimeout), (.noRoute, .offline, .noRoute),
      (.unresolved, .offline, .noRoute), (.notAMember, .refused, .notAMember),
      (.turnedAway, .refused, .turnedAway), (.newerProtocol, .refused, .newerProtocol),
      (.other, .offline, .offline),
    ]
    for (failure, state, reason) in cases {
      await alice.failDials(failure)
      let bob = try await peer(alice)
      #expect(bob.state == state && bob.reason == reason, "\(failure): \(bob.state), \(bob.reason)")
      #expect(bob.roundTrip == nil && bob.records.isEqual == nil, "\(failure)")
    }
    await circle.close()
  }

  @Test func `a device that has paused this one is told from one that is away, until it resumes`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let device = try await circle["alice"].status().device
    for round in 1...2 {
      try await circle["bob"].pause(device)
      try await eventually("Alice is refused") {
        try await circle.clock.quiet()
        return try await peer(circle["alice"]).reason == .refusedByPeer
      }
      let (refused, paused) = (try await peer(circle["alice"]), try await peer(circle["bob"]))
      #expect(refused.state == .refused && paused.state == .paused && paused.reason == .paused)
      try await circle["bob"].resume(device)
      try await circle.settle()
      #expect(try await peer(circle["alice"]).state == .inSync, "round \(round)")
    }
    await circle.close()
  }

  @Test func `a member that broke the rules is refused and counted, and gets another chance`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let bob = try await circle["bob"].status().device
    await alice.refuse(bob)
    try await eventually("Bob is refused") {
      try await circle.clock.quiet()
      return try await peer(alice).reason == .badSignature
    }
    #expect(try await peer(alice).state == .refused)
    let metrics = try await alice.metrics()
    #expect(metrics.contains("\nwaymark_connections_refused_total{reason=\"misbehaved\"} 1\n"))
    try await circle.settle()
    #expect(try await peer(alice).state == .inSync)
    await circle.close()
  }

  @Test func `where a peer's address comes from is told`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let sources = [
      try await peer(circle["alice"]).addressSource, try await peer(circle["bob"]).addressSource,
    ]
    #expect(Set(sources.compactMap { $0 }) == [.announced, .incoming], "one has dialled the other")
    let dialler = circle[sources[0] == .announced ? "alice" : "bob"]
    let other = try await peer(dialler)
    let address = try #require(other.address)
    #expect(address.hasSuffix("]:7433"))
    await dialler.find(other.device, at: address)
    #expect(try await peer(dialler).addressSource == .beacon)
    #expect(try await peer(dialler).address == address)
    await circle.close()
  }

  @Test func `when a device was last connected is known after a restart`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    try await circle.clock.advance(by: .seconds(600))
    let end = circle.clock.now
    await circle.close("alice")
    await circle.disconnect("alice", "bob")
    try await circle.reopen("alice")
    let bob = try await peer(circle["alice"])
    // The time is stored at most once a minute.
    let seconds = end.timeIntervalSince(try #require(bob.lastSeen))
    #expect((0...60).contains(seconds), "\(seconds) seconds before the end")
    #expect(bob.since == bob.lastSeen && bob.roundTrip == nil)
    #expect(bob.address != nil)
    await circle.close()
  }

  @Test func `a device that goes was last seen when it went, not when it came`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    try await circle.clock.advance(by: .seconds(600))
    let end = circle.clock.now
    await circle.disconnect("alice", "bob")
    let bob = try await peer(circle["alice"])
    #expect(bob.roundTrip == nil, "Bob is not connected")
    #expect(try #require(bob.lastSeen) >= end)
    await circle.close()
  }

  @Test func `a device that starts again at the same address signs nothing new`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    let before = await circle["alice"].statements
    try await circle.reopen("bob")
    try await circle.settle()
    #expect(await circle["bob"].statements == before)
    #expect(await circle["alice"].statements == before)
    await circle.close()
  }
}

extension Node {
  /// Lets every attempt to dial a known address end with this failure.
  fileprivate func failDials(_ failure: DialFailure) {
    for entry in core.connections.peering.addresses {
      core.connections.handle(.dialFailed(entry.address, failure))
    }
  }

  /// Closes the connection to a device because the device broke the rules.
  fileprivate func refuse(_ device: DeviceKey) {
    guard let link = core.replica.session(with: device)?.link else { return }
    core.connections.close(link, .misbehaved("it lied"))
  }

  /// Handles the address of a beacon.
  fileprivate func find(_ device: DeviceKey, at address: String) {
    core.connections.handle(.addressFound(address, device))
  }

  /// The hash of the statements of the circle.
  fileprivate var statements: Bytes32 { core.circle.setHash }
}
