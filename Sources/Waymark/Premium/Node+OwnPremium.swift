import Engine
package import Foundation
import Membership
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

/// What a node needs to renew the premium of its circle while it runs.
struct PremiumRenewal {
  /// The passphrase that opened this device's keys; nil if they are plain. A serving node can't prompt for it again.
  var passphrase: Passphrase?
  /// Why the last renewal failed; nil if none has failed since the last success.
  var failure: WaymarkError?

  /// The first check comes after peers had time to connect, because they may disagree with this machine's clock.
  static let firstCheckMilliseconds: Int64 = 60_000
  /// Checked at least this often, because the wall clock may be set.
  static let checkMilliseconds: Int64 = 24 * 3_600_000
}

extension Node {
  /// Issues premium to all devices of this circle, unless what was issued earlier lasts long enough. If this device has
  /// no issuer's key, creates one, and the root key makes the circle trust it.
  ///
  /// - Parameters:
  ///   - wanted: when premium is to end at the earliest; nil for a year from now.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  ///   - passphrase: the passphrase of the keys, if they are sealed; nil to prompt for it.
  package func issueOwnPremium(
    until wanted: Moment? = nil, rootKey: String? = nil, _ passphrase: Passphrase? = nil
  ) throws -> OwnPremiumSummary {
    try withWaymarkErrors {
      try checkNotExcluded()
      let time = replica.gateTime(now: wall())
      var isNewIssuer = false
      let end = OwnPremium.endToIssue(after: circle.ownPremiumEnd, wanted: wanted, at: time)
      if let end {
        let (key, trust) = try ownIssuer(rootKey, passphrase)
        isNewIssuer = trust != nil
        try addKept([trust, try ownEntitlement(until: end, with: key)].compactMap { $0 })
        renewal.failure = nil
      }
      if isServing { scheduleRenewal() }
      guard let until = circle.ownPremiumEnd else { throw premiumNotKept }
      return OwnPremiumSummary(
        until: Date(milliseconds: until), issued: end != nil, trusted: isNewIssuer,
        premium: premiumSummary.premium, preference: replica.preference)
    }
  }

  private func ownEntitlement(until end: Moment, with key: SigningKey) throws -> Statement {
    try OwnPremium.entitlement(of: circle.id, until: end, serial: random16(), at: wall(), with: key)
  }

  /// Adds statements to the circle, which keeps only a limited number of each signer's.
  private func addKept(_ statements: [Statement]) throws {
    loop.handle(.statementsAdded(statements.map(\.bytes)))
    guard statements.allSatisfy({ circle.statement($0.id) != nil }) else { throw premiumNotKept }
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
    let source = PassphraseSource.first(renewal.passphrase, then: passphrases(passphrase))
    if home.storage.hasIssuerKey {
      let key = try home.storage.issuerKey(source).key
      if circle.evaluation.issuers.contains(DeviceKey(key)) { return (key, nil) }
      if !circle.evaluation.isWithdrawn(issuer: DeviceKey(key)) {
        return (key, try trusting(key, try openRootKey(rootKey, source).key))
      }
    }
    let root = try openRootKey(rootKey, source)
    let key = try SigningKey()
    if home.storage.hasIssuerKey { try home.storage.forgetIssuerKey() }
    try home.storage.keepIssuerKey(key, sealedWith: root.passphrase ?? renewal.passphrase)
    return (key, try trusting(key, root.key))
  }

  private func openRootKey(_ file: String?, _ source: PassphraseSource) throws -> OpenedKey {
    do {
      return try RootKey.open(file, at: home, of: circle, source, for: "Issuing premium")
    } catch let error as WaymarkError where error.code == .rootKey && file == nil {
      throw WaymarkError(
        exitCode: error.exitCode, code: error.code, message: error.message,
        next:
          "\(ownPremiumStep), or specify the file that holds it: \(waymark: "premium self --root-key FILE")")
    }
  }

  private func trusting(_ issuer: SigningKey, _ root: SigningKey) throws -> Statement {
    try Statement(
      signing: IssuerStatement(
        circle: circle.id, root: DeviceKey(root), issuers: [DeviceKey(issuer)], issued: wall()),
      with: root)
  }

