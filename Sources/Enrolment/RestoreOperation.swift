import Backups
public import Platform
public import Home
import Membership
public import Reasons
public import Records
import Replication
import Storage
public import Wire

/// Restores a home from a backup.
///
/// The new store is built next to the present one: every signature is verified, every table is folded again, and a new
/// incarnation is started, so that this device never continues a log that was continued elsewhere. The new store
/// replaces the present one only when it is complete, and the present store is kept among the backups.
public struct RestoreOperation: Sendable {
  /// The options of a restore.
  package struct Request: Sendable {
    /// The absolute path of the backup.
    package var file: String
    /// The name to give this device if it gets new keys.
    package var name: String
    /// Whether a device that has a name already, here or in the backup, keeps it instead.
    package var keepsName = false
    /// The path of a file with the circle's root key, which is used to admit new keys immediately.
    package var rootKey: String?
    /// Whether to found a new circle and re-author the visible records there.
    package var foundsCircle = false
    /// Whether to restore the intact part of a backup that contains damaged change sets.
    package var isPartial = false

    package init(file: String, name: String) {
      self.file = file
      self.name = name
    }
  }

  let home: Home
  let request: Request
  let wall: @Sendable () -> Moment

  /// - Parameters:
  ///   - home: the home to restore, which may be empty or hold a different store.
  ///   - backup: a file written by ``Node/backUp(to:overwrites:includesFiles:progress:)``.
  ///   - name: the name to give this device if it gets new keys.
  ///   - rootKey: a file with the circle's root key, which is used to admit new keys immediately.
  ///   - foundsCircle: whether to found a new circle and re-author the visible records there.
  ///   - isPartial: whether to restore the intact part of a backup that contains damaged change sets.
  public init(
    home: Home, backup: URL, name: String, rootKey: URL? = nil, foundsCircle: Bool = false,
    isPartial: Bool = false
  ) {
    var request = Request(file: backup.path(percentEncoded: false), name: name)
    request.rootKey = rootKey?.path(percentEncoded: false)
    request.foundsCircle = foundsCircle
    request.isPartial = isPartial
    self.init(home: home, request: request)
  }

  package init(home: Home, request: Request, wall: @escaping @Sendable () -> Int64 = systemWall) {
    self.home = home
    self.request = request
    self.wall = wall
  }

  /// Reports what a restore would do. Verifies everything that a restore verifies, but changes nothing.
  ///
  /// - Parameter progress: called on any thread.
  /// - Throws: `WaymarkError` with the code `not_a_backup`, `damaged_backup`, `newer_backup`, `former_format` or
  ///   `store_held`.
  public func preview(
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    try await perform(isConfirmed: false, isPreview: true, progress)
  }

  /// Restores the home. No node may have the home open.
  ///
  /// - Parameters:
  ///   - isConfirmed: whether the user agrees to discard data that only the present store holds.
  ///   - progress: called on any thread.
  /// - Throws: `WaymarkError` with the same codes as ``preview(progress:)``, and with the code `needs_yes` if data
  ///   would be discarded and `isConfirmed` is false.
  @discardableResult
  public func restore(
    isConfirmed: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    try await perform(isConfirmed: isConfirmed, isPreview: false, progress)
  }

