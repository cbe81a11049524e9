public import Platform
public import Waymark
public import Wire

extension Node {
  /// Returns the members of the circle, including this device, followed by revoked devices.
  public func members() throws -> [CircleMember] { try readOnQueue(.members) }

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
}
