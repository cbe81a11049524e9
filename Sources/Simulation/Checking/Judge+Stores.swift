// Sources/store.md, "Log"

import SQLite

/// The sets that were stored or folded in a store since the last look.
struct StoreNews {
  var folded: [Int] = []
  var stored: [Int] = []
}

extension Judge {
  /// Reads and checks everything that was added to a store since the last look.
  func readNews(_ node: String) throws {
    let view = view(node)
    guard try view.hasChanged() else { return }
    try view.connection.snapshot { try readNews(view) }
  }

  private func readNews(_ view: NodeView) throws {
    let node = view.name
    let cutsBefore = view.circle
    if try readStatements(view) {
      let hasNewCuts = library.logs.contains { log in
        cutsBefore?.cuts(of: log, at: view.device) != view.circle?.cuts(of: log, at: view.device)
          || cutsBefore?.line(of: log, at: view.device) != view.circle?.line(of: log, at: view.device)
      }
      if hasNewCuts { return try readWhole(node, isStart: false) }
    }
    // Cuts that were learned on a full disk take effect later than their statements appear in the store, so the log may
    // have been rebuilt in this step.
    let isRebuilt = ledgers[node]?.passed.isEmpty == false
    guard try !isRebuilt && isContinued(view) else { return try readWhole(node, isStart: false) }
    // Some of the new sets may depend on sets that a cut excludes.
    view.hasGaps = try StoreReader.hasToleratedGap(view.connection)
    let filled = try readFilled(view)
    var news = StoreNews()
    for row in try StoreReader.logRows(after: Int64(view.numbers.count), view.connection) {
      try take(row, view, &news)
    }
    let waiting = try StoreReader.waiting(view.connection)
    for number in view.waiting.subtracting(waiting).sorted() {
      guard let set = view.set(number: number) else { continue }
      view[set] = try StoreReader.folded(at: number, view.connection) == 1 ? .folded : .held
      if view[set] == .folded { news.folded.append(set) } else { view.held.insert(number) }
    }
    try takeReleased(view, &news)
    if view.waiting != waiting { view.heads = nil }
    view.waiting = waiting
    view.unjudged = Set(news.folded + news.stored)
    for set in news.folded { try checkFolds(set, view, isNew: true) }
    let applied = try readHeldErases(view)
    try checkErased(by: news, applied: applied, view)
    noteClocks(news.folded, view)
    try checkForks(news.stored)
    try checkGivesWay(news.stored, view)
    noteOwnFromElsewhere(news.stored, view)
    try checkAdmitted(news.stored, view)
    try checkRecords(
      touchedBy: news.folded + filled.filter { view[$0] == .folded } + applied.sorted(), view)
    for set in news.stored { try checkWaits(set, view) }
    try checkDated(news.stored, view)
    try checkReleased(by: news.stored, view)
    try checkEnded(by: news.stored, view)
    try checkQuarantine(view)
    view.unjudged = []
  }

  /// Updates held sets. A held set must be released when a kept tip arrives of which it is an ancestor.
  private func takeReleased(_ view: NodeView, _ news: inout StoreNews) throws {
    for number in view.held.sorted() {
      let state = try StoreReader.folded(at: number, view.connection)
      guard let set = view.set(number: number) else { continue }
      if state == 2 {
        if news.stored.isEmpty || !isAllowed(set, view) || ledgers[view.name]?.hasRoom == false { continue }
        throw Violation(
          .revocation, view.name,
          "change set \(library.sets[set].id) is held although the kept tip of its log is stored")
      }
      view.held.remove(number)
      view[set] = state == 1 ? .folded : .waits
      if state == 1 { news.folded.append(set) }
      view.heads = nil
    }
  }

  /// Checks that a set that was just stored is not parked without need. Allows a tolerance of one minute, because the
  /// node's clock moves.
  private func checkWaits(_ set: Int, _ view: NodeView) throws {
    let header = library.sets[set].header
    guard view[set] == .waits, let wall = ledgers[view.name]?.wall,
      Int64(header.clock >> 16) <= wall + 540_000, cuts(of: header.log, view) == nil
    else { return }
    if let previous = library.predecessors[set], view[previous] != .folded { return }
    for dependency in header.dependencies {
      guard let seen = library.index(of: dependency.id), view[seen] == .folded else { return }
    }
    throw Violation(
      .state, view.name,
      "change set \(library.sets[set].id) is parked although its clock is less than ten minutes ahead")
  }

