// Protocol/purchase.md, "The statement", "Which purchases are kept" and "Binding".

package import Purchases
package import Wire

/// A device's statement that shows a purchase in the App Store to its circle.
///
/// The device's signature proves only who shows it. Whether the purchase is genuine, and whether it counts, is up to
/// `Subscription`.
package struct Purchase: StatementBody {
  package var circle: CircleID
  /// The device that installed the purchase.
  package var device: DeviceKey
  private var transactionToken: String
  private var renewalToken: String?
  /// The transaction as it was read; nil if it is not readable. It has not been verified.
  package let transaction: Transaction?
  /// The renewal info that belongs to the transaction, as it was read; nil if there is none that is readable.
  package let renewal: RenewalInfo?

  package static let kind = StatementKind.purchase

  /// - Parameters:
  ///   - transaction: StoreKit's signed transaction, a JWS.
  ///   - renewal: StoreKit's signed renewal info, a JWS.
  package init(circle: CircleID, device: DeviceKey, transaction: String, renewal: String?) {
    self.circle = circle
    self.device = device
    transactionToken = transaction
    renewalToken = renewal
    self.transaction = Transaction(transaction)
    let info = renewal.flatMap { RenewalInfo($0) }
    self.renewal = info?.subscription == self.transaction?.subscription ? info : nil
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    let transaction = try map.token(3)
    let renewal = try map.optional(4) ? try map.reader.token(max: Limits.purchaseTokenBytesMax) : nil
    self.init(circle: circle, device: signer, transaction: transaction, renewal: renewal)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: transactionToken.utf8.count + (renewalToken?.utf8.count ?? 0) + 128)
    writer.map(renewalToken == nil ? 4 : 5)
    writer.common(circle, device)
    writer.pair(3, transactionToken)
    if let renewalToken { writer.pair(4, renewalToken) }
    return writer.bytes
  }

  /// The same purchase with the transaction of another statement, if that one is newer.
  package func taking(transactionOf other: Purchase) -> Purchase {
    guard let old = transaction, let new = other.transaction, new.subscription == old.subscription,
      (new.purchased, new.signed) > (old.purchased, old.signed)
    else { return self }
    return Purchase(
      circle: circle, device: device, transaction: other.transactionToken, renewal: renewalToken)
  }

  /// The same purchase with the renewal info of another statement, if that one is newer.
  package func taking(renewalOf other: Purchase) -> Purchase {
    guard let renewal = other.renewal, renewal.subscription == transaction?.subscription,
      renewal.signed > self.renewal?.signed ?? -1
    else { return self }
    return Purchase(
      circle: circle, device: device, transaction: transactionToken, renewal: other.renewalToken)
  }
}

// MARK: Which purchases are kept

extension Purchase {
  /// The order of purchases: of two statements with the same subscription and signer, the lesser is replaced.
  package struct Order: Comparable {
    private let purchased: Int64
    private let signed: Int64
    private let renewalSigned: Int64
    private let id: StatementID

    package init(_ purchase: Purchase, _ id: StatementID) {
      purchased = purchase.transaction?.purchased ?? 0
      signed = purchase.transaction?.signed ?? 0
      renewalSigned = purchase.renewal?.signed ?? 0
      self.id = id
    }

    package static func < (left: Order, right: Order) -> Bool {
      (left.purchased, left.signed, left.renewalSigned, left.id)
        < (right.purchased, right.signed, right.renewalSigned, right.id)
    }
  }

  /// Returns the statements by one signer that others of its statements replace.
  ///
  /// Only what the tokens state is compared, because builds that can't verify them have to keep the same statements.
  /// A device can displace only what it signed itself.
  static func replaced(among statements: [Statement]) -> [Statement] {
    // Statements that can't be read have no subscription, and share the key nil.
    var newest: [SubscriptionID?: (order: Order, statement: Statement)] = [:]
    for statement in statements {
      guard case .purchase(let body) = statement.content else { continue }
      let order = Order(body, statement.id)
      if let other = newest[body.transaction?.subscription], order < other.order { continue }
      newest[body.transaction?.subscription] = (order, statement)
    }
    let kept = newest.values.sorted { $0.order > $1.order }.prefix(Limits.purchasesPerSignerMax)
    let ids = Set(kept.map(\.statement.id))
    return statements.filter { !ids.contains($0.id) }
  }
}

// MARK: Binding

extension CircleID {
  /// The account token with which purchases for this circle are made: the 16 bytes of a UUID of version 8.
  package var appAccountToken: [UInt8] {
    var bytes = Array(Prefix.appAccount.hash(self.bytes).bytes.prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    return bytes
  }
}

extension Transaction {
  /// Whether it was bought for a circle.
  package func isBound(to circle: CircleID) -> Bool {
    guard let account else { return false }
    let digits = hexadecimal(circle.appAccountToken)
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
      String(digits.dropFirst(range.lowerBound).prefix(range.count))
    }
    return Array(account.utf8).map(lowercase) == Array(groups.joined(separator: "-").utf8)
  }
}

/// The lower-case form of an ASCII letter; other bytes are unchanged.
private func lowercase(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
