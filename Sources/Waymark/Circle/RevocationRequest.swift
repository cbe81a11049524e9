// Protocol/circle.md, "Revoking a device"

public import Foundation
import Membership
import Replication
import Storage
import Wire

/// Which devices are to be taken out of the circle, and how.
package struct RevocationRequest: Sendable {
  /// By names, or the beginnings of ids.
  package var devices: [String]
  /// Whether also those that are in the circle by their word.
  package var withInvited = false
  /// Whether those that they had revoked are taken in again.
  package var undoesRevocations = false
  /// A file with the circle's root key, which signs in place of this device.
  package var rootKey: String?
  package var isPreview = false
  package var isConfirmed = false
  /// Opens a sealed root key.
  package var passphrase: Passphrase?

  package init(devices: [String]) { self.devices = devices }
}

extension Node {
  /// Takes devices out of the circle for good.
  package func revoke(_ request: RevocationRequest) throws -> RevocationSummary {
    try checkKeysAdmitted()
    let planner = RevocationPlanner(
      circle: circle, device: identity.device, signing: identity.signing, names: deviceNames, home: home,
      passphrases: passphrases(request.passphrase), exclusion: exclusion, replica: replica,
      isServing: isServing, heads: Lane.allCases.flatMap { store.heads($0) }, now: wall())
    let plan = try planner.plan(request)
    if request.isPreview || plan.targets.isEmpty {
      return plan.summary(isPreview: request.isPreview, isDone: false, revocationStatus)
    }
    guard request.isConfirmed else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsYes, message: plan.question,
        next: .waymark(plan.command(request) + " --yes"), candidates: plan.lines)
    }
    try checkDisk()
    handle(.statementsAdded(plan.targets.map(\.statement.bytes)))
    for target in plan.targets {
      guard circle.evaluation.revocations[target.member.device] != nil else {
        throw WaymarkError.noRoom(target)
      }
      log.warning("circle", "revoked \(target.member.name)")
    }
    handle(.timer(.dial))
    return plan.summary(isPreview: request.isPreview, isDone: true, revocationStatus)
  }

  /// What revoking devices would do; writes nothing.
  ///
  /// The parameters are those of ``revoke(_:withInvited:undoingRevocations:rootKey:)``.
  public func revocationPreview(
    of devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false,
    rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try await revoke(devices, withInvited, undoingRevocations, rootKey) { $0.isPreview = true }
  }

  /// Takes devices out of the circle for good. What they wrote and is here stays; whatever else they wrote or will
  /// write is left out on every device.
  ///
  /// - Parameters:
  ///   - devices: other devices of the circle.
  ///   - withInvited: also those that are in the circle by their word.
  ///   - undoingRevocations: takes those in again that they had revoked.
  ///   - rootKey: the file of the circle's root key, where this device is no admin or no admin may undo it.
  /// - Throws: `WaymarkError` with the code `not_admin`, `own_device` or `not_found`.
  @discardableResult
  public func revoke(
    _ devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false,
    rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try await revoke(devices, withInvited, undoingRevocations, rootKey) { $0.isConfirmed = true }
  }

  private func revoke(
    _ devices: [DeviceKey], _ withInvited: Bool, _ undoingRevocations: Bool, _ rootKey: URL?,
    _ how: (inout RevocationRequest) -> Void
  ) async throws -> RevocationSummary {
    var request = RevocationRequest(devices: devices.map(\.description))
    request.withInvited = withInvited
    request.undoesRevocations = undoingRevocations
    request.rootKey = rootKey?.path(percentEncoded: false)
    how(&request)
    return try sayingWhy { try revoke(request) }
  }
}

extension WaymarkError {
  fileprivate static func noRoom(_ target: RevocationPlan.Target) -> WaymarkError {
    .failed(
      .noRoom,
      "The circle has no room for another statement of this device; \(target.member.name) is not revoked.",
      next:
        "\(waymark: "revoke", on: "another admin device"); or here \(waymark: "revoke DEVICE --root-key FILE")"
    )
  }
}
