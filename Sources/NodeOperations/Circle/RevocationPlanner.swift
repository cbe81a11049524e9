// Protocol/circle.md, "Revoking a device"

import Enrolment
import Home
import Membership
import Model
import NodeRuntime
import Reasons
import Replication
import Sodium
import Storage
import Wire

/// Plans a revocation from what this device knows, without changing anything.
struct RevocationPlanner {
  let circle: Circle
  let device: DeviceKey
  let signing: SigningKey
  let names: DeviceNames
  let home: Home
  /// The source of the passphrase, if the root key is sealed.
  let passphrases: PassphraseSource
  /// Why this device is not a member; nil for a member.
  let exclusion: NodeStatus.Notice?
  let replica: Replica
  let isServing: Bool
  /// The tips of all stored logs.
  let heads: [LogHead]
  let store: Store
  let now: Moment

  /// - Throws: `WaymarkError` if a name matches no device or several, or if this device can't sign a revocation.
  func plan(_ request: RevocationRequest) throws -> RevocationPlan {
    var named: [Member] = []
    for name in request.devices {
      let member = try revocable(name)
      if !named.contains(where: { $0.device == member.device }) { named.append(member) }
    }
    guard !named.isEmpty else {
      throw WaymarkError.usage("`revoke` needs a device.", next: .waymark("members"))
    }
    guard !request.discards || !request.isBeforeErase else {
      throw WaymarkError.usage(
        "--discard keeps nothing, and --before-erase keeps what a device wrote before its mass erase. Use one of them.",
        next: .waymark("help revoking"))
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
      issuer: issuer, undoesRevocations: request.undoesRevocations, withdraws: request.withInvited,
      discards: request.discards,
      isBeforeErase: request.isBeforeErase,
      warnings: targets.flatMap { warnings($0, issuer: issuer) } + adminWarning(targets))
  }

  /// Whether a device is already revoked. When the root key signs, only a revocation by the root key counts, so that
  /// an admin's revocation can be replaced by one that no admin can undo.
  private func isRevoked(_ device: DeviceKey, byRoot: Bool) -> Bool {
    let revocations = circle.evaluation.revocations[device] ?? []
    return byRoot
      ? revocations.contains { $0.body.issuer == circle.genesis.root } : !revocations.isEmpty
  }