  private func perform(
    isConfirmed: Bool, isPreview: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> RestoreSummary {
    do {
      return try await carryOut(isConfirmed, isPreview, progress)
    } catch let error as WaymarkError {
      throw WaymarkError.opening(home, error)
    } catch  where isNoRoom(error) || isLostWrite(error) {
      throw WaymarkError.opening(home, error)
    }
  }

  private func carryOut(
    _ isConfirmed: Bool, _ isPreview: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> RestoreSummary {
    let backup = try BackupSource(request.file)
    let isNew = !Files.exists(home.path)
    defer { if isNew, !home.hasStore, !home.isReplacing { try? home.discard() } }
    try home.prepare()
    if isPreview, let running = try folderForPreview() {
      return try await preview(backup, in: running, progress)
    }
    let lock = try HomeLock(home)
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    let present = try PresentStore(home)
    let discarded = try present.discardedData(restoring: backup, foundsCircle: request.foundsCircle)
    if !isPreview, !isConfirmed, let discarded { throw needsYes(discarded) }
    // The keys of a preview are thrown away, so they must not get into the key store of an app.
    let staged = isPreview ? Home(path: home.staging) : home.moved(to: home.staging)
    try staged.discard()
    try staged.prepare()
    defer { if !home.isReplacing { try? staged.discard() } }
    let plan = try RestorePlan(backup, present, home, request, now: wall())
    let parts = try await build(plan, in: staged, isPreview: isPreview, progress)
    var summary = try plan.summary(of: staged, parts, isPreview: isPreview)
    if let discarded { (summary.discardedSets, summary.text) = (discarded.changeSets, discarded.sentence) }
    guard !isPreview else { return summary }
    let replacement = Replacement(
      aside: try home.automaticBackup(before: "restore", at: wall(), suffix: ""),
      isSameCircle: present.circle?.id == summary.circle)
    let keepsReadable = try present.keepReadable(home, in: replacement.aside, now: wall())
    try home.replace(replacement, at: wall(), under: lock)
    if Files.exists(replacement.aside) {
      summary.keptAt = replacement.aside
      if keepsReadable { summary.keptBackup = replacement.aside + "/store.waymark" }
    }
    // The restore is complete. If the copies can't be written now, the next change updates them.
    try? updateCopies(lock)
    return summary
  }

  /// Returns the folder for a preview while a node has the store open; nil if none has. A preview only reads the store.
  private func folderForPreview() throws -> Home? {
    do {
      try HomeLock(home).release()
      return nil
    } catch let error as WaymarkError where error.code == .storeHeld {
      return home.stagingForPreview
    }
  }

  private func preview(
    _ backup: BackupSource, in staged: Home, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> RestoreSummary {
    let present = try PresentStore(home)
    let discarded = try present.discardedData(restoring: backup, foundsCircle: request.foundsCircle)
    try staged.discard()
    TemporaryFiles.add(staged.path)
    defer { TemporaryFiles.forget(staged.path) }
    try staged.prepare()
    defer { try? staged.discard() }
    let plan = try RestorePlan(backup, present, home, request, now: wall())
    var summary = try plan.summary(
      of: staged, try await build(plan, in: staged, isPreview: true, progress), isPreview: true)
    if let discarded { (summary.discardedSets, summary.text) = (discarded.changeSets, discarded.sentence) }
    return summary
  }

  private func needsYes(_ discarded: PresentStore.DiscardedData) -> WaymarkError {
    .needsYes(
      "\(discarded.sentence) The current store is kept under \(home.backups).",
      next: "\(waymark: "restore --yes \(shellWord(request.file))"); or use --preview to change nothing")
  }

  /// Builds the store in the staging folder, with the files that its records name.
  private func build(
    _ plan: RestorePlan, in staged: Home, isPreview: Bool,
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> RestoredParts {
    let target = plan.founds ? staged.moved(to: staged.path + "/source") : staged
    try target.prepare()
    let now = wall()
    // A store that a restore or a join has moved to the backups has its files next to its backup.
    let folders = [parentFolder(of: request.file) + "/files", home.files]
    let parts = try await offNode {
      try plan.makeStore(in: target, filesFrom: folders, isPreview: isPreview, now: now, progress)
    }
    guard plan.founds else { return parts }
    let drafts = try Store(path: target.store).visibleDrafts()
    try plan.foundCircle(in: staged, now: now)
    let store = try Store(path: staged.store, adding: target.apps)
    let replica = try OfflineReplica(staged, plan.identity, store, wall)
    defer { replica.close() }
    try replica.store.takeFiles(namedBy: drafts, from: [target.files], now: now)
    try replica.write("restore", drafts)
    try target.discard()
    return parts
  }

  /// Updates the copy of the preferences next to the store.
  private func updateCopies(_: HomeLock) throws {
    let replica = try OfflineReplica(
      home, try Identity.load(from: home), try home.openStore(isLocked: true), wall)
    defer { replica.close() }
    try home.storage.preferences.update(from: replica.store)
  }
}

/// The result or the preview of a restore.
public struct RestoreSummary: Hashable, Sendable, Codable {
  /// Whether this is only a preview, so that nothing was changed.
  public let isPreview: Bool
  /// The path of the backup.
  public let file: String
  /// When the backup was made.
  public let created: Date
  /// The name of the device that made the backup.
  public let from: String
  /// The circle of the restored store.
  public let circle: CircleID
  /// Whether the restore founded this circle.
  public let isNewCircle: Bool
  /// The id of this device after the restore; nil in a preview that would create new keys.
  public let device: DeviceKey?
  /// The name of this device.
  public let name: String
  /// Whether this device gets new keys.
  public let hasNewKeys: Bool
  /// Whether the circle has admitted this device's keys. If not, the device is read-only until it joins with a ticket
  /// or the root key.
  public let isAdmitted: Bool
  /// The number of change sets in the restored store.
  public let changeSets: Int
  /// The number of change sets of the backup that are damaged and missing from the restored store.
  public let missing: Int
  /// The number of files that were restored, from the backup or from the present store.
  public let files: Int
  /// The number of files that records name and that were not found or are damaged. They are requested from other
  /// devices.
  public let missingFiles: Int
  /// The number of visible records in the restored store.
  public let records: Int
  /// Records that the restored store has values of although the present store has erased them. They are erased again as
  /// soon as another device sends the erase. Empty if no store is replaced.
  public let erasedAgain: [ErasedRecord]
  /// The number of change sets of the present store that are not in the backup; nil if unknown.
  public internal(set) var discardedSets: Int?
  /// The folder that the present store was moved to; nil if nothing was moved.
  public internal(set) var keptAt: String?
  /// The path of a backup in that folder from which the present store can be restored again; nil if there is none.
  public internal(set) var keptBackup: String?
  /// A sentence that says which data is discarded; nil if none is.
  public internal(set) var text: LocalizableText?
  /// The next step, as a `waymark` command.
  public let next: Step

  /// A record that is erased again.
  public struct ErasedRecord: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the record; nil if it has none.
    public let name: String?
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case file
    case created
    case from
    case circle
    case isNewCircle = "newCircle"
    case device
    case name
    case hasNewKeys = "newKeys"
    case isAdmitted = "admitted"
    case changeSets
    case missing
    case files
    case missingFiles
    case records
    case erasedAgain
    case discardedSets
    case keptAt
    case keptBackup
    case text
    case next
  }
}
