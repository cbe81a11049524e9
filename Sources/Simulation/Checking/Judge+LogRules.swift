// Protocol/change-set.md, "Causal closure"; Protocol/circle.md, "What folds"

import SQLite

extension Judge {
  /// Whether a set has its place: columns, circle, author, predecessor, dependencies, clocks.
  func checkStored(_ set: Int, _ row: StoredLogRow, _ view: NodeView) throws {
    let header = library.sets[set].header
    let id = library.sets[set].id
    func refuse(_ what: String) -> Violation {
      Violation(
        .unauthorised, view.name, "change set \(id), sequence \(header.sequence) of \(header.log), \(what)")
    }
    guard view[set] == .absent else { throw refuse("is stored twice") }
    guard row.number == Int64(view.numbers.count) + 1 else {
      throw refuse("has number \(row.number) after \(view.numbers.count) others")
    }
    guard Name32(row.id) == id, row.sequence == Int64(header.sequence),
      row.clock == Int64(bitPattern: header.clock), Name16(row.operation) == header.operation,
      try StoreReader.log(branch: row.branch, view.connection) == header.log
    else { throw refuse("stands in a row that says something else") }
    guard header.circle == view.circle?.id else { throw refuse("is of another circle") }
    guard view.circle?.isKnown(header.log.device) == true else {
      throw refuse("has an author nobody certified")
    }
    if let previous = library.predecessors[set] {
      guard view[previous] != .absent else { throw refuse("is stored before its predecessor") }
      guard library.sets[previous].header.clock < header.clock else {
        throw refuse("has a clock not above its predecessor's")
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
      // What a cut leaves out counts as seen; on a disk that is full a cut also ends only when there is room.
      if isCut || ledgers[view.name]?.hasRoom == false { return }
      throw refuse("is stored before its dependency \(dependency.id)")
    }
    // Which of them a cut leaves out, its tips show, and those may stand further on: checkDated.
    if isCut { return }
    let other = library.sets[seen].header
    guard other.log == log, other.sequence == dependency.sequence else {
      throw refuse("declares \(dependency.id) in a place where it does not stand")
    }
    guard other.clock < header.clock else {
      throw refuse("has a clock not above its dependency's")
    }
  }

  /// A set is dated after all that it has seen of logs that are cut, but for what the cuts leave out.
  func checkDated(_ sets: some Sequence<Int>, _ view: NodeView) throws {
    // On a disk that is full a cut also ends only when there is room.
    guard ledgers[view.name]?.hasRoom != false else { return }
    for set in sets {
      let header = library.sets[set].header
      guard let seen = seenNoEarlier(than: header, view) else { continue }
      throw Violation(
        .unauthorised, view.name,
        "change set \(library.sets[set].id) of \(header.log) has a clock not above that of \(library.sets[seen].id), which it has seen"
      )
    }
  }

  /// A set that is here, that no cut leaves out, and that a header names though it is dated no earlier.
  func seenNoEarlier(than header: PlainHeader, _ view: NodeView) -> Int? {
    header.dependencies.lazy.compactMap { self.library.index(of: $0.id) }.first {
      view[$0] != .absent && library.sets[$0].header.clock >= header.clock && isAllowed($0, view)
    }
  }

  func cuts(of log: PlainLog, _ view: NodeView) -> [Set<Name32>]? {
    view.circle?.cuts(of: log, at: view.device)
  }

  /// Whether a folded set may be folded: all it stands on is, no cut leaves it out, its time has come.
  func checkFolds(_ set: Int, _ view: NodeView, isNew: Bool) throws {
    let header = library.sets[set].header
    let what = "change set \(library.sets[set].id) of \(header.log) is folded"
    // On a disk that is full a cut takes effect as soon as there is room.
    let mayBeLate = ledgers[view.name]?.hasRoom == false
    if !mayBeLate, !isAllowed(set, view) {
      throw Violation(.revocation, view.name, "\(what) though a cut leaves it out")
    }
    if let previous = library.predecessors[set], view[previous] != .folded {
      throw Violation(.state, view.name, "\(what) before its predecessor")
    }
    for dependency in header.dependencies {
      // A set that is stored again is folded later than one that depends on it, if a cut excluded it in between.
      if isSatisfied(dependency, of: header, view, mayBeLate) || mayBeLate && !isNew { continue }
      throw Violation(.state, view.name, "\(what) before its dependency \(dependency.id)")
    }
    guard isNew, header.log.device != view.device, let wall = ledgers[view.name]?.wall else { return }
    guard Int64(header.clock >> 16) <= wall + 600_000 else {
      throw Violation(.state, view.name, "\(what) more than ten minutes before its time")
    }
  }

  /// Whether a dependency is folded, or left out by a cut: what is not here is, once any is in effect.
  func isSatisfied(
    _ dependency: PlainDependency, of header: PlainHeader, _ view: NodeView, _ mayBeLate: Bool = false
  ) -> Bool {
    let seen = library.index(of: dependency.id).flatMap { view[$0] == .absent ? nil : $0 }
    if let seen, view[seen] == .folded { return true }
    guard let cuts = cuts(of: dependency.log(lane: header.log.lane), view) else { return seen == nil }
    if let seen { return !isAllowed(seen, view) && isFolded(below: seen, view) }
    return mayBeLate || cuts.contains { isInEffect($0, view) }
  }

  /// Whether what an excluded set stands on is folded, as far as no cut excludes it.
  private func isFolded(below set: Int, _ view: NodeView) -> Bool {
    var next = library.predecessors[set]
    while let set = next, !isAllowed(set, view) { next = library.predecessors[set] }
    return next.map { view[$0] == .folded } ?? true
  }

  /// A cut is in effect where all its tips are.
  func isInEffect(_ tips: Set<Name32>, _ view: NodeView) -> Bool {
    tips.allSatisfy { library.index(of: $0).map { view[$0] != .absent } ?? false }
  }

  /// Whether a set leads to a tip of every cut of its log that is in effect.
  func isAllowed(_ set: Int, _ view: NodeView) -> Bool {
    guard let cuts = cuts(of: library.sets[set].header.log, view) else { return true }
    return cuts.allSatisfy { !isInEffect($0, view) || leads(set, toOneOf: $0, view) }
  }

  private func leads(_ set: Int, toOneOf tips: Set<Name32>, _ view: NodeView) -> Bool {
    tips.contains { tip in
      library.index(of: tip).map { view[$0] != .absent && library.isOnPath(set, to: $0) } ?? false
    }
  }

  /// Of logs that are cut: what leads to no tip is not kept once all tips are here, and what leads to all is folded.
  func checkCuts(_ view: NodeView) throws {
    guard ledgers[view.name]?.hasRoom != false else { return }
    var known: [PlainLog: (tips: Set<Name32>, all: Bool)?] = [:]
    for set in view.numbers {
      let log = library.sets[set].header.log
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
          "change set \(library.sets[set].id) of \(log) is held though no cut leaves it out")
      }
      guard let cut = known[log] ?? nil else {
        if view[set] != .held { continue }
        throw Violation(
          .revocation, view.name, "change set \(library.sets[set].id) is held though no cut concerns \(log)")
      }
      if cut.all, !leads(set, toOneOf: cut.tips, view) {
        throw Violation(
          .revocation, view.name,
          "change set \(library.sets[set].id) of \(log) is stored though it leads to no kept tip")
      }
    }
  }

  /// An honest device writes each sequence of a log once, unless its data ran in two places.
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
        "it has signed two sets for sequence \(header.sequence) of \(header.log), \(library.sets[set].id) one of them"
      )
    }
  }
}
