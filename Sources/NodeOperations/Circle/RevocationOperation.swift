import Engine
import Home
import Membership
package import NodeRuntime
import Reasons
import Replication
import Sodium
import Storage
import Wire

/// Revokes devices.
package struct RevocationOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Revokes devices permanently.
  package func revoke(_ request: RevocationRequest) throws -> RevocationSummary {
    try core.checkKeysAdmitted()
    let planner = RevocationPlanner(
      circle: core.circle, device: core.identity.device, signing: core.identity.signing,
      names: core.connections.names,
      home: core.home,
      passphrases: core.passphrases(request.passphrase), exclusion: core.connections.exclusion,
      replica: core.replica,
      isServing: core.isServing, heads: Lane.allCases.flatMap { core.store.heads($0) }, store: core.store,
      now: core.wall())
    let plan = try planner.plan(request)
    if request.isPreview || plan.targets.isEmpty {
      return plan.summary(isPreview: request.isPreview, isDone: false, core.connections.revocationStatus)
    }
    guard request.isConfirmed else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsYes, message: plan.question,
        next: .waymark(plan.command(request) + " --yes"), candidates: plan.lines)
    }
    try core.add(plan.targets.map(\.statement))
    core.replicator.deleteDiscarded(now: core.loop.time)
    core.connections.handle(.timer(.dial))
    for target in plan.targets {
      guard core.circle.evaluation.revocations[target.member.device] != nil else {
        throw WaymarkError.noRoom(target)
      }
      core.logger.warning("circle", "revoked \(target.member.name)")
    }
    return plan.summary(isPreview: request.isPreview, isDone: true, core.connections.revocationStatus)
  }
}
