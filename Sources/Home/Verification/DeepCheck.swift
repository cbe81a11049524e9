// Protocol/store.md, "Verifying"

package import Storage
import Wire

/// The deep verification of a home, away from the node: it takes a while.
package struct DeepCheck: Sendable {
  private let home: Home
  /// The log is folded again in here.
  private var scratch: Home { Home(path: home.scratch) }

  package init(_ home: Home) { self.home = home }

  /// - Throws: `WaymarkError`
  package func run(
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepReport {
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
        .diskFull,
        "The disk of \(home.path) has no room for folding the log a second time; nothing was changed.",
        next: "make room on it (df -h \(shellWord(home.path))), then try again")
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }
}

/// What a deep verification came to, before and after a repair.
package struct DeepOutcome: Sendable {
  package let found: DeepReport
  package var after: DeepReport?
  package var backup: String?
  /// Whether there is another device that may have what is damaged here.
  package var hasPeers = false
  /// Whether the store was verified without being opened, which it may not be able to be.
  private let isClosed: Bool
  private let home: Home
  private let wall: Int64

  package init(found: DeepReport, home: Home, wall: Int64, isClosed: Bool) {
    self.found = found
    self.home = home
    self.wall = wall
    self.isClosed = isClosed
  }

  package var text: String {
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
  package var next: Step? {
    let report = after ?? found
    if let count = report.counts[.log] {
      let restoring = home.restoreAdvice(now: wall)
      // Other devices send again what is damaged; what is missing or forged they can't.
      return hasPeers && count == report.damagedSets.count
        ? "\(waymark: "run"), until a device that has the damaged change sets connects; if none does, "
          + restoring
        : restoring
    }
    if isClosed, found.isRestorable {
      return backup == nil ? .waymark("verify --deep --repair") : home.restoreAdvice(now: wall)
    }
    if report.counts[.index] != nil || after != nil && !report.isClean {
      return
        "\(waymark: "backup FILE"), then \(waymark: "restore FILE"): that builds everything from what is signed"
    }
    return report.isClean ? nil : .waymark("verify --deep --repair")
  }
}
