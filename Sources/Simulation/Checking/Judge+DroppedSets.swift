// Protocol/change-set.md, "Re-authoring"; Protocol/session.md, "Own logs after a start"

import SQLite

extension Judge {
  /// Reports that a node has acknowledged a user's write, which it stored as these sets.
  ///
  /// - Parameter wall: the node's wall clock at the write; nil if unknown.
  package func acknowledged(_ node: String, _ ids: [[UInt8]], wall: Int64? = nil) throws {
    let view = view(node)
    for id in ids.compactMap({ Name32($0) }) {
      if !isStored(id, view) { try readNews(node) }
      guard isStored(id, view) else {
        throw Violation(.lostWrite, node, "set \(id) was acknowledged but is not stored")
      }
      ledgers[node]?.acknowledged.insert(id)
    }
    let written = Set(ids.compactMap { Name32($0).flatMap { library.index(of: $0) } })
    ledgers[node]?.fresh.formUnion(ids.compactMap { Name32($0) })
    try checkSeen(written, view)
    try checkComplete(written, view)
    try checkWritten(written, view, wall: wall)
  }

  /// Checks that new sets declare, as seen, every set that was folded when they were written: change-set.md, "Writing a
  /// set".
  private func checkSeen(_ written: Set<Int>, _ view: NodeView) throws {
    var newest: [Int: Int] = [:]
    for set in view.numbers where view[set] == .folded && !written.contains(set) {
      newest[library.branchOf[set]] = set
    }
    for set in written.sorted() {
      let log = library.sets[set].header.log
      for seen in newest.values.sorted() {
        let other = library.sets[seen].header.log
        guard other.lane == log.lane, other != log, !view.covers(set, seen, library) else { continue }
        throw Violation(
          .unauthorised, view.name,
          "set \(library.sets[set].id) does not declare \(library.sets[seen].id) of \(other), which its author had folded"
        )
      }
    }
  }

  private func isStored(_ id: Name32, _ view: NodeView) -> Bool {
    library.index(of: id).map { view[$0] != .absent } ?? false
  }

  func isQuarantined(_ id: Name32, _ view: NodeView) throws -> Bool {
    try StoreReader.quarantinedIDs(view.connection).contains(id)
  }

  /// Checks that every set that was stored is still stored, unless the protocol allows its removal.
  ///
  /// - Parameters:
  ///   - before: the sets that were stored at the last look.
  ///   - folded: the sets that were folded at the last look.
  func checkDroppedSets(_ before: Set<Int>, folded: Set<Int>, _ view: NodeView) throws {
    guard let ledger = ledgers[view.name] else { return }
    if view.mayHaveLost {
      ledger.acknowledged = ledger.acknowledged.filter { isStored($0, view) }
      return
    }
    let stored = view.storedSets
    let promised = Set(ledger.acknowledged.compactMap { library.index(of: $0) })
    for set in before.union(promised).subtracting(stored).sorted() {
      try explain(set, before, folded, view, ledger)
    }
  }

  private func explain(
    _ set: Int, _ before: Set<Int>, _ folded: Set<Int>, _ view: NodeView, _ ledger: NodeLedger
  ) throws {
    let log = library.sets[set].header.log
    let id = library.sets[set].id
    let isCut = !isAllowed(set, view)
    let isOwn = log.device == view.device
    // A cut of another device's log may remove that log's sets. A node's own sets, even acknowledged ones, may be
    // removed if the node is revoked.
    if isCut, !isOwn || view.circle?.counted[log.device] != nil { return }
    // Each copy of a device cuts its logs at the sets that it holds. The sets of the other copy are then quarantined,
    // not lost.
    if isCut, ledger.hasTwin, try isQuarantined(id, view) { return }
    // If a cut that excluded the set's ancestors was voided, the set is quarantined until its ancestors are stored.
    if !isCut || isKept(set, view), lacksAncestors(set, view), try isQuarantined(id, view) { return }
    guard isOwn else {
      throw Violation(.wentBack, view.name, "set \(id) of \(log) was stored and no longer is")
    }
    guard isCut || !ledger.knowsSent.contains(id) else {
      throw Violation(.lostWrite, view.name, "its own set \(id) is gone although it had been sent to a peer")
    }
    let others = try writtenAgain(set, view)
    guard isWhole(set, in: others, view) else {
      let isQuarantined = try isQuarantined(id, view)
      throw Violation(
        .lostWrite, view.name,
        "its own set \(id), sequence \(library.sets[set].header.sequence) of \(log), is gone and was not re-authored; "
          + "excluded by a cut: \(isCut), quarantined: \(isQuarantined)")
    }
    if let unseen = unseen(by: others.filter { !before.contains($0) }, in: set, folded, view) {
      throw Violation(
        .state, view.name,
        "its own set \(id) was re-authored without declaring \(library.sets[unseen].id) of \(library.sets[unseen].header.log), which it saw"
      )
    }
    if ledger.acknowledged.remove(id) != nil {
      ledger.acknowledged.formUnion(others.map { library.sets[$0].id })
    }
  }

