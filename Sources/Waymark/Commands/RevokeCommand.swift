// Protocol/circle.md, "Revoking a device"

import Membership
import Replication
import Sodium
import Storage
import Wire

/// `revoke DEVICE…`: takes devices out of the circle for good.
extension Node {
  func revoke(_ request: CommandRequest) throws -> JSON {
    try checkKeysAdmitted()
    let plan = try revocationPlan(request)
    if request.flag("preview") || plan.targets.isEmpty {
      return revocationDocument(request, plan, isDone: false)
    }
    guard request.flag("yes") else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: "needs_yes", message: plan.question,
        next: plan.command(request) + " --yes", candidates: plan.lines)
    }
    try checkDisk()
    handle(.statementsAdded(plan.targets.map(\.statement.bytes)))
    for target in plan.targets {
      guard circle.evaluation.revocations[target.member.device] != nil else {
        throw WaymarkError.noRoom(target)
      }
      log.warning("circle", "revoked \(target.member.name)")
    }
    dial()
    return revocationDocument(request, plan, isDone: true)
  }

  // MARK: Whom

  private func revocationPlan(_ request: CommandRequest) throws -> RevocationPlan {
    var named: [Member] = []
    for name in request.texts("device") {
      let member = try revocable(name)
      if !named.contains(where: { $0.device == member.device }) { named.append(member) }
    }
    guard !named.isEmpty else {
      throw WaymarkError.usage("`revoke` needs a device.", next: "waymark members")
    }
    if request.flag("withInvited") {
      for other in named.flatMap({ invited(by: $0.device) }) {
        if !named.contains(where: { $0.device == other.device }) { named.append(other) }
      }
    }
    let isStronger = request.text("rootKey") != nil
    let already = named.filter { isRevoked($0.device, byRoot: isStronger) }
    let open = named.filter { !isRevoked($0.device, byRoot: isStronger) }
    let (key, targets) = try signed(open, request)
    let issuer = DeviceKey(key)
    return RevocationPlan(
      targets: targets, already: already,
      signer: issuer == circle.genesis.root ? "the root key" : "this device",
      issuer: issuer, undoesRevocations: request.flag("undoRevocations"),
      warnings: warnings(targets, issuer: issuer))
  }

  /// With the root key at hand a revocation by an admin can be made one that no admin can undo.
  private func isRevoked(_ device: DeviceKey, byRoot: Bool) -> Bool {
    let revocations = circle.evaluation.revocations[device] ?? []
    return byRoot ? revocations.contains { $0.body.issuer == circle.genesis.root } : !revocations.isEmpty
  }

  /// A device by name or by the beginning of its id; members before those that were revoked.
  private func revocable(_ name: String) throws -> Member {
    if circle.evaluation.known(identity.device).map({ $0.name == name || $0.device.description == name })
      == true
    {
      throw WaymarkError.ownDevice(name)
    }
    do {
      return try peer(named: name)
    } catch let failure as WaymarkError where failure.code != "ambiguous" {
      let revoked = circle.evaluation.revoked.values.filter {
        $0.device != identity.device
          && ($0.name == name || $0.device.description.hasPrefix(name.lowercased()))
      }
      guard let found = revoked.first else {
        throw WaymarkError.notFound("device", name, next: "waymark members")
      }
      guard revoked.count == 1 else {
        throw WaymarkError.ambiguous("device", name, revoked.map { "\($0.name)  \($0.device)" }.sorted())
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
    _ members: [Member], _ request: CommandRequest
  ) throws -> (SigningKey, [RevocationPlan.Target]) {
    let path = request.text("rootKey")
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
      path, at: home, of: circle, passphrases(for: request), for: "Revoking a device from here")
    return (root, try targets(members, by: root, request))
  }

  private func targets(
    _ members: [Member], by key: SigningKey, _ request: CommandRequest
  ) throws -> [RevocationPlan.Target] {
    let isUndoing = request.flag("undoRevocations")
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
      "own_device", "\(name) is this very device; a device does not revoke itself.",
      next:
        "waymark revoke \(shellWord(name)), on another admin device (waymark invite --role admin makes one)")
  }

  fileprivate static let noAdmin = WaymarkError.failed(
    "not_admin", "This device is no admin of the circle and can't revoke.",
    next: "waymark revoke on an admin device (waymark members), or with the root key: --root-key FILE")

  fileprivate static func noRoom(_ target: RevocationPlan.Target) -> WaymarkError {
    .failed(
      "no_room",
      "The circle has no room for another statement of this device; \(target.member.name) is not revoked.",
      next: "waymark revoke, on another admin device; or here waymark revoke DEVICE --root-key FILE")
  }
}
