import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Sync and the gate, as applications use them.
struct SyncCallTests {
  /// An entitlement, valid until a time, for a circle that trusts its issuer.
  private func entitlement(
    _ alice: TestNode, from start: Date? = nil, until end: Date, trusts: Bool = true
  ) async throws -> Data {
    let key = URL(filePath: alice.home.path + "/issuer-\(UUID().uuidString)")
    try Issuer.create(at: key)
    if trusts { try await alice.node.trustIssuer(at: key.appendingPathExtension("pub")) }
    return try Issuer.entitlement(
      keyFile: key, circle: try await alice.node.status().circle, from: start, until: end,
      issued: Self.morning)
  }

  private func failure(_ body: () async throws -> Void) async throws -> WaymarkError? {
    do {
      try await body()
      return nil
    } catch let error as WaymarkError {
      return error
    }
  }

  private static let morning = Date(milliseconds: TestNode.morning)

  @Test func `a free user is told what is missing, and can't turn sync on, but off`() async throws {
    let alice = try await TestNode.founder("alice")
    let state = try await alice.node.syncState()
    #expect(!state.premium.isActive && !state.isActive && !state.preference)
    #expect(state.obstacle == .freeTier && state.premium.obstacle == .freeTier)
    #expect(state.premium.source == .noPremium && state.premium.validUntil == nil)
    #expect(state.step == .buyPremium)
    #expect(state.sentence == "Without premium, only settings sync; records stay on this device.")
    #expect(try await failure { try await alice.node.turnSyncOn() }?.code == .freeTier)
    #expect(try await alice.node.turnSyncOff() == state)
    await alice.close()
  }

