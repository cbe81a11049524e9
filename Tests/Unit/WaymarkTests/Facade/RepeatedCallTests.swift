import Foundation
import Model
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Calls that are made again: what they write the second time, and what is left of them after a restart.
struct RepeatedCallTests {
  @Test func `settings and completed onboarding are written only if that changes them`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    for _ in 0..<2 { try await node.set(.colorScheme, to: .dark) }
    for _ in 0..<2 { try await node.remove(.colorScheme) }
    for _ in 0..<2 { try await node.completeOnboarding() }
    #expect(try await node.onboarding() == .completedHere)
    // A reset here keeps the synced flag, so completing it again writes nothing.
    try await node.resetOnboarding()
    #expect(try await node.onboarding() == .newUser)
    try await node.completeOnboarding()
    #expect(try await node.onboarding() == .completedHere)
    for _ in 0..<2 { try await node.resetOnboarding(everywhere: true) }
    #expect(try await node.onboarding() == .newUser)
    let verbs = ["onboarding.reset", "onboarding.complete", "settings.unset", "settings.set"]
    #expect(try await node.history().map(\.verb) == verbs)
    // A value that is set again after its removal is written again.
    try await node.set(.colorScheme, to: .dark)
    #expect(try await node.history().map(\.verb) == ["settings.set"] + verbs)
    #expect(try await node.value(of: .colorScheme) == .dark && node.home.value(of: .colorScheme) == .dark)
    await alice.close()
  }

  @Test func `an address that is added twice is kept once, and removing it keeps the others`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    for address in ["127.0.0.1:9", "127.0.0.1:10", "127.0.0.1:9"] { try await node.addPeer(at: address) }
    #expect(try await node.savedAddresses == ["127.0.0.1:9", "127.0.0.1:10"])
    #expect(try await refusal { try await node.removePeer(at: "127.0.0.1:1") } == "not_found")
    try await node.removePeer(at: "127.0.0.1:9")
    #expect(try await node.savedAddresses == ["127.0.0.1:10"])
    #expect(try await refusal { try await node.removePeer(at: "127.0.0.1:9") } == "not_found")
    await alice.close()
  }

  @Test func `a paused peer stays paused after a restart, and a resumed one does not`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", storage: .directories)
    func paused() async throws -> Set<String> {
      try await circle.settle()
      return Set(try await circle["alice"].peers().filter { $0.state == .paused }.map(\.name))
    }
    let devices = Dictionary(
      uniqueKeysWithValues: try await circle["alice"].peers().map { ($0.name, $0.device) })
    let (bob, carol) = (try #require(devices["bob"]), try #require(devices["carol"]))
    for peer in [bob, carol, bob] { try await circle["alice"].pause(peer) }
    #expect(try await paused() == ["bob", "carol"])
    // Resuming one leaves the other paused, also if it is done twice.
    for _ in 0..<2 { try await circle["alice"].resume(carol) }
    #expect(try await paused() == ["bob"])
    try await circle.reopen("alice")
    #expect(try await paused() == ["bob"])
    try await circle["alice"].resume(bob)
    try await circle.reopen("alice")
    #expect(try await paused() == [])
    try await circle.assertConverged()
    await circle.close()
  }

  @Test func `a store is verified by one call at a time, and again after that`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    _ = try await node.save(Trip(name: "Rome"))
    await node.setVerifying(true)
    #expect(try await refusal { _ = try await node.verifyStore() } == "busy")
    // The refused call leaves the mark of the one that is under way.
    #expect(await node.isVerifying)
    await node.setVerifying(false)
    for _ in 0..<2 { #expect(try await node.verifyStore().isSound) }
    #expect(await !node.isVerifying)
    await alice.close()
    // A call that can't begin leaves no mark.
    let memory = try Node.inMemory(name: "memory")
    for _ in 0..<2 { #expect(try await refusal { _ = try await memory.verifyStore() } == "in_memory") }
    await memory.close()
  }

  @Test func `each lane has a quota of its own, which is raised up to the limit`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let own = try await node.status().device
    try await node.set(.colorScheme, to: .dark)
    let settings = try await node.grant((4 << 20) + 1, to: own, of: .settings)
    #expect(settings.lane == "settings" && settings.previous == 4 << 20 && settings.quota == (4 << 20) + 1)
    #expect(settings.bytes > 0 && settings.name == "alice")
    let records = try await node.grant((1 << 30) + 1, to: own)
    #expect(records.lane == "records" && records.previous == 1 << 30 && records.bytes == 0)
    // Neither the same nor less, in either lane.
    let tooLittle: [(UInt64, Lane)] = [
      ((4 << 20) + 1, .settings), (4 << 20, .settings), ((1 << 30) + 1, .records),
    ]
    for (bytes, lane) in tooLittle {
      #expect(
        try await refusal { try await node.grant(bytes, to: own, of: lane) } == "bad_value", "\(bytes)")
    }
    #expect(
      try await refusal { try await node.grant(Limits.quotaBytesMax + 1, to: own) } == "bad_value")
    let most = try await node.grant(Limits.quotaBytesMax, to: own)
    #expect(most.quota == Limits.quotaBytesMax && most.previous == (1 << 30) + 1)
    #expect(try await node.members().first?.usage.map(\.quota) == [(4 << 20) + 1, Limits.quotaBytesMax])
    await alice.close()
  }
}

extension Node {
  fileprivate var savedAddresses: [String] {
    get throws { try store.metaLines(MetaKey.addresses) }
  }

  fileprivate var isVerifying: Bool { core.maintenance.isVerifying }

  fileprivate func setVerifying(_ isVerifying: Bool) { core.maintenance.isVerifying = isVerifying }
}
