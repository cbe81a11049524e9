// Protocol/circle.md, "Leaving"

import Home
import Membership
package import NodeRuntime
public import Reasons
import Replication
import Storage
public import Wire

/// The result of leaving the circle.
public struct DepartureSummary: Hashable, Sendable, Codable {
  /// Whether this device has left. If not, it has asked to leave, and an admin device completes that when it receives
  /// the request.
  public let hasLeft: Bool
  /// The connected devices, which have been told.
  public let told: [DeviceReference]
  /// The admins of the circle, any of which completes the request.
  public let admins: [DeviceReference]
  /// Human-readable sentences.
  public let text: LocalizableText
  /// What to do next.
  package let next: Step?
}

/// Leaves the circle.
package struct DepartureOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Leaves the circle. Everything stays readable on this device; the other devices keep what it wrote.
  ///
  /// - Parameter isConfirmed: whether the user agrees.
  /// - Throws: `WaymarkError` with the code `needs_yes` if `isConfirmed` is false, `last_admin` if the other devices
  ///   would have no admin, or `only_device` if there are none.
  package func leave(isConfirmed: Bool = false) async throws -> DepartureSummary {
    let told = try depart(isConfirmed: isConfirmed)
    let admins = core.circle.evaluation.members.filter { $0.value.role == .admin }.keys
    // A connected admin answers within a moment.
    if core.isServing, core.connections.member != nil, told.contains(where: { admins.contains($0.device) }) {
      _ = try await core.wait(milliseconds: Self.completionMilliseconds) { $0.connections.member == nil }
    }
    return departureSummary(told)
  }

  private static let completionMilliseconds: Int64 = 5_000

  /// Signs the revocation of this device. Returns the connected devices, which are told.
  private func depart(isConfirmed: Bool) throws -> [DeviceReference] {
    if core.circle.evaluation.leaving[core.identity.device] != nil { return connectedPeers }
    try core.checkAdmitted()
    try checkMayLeave(isConfirmed)
    guard isConfirmed else {
      throw WaymarkError.needsYes(try departureQuestion(), next: .waymark("members leave --yes"))
    }
    let tips = Lane.allCases.flatMap { core.store.heads($0) }.filter { $0.log.device == core.identity.device }
    let kept = KeptLog.logs(endingAt: tips.map { ($0.log, $0.sequence, $0.id) }).logs
    let statement = try core.circle.revocation(
      RevocationTerms(device: core.identity.device, kept: kept), by: core.identity.signing, at: core.wall())
    let told = connectedPeers
    try core.add([statement])
    guard core.circle.statement(statement.id) != nil else { throw WaymarkError.noRoomToLeave }
    core.logger.warning(
      "circle", "this device \(core.connections.member == nil ? "left" : "asked to leave") the circle")
    core.connections.handle(.timer(.dial))
    return told
  }

  private func checkMayLeave(_ isConfirmed: Bool) throws {
    let others = core.circle.evaluation.members.values.filter {
      $0.device != core.identity.device && core.circle.evaluation.leaving[$0.device] == nil
    }
    guard !others.isEmpty else { throw WaymarkError.onlyMember }
    guard core.connections.member?.role == .admin, !others.contains(where: { $0.role == .admin }) else {
      return
    }
    let other = others.map { core.connections.name(of: $0.device) }.min() ?? ""
    // The person who has the root key elsewhere can admit another admin. If it is here, no one could.
    guard isConfirmed, !core.home.storage.hasRootKey else { throw WaymarkError.lastAdmin(other, core.home) }
  }

  private func departureQuestion() throws -> LocalizableText {
    let risk = try core.inspection().replicationRisk().changeSets
    let lost: LocalizableText =
      risk == 0 ? "" : " \(plural(risk, "change set")) that no other device has would not reach the others."
    return
      "Leave the circle? Everything stays readable on this device, and the others keep what it wrote.\(lost) It "
      + "can come back only with a new ticket and new keys."
  }

  private var connectedPeers: [DeviceReference] {
    core.connections.others.filter { core.replica.session(with: $0) != nil }
      .map { DeviceReference(device: $0, name: core.name(of: $0)) }.sorted { $0.name < $1.name }
  }

  private func departureSummary(_ told: [DeviceReference]) -> DepartureSummary {
    let hasLeft = core.connections.member == nil
    let admins = core.circle.evaluation.members.values.filter {
      $0.role == .admin && $0.device != core.identity.device
    }
    .map { DeviceReference(device: $0.device, name: core.name(of: $0.device)) }.sorted { $0.name < $1.name }
    let names = admins.map(\.name).joined(separator: " or ")
    let isDue = !core.isServing || told.isEmpty
    return DepartureSummary(
      hasLeft: hasLeft, told: told, admins: admins,
      text: hasLeft
        ? "This device has left the circle. Its records can still be read here."
        : "This device has asked to leave the circle, and writes nothing more. \(names) "
          + "\(admins.count == 1 ? "completes" : "complete") that when connected.",
      next: hasLeft && !isDue
        ? nil
        : "\(waymark: "run"), within reach of \(hasLeft ? "another device" : names), so that it learns of this"
    )
  }
}

extension WaymarkError {
  fileprivate static let onlyMember = failed(
    .onlyDevice, "This device is the only one in its circle, so there is nothing to leave.",
    next: "\(waymark: "join TICKET") joins another circle and takes the records along")

  fileprivate static let noRoomToLeave = failed(
    .noRoom, "The circle holds the maximum number of statements by this device, so it can't leave by itself.",
    next: "\(waymark: "revoke", on: "an admin device")")

  fileprivate static func lastAdmin(_ other: String, _ home: Home) -> WaymarkError {
    let promote: Step = "\(waymark: "members promote \(shellWord(other))"), then \(waymark: "members leave")"
    guard home.storage.hasRootKey else {
      return WaymarkError(
        exitCode: ExitCode.needsYes, code: .lastAdmin,
        message:
          "This device is the only admin of the circle: once it has left, only the holder of the root key can "
          + "invite or revoke devices.",
        next: promote + "; or \(waymark: "members leave --yes") if the root key is kept elsewhere")
    }
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .lastAdmin,
      message:
        "This device is the only admin of the circle and has its root key: once it has left, no device could "
        + "invite or revoke any more.",
      next: promote + "; or move \(shellWord(home.rootKey)) to another device first")
  }
}
