import JSONDocument
import Testing
import WaymarkCare

@testable import Waymark

/// Live queries that views show all the time.
struct WatchCallTests {
  @Test func `the gate, peers, settings and onboarding are observed to change`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let (alice, bob) = (circle["alice"], circle["bob"])
    let device = try await circle.device("bob")
    async let off: Void = wait(for: "sync off", alice, .syncState) { $0.obstacle == .syncOff }
    async let peerOff: Void = wait(for: "the peer's sync off", bob, .peers) {
      $0.first?.reason == .peerSyncOff
    }
    try await alice.turnSyncOff()
    _ = try await (off, peerOff)
    async let on: Void = wait(for: "sync on", alice, .syncState, until: \.isActive)
    try await alice.turnSyncOn()
    try await on
    async let dark: Void = wait(for: "a setting", bob, .setting(.colorScheme)) { $0 == .dark }
    try await alice.set(.colorScheme, to: .dark)
    try await dark
    try await circle.inSync()
    async let trips: Void = wait(for: "counts", bob, .status) { $0.counts.trips == 1 }
    async let operations: Void = wait(for: "an operation", bob, .history(limit: 1)) {
      $0.first?.verb == "trip.add"
    }
    _ = try await circle.add("alice", "trip", "name=Rome")
    _ = try await (trips, operations)
    async let welcome: Void = wait(for: "a welcome back", bob, .onboarding) {
      if case .returningUser(let user) = $0 { user.tripCount == 1 } else { false }
    }
    try await alice.completeOnboarding()
    try await welcome
    async let revoked: Void = wait(for: "a revoked member", alice, .members) {
      $0.contains { $0.device == device && $0.isRevoked }
    }
    try await alice.revoke([device])
    try await revoked
  }

  @Test func `a conflict is observed to appear and disappear`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    _ = try await circle.add("alice", "habit", "name=Water")
    try await circle.apart {
      try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
      try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    }
    try await wait(for: "a conflict", circle["bob"], .conflicts) { $0.count == 1 }
    async let gone: Void = wait(for: "no conflict", circle["bob"], .conflicts, until: \.isEmpty)
    try await circle["alice"].resolveAllTakingWinners()
    try await gone
  }
}
