// Sources/store.md, "Verifying"

package import Reasons
import Storage
package import Verification
import Wire

/// The deep verification of a home, which takes long and runs off the node.
package struct DeepCheck: Sendable {
  private let home: Home
  /// A scratch home, into which the log is folded for comparison.
  private var scratch: Home { Home(path: home.scratch) }

  package init(_ home: Home) { self.home = home }

  /// - Throws: `WaymarkError`
  package func run(
    withFiles: Bool = true, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DeepReport {
    do {
      return try await offNode {
        try scratch.discard()
        try scratch.prepare()
        defer { try? scratch.discard() }
        var report = try DeepVerification.run(storeAt: home.store, scratch: scratch.store) { done, total in
          progress(
            WorkProgress(stage: "verifying", done: Int(clamping: done), total: Int(clamping: total)))
        }
        guard withFiles else { return report }
        report.note(
          try FileVerification.run(nextTo: home.store) { done, total in
            try Task.checkCancellation()
            progress(WorkProgress(stage: "verifying files", done: done, total: total))
          })
        return report
      }
    } catch  where isNoRoom(error) {
      throw WaymarkError.failed(
        .diskFull,
        "The disk of \(home.path) has no room for a second copy of the tables; nothing was changed.",
        next: "free up space on it (df -h \(shellWord(home.path))), then try again")
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }
}

/// The result of a deep verification, before and after a repair.
package struct DeepOutcome: Sendable {
  package let found: DeepReport
  package var after: DeepReport?
  package var backup: String?
  /// Whether another device may have the data that is damaged here.
  package var hasPeers = false
  /// Whether the store was verified without being opened; it may be too damaged to open.
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
        + "\(found.rows) rows match the log" + absentValues + intactFiles
    }
    let damaged = found.damagedFiles.count
    if found.count == damaged { return damaged == 1 ? "1 file is damaged" : "\(damaged) files are damaged" }
    let count = found.count - damaged
    guard let after else {
      return count == 1 ? "1 difference from the signed log" : "\(count) differences from the signed log"
    }
    let left = after.count - after.damagedFiles.count
    if left == 0 { return "repaired: the tables were rebuilt from the log (differences: \(count))" }
    return "not fully repaired: differences remain (\(left) of \(count))"
  }

  private var intactFiles: String {
    found.files == 0 ? "" : "; \(found.files) \(found.files == 1 ? "file is" : "files are") intact"
  }

  /// What is known about absent values, as the end of a sentence.
  private var absentValues: String {
    let (erased, missing) = (found.erasedValues, found.missingValues)
    let parts = [
      erased > 0 ? "\(erased) \(erased == 1 ? "value was" : "values were") erased" : nil,
      missing > 0 ? "\(missing) \(missing == 1 ? "is" : "are") missing" : nil,
    ].compactMap { $0 }
    return parts.isEmpty ? "" : "; " + parts.joined(separator: ", ")
  }

  /// The next step for the worst finding.
  package var next: Step? {
    let report = after ?? found
    if let count = report.counts[.log] {
      let restoring = home.restoreAdvice(now: wall)
      // Other devices can resend damaged sets, but not missing or forged ones.
      return hasPeers && count == report.damagedSets.count
        ? "\(waymark: "run") until a device with intact copies of the damaged change sets connects; "
          + "if none does, " + restoring
        : restoring
    }
    if report.count == report.damagedFiles.count, !report.isClean {
      return "\(waymark: "run") until a device with intact copies connects; if none does, "
        + home.restoreAdvice(now: wall)
    }
    if isClosed, found.isRestorable {
      return backup == nil ? .waymark("verify --deep --repair") : home.restoreAdvice(now: wall)
    }
    if report.counts[.index] != nil || after != nil && !report.isClean {
      return
        "\(waymark: "backup FILE"), then \(waymark: "restore FILE"): this rebuilds everything from the signed log"
    }
    return report.isClean ? nil : .waymark("verify --deep --repair")
  }
}
