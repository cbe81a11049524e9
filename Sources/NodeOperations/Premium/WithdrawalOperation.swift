// Protocol/circle.md, "Withdrawal (13)"

import Platform
package import Home
import Membership
package import NodeRuntime
import Reasons
import Records
import Replication
import Sodium
import Storage
package import Wire

/// A request to withdraw an issuer or entitlements of this circle.
package struct WithdrawalRequest: Sendable {
  package enum Subject: Sendable {
    /// The key of an issuer, or the first digits of it.
    case issuer(String)
    /// The ids of entitlements, or the first digits of them.
    case entitlements([String])
  }

  package var subject: Subject
  /// The file with the circle's root key; nil for the root key that this device holds.
  package var rootKey: String?
  /// The file with the key of the issuer that signs; nil to sign with the root key, or with the key with which this
  /// device issued the entitlement.
  package var issuerKey: String?
  package var isConfirmed = false
  /// The passphrase of the key that signs, if it is sealed.
  package var passphrase: Passphrase?

  package init(_ subject: Subject) { self.subject = subject }

  /// The options of the command line that name the key files, each after a space.
  fileprivate var keyOptions: String {
    (rootKey.map { " --root-key \(shellWord($0))" } ?? "")
      + (issuerKey.map { " --key \(shellWord($0))" } ?? "")
  }
}

/// The result of a withdrawal.
package struct WithdrawalSummary: Codable, Sendable {
  /// The issuer that was withdrawn; nil if entitlements were.
  package let issuer: DeviceKey?
  /// The entitlements that the request names, or those of the issuer that counted until then.
  package let entitlements: [EntitlementSummary]
  /// Whether the call changed anything; false if all of it had been withdrawn before.
  package let withdrawn: Bool
  /// The premium of this device now.
  package let premium: SyncState.Premium
}

