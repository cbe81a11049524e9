// Protocol/files.md, "What a device keeps"

import FileFormat
import FileStore
import LogStorage
import RecordTables
import Records
import Replication
import Storage
import Wire

// Freeing: deleting the files whose records are gone.
//
//     a commit took a name from a file  ──▶ suspects ──┐
//     start, rebuild, setting changed   ──▶ all files ─┼──▶ Store.filesToFree ──▶ unlink, note, tell the exchange
//     the next file of the trash is due ──▶ all files ─┘
//
// Files are deleted only after the transaction that took their last name is durable. If the process ends before that,
// the files stay, and the next start deletes them. If it ends in the midst of it, some are gone and some are not, but
// none of them has a visible name.
//
// Files of the trash are due at a time of the wall clock, which may jump. So the timer, which follows the steady clock,
// looks at least once an hour. If the wall clock has jumped ahead, nothing of the trash is deleted until it has stayed
// ahead for ten minutes (`ClockJumps`).

/// What the replicator remembers about freeing files between turns.
struct FileFreeing {
  /// Files that may have lost their last visible name since the last round.
  var suspects: Set<FileReference> = []
  /// Files that were looked at while they were made durable, and so could not be deleted. They are looked at again.
  var finishing: Set<FileReference> = []
  /// Whether all files must be looked at.
  var looksAtAll = false
  /// When the next file of the trash is due, by the wall clock; nil if none is in the trash.
  var dueAt: Moment?

  /// Returns how long to wait until the next look.
  func wait(_ now: Now, isInDoubt: Bool) -> Moment? {
    guard let dueAt else { return nil }
    if isInDoubt { return Limits.clockDriftMilliseconds }
    return min(max(dueAt - now.wall, Self.waitLeast), Self.waitMost)
  }

  private static let waitLeast: Moment = 1_000
  private static let waitMost: Moment = 3_600_000
}

extension Replicator {
  /// Notes which files a commit may have left without a visible name.
  func noteFormerFiles(_ report: CommitReport) {
    freeing.suspects.formUnion(report.formerFiles)
    if report.isRebuilt { freeing.looksAtAll = true }
    if report.kinds.contains(Store.trashDaysKey.kind), report.records?.contains(Store.trashDaysKey) ?? true {
      freeing.looksAtAll = true
    }
    guard !report.owned.isEmpty else { return }
    trying { freeing.suspects.formUnion(try store.files(namedBy: report.owned.sorted())) }
  }

  /// Deletes what nothing names, which the end of a process may have left. No file may be being added.
  func sweepFiles() throws {
    // While a damaged set is missing from the tables, it is not known which files it names.
    guard !store.damagedSets.contains(where: \.isUnfolded) else { return }
    let named = Set(try (store.namedFiles() + store.unfoldedFiles()).map(\.id))
    _ = try? store.files.sweep { named.contains($0) }
  }

  /// The timer for files of the trash has fired.
  func trashIsDue(_ now: Now) {
    guard let dueAt = freeing.dueAt else { return }
    if now.wall >= dueAt { freeing.looksAtAll = true } else { scheduleTrash(now, isInDoubt: false) }
  }

  /// Deletes files whose records are gone. Called in each round of effects, after everything else.
  func freeFiles(_ now: Now, _ following: inout [Effect]) {
    guard freeing.looksAtAll || !freeing.suspects.isEmpty else { return }
    let all = freeing.looksAtAll
    var candidates = freeing.suspects
    (freeing.looksAtAll, freeing.suspects) = (false, [])
    // After a failed write it is unknown what is durable, so the files may still have names.
    guard !disk.isBroken else { return }
    let time = clockJumps.time(now)
    trying {
      if all { candidates.formUnion(try store.files.complete() + store.namedFiles()) }
      candidates.formUnion(filesOfSameIDs(as: candidates))
      freeing.finishing.formUnion(candidates.intersection(transfers.finishing))
      let result = try store.filesToFree(among: candidates, now: time, isChange: !all)
      free(result.files, now, &following)
      let isSooner = (result.nextAt ?? .max) < (freeing.dueAt ?? .max)
      if all || isSooner { freeing.dueAt = result.nextAt }
      if all || isSooner || time == nil { scheduleTrash(now, isInDoubt: time == nil) }
    }
  }

  /// Returns the files that are here or on their way and have the same id as one of the references, whatever size that
  /// states. The stored bytes have only the id, so they are deleted with the last reference of any size.
  private func filesOfSameIDs(as references: Set<FileReference>) -> [FileReference] {
    let ids = Set(references.map(\.id))
    let here = ids.compactMap { try? store.files.complete($0) }
    return here + (replica.wantedFiles + transfers.finishing).filter { ids.contains($0.id) }
  }

  private func free(_ files: [FileReference], _ now: Now, _ following: inout [Effect]) {
    guard !files.isEmpty else { return }
    transfers.failed.subtract(files)
    for file in files { transfers.lists.remove(file) }
    var freed = FreedFiles()
    for file in files {
      // A file that can't be deleted now is deleted at the next start.
      guard let bytes = try? store.files.remove(file), bytes > 0 else { continue }
      freed.files += 1
      freed.bytes += bytes
    }
    if canStore {
      trying {
        try store.noteGone(files)
        try store.forgetHolders(of: files)
      }
    }
    replica.handle(.file(.unwanted(files)), now: now, into: &following)
    if freed.files > 0 { shell?.note(.freed(freed)) }
  }

  private func scheduleTrash(_ now: Now, isInDoubt: Bool) {
    guard let wait = freeing.wait(now, isInDoubt: isInDoubt) else { return }
    shell?.schedule(.trash, after: wait)
  }
}

/// How many files were deleted because their records are gone, and how many bytes they had here.
package struct FreedFiles: Hashable, Sendable {
  package var files = 0
  package var bytes = 0

  package init() {}
}
