import Engine
package import Platform
package import Home
import Membership
package import NodeRuntime
import Reasons
import Records
package import Replication
import Sodium
import Storage
import Wire

/// The premium that this circle issues to itself, after a call that issues it if that is due.
package struct OwnPremiumSummary: Codable, Sendable {
  /// When it ends.
  package let until: Date
  /// Whether the call issued an entitlement; false if what was issued earlier lasts long enough.
  package let issued: Bool
  /// Whether the call made the circle trust a new issuer.
  package let trusted: Bool
  package let premium: SyncState.Premium
  /// Whether sync of records is turned on.
  package let preference: Bool
}

/// Issues premium to all devices of this circle, and renews it while the node serves.
package struct OwnPremiumIssue {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Issues premium to all devices of this circle, unless what was issued earlier lasts long enough. If this device has
  /// no issuer's key, creates one, and the root key makes the circle trust it.
  ///
  /// - Parameters:
  ///   - wanted: when premium is to end at the earliest; nil for a year from now.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  ///   - passphrase: the passphrase of the keys, if they are sealed; nil to prompt for it.
  package func issue(
    until wanted: Moment? = nil, rootKey: String? = nil, _ passphrase: Passphrase? = nil
  ) throws -> OwnPremiumSummary {
    try core.withWaymarkErrors {
      try core.checkNotExcluded()
      let time = core.replica.gateTime(now: core.wall())
      var isNewIssuer = false
      let end = OwnPremium.endToIssue(after: core.circle.ownPremiumEnd, wanted: wanted, at: time)
      if let end {
        let (key, trust) = try ownIssuer(rootKey, passphrase)
        isNewIssuer = trust != nil
        try addKept([trust, try ownEntitlement(until: end, with: key)].compactMap { $0 })
        core.renewal.failure = nil
      }
      if core.isServing { scheduleRenewal() }
      guard let until = core.circle.ownPremiumEnd else { throw premiumNotKept }
      return OwnPremiumSummary(
        until: Date(milliseconds: until), issued: end != nil, trusted: isNewIssuer,
        premium: PremiumOperations(core).summary.premium, preference: core.replica.preference)
    }
  }

  private func ownEntitlement(until end: Moment, with key: SigningKey) throws -> Statement {
    try OwnPremium.entitlement(of: core.circle.id, until: end, serial: random16(), at: core.wall(), with: key)
  }

  /// Adds statements to the circle, which keeps only a limited number of each signer's.
  private func addKept(_ statements: [Statement]) throws {
    try core.add(statements)
    guard statements.allSatisfy({ core.circle.statement($0.id) != nil }) else { throw premiumNotKept }
  }

  private var premiumNotKept: WaymarkError {
    .failed(
      .tooManyStatements, "This circle has no room for another entitlement of this issuer.",
      next: .waymark("premium show"))
  }

  /// Returns this device's issuer's key, and the statement that makes the circle trust it; the statement is nil if the
  /// circle trusts it already. Creates the key if there is none, or if the circle has withdrawn its trust in it.
  private func ownIssuer(
    _ rootKey: String?, _ passphrase: Passphrase?
  ) throws -> (key: SigningKey, trust: Statement?) {
    let source = PassphraseSource.first(core.renewal.passphrase, then: core.passphrases(passphrase))
    if core.home.storage.hasIssuerKey {
      let key = try core.home.storage.issuerKey(source).key
      if core.circle.evaluation.issuers.contains(DeviceKey(key)) { return (key, nil) }
      if !core.circle.evaluation.isWithdrawn(issuer: DeviceKey(key)) {
        return (key, try trusting(key, try openRootKey(rootKey, source).key))
      }
    }
    let root = try openRootKey(rootKey, source)
    let key = try SigningKey()
    if core.home.storage.hasIssuerKey { try core.home.storage.forgetIssuerKey() }
    try core.home.storage.keepIssuerKey(key, sealedWith: root.passphrase ?? core.renewal.passphrase)
    return (key, try trusting(key, root.key))
  }

  private func openRootKey(_ file: String?, _ source: PassphraseSource) throws -> OpenedKey {
    do {
      return try RootKey.open(file, at: core.home, of: core.circle, source, for: "Issuing premium")
    } catch let error as WaymarkError where error.reason == .rootKey && file == nil {
      throw WaymarkError(
        exitCode: error.exitCode, code: error.reason, message: error.message,
        next:
          "\(core.inspection().ownPremiumStep), or specify the file that holds it: \(waymark: "premium self --root-key FILE")"
      )
    }
  }

  private func trusting(_ issuer: SigningKey, _ root: SigningKey) throws -> Statement {
    try Statement(
      signing: IssuerStatement(
        circle: core.circle.id, root: DeviceKey(root), issuers: [DeviceKey(issuer)], issued: core.wall()),
      with: root)
  }

  // MARK: Renewal

  /// Checks from now on whether premium has to be renewed, if this device holds an issuer's key.
  package func scheduleRenewal(after milliseconds: Int64 = PremiumRenewal.firstCheckMilliseconds) {
    guard core.home.storage.hasIssuerKey else { return }
    core.loop.schedule(.renewal, after: milliseconds) { core in
      let own = OwnPremiumIssue(core)
      own.renew()
      own.scheduleRenewal(after: own.untilRenewalCheck)
    }
  }

  private var untilRenewalCheck: Int64 {
    let left = core.circle.ownPremiumEnd.map {
      OwnPremium.untilDue($0, at: core.replica.gateTime(now: core.wall()))
    }
    // A renewal that is due now was just attempted.
    return left.map { $0 == 0 ? PremiumRenewal.checkMilliseconds : min($0, PremiumRenewal.checkMilliseconds) }
      ?? PremiumRenewal.checkMilliseconds
  }

  /// Issues the next year if it is due. Does nothing if this circle never issued premium to itself, or if the other
  /// devices disagree with this machine's clock, because an entitlement moves the time by which gates are judged.
  private func renew() {
    guard core.replicator.isOpen, core.maintenance.failure == nil, core.connections.exclusion == nil,
      let end = core.circle.ownPremiumEnd,
      OwnPremium.endToIssue(after: end, at: core.replica.gateTime(now: core.wall())) != nil
    else { return }
    do {
      if let notice = try core.inspection().clockAgreement.skewNotice() {
        throw WaymarkError.failed(
          .clockDisputed, "\(sentence: notice.text).", next: notice.next ?? .waymark("status"))
      }
      try checkOwnIssuer()
      let renewed = try issue()
      core.logger.info("premium", "renewed until \(endText(milliseconds: renewed.until.milliseconds))")
    } catch {
      let failure = core.failure(error)
      core.renewal.failure = failure
      core.logger.error("premium", "can't be renewed: \(failure.message)")
    }
    core.loop.nodeChanged()
  }

  /// Throws if the circle has withdrawn its trust in this device's issuer's key. Only a person may replace the key: a
  /// device that holds the root key would otherwise undo the decision of another device by itself.
  private func checkOwnIssuer() throws {
    let key = try core.home.storage.issuerKey(.first(core.renewal.passphrase, then: core.passphrases(nil)))
      .key
    guard core.circle.evaluation.isWithdrawn(issuer: DeviceKey(key)) else { return }
    throw WaymarkError.failed(
      .issuerWithdrawn, "The circle has withdrawn its trust in this device's issuer's key.",
      next: .waymark("premium self"))
  }
}
