import Foundation
import Membership
import Purchases
import Sodium
import Testing
import Vectors
import Wire

/// Protocol/purchase.md by its vectors. A build that can't verify purchases passes those of reading and keeping.
@Suite struct PurchaseVectorTests {
  private static let vectors = PurchaseVectors.all

  @Test(arguments: vectors.tokens.indices) func `account tokens`(index: Int) throws {
    let row = Self.vectors.tokens[index]
    let bytes = try #require(CircleID(hex: row.circle)).appAccountToken
    #expect(UUID(uuidString: row.token)?.uuid.6 == bytes[6])
    #expect(row.token.filter { $0 != "-" }.lowercased() == hexadecimal(bytes))
  }

  @Test(arguments: vectors.statements) func `statements`(row: PurchaseVectors.StatementRow) throws {
    let bytes = unhex(row.bytes)
    guard let expected = row.error else {
      let statement = try Statement(bytes)
      guard case .purchase(let body) = statement.content else {
        return #expect(Bool(false), "the statement is no purchase")
      }
      #expect(statement.bytes == bytes)
      var reader = CBORReader(bytes)
      try reader.array(exactly: 3)
      #expect(try reader.unsigned() == 12)
      #expect(try reader.byteString(max: bytes.count) == body.encoded)
      return
    }
    let error = #expect(throws: StatementError.self) { try Statement(bytes) }
    switch error {
    case .malformed: #expect(expected == "malformed")
    case .badSignature: #expect(expected == "badSignature")
    default: #expect(Bool(false), "refused as \(String(describing: error)), not as \(expected)")
    }
  }

  @Test(arguments: vectors.judged) func `transactions`(row: PurchaseVectors.JudgedRow) throws {
    let policy = (row.policy ?? Self.vectors.policy).policy(root: Self.vectors.root)
    var circle = try Self.circle(policy)
    let body = Purchase(
      circle: circle.id, device: DeviceKey(Self.alice), transaction: row.transaction, renewal: row.renewal)
    #expect((body.transaction != nil) == row.readable)
    #expect(body.transaction?.isBound(to: circle.id) == row.bound)
    guard verifiesPurchases else { return }
    #expect(body.transaction?.isGenuine(policy.roots) == row.genuine)
    #expect(body.renewal?.isGenuine(policy.roots) ?? false == row.renewalCounts)

    circle.insert([try Statement(signing: body, with: Self.alice)])
    let subscription = circle.subscriptions.first
    #expect(subscription?.end == row.end)
    #expect(subscription?.trusted == row.trusted)
    for moment in row.at {
      let state = subscription?.state(at: moment.time).rawValue ?? "none"
      #expect(state == moment.state, "at \(moment.time)")
    }
  }

  @Test(arguments: vectors.kept) func `which statements are kept`(row: PurchaseVectors.KeptRow) throws {
    let statements = try row.statements.map { try Statement(unhex($0)) }
    let expected = Set(row.kept.map { statements[$0].id })
    var random = SeededRandom(seed: 36)
    let orders = [
      statements, statements.reversed(), random.shuffled(statements), random.shuffled(statements),
    ]
    for order in orders {
      var together = try Self.circle()
      together.insert(order)
      #expect(Set(together.ids).subtracting([together.genesisID]) == expected)
      var oneByOne = try Self.circle()
      for statement in order { oneByOne.insert([statement]) }
      #expect(oneByOne.setHash == together.setHash)
    }
  }

  @Test(.enabled(if: verifiesPurchases), arguments: vectors.gates)
  func `gates`(row: PurchaseVectors.GateRow) throws {
    let device = try #require(DeviceKey(hex: row.device))
    let statements = try row.statements.map { try Statement(unhex($0)) }
    for order in [statements, statements.reversed()] {
      let circle = try Circle(
        statements: order, developmentIssuer: nil, purchases: row.policy.policy(root: Self.vectors.root))
      for moment in row.at {
        let gate = circle.peerGate(device: device, preference: true, at: moment.time)
        #expect(gate.isPremium == moment.premium, "at \(moment.time)")
        #expect(gate.source.rawValue == moment.source, "at \(moment.time)")
        #expect(gate.validUntil == moment.until, "at \(moment.time)")
        #expect(gate.reason?.rawValue == moment.reason, "at \(moment.time)")
        if circle.evaluation.isMember(device) {
          #expect(circle.ownGate(device: device, preference: true, local: .none, at: moment.time) == gate)
        }
      }
    }
  }

  @Test func `the stand-in for the App Store has the keys of the vectors`() {
    #expect(DevelopmentStore.root == unhex(Self.vectors.pki.root))
    #expect(DevelopmentStore.intermediate == unhex(Self.vectors.pki.intermediate))
    #expect(DevelopmentStore.leaf == unhex(Self.vectors.pki.leaf))
    #expect(DevelopmentStore.leafKey == unhex(Self.vectors.pki.leafKey))
  }

  @Test func `the pinned root is Apple Root CA - G3`() {
    let expected = "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"
    #expect(hexadecimal(SHA256.hash(PinnedRoots.apple)) == expected)
  }

  // MARK: The circle of the vectors

  private static let alice: SigningKey = {
    do { return try SigningKey(seed: SHA256.hash(Array("waymark vector key alice".utf8))) } catch {
      preconditionFailure("the vectors have no key for Alice: \(error)")
    }
  }()

  private static func circle(_ policy: PurchasePolicy = PurchasePolicy(apps: [])) throws -> Circle {
    let genesis = try #require(vectors.gates.first?.statements.first)
    let circle = try Circle(
      genesis: try Statement(unhex(genesis)), developmentIssuer: nil, purchases: policy)
    #expect(circle.id.description == vectors.circle)
    return circle
  }
}
