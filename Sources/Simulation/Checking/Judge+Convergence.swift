// Protocol/session.md, "Summary and state"; Protocol/merge.md

import SQLite

extension Judge {
  /// Checks that members have converged, after all faults are over and the members could exchange everything.
  ///
  /// - Parameters:
  ///   - nodes: members that are connected, directly or through one another.
  ///   - premium: the members between which the records lane is open.
  ///   - withholding: the members that can't send their unsent sets because they have used up their incarnations. Nil
  ///     skips the check that all other members with an open gate are in `premium`.
  package func healed(_ nodes: [String], premium: [String], withholding: [String]? = nil) throws {
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
    if let withholding { try checkPremium(nodes, premium, withholding: withholding) }
  }

  /// Returns the ids of a node's statements, except address statements, which may be replaced at any time.
  private func heldIDs(_ view: NodeView) -> Set<Name32> {
    Set(view.statements.values.filter { $0.kind != 8 }.map(\.id))
  }

  /// Checks that two nodes hold the same sets, in the same states, and the same derived data.
  ///
  /// - Parameter dump: the dump of the first node, created when first needed and then reused.
  private func checkEqual(_ one: NodeView, _ other: NodeView, _ lane: Int, _ dump: inout Dump?) throws {
    let sets = one.storedSets.symmetricDifference(other.storedSets).filter { isOf(lane, $0) }
    if let set = sets.min() {
      throw Violation(
        .notConverged, other.name,
        "\(one.name) and it differ in \(sets.count) sets of lane \(lane), \(library.sets[set].id) one of them"
      )
    }
    let differing = one.numbers.filter { isOf(lane, $0) && one[$0] != other[$0] }
    // An author folds its own sets at once, while other nodes may have parked them. That does not count as a
    // difference.
    if let set = differing.first(where: { one[$0] != .waits && other[$0] != .waits }) {
      throw Violation(
        .notConverged, other.name,
        "set \(library.sets[set].id) is \(other[set]) here and \(one[set]) on \(one.name)")
    }
    // If the same sets are stored and folded, all derived data must be equal, byte for byte.
    guard differing.isEmpty else { return }
    let first = try dump ?? Dump(one, lane, library)
    dump = first
    guard let difference = first.difference(from: try Dump(other, lane, library), library) else { return }
    throw Violation(.divergence, other.name, difference)
  }

  private func isOf(_ lane: Int, _ set: Int) -> Bool { library.sets[set].header.log.lane == lane }

  /// Checks that no parked set is due, unless it depends on a set that is not folded.
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
        "set \(library.sets[set].id) is still parked although it is due and everything that it depends on is folded"
      )
    }
  }

  /// The maximum delay of the timer that folds parked sets once they are due.
  private static var foldingMilliseconds: Int64 { 60_000 }

  /// Checks that a node has a proof of each fork in its store.
  private func checkProofs(_ view: NodeView) throws {
    var seen: Set<SetLibrary.Position> = []
    for set in view.numbers {
      let header = library.sets[set].header
      guard let log = library.logIndex(header.log) else { continue }
      let isFirst = seen.insert(SetLibrary.Position(log: log, sequence: header.sequence)).inserted
      if isFirst || view.circle?.forkProofs[header.log] != nil { continue }
      throw Violation(
        .equivocation, view.name,
        "it holds two sets of sequence \(header.sequence) of \(header.log) but no proof of the fork")
    }
  }
}
