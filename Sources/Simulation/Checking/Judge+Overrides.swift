// Protocol/merge.md, "Overrides"

/// A head that a peer told a node, or that the node had itself. The set that it names may not exist.
package struct ToldHead {
  let log: PlainLog
  let sequence: UInt64
  let id: Name32
  let foldedSequence: UInt64

  /// Creates a head of the records lane; nil if an identifier has the wrong length.
  package init?(
    device: [UInt8], incarnation: [UInt8], sequence: UInt64, id: [UInt8], foldedSequence: UInt64
  ) {
    guard let device = Name32(device), let incarnation = Name16(incarnation), let id = Name32(id) else {
      return nil
    }
    log = PlainLog(device: device, incarnation: incarnation, lane: 1)
    (self.sequence, self.id, self.foldedSequence) = (sequence, id, foldedSequence)
  }
}

/// An override as it was requested.
package struct RequestedOverride {
  let wanted: [ToldHead]
  let present: [ToldHead]
  /// The kind to which the override is limited; nil for all kinds.
  let kind: Int?
  /// Whether the override is limited to one trip. The judge does not check which records belong to a trip.
  let isOfTrip: Bool

  package init(wanted: [ToldHead], present: [ToldHead], kind: Int?, isOfTrip: Bool) {
    (self.wanted, self.present, self.kind, self.isOfTrip) = (wanted, present, kind, isOfTrip)
  }
}

extension Judge {
  /// Checks an override that a node has just applied by writing these sets. There are none if nothing differed.
  ///
  /// - Returns: the number of compared records; nil if the written sets are parked, so that nothing could be compared.
  @discardableResult
  package func directed(_ node: String, _ told: RequestedOverride, _ ids: [[UInt8]]) throws -> Int? {
    let view = view(node)
    if let head = lacking(told, view) {
      throw Violation(
        .override, node, "it applied an override before it had folded set \(head.id) of \(head.log)")
    }
    let written = Set(ids.compactMap { Name32($0).flatMap { library.index(of: $0) } })
    let marks = marks(told, view, without: written)
    try checkUntouched(written, marks, told, view)
    // The written sets are parked if they depend on a set of this device that has a clock in the future. Another copy
    // of the device, or a wrong clock, can cause that.
    guard written.allSatisfy({ view[$0] == .folded }) else { return nil }
    guard !told.isOfTrip else { return 0 }
    var touched: Set<PlainKey> = []
    for set in marks.back { for entry in library.sets[set].entries { touched.insert(entry.key) } }
    for set in marks.unsure { for entry in library.sets[set].entries { touched.remove(entry.key) } }
    let keys = touched.filter { $0.kind != Self.contentKind && told.kind ?? $0.kind == $0.kind }
    for key in keys.sorted() { try checkDirected(key, marks, written, view) }
    return keys.count
  }

  /// Checks a node that is still waiting to apply an override although nothing more can arrive: something that the
  /// override needs must be missing.
  package func waits(_ node: String, for told: RequestedOverride) throws {
    let view = view(node)
    guard ledgers[node]?.hasRoom == true, lacking(told, view) == nil else { return }
    throw Violation(
      .override, node, "an override is still pending although everything that it needs is folded")
  }

  /// Returns the first head that is not yet folded as far as the override needs; nil if there is none. Heads of cut
  /// logs are not needed.
  private func lacking(_ told: RequestedOverride, _ view: NodeView) -> ToldHead? {
    (told.wanted + told.present).first { head in
      guard view.circle?.isKnown(head.log.device) == true, cuts(of: head.log, view) == nil else {
        return false
      }
      guard let tip = set(of: head), view[tip] != .absent else { return true }
      return !path(to: tip, through: head.foldedSequence).allSatisfy { view[$0] == .folded }
    }
  }

  /// Returns the set that a head names; nil if no known set has that id, log and sequence.
  private func set(of head: ToldHead) -> Int? {
    guard let set = library.index(of: head.id) else { return nil }
    let header = library.sets[set].header
    return header.log == head.log && header.sequence == head.sequence ? set : nil
  }

  /// Returns a set and its ancestors in its log, without those that have a sequence above `last`.
  private func path(to tip: Int, through last: UInt64) -> [Int] {
    var found: [Int] = []
    var next: Int? = tip
    while let set = next {
      if library.sets[set].header.sequence <= last { found.append(set) }
      next = library.predecessors[set]
    }
    return found
  }

  // MARK: Sets to revert

  /// The folded sets of the records lane that an override must revert (`back`), and those that it may revert
  /// (`unsure`).
  private struct Marks {
    var back: Set<Int> = []
    var unsure: Set<Int> = []
  }

