public import Foundation
import Engine
import Membership
import Replication
import Sodium
import Storage
import Transport
public import Wire

/// A ticket with which one new device can join the circle.
public struct Invitation: Hashable, Sendable, Codable {
  /// The ticket: one line of lower-case text, to show on a screen or as a QR code, or to send in a private message.
  public let ticket: String
  /// When the ticket expires.
  public let expires: Date
  /// The id by which `invite list` shows the ticket.
  package let id: String
}

extension Node {
  /// Returns the members of the circle, including this device, followed by revoked devices.
  public func members() throws -> [CircleMember] { try read(.members) }

  /// Whether this device is the circle's only admin, with the root key on the same disk.
  package var isSingleAdmin: Bool { inspection().isSingleAdmin }

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
    try withWaymarkErrors {
      try invite(
        as: role, milliseconds: lifetime.wholeMilliseconds, rootKey: rootKey?.path(percentEncoded: false))
    }
  }

  /// - Parameter passphrase: the passphrase of the root key, if it is sealed.
  package func invite(
    as role: CircleMember.Role, milliseconds lifetime: Int64, rootKey: String?,
    _ passphrase: Passphrase? = nil
  ) throws -> Invitation {
    let ticket = try makeTicket(as: role, milliseconds: lifetime, rootKey: rootKey, passphrase, code: nil)
    return Invitation(
      ticket: ticket.line, expires: Date(milliseconds: ticket.expiry), id: hexadecimal(ticket.id.bytes))
  }

  /// Creates a ticket, and offers it to anyone who knows the code, if there is one.
  func makeTicket(
    as role: CircleMember.Role, milliseconds lifetime: Int64, rootKey: String?, _ passphrase: Passphrase?,
    code: PairingCode?
  ) throws -> Ticket {
    guard (1...Limits.ticketMillisecondsMax).contains(lifetime) else {
      let daysMax = Limits.ticketMillisecondsMax / 86_400_000
      throw WaymarkError.badValue(
        "--expires", "\(lifetime / 1_000)s", allowed: "it must be more than zero, and at most \(daysMax)d")
    }
    let root = try rootKey.map {
      try RootKey.read($0, at: home, of: circle, passphrases(passphrase), for: "Inviting from here")
    }
    try checkAdmitted()
    return try connections.makeTicket(
      role: role == .admin ? .admin : .member, lifetime: lifetime, root: root, code: code)
  }

  /// Waits until a device has joined since this node's last invitation, and returns that device; nil if none joins
  /// within the timeout.
  public func joiner(within timeout: Duration) async throws -> DeviceReference? {
    try checkOpen()
    _ = try await wait(milliseconds: timeout.wholeMilliseconds) { $0.connections.lastJoined != nil }
    return connections.lastJoined.map { DeviceReference(device: $0, name: name(of: $0)) }
  }

  // MARK: Revoking

  /// Revokes devices permanently.
  package func revoke(_ request: RevocationRequest) throws -> RevocationSummary {
    try checkKeysAdmitted()
    let planner = RevocationPlanner(
      circle: circle, device: identity.device, signing: identity.signing, names: connections.names,
      home: home,
      passphrases: passphrases(request.passphrase), exclusion: connections.exclusion, replica: replica,
      isServing: isServing, heads: Lane.allCases.flatMap { store.heads($0) }, store: store,
      now: wall())
    let plan = try planner.plan(request)
    if request.isPreview || plan.targets.isEmpty {
      return plan.summary(isPreview: request.isPreview, isDone: false, connections.revocationStatus)
    }
    guard request.isConfirmed else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsYes, message: plan.question,
        next: .waymark(plan.command(request) + " --yes"), candidates: plan.lines)
    }
    try maintenance.checkDisk()
    loop.handle(.statementsAdded(plan.targets.map(\.statement.bytes)))
    for target in plan.targets {
      guard circle.evaluation.revocations[target.member.device] != nil else {
        throw WaymarkError.noRoom(target)
      }
      logger.warning("circle", "revoked \(target.member.name)")
    }
    replicator.deleteDiscarded(now: loop.time)
    connections.handle(.timer(.dial))
    return plan.summary(isPreview: request.isPreview, isDone: true, connections.revocationStatus)
  }

  /// Returns what revoking devices would do, without writing anything.
  ///
  /// The parameters are those of ``revoke(_:withInvited:undoingRevocations:discarding:beforeErase:rootKey:)``.
  public func revocationPreview(
    of devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false,
    discarding: Bool = false, beforeErase: Bool = false, rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try withWaymarkErrors {
      try revoke(
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
    try withWaymarkErrors {
      try revoke(
        RevocationRequest(
          devices, withInvited, undoingRevocations, discarding, beforeErase, rootKey, isPreview: false))
    }
  }
}
