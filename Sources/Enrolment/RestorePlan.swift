import Backups
import Platform
package import Home
import Membership
import Reasons
import RecordTables
import Records
package import Replication
import Sodium
import Storage
import Wire

/// What a restore has built from a backup.
package struct RestoredParts: Sendable {
  /// The number of the backup's change sets that are missing from the store; 0 unless the restore is partial.
  let missingSets: Int
  let files: TakenFiles
}

/// The identity of this device after a restore, and the contents of its store.
package struct RestorePlan: Sendable {
  let backup: BackupSource
  let circle: Circle
  let identity: Identity
  private let hasNewKeys: Bool
  private let isPartial: Bool
  let founds: Bool
  private let name: String
  private let kept: [String: [UInt8]]
  /// The records that the present store has erased since the backup was made.
  private let erased: [RecordKey]

  package init(
    _ backup: BackupSource, _ present: PresentStore, _ home: Home, _ request: RestoreOperation.Request,
    now: Moment
  ) throws {
    self.backup = backup
    founds = request.foundsCircle
    isPartial = request.isPartial
    var circle = try Self.circle(backup)
    if let held = present.circle, held.id == circle.id { circle.insert(held.statements(notIn: [])) }
    let held = Files.exists(home.deviceKey) ? try Identity.load(from: home) : nil
    let name = Self.name(request, present, backup, held)
    self.name = name
    let waiting = present.diagnostics?.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    if !founds, let held, circle.evaluation.isMember(held.device) {
      (identity, hasNewKeys) = (held, false)
    } else if !founds, let held, held.device == waiting?.device, request.rootKey == nil,
      present.circle?.id == circle.id
    {
      (identity, hasNewKeys) = (held, false)
    } else {
      (identity, hasNewKeys) = (try Identity.generate(), true)
      if !founds, let path = request.rootKey {
        try Self.admit(identity, name, to: &circle, path, home, now)
      }
    }
    self.circle = circle
    erased = !founds && present.circle?.id == circle.id ? present.erased(since: backup) : []
    kept = Self.kept(backup, present, circle, identity)
  }

  /// Returns the name of the restored device: the name that the user wants, else the one that this device has, else the
  /// name of the device that made the backup, else the default.
  private static func name(
    _ request: RestoreOperation.Request, _ present: PresentStore, _ backup: BackupSource, _ held: Identity?
  ) -> String {
    guard request.keepsName else { return request.name }
    let own = held.flatMap { present.circle?.evaluation.known($0.device)?.name }
    return [own, backup.about.name, request.name].compactMap(\.self).first(where: isName) ?? request.name
  }

  private static func circle(_ backup: BackupSource) throws -> Circle {
    try BackupSource.reading(backup.path) {
      do {
        return try Circle(statements: try backup.statements.map { try Statement($0) })
      } catch is StatementError {
        throw BackupError.damaged("a statement of the circle is invalid")
      }
    }
  }

  /// Admits the new keys with the root key, as an admin.
  private static func admit(
    _ identity: Identity, _ name: String, to circle: inout Circle, _ path: String, _ home: Home, _ now: Moment
  ) throws {
    let root = try SigningKey(seed: try KeyFile.secrets(.root, at: path, home.passphrases, in: home.keyStore))
    guard DeviceKey(root) == circle.genesis.root else {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .rootKey,
        message: "\(path) is not the root key of the backup's circle; nothing was changed.",
        next: "name the right file, or restore without one and join the circle with a ticket")
    }
    guard circle.evaluation.members.count < Limits.devicesMax else { throw WaymarkError.refused(.circleFull) }
    let certificate = DeviceCertificate(
      circle: circle.id, issuer: DeviceKey(root), device: identity.device, transport: identity.transportKey,
      name: circle.evaluation.freeName(name), role: .admin, issued: now)
    do {
      circle.insert([try Statement(signing: certificate, with: root)])
    } catch {
      throw WaymarkError.badValue(
        "name", name, allowed: "1 to 64 bytes without control or invisible characters")
    }
  }

  /// Returns the choices that the restored store begins with. A device that stays the same keeps its choices: the
  /// present ones, or else those in its backup. A different device starts with only the addresses of its peers.
  private static func kept(
    _ backup: BackupSource, _ present: PresentStore, _ circle: Circle, _ identity: Identity
  ) -> [String: [UInt8]] {
    let isOwnStore = present.circle?.id == circle.id
    if isOwnStore, let diagnostics = present.diagnostics, circle.evaluation.isMember(identity.device) {
      var kept: [String: [UInt8]] = [:]
      for key in MetaKey.choices + [MetaKey.mockPurchase] { kept[key] = diagnostics.meta(key) }
      return kept
    }
    if backup.about.device == identity.device { return backup.about.kept }
    return backup.about.kept.filter { [MetaKey.addresses, MetaKey.apps].contains($0.key) }
  }

  // MARK: The store

  var isAdmitted: Bool { circle.evaluation.isMember(identity.device) }

  /// Builds the store from scratch: verifies and folds every change set of the backup.
  ///
  /// - Parameters:
  ///   - folders: folders with files of other stores.
  ///   - isPreview: whether to verify the files without writing them.
  package func makeStore(
    in target: Home, filesFrom folders: [String] = [], isPreview: Bool = false, now: Moment,
    _ progress: (WorkProgress) -> Void
  ) throws -> RestoredParts {
    if hasNewKeys, !founds { try identity.save(in: target) }
    try NewStore.make(target, circle.statements(notIn: []))
    let store = try Store(path: target.store)
    for (key, value) in kept where MetaKey.choices.contains(key) || key == MetaKey.mockPurchase {
      try store.setMeta(key, value)
    }
    if !isAdmitted {
      try store.setMeta(MetaKey.waiting, AwaitedAdmission(device: identity.device, name: name).bytes)
    }
    let horizon = Clock(milliseconds: now + Limits.clockDriftMilliseconds)
    // Change sets may depend on others that a cut has excluded, so the cuts are applied first.
    let holding = EraseHolding(device: identity.device, now: now)
    _ = try store.admit(
      by: circle.evaluation.admission, quota: circle.evaluation.quota, horizon: horizon, holding: holding)
    // A person who restores a backup may want to stop a mass erase, so the days to do so begin again.
    try store.holdErases(backup.heldErases, until: now &+ EraseHolding.milliseconds)
    var partial = PartialRestore(store, circle, horizon, holding)
    try BackupSource.reading(backup.path) {
      var done: Int64 = 0
      try BackupFile(path: backup.path).forEachPart(of: Self.partSets) { part in
        if isPartial {
          try partial.take(part)
        } else {
          try take(part, after: done, into: store, horizon, holding)
        }
        done += Int64(part.count)
        progress(
          WorkProgress(
            stage: "verifying", done: Int(clamping: done), total: Int(clamping: backup.changeSets)))
      }
    }
    let files = try BackupSource.reading(backup.path) {
      try store.takeFiles(
        from: folders, try BackupFile(path: backup.path), skipsDamaged: isPartial, isPreview: isPreview,
        now: now
      ) { done, total in progress(WorkProgress(stage: "restoring files", done: done, total: total)) }
    }
    let lines = try store.unerased(erased).prefix(Self.erasedMax).map { row in
      "\(row.key.kind.rawValue) \(hexadecimal(row.key.id.bytes))"
    }
    if !lines.isEmpty { try store.setMetaLines(MetaKey.erasedBefore, Array(lines)) }
    try store.rest()
    return RestoredParts(missingSets: partial.missing, files: files)
  }

  private func take(
    _ part: [RawChangeSet], after done: Int64, into store: Store, _ horizon: Clock, _ holding: EraseHolding
  ) throws {
    var sets: [VerifiedChangeSet] = []
    sets.reserveCapacity(part.count)
    for (offset, raw) in part.enumerated() {
      let number = done + Int64(offset) + 1
      guard let set = try? VerifiedChangeSet(verifying: raw) else {
        throw BackupError.damagedSet("the signature of change set \(number) is invalid")
      }
      guard set.header.circle == circle.id, circle.evaluation.admission(of: set.header.log) != .unknownDevice
      else { throw BackupError.damaged("change set \(number) does not belong to this circle") }
      sets.append(set)
    }
    let report = try store.commit(sets, horizon: horizon, holding: holding)
    for (offset, placement) in report.placements.enumerated() {
      if case .place = placement { continue }
      if placement == .excluded || placement == .beyondQuota { continue }
      throw BackupError.damagedSet("a dependency of change set \(done + Int64(offset) + 1) is missing")
    }
  }

  private static let partSets = 1_000
  /// The maximum number of records that the restored store remembers as erased before.
  private static let erasedMax = 10_000

  /// Founds a new circle that accepts the same issuers as the backup's circle.
  func foundCircle(in staged: Home, now: Moment) throws {
    try CircleCreation(name: name, issuers: circle.genesis.issuers, identity: identity, now: now)
      .writeKeysAndStore(to: staged)
  }

  func summary(of staged: Home, _ parts: RestoredParts, isPreview: Bool) throws -> RestoreSummary {
    let store = try Store(path: staged.store)
    let circle = try Circle(statements: try store.statements().map { try Statement($0) })
    let isAdmitted = circle.evaluation.isMember(identity.device)
    return RestoreSummary(
      isPreview: isPreview, file: backup.path, created: Date(milliseconds: backup.about.created),
      from: backup.about.name, circle: circle.id, isNewCircle: founds,
      // The new keys of a preview are discarded, and the restore creates others, so their id means nothing.
      device: isPreview && hasNewKeys ? nil : identity.device,
      name: circle.evaluation.members[identity.device]?.name ?? name, hasNewKeys: hasNewKeys,
      isAdmitted: isAdmitted, changeSets: Int(clamping: backup.changeSets) - parts.missingSets,
      missing: parts.missingSets, files: parts.files.taken, missingFiles: parts.files.missing,
      records: try store.visibleCounts().values.reduce(0, +),
      erasedAgain: try store.unerased(erased).compactMap { row in
        let kind = store.schema.kind(row.key.kind)
        let name = (kind?.field(named: "name") ?? kind?.field(named: "fileName")).flatMap {
          row[$0.number]?.asText
        }
        return UUID(uuidString: row.key.id.uuid).map {
          RestoreSummary.ErasedRecord(kind: store.schema.name(row.key.kind), id: $0, name: name)
        }
      }, discardedSets: 0,
      next: isAdmitted ? .waymark("run") : AwaitedAdmission.next)
  }
}