  /// Checks that parked sets are folded at once when the kept tip that they lead to arrives.
  private func checkReleased(by stored: [Int], _ view: NodeView) throws {
    let logs = Set(stored.map { library.sets[$0].header.log }.filter { cuts(of: $0, view) != nil })
    guard !logs.isEmpty, let ledger = ledgers[view.name], ledger.hasRoom else { return }
    for number in view.waiting.sorted() {
      guard let set = view.set(number: number), logs.contains(library.sets[set].header.log),
        isReady(set, view, by: ledger.wall + 540_000)
      else { continue }
      throw Violation(
        .revocation, view.name,
        "change set \(library.sets[set].id) is parked although the kept tip of its log has arrived")
    }
  }

  /// Checks that excluded sets are no longer folded once the last kept tip has arrived, which puts the cut into effect.
  private func checkEnded(by stored: [Int], _ view: NodeView) throws {
    let logs = Set(stored.map { library.sets[$0].header.log }.filter { cuts(of: $0, view) != nil })
    guard !logs.isEmpty, ledgers[view.name]?.hasRoom == true else { return }
    for set in view.numbers where view[set] == .folded && logs.contains(library.sets[set].header.log) {
      if isAllowed(set, view) { continue }
      throw Violation(
        .revocation, view.name,
        "change set \(library.sets[set].id) is folded although a cut in effect excludes it")
    }
  }

  /// Checks that no parked set stays parked for long once it could be folded, because a timer should fold it within a
  /// minute.
  func checkRateLimits(_ node: String) throws {
    guard let view = views[node], let ledger = ledgers[node], let steady else { return }
    // The timers of a suspended process don't fire.
    let hasRested = steady - ledger.lookedAt > 25_000
    ledger.lookedAt = steady
    guard ledger.hasRoom, !hasRested, !view.waiting.isEmpty else { return ledger.dueSince = [:] }
    var due: [Int: Int64] = [:]
    for number in view.waiting {
      guard let set = view.set(number: number), isReady(set, view, by: ledger.wall + 600_000) else {
        continue
      }
      due[set] = ledger.dueSince[set] ?? steady
    }
    ledger.dueSince = due
    guard let late = due.filter({ steady - $0.value > 90_000 }).keys.min() else { return }
    throw Violation(
      .state, node,
      "change set \(library.sets[late].id) has been parked for a minute and a half although it could be folded"
    )
  }

  /// Whether a parked set could be folded: it is due, no cut excludes it, and everything that it depends on is folded.
  private func isReady(_ set: Int, _ view: NodeView, by time: Int64) -> Bool {
    let header = library.sets[set].header
    guard Int64(header.clock >> 16) <= time, isAllowed(set, view) else { return false }
    if let previous = library.predecessors[set], view[previous] != .folded { return false }
    return header.dependencies.allSatisfy { isSatisfied($0, of: header, view) }
  }

  /// Whether the newest set at the last look still has the same number, so that the log was continued and not rebuilt.
  private func isContinued(_ view: NodeView) throws -> Bool {
    guard let last = view.numbers.last else { return true }
    return try StoreReader.id(at: Int64(view.numbers.count), view.connection) == library.sets[last].id
  }

  /// Reads the whole store and checks everything that is derived from the log.
  func readWhole(_ node: String, isStart: Bool) throws {
    let view = view(node)
    try view.connection.snapshot { try readWhole(view, isStart: isStart) }
  }

