/// Why something is as it is: the codes of `status` that tools rely on.
public enum Reason: String, CaseIterable, Sendable {
  case inSync = "in_sync"
  case sending
  case receiving
  case connecting
  case offline
  case dialRefused = "dial_refused"
  case dialTimeout = "dial_timeout"
  case noRoute = "no_route"
  case notAMember = "not_a_member"
  case revoked
  case paused
  case syncOff = "sync_off"
  case freeTier = "free_tier"
  case peerSyncOff = "peer_sync_off"
  case peerFreeTier = "peer_free_tier"
  case entitlementExpired = "entitlement_expired"
  case entitlementNotYetValid = "entitlement_not_yet_valid"
  case peerEntitlementExpired = "peer_entitlement_expired"
  case clockAhead = "clock_ahead"
  case peerClockAhead = "peer_clock_ahead"
  case parked
  case newerProtocol = "newer_protocol"
  case waitingDependency = "waiting_dependency"
  case massDelete = "mass_delete"
  case fork
  case badSignature = "bad_signature"
  case digestMismatch = "digest_mismatch"
  case diskFull = "disk_full"
  case refusedByPeer = "refused_by_peer"
  case turnedAway = "turned_away"
  case revocationUnheard = "revocation_unheard"
  case conflicts
  case directionWaiting = "direction_waiting"
  case directionOvertaken = "direction_overtaken"
  case incarnationsSpent = "incarnations_spent"
}

/// How much a reason asks of the reader.
public enum Severity: String, Sendable {
  /// A state, nothing to do.
  case info
  /// Something waits, or will not happen by itself.
  case warning
  /// Something is broken.
  case error
}

extension Reason {
  public var severity: Severity {
    switch self {
    case .inSync, .sending, .receiving, .connecting, .offline, .paused, .syncOff, .freeTier, .peerSyncOff,
      .peerFreeTier, .waitingDependency, .entitlementNotYetValid, .directionWaiting:
      .info
    case .dialRefused, .dialTimeout, .noRoute, .entitlementExpired, .peerEntitlementExpired,
      .peerClockAhead, .parked, .massDelete, .conflicts, .refusedByPeer, .directionOvertaken,
      .revocationUnheard:
      .warning
    case .notAMember, .revoked, .turnedAway, .clockAhead, .newerProtocol, .fork, .badSignature,
      .digestMismatch, .diskFull, .incarnationsSpent:
      .error
    }
  }

  /// A clause for people; `peer` is the other device's name where there is one.
  public func sentence(peer: String? = nil) -> String {
    let other = peer ?? "the other device"
    return switch self {
    case .inSync: "in sync"
    case .sending: "sending what \(other) lacks"
    case .receiving: "receiving what this device lacks"
    case .connecting: "connecting"
    case .offline: "\(other) can't be reached now; it is tried again by itself"
    case .dialRefused: "nobody listens at the address of \(other)"
    case .dialTimeout: "the address of \(other) does not answer"
    case .noRoute: "there is no way to the address of \(other)"
    case .notAMember: "\(other) does not belong to this circle"
    case .revoked: "\(other) was revoked"
    case .paused: "paused by you"
    case .syncOff: "sync of records is off on this device"
    case .freeTier: "free: settings sync, records stay on this device"
    case .peerSyncOff: "sync of records is off on \(other)"
    case .peerFreeTier: "\(other) is free: only settings sync with it"
    case .entitlementExpired: "premium has expired; records stay on this device"
    case .entitlementNotYetValid: "premium has not begun yet; records stay on this device"
    case .peerEntitlementExpired: "premium of \(other) has expired; only settings sync with it"
    case .clockAhead: "the clock of this device ran ahead of its peers"
    case .peerClockAhead: "the clock of \(other) is ahead; its newest changes wait for their time"
    case .parked: "changes dated in the future wait for their time"
    case .newerProtocol: "\(other) speaks a newer protocol"
    case .waitingDependency: "changes wait for others that they build on"
    case .massDelete: "\(other) deleted much at once"
    case .fork: "two different logs of one device exist, as after a restored copy of its data"
    case .badSignature: "\(other) sent something with a wrong signature and was disconnected"
    case .digestMismatch: "the same changes gave different data on \(other)"
    case .diskFull: "the disk is full; nothing more is stored"
    case .refusedByPeer: "\(other) refused the connection"
    case .turnedAway: "\(other) does not let this device in; it may have been revoked"
    case .revocationUnheard: "not every device has heard that \(other) was revoked"
    case .conflicts: "changes made at the same time wait for a look"
    case .directionWaiting: "a forced direction waits for what it needs to know"
    case .incarnationsSpent: "this device has begun too many logs and can write no more"
    case .directionOvertaken: "records of a forced direction were changed by a device that did not know of it"
    }
  }

  /// The command to type next; nil where waiting is the right thing or nothing helps.
  public func next(peer: String? = nil) -> String? {
    let other = peer.map(shellWord) ?? "PEER"
    return switch self {
    case .inSync, .sending, .receiving, .connecting, .offline, .peerClockAhead, .parked, .waitingDependency,
      .fork, .badSignature, .peerSyncOff, .entitlementNotYetValid, .revoked, .diskFull, .directionWaiting,
      .incarnationsSpent:
      nil
    case .clockAhead: "waymark restamp"
    case .digestMismatch: "waymark verify \(other)"
    case .dialRefused, .dialTimeout, .noRoute: "waymark peers add ADDR:PORT"
    case .notAMember, .refusedByPeer: "waymark invite"
    case .paused: "waymark peers resume \(other)"
    case .syncOff: "waymark sync on"
    case .freeTier, .peerFreeTier: "waymark help premium"
    case .entitlementExpired, .peerEntitlementExpired: "waymark entitlement install FILE"
    case .newerProtocol: "waymark version"
    case .turnedAway: "waymark members, on \(peer ?? "the other device")"
    case .revocationUnheard: "waymark members"
    case .massDelete: "waymark history"
    case .conflicts: "waymark conflicts"
    case .directionOvertaken: "waymark history"
    }
  }
}

/// A word as a shell reads it back.
func shellWord(_ text: String) -> String {
  let plain = text.utf8.allSatisfy {
    switch $0 {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }
  if plain && !text.isEmpty { return text }
  return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
