import Engine
import Enrolment
import Home
import Membership
import NodeRuntime
import Reasons
import Replication
import Storage
import Verification
import Wire

extension DeepCheck {
  /// Verifies the store of an open node, requests damaged sets from peers, and rebuilds the tables if `repairing` is
  /// true and a rebuild helps.
  func run(
    on node: NodeCore, repairing: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepOutcome {
    var outcome = DeepOutcome(
      found: try await run(progress), home: node.home, wall: node.wall(), isClosed: false)
    try node.checkOpen()
    for number in outcome.found.damagedSets {
      _ = try node.store.check(after: number - 1, setsMax: 1, bytesMax: .max)
    }
    node.loop.turn { $0.repair(now: node.loop.time) }
    try FileContents(node).fetchDamaged(outcome.found.damagedFiles)
    outcome.hasPeers = !node.connections.others.isEmpty
    guard repairing, outcome.found.isRepairable else { return outcome }
    outcome.backup = try await node.backUp(before: "repair")
    try node.checkOpen()
    // Folds the log again into new tables, in one transaction.
    try node.maintenance.withRoom { try node.loop.turn { try $0.rebuild(now: node.loop.time) } }
    outcome.after = try await run(progress)
    return outcome
  }

  /// Verifies the store of a home that no node has open, even if it can't be opened, and rebuilds its tables if
  /// `repairing` is true and a rebuild helps.
  static func runClosed(
    _ home: Home, repairing: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepOutcome {
    let lock = try HomeLock(home)
    defer { lock.release() }
    let check = DeepCheck(home)
    var outcome = DeepOutcome(
      found: try await check.run(progress), home: home, wall: systemWall(), isClosed: true)
    let found = outcome.found
    guard repairing, found.isRepairable || found.isRestorable else { return outcome }
    let present = try PresentStore(home)
    let folder = try home.automaticBackup(before: "repair", at: systemWall(), suffix: "")
    if try !present.keepReadable(home, in: folder, now: systemWall()) { try home.copyStoreFile(to: folder) }
    outcome.backup = folder
    // If the signed data is intact, restoring the backup that was just written rebuilds everything else.
    guard found.isRepairable, !found.isRestorable else { return outcome }
    do {
      try Store(path: home.store, refolds: true, isLocked: true).rest()
    } catch  where !isNoRoom(error) {
      throw WaymarkError.failed(
        .store, "The store in \(home.path) can't be repaired: \(error).",
        next: home.restoreAdvice(now: systemWall()))
    }
    outcome.after = try await check.run(progress)
    return outcome
  }
}
