// Protocol/circle.md, "Grant"

public import Foundation
import Membership
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

extension Node {
  /// Lets a device write more.
  ///
  /// Each device may write 1 GiB of records and 4 MiB of settings. What it writes beyond that, no device stores before
  /// an admin grants it more.
  ///
  /// - Parameters:
  ///   - bytes: the device's new quota, in bytes. It must be greater than the present one.
  ///   - device: a member of the circle, which may be this device.
  ///   - lane: the lane in which the device may write more.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` with the code `not_admin`, `bad_value` or `not_found`.
  @discardableResult
  public func grant(
    _ bytes: UInt64, to device: DeviceKey, of lane: Lane = .records, rootKey: URL? = nil
  ) async throws -> GrantSummary {
    try withWaymarkErrors {
      var request = GrantRequest(device: device.description, lane: lane, bytes: bytes)
      request.rootKey = rootKey?.path(percentEncoded: false)
      return try grant(request)
    }
  }

  package func grant(_ request: GrantRequest) throws -> GrantSummary {
    try checkKeysAdmitted()
    let member = try member(named: request.device)
    let previous = circle.evaluation.quota(of: member.device, request.lane)
    guard request.bytes > previous, request.bytes <= Limits.quotaBytesMax else {
      throw WaymarkError.badValue(
        "SIZE", "\(request.bytes)",
        allowed: "more than \(sizeText(previous)), which it may write now, and at most "
          + sizeText(Limits.quotaBytesMax))
    }
    let key =
      try request.rootKey.map {
        try RootKey.read($0, at: home, of: circle, passphrases(request.passphrase), for: "Granting from here")
      } ?? identity.signing
    let statement = try Statement(
      signing: Grant(
        circle: circle.id, issuer: DeviceKey(key), device: member.device, lane: request.lane,
        bytes: request.bytes, issued: wall()), with: key)
    var trial = circle
    trial.insert([statement])
    guard trial.evaluation.quota(of: member.device, request.lane) == request.bytes else {
      if request.rootKey == nil { try checkNotExcluded() }
      throw trial.statement(statement.id) == nil ? WaymarkError.noRoomForGrant : .notAdminForGrant
    }
    try maintenance.checkDisk()
    loop.handle(.statementsAdded([statement.bytes]))
    logger.info("circle", "\(member.name) may write \(sizeText(request.bytes)) of \(request.lane)")
    let used = store.quotaUsages().first { ($0.device, $0.lane) == (member.device, request.lane) }
    return GrantSummary(
      device: member.device, name: name(of: member.device), lane: "\(request.lane)", quota: request.bytes,
      previous: previous, bytes: used?.bytes ?? 0)
  }

  /// Finds a member by name or by a prefix of its id, including this device.
  func member(named name: String) throws -> Member {
    if let own = circle.evaluation.members[identity.device],
      [own.name, own.device.description].contains(name)
    {
      return own
    }
    return try connections.names.peer(named: name, besides: identity.device)
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
