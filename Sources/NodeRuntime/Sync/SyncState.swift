import Engine
public import Platform
import Home
package import Membership
public import Reasons
import Replication
package import Wire

/// Whether records sync from this device, and if not, why and what to do about it: everything that a paywall shows.
///
/// Records sync if the device has premium and the person has turned sync on. Otherwise all records stay on the device
/// and can be edited; they are just not exchanged with other devices. Settings sync without premium, too.
///
/// ```swift
/// let state = try await node.syncState()
/// switch state.step {
/// case .buyPremium, .renewPremium: showPaywall(state.sentence)
/// case .turnOn: showSwitch(state.sentence)
/// case .confirmPurchase, .updateApp, .join, .wait: show(state.sentence)
/// case .nothing: break
/// }
/// ```
public struct SyncState: Hashable, Sendable {
  /// Whether this device has premium.
  public let premium: Premium
  /// Whether the person has turned on sync of records. It is off by default, and stays on when premium ends.
  public let preference: Bool
  /// Whether records sync.
  public var isActive: Bool { obstacle == nil }
  /// Why records stay on this device; nil while they sync.
  public let obstacle: Obstacle?
  /// What to offer the person so that records sync.
  public let step: Step
  /// Why records stay on this device, as a human-readable clause; nil while they sync.
  package let text: LocalizableText?
  /// What to do next, usually a `waymark` command; nil if nothing helps.
  package let next: Reasons.Step?
  /// Whether another device has turned on sync for all devices, and the person has not answered on this device yet. Ask
  /// once, then call ``Node/turnSyncOn(isConfirmed:)`` or ``Node/turnSyncOff()``.
  public let isInvited: Bool

  /// The state as a human-readable sentence.
  public var sentence: LocalizableText { "\(sentence: text ?? "records sync with your other devices")." }

  /// The premium of this device: its source and its end.
  public struct Premium: Hashable, Sendable {
    /// Whether the device has premium.
    public var isActive: Bool { source != .noPremium }
    /// The source of premium.
    public let source: Source
    /// When premium ends; nil without premium, or if it has no known end.
    public let validUntil: Date?
    /// Why the device does not have premium; nil if it does.
    public let obstacle: Obstacle?

    /// The source of premium.
    public enum Source: String, Hashable, Sendable, Codable {
      /// A purchase in the App Store.
      case purchase
      /// An entitlement certificate.
      case certificate
      /// A build with the trait `AllFeatures`.
      case allFeatures = "all-features"
      /// A mock purchase, in builds with the trait `MockPurchases`.
      case mock
      /// The device does not have premium.
      case noPremium = "none"
    }
  }

  /// What keeps records from syncing.
  public enum Obstacle: String, Hashable, Sendable, Codable, CaseIterable {
    /// The person has not bought premium.
    case freeTier = "free_tier"
    /// Premium has expired.
    case entitlementExpired = "entitlement_expired"
    /// Premium was bought but is not valid yet.
    case entitlementNotYetValid = "entitlement_not_yet_valid"
    /// The purchase in the App Store was refunded.
    case purchaseRefunded = "purchase_refunded"
    /// The App Store last confirmed the subscription too long ago.
    case purchaseUnconfirmed = "purchase_unconfirmed"
    /// There is a purchase in the App Store, which this build can't verify.
    case purchaseUnjudged = "purchase_unjudged"
    /// The entitlement, or its issuer, was withdrawn.
    case entitlementWithdrawn = "entitlement_withdrawn"
    /// The device has premium, but sync is turned off.
    case syncOff = "sync_off"
    /// This device was revoked.
    case revoked
    /// The device that invited this one was revoked, and its invitations with it.
    case notAMember = "not_a_member"

    /// The corresponding ``Reason``.
    package var reason: Reason {
      switch self {
      case .freeTier: .freeTier
      case .entitlementExpired: .entitlementExpired
      case .entitlementNotYetValid: .entitlementNotYetValid
      case .purchaseRefunded: .purchaseRefunded
      case .purchaseUnconfirmed: .purchaseUnconfirmed
      case .purchaseUnjudged: .purchaseUnjudged
      case .entitlementWithdrawn: .entitlementWithdrawn
      case .syncOff: .syncOff
      case .revoked: .revoked
      case .notAMember: .notAMember
      }
    }
  }

