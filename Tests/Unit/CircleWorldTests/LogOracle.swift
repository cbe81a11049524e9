// Protocol/circle.md, "What folds", and Protocol/change-set.md, "Causal closure", written again from these pages.

/// Which sets a node stores and folds, and what each of them has seen.
struct LogOracle {
  private(set) var stored: Mask = 0
  private(set) var folded: Mask = 0
  /// For each set, the stored sets in its past, including itself.
  private(set) var seen: [Mask] = []
  private let ancestry: Ancestry
  private let ends: [WorldLog: MembershipOracle.LogEnd]
  /// The sets that could be stored if no set were pruned.
  private var placed: Mask = 0

  /// - Parameters:
  ///   - offered: the sets that peers can send.
  ///   - late: the sets whose clock is ahead.
  init(_ ancestry: Ancestry, _ circle: MembershipOracle, offered: Mask, late: Mask) {
    self.ancestry = ancestry
    ends = Dictionary(
      uniqueKeysWithValues: Set(ancestry.logs).map { ($0, circle.end(of: $0, ancestry)) })
    grow { oracle in
      for set in offered.positions where !oracle.placed.has(set) && oracle.isPlaceable(set) {
        oracle.placed = oracle.placed.with(set)
      }
      return oracle.placed
    }
    stored = Mask(placed.positions.filter(isKept))
    seen = ancestry.logs.indices.map(past)
    grow { oracle in
      for set in oracle.stored.positions where !late.has(set) && oracle.isFoldable(set) {
        oracle.folded = oracle.folded.with(set)
      }
      return oracle.folded
    }
  }

  private mutating func grow(_ step: (inout LogOracle) -> Mask) {
    var before = step(&self)
    while true {
      let after = step(&self)
      if after == before { return }
      before = after
    }
  }

  private func cuts(_ log: WorldLog) -> [Mask] {
    if case .cuts(let cuts, _)? = ends[log] { cuts } else { [] }
  }

  private func isBeyondLine(_ set: Int) -> Bool {
    if case .cuts(_, let line?)? = ends[ancestry.logs[set]] { ancestry.sequences[set] > line } else { false }
  }

  /// The cuts of a log of which all tips are stored. Tips are never pruned.
  private func cutsInEffect(_ log: WorldLog) -> [Mask] { cuts(log).filter { $0 & ~placed == 0 } }

  /// Whether a set is a tip of a cut or an ancestor of one.
  private func leads(_ set: Int, to cut: Mask) -> Bool {
    cut.positions.contains { ancestry.paths[$0].has(set) }
  }

  private func isExcluded(_ set: Int) -> Bool {
    isBeyondLine(set) || cutsInEffect(ancestry.logs[set]).contains { !leads(set, to: $0) }
  }

  // MARK: Storing

  private func isPlaceable(_ set: Int) -> Bool {
    let log = ancestry.logs[set]
    if ends[log] == .unknownDevice || cuts(log) == [0] || isBeyondLine(set) { return false }
    let path = ancestry.paths[set] & ~(1 << Mask(set))
    guard path & ~placed == 0 else { return false }
    return ancestry.dependencies[set].positions.allSatisfy { dependency in
      placed.has(dependency) || isBeyondLine(dependency) || !cutsInEffect(ancestry.logs[dependency]).isEmpty
    }
  }

  /// Whether a set stays stored: it leads to a tip of any cut, or to one that is missing.
  private func isKept(_ set: Int) -> Bool {
    let cuts = cuts(ancestry.logs[set])
    guard !cuts.isEmpty, cuts.allSatisfy({ $0 & ~placed == 0 }) else { return true }
    return cuts.contains { leads(set, to: $0) }
  }

  // MARK: Folding

  private func past(_ set: Int) -> Mask {
    let dependencies = ancestry.paths[set].positions.flatMap { ancestry.dependencies[$0].positions }
    return dependencies.filter(stored.has).reduce(ancestry.paths[set]) { $0 | ancestry.paths[$1] }
  }

  private func isFoldable(_ set: Int) -> Bool {
    guard !isExcluded(set), ancestry.paths[set] & ~(1 << Mask(set)) & ~folded == 0 else { return false }
    return ancestry.dependencies[set].positions.allSatisfy { dependency in
      guard stored.has(dependency) else { return true }
      let path = ancestry.paths[dependency].positions.filter { !isExcluded($0) }
      return Mask(path) & ~folded == 0
    }
  }

  /// The newest sets of all branches of all logs, each with the newest folded sequence of its branch.
  var heads: [(set: Int, folded: Int)] {
    let followed = stored.positions.reduce(Mask(0)) { followed, set in
      followed | (ancestry.paths[set] & ~(1 << Mask(set)))
    }
    return (stored & ~followed).positions.map { head in
      let path = (ancestry.paths[head] & folded).positions
      return (head, path.map { ancestry.sequences[$0] }.max() ?? 0)
    }
  }
}
