// Protocol/store.md, "Verifying"

import Engine
import Membership
import Replication
import Storage
import Wire

/// The deep verification of a home, away from the node: it takes a while.
struct DeepCheck: Sendable {
  private let home: Home
  /// The log is folded again in here.
  private var scratch: Home { Home(path: home.scratch) }

  init(_ home: Home) { self.home = home }

  /// - Throws: `WaymarkError`
  private func run(_ progress: @escaping @Sendable (WorkProgress) -> Void) async throws -> DeepReport {
    do {
      return try await offNode {
        try scratch.discard()
        try scratch.prepare()
        defer { try? scratch.discard() }
        return try DeepVerification.run(storeAt: home.store, scratch: scratch.store) { done, total in
          progress(
            WorkProgress(stage: "verifying", done: Int(clamping: done), total: Int(clamping: total)))
        }
      }
    } catch  where isNoRoom(error) {
      throw WaymarkError.failed(
        "disk_full",
        "The disk of \(home.path) has no room for folding the log a second time; nothing was changed.",
        next: "make room on it (df -h \(shellWord(home.path))), then try again")
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  /// Verifies the store of an open node, has peers asked for what is damaged, and rebuilds the tables if that is wanted
  /// and helps.
  func run(
    on node: isolated Node, repairing: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepOutcome {
    var outcome = DeepOutcome(found: try await run(progress), home: home, wall: node.wall())
    try node.checkOpen()
    for number in outcome.found.damagedSets {
      _ = try node.store.check(after: number - 1, setsMax: 1, bytesMax: .max)
    }
    node.turn { $0.repair(now: node.time) }
    outcome.hasPeers = !node.otherMembers.isEmpty
    guard repairing, outcome.found.isRepairable else { return outcome }
    outcome.backup = try await node.backUp(before: "repair")
    try node.checkOpen()
    // Folds the log again into new tables, in one transaction.
    try node.withRoom { try node.turn { try $0.rebuild(now: node.time) } }
    outcome.after = try await run(progress)
    return outcome
  }

  /// Verifies a store that can't be opened, and rebuilds its tables if that is wanted and helps.
  func runClosed(
    repairing: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepOutcome {
    let lock = try HomeLock(home)
    defer { lock.release() }
    var outcome = DeepOutcome(found: try await run(progress), home: home, wall: systemWall())
    outcome.isClosed = true
    let found = outcome.found
    guard repairing, found.isRepairable || found.isRestorable else { return outcome }
    let present = try PresentStore(home)
    let folder = try home.automaticBackup(before: "repair", at: systemWall(), suffix: "")
    if try !present.keepReadable(home, in: folder, now: systemWall()) { try home.copyStoreFile(to: folder) }
    outcome.backup = folder
    // What is signed is whole, and a restore of the backup that was just written builds the rest of it.
    guard found.isRepairable, !found.isRestorable else { return outcome }
    do {
      try Store(path: home.store, refolds: true, isLocked: true).rest()
    } catch  where !isNoRoom(error) {
      throw WaymarkError.failed(
        "store", "The store in \(home.path) can't be repaired: \(error).",
        next: home.restoreAdvice(now: systemWall()))
    }
    outcome.after = try await run(progress)
    return outcome
  }
}

/// What a deep verification came to, before and after a repair.
struct DeepOutcome: Sendable {
  let found: DeepReport
  var after: DeepReport?
  var backup: String?
  /// Whether there is another device that may have what is damaged here.
  var hasPeers = false
  /// Whether the store was verified without being opened, which it may not be able to be.
  var isClosed = false
  private let home: Home
  private let wall: Moment

  init(found: DeepReport, home: Home, wall: Moment) {
    self.found = found
    self.home = home
    self.wall = wall
  }

  var text: String {
    if found.isClean {
      return "\(found.changeSets) change sets and \(found.statements) statements verified, "
        + "\(found.rows) rows equal to the log"
    }
    let count = found.count
    guard let after else {
      return count == 1 ? "1 difference from the signed log" : "\(count) differences from the signed log"
    }
    if after.isClean { return "mended: the tables were made anew from the log (\(count) found before)" }
    return "not all is mended: \(after.count) of \(count) remain"
  }

  /// What helps, by the worst that was found.
  var next: String? {
    let report = after ?? found
    if let count = report.counts[.log] {
      let restoring = home.restoreAdvice(now: wall)
      // Other devices send again what is damaged; what is missing or forged they can't.
      return hasPeers && count == report.damagedSets.count
        ? "waymark run, until a device that has the damaged change sets connects; if none does, "
          + restoring
        : restoring
    }
    if isClosed, found.isRestorable {
      return backup == nil ? "waymark verify --deep --repair" : home.restoreAdvice(now: wall)
    }
    if report.counts[.index] != nil || after != nil && !report.isClean {
      return "waymark backup FILE, then waymark restore FILE: that builds everything from what is signed"
    }
    return report.isClean ? nil : "waymark verify --deep --repair"
  }
}
