public import Foundation
public import Home
import Membership
import Replication
import Storage
public import Wire

/// Brings a home back from a backup.
///
/// The new store is laid beside the old: every signature is verified, every table folded anew, and a new
/// incarnation begun, so that this device never continues a log that went on elsewhere. Only when it is complete
/// does it take the place of the old one, which is kept among the backups.
public struct RestoreOperation: Sendable {
  /// What a person asked for.
  package struct Request: Sendable {
    /// The backup, an absolute path.
    package var file: String
    /// What this device is called if it gets new keys.
    package var name: String
    /// A file with the circle's root key, to take new keys in at once.
    package var rootKey: String?
    /// Whether to found a new circle and write the visible records again there.
    package var foundsCircle = false
    /// Whether to restore what is intact of a backup with damaged change sets.
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
  ///   - home: what is brought back; it may be empty, or hold another store.
  ///   - backup: a file that ``Node/backUp(to:overwrites:progress:)`` wrote.
  ///   - name: what this device is called if it gets new keys.
  ///   - rootKey: the circle's root key, to take new keys in at once.
  ///   - foundsCircle: founds a new circle, and writes the visible records again there.
  ///   - isPartial: restores what is intact of a backup with damaged change sets.
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

  /// What it would do; everything is verified as in earnest, and nothing changed.
  ///
  /// - Parameter progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `not_a_backup`, `damaged_backup`, `newer_backup` or `store_held`.
  public func preview(
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    try await perform(isConfirmed: false, isPreview: true, progress)
  }

  /// Brings the home back. No node may have it open.
  ///
  /// - Parameters:
  ///   - isConfirmed: whether the person agrees to set aside what only the present store holds.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` as ``preview(progress:)``, and with the code `needs_yes` where that is so.
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
    let lock = try HomeLock(home)
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    let present = try PresentStore(home)
    let discarded = try present.discardedData(restoring: backup, foundsCircle: request.foundsCircle)
    if !isPreview, !isConfirmed, let discarded { throw needsYes(discarded) }
    let staged = Home(path: home.staging)
    try staged.discard()
    try staged.prepare()
    defer { if !home.isReplacing { try? staged.discard() } }
    let plan = try RestorePlan(backup, present, home, request, now: wall())
    let missing = try await build(plan, in: staged, progress)
    var summary = try plan.summary(of: staged, missing: missing, isPreview: isPreview)
    if let discarded { (summary.setAside, summary.text) = (discarded.changeSets, discarded.sentence) }
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
    try updateCopies(lock)
    return summary
  }

  private func needsYes(_ discarded: PresentStore.DiscardedData) -> WaymarkError {
    .needsYes(
      "\(discarded.sentence) The present store is kept under \(home.backups).",
      next: "\(waymark: "restore --yes \(shellWord(request.file))"); with --preview nothing is changed")
  }

  /// Builds the store in the staging folder; gives how many change sets of the backup are missing.
  private func build(
    _ plan: RestorePlan, in staged: Home, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> Int {
    let target = plan.founds ? Home(path: staged.path + "/source") : staged
    try target.prepare()
    let now = wall()
    let missing = try await offNode { try plan.makeStore(in: target, now: now, progress) }
    guard plan.founds else { return missing }
    let drafts = try Store(path: target.store).visibleDrafts()
    try plan.foundCircle(in: staged, now: now)
    let replica = try OfflineReplica(staged, plan.identity, try Store(path: staged.store), wall)
    defer { replica.close() }
    try replica.write("restore", drafts)
    try target.discard()
    return missing
  }

  /// The copy of the preferences beside the store follows what was restored.
  private func updateCopies(_: HomeLock) throws {
    let replica = try OfflineReplica(
      home, try Identity.load(from: home), try home.openStore(isLocked: true), wall)
    defer { replica.close() }
    // A copy that can't be written follows with the next change.
    try? home.storage.preferences.update(from: replica.store)
  }
}

/// What a restore did or would do.
public struct RestoreSummary: Hashable, Sendable, Codable {
  /// Whether nothing was changed.
  public let isPreview: Bool
  /// The path of the backup.
  public let file: String
  /// When the backup was made.
  public let created: Date
  /// The device that made it.
  public let from: String
  /// The circle of the store afterwards.
  public let circle: CircleID
  /// Whether the circle was founded for it.
  public let isNewCircle: Bool
  /// What this device is afterwards; nil in a preview that would make new keys.
  public let device: DeviceKey?
  /// What this device is called.
  public let name: String
  /// Whether this device gets new keys.
  public let hasNewKeys: Bool
  /// Whether the circle has these keys; otherwise the device joins with a ticket, or the root key, and until then
  /// can only look.
  public let isAdmitted: Bool
  /// How many change sets are in the restored store.
  public let changeSets: Int
  /// Change sets of the backup that are damaged and missing in the restored store.
  public let missing: Int
  /// How many records are visible in it.
  public let records: Int
  /// Change sets of the present store that are not in the backup; nil if that can't be known.
  public internal(set) var setAside: Int?
  /// Where the present store went.
  public internal(set) var keptAt: String?
  /// A backup of it there that can be restored in its turn.
  public internal(set) var keptBackup: String?
  /// What is set aside, as a sentence for people.
  public internal(set) var text: String?
  /// What to do next, as a command of `waymark`.
  public let next: Step

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
    case records
    case setAside
    case keptAt
    case keptBackup
    case text
    case next
  }
}
