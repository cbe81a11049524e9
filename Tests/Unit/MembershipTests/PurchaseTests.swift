import Membership
import Purchases
import Sodium
import Testing
import Wire

/// Purchases beyond what the vectors say: floods, and builds that can't verify them.
@Suite struct PurchaseTests {
  /// A transaction with a signature that nobody verified, for tests of what is only read.
  private func unsigned(_ original: Int, purchased: Int64, signed: Int64, account: String = "") -> String {
    let payload = """
      {"bundleId":"\(DevelopmentStore.bundle)","productId":"\(DevelopmentStore.yearly)",\
      "environment":"Production","originalTransactionId":"\(original)","purchaseDate":\(purchased),\
      "signedDate":\(signed),"expiresDate":9000000000000,"appAccountToken":"\(account)"}
      """
    let parts = [#"{"alg":"ES256","x5c":["","",""]}"#, payload].map { Base64.encodeForURL(Array($0.utf8)) }
    return parts.joined(separator: ".") + "."
  }

  private func account(_ circle: Circle) -> String {
    let digits = Array(hexadecimal(circle.id.appAccountToken))
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }

  private func statement(_ world: World, by key: SigningKey, _ transaction: String) throws -> Statement {
    try Statement(
      signing: Purchase(
        circle: world.circle.id, device: DeviceKey(key), transaction: transaction, renewal: nil), with: key)
  }

  private func world() throws -> World {
    var world = try World()
    world.circle.purchasePolicy = .development
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob, role: .member)])
    return world
  }

  @Test func `a hostile member displaces only its own purchases`() throws {
    var world = try world()
    let account = account(world.circle)
    let honest = try statement(
      world, by: world.alice, unsigned(1, purchased: 10, signed: 10, account: account))
    world.circle.insert([honest])
    world.circle.insert(
      try (0..<40).map {
        try statement(world, by: world.bob, unsigned($0, purchased: 1_000, signed: 1_000, account: account))
      })
    #expect(world.circle.statement(honest.id) != nil)
    #expect(world.circle.evaluation.purchases.count == 1 + Limits.purchasesPerSignerMax)
  }

  @Test func `of thousands of purchases in one message only the kept ones are verified, and each once`()
    throws
  {
    var world = try world()
    let account = account(world.circle)
    let flood = try (0..<2_000).map { number in
      let token = unsigned(number % 50, purchased: Int64(number), signed: 1, account: account)
      return try statement(world, by: world.bob, token)
    }
    world.circle.insert(flood)
    let most = verifiesPurchases ? Limits.purchasesPerSignerMax : 0
    #expect(world.circle.purchasesVerified == most)
    world.circle.insert([try world.certificate(by: world.alice, for: world.carol)])
    world.circle.insert(flood)
    #expect(world.circle.purchasesVerified == most, "nothing is verified again")
    #expect(world.circle.ids.count == 3 + Limits.purchasesPerSignerMax)
  }

  @Test func `purchases that older ones would replace change nothing`() throws {
    var world = try world()
    let newer = try statement(world, by: world.bob, unsigned(1, purchased: 20, signed: 20))
    let older = try statement(world, by: world.bob, unsigned(1, purchased: 10, signed: 30))
    world.circle.insert([newer])
    let hash = world.circle.setHash
    #expect(world.circle.insert([older]).isEmpty)
    #expect(world.circle.setHash == hash)
    #expect(try !world.circle.insert(older.bytes), "and it is no error")
  }

  @Test func `purchases for other circles and by unknown devices are kept, and not looked at`() throws {
    var world = try world()
    let foreign = try statement(world, by: world.bob, unsigned(1, purchased: 1, signed: 1, account: "none"))
    let unknown = try statement(
      world, by: world.dave, unsigned(1, purchased: 1, signed: 1, account: account(world.circle)))
    #expect(world.circle.insert([foreign, unknown]).added.count == 2)
    #expect(world.circle.evaluation.purchases.isEmpty && world.circle.purchasesVerified == 0)
  }

  @Test(.enabled(if: !verifiesPurchases, "this build verifies purchases"))
  func `a build that can't verify purchases says so, and gives no premium for them`() throws {
    var world = try world()
    let token = unsigned(1, purchased: 1, signed: 1_000, account: account(world.circle))
    world.circle.insert([try statement(world, by: world.alice, token)])
    let (alice, bob) = (DeviceKey(world.alice), DeviceKey(world.bob))
    let own = world.circle.ownGate(device: alice, preference: true, local: .none, at: 2_000)
    #expect(own.reason == .purchaseUnjudged && own.source == .none)
    #expect(world.circle.peerGate(device: bob, preference: true, at: 2_000).reason == .purchaseUnjudged)
    #expect(world.circle.subscriptions.map { $0.state(at: 2_000) } == [.unjudged])

    world.circle.insert([try world.entitlement(by: world.issuer, 1_000..<3_000)])
    let entitled = world.circle.ownGate(device: alice, preference: true, local: .none, at: 2_000)
    #expect(entitled.isOpen && entitled.source == .certificate)
  }

  @Test(.enabled(if: verifiesPurchases, "this build can't verify purchases"))
  func `a purchase that the App Store did not sign gives nothing, and no reason`() throws {
    var world = try world()
    let token = unsigned(1, purchased: 1, signed: 1_000, account: account(world.circle))
    world.circle.insert([try statement(world, by: world.alice, token)])
    #expect(world.circle.purchasesVerified == 1 && world.circle.subscriptions.isEmpty)
    let gate = world.circle.ownGate(device: DeviceKey(world.alice), preference: true, local: .none, at: 2_000)
    #expect(gate.reason == .freeTier)
  }
}