  /// What to offer the person.
  public enum Step: Hashable, Sendable {
    /// Nothing: records sync.
    case nothing
    /// A purchase, followed by ``Node/install(purchase:renewal:)`` or ``Node/install(entitlement:)``.
    case buyPremium
    /// A renewal of premium that has expired, followed by the same calls.
    case renewPremium
    /// Nothing by the person: the app hands over its current transactions with ``Node/install(purchase:renewal:)``.
    case confirmPurchase
    /// A build of the app with the trait `AppStore`, which can verify the purchase.
    case updateApp
    /// Nothing: premium starts automatically, at the given time if it is known.
    case wait(until: Date?)
    /// A switch that calls ``Node/turnSyncOn(isConfirmed:)``.
    case turnOn
    /// Entering a ticket from another device of the circle, followed by ``JoinOperation``.
    case join
  }
}

extension Replica {
  /// Returns the sessions with one peer or with all peers, as far as they are identified and not closing.
  func identifiedSessions(with peer: DeviceKey?) -> [Session] {
    sessions.values.filter { session in
      !session.isClosing && (peer.map { session.device == $0 } ?? (session.device != nil))
    }
  }

  /// Returns whether the node is in sync with one connected peer or with all of them, in those of the given lanes that
  /// are open; false if no peer is connected or none of the lanes is open.
  func isInSync(with peer: DeviceKey?, _ lanes: [Lane]) -> Bool {
    let sessions = identifiedSessions(with: peer)
    guard !sessions.isEmpty else { return false }
    return sessions.allSatisfy { session in
      let open = lanes.filter { session[$0].isOpen }
      return session.isCurrent && !open.isEmpty && open.allSatisfy { session[$0].isDigestEqual == true }
    }
  }
}

extension SyncState {
  /// - Parameters:
  ///   - begins: when premium becomes valid; nil if that is not known.
  ///   - exclusion: why the device is not a member; nil for a member.
  ///   - premiumStep: how the person gets premium.
  ///   - isInvited: whether another device has invited this one to sync.
  init(
    _ gate: Gate, begins: Moment?, exclusion: NodeStatus.Notice?, premiumStep: Reasons.Step, isInvited: Bool
  ) {
    let obstacle = gate.reason.map(Obstacle.init)
    let needsPremium = [.freeTier, .entitlementExpired, .entitlementWithdrawn].contains(obstacle)
    self.init(
      premium: Premium(gate), preference: gate.preference, obstacle: obstacle,
      step: Step(obstacle, begins: begins.map(Date.init(milliseconds:))),
      text: exclusion?.text ?? obstacle?.reason.sentence(),
      next: exclusion?.next ?? (needsPremium ? premiumStep : obstacle?.reason.next()), isInvited: isInvited)
  }

  /// - Parameter obstacle: what keeps records from syncing, as an earlier answer stated it.
  init(premium: Premium, preference: Bool, obstacle: Obstacle?) {
    self.init(
      premium: premium, preference: preference, obstacle: obstacle, step: Step(obstacle, begins: nil),
      text: obstacle?.reason.sentence(), next: obstacle?.reason.next(), isInvited: false)
  }
}

extension SyncState: Codable {
  private enum CodingKeys: String, CodingKey {
    case preference
    case isActive = "active"
    case obstacle = "reason"
    case text
    case next
    case isInvited = "invited"
    case premium
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(preference, forKey: .preference)
    try container.encode(isActive, forKey: .isActive)
    try container.encodeIfPresent(obstacle, forKey: .obstacle)
    try container.encodeIfPresent(text, forKey: .text)
    try container.encodeIfPresent(next, forKey: .next)
    try container.encode(isInvited, forKey: .isInvited)
    try container.encode(premium, forKey: .premium)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let obstacle = try container.decodeIfPresent(Obstacle.self, forKey: .obstacle)
    self.init(
      premium: try container.decode(Premium.self, forKey: .premium),
      preference: try container.decode(Bool.self, forKey: .preference), obstacle: obstacle,
      step: Step(obstacle, begins: nil),
      text: try container.decodeIfPresent(LocalizableText.self, forKey: .text),
      next: try container.decodeIfPresent(Reasons.Step.self, forKey: .next),
      isInvited: try container.decodeIfPresent(Bool.self, forKey: .isInvited) ?? false)
  }
}

