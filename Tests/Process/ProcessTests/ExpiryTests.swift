import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Premium ends at the exact second, and can be renewed; the rows stay.
@Suite(.serialized) struct ExpiryTests {
  /// A way to lose premium while the node runs, and to regain it.
  enum PremiumEnd: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case certificateEnds = "a certificate ends"
    case mockEnds = "a mock purchase ends"
    case mockCancelled = "a mock purchase is cancelled"

    var testDescription: String { rawValue }
    var build: Build { self == .certificateEnds ? .plain : .mock }
    /// The reason why there is no premium then.
    var reason: String { self == .mockCancelled ? "free_tier" : "entitlement_expired" }

    static let testable = allCases.filter(\.build.isThere)
  }

  @Test(arguments: PremiumEnd.testable)
  func `records stop when premium ends, and catch up when it is renewed`(_ end: PremiumEnd) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, build: end.build, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await entitle(alice, circle, end, until: Seller.year)
    try await alice.text("sync", "on")
    try await alice.text("trip", "add", "name=Rome")
    try await bob.start()
    try await syncForAWhile(alice, bob, circle, end)
    let held = try await alice.status()
    if end == .mockCancelled { try await bob.text("entitlement", "cancel", "--mock") }
    try await bob.wait(until: "premium has ended") { !$0.isPremium }
    try await isShut(bob, end, held)
    let edited = try await editBothWays(alice, bob)

    // An entitlement that ended stays ended after a restart.
    try await bob.stop()
    #expect(try await bob.status().everything == edited.everything)
    try await bob.start()
    try await isShut(bob, end, edited)

    try await entitle(bob, circle, end, until: Seller.year)
    try await bob.waitForSync(with: alice, lane: "records")
    let (mine, theirs) = (try await alice.status(), try await bob.status())
    #expect(mine.digest("records") == theirs.digest("records"))
    #expect(mine.count("trips") == 3)
    #expect(theirs.counts == mine.counts)
    #expect(theirs.preference == true)
  }

  /// Gives Bob premium that is about to end, but not before he has all records; a busy machine needs longer.
  private func syncForAWhile(
    _ alice: Device, _ bob: Device, _ circle: TestCircle, _ end: PremiumEnd
  ) async throws {
    for seconds in [5, 15, 45] as [TimeInterval] {
      try await entitle(bob, circle, end, until: seconds)
      let words = ["wait", "--lane", "records", "--peer", "alice", "--timeout", "\(Int(seconds))s"]
      if try await bob.run(["sync", "on"]).code == 0, try await bob.run(words, seconds: 60).code == 0 {
        return
      }
    }
    throw Failure("Bob did not receive Alice's records while he had premium")
  }

  private func entitle(
    _ device: Device, _ circle: TestCircle, _ end: PremiumEnd, until: TimeInterval
  ) async throws {
    guard end == .certificateEnds else {
      let ends = end == .mockEnds ? ["--until", Seller.time(until)] : []
      let bought = try await device.run(["entitlement", "buy", "--mock"] + ends)
      #expect(bought.code == 0, "\(bought.errors)")
      return
    }
    let status = try await device.status()
    let file = try await circle.seller.certificate(
      status.circle, for: [status.device], until: until, with: device)
    try await device.text("entitlement", "install", file)
  }

  private func isShut(_ device: Device, _ end: PremiumEnd, _ held: Status) async throws {
    let status = try await device.status()
    #expect(!status.isPremium)
    #expect(status.source == "none")
    #expect(status.premiumReason == end.reason)
    #expect(status.preference == true)
    #expect(!status.isSyncing)
    #expect(status.counts == held.counts)
    #expect(status.digest("records") == held.digest("records"))
    #expect(device.log.contains("premium inactive (source none"))
    #expect(try await device.run(["sync", "on"]).code == 4)
    #expect(try await device.status().preference == true)
  }

  /// Both keep writing; settings are synced, records are not.
  private func editBothWays(_ alice: Device, _ bob: Device) async throws -> Status {
    let before = try await alice.status().changeSets("records")
    try await alice.text("trip", "add", "name=Only Alice")
    try await bob.text("trip", "add", "name=Only Bob")
    try await alice.text("settings", "set", "marker", "passed")
    try await bob.waitForSync(with: alice, lane: "settings")
    try await eventually("the setting is on Bob's device") {
      try await bob.run(["settings", "get", "marker"]).output.contains("passed")
    }
    let status = try await bob.status()
    #expect(status.count("trips") == 2)
    #expect(try await alice.status().changeSets("records") == before + 1)
    return status
  }

  @Test(.enabled(if: GateCase.isComplete, "the feature builds are missing: `make test` makes them"))
  func `one store keeps all its rows, whichever build opens it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let plain = Device("home", on: stage)
    try await plain.text("init", "--name", "home")
    try await plain.text("trip", "add", "name=Rome", "startDate=2026-05-02")
    try await plain.text("habit", "add", "name=Read")
    try await plain.text("habit", "tick", "Read")
    let wanted = try await plain.status().everything
    let exported = try await exports(plain)
    for (build, source) in [
      (Build.plain, "none"), (.allFeatures, "all-features"), (.mock, "none"), (.plain, "none"),
    ] {
      let device = Device("home", on: stage, build: build)
      try await device.start()
      let status = try await device.status()
      #expect(status.source == source)
      #expect(status.everything == wanted)
      #expect(try await exports(device) == exported)
      #expect(try await device.stop() == 0)
    }
  }

  @Test(.enabled(if: Build.allFeatures.isThere, "the feature build is missing: `make test` makes it"))
  func `the default build does not accept a build made for development`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle["alice"]
    let own = try await alice.status()
    try await alice.text(
      "entitlement", "install",
      circle.seller.certificate(own.circle, for: [own.device], until: Seller.year, with: alice))
    try await alice.text("sync", "on")
    let bob = Device("bob", on: stage, build: .allFeatures)
    try await bob.join(alice)
    try await bob.text("sync", "on")
    try await alice.text("trip", "add", "name=Rome")
    try await bob.start()
    try await alice.text("settings", "set", "marker", "passed")
    try await bob.waitForSync(with: alice, lane: "settings")
    let (mine, theirs) = (try await alice.status(), try await bob.status())
    #expect(theirs.source == "all-features")
    #expect(theirs.changeSets("records") == 0)
    #expect(mine.peer("bob")?["lanes"]?["records"]?["reason"] == "peer_free_tier")
  }
}
