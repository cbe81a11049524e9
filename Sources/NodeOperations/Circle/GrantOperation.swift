// Protocol/circle.md, "Grant"

import Platform
package import Home
import Membership
package import NodeRuntime
import Reasons
import Replication
import Sodium
import Storage
public import Wire

/// A request to raise the quota of a device.
package struct GrantRequest: Sendable {
  /// The device's name or id prefix.
  package var device: String
  package var lane: Lane
  /// The new quota in bytes.
  package var bytes: UInt64
  /// The file with the circle's root key; nil to sign with this device's key.
  package var rootKey: String?
  /// The passphrase of the root key, if it is sealed.
  package var passphrase: Passphrase?

  package init(device: String, lane: Lane, bytes: UInt64) {
    self.device = device
    self.lane = lane
    self.bytes = bytes
  }
}

/// A quota that was raised.
public struct GrantSummary: Hashable, Sendable, Codable {
  /// The device that may write more.
  public let device: DeviceKey
  /// The name of the device.
  public let name: String
  /// The lane: `settings` or `records`.
  public let lane: String
  /// The device's quota in the lane now, in bytes.
  public let quota: UInt64
  /// The quota before, in bytes.
  public let previous: UInt64
  /// The bytes that the device has written in the lane and that are stored here.
  public let bytes: UInt64
}

/// Raises the quota of a device.
package struct GrantOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Grants a device a larger quota in a lane.
  package func grant(_ request: GrantRequest) throws -> GrantSummary {
    try core.checkKeysAdmitted()
    let member = try core.member(named: request.device)
    let previous = core.circle.evaluation.quota(of: member.device, request.lane)
    guard request.bytes > previous, request.bytes <= Limits.quotaBytesMax else {
      throw WaymarkError.badValue(
        "SIZE", "\(request.bytes)",
        allowed: "more than \(sizeText(previous)), which it may write now, and at most "
          + "\(sizeText(Limits.quotaBytesMax))")
    }
    let key =
      try request.rootKey.map {
        try RootKey.read(
          $0, at: core.home, of: core.circle, core.passphrases(request.passphrase), for: "Granting from here")
      } ?? core.identity.signing
    let statement = try Statement(
      signing: Grant(
        circle: core.circle.id, issuer: DeviceKey(key), device: member.device, lane: request.lane,
        bytes: request.bytes, issued: core.wall()), with: key)
    var trial = core.circle
    trial.insert([statement])
    guard trial.evaluation.quota(of: member.device, request.lane) == request.bytes else {
      if request.rootKey == nil { try core.checkNotExcluded() }
      throw trial.statement(statement.id) == nil ? WaymarkError.noRoomForGrant : .notAdminForGrant
    }
    try core.add([statement])
    core.logger.info("circle", "\(member.name) may write \(sizeText(request.bytes)) of \(request.lane)")
    let used = core.store.quotaUsages().first { ($0.device, $0.lane) == (member.device, request.lane) }
    return GrantSummary(
      device: member.device, name: core.name(of: member.device), lane: "\(request.lane)",
      quota: request.bytes,
      previous: previous, bytes: used?.bytes ?? 0)
  }
}

extension WaymarkError {
  fileprivate static let notAdminForGrant = failed(
    .notAdmin, "This device is not an admin of the circle and can't grant more room.",
    next:
      "\(waymark: "grant") on an admin device (\(waymark: "members")), or with the root key: --root-key FILE")

  fileprivate static let noRoomForGrant = failed(
    .noRoom, "The circle holds the maximum number of statements by this device. Nothing was granted.",
    next:
      "\(waymark: "grant", on: "another admin device"); or here \(waymark: "grant DEVICE SIZE --root-key FILE")"
  )
}