  @Test func `an entitlement opens the gate once sync is turned on, given as bytes or as a file`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let end = Self.morning.addingTimeInterval(86_400)
    let bytes = try await entitlement(alice, from: Self.morning, until: end)
    let bought = try await alice.node.install(entitlement: bytes)
    #expect(bought.premium.isActive && bought.premium.source == .certificate)
    #expect(bought.premium.validUntil == end)
    #expect(bought.obstacle == .syncOff && bought.step == .turnOn && !bought.isActive)
    let file = URL(filePath: alice.home.path + "/entitlement")
    try bytes.write(to: file)
    #expect(try await alice.node.installEntitlement(at: file) == bought)
    let on = try await alice.node.turnSyncOn()
    #expect(on.isActive && on.preference && on.obstacle == nil && on.step == .nothing)
    #expect(on.sentence == "Records sync with your other devices.")
    let held = try await alice.node.entitlements()
    #expect(held.map(\.state) == [.valid])
    #expect(held.first?.notAfter == end)
    await alice.close()
  }

  @Test func `premium that has ended or not begun is reported as such, and keeps the preference`()
    async throws
  {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let later = Self.morning.addingTimeInterval(3_600)
    let early = try await entitlement(alice, from: later, until: later.addingTimeInterval(3_600))
    let waiting = try await alice.node.install(entitlement: early)
    #expect(waiting.obstacle == .entitlementNotYetValid && waiting.step == .wait(until: later))
    now.value += 3_600_000
    try await alice.node.turnSyncOn()
    now.value += 3_600_000
    let ended = try await alice.node.syncState()
    #expect(ended.obstacle == .entitlementExpired && ended.step == .renewPremium)
    #expect(ended.preference && !ended.isActive)
    #expect(try await alice.node.entitlements().map(\.state) == [.expired])
    await alice.close()
  }

  @Test func `an invalid entitlement is refused with its kind of error`() async throws {
    let alice = try await TestNode.founder("alice")
    let bob = try await TestNode.founder("bob")
    let end = Self.morning.addingTimeInterval(86_400)
    let foreign = try await entitlement(bob, until: Date(timeIntervalSince1970: 4_000_000_000))
    let untrusted = try await entitlement(alice, from: Self.morning, until: end, trusts: false)
    for (bytes, code) in [
      (Data("waymark".utf8), "no_certificate"), (foreign, "wrong_circle"), (untrusted, "unknown_issuer"),
      (Data(repeating: 65, count: 100_000), "no_certificate"),
    ] {
      let refused = try await failure { try await alice.node.install(entitlement: bytes) }
      #expect(refused?.code.rawValue == code)
    }
    #expect(try await alice.node.syncState().step == .buyPremium)
    await alice.close()
    await bob.close()
  }

  @Test func `the merge is previewed before sync is turned on, and needs confirmation`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"], syncing: ["alice"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.run("bob", "habit.add", fields("name=Water"))
    try await circle.run("bob", "profile.set", fields("name=Bob"))
    let preview = try await circle["bob"].syncPreview()
    #expect(preview.total.onlyThere == 1 && preview.total.onlyHere == 2 && preview.changesAnything)
    #expect(preview.kinds.map(\.kind) == [.trip, .habit, .profile])
    #expect(preview.peers.map(\.name) == ["alice"] && preview.notAsked == [])
    #expect(preview.profile?.state == .onlyHere && preview.profile?.winnerName == "bob")
    let asked = try await failure { try await circle["bob"].turnSyncOn() }
    #expect(asked?.code == .needsYes)
    #expect(try await circle["bob"].syncState().preference == false)
    #expect(try await circle["bob"].turnSyncOn(isConfirmed: true).isActive)
    try await circle.inSync()
    for name in ["alice", "bob"] {
      let counts = try await circle[name].status().counts
      #expect(counts.trips == 1 && counts.habits == 1, "\(name)")
    }
  }

  @Test func `waiting for sync ends in sync, or with the reason why not`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle["alice"].syncNow()
    let bob = try await circle["bob"].status().device
    try await circle["alice"].waitUntilInSync(with: bob, lane: .records, timeout: .seconds(20))
    #expect(try await circle["bob"].status().counts.trips == 1)
    try await circle["bob"].turnSyncOff()
    try await circle.until("alice has heard that bob's sync is off") {
      try await circle["alice"].peers().first?.reason == .peerSyncOff
    }
    try await circle["alice"].waitUntilInSync(timeout: .seconds(20))
    let closed = try await failure {
      try await circle["alice"].waitUntilInSync(lane: .records, timeout: .milliseconds(100))
    }
    #expect(closed?.reason == .peerSyncOff)
    let alone = try await TestNode.founder("carol")
    let idle = try await failure { try await alone.node.waitUntilInSync(timeout: .zero) }
    #expect(idle?.code == .notRunning)
    #expect(try await failure { _ = try await alone.node.syncPreview() }?.code == .notRunning)
    await alone.close()
  }

  @Test func `waiting for a lane ends only when it is in sync with all connected peers`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    try await circle["carol"].turnSyncOff()
    try await circle.settle()
    let (alice, bob) = (circle["alice"], try await circle["bob"].status().device)
    try await circle.during { try await alice.waitUntilInSync(with: bob, lane: .records) }
    let refused = try await failure {
      try await circle.during { try await alice.waitUntilInSync(lane: .records, timeout: .seconds(5)) }
    }
    #expect(refused?.exitCode == ExitCode.notInSync && refused?.reason == .peerSyncOff)
    await circle.close()
  }

  // Alice learns from Bob's answer, and not from what she knew before, that his sync is on.

  @Test func `waiting for sync right after both have turned it on waits for the records`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"], syncing: [])
    defer { circle.end() }
    for round in 1...5 {
      try await circle.run("bob", "trip.add", fields("name=Rome \(round)"))
      try await circle["bob"].turnSyncOn(isConfirmed: true)
      try await circle["alice"].turnSyncOn(isConfirmed: true)
      try await circle["alice"].waitUntilInSync(timeout: .seconds(20))
      #expect(try await circle["alice"].status().counts.trips == round, "round \(round)")
      for name in ["alice", "bob"] { try await circle[name].turnSyncOff() }
      for name in ["alice", "bob"] { try await circle[name].waitUntilInSync(timeout: .seconds(20)) }
    }
  }

  // With a time-out of hours, what ends the calls is the close alone.

  @Test func `waiting for sync ends at once when the node closes`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    // In sync with bob, there would be nothing to wait for.
    await circle["bob"].close()
    try await circle.until("alice has lost bob") { try await alice.peers().first?.state != .inSync }
    async let wait = within(seconds: 120, "waitUntilInSync") {
      try await failure { try await alice.waitUntilInSync(timeout: .seconds(10_000)) }
    }
    try await Task.sleep(for: .milliseconds(200))
    await alice.close()
    #expect(try await wait?.code == .closed)
  }

  @Test func `waiting for a device to join ends at once when the node closes`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let alice = circle["alice"]
    async let joiner = within(seconds: 120, "joiner") {
      try await failure { _ = try await alice.waitForJoiner(timeout: .seconds(10_000)) }
    }
    try await Task.sleep(for: .milliseconds(200))
    await alice.close()
    #expect(try await joiner?.code == .closed)
  }

  #if MockPurchases
    @Test func `a mock purchase opens the gate and expires like a subscription`() async throws {
      let alice = try await TestNode.founder("alice")
      let state = try await alice.node.buyMockPremium()
      #expect(state.premium.source == .mock && state.step == .turnOn)
      #expect(try await alice.node.turnSyncOn().isActive)
      #expect(try await alice.node.cancelMockPremium().preference)
      await alice.close()
    }
  #else
    @Test func `a build without the trait has no mock purchases`() async throws {
      let alice = try await TestNode.founder("alice")
      #expect(try await failure { try await alice.node.buyMockPremium() }?.code == .usage)
      #expect(try await failure { try await alice.node.cancelMockPremium() }?.code == .usage)
      await alice.close()
    }
  #endif
}
