import JSONDocument
import Membership
import Replication
import Sodium
import Storage
import Wire

/// Who this device is after a restore, and what its store begins with.
struct RestorePlan: Sendable {
  let backup: BackupSource
  let circle: Circle
  let identity: Identity
  private let hasNewKeys: Bool
  private let isPartial: Bool
  let founds: Bool
  private let name: String
  private let kept: [String: [UInt8]]

  init(
    _ backup: BackupSource, _ present: PresentStore, _ home: Home, _ order: Restoring.Order, now: Moment
  ) throws {
    self.backup = backup
    founds = order.foundsCircle
    name = order.name
    isPartial = order.isPartial
    var circle = try Self.circle(backup)
    if let held = present.circle, held.id == circle.id { circle.insert(held.statements(notIn: [])) }
    let held = Files.exists(home.deviceKey) ? try Identity.load(from: home) : nil
    let waiting = present.glance?.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    if !founds, let held, circle.evaluation.isMember(held.device) {
      (identity, hasNewKeys) = (held, false)
    } else if !founds, let held, held.device == waiting?.device, order.rootKey == nil,
      present.circle?.id == circle.id
    {
      (identity, hasNewKeys) = (held, false)
    } else {
      (identity, hasNewKeys) = (try Identity.generate(), true)
      if !founds, let path = order.rootKey {
        try Self.admit(identity, order.name, to: &circle, path, home, now)
      }
    }
    self.circle = circle
    kept = Self.kept(backup, present, circle, identity)
  }

  private static func circle(_ backup: BackupSource) throws -> Circle {
    try BackupSource.reading(backup.path) {
      do {
        return try Circle(statements: try backup.statements.map { try Statement($0) })
      } catch is StatementError {
        throw BackupError.damaged("a statement of the circle does not hold")
      }
    }
  }

  /// The root key takes the new keys in, as an admin.
  private static func admit(
    _ identity: Identity, _ name: String, to circle: inout Circle, _ path: String, _ home: Home, _ now: Moment
  ) throws {
    let root = try SigningKey(seed: try KeyFile.secrets(.root, at: path, home.passphrases))
    guard DeviceKey(root) == circle.genesis.root else {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .rootKey,
        message: "\(path) is not the root key of the backup's circle; nothing was changed.",
        next: "name the right file, or restore without it and join the circle with a ticket")
    }
    guard circle.evaluation.members.count < Limits.devicesMax else { throw WaymarkError.refused(.circleFull) }
    let certificate = DeviceCertificate(
      circle: circle.id, issuer: DeviceKey(root), device: identity.device, transport: identity.transportKey,
      name: circle.evaluation.freeName(name), role: .admin, issued: now)
    do {
      circle.insert([try Statement(signing: certificate, with: root)])
    } catch {
      throw WaymarkError.badValue("name", name, allowed: "1 to 64 bytes without control characters")
    }
  }

  /// The same device keeps its choices: the present ones, else those of its backup. Another one begins with
  /// nothing but the addresses of its peers.
  private static func kept(
    _ backup: BackupSource, _ present: PresentStore, _ circle: Circle, _ identity: Identity
  ) -> [String: [UInt8]] {
    let isOwnStore = present.circle?.id == circle.id
    if isOwnStore, let glance = present.glance, circle.evaluation.isMember(identity.device) {
      var kept: [String: [UInt8]] = [:]
      for key in MetaKey.choices + [MetaKey.mockPurchase] { kept[key] = glance.meta(key) }
      return kept
    }
    if backup.about.device == identity.device { return backup.about.kept }
    return backup.about.kept.filter { $0.key == MetaKey.addresses }
  }

  // MARK: The store

  var isAdmitted: Bool { circle.evaluation.isMember(identity.device) }

  /// Makes the store from nothing: verifies and folds every change set of the backup.
  ///
  /// - Returns: how many change sets of it are missing; none unless the restore is partial.
  func makeStore(in target: Home, now: Moment, _ events: (JSON) -> Void) throws -> Int {
    if hasNewKeys, !founds { try identity.save(to: target.deviceKey) }
    try NewStore.make(target, circle.statements(notIn: []))
    let store = try Store(path: target.store)
    for (key, value) in kept where MetaKey.choices.contains(key) || key == MetaKey.mockPurchase {
      try store.setMeta(key, value)
    }
    if !isAdmitted {
      try store.setMeta(MetaKey.waiting, AwaitedAdmission(device: identity.device, name: name).bytes)
    }
    let horizon = Clock(milliseconds: now + Limits.clockDriftMilliseconds)
    // Sets may build on others that a cut has left out.
    _ = try store.admit(by: circle.evaluation.admission, horizon: horizon)
    var partial = PartialRestore(store, circle, horizon)
    try BackupSource.reading(backup.path) {
      var done: Int64 = 0
      try BackupFile(path: backup.path).forEachPart(of: Self.partSets) { part in
        if isPartial { try partial.take(part) } else { try take(part, after: done, into: store, horizon) }
        done += Int64(part.count)
        events([
          "type": "progress", "stage": "verifying", "file": .string(backup.path), "done": .integer(done),
          "total": .integer(backup.changeSets),
        ])
      }
    }
    try store.rest()
    return partial.missing
  }

  private func take(
    _ part: [RawChangeSet], after done: Int64, into store: Store, _ horizon: Clock
  ) throws {
    var sets: [VerifiedChangeSet] = []
    sets.reserveCapacity(part.count)
    for (offset, raw) in part.enumerated() {
      let number = done + Int64(offset) + 1
      guard let set = try? VerifiedChangeSet(verifying: raw) else {
        throw BackupError.damagedSet("the signature of change set \(number) does not hold")
      }
      guard set.header.circle == circle.id, circle.evaluation.admission(of: set.header.log) != .unknownDevice
      else { throw BackupError.damaged("change set \(number) is not of this circle") }
      sets.append(set)
    }
    let report = try store.commit(sets, horizon: horizon)
    for (offset, placement) in report.placements.enumerated() {
      if case .place = placement { continue }
      if placement == .excluded { continue }
      throw BackupError.damagedSet("change set \(done + Int64(offset) + 1) has lost one that it builds on")
    }
  }

  private static let partSets = 1_000

  /// Founds a circle with the issuers of the one that the backup is of.
  func foundCircle(in staged: Home, now: Moment) throws {
    let root = try SigningKey()
    let genesis = Genesis(
      root: DeviceKey(root), device: identity.device, transport: identity.transportKey, name: name,
      issuers: circle.genesis.issuers, created: now, nonce: random16())
    let statement: Statement
    do {
      statement = try Statement(signing: genesis, with: root)
    } catch {
      throw WaymarkError.badValue("name", name, allowed: "1 to 64 bytes without control characters")
    }
    try identity.save(to: staged.deviceKey)
    try RootKey.save(root, to: staged.rootKey)
    try NewStore.make(staged, [statement])
  }

  /// - Parameter missing: change sets of the backup that are not in the store.
  func outcome(in staged: Home, missing: Int) throws -> RestoreOutcome {
    let store = try Store(path: staged.store)
    let circle = try Circle(statements: try store.statements().map { try Statement($0) })
    return RestoreOutcome(
      file: backup.path, created: backup.about.created, from: backup.about.name, circle: circle.id,
      device: identity.device, name: circle.evaluation.members[identity.device]?.name ?? name,
      keepsKeys: !hasNewKeys,
      isAdmitted: circle.evaluation.isMember(identity.device), founds: founds,
      changeSets: backup.changeSets - Int64(missing), missing: missing,
      records: Int64(try store.visibleCounts().values.reduce(0, +)))
  }
}