  private func readWhole(_ view: NodeView, isStart: Bool) throws {
    count { $0.wholeLooks += 1 }
    let before = view.storedSets
    let foldedBefore = Set(before.filter { view[$0] == .folded }).subtracting(view.unjudged)
    let missingBefore = view.missing
    let hadNothing = view.numbers.isEmpty && view.statements.isEmpty
    if view.mayHaveLost { view.statements = [:] }
    _ = try readStatements(view)
    try checkReplaced(view)
    for id in view.statements.keys.sorted() { _ = try statement(id, view) }
    view.clear()
    view.hasGaps = try StoreReader.hasToleratedGap(view.connection)
    var news = StoreNews()
    for row in try StoreReader.logRows(after: 0, view.connection) { try take(row, view, &news) }
    view.waiting = try StoreReader.waiting(view.connection)
    // At a start, it is unknown when a set was folded, and therefore whether the set was due then.
    for set in news.folded {
      try checkFolds(set, view, isNew: !isStart && !foldedBefore.contains(set))
    }
    noteClocks(news.folded, view)
    let fresh = news.stored.filter { !before.contains($0) || view.unjudged.contains($0) }
    view.unjudged = []
    try checkForks(fresh)
    if !isStart { try checkGivesWay(fresh, view) }
    if !isStart { noteOwnFromElsewhere(fresh, view) }
    if !isStart { try checkAdmitted(fresh, view) }
    try checkCuts(view)
    _ = try readHeldErases(view)
    try checkErased(view)
    try checkValuesKept(before, missing: missingBefore, view)
    try checkDated(view.numbers, view)
    try checkQuarantine(view)
    try checkWholeStore(view)
    if !hadNothing { try checkDroppedSets(before, folded: foldedBefore, view) }
    view.mayHaveLost = false
  }

  private func take(_ row: StoredLogRow, _ view: NodeView, _ news: inout StoreNews) throws {
    let added: (set: Int, missing: Set<Int>)
    do {
      let known = library.sets.count
      added = try library.add(row.raw)
      if library.sets.count > known { count { $0.sets += 1 } }
    } catch {
      throw Violation(
        .unauthorised, view.name,
        "change set \(plainHex(row.id)), number \(row.number), is not valid: \(error)")
    }
    let (set, missing) = added
    try checkStored(set, row, view)
    let state: NodeView.SetState = row.folded == 1 ? .folded : row.folded == 2 ? .held : .waits
    view.append(set, state, lacking: missing)
    everHeld[view.device, default: []].insert(set)
    if state == .waits { view.waiting.insert(row.number) }
    if state == .held { view.held.insert(row.number) }
    news.stored.append(set)
    if state == .folded { news.folded.append(set) }
  }

  private func noteClocks(_ folded: [Int], _ view: NodeView) {
    for set in folded where library.sets[set].header.log.device != view.device {
      view.newestForeignClock = max(view.newestForeignClock, library.sets[set].header.clock)
    }
  }

  // MARK: Statements

  /// Reads new statements and drops those that are gone; returns true if anything changed.
  private func readStatements(_ view: NodeView) throws -> Bool {
    let ids = try StoreReader.statementIDs(view.connection)
    guard ids.count != view.statements.count || ids.contains(where: { view.statements[$0] == nil }) else {
      return false
    }
    let present = Set(ids)
    let gone = view.statements.filter { !present.contains($0.key) }
    for id in gone.keys { view.statements[id] = nil }
    for id in ids where view.statements[id] == nil {
      view.statements[id] = try statement(id, view)
    }
    let replaced = PlainStatement.replaced(Array(view.statements.values) + Array(gone.values))
    for (id, statement) in gone {
      // Only an address statement, a branch proof or a purchase may disappear, when another one replaces it.
      guard statement.kind == 8 || replaced.contains(id) else {
        throw Violation(.wentBack, view.name, "statement \(id) of kind \(statement.kind) is gone")
      }
    }
    try checkReplaced(view)
    do {
      view.circle = try PlainCircle(ids.compactMap { view.statements[$0] })
    } catch {
      throw Violation(.unauthorised, view.name, "its statements do not form a circle: \(error)")
    }
    view.heads = nil
    return true
  }

  private func checkReplaced(_ view: NodeView) throws {
    guard let id = PlainStatement.replaced(view.statements.values).min() else { return }
    throw Violation(.unauthorised, view.name, "it keeps statement \(id), which another one replaces")
  }

  func statement(_ id: Name32, _ view: NodeView) throws -> PlainStatement {
    let bytes = try StoreReader.statement(id, view.connection) ?? []
    if let known = statements[id], known.bytes == bytes { return known.statement }
    do {
      let statement = try PlainStatement(bytes)
      guard statement.id == id else { throw PlainRefusal("statement", "an id that differs from its row's") }
      statements[id] = (bytes, statement)
      return statement
    } catch {
      throw Violation(.unauthorised, view.name, "statement \(id) is not valid: \(error)")
    }
  }
}