  /// Checks that quarantined sets return to their logs as soon as no cut excludes them and their ancestors are stored.
  func checkQuarantine(_ view: NodeView) throws {
    // On a full disk, changes to cuts take effect only once there is room again.
    guard ledgers[view.name]?.hasRoom != false else { return }
    for id in try StoreReader.quarantinedIDs(view.connection).sorted() {
      guard let set = library.index(of: id), view[set] == .absent, isWithinQuota(set, view),
        isKept(set, view) || isAllowed(set, view), !lacksAncestors(set, view)
      else { continue }
      throw Violation(
        .state, view.name,
        "set \(id) of \(library.sets[set].header.log) stays quarantined although no cut excludes it and its ancestors are stored"
      )
    }
  }

  /// Whether every cut of the set's log keeps a tip that is the set or a descendant of it. The tip may be quarantined.
  private func isKept(_ set: Int, _ view: NodeView) -> Bool {
    let header = library.sets[set].header
    return !isBeyondLine(header.log, header.sequence, view)
      && (cuts(of: header.log, view) ?? []).allSatisfy { tips in
        tips.contains { tip in library.index(of: tip).map { library.isOnPath(set, to: $0) } ?? false }
      }
  }

  /// Whether a set's predecessor is missing, a dependency is missing although no cut of its log is in effect, or the
  /// set's clock is not higher than that of a dependency that no cut excludes.
  private func lacksAncestors(_ set: Int, _ view: NodeView) -> Bool {
    if let previous = library.predecessors[set], view[previous] == .absent { return true }
    let header = library.sets[set].header
    if seenNoEarlier(than: header, view) != nil { return true }
    return header.dependencies.contains {
      let isHere = library.index(of: $0.id).map { view[$0] != .absent } ?? false
      let log = $0.log(lane: header.log.lane)
      let cuts = cuts(of: log, view) ?? []
      return !isHere && !isBeyondLine(log, $0.sequence, view) && !cuts.contains { isInEffect($0, view) }
    }
  }

  /// Returns the sets that may have replaced a set: other sets with the same operation, device and lane. They may be in
  /// the same log if unsent sets of two logs were re-authored into one. They are stored, or quarantined because they
  /// lack ancestors.
  private func writtenAgain(_ set: Int, _ view: NodeView) throws -> [Int] {
    let header = library.sets[set].header
    let others = (library.operations[header.operation] ?? []).filter {
      let other = library.sets[$0].header.log
      return $0 != set && other.device == header.log.device && other.lane == header.log.lane
    }
    if others.allSatisfy({ view[$0] != .absent }) { return others }
    let quarantined = try StoreReader.quarantinedIDs(view.connection)
    return others.filter {
      view[$0] != .absent || lacksAncestors($0, view) && quarantined.contains(library.sets[$0].id)
    }
  }

  /// Returns a folded set of another device that `set` had seen but that the sets re-authored from `set` don't declare
  /// as seen; nil if there is none.
  private func unseen(by others: [Int], in set: Int, _ folded: Set<Int>, _ view: NodeView) -> Int? {
    let (device, lane) = (library.sets[set].header.log.device, library.sets[set].header.log.lane)
    let successors = others.filter { other in
      view[other] != .absent && library.sets[set].entries.contains { isWritten($0, of: set, in: other, view) }
    }
    guard !successors.isEmpty else { return nil }
    let sights = view.sightsOfOutgoing(set, library)
    return folded.sorted().first { seen in
      let log = library.sets[seen].header.log
      return log.device != device && log.lane == lane && view[seen] == .folded
        && library.covers(set, seen, by: sights)
        && !successors.contains { library.covers($0, seen, by: library.sights[$0]) }
    }
  }

  private func isWhole(_ set: Int, in others: [Int], _ view: NodeView) -> Bool {
    library.sets[set].entries.allSatisfy { entry in
      others.contains { isWritten(entry, of: set, in: $0, view) }
    }
  }

  private func isWritten(_ entry: PlainEntry, of set: Int, in other: Int, _ view: NodeView) -> Bool {
    library.sets[other].entries.contains { isSame(entry, in: set, as: $0, in: other, view) }
  }

  private func isSame(
    _ left: PlainEntry, in set: Int, as right: PlainEntry, in other: Int, _ view: NodeView
  ) -> Bool {
    guard left.key == right.key, left.act == right.act, left.fields == right.fields else { return false }
    let (old, new) = (library.values(of: set, left), library.values(of: other, right))
    return left.fields.allSatisfy { field in
      // Re-authoring may replace a modification time that was in the future.
      if PlainKinds.isWhole(left.key.kind), field == 1 { return true }
      guard let before = old[field] else { return true }
      return new[field].map { $0 == before } ?? mayLackValues(of: left, in: set, view)
    }
  }

  /// Whether the values of an entry were missing here at some time, or may have been erased.
  private func mayLackValues(of entry: PlainEntry, in set: Int, _ view: NodeView) -> Bool {
    guard let slot = entry.slot else { return true }
    return view.everMissing[set]?.contains(slot) == true || mayBeErased(entry.key, in: set, view)
  }
}
