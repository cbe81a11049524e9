import Engine
import RecordTables
import Replication
import Storage
import Wire

/// The rare states that a guided search looks for.
///
/// Noticing a state must not change the run, so everything here is read from memory: a read from the store of a process
/// would change which pages it has cached, and with that which disk operations fail.
extension World {
  /// Counts a rare state in the tally and adds its features to those of the run.
  func mark(_ name: String, on device: Device? = nil) {
    tally.count(name)
    marks.note(name, on: device?.number, device.map(conditions) ?? [], at: events)
  }

  /// Returns the names of the unusual conditions in which a device is now.
  private func conditions(of device: Device) -> [String] {
    var found: [String] = []
    func add(_ name: String, _ holds: Bool) { if holds { found.append(name) } }
    add("revoked", isRevoked(device.key))
    add("copied", devices.contains { $0 !== device && $0.key == device.key && !$0.isGone })
    add("wrong clock", abs(device.wall - now) > Self.driftMilliseconds / 2)
    add("without sync", !device.preference)
    add("disk errors", device.hasDiskFailed)
    if let view = watch.judge.views[device.name] {
      add("parked sets", !view.waiting.isEmpty)
      add("excluded sets", !view.held.isEmpty)
      add("tolerated gaps", view.hasGaps)
      add("held erases", !view.heldErases.isEmpty)
      add("missing values", !view.missing.isEmpty)
    }
    guard let process = device.process else { return found + ["no process"] }
    add("full disk", process.isDiskFull)
    add("rebuild due", process.replicator.isRebuildDue)
    add("override pending", process.replicator.override.pending != nil)
    add("files expected", process.replicator.isExpectingFiles)
    return found
  }

  /// Marks what is unusual about a commit.
  func markCommit(_ report: CommitReport, by device: Device) {
    guard device.isHonest else { return }
    for name in Set(report.placements.compactMap(\.mark)).sorted() { mark(name, on: device) }
    for fork in report.forks { mark(depth(of: fork, on: device), on: device) }
    if report.isRebuilt { mark("commits that rebuilt logs", on: device) }
    if report.isRebuilt, !report.goneHeads.isEmpty { mark("heads removed by a commit", on: device) }
    if !report.excessiveTrees.isEmpty { mark("trees with too many branches", on: device) }
    if report.redactedSets > 0 { mark("sets redacted", on: device) }
    if report.filledSlots > 0 { mark("missing values filled", on: device) }
  }

  /// Returns the mark of a fork, by the number of sets that this device holds above it.
  private func depth(of fork: Fork, on device: Device) -> String {
    let (log, sequence) = (fork.set.header.log, fork.set.header.sequence)
    let heads = device.process?.replicator.store.heads(log.lane).filter { $0.log == log } ?? []
    let above = heads.map(\.sequence).max().map { $0 > sequence ? $0 - sequence : 0 } ?? 0
    return above > 16 ? "forks of more than 16 sets" : above > 4 ? "forks of more than 4 sets" : "short forks"
  }

  /// Marks how a rebuild of the logs changed the number of stored sets since the judge's last look.
  func markRebuild(of device: Device) {
    mark("logs rebuilt", on: device)
    guard let before = watch.judge.views[device.name]?.numbers.count, let process = device.process else {
      return
    }
    let stored = Lane.allCases.reduce(0) { $0 + Int(process.replicator.store.changeSetCount($1)) }
    if stored < before { mark("rebuilds that removed sets", on: device) }
    if stored > before { mark("rebuilds that returned sets", on: device) }
  }
}

extension Placement {
  /// The mark of a set that was not simply stored and folded; nil for other sets.
  fileprivate var mark: String? {
    switch self {
    case .place(let folds): folds ? nil : "sets stored but not folded"
    case .duplicate: nil
    case .beyondQuota: "sets rejected for a quota"
    case .excluded: "sets rejected for a cut"
    case .missing: "sets without ancestors"
    case .clockConflict: "sets with a clock conflict"
    case .refused: "invalid sets"
    }
  }
}
