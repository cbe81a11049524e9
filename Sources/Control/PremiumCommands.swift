import Platform
package import Waymark
import WaymarkCare
package import Wire

/// `premium show`: whether premium is active, and until when.
package struct ShowPremium: PromptCommand {
  package static let name = "premium.show"
  package typealias Answer = PremiumSummary
  package var isReadOnly: Bool { true }

  package func perform(on node: isolated Node) throws -> PremiumSummary {
    PremiumOperations(node.core).summary
  }
}

/// `premium self`: issues premium to all devices of this circle, and renews it.
package struct IssueOwnPremium: NodeCommand {
  package static let name = "premium.self"
  package typealias Answer = OwnPremiumSummary

  package var until: String?
  /// The file of the root key; nil for the root key in the home.
  package var rootKey: String?
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> OwnPremiumSummary {
    let end = try until.map { typed in
      let end = try Issuer.end(typed, "--until")
      guard end > node.wall() else {
        throw WaymarkError.badValue("--until", typed, allowed: "it must be in the future")
      }
      return end
    }
    return try OwnPremiumIssue(node.core).issue(until: end, rootKey: rootKey, call.passphrase)
  }
}

/// `entitlement install`: installs a certificate from an issuer, or a purchase in the App Store.
package struct InstallEntitlement: PromptCommand {
  package static let name = "entitlement.install"

  package var file: String?

  package struct Answer: Codable, Sendable {
    /// Whether the entitlement or the purchase tells the circle something new.
    package let added: Bool
    package var entitlement: EntitlementSummary?
    package var purchase: PurchaseSummary?
    package let premium: SyncState.Premium
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let file = try required(file, Self.name, "the file of an entitlement")
    if let signed = try Issuer.readPurchase(file) {
      let (purchase, isNew) = try PremiumOperations(node.core).install(signed)
      return Answer(added: isNew, purchase: purchase, premium: PremiumOperations(node.core).summary.premium)
    }
    let (entitlement, isNew) = try PremiumOperations(node.core).install(
      try Issuer.readCertificate(file), from: file)
    return Answer(
      added: isNew, entitlement: entitlement, premium: PremiumOperations(node.core).summary.premium)
  }
}

/// `entitlement remove`: withdraws entitlements.
package struct RemoveEntitlement: NodeCommand, ConfirmableCommand {
  package static let name = "entitlement.remove"
  package typealias Answer = WithdrawalSummary

  /// The first digits of the ids.
  package var ids: [String]?
  /// The file of the key of the issuer that signed them; nil for the root key, or the key of this device.
  package var key: String?
  /// The file of the root key; nil for the root key in the home.
  package var rootKey: String?
  package var yes: Bool?
  package var keyFile: String? { key ?? rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> WithdrawalSummary {
    guard let ids, !ids.isEmpty else { throw WaymarkError.usage("Name the entitlements to remove.") }
    var request = WithdrawalRequest(.entitlements(ids))
    request.issuerKey = key
    request.rootKey = rootKey
    request.isConfirmed = yes == true
    request.passphrase = call.passphrase
    return try WithdrawalOperation(node.core).withdraw(request)
  }
}

/// `entitlement buy`: a mock purchase of premium, in builds that allow it.
package struct BuyMockPremium: PromptCommand {
  package static let name = "entitlement.buy"
  package typealias Answer = PremiumSummary

  package var mock: Bool?
  package var until: String?

  package func perform(on node: isolated Node) throws -> PremiumSummary {
    try checkMock(mock)
    let end = try until.map { typed in
      let end = try Issuer.end(typed, "--until")
      try MockPurchase.check(end, typed: typed, now: node.wall())
      return Date(milliseconds: end)
    }
    try node.buyMockPremium(until: end)
    return PremiumOperations(node.core).summary
  }
}

/// `entitlement cancel`: cancels the mock purchase.
package struct CancelMockPremium: PromptCommand {
  package static let name = "entitlement.cancel"
  package typealias Answer = PremiumSummary

  package var mock: Bool?

  package func perform(on node: isolated Node) throws -> PremiumSummary {
    try checkMock(mock)
    try node.cancelMockPremium()
    return PremiumOperations(node.core).summary
  }
}

/// Refuses a purchase in builds that don't allow one, and one without `--mock`.
private func checkMock(_ mock: Bool?) throws {
  _ = try MockPurchase()
  guard mock == true else {
    throw WaymarkError.usage("Only mock purchases can be made here: add --mock.")
  }
}

/// `issuer list`: the issuers that the circle trusts or has trusted, and what each has issued.
package struct ListIssuers: PromptCommand {
  package static let name = "issuer.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let items: [IssuerSummary]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    Answer(items: PremiumOperations(node.core).issuers)
  }
}

/// `issuer trust`: makes the circle trust an issuer, by a statement that the circle's root key signs.
package struct TrustIssuer: NodeCommand {
  package static let name = "issuer.trust"

  package var file: String?
  /// The file of the root key; nil for the root key in the home.
  package var key: String?
  package var keyFile: String? { key }

  package struct Answer: Codable, Sendable {
    package let issuer: DeviceKey
    /// Whether the issuer is new to the circle.
    package let added: Bool
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let issuer = try Issuer.readPublicKey(try required(file, Self.name, "the .pub file of an issuer"))
    return Answer(
      issuer: issuer,
      added: try PremiumOperations(node.core).trust(issuer, rootKey: key, passphrase: call.passphrase))
  }
}

/// `issuer untrust`: withdraws the trust in an issuer, by a statement that the circle's root key signs.
package struct UntrustIssuer: NodeCommand, ConfirmableCommand {
  package static let name = "issuer.untrust"
  package typealias Answer = WithdrawalSummary

  /// The first digits of the issuer's key.
  package var issuer: String
  /// The file of the root key; nil for the root key in the home.
  package var rootKey: String?
  package var yes: Bool?
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> WithdrawalSummary {
    var request = WithdrawalRequest(.issuer(issuer))
    request.rootKey = rootKey
    request.isConfirmed = yes == true
    request.passphrase = call.passphrase
    return try WithdrawalOperation(node.core).withdraw(request)
  }
}
