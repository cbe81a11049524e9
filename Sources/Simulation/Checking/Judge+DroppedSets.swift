// Protocol/change-set.md, "Writing again"; Protocol/session.md, "Own log after a start"

import SQLite

extension Judge {
  /// A node has told a person that it keeps what they wrote, in these sets.
  ///
  /// - Parameter wall: what its clock showed; nil if the world does not tell.
  package func acknowledged(_ node: String, _ ids: [[UInt8]], wall: Int64? = nil) throws {
    let view = view(node)
    for id in ids.compactMap({ Name32($0) }) {
      if !isStored(id, view) { try readNews(node) }
      guard isStored(id, view) else {
        throw Violation(.lostWrite, node, "set \(id) was acknowledged and is not stored")
      }
      ledgers[node]?.acknowledged.insert(id)
    }
    let written = Set(ids.compactMap { Name32($0).flatMap { library.index(of: $0) } })
    ledgers[node]?.fresh.formUnion(ids.compactMap { Name32($0) })
    try checkSeen(written, view)
    try checkWritten(written, view, wall: wall)
  }

  /// Who writes has seen all that is folded where it is written, and declares it: change-set.md, "Writing a set".
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
          "set \(library.sets[set].id) does not declare \(library.sets[seen].id) of \(other), which its author saw"
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

  /// What a store held is there, or something the chapters name has taken it out.
  ///
  /// - Parameter folded: which of it was folded.
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
    // Another's cut, or a revocation, takes out what its author may have promised.
    if isCut, !isOwn || view.circle?.counted[log.device] != nil { return }
    // Of two copies of one device each ends logs by what it holds itself: what the other wrote is set quarantined, not lost.
    if isCut, ledger.hasTwin, try isQuarantined(id, view) { return }
    // A cut has ended that left out what it has seen: that must come first again.
    if !isCut || isKept(set, view), lacksAncestors(set, view), try isQuarantined(id, view) { return }
    guard isOwn else {
      throw Violation(.wentBack, view.name, "set \(id) of \(log) was stored and is not any more")
    }
    guard isCut || !ledger.knowsSent.contains(id) else {
      throw Violation(.lostWrite, view.name, "its own set \(id) is gone though it was sent to somebody")
    }
    let others = try writtenAgain(set, view)
    guard isWhole(set, in: others) else {
      let isQuarantined = try isQuarantined(id, view)
      throw Violation(
        .lostWrite, view.name,
        "its own set \(id), sequence \(library.sets[set].header.sequence) of \(log), is gone and was not written again; "
          + "a cut leaves it out: \(isCut), it is quarantined: \(isQuarantined)")
    }
    if let unseen = unseen(by: others.filter { !before.contains($0) }, in: set, folded, view) {
      throw Violation(
        .state, view.name,
        "its own set \(id) was written again as if it had not seen set \(library.sets[unseen].id) of \(library.sets[unseen].header.log)"
      )
    }
    if ledger.acknowledged.remove(id) != nil {
      ledger.acknowledged.formUnion(others.map { library.sets[$0].id })
    }
  }

  /// What a cut had left out, or what had lost its ground, comes back as soon as nothing keeps it away.
  func checkQuarantine(_ view: NodeView) throws {
    // On a disk that is full a cut takes effect as soon as there is room.
    guard ledgers[view.name]?.hasRoom != false else { return }
    for id in try StoreReader.quarantinedIDs(view.connection).sorted() {
      guard let set = library.index(of: id), view[set] == .absent,
        isKept(set, view) || isAllowed(set, view), !lacksAncestors(set, view)
      else { continue }
      throw Violation(
        .state, view.name,
        "set \(id) of \(library.sets[set].header.log) stays quarantined though no cut leaves it out and all that it stands on is here"
      )
    }
  }

  /// Whether a set leads to a tip of every cut, though the tip may be set quarantined like it.
  private func isKept(_ set: Int, _ view: NodeView) -> Bool {
    (cuts(of: library.sets[set].header.log, view) ?? []).allSatisfy { tips in
      tips.contains { tip in library.index(of: tip).map { library.isOnPath(set, to: $0) } ?? false }
    }
  }

  /// Whether something is not here that a set stands on, and that no cut in effect leaves out; or is not dated before it.
  private func lacksAncestors(_ set: Int, _ view: NodeView) -> Bool {
    if let previous = library.predecessors[set], view[previous] == .absent { return true }
    let header = library.sets[set].header
    if seenNoEarlier(than: header, view) != nil { return true }
    return header.dependencies.contains {
      let isHere = library.index(of: $0.id).map { view[$0] != .absent } ?? false
      let cuts = cuts(of: $0.log(lane: header.log.lane), view) ?? []
      return !isHere && !cuts.contains { isInEffect($0, view) }
    }
  }

  /// Other sets of the same operation and device: in another log, or in the same one where what nobody was sent of
  /// two logs was brought into one. They are stored here, or wait for what they have seen, as above.
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

  /// A set of somebody else that one of the own had seen, and that what it has just been written again in does not say
  /// so of.
  private func unseen(by others: [Int], in set: Int, _ folded: Set<Int>, _ view: NodeView) -> Int? {
    let (device, lane) = (library.sets[set].header.log.device, library.sets[set].header.log.lane)
    let heirs = others.filter { other in
      view[other] != .absent && library.sets[set].entries.contains { isWritten($0, of: set, in: other) }
    }
    guard !heirs.isEmpty else { return nil }
    let sights = view.sightsOfOutgoing(set, library)
    return folded.sorted().first { seen in
      let log = library.sets[seen].header.log
      return log.device != device && log.lane == lane && view[seen] == .folded
        && library.covers(set, seen, by: sights)
        && !heirs.contains { library.covers($0, seen, by: library.sights[$0]) }
    }
  }

  private func isWhole(_ set: Int, in others: [Int]) -> Bool {
    library.sets[set].entries.allSatisfy { entry in others.contains { isWritten(entry, of: set, in: $0) } }
  }

  private func isWritten(_ entry: PlainEntry, of set: Int, in other: Int) -> Bool {
    library.sets[other].entries.contains { isSame(entry, in: set, as: $0, in: other) }
  }

  private func isSame(_ left: PlainEntry, in set: Int, as right: PlainEntry, in other: Int) -> Bool {
    guard left.key == right.key, left.act == right.act, left.cells.count == right.cells.count else {
      return false
    }
    return zip(left.cells, right.cells).allSatisfy { one, two in
      if one.field != two.field { return false }
      // A time of change that was ahead is dated anew.
      if PlainKinds.isWhole(left.key.kind), one.field == 1 { return true }
      return library.sets[set].content(one.content) == library.sets[other].content(two.content)
    }
  }
}
