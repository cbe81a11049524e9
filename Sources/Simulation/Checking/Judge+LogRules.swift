// Protocol/change-set.md, "Causal closure"; Protocol/circle.md, "What folds"

import SQLite

extension Judge {
  /// Checks that a set was allowed to be stored in the log: its columns, circle, author, predecessor, dependencies and
  /// clock.
  func checkStored(_ set: Int, _ row: StoredLogRow, _ view: NodeView) throws {
    let header = library.sets[set].header
    let id = library.sets[set].id
    func refuse(_ what: String) -> Violation {
      Violation(
        .unauthorised, view.name, "change set \(id), sequence \(header.sequence) of \(header.log), \(what)")
    }
    guard view[set] == .absent else { throw refuse("is stored twice") }
    guard row.number == Int64(view.numbers.count) + 1 else {
      throw refuse("is stored as number \(row.number) after \(view.numbers.count) others")
    }
    guard Name32(row.id) == id, row.sequence == Int64(header.sequence),
      row.clock == Int64(bitPattern: header.clock), Name16(row.operation) == header.operation,
      row.logBytes == Int64(header.logBytes) + Int64(header.declaredSize),
      try StoreReader.log(branch: row.branch, view.connection) == header.log
    else { throw refuse("has columns that differ from its header") }
    guard header.circle == view.circle?.id else { throw refuse("belongs to another circle") }
    guard view.circle?.isKnown(header.log.device) == true else {
      throw refuse("has an author without a certificate")
    }
    guard isWithinQuota(set, view) else { throw refuse("is beyond the quota of its author") }
    if let previous = library.predecessors[set] {
      guard view[previous] != .absent else { throw refuse("is stored before its predecessor") }
      switch header.objection(after: library.sets[previous].header) {
      case "clock"?: throw refuse("has a clock that is not above its predecessor's")
      case let objection?: throw refuse("has a \(objection) that does not follow from its predecessor's")
      case nil: break
      }
    }
    for dependency in header.dependencies { try checkDependency(dependency, of: set, view, refuse) }
  }

  private func checkDependency(
    _ dependency: PlainDependency, of set: Int, _ view: NodeView,
    _ refuse: (String) -> Violation
  ) throws {
    let header = library.sets[set].header
    let log = dependency.log(lane: header.log.lane)
    let isCut = cuts(of: log, view) != nil
    guard let seen = library.index(of: dependency.id), view[seen] != .absent else {
      // A missing dependency counts as satisfied if its log is cut. On a full disk, the end of a cut takes effect only
      // once there is room again.
      if isCut || ledgers[view.name]?.hasRoom == false { return }
      throw refuse("is stored before its dependency \(dependency.id)")
    }
    // Which sets of a cut log are excluded is known only once the kept tips arrive, which may be later. `checkDated`
    // therefore checks the clocks.
    if isCut { return }
    let other = library.sets[seen].header
    guard other.log == log, other.sequence == dependency.sequence else {
      throw refuse("declares its dependency \(dependency.id) with a wrong log or sequence")
    }
    guard other.clock < header.clock else {
      throw refuse("has a clock that is not above its dependency's")
    }
  }

  /// Checks that each set's clock is higher than those of all its dependencies that no cut excludes.
  func checkDated(_ sets: some Sequence<Int>, _ view: NodeView) throws {
    // On a full disk, the end of a cut takes effect only once there is room again.
    guard ledgers[view.name]?.hasRoom != false else { return }
    for set in sets {
      let header = library.sets[set].header
      guard let seen = seenNoEarlier(than: header, view) else { continue }
      throw Violation(
        .unauthorised, view.name,
        "change set \(library.sets[set].id) of \(header.log) has a clock that is not above that of its dependency \(library.sets[seen].id)"
      )
    }
  }

  /// Returns a stored dependency that no cut excludes and whose clock is not lower than the header's; nil if there is
  /// none.
  func seenNoEarlier(than header: PlainHeader, _ view: NodeView) -> Int? {
    header.dependencies.lazy.compactMap { self.library.index(of: $0.id) }.first {
      view[$0] != .absent && library.sets[$0].header.clock >= header.clock && isAllowed($0, view)
    }
  }

  func cuts(of log: PlainLog, _ view: NodeView) -> [Set<Name32>]? {
    view.circle?.cuts(of: log, at: view.device)
  }

  /// Checks that a set may be folded: its predecessor and dependencies are folded, no cut excludes it, and, if it was
  /// just folded, it is due.
  func checkFolds(_ set: Int, _ view: NodeView, isNew: Bool) throws {
    let header = library.sets[set].header
    let what = "change set \(library.sets[set].id) of \(header.log) is folded"
    // On a full disk, changes to cuts take effect only once there is room again.
    let mayBeLate = ledgers[view.name]?.hasRoom == false
    if !mayBeLate, !isAllowed(set, view) {
      throw Violation(.revocation, view.name, "\(what) although a cut excludes it")
    }
    if let previous = library.predecessors[set], view[previous] != .folded {
      throw Violation(.state, view.name, "\(what) before its predecessor")
    }
    for dependency in header.dependencies {
      // If a cut excluded a dependency for a while, that dependency may be folded again after the sets that depend on
      // it.
      if isSatisfied(dependency, of: header, view, mayBeLate) || mayBeLate && !isNew { continue }
      throw Violation(.state, view.name, "\(what) before its dependency \(dependency.id)")
    }
    guard isNew, header.log.device != view.device, let wall = ledgers[view.name]?.wall else { return }
    guard Int64(header.clock >> 16) <= wall + 600_000 else {
      throw Violation(.state, view.name, "\(what) although its clock is more than ten minutes ahead")
    }
  }

