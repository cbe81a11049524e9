/// Why a disk did not do what it was told.
package enum FileFault: Error, Hashable, Sendable {
  case missing
  case inputOutput
  case noRoom
  /// The process or the machine that the file belongs to is gone: nothing it does has any effect from here on.
  case stopped
}

/// What programs do to a disk.
package enum DiskOperation: Int, CaseIterable, Sendable {
  case read, write, truncate, sync, create, delete, syncDirectory

  package var isChange: Bool { self != .read }
}

/// What goes wrong on a disk.
package struct DiskFaults: Sendable {
  /// One fault that comes at a certain operation.
  package struct Failure: Sendable {
    package var operations: Set<DiskOperation>
    /// How many of these operations still succeed.
    package var after: Int
    package var fault: FileFault
    /// Whether all of them fail from then on, until this is taken away.
    package var lasts: Bool

    package init(_ fault: FileFault, at operations: Set<DiskOperation>, after: Int, lasts: Bool) {
      (self.fault, self.operations, self.after, self.lasts) = (fault, operations, after, lasts)
    }
  }

  package var failure: Failure?
  /// Bytes that files may have in all.
  package var capacity: Int?
  /// How many operations of a million fail.
  package var readErrorsPerMillion = 0
  package var writeErrorsPerMillion = 0
  package var syncErrorsPerMillion = 0
  /// How many reads of a million give less than there is.
  package var shortReadsPerMillion = 0
  /// A sync says that it is done, and nothing is durable.
  package var liesAboutSyncs = false
  /// After a failed sync, what it was about never becomes durable unless it is written again.
  package var syncErrorsLoseChanges = true
  /// After so many more changes the process ends in the midst of what it does: see `Disk.hasStopped`.
  package var changesUntilStop: Int?

  package init() {}
}

/// What has happened on a disk: how much of it was used, and how often each fault was really felt.
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

  /// Operations that failed.
  package var errors: Int { inputOutputErrors + syncErrors + outOfRoom }

  /// Writes, syncs, truncations, creations and deletions, failed ones among them.
  package var changes: Int { operations.dropFirst().reduce(0, +) }
}

extension Disk {
  /// Whether the process that used the disk has been ended by `changesUntilStop`: nothing works until `restart()`.
  package var hasStopped: Bool { faults.changesUntilStop.map { $0 < 0 } ?? false }

  package func restart() { faults.changesUntilStop = nil }

  /// Bytes of all files that have a name.
  package var used: Int { files.values.reduce(0) { $0 + $1.size } }

  /// Counts an operation, and fails it if a fault says so.
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

  /// Takes room for a file that grows.
  func reserve(_ growth: Int) throws(FileFault) {
    guard let capacity = faults.capacity, used + growth > capacity else { return }
    throw outOfRoom()
  }

  func outOfRoom() -> FileFault {
    counters.outOfRoom += 1
    return .noRoom
  }
}
