import Engine
public import Platform
import Membership
import NodeOperations
import NodeRuntime
import Replication
import Sodium
import Storage
import Transport
public import Wire

extension Node {
  // MARK: Inviting

  /// Creates a ticket for one new device. The ticket is valid only while this node keeps serving.
  ///
  /// - Parameters:
  ///   - role: the role of the new device.
  ///   - lifetime: how long the ticket is valid.
  ///   - rootKey: the file with the circle's root key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` with the code `not_running`, `not_admin` or `too_many_tickets`.
  public func invite(
    as role: MemberRole = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
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
    as role: MemberRole = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
  ) async throws -> CodeInvitation {
    try core.withWaymarkErrors {
      try InvitationOperations(core).offerCode(
        as: role, milliseconds: lifetime.wholeMilliseconds, rootKey: rootKey?.path(percentEncoded: false), nil
      )
    }
  }

  /// Waits until a device has joined since this node's last invitation, and returns that device; nil if none joins
  /// within the timeout.
  public func waitForJoiner(timeout: Duration) async throws -> DeviceReference? {
    try core.checkOpen()
    _ = try await core.wait(milliseconds: timeout.wholeMilliseconds) { $0.connections.lastJoined != nil }
    return core.connections.lastJoined.map { DeviceReference(device: $0, name: core.name(of: $0)) }
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
