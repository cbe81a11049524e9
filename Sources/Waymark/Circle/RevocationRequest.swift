// Protocol/circle.md, "Revoking a device"

import Membership
import Replication
import Sodium
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
    let plan = try revocationPlan(request)
    if request.isPreview || plan.targets.isEmpty {
      return summary(of: plan, request, isDone: false)
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
    return summary(of: plan, request, isDone: true)
  }

  // MARK: Whom

  private func revocationPlan(_ request: RevocationRequest) throws -> RevocationPlan {
    var named: [Member] = []
    for name in request.devices {
      let member = try revocable(name)
      if !named.contains(where: { $0.device == member.device }) { named.append(member) }
    }
    guard !named.isEmpty else {
      throw WaymarkError.usage("`revoke` needs a device.", next: .waymark("members"))
    }
    if request.withInvited {
      for other in named.flatMap({ invited(by: $0.device) }) {
        if !named.contains(where: { $0.device == other.device }) { named.append(other) }
      }
    }
    let isStronger = request.rootKey != nil
    let already = named.filter { isRevoked($0.device, byRoot: isStronger) }
    let open = named.filter { !isRevoked($0.device, byRoot: isStronger) }
    let (key, targets) = try signed(open, request)
    let issuer = DeviceKey(key)
    return RevocationPlan(
      targets: targets, already: already,
      signer: issuer == circle.genesis.root ? "the root key" : "this device",
      issuer: issuer, undoesRevocations: request.undoesRevocations,
      warnings: warnings(targets, issuer: issuer))
  }

  /// With the root key at hand a revocation by an admin can be made one that no admin can undo.
  private func isRevoked(_ device: DeviceKey, byRoot: Bool) -> Bool {
    let revocations = circle.evaluation.revocations[device] ?? []
    return byRoot
      ? revocations.contains { $0.body.issuer == circle.genesis.root } : !revocations.isEmpty
  }

  /// A device by name or by the beginning of its id; members before those that were revoked.
  private func revocable(_ name: String) throws -> Member {
    if circle.evaluation.known(identity.device).map({
      $0.name == name || $0.device.description == name
    })
      == true
    {
      throw WaymarkError.ownDevice(name)
    }
    do {
      return try peer(named: name)
    } catch let failure as WaymarkError where failure.code != .ambiguous {
      let revoked = circle.evaluation.revoked.values.filter {
        $0.device != identity.device
          && ($0.name == name || $0.device.description.hasPrefix(name.lowercased()))
      }
      guard let found = revoked.first else {
        throw WaymarkError.notFound("device", name, next: .waymark("members"))
      }
      guard revoked.count == 1 else {
        throw WaymarkError.ambiguous(
          "device", name, revoked.map { "\($0.name)  \($0.device)" }.sorted())
      }
      return found
    }
  }

  /// The other members in whose chain a device has signed, by name.
  private func invited(by device: DeviceKey) -> [Member] {
    circle.evaluation.members.values.filter { member in
      member.device != device && member.device != identity.device
        && member.chain.contains { circle.statement($0)?.signer == device }
    }.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  // MARK: By whom

  /// The revocations, by this device if its word counts, else by the root key.
  private func signed(
    _ members: [Member], _ request: RevocationRequest
  ) throws -> (SigningKey, [RevocationPlan.Target]) {
    let path = request.rootKey
    if path == nil {
      let own = try targets(members, by: identity.signing, request)
      var trial = circle
      trial.insert(own.map(\.statement))
      let counting = Set(trial.evaluation.countingRevocations(by: identity.device).map(\.id))
      if own.allSatisfy({ counting.contains($0.statement.id) }) { return (identity.signing, own) }
      guard home.storage.hasRootKey else {
        try checkAdmitted()
        throw WaymarkError.noAdmin
      }
    }
    let root = try RootKey.read(
      path, at: home, of: circle, passphrases(request.passphrase),
      for: "Revoking a device from here")
    return (root, try targets(members, by: root, request))
  }

  private func targets(
    _ members: [Member], by key: SigningKey, _ request: RevocationRequest
  ) throws -> [RevocationPlan.Target] {
    let isUndoing = request.undoesRevocations
    return try members.map { member in
      let revoked = circle.evaluation.countingRevocations(by: member.device)
        .compactMap { circle.evaluation.known($0.body.device) }
      let (logs, changeSets) = heldLogs(of: member.device)
      let order = RevocationOrder(
        device: member.device, kept: logs,
        // That it revoked this very device ends in any case: whoever revokes it does not agree.
        reinstated: Set(isUndoing ? revoked.map(\.device) : []).union([identity.device]))
      return RevocationPlan.Target(
        member: member, order: order, changeSets: changeSets, invited: invited(by: member.device),
        revoked: revoked.filter { $0.device != identity.device },
        statement: try circle.revocation(order, by: key, at: wall()))
    }
  }

  /// All tips of a device's logs that are here, longer logs first, and how many sets lead to them.
  private func heldLogs(of device: DeviceKey) -> (logs: [KeptLog], changeSets: UInt64) {
    let heads = Lane.allCases.flatMap { store.heads($0) }.filter { $0.log.device == device }
    let logs = Dictionary(grouping: heads, by: \.log).map { log, heads in
      (
        KeptLog(incarnation: log.incarnation, lane: log.lane, tips: heads.map(\.id)),
        heads.map(\.sequence).max() ?? 0
      )
    }
    let sorted = logs.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    return (sorted.map(\.0), sorted.reduce(0) { $0 &+ $1.1 })
  }
}

extension WaymarkError {
  fileprivate static func ownDevice(_ name: String) -> WaymarkError {
    .failed(
      .ownDevice, "\(name) is this very device; a device does not revoke itself.",
      next:
        "\(waymark: "revoke \(shellWord(name))", on: "another admin device") (waymark invite --role admin makes one)"
    )
  }

  fileprivate static let noAdmin = WaymarkError.failed(
    .notAdmin, "This device is no admin of the circle and can't revoke.",
    next:
      "\(waymark: "revoke") on an admin device (\(waymark: "members")), or with the root key: --root-key FILE"
  )

  fileprivate static func noRoom(_ target: RevocationPlan.Target) -> WaymarkError {
    .failed(
      .noRoom,
      "The circle has no room for another statement of this device; \(target.member.name) is not revoked.",
      next:
        "\(waymark: "revoke", on: "another admin device"); or here \(waymark: "revoke DEVICE --root-key FILE")"
    )
  }
}