  /// Whether a dependency is folded or excluded by a cut. A dependency that is not stored counts as excluded as soon as
  /// any cut of its log is in effect.
  func isSatisfied(
    _ dependency: PlainDependency, of header: PlainHeader, _ view: NodeView, _ mayBeLate: Bool = false
  ) -> Bool {
    let seen = library.index(of: dependency.id).flatMap { view[$0] == .absent ? nil : $0 }
    if let seen, view[seen] == .folded { return true }
    guard let cuts = cuts(of: dependency.log(lane: header.log.lane), view) else { return seen == nil }
    if let seen { return !isAllowed(seen, view) && isFolded(below: seen, view) }
    if isBeyondLine(dependency.log(lane: header.log.lane), dependency.sequence, view) { return true }
    return mayBeLate || cuts.contains { isInEffect($0, view) }
  }

  /// Whether the nearest ancestor in the log that no cut excludes is folded; true if there is no such ancestor.
  private func isFolded(below set: Int, _ view: NodeView) -> Bool {
    var next = library.predecessors[set]
    while let set = next, !isAllowed(set, view) { next = library.predecessors[set] }
    return next.map { view[$0] == .folded } ?? true
  }

  /// Whether a cut is in effect at a node, which is the case once all its tips are stored.
  func isInEffect(_ tips: Set<Name32>, _ view: NodeView) -> Bool {
    tips.allSatisfy { library.index(of: $0).map { view[$0] != .absent } ?? false }
  }

  /// Whether a set is within the quota of its author.
  func isWithinQuota(_ set: Int, _ view: NodeView) -> Bool {
    let header = library.sets[set].header
    guard let most = view.circle?.bytesMax(of: header.log, at: view.device, quotas) else { return true }
    return header.logBytes + UInt64(header.declaredSize) <= most
  }

  /// Whether a set is within the quota of its author and is kept by every cut of its log that is in effect: it is a tip
  /// of the cut or an ancestor of one.
  func isAllowed(_ set: Int, _ view: NodeView) -> Bool {
    guard isWithinQuota(set, view) else { return false }
    let header = library.sets[set].header
    guard let cuts = cuts(of: header.log, view) else { return true }
    if isBeyondLine(header.log, header.sequence, view) { return false }
    return cuts.allSatisfy { !isInEffect($0, view) || leads(set, toOneOf: $0, view) }
  }

  /// Whether a branch proof excludes a set of a log because of its sequence.
  func isBeyondLine(_ log: PlainLog, _ sequence: UInt64, _ view: NodeView) -> Bool {
    view.circle?.line(of: log, at: view.device).map { sequence > $0 } ?? false
  }

  private func leads(_ set: Int, toOneOf tips: Set<Name32>, _ view: NodeView) -> Bool {
    tips.contains { tip in
      library.index(of: tip).map { view[$0] != .absent && library.isOnPath(set, to: $0) } ?? false
    }
  }

  /// Checks logs that are cut. Once all kept tips are stored, sets that are neither a kept tip nor an ancestor of one
  /// must be gone. Sets that no cut excludes must not be held.
  func checkCuts(_ view: NodeView) throws {
    guard ledgers[view.name]?.hasRoom != false else { return }
    var known: [PlainLog: (tips: Set<Name32>, all: Bool)?] = [:]
    for set in view.numbers {
      let log = library.sets[set].header.log
      guard isWithinQuota(set, view) else {
        throw Violation(
          .unauthorised, view.name,
          "set \(library.sets[set].id) of \(log) is stored although it is beyond the quota of its author")
      }
      if known[log] == nil {
        known.updateValue(
          cuts(of: log, view).map { cuts in
            let tips = cuts.reduce(into: Set<Name32>()) { $0.formUnion($1) }
            return (tips, tips.allSatisfy { library.index(of: $0).map { view[$0] != .absent } ?? false })
          }, forKey: log)
      }
      if view[set] == .held, isAllowed(set, view) {
        throw Violation(
          .revocation, view.name,
          "change set \(library.sets[set].id) of \(log) is held although no cut excludes it")
      }
      guard let cut = known[log] ?? nil else {
        if view[set] != .held { continue }
        throw Violation(
          .revocation, view.name, "change set \(library.sets[set].id) is held although \(log) is not cut")
      }
      if isBeyondLine(log, library.sets[set].header.sequence, view) {
        throw Violation(
          .revocation, view.name,
          "change set \(library.sets[set].id) of \(log) is stored beyond the line of a branch proof")
      }
      if cut.all, !cut.tips.isEmpty || cuts(of: log, view)?.contains([]) == true,
        !leads(set, toOneOf: cut.tips, view)
      {
        throw Violation(
          .revocation, view.name,
          "change set \(library.sets[set].id) of \(log) is stored although it leads to no kept tip")
      }
    }
  }

  /// Checks that an honest device writes only one set for each sequence of a log, unless a copy of its data was in use.
  func checkForks(_ stored: [Int]) throws {
    for set in stored {
      let header = library.sets[set].header
      guard let log = library.logIndex(header.log),
        library.sets(at: .init(log: log, sequence: header.sequence)).count > 1
      else { continue }
      let honest = names.filter { view($0).device == header.log.device }
      guard !honest.isEmpty, honest.allSatisfy({ ledgers[$0]?.mayFork == false }) else { continue }
      throw Violation(
        .equivocation, honest.first,
        "it has signed two sets of sequence \(header.sequence) of \(header.log), one of them \(library.sets[set].id)"
      )
    }
  }
}