  /// Finds a device by name or by a prefix of its id; members take precedence over revoked devices.
  private func revocable(_ name: String) throws -> Member {
    if circle.evaluation.known(device).map({
      $0.name == name || $0.device.description == name
    })
      == true
    {
      throw WaymarkError.ownDevice(name)
    }
    do {
      return try names.peer(named: name, besides: device)
    } catch let failure as WaymarkError where failure.code != .ambiguous {
      let revoked = circle.evaluation.revoked.values.filter {
        $0.device != device
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

  /// Returns the other members that would not be members without the certificates by the device, sorted by name.
  private func invited(by inviter: DeviceKey) -> [Member] {
    let others = circle.evaluation(withoutCertificatesBy: inviter)
    return members(besides: inviter) { !others.isMember($0.device) }
  }

  /// Returns the other admins that would be members, but not admins, without the certificates by the device, sorted by
  /// name.
  private func promoted(by promoter: DeviceKey) -> [Member] {
    let others = circle.evaluation(withoutCertificatesBy: promoter)
    return members(besides: promoter) { $0.role == .admin && others.members[$0.device]?.role == .member }
  }

  private func members(besides other: DeviceKey, where isMeant: (Member) -> Bool) -> [Member] {
    circle.evaluation.members.values
      .filter { $0.device != other && $0.device != device && isMeant($0) }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  // MARK: Signing

  /// Signs the revocations with this device's key if this device may revoke, or else with the root key.
  private func signed(
    _ members: [Member], _ request: RevocationRequest
  ) throws -> (SigningKey, [RevocationPlan.Target]) {
    if request.isBeforeErase { try checkHeldErases(by: members) }
    let path = request.rootKey
    if path == nil {
      let own = try targets(members, by: signing, request)
      var trial = circle
      trial.insert(own.map(\.statement))
      let counting = Set(trial.evaluation.countingRevocations(by: device).map(\.id))
      if own.allSatisfy({ counting.contains($0.statement.id) }) { return (signing, own) }
      guard home.storage.hasRootKey else {
        throw exclusion.map { WaymarkError(excluded: $0) } ?? .noAdmin
      }
    }
    let root = try RootKey.read(
      path, at: home, of: circle, passphrases,
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
      let (logs, changeSets) = try heldLogs(of: member.device, isBeforeErase: request.isBeforeErase)
      let promoted = promoted(by: member.device)
      let terms = RevocationTerms(
        device: member.device, kept: request.discards ? [] : logs,
        // A revocation of this device by the target is always undone.
        reinstated: Set(isUndoing ? revoked.map(\.device) : []).union([device]),
        withdrawn: Set(request.withInvited ? promoted.map(\.device) : []))
      return RevocationPlan.Target(
        member: member, terms: terms, changeSets: changeSets,
        lastChanged: request.discards ? try store.recordCount(lastChangedBy: member.device) : 0,
        invited: invited(by: member.device), promoted: promoted,
        revoked: revoked.filter { $0.device != device },
        statement: try circle.revocation(terms, by: key, at: now))
    }
  }

  /// Returns the stored tips of a device's logs, longest log first, and the number of change sets up to those tips.
  ///
  /// - Parameter isBeforeErase: whether the logs end before the first held erase.
  private func heldLogs(
    of device: DeviceKey, isBeforeErase: Bool
  ) throws -> (logs: [KeptLog], changeSets: UInt64) {
    var heads = heads.filter { $0.log.device == device }
    if isBeforeErase { heads = try store.heads(heads, beforeHeldErasesBy: device) }
    return KeptLog.logs(endingAt: heads.map { ($0.log, $0.sequence, $0.id) })
  }

  private func checkHeldErases(by members: [Member]) throws {
    for member in members where try store.firstHeldErases(by: member.device).isEmpty {
      throw WaymarkError.missing(
        "This device keeps no values that \(member.name) has erased, so it can't bring any back.",
        next: .waymark("revoke \(shellWord(member.name))"))
    }
  }

  // MARK: Warnings

  private func warnings(_ target: RevocationPlan.Target, issuer: DeviceKey) -> [String] {
    let name = target.member.name
    var warnings: [String] = []
    if let rank = rankWarning(target.member, issuer) { warnings.append(rank) }
    if circle.evaluation.revocations[device]?.contains(where: {
      $0.body.issuer == target.member.device
    }) == true {
      warnings.append("\(name) had revoked this device: revoking \(name) undoes that")
    }
    let known = replica.sessions.values.map { session in
      Lane.allCases.reduce(0) { count, lane in
        count + session[lane].lacking.filter { $0.key.device == target.member.device }.count
      }
    }
    if known.contains(where: { $0 > 0 }) {
      warnings.append(
        "changes by \(name) are still being received and would be dropped: run waymark wait first"
      )
    }
    if !replica.ownGate(now: now).isOpen {
      warnings.append(
        "records don't sync on this device now: records by \(name) that are not here yet will be dropped")
    }
    if let kept = target.revocation?.kept.count, kept < target.terms.kept.count {
      warnings.append("\(name) wrote \(target.terms.kept.count) logs; only the \(kept) longest are kept")
    }
    return warnings + [syncWarning(target.member)]
  }

  /// Returns a warning if the target is an admin at least as close to the root in its certificate chain as this
  /// device, because such an admin can revoke this device in turn.
  private func rankWarning(_ target: Member, _ issuer: DeviceKey) -> String? {
    guard issuer == device, target.role == .admin,
      let own = circle.evaluation.known(device)?.chain.count, target.chain.count <= own
    else { return nil }
    return
      "\(target.name) is an admin of \(target.chain.count < own ? "higher" : "equal") rank: anyone who has it can "
      + "revoke this device in turn, unless you revoke it with the root key (--root-key FILE)"
  }

  private func syncWarning(_ target: Member) -> String {
    guard let last = replica.lastSync[target.device] else {
      return !isServing
        ? "no node is running here: changes by \(target.name) that are only on other devices would be dropped"
        : "no known sync with \(target.name): changes by it may be missing here, and would be dropped"
    }
    return "last in sync with \(target.name): \(CivilTime.sentenceText(last))"
  }

  private func adminWarning(_ targets: [RevocationPlan.Target]) -> [String] {
    var trial = circle
    trial.insert(targets.map(\.statement))
    guard !targets.isEmpty, !trial.evaluation.members.values.contains(where: { $0.role == .admin })
    else {
      return []
    }
    return ["the circle will have no admin left; waymark join --root-key FILE makes this device one"]
  }
}

extension WaymarkError {
  fileprivate static func ownDevice(_ name: String) -> WaymarkError {
    .failed(
      .ownDevice, "\(name) is this device; `revoke` is for other devices.",
      next:
        "\(waymark: "members leave"); or \(waymark: "revoke \(shellWord(name))", on: "another admin device")"
    )
  }

  fileprivate static let noAdmin = WaymarkError.failed(
    .notAdmin, "This device is not an admin of the circle and can't revoke devices.",
    next:
      "\(waymark: "revoke") on an admin device (\(waymark: "members")), or with the root key: --root-key FILE"
  )
}