/// Withdraws issuers and entitlements of this circle.
package struct WithdrawalOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Withdraws an issuer or entitlements.
  ///
  /// - Throws: `WaymarkError`, with the code `needs_yes` if the request is not confirmed and would change anything.
  package func withdraw(_ request: WithdrawalRequest) throws -> WithdrawalSummary {
    switch request.subject {
    case .issuer(let text):
      let issuer = try core.circle.issuer(named: text)
      let isNew = !core.circle.evaluation.isWithdrawn(issuer: issuer)
      let lost = core.circle.entitlements(of: issuer).filter { !$0.isWithdrawn }
      if isNew { try withdraw(issuer, request) }
      return withdrawalSummary(issuer, lost.map(\.id), isNew)
    case .entitlements(let texts):
      var ids: Set<StatementID> = []
      let named = try texts.map { try core.circle.entitlement(named: $0) }.filter {
        ids.insert($0.id).inserted
      }
      let left = named.filter { !$0.isWithdrawn }
      if !left.isEmpty { try withdraw(left, request) }
      return withdrawalSummary(nil, named.map(\.id), !left.isEmpty)
    }
  }

  private func withdraw(_ issuer: DeviceKey, _ request: WithdrawalRequest) throws {
    guard issuer != core.circle.genesis.root else {
      throw WaymarkError.usage("The root key of the circle can't be withdrawn as an issuer.")
    }
    guard request.isConfirmed else {
      let lost = core.circle.entitlements(of: issuer).filter { !$0.isWithdrawn }.count
      let effect =
        switch lost {
        case 0: ""
        case 1: " Its entitlement stops counting."
        default: " Its \(lost) entitlements stop counting."
        }
      throw WaymarkError.needsYes(
        "Withdraw the trust in issuer \(digits(of: issuer)), on all devices?\(effect) "
          + "The circle can never trust this key again.",
        next: .waymark("issuer untrust \(digits(of: issuer))\(request.keyOptions) --yes"))
    }
    let root = try RootKey.read(
      request.rootKey, at: core.home, of: core.circle, core.passphrases(request.passphrase),
      for: "Withdrawing an issuer")
    try keep(
      Withdrawal(
        circle: core.circle.id, signer: DeviceKey(root), issuers: [issuer],
        issued: core.wall()), by: root)
    core.logger.info("premium", "withdrew the trust in issuer \(issuer)")
  }

  private func withdraw(_ entitlements: [HeldEntitlement], _ request: WithdrawalRequest) throws {
    guard request.isConfirmed else {
      let ids = entitlements.map { digits(of: $0.id) }.joined(separator: " ")
      let until = entitlements.map(\.body.notAfter).max().map { endText(milliseconds: $0) } ?? ""
      let what =
        entitlements.count == 1
        ? "entitlement \(ids), which ends on \(until)" : "\(entitlements.count) entitlements (\(ids))"
      throw WaymarkError.needsYes(
        "Remove \(what), on all devices? This can't be undone: what was removed can't be installed again.",
        next: .waymark("entitlement remove \(ids)\(request.keyOptions) --yes"))
    }
    let key = try withdrawalKey(for: entitlements, request)
    let signer = DeviceKey(key)
    if signer != core.circle.genesis.root, let other = entitlements.first(where: { $0.body.issuer != signer })
    {
      throw WaymarkError.failed(
        .unknownIssuer,
        "Entitlement \(digits(of: other.id)) was signed by another issuer, \(digits(of: other.body.issuer)).",
        next: "use the root key (--root-key FILE), or that issuer's key (--key FILE)")
    }
    for part in stride(from: 0, to: entitlements.count, by: Limits.withdrawnMax) {
      let some = entitlements[part..<min(part + Limits.withdrawnMax, entitlements.count)]
      try keep(
        Withdrawal(
          circle: core.circle.id, signer: signer, entitlements: some.map(\.id),
          issued: core.wall()), by: key, done: part)
    }
    for entitlement in entitlements { core.logger.info("premium", "removed entitlement \(entitlement.id)") }
  }

  /// The key that signs: the one that the request names, or else the root key, which no other key can displace. Without
  /// it, the key with which this device issues premium to its own circle, if that signed all of the entitlements.
  private func withdrawalKey(
    for entitlements: [HeldEntitlement], _ request: WithdrawalRequest
  ) throws -> SigningKey {
    let source = core.passphrases(request.passphrase)
    if let file = request.issuerKey { return try Issuer.signingKey(file, source) }
    if request.rootKey == nil, !core.home.storage.hasRootKey, core.home.storage.hasIssuerKey,
      entitlements.allSatisfy({ $0.body.source == OwnPremium.source })
    {
      let own = try core.home.storage.issuerKey(source).key
      if entitlements.allSatisfy({ $0.body.issuer == DeviceKey(own) }) { return own }
    }
    return try RootKey.read(
      request.rootKey, at: core.home, of: core.circle, source, for: "Removing an entitlement")
  }

  /// Adds a withdrawal to the circle, which keeps only a limited number of each signer's statements.
  ///
  /// - Parameter done: the number of entitlements that earlier statements of the same call have withdrawn.
  private func keep(_ body: Withdrawal, by key: SigningKey, done: Int = 0) throws {
    let statement = try Statement(signing: body, with: key)
    try core.add([statement])
    guard core.circle.statement(statement.id) != nil else {
      throw WaymarkError.failed(
        .tooManyStatements,
        done == 0
          ? "This circle has no room for another statement by this key. Nothing was withdrawn."
          : "This circle has no room for another statement by this key. Only \(done) entitlements were removed.",
        next: .waymark("premium show"))
    }
  }

  private func withdrawalSummary(
    _ issuer: DeviceKey?, _ ids: [StatementID], _ isNew: Bool
  ) -> WithdrawalSummary {
    let shown = Set(ids.map(\.description))
    let summary = PremiumOperations(core).summary
    return WithdrawalSummary(
      issuer: issuer, entitlements: summary.entitlements.filter { shown.contains($0.id) }, withdrawn: isNew,
      premium: summary.premium)
  }
}

/// The first digits of an id, as they are shown and typed.
private func digits(of id: some Identifier32) -> String { String(id.description.prefix(8)) }

extension Circle {
  /// The fewest digits of an id that a person may type. Fewer could match another one by accident.
  private static let digitsMin = 4

  fileprivate func entitlements(of issuer: DeviceKey) -> [HeldEntitlement] {
    evaluation.entitlements.filter { $0.body.issuer == issuer }
  }

  /// Finds an issuer that the circle trusts or has trusted.
  fileprivate func issuer(named text: String) throws -> DeviceKey {
    let found = evaluation.pinnedIssuers.sorted().filter { matches($0, text) }
    guard found.count <= 1 else { throw WaymarkError.ambiguous("issuer", text, found.map(\.description)) }
    guard let issuer = found.first else {
      throw WaymarkError.failed(
        .unknownIssuer, "This circle trusts no issuer “\(shortened(text))”.", next: .waymark("issuer list"))
    }
    return issuer
  }

  /// Finds an entitlement that the circle holds, from any issuer.
  fileprivate func entitlement(named text: String) throws -> HeldEntitlement {
    let found = evaluation.entitlements.filter { matches($0.id, text) }
    guard found.count <= 1 else {
      throw WaymarkError.ambiguous("entitlement", text, found.map(\.id.description))
    }
    guard let entitlement = found.first else {
      throw WaymarkError.notFound("entitlement", text, next: .waymark("premium show"))
    }
    return entitlement
  }

  private func matches(_ id: some Identifier32, _ text: String) -> Bool {
    text.count >= Self.digitsMin && id.description.hasPrefix(text.lowercased())
  }
}
