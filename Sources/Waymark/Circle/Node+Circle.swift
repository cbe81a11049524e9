public import Foundation
import Engine
import Membership
import Replication
import Sodium
import Storage
import Transport
public import Wire

extension Node {
  /// Returns the members of the circle, including this device, followed by revoked devices.
  public func members() throws -> [CircleMember] { try readOnQueue(.members) }

  // MARK: Inviting

  /// Creates a ticket for one new device. The ticket is valid only while this node keeps serving.
  ///
  /// - Parameters:
  ///   - role: the role of the new device.
  ///   - lifetime: how long the ticket is valid.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` with the code `not_running`, `not_admin` or `too_many_tickets`.
  public func invite(
    as role: CircleMember.Role = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
  ) async throws -> Invitation {
    try core.withWaymarkErrors {
      try InvitationOperations(core).invite(
        as: role, milliseconds: lifetime.wholeMilliseconds, rootKey: rootKey?.path(percentEncoded: false))
    }
  }

  /// Shows a code with which one new device in the same network joins, instead of a ticket.
  ///
  /// The node announces the offer on the local network while the code is valid. An application on the new device joins
  /// with ``JoinOperation/init(home:code:on:at:name:)``. Three wrong codes end the offer, and so does the next call.
  ///
  /// - Parameters:
  ///   - role: the role of the new device.
  ///   - lifetime: how long the code is valid, at most ten minutes.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` with the code `bad_value`, `not_running`, `not_admin` or `too_many_tickets`.
  public func inviteByCode(
    as role: CircleMember.Role = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
  ) async throws -> CodeInvitation {
    try core.withWaymarkErrors {
      try InvitationOperations(core).offerCode(
        as: role, milliseconds: lifetime.wholeMilliseconds, rootKey: rootKey?.path(percentEncoded: false), nil
      )
    }
  }

  /// Waits until a device has joined since this node's last invitation, and returns that device; nil if none joins
  /// within the timeout.
  public func joiner(within timeout: Duration) async throws -> DeviceReference? {
    try core.checkOpen()
    _ = try await core.wait(milliseconds: timeout.wholeMilliseconds) { $0.connections.lastJoined != nil }
    return core.connections.lastJoined.map { DeviceReference(device: $0, name: core.name(of: $0)) }
  }

  // MARK: Revoking

  /// Returns what revoking devices would do, without writing anything.
  ///
  /// The parameters are those of ``revoke(_:withInvited:undoingRevocations:discarding:beforeErase:rootKey:)``.
  public func revocationPreview(
    of devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false,
    discarding: Bool = false, beforeErase: Bool = false, rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try core.withWaymarkErrors {
      try RevocationOperation(core).revoke(
        RevocationRequest(
          devices, withInvited, undoingRevocations, discarding, beforeErase, rootKey, isPreview: true))
    }
  }

  /// Revokes devices permanently. Those of their changes that this device holds are kept, unless they are discarded;
  /// every device drops all their other changes, past and future.
  ///
  /// - Parameters:
  ///   - devices: other devices of the circle.
  ///   - withInvited: whether to revoke the devices that `devices` invited, too.
  ///   - undoingRevocations: whether to readmit the devices that `devices` had revoked.
  ///   - discarding: whether to discard all changes that `devices` have made, on every device. Records that they
  ///     created disappear, and others show the values that they had before. This can't be undone.
  ///   - beforeErase: whether to keep only what the devices wrote before their mass erases, so that the erased records
  ///     come back, on every device that still keeps their values. See ``MassErase``.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin, or to make a revocation
  ///     that no admin can undo.
  /// - Throws: `WaymarkError` with the code `not_admin`, `own_device` or `not_found`.
  @discardableResult
  public func revoke(
    _ devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false,
    discarding: Bool = false, beforeErase: Bool = false, rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try core.withWaymarkErrors {
      try RevocationOperation(core).revoke(
        RevocationRequest(
          devices, withInvited, undoingRevocations, discarding, beforeErase, rootKey, isPreview: false))
    }
  }

  // MARK: Certificates and quotas

  /// Makes a member an admin, which may invite and revoke devices.
  ///
  /// - Parameters:
  ///   - device: a member of the circle.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin. A promotion by the root
  ///     key stays in effect if this device is revoked.
  /// - Throws: `WaymarkError` with the code `not_admin` or `not_found`.
  @discardableResult
  public func promote(_ device: DeviceKey, rootKey: URL? = nil) async throws -> MemberChange {
    try core.withWaymarkErrors {
      var request = CertificateRequest(device: device.description, .promotion)
      request.rootKey = rootKey?.path(percentEncoded: false)
      return try CertificateOperation(core).certify(request)
    }
  }

  /// Renames a member on all devices. To rename a peer on this device only, use ``rename(_:to:)``.
  ///
  /// - Parameters:
  ///   - device: a member of the circle, usually this device.
  ///   - name: the new name; 1 to 64 bytes.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` with the code `not_admin`, `not_found`, or `bad_value` if the name is invalid or taken.
  @discardableResult
  public func renameForAll(
    _ device: DeviceKey, to name: String, rootKey: URL? = nil
  ) async throws -> MemberChange {
    try core.withWaymarkErrors {
      var request = CertificateRequest(device: device.description, .name(name))
      request.rootKey = rootKey?.path(percentEncoded: false)
      return try CertificateOperation(core).certify(request)
    }
  }

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
    try core.withWaymarkErrors {
      var request = GrantRequest(device: device.description, lane: lane, bytes: bytes)
      request.rootKey = rootKey?.path(percentEncoded: false)
      return try GrantOperation(core).grant(request)
    }
  }

  // MARK: Leaving

  /// Leaves the circle. Everything stays readable on this device; the other devices keep what it wrote.
  ///
  /// - Parameter isConfirmed: whether the user agrees.
  /// - Throws: `WaymarkError` with the code `needs_yes` if `isConfirmed` is false, `last_admin` if the other devices
  ///   would have no admin, or `only_device` if there are none.
  @discardableResult
  public func leave(isConfirmed: Bool = false) async throws -> DepartureSummary {
    try await core.withWaymarkErrors { try await DepartureOperation(core).leave(isConfirmed: isConfirmed) }
  }
}
