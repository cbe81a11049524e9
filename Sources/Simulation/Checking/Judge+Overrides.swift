// Protocol/merge.md, "Overrides"

/// Heads that somebody has told, which may be those of sets that nobody has written.
package struct ToldHead {
  let log: PlainLog
  let sequence: UInt64
  let id: Name32
  let foldedSequence: UInt64

  /// Of the records lane; nil if the bytes are no names.
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

/// A forced direction as it was asked for.
package struct RequestedOverride {
  let wanted: [ToldHead]
  let present: [ToldHead]
  /// The kind that it concerns; nil for all.
  let kind: Int?
  /// It concerns one trip alone: which records belong to it is not asked.
  let isOfTrip: Bool

  package init(wanted: [ToldHead], present: [ToldHead], kind: Int?, isOfTrip: Bool) {
    (self.wanted, self.present, self.kind, self.isOfTrip) = (wanted, present, kind, isOfTrip)
  }
}

extension Judge {
  /// A node has carried out a forced direction, just now, in these sets; in none if nothing differed.
  ///
  /// - Returns: how many records were compared; nil if what it wrote waits for what its own log has before it.
  @discardableResult
  package func directed(_ node: String, _ told: RequestedOverride, _ ids: [[UInt8]]) throws -> Int? {
    let view = view(node)
    if let head = lacking(told, view) {
      throw Violation(
        .override, node, "it carried out a direction before it had set \(head.id) of \(head.log)")
    }
    let written = Set(ids.compactMap { Name32($0).flatMap { library.index(of: $0) } })
    let marks = marks(told, view, without: written)
    try checkUntouched(written, marks, told, view)
    // Another copy of the device, or its clock, may have dated a set ahead on which its own now stand.
    guard written.allSatisfy({ view[$0] == .folded }) else { return nil }
    guard !told.isOfTrip else { return 0 }
    var touched: Set<PlainKey> = []
    for set in marks.back { for entry in library.sets[set].entries { touched.insert(entry.key) } }
    for set in marks.unsure { for entry in library.sets[set].entries { touched.remove(entry.key) } }
    let keys = touched.filter { $0.kind != Self.contentKind && told.kind ?? $0.kind == $0.kind }
    for key in keys.sorted() { try checkDirected(key, marks, written, view) }
    return keys.count
  }

  /// A node has gone on waiting though nothing more is on its way to it: then something must be missing.
  package func waits(_ node: String, for told: RequestedOverride) throws {
    let view = view(node)
    guard ledgers[node]?.hasRoom == true, lacking(told, view) == nil else { return }
    throw Violation(.override, node, "a direction waits though all that it needs is folded")
  }

  /// The first of the heads that are not folded as far as they were told; of logs that are cut none is waited for.
  private func lacking(_ told: RequestedOverride, _ view: NodeView) -> ToldHead? {
    (told.wanted + told.present).first { head in
      guard view.circle?.isKnown(head.log.device) == true, cuts(of: head.log, view) == nil else {
        return false
      }
      guard let tip = set(of: head), view[tip] != .absent else { return true }
      return !path(to: tip, through: head.foldedSequence).allSatisfy { view[$0] == .folded }
    }
  }

  /// The set that a head names, if there is such a set in that place.
  private func set(of head: ToldHead) -> Int? {
    guard let set = library.index(of: head.id) else { return nil }
    let header = library.sets[set].header
    return header.log == head.log && header.sequence == head.sequence ? set : nil
  }

  /// The sets of a log from its first to one, as far as a sequence.
  private func path(to tip: Int, through last: UInt64) -> [Int] {
    var found: [Int] = []
    var next: Int? = tip
    while let set = next {
      if library.sets[set].header.sequence <= last { found.append(set) }
      next = library.predecessors[set]
    }
    return found
  }

  // MARK: What is taken back

  /// Folded sets of the records lane that a direction takes back for certain, and such of which nobody here can know.
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

  /// The sets that lie on the way to heads, and those that may: where a cut kept a head from coming, only others know
  /// where it leads, and where nobody has it, nobody does.
  ///
  /// - Parameter countingAbsent: whether what leads to a tip that is not here counts all the same: what is wanted stays
  ///   wanted, but what a node can't know to be taken back need not be.
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

  // MARK: What must show

  /// A direction writes to no record of which nothing is taken back, to none that it does not concern, and to no
  /// pieces of files.
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
          .override, view.name, "a direction wrote to \(entry.key), of which it takes nothing back")
      }
    }
  }

  private func checkDirected(
    _ key: PlainKey, _ marks: Marks, _ written: Set<Int>, _ view: NodeView
  ) throws {
    let shown = view.record(key, library)
    let wanted = PlainRecord(key, library) {
      view[$0] == .folded && !marks.back.contains($0) && !written.contains($0)
    } covers: {
      view.covers($0, $1, library)
    }
    func refuse(_ what: String) -> Violation {
      Violation(.override, view.name, "\(key) \(what) after a direction")
    }
    let (lives, shallLive) = (shown.life ?? false, wanted.life ?? false)
    if lives != shallLive { throw refuse(lives ? "lives" : "does not live") }
    // The trash keeps what was taken back.
    guard shallLive else {
      for set in written.sorted() {
        let entries = library.sets[set].entries.filter { $0.key == key }
        if entries.contains(where: { $0.act == .put }) { throw refuse("was emptied and not only deleted") }
      }
      return
    }
    let (held, target) = (contents(shown), contents(wanted))
    guard held != target else { return }
    let field = Set(held.keys).union(target.keys).filter { held[$0] != target[$0] }.min() ?? 0
    throw refuse(
      "shows \(plainHex(held[field] ?? [])) in field \(field), and not \(plainHex(target[field] ?? [])),")
  }

  /// What a record says, without its life, its own time of change, and what holds nothing.
  private func contents(_ record: PlainRecord) -> [Int: [UInt8]] {
    var found: [Int: [UInt8]] = [:]
    for (field, cell) in record.cells {
      if case .whole = cell.winner.content {
        found = library.fieldsWithoutTime(cell.winner)
      } else if field != 0, !PlainKinds.isFixed(record.key, field) {
        found[field] = library.bytes(cell.winner)
      }
    }
    return found.filter { $0.value != [0xf6] }
  }

  /// Pieces of files are named by their content: others may hold the same.
  private static var contentKind: Int { 8 }
}
