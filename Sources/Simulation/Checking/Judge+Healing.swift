// Protocol/session.md, "Summary and state"; Protocol/merge.md

import SQLite

extension Judge {
  /// All faults are over, everybody could talk to everybody for long enough: now they must be the same.
  ///
  /// - Parameters:
  ///   - nodes: members that are connected, directly or through one another.
  ///   - premium: those of them among which the records lane is open.
  ///   - excused: those that keep to themselves what they wrote, because they may begin no other log; nil if the
  ///     world does not tell who else is premium.
  package func healed(_ nodes: [String], premium: [String], excused: [String]? = nil) throws {
    for node in nodes { try readWhole(node, isStart: false) }
    for (lane, group) in [(0, nodes), (1, premium)] {
      guard let first = group.first else { continue }
      for node in group { try checkNothingWaits(view(node), lane) }
      var dump: Dump?
      for other in group.dropFirst() { try checkEqual(view(first), view(other), lane, &dump) }
    }
    guard let first = nodes.first else { return }
    let ids = heldIDs(view(first))
    for node in nodes.dropFirst() {
      let difference = ids.symmetricDifference(heldIDs(view(node)))
      guard let id = difference.min() else { continue }
      let holder = ids.contains(id) ? first : node
      let kind = view(holder).statements.values.first { $0.id == id }?.kind ?? 0
      throw Violation(
        .notConverged, node,
        "\(first) and it differ in \(difference.count) statements; one is \(id) of kind \(kind), at \(holder)"
      )
    }
    for node in nodes { try checkProofs(view(node)) }
    if let excused { try checkPremium(nodes, premium, excused: excused) }
  }

  /// The statements of a node but for addresses, which may be on their way again at any time.
  private func heldIDs(_ view: NodeView) -> Set<Name32> {
    Set(view.statements.values.filter { $0.kind != 8 }.map(\.id))
  }

  /// - Parameter dump: of the first node; made when it is needed, and kept for the next.
  private func checkEqual(_ one: NodeView, _ other: NodeView, _ lane: Int, _ dump: inout Dump?) throws {
    let sets = one.storedSets.symmetricDifference(other.storedSets).filter { isOf(lane, $0) }
    if let set = sets.min() {
      throw Violation(
        .notConverged, other.name,
        "\(one.name) and it differ in \(sets.count) sets of lane \(lane), \(library.sets[set].id) one of them"
      )
    }
    let differing = one.numbers.filter { isOf(lane, $0) && one[$0] != other[$0] }
    // An author's own set does not wait for its time; what waits here does so by right.
    if let set = differing.first(where: { one[$0] != .waits && other[$0] != .waits }) {
      throw Violation(
        .notConverged, other.name,
        "set \(library.sets[set].id) is \(other[set]) here and \(one[set]) on \(one.name)")
    }
    // The same sets are stored and folded: then the same must show, to the byte.
    guard differing.isEmpty else { return }
    let first = try dump ?? Dump(one, lane)
    dump = first
    guard let difference = first.difference(from: try Dump(other, lane), library) else { return }
    throw Violation(.divergence, other.name, difference)
  }

  private func isOf(_ lane: Int, _ set: Int) -> Bool { library.sets[set].header.log.lane == lane }

  /// What is due and stands on nothing that waits is folded.
  private func checkNothingWaits(_ view: NodeView, _ lane: Int) throws {
    let wall = ledgers[view.name]?.wall ?? 0
    for set in view.numbers where isOf(lane, set) && view[set] == .waits {
      let header = library.sets[set].header
      guard isAllowed(set, view), Int64(header.clock >> 16) <= wall + 600_000 - Self.foldingMilliseconds
      else {
        continue
      }
      let waits = { (set: Int) in view[set] == .waits || view[set] == .held }
      if let previous = library.predecessors[set], waits(previous) { continue }
      guard header.dependencies.allSatisfy({ isSatisfied($0, of: header, view) }) else { continue }
      throw Violation(
        .notConverged, view.name,
        "set \(library.sets[set].id) waits though its time has come and nothing it needs waits")
    }
  }

  /// A timer that folds what is due may come this much later.
  private static var foldingMilliseconds: Int64 { 60_000 }

  /// Wherever two sets share a place, everybody has the proof.
  private func checkProofs(_ view: NodeView) throws {
    var seen: Set<SetLibrary.Position> = []
    for set in view.numbers {
      let header = library.sets[set].header
      guard let log = library.logIndex(header.log) else { continue }
      let isFirst = seen.insert(SetLibrary.Position(log: log, sequence: header.sequence)).inserted
      if isFirst || view.circle?.forkProofs[header.log] != nil { continue }
      throw Violation(
        .equivocation, view.name,
        "it holds two sets for sequence \(header.sequence) of \(header.log) and no proof of the fork")
    }
  }
}
