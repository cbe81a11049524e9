import Membership
import Purchases
import Sodium
import Testing
import Wire

/// Which of two statements about one purchase is newer, and whether a purchase is worth another statement. Nothing here
/// is verified, so these rules are the same in every build.
@Suite struct PurchaseRenewalTests {
  private func token(_ payload: String) -> String {
    let parts = [#"{"alg":"ES256","x5c":["","",""]}"#, payload].map { Base64.encodeForURL(Array($0.utf8)) }
    return parts.joined(separator: ".") + "."
  }

  private func transaction(
    _ original: Int = 1, purchased: Int64, signed: Int64, more: String = #""expiresDate":9000000000000"#,
    account: String = ""
  ) -> String {
    token(
      """
      {"bundleId":"\(DevelopmentStore.bundle)","productId":"\(DevelopmentStore.yearly)",\
      "environment":"Production","originalTransactionId":"\(original)","purchaseDate":\(purchased),\
      "signedDate":\(signed),"appAccountToken":"\(account)",\(more)}
      """)
  }

  private func renewal(_ original: Int = 1, signed: Int64, graceEnds: Int64? = nil) -> String {
    let grace = graceEnds.map { #","gracePeriodExpiresDate":\#($0)"# } ?? ""
    return token(
      #"{"environment":"Production","originalTransactionId":"\#(original)","signedDate":\#(signed)\#(grace)}"#
    )
  }

  private func account(_ circle: Circle) -> String {
    let digits = Array(hexadecimal(circle.id.appAccountToken))
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }

  private func purchase(
    _ world: World, by key: SigningKey? = nil, _ transaction: String, _ renewal: String? = nil
  ) -> Purchase {
    Purchase(
      circle: world.circle.id, device: DeviceKey(key ?? world.alice), transaction: transaction,
      renewal: renewal)
  }

  @Test func `the later period is taken over, and of one period what was signed later`() throws {
    let world = try World()
    let info = renewal(signed: 3, graceEnds: 77)
    let own = purchase(world, transaction(purchased: 10, signed: 10), info)
    #expect(own.renewal?.graceEnds == 77)
    let rows: [(original: Int, purchased: Int64, signed: Int64, isTaken: Bool)] = [
      (1, 10, 11, true), (1, 11, 5, true), (1, 10, 10, false), (1, 10, 9, false), (1, 9, 99, false),
      (2, 11, 11, false),
    ]
    for (original, purchased, signed, isTaken) in rows {
      let other = purchase(
        world, by: world.bob, transaction(original, purchased: purchased, signed: signed),
        renewal(original, signed: 50))
      let result = own.taking(transactionOf: other)
      #expect(result.transaction == (isTaken ? other.transaction : own.transaction))
      #expect(result.renewal == own.renewal && result.device == own.device, "the rest stays")
      #expect((result == own) == !isTaken)
    }
  }

  @Test func `a renewal info belongs to its subscription, and the one signed later is taken over`() throws {
    let world = try World()
    let bought = transaction(purchased: 10, signed: 10)
    #expect(purchase(world, bought, renewal(2, signed: 5)).renewal == nil)
    let rows: [(own: Int64?, original: Int, other: Int64, isTaken: Bool)] = [
      (nil, 1, 0, true), (nil, 1, 5, true), (5, 1, 6, true), (5, 1, 5, false), (5, 1, 4, false),
      (nil, 2, 5, false), (5, 2, 6, false),
    ]
    for (signed, original, newer, isTaken) in rows {
      let own = purchase(world, bought, signed.map { renewal(signed: $0) })
      let other = purchase(
        world, by: world.bob, transaction(original, purchased: 99, signed: 99),
        renewal(original, signed: newer, graceEnds: 88))
      let result = own.taking(renewalOf: other)
      #expect(result.renewal == (isTaken ? other.renewal : own.renewal))
      #expect(result.transaction == own.transaction && result.device == own.device, "the rest stays")
    }
  }

  @Test(.enabled(if: !verifiesPurchases, "this build verifies purchases"))
  func `a purchase is shown again if it says something new, or once a day`() throws {
    var world = try World()
    world.circle.purchasePolicy = .development
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    let account = account(world.circle)
    let (bought, day): (Int64, Int64) = (10_000, 24 * 3_600_000)
    func same(_ purchased: Int64, _ signed: Int64, of original: Int = 1) -> String {
      transaction(original, purchased: purchased, signed: signed, account: account)
    }
    let held = purchase(world, same(bought, bought))
    #expect(!world.circle.knows(held))
    world.circle.insert([try Statement(signing: held, with: world.alice)])
    func knows(_ transaction: String, _ renewal: String? = nil, by key: SigningKey? = nil) -> Bool {
      world.circle.knows(purchase(world, by: key, transaction, renewal))
    }
    #expect(knows(same(bought, bought)))
    #expect(knows(same(bought, bought - 1)) && knows(same(bought - 1, bought + 5 * day)))
    #expect(knows(same(bought, bought + day - 1)) && !knows(same(bought, bought + day)))
    #expect(!knows(same(bought + 1, bought + 1)), "another period")
    #expect(!knows(same(bought, bought, of: 2)), "another subscription")
    for more in [
      #""expiresDate":9000000000001"#, #""expiresDate":9000000000000,"revocationDate":5"#,
      #""expiresDate":9000000000000,"isUpgraded":true"#,
      #""expiresDate":9000000000000,"inAppOwnershipType":"FAMILY_SHARED""#,
    ] {
      let other = transaction(purchased: bought, signed: bought + 1, more: more, account: account)
      #expect(!knows(other), "\(more)")
    }
    #expect(knows("unreadable"), "nothing in it can be read")
    #expect(!knows(same(bought, bought), by: world.bob), "this build believes only its own device")
    #expect(!knows(same(bought, bought), renewal(signed: 20_000, graceEnds: 30_000)))
    #expect(
      knows(same(bought, bought), renewal(signed: 20_000)), "without a grace period it says nothing new")
  }
}
