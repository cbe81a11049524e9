/// The reason why a disk operation failed.
package enum FileFault: Error, Hashable, Sendable {
  case missing
  case inputOutput
  case noRoom
  /// The process or machine has stopped, so its operations no longer have any effect.
  case stopped
}

/// The kinds of operations on a disk.
package enum DiskOperation: Int, CaseIterable, Sendable {
  case read, write, truncate, sync, create, delete, syncDirectory

  package var isChange: Bool { self != .read }
}

/// The faults that a disk injects.
package struct DiskFaults: Sendable {
  /// A planned failure of certain operations.
  package struct Failure: Sendable {
    package var operations: Set<DiskOperation>
    /// The number of these operations that succeed before the first failure.
    package var after: Int
    package var fault: FileFault
    /// Whether all later ones fail too; if false, only one operation fails.
    package var lasts: Bool

    package init(_ fault: FileFault, at operations: Set<DiskOperation>, after: Int, lasts: Bool) {
      (self.fault, self.operations, self.after, self.lasts) = (fault, operations, after, lasts)
    }
  }

  package var failure: Failure?
  /// The maximum total size of all files, in bytes; nil for no limit.
  package var capacity: Int?
  /// The rates of random failures, per million operations.
  package var readErrorsPerMillion = 0
  package var writeErrorsPerMillion = 0
  package var syncErrorsPerMillion = 0
  /// The rate of reads that return too few bytes, per million reads.
  package var shortReadsPerMillion = 0
  /// Whether syncs succeed without making anything durable.
  package var liesAboutSyncs = false
  /// Whether a failed sync drops the pending changes, so that they never become durable unless written again.
  package var syncErrorsLoseChanges = true
  /// The number of changes that still succeed before the process is killed in the middle of its work; nil for no kill.
  /// See `Disk.hasStopped`.
  package var changesUntilStop: Int?

  package init() {}
}

/// Counts of operations and of faults that took effect.
package struct DiskCounters: Sendable, Hashable {
  package var operations = [Int](repeating: 0, count: DiskOperation.allCases.count)
  package var bytesWritten = 0
  package var inputOutputErrors = 0
  package var syncErrors = 0
  package var outOfRoom = 0
  package var shortReads = 0
  package var syncsLiedAbout = 0
  package var bitsFlipped = 0
  package var stops = 0
  package var powerLosses = 0
  package var changesDropped = 0
  package var changesTorn = 0
  package var changesReordered = 0
  package var namesLost = 0

  package init() {}

  /// The number of failed operations.
  package var errors: Int { inputOutputErrors + syncErrors + outOfRoom }

  /// The number of writes, syncs, truncations, creations and deletions, including failed ones.
  package var changes: Int { operations.dropFirst().reduce(0, +) }
}

extension Disk {
  /// Whether `changesUntilStop` has killed the process that used the disk. If so, every operation fails until
  /// `restart()`.
  package var hasStopped: Bool { faults.changesUntilStop.map { $0 < 0 } ?? false }

  package func restart() { faults.changesUntilStop = nil }

  /// The total size of all named files, in bytes.
  package var used: Int { files.values.reduce(0) { $0 + $1.size } }

  /// Counts an operation, and throws if a fault applies to it.
  func begin(_ operation: DiskOperation) throws(FileFault) {
    guard !hasStopped else { throw .stopped }
    if operation.isChange {
      observer?(operation)
      if let left = faults.changesUntilStop {
        faults.changesUntilStop = left - 1
        if left == 0 {
          counters.stops += 1
          throw .stopped
        }
      }
    }
    counters.operations[operation.rawValue] += 1
    if let fault = planned(operation) ?? drawn(operation) {
      count(fault, operation)
      throw fault
    }
  }

  private func planned(_ operation: DiskOperation) -> FileFault? {
    guard let failure = faults.failure, failure.operations.contains(operation) else { return nil }
    if failure.after > 0 {
      faults.failure?.after -= 1
      return nil
    }
    if !failure.lasts { faults.failure = nil }
    return failure.fault
  }

  private func drawn(_ operation: DiskOperation) -> FileFault? {
    let rate =
      switch operation {
      case .read: faults.readErrorsPerMillion
      case .sync, .syncDirectory: faults.syncErrorsPerMillion
      case .write, .truncate, .create, .delete: faults.writeErrorsPerMillion
      }
    return rate > 0 && random.below(1_000_000) < rate ? .inputOutput : nil
  }

  private func count(_ fault: FileFault, _ operation: DiskOperation) {
    switch (fault, operation) {
    case (.noRoom, _): counters.outOfRoom += 1
    case (_, .sync), (_, .syncDirectory): counters.syncErrors += 1
    default: counters.inputOutputErrors += 1
    }
  }

  func readsShort() -> Bool {
    guard faults.shortReadsPerMillion > 0, random.below(1_000_000) < faults.shortReadsPerMillion else {
      return false
    }
    counters.shortReads += 1
    return true
  }

  func lies() -> Bool {
    if faults.liesAboutSyncs { counters.syncsLiedAbout += 1 }
    return faults.liesAboutSyncs
  }

  /// Checks that the disk has room for a file to grow by this many bytes.
  func reserve(_ growth: Int) throws(FileFault) {
    guard let capacity = faults.capacity, used + growth > capacity else { return }
    throw outOfRoom()
  }

  func outOfRoom() -> FileFault {
    counters.outOfRoom += 1
    return .noRoom
  }
}
