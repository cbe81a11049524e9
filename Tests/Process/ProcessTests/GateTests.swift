import Exchange
import Foundation
import JSONDocument
import Purchases
import Testing
import Wire

/// `records sync = premium && preference`, at both ends, for every way to get premium.
@Suite(.serialized) struct GateTests {
  @Test(.enabled(if: GateCase.isComplete, "the feature builds are missing: `make test` makes them"))
  func `all builds are available`() {}

  /// Alice has premium, sync on and a trip; Bob's device is the one under test, with a trip of its own.
  @Test(arguments: GateCase.all)
  func `premium alone does not open the records lane, and without it nothing does`(
    _ gate: GateCase
  ) async throws {
    try await check(gate)
  }

  @Test(
    .enabled(if: verifiesPurchases, "this build can't verify purchases"), arguments: GateCase.purchases)
  func `a purchase in the App Store opens the gate as a certificate does`(_ gate: GateCase) async throws {
    try await check(gate)
  }

  private func check(_ gate: GateCase) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await pair(gate, stage)
    try await sayTheSame(gate, bob)
    try await nothingFlows(alice, bob)
    let onboarding = try await bob.json("onboarding")
    #expect(onboarding["flow"] == "new_user")
    #expect(onboarding["flag"] == true)
    if gate.isPremium {
      try await syncOnAndOff(alice, bob)
    } else {
      try await staysShut(gate, alice, bob)
    }
    try await bob.text("onboarding", "complete")
    #expect(try await bob.json("onboarding")["flow"] == "completed_here")
    #expect(try await bob.stop() == 0)
  }

  private func pair(_ gate: GateCase, _ stage: Stage) async throws -> (alice: Device, bob: Device) {
    let alice = Device("alice", on: stage, build: gate.build)
    let bob = Device("bob", on: stage, build: gate.build)
    let seller = try await Seller.make(with: alice)
    let made = try await alice.json("init", "--name", "alice", "--issuer", seller.publicKey)
    let file = try await seller.certificate(
      made["circle"]?.string ?? "", for: [made["device"]?.string ?? ""], until: Seller.year, with: alice)
    try await alice.text("entitlement", "install", file)
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("onboarding", "complete")
    try await alice.start()
    try await alice.text("sync", "on")
    try await bob.join(alice)
    try await bob.text("trip", "add", "name=Oslo")
    try await gate.prepare(bob, seller)
    try await bob.start()
    try await bob.waitForSync(with: alice, lane: "settings")
    return (alice, bob)
  }

  /// Expects the log, `status` and `entitlement show` to agree.
  private func sayTheSame(_ gate: GateCase, _ bob: Device) async throws {
    let status = try await bob.status()
    #expect(status.isPremium == gate.isPremium)
    #expect(status.source == gate.source)
    #expect(status.premiumReason == gate.reason)
    #expect(status.preference == false)
    #expect(status.syncReason == gate.reason ?? "sync_off")
    let line = "premium \(gate.isPremium ? "active" : "inactive") (source \(gate.source)"
    #expect(bob.log.contains(line), "the log has no “\(line)”: \(bob.log)")
    #expect(try await bob.json("entitlement", "show")["premium"]?["source"]?.string == gate.source)
    if !gate.isPremium {
      #expect(try await bob.text("status").contains("records stay on this device"))
    }
  }

  /// Expects a setting to sync in each direction, and no record of the other side to arrive with it.
  private func nothingFlows(_ alice: Device, _ bob: Device) async throws {
    let before = (alice: try await alice.status(), bob: try await bob.status())
    let marker = "\(alice.stage.number())"
    try await alice.text("settings", "set", "fromAlice", marker)
    try await bob.text("settings", "set", "fromBob", marker)
    try await alice.text("trip", "add", "name=Paris \(marker)")
    try await eventually("both settings are on both devices") {
      let settings = try await [alice.json("settings", "list"), bob.json("settings", "list")]
      return settings.allSatisfy { list in
        ["fromAlice", "fromBob"].allSatisfy { key in
          list["settings"]?.array?.contains {
            $0["key"]?.string == key && $0["value"]?.description(of: marker) == true
          } ?? false
        }
      }
    }
    let after = (alice: try await alice.status(), bob: try await bob.status())
    #expect(after.bob.content("records") == before.bob.content("records"))
    #expect(after.bob.count("trips") == before.bob.count("trips"))
    #expect(after.alice.changeSets("records") == before.alice.changeSets("records") + 1)
    #expect(after.bob.peer("alice")?["lanes"]?["records"]?["open"] == false)
  }

  private func staysShut(_ gate: GateCase, _ alice: Device, _ bob: Device) async throws {
    let refused = try await bob.run(["sync", "on"])
    #expect(refused.code == 4)
    #expect(refused.errors.contains("Sync of records needs premium"))
    #expect(refused.errors.contains("entitlement install FILE"))
    #expect(try await bob.status().preference == false)
    #expect(try await bob.run(["sync", "off"]).code == 0)
    try await nothingFlows(alice, bob)
    let waited = try await bob.run(["wait", "--lane", "records", "--timeout", "1s"])
    #expect(waited.code == 5)
    #expect(try await alice.status().peer("bob")?["lanes"]?["records"]?["open"] == false)
  }

  private func syncOnAndOff(_ alice: Device, _ bob: Device) async throws {
    let asked = try await bob.run(["sync", "on"])
    #expect(asked.code == 7 && asked.errors.contains("sync on --yes"))
    #expect(try await bob.status().preference == false, "nothing is merged before a yes")
    try await bob.text("sync", "on", "--yes")
    try await bob.waitForSync(with: alice)
    let (mine, theirs) = (try await alice.status(), try await bob.status())
    #expect(mine.digest("records") == theirs.digest("records"))
    #expect(mine.counts == theirs.counts)
    #expect(bob.log.contains("records open with alice"))
    let onboarding = try await bob.json("onboarding")
    #expect(onboarding["flow"] == "returning_user")
    #expect(onboarding["flagFromName"] == "alice")
    #expect(onboarding["summary"]?["trips"] == JSON.integer(theirs.count("trips")))
    try await bob.text("sync", "off")
    #expect(try await bob.status().counts == theirs.counts)
    try await nothingFlows(alice, bob)
    try await bob.text("trip", "add", "name=Bergen")
    try await bob.text("sync", "on")
    try await bob.waitForSync(with: alice)
    #expect(try await alice.status().digest("records") == bob.status().digest("records"))
    #expect(try await alice.status().counts == bob.status().counts)
  }
}

extension JSON {
  /// Whether the value equals the text, as text or as a number.
  fileprivate func description(of text: String) -> Bool { string == text || integer.map { "\($0)" } == text }
}