  private func marks(_ told: RequestedOverride, _ view: NodeView, without written: Set<Int>) -> Marks {
    let wanted = reach(told.wanted, view, countingAbsent: true)
    let present = reach(told.present, view, countingAbsent: false)
    var marks = Marks()
    for set in view.numbers where view[set] == .folded && !written.contains(set) {
      guard library.sets[set].header.log.lane == 1, present.perhaps.contains(set),
        !wanted.surely.contains(set)
      else { continue }
      if present.surely.contains(set), !wanted.perhaps.contains(set) {
        marks.back.insert(set)
      } else {
        marks.unsure.insert(set)
      }
    }
    return marks
  }

  /// Returns the sets that are certainly covered by heads, and those that may be. If a cut prevented a head from
  /// arriving, this node can't know the head's ancestors. If the head does not exist, no node can.
  ///
  /// - Parameter countingAbsent: whether the known ancestors of a head that is not stored here count as certain. Wanted
  ///   sets must be kept in any case, but a node need not revert a set if it can't know that the set must be reverted.
  private func reach(
    _ heads: [ToldHead], _ view: NodeView, countingAbsent: Bool
  ) -> (surely: Set<Int>, perhaps: Set<Int>) {
    var (surely, perhaps): (Set<Int>, Set<Int>) = ([], [])
    for head in heads {
      let tip = set(of: head)
      let path = tip.map { self.path(to: $0, through: head.foldedSequence) } ?? []
      let isHere = tip.map { view[$0] != .absent } ?? false
      if isHere || countingAbsent { surely.formUnion(path) } else { perhaps.formUnion(path) }
      if isHere { continue }
      perhaps.formUnion(
        view.numbers.filter {
          let header = library.sets[$0].header
          return header.log == head.log && header.sequence <= head.foldedSequence
        })
    }
    return (surely, perhaps.union(surely))
  }

  // MARK: Results

  /// Checks that an override writes only to records that are in its scope and in which it reverts something, and never
  /// to the contents of files.
  private func checkUntouched(
    _ written: Set<Int>, _ marks: Marks, _ told: RequestedOverride, _ view: NodeView
  ) throws {
    guard !written.isEmpty else { return }
    var touched: Set<PlainKey> = []
    for set in marks.back.union(marks.unsure) {
      for entry in library.sets[set].entries { touched.insert(entry.key) }
    }
    for set in written.sorted() {
      for entry in library.sets[set].entries {
        let isConcerned = entry.key.kind != Self.contentKind && told.kind ?? entry.key.kind == entry.key.kind
        if isConcerned, touched.contains(entry.key) { continue }
        throw Violation(
          .override, view.name, "an override wrote to \(entry.key), where it reverts nothing")
      }
    }
  }

  private func checkDirected(
    _ key: PlainKey, _ marks: Marks, _ written: Set<Int>, _ view: NodeView
  ) throws {
    let shown = view.record(key, library)
    let wanted = view.record(key, library, without: marks.back.union(written))
    func refuse(_ what: String) -> Violation {
      Violation(.override, view.name, "\(key) \(what) after an override")
    }
    let (lives, shouldLive) = (shown.life ?? false, wanted.life ?? false)
    if lives != shouldLive { throw refuse(lives ? "is alive" : "is dead") }
    // Deleted records keep their contents, so that they can be restored from the trash.
    guard shouldLive else {
      for set in written.sorted() {
        let entries = library.sets[set].entries.filter { $0.key == key }
        if entries.contains(where: { !$0.fields.isEmpty }) { throw refuse("was emptied, not only deleted,") }
      }
      return
    }
    let (held, target) = (contents(shown), contents(wanted))
    guard held != target else { return }
    let field = Set(held.keys).union(target.keys).filter { held[$0] != target[$0] }.min() ?? 0
    throw refuse(
      "has \(plainHex(held[field] ?? [])) in field \(field) instead of \(plainHex(target[field] ?? []))")
  }

  /// Returns a record's fields that are not empty, except the life and the modification time. An absent value counts as
  /// empty, because an override can't bring it back.
  private func contents(_ record: PlainRecord) -> [Int: [UInt8]] {
    var found: [Int: [UInt8]] = [:]
    for (field, cell) in record.cells {
      if case .whole = cell.winner.content {
        found = cell.winner.shownFieldsWithoutTime
      } else if field != 0, !PlainKinds.isFixed(record.key, field) {
        found[field] = cell.winner.shown
      }
    }
    return found.filter { $0.value != [0xf6] }
  }

  /// The kind for contents of files. Overrides exclude these records, because their ids are hashes and several other
  /// records may share them.
  private static var contentKind: Int { 8 }
}
