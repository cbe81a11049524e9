import Foundation
package import JSONDocument
import Membership
import Replication
import Sodium
import Storage
import Wire

/// Brings a home back from a backup.
///
/// The new store is laid beside the old: every signature is verified, every table folded anew, and a new
/// incarnation begun, so that this device never continues a log that went on elsewhere. Only when it is complete
/// does it take the place of the old one, which is kept among the backups.
public struct Restoring: Sendable {
  /// What a person asked for.
  package struct Order: Sendable {
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
  let order: Order
  let wall: @Sendable () -> Moment

  package init(home: Home, order: Order, wall: @escaping @Sendable () -> Int64 = systemWall) {
    self.home = home
    self.order = order
    self.wall = wall
  }

  /// Does it, or with `isPreview` says what it would do, and gives the document of the command.
  ///
  /// - Parameters:
  ///   - isConfirmed: whether the person has agreed to set aside what only the present store holds.
  ///   - events: hears progress.
  package func perform(
    isConfirmed: Bool, isPreview: Bool = false, events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> JSON {
    do {
      return try await carryOut(isConfirmed, isPreview, events)
    } catch  where isNoRoom(error) || isLostWrite(error) {
      throw WaymarkError.opening(home, error)
    }
  }

  private func carryOut(
    _ isConfirmed: Bool, _ isPreview: Bool, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let backup = try BackupSource(order.file)
    let isNew = !Files.exists(home.path)
    defer { if isNew, !home.hasStore, !home.isReplacing { try? home.discard() } }
    try home.prepare()
    let lock = try HomeLock(home)
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    let present = try PresentStore(home)
    let loss = try present.loss(to: backup, foundsCircle: order.foundsCircle)
    if !isPreview, !isConfirmed, let loss { throw needsYes(loss) }
    let staged = Home(path: home.staging)
    try staged.discard()
    try staged.prepare()
    defer { if !home.isReplacing { try? staged.discard() } }
    var outcome = try await lay(backup, present, in: staged, events)
    outcome.loss = loss
    guard !isPreview else { return outcome.document(isPreview: true) }
    let replacement = Replacement(
      aside: try home.automaticBackup(before: "restore", at: wall(), suffix: ""),
      isSameCircle: present.circle?.id == outcome.circle)
    outcome.keepsReadable = try present.keepReadable(home, in: replacement.aside, now: wall())
    try home.replace(replacement, at: wall(), under: lock)
    outcome.aside = Files.exists(replacement.aside) ? replacement.aside : nil
    try await bringCopiesUpToDate(lock)
    return outcome.document(isPreview: false)
  }

  private func needsYes(_ loss: PresentStore.Loss) -> WaymarkError {
    .needsYes(
      "\(loss.sentence) The present store is kept under \(home.backups).",
      next: "\(waymark: "restore --yes \(shellWord(order.file))"); with --preview nothing is changed")
  }

  private func lay(
    _ backup: BackupSource, _ present: PresentStore, in staged: Home,
    _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> RestoreOutcome {
    let plan = try RestorePlan(backup, present, home, order, now: wall())
    let target = plan.founds ? Home(path: staged.path + "/source") : staged
    try target.prepare()
    let now = wall()
    let missing = try await offNode { try plan.makeStore(in: target, now: now, events) }
    guard plan.founds else { return try plan.outcome(in: staged, missing: missing) }
    let drafts = try Store(path: target.store).visibleDrafts()
    try plan.foundCircle(in: staged, now: now)
    let node = try Node(home: staged, wall: wall)
    if !drafts.isEmpty { try await node.write("restore", drafts) }
    await node.close()
    try target.discard()
    return try plan.outcome(in: staged, missing: missing)
  }

  /// The copy of the preferences beside the store follows what was restored.
  private func bringCopiesUpToDate(_ lock: HomeLock) async throws {
    let node = try Node(home: home, under: lock, wall: wall)
    await node.settingsDidFold()
    await node.close()
  }
}
