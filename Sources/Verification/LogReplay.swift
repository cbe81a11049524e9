// Sources/store.md, "Verifying"

import LogStorage
import RecordTables
import Replication
import Storage
import Wire

/// Copies the sets of the verified store (the first store) into a second store, in the same order and under the same
/// numbers, and checks that the rules allow this order.
///
/// An ordinary commit can't do that. It decides about each set from what has arrived so far, and as soon as a cut
/// affects a stored set, it rebuilds the logs and thereby renumbers the sets. The first store may have reached its
/// state in a different order: for example, a cut may have arrived after the sets that it excludes, or between two sets
/// that depend on those. So the replay takes the numbers as given, appends the sets without deciding about them, and
/// checks them at the end, when all cuts are in effect:
///
/// 1. Each set comes after its predecessor and after all its dependencies except those that a cut excludes.
/// 2. A set is folded if the first store has folded it and all its ancestors are folded here too. A set that the first
///    store has parked is parked here. For all other sets, the state follows from the cuts.
struct LogReplay {
  let store: Store
  /// The numbers of the sets that are folded in the first store but wait here for another set to be folded, ascending.
  private var waiting: [Int64] = []
  /// Dependencies that were missing when the set that declares them was appended, or whose clock is not before that
  /// set's clock.
  private var doubts: [Doubt] = []

  struct Row {
    let number: Int64
    let isFolded: Bool
    let set: VerifiedChangeSet
  }

  private struct Doubt {
    let number: Int64
    let log: LogKey
    let dependency: Dependency
    let isStored: Bool
  }

  init(into store: Store) { self.store = store }

  /// - Parameters:
  ///   - held: the sets whose erases the first store holds, so that they have not taken any values there.
  ///   - cuts: the cuts that the first store has applied; nil for a log without cuts.
  func begin(
    _ held: [(id: ChangeSetID, due: Moment)] = [], _ cuts: @escaping (LogKey) -> LogEnd?
  ) throws {
    store.logs.cutRule = cuts
    for erase in held { try store.fold.heldErases.hold(erase.id, until: erase.due) }
  }

  // MARK: Replaying

  /// Appends the next sets. If a set can't be at its position, reports it and stops.
  mutating func append(_ rows: [Row], _ report: inout DeepReport) throws {
    var (waiting, doubts) = (waiting, doubts)
    try store.atOnce {
      var commit = CommitReport()
      for row in rows {
        if let fault = try fault(of: row.set) {
          report.note(.log, "change set \(row.number) \(fault)")
          break
        }
        let isSettled = try noteDoubts(row, &doubts)
        let folds = try row.isFolded && isSettled && store.logs.isReady(row.set.header)
        let place = try store.logs.append(row.set, folds ? .folded : .waits)
        if folds {
          try store.fold.fold(row.set, at: place, into: &commit)
        } else if row.isFolded {
          waiting.append(row.number)
        }
      }
      try store.fold.finish(&commit)
    }
    (self.waiting, self.doubts) = (waiting, doubts)
  }

  /// Returns why a set can't come next in its log; nil if it can. It must be new, and follow its predecessor as
  /// `Placement` requires.
  private func fault(of set: VerifiedChangeSet) throws -> String? {
    let header = set.header
    guard try store.logs.stored(set.id, header.log, header.sequence) == nil else { return "is stored twice" }
    guard let previous = header.previous else { return nil }
    guard let found = try store.logs.stored(previous, header.log, header.sequence - 1) else {
      return "depends on a missing change set"
    }
    let continues = found.clock < header.clock && found.logBytes == header.logBytes
    return continues ? nil : "contradicts its predecessor"
  }

  /// Collects those dependencies of a set that are missing or do not precede the set, which is valid only if a cut
  /// excludes them. Returns true if there are none.
  private func noteDoubts(_ row: Row, _ doubts: inout [Doubt]) throws -> Bool {
    let header = row.set.header
    let known = doubts.count
    for dependency in header.dependencies {
      let log = dependency.log(lane: header.log.lane)
      let found = try store.logs.stored(dependency.id, log, dependency.sequence)
      if let found, found.clock < header.clock { continue }
      doubts.append(Doubt(number: row.number, log: log, dependency: dependency, isStored: found != nil))
    }
    return doubts.count == known
  }

  // MARK: Judging

  /// Checks what can be judged only with the whole log in place, and folds the waiting sets.
  mutating func finish(_ report: inout DeepReport) throws {
    for doubt in doubts {
      let (dependency, logs) = (doubt.dependency, store.logs)
      if try logs.excludes(dependency: dependency.id, doubt.log, dependency.sequence) { continue }
      if doubt.isStored {
        report.note(.index, "the clock of change set \(doubt.number) is not later than a dependency's")
      } else {
        report.note(.log, "change set \(doubt.number) depends on a missing change set")
      }
    }
    guard report.counts[.log] == nil else { return }
    try store.atOnce {
      try foldWaiting()
      try store.logs.settle(Set(store.logs.all))
    }
    for log in store.logs.all {
      if store.logs.foldsTooMuch(log) || store.hasUnkept(log) {
        report.note(.index, "the log \(log.device) \(log.incarnation) holds more than its cuts allow")
      }
    }
  }

  /// Folds the waiting sets. Sets may wait for sets of other logs, so each pass folds, in order, all sets that are
  /// ready, until a pass folds none.
  private mutating func foldWaiting() throws {
    var commit = CommitReport()
    var count = -1
    while count != waiting.count {
      count = waiting.count
      var rest: [Int64] = []
      for number in waiting {
        let set = try store.storedSet(number)
        guard try store.logs.isReady(set.header) else {
          rest.append(number)
          continue
        }
        let place = try store.fold.causality.place(number)
        try store.logs.folded(place)
        try store.fold.fold(set, at: place, into: &commit)
      }
      waiting = rest
    }
    try store.fold.finish(&commit)
  }
}