extension SyncState.Premium: Codable {
  private enum CodingKeys: String, CodingKey {
    case isActive = "active"
    case source
    case validUntil
    case obstacle = "reason"
  }

  package init(_ gate: Gate) {
    self.init(
      source: gate.isPremium ? Source(rawValue: gate.source.rawValue) ?? .noPremium : .noPremium,
      validUntil: gate.validUntil.map(Date.init(milliseconds:)),
      obstacle: gate.premiumReason.map(SyncState.Obstacle.init))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(isActive, forKey: .isActive)
    try container.encode(source, forKey: .source)
    try container.encodeIfPresent(validUntil, forKey: .validUntil)
    try container.encodeIfPresent(obstacle, forKey: .obstacle)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    source = try container.decode(Source.self, forKey: .source)
    validUntil = try container.decodeIfPresent(Date.self, forKey: .validUntil)
    obstacle = try container.decodeIfPresent(SyncState.Obstacle.self, forKey: .obstacle)
  }
}

extension SyncState.Obstacle {
  package init(_ reason: GateReason) {
    switch reason {
    case .freeTier: self = .freeTier
    case .entitlementExpired: self = .entitlementExpired
    case .entitlementNotYetValid: self = .entitlementNotYetValid
    case .purchaseRefunded: self = .purchaseRefunded
    case .purchaseUnconfirmed: self = .purchaseUnconfirmed
    case .purchaseUnjudged: self = .purchaseUnjudged
    case .entitlementWithdrawn: self = .entitlementWithdrawn
    case .syncOff: self = .syncOff
    case .revoked: self = .revoked
    case .notAMember: self = .notAMember
    }
  }
}

extension SyncState.Step {
  init(_ obstacle: SyncState.Obstacle?, begins: Date?) {
    switch obstacle {
    case nil: self = .nothing
    case .freeTier, .purchaseRefunded, .entitlementWithdrawn: self = .buyPremium
    case .purchaseUnconfirmed: self = .confirmPurchase
    case .purchaseUnjudged: self = .updateApp
    case .entitlementExpired: self = .renewPremium
    case .entitlementNotYetValid: self = .wait(until: begins)
    case .syncOff: self = .turnOn
    case .revoked, .notAMember: self = .join
    }
  }
}

extension NodeInspection {
  /// Whether the lanes are in sync with a peer or with all connected peers, including the files to fetch.
  package func isInSync(with peer: DeviceKey?, _ lanes: [Lane]) -> Bool {
    replica.isInSync(with: peer, lanes) && !(lanes.contains(.records) && replicator.isExpectingFiles)
  }

  /// Returns the error that tells why the node is not in sync.
  package func notInSync(with peer: DeviceKey?, _ lanes: [Lane]) -> WaymarkError {
    if let exclusion = connections.exclusion {
      return WaymarkError(excluded: exclusion, exitCode: ExitCode.notInSync)
    }
    let peers = ((try? peers()) ?? []).filter { peer == nil || $0.device == peer }
    // In sync with a peer may mean all that the two exchange, which is not always the records.
    let closing = lanes == [.records] ? peers.first { $0.records.reason != nil } : nil
    let waiting = peers.first { $0.state != .inSync } ?? closing ?? peers.first
    let closed = waiting.flatMap { lanes == [.records] ? $0.records.reason : nil }
    let reason = closed ?? waiting?.reason ?? .offline
    if reason == .inSync, lanes.contains(.records), let files = filesToCome { return files }
    return WaymarkError(
      exitCode: ExitCode.notInSync, code: reason,
      message: "Not in sync\(waiting.map { " with \($0.name)" } ?? ""): "
        + "\(reason.sentence(peer: waiting?.name)).",
      next: reason.next(peer: waiting?.name) ?? .waymark("status"))
  }

  /// The error that records are in sync, but files are still to come; nil if there are none.
  private var filesToCome: WaymarkError? {
    guard replicator.isExpectingFiles else { return nil }
    let count = replica.wantedFiles.count
    return WaymarkError(
      exitCode: ExitCode.notInSync, code: .receiving,
      message:
        "The records are in sync, but \(plural(count, "file")) \(count == 1 ? "is" : "are") still to come.",
      next: .waymark("files"))
  }
}