  /// How a person gets premium: on this device if it holds the root key, otherwise on the device that founded the
  /// circle.
  package var ownPremiumStep: Step { inspection().ownPremiumStep }

  // MARK: Renewal

  /// Checks from now on whether premium has to be renewed, if this device holds an issuer's key.
  func scheduleRenewal(after milliseconds: Int64 = PremiumRenewal.firstCheckMilliseconds) {
    guard home.storage.hasIssuerKey else { return }
    loop.schedule(.renewal, after: milliseconds) { node in
      node.renewPremium()
      node.scheduleRenewal(after: node.untilRenewalCheck)
    }
  }

  private var untilRenewalCheck: Int64 {
    let left = circle.ownPremiumEnd.map {
      OwnPremium.untilDue($0, at: replica.gateTime(now: wall()))
    }
    // A renewal that is due now was just attempted.
    return left.map { $0 == 0 ? PremiumRenewal.checkMilliseconds : min($0, PremiumRenewal.checkMilliseconds) }
      ?? PremiumRenewal.checkMilliseconds
  }

  /// Issues the next year if it is due. Does nothing if this circle never issued premium to itself, or if the other
  /// devices disagree with this machine's clock, because an entitlement moves the time by which gates are judged.
  private func renewPremium() {
    guard replicator.isOpen, maintenance.failure == nil, connections.exclusion == nil,
      let end = circle.ownPremiumEnd,
      OwnPremium.endToIssue(after: end, at: replica.gateTime(now: wall())) != nil
    else { return }
    do {
      if let notice = try inspection().clockAgreement.skewNotice() {
        throw WaymarkError.failed(
          .clockDisputed, notice.text.capitalizedFirst + ".", next: notice.next ?? .waymark("status"))
      }
      try checkOwnIssuer()
      let renewed = try issueOwnPremium()
      logger.info("premium", "renewed until \(endText(milliseconds: renewed.until.milliseconds))")
    } catch {
      let failure = failure(error)
      renewal.failure = failure
      logger.error("premium", "can't be renewed: \(failure.message)")
    }
    loop.nodeChanged()
  }
}

extension Node {
  /// Throws if the circle has withdrawn its trust in this device's issuer's key. Only a person may replace the key: a
  /// device that holds the root key would otherwise undo the decision of another device by itself.
  private func checkOwnIssuer() throws {
    let key = try home.storage.issuerKey(.first(renewal.passphrase, then: passphrases(nil))).key
    guard circle.evaluation.isWithdrawn(issuer: DeviceKey(key)) else { return }
    throw WaymarkError.failed(
      .issuerWithdrawn, "The circle has withdrawn its trust in this device's issuer's key.",
      next: .waymark("premium self"))
  }
}

extension NodeInspection {
  /// See `Node.ownPremiumStep`.
  var ownPremiumStep: Step {
    let command = "premium self"
    let founder = circle.genesis.device
    if maintenance.home.storage.hasRootKey || maintenance.home.storage.hasIssuerKey || founder == device {
      return .waymark(command)
    }
    guard circle.evaluation.isMember(founder) else { return .waymark("help premium") }
    return .waymark(command, on: connections.names.name(of: founder))
  }

  /// The notice that premium ends soon and can't be renewed; nil if it was renewed or is not due.
  var renewalNotice: NodeStatus.Notice? {
    guard let failure = renewalFailure, let end = circle.ownPremiumEnd,
      OwnPremium.endToIssue(after: end, at: replica.gateTime(now: now)) != nil
    else { return nil }
    let isOver = end <= replica.gateTime(now: now)
    return NodeStatus.Notice(
      .premiumEnds,
      text: "premium \(isOver ? "ended" : "ends on") \(endText(milliseconds: end)) and can't be renewed: "
        + failure.message.prefix(1).lowercased() + failure.message.dropFirst().prefix { $0 != "." },
      next: failure.code == .clockDisputed ? failure.next : .waymark("premium self"))
  }
}
