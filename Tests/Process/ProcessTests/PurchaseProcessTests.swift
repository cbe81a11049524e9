import Foundation
import JSONDocument
import Purchases
import Testing
import WaymarkTesting

/// Purchases in the App Store through real nodes. The programs are development builds, which accept the stand-in for
/// the App Store.
@Suite(.serialized, .enabled(if: verifiesPurchases, "this build can't verify purchases"))
struct PurchaseProcessTests {
  private let store: TestAppStore

  init() throws { store = try TestAppStore { Date() } }

  /// Alice and Bob in one circle, both running and with sync wanted; nobody has premium any more.
  private func circle(_ stage: Stage, _ build: Build = .mock) async throws -> TestCircle {
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, build: build, isPremium: false)
    for device in circle.devices.dropFirst() { try await device.start() }
    for device in circle.devices {
      try await device.text("entitlement", "buy", "--mock")
      try await device.text("sync", "on")
      try await device.text("entitlement", "cancel", "--mock")
    }
    return circle
  }

  private func account(_ device: Device) async throws -> UUID {
    let shown = try await device.json("premium", "show")
    return try #require(shown["appAccountToken"]?.string.flatMap(UUID.init(uuidString:)))
  }

  private func file(_ purchase: TestPurchase, on stage: Stage) throws -> String {
    let tokens = [purchase.transaction, purchase.renewal].compactMap(\.self).joined(separator: "\n")
    return try stage.write(Array(tokens.utf8), "purchase-\(stage.number())")
  }

  @Test func `a purchase opens the lane on both devices, and a refund closes it without a restart`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await circle(stage)
    let (alice, bob) = (circle["alice"], circle["bob"])
    var purchase = store.buy(for: try await account(bob))
    let first = try file(purchase, on: stage)
    let installed = try await bob.json("entitlement", "install", first)
    #expect(installed["added"] == true && installed["purchase"]?["state"] == "valid")
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      let premium = try await device.json("premium", "show")
      #expect(premium["premium"]?["source"] == "purchase")
      #expect(premium["purchases"]?[0]?["deviceName"] == "bob")
      #expect(premium["purchases"]?[0]?["product"]?.string == DevelopmentStore.yearly)
      #expect(premium["product"]?.string == DevelopmentStore.yearly)
      let text = try await device.text("premium", "show")
      #expect(text.contains("premium (App Store) until") && text.contains("bob"))
    }
    #expect(try await bob.json("entitlement", "install", first)["added"] == false)

    purchase.refund()
    let (nodes, refund) = ([alice.nodeID, bob.nodeID], try file(purchase, on: stage))
    try await alice.text("entitlement", "install", refund)
    for device in [alice, bob] {
      let status = try await device.wait(until: "the refund closed the lane") { !$0.isPremium }
      #expect(status.premiumReason == "purchase_refunded" && status.preference == true)
      #expect(try await device.text("status").contains("premium refunded"))
    }
    #expect([alice.nodeID, bob.nodeID] == nodes)
    try await alice.text("trip", "add", "name=Oslo")
    let waited = try await bob.run(["wait", "--lane", "records", "--timeout", "1s"])
    #expect(waited.code == 5)

    purchase.reverseRefund()
    try await bob.text("entitlement", "install", try file(purchase, on: stage))
    try await bob.waitForSync(with: alice)
    #expect(try await bob.status().count("trips") == 2)
  }

  @Test func `another circle refuses the purchase, and a wrong file is named`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, carol) = (Device("alice", on: stage, build: .mock), Device("carol", on: stage, build: .mock))
    for device in [alice, carol] { try await device.text("init", "--name", device.name) }
    let purchase = store.buy(for: try await account(alice))
    let path = try file(purchase, on: stage)
    let refused = try await carol.run(["entitlement", "install", path])
    #expect(refused.code != 0 && refused.errors.contains("The purchase was made for another circle."))
    #expect(refused.errors.contains(try await account(carol).uuidString))
    let altered = purchase.transaction.replacing(".", with: ".e30", maxReplacements: 1)
    let wrong = try stage.write(Array(altered.utf8), "altered")
    let unreadable = try await alice.run(["entitlement", "install", wrong, "--json"])
    #expect(
      unreadable.errors.contains("purchase_unreadable") || unreadable.output.contains("purchase_unreadable"))
    #expect(try await alice.json("premium", "show")["purchases"]?.array?.isEmpty == true)
  }

  @Test func `a subscription ends while the nodes run, in its second`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await circle(stage)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let purchase = store.buy(for: try await account(alice), lasting: .seconds(8))
    try await alice.text("entitlement", "install", try file(purchase, on: stage))
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      let status = try await device.wait(until: "the subscription has ended") { !$0.isPremium }
      #expect(status.premiumReason == "entitlement_expired")
    }
  }

  @Test(
    .enabled(if: Build.defaultTraits.isThere, "the build without traits is missing: `make test` makes it"))
  func `config-json lists the products of another app, and a build without the trait says what it lacks`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage, build: .mock)
    try await alice.text("init", "--name", "alice")
    let purchase = store.buy("trips.yearly", of: "com.example.trips", for: try await account(alice))
    let path = try file(purchase, on: stage)
    let refused = try await alice.run(["entitlement", "install", path])
    #expect(refused.errors.contains("com.example.trips do not give premium here"))
    let configuration =
      #"{"purchases":{"apps":[{"bundle":"com.example.trips","products":["trips.yearly"]}]}}"#
    try Data(configuration.utf8).write(to: URL(filePath: alice.home + "/config.json"))
    try await alice.text("entitlement", "install", path)
    #expect(try await alice.status().isPremium)

    let plain = Device("alice", on: stage, build: .defaultTraits)
    let shown = try await plain.json("premium", "show")
    #expect(shown["premium"]?["reason"] == "purchase_unjudged")
    #expect(shown["purchases"]?[0]?["state"] == "unjudged")
    #expect(try await plain.text("status").contains("premium not verifiable by this build"))
    #expect(try await plain.run(["doctor", "--json"]).output.contains("purchase_unjudged"))
  }

  @Test(
    .enabled(if: Build.defaultTraits.isThere, "the build without traits is missing: `make test` makes it"))
  func `an issuer turns a purchase into an entitlement for builds that can't verify it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let plain = Device("alice", on: stage, build: .defaultTraits)
    let shop = Device("shop", on: stage, build: .mock)
    let seller = try await Seller.make(with: plain)
    let made = try await plain.json("init", "--name", "alice", "--issuer", seller.publicKey)
    let circle = made["circle"]?.string ?? ""
    let path = try file(store.buy(for: try await account(plain)), on: stage)
    let words = ["issuer", "from-purchase", path, "--key", seller.key, "--circle", circle]
    let unable = try await plain.run(words)
    #expect(unable.code != 0 && unable.errors.contains("swift build --traits AppStore"))
    let output = stage.path("entitlement")
    let issued = try await shop.run(words + ["--output", output, "--json"])
    #expect(issued.code == 0 && issued.json["circle"]?.string == circle, "\(issued.errors)")
    try await plain.text("entitlement", "install", output)
    let status = try await plain.status()
    #expect(status.isPremium && status.source == "certificate")
    let other = try await shop.run([
      "issuer", "from-purchase", path, "--key", seller.key, "--circle", String(repeating: "ab", count: 32),
    ])
    #expect(other.code != 0 && other.errors.contains("another circle"))
  }
}
