// Protocol/change-set.md, "Writing a set"; Protocol/session.md, "Own log after a start"

extension Judge {
  /// What a node has just written is dated by its clock and by what it has seen, in a log that is its own alone.
  ///
  /// - Parameter wall: what its clock showed; nil if the world does not tell.
  func checkWritten(_ written: Set<Int>, _ view: NodeView, wall: Int64?) throws {
    guard let ledger = ledgers[view.name] else { return }
    for set in written.sorted() {
      let header = library.sets[set].header
      let what = "set \(library.sets[set].id) of \(header.log)"
      if let wall { try checkDate(set, written, view, wall, what) }
      guard ledger.hasRoom else { continue }
      if view.circle?.forkProofs.keys.contains(where: { isOfIncarnation($0, header.log) }) == true {
        throw Violation(
          .equivocation, view.name, "\(what) was written though there is proof that its log has forked")
      }
      if view.circle?.hasEnded(header.log) == true {
        throw Violation(
          .equivocation, view.name, "\(what) was written though another copy of its data has ended that log")
      }
      if ledger.elsewhere.contains(header.log.incarnation) {
        throw Violation(
          .equivocation, view.name, "\(what) was written though sets of that log have come from elsewhere")
      }
    }
  }

  private func checkDate(
    _ set: Int, _ written: Set<Int>, _ view: NodeView, _ wall: Int64, _ what: String
  ) throws {
    let time = Int64(library.sets[set].header.clock >> 16)
    guard time >= wall else {
      throw Violation(.state, view.name, "\(what) is dated \(wall - time) ms before it was written")
    }
    // A counter that is full carries into the milliseconds.
    let latest = latestDate(set, written, view, wall) + 1
    guard time <= latest else {
      throw Violation(.state, view.name, "\(what) is dated \(time - latest) ms after all that its author saw")
    }
  }

  private func isOfIncarnation(_ log: PlainLog, _ other: PlainLog) -> Bool {
    (log.device, log.incarnation) == (other.device, other.incarnation)
  }

  /// The newest time that an author may give a set: its wall clock's, or that of what it has seen.
  private func latestDate(_ set: Int, _ written: Set<Int>, _ view: NodeView, _ wall: Int64) -> Int64 {
    let log = library.sets[set].header.log
    // No set is dated before 1970.
    var latest = max(wall, 0)
    for other in view.numbers where !written.contains(other) {
      let header = library.sets[other].header
      guard header.log.lane == log.lane, header.log == log || view[other] == .folded else { continue }
      latest = max(latest, Int64(header.clock >> 16))
    }
    // A profile is dated no earlier than it says of itself.
    for written in written {
      for entry in library.sets[written].entries where entry.key == PlainKinds.profile {
        guard let cell = entry.cells.first(where: { $0.field == 1 }),
          let item = try? PlainItem.read(Array(library.sets[written].content(cell.content))),
          let time = item.integer
        else { continue }
        latest = max(latest, time)
      }
    }
    return latest
  }

  /// Own sets that somebody else has brought: another copy of the node's data writes that log.
  func noteOwnFromElsewhere(_ stored: [Int], _ view: NodeView) {
    guard let ledger = ledgers[view.name], !ledger.arrived.isEmpty else { return }
    for set in stored {
      let header = library.sets[set].header
      let id = library.sets[set].id
      guard header.log.device == view.device, ledger.arrived.contains(id), !ledger.acknowledged.contains(id)
      else { continue }
      ledger.elsewhere.insert(header.log.incarnation)
    }
  }

  /// Sets of a node's own device come to it: what it keeps of the log that nobody was sent may have to give way.
  func noteOwnSets(_ headers: [[UInt8]], _ view: NodeView, _ ledger: NodeLedger) {
    let own = headers.filter { (try? PlainHeader($0))?.log.device == view.device }
    guard !own.isEmpty else { return }
    ledger.brought.formUnion(own.map { PlainSealing.setID($0) })
    if ledger.mayHaveSent.isEmpty {
      ledger.mayHaveSent = (try? StoreReader.mayHaveSent(view.device, view.connection)) ?? [:]
    }
  }

  /// Where another copy of a node's data has written other sets, what nobody was sent is not kept beside them.
  func checkGivesWay(_ stored: [Int], _ view: NodeView) throws {
    guard let ledger = ledgers[view.name], ledger.hasRoom, let told = ledger.toldAt, let steady,
      // In the same step the node may have let go of what it had held back for so long.
      steady - told < Self.ownSetsMilliseconds
    else { return }
    for set in stored {
      let header = library.sets[set].header
      guard header.log.device == view.device, ledger.brought.contains(library.sets[set].id),
        let sent = ledger.mayHaveSent[header.log], header.sequence > sent,
        isOnPath(set, toOneOf: ledger.told),
        let log = library.logIndex(header.log)
      else { continue }
      let kept = library.sets(at: .init(log: log, sequence: header.sequence)).first { other in
        // Where the log forked further back, what stands there was sent.
        other != set && library.predecessors[other] == library.predecessors[set] && view[other] != .absent
          && !isOnPath(other, toOneOf: ledger.brought)
      }
      guard let kept, try !StoreReader.isSpent(view.connection) else { continue }
      throw Violation(
        .equivocation, view.name,
        "it keeps its set \(library.sets[kept].id), which nobody was sent, beside \(library.sets[set].id) of another copy"
      )
    }
  }

  /// For how long sets that somebody has promised are waited for: Protocol/limits.md.
  private static var ownSetsMilliseconds: Int64 { 60_000 }

  /// Whether others that hold one of these hold a set too.
  private func isOnPath(_ set: Int, toOneOf tips: Set<Name32>) -> Bool {
    tips.contains { library.index(of: $0).map { library.isOnPath(set, to: $0) } ?? false }
  }

  /// A peer tells of tips. Another copy of the node's data may have written them.
  ///
  /// - Parameter isComplete: what was told of the lane before, on the same connection, no longer counts; else only what
  ///   was told of the logs that are named now.
  func noteTold(
    _ ids: [Name32], _ lane: Int, isComplete: Bool, _ link: UInt64, _ view: NodeView, _ ledger: NodeLedger
  ) {
    if let promised = ledger.promised[link] {
      // A tip that nobody has may be of any log.
      let logs = ids.map { library.index(of: $0).map { library.sets[$0].header.log } }
      ledger.promised[link] = promised.filter {
        let set = library.sets[$0]
        if set.header.log.lane != lane || ids.contains(set.id) { return true }
        return !isComplete && !logs.contains { $0 == nil || $0 == set.header.log }
      }
    }
    // While nobody else has told anything, and this one nothing of the lane, that has not been let go.
    let isKept = ledger.toldLanes.insert(lane).inserted && ledger.tellers == [link]
    guard ledger.mayFork else { return }
    ledger.told.formUnion(ids)
    guard isKept else { return }
    let kept = ledger.fresh.compactMap { library.index(of: $0) }
    let logs = Set(kept.map { library.sets[$0].header.log })
    guard !logs.isEmpty else { return }
    let lacking = ids.compactMap { library.index(of: $0) }.filter { tip in
      let header = library.sets[tip].header
      return logs.contains(header.log) && view[tip] == .absent
        && header.sequence > newestSent(header.log, view, ledger)
    }
    ledger.promised[link, default: []].formUnion(lacking)
  }

  private func newestSent(_ log: PlainLog, _ view: NodeView, _ ledger: NodeLedger) -> UInt64 {
    let old = view.numbers.filter {
      library.sets[$0].header.log == log && !ledger.fresh.contains(library.sets[$0].id)
    }
    return old.map { library.sets[$0].header.sequence }.max() ?? 0
  }

  /// What was written since the start goes to nobody before somebody has told what it holds, nor while that comes.
  func checkAsked(_ ids: [Name32], to: String, _ view: NodeView, _ ledger: NodeLedger) throws {
    guard let steady else { return }
    for id in ids where ledger.fresh.contains(id) {
      guard let told = ledger.toldAt, steady - told >= 20 else {
        throw Violation(
          .equivocation, view.name, "it showed \(to) its new set \(id) before anybody had told of its logs")
      }
      // Whoever promises a set and sends nothing is given up some seconds later.
      guard ledger.hasRoom, steady - told < Self.promiseMilliseconds, !ledger.sent.contains(id),
        let promise = promise(of: id, view, ledger)
      else { continue }
      throw Violation(
        .equivocation, view.name,
        "it showed \(to) its new set \(id) though set \(library.sets[promise].id) of another copy was to come"
      )
    }
  }

  private static var promiseMilliseconds: Int64 { 15_000 }

  /// A set of another log that a peer has announced, that is not stored here, and that no cut excludes.
  private func promise(of id: Name32, _ view: NodeView, _ ledger: NodeLedger) -> Int? {
    guard let log = library.index(of: id).map({ library.sets[$0].header.log }) else { return nil }
    for (link, tips) in ledger.promised.sorted(by: { $0.key < $1.key }) {
      let peer = links[LinkKey(link: link, node: view.name)]?.peer
      guard log.lane == 0 || peer.map({ isOpen(view, $0, link) }) == true else { continue }
      let lacking = tips.filter {
        library.sets[$0].header.log == log && view[$0] == .absent && isAllowed($0, view)
          && !ledger.brought.contains(library.sets[$0].id)
      }
      if let tip = lacking.min() { return tip }
    }
    return nil
  }

  /// Nothing but reasons goes to a device that is out of the circle.
  func checkOutsiders(_ view: NodeView, _ ledger: NodeLedger) throws {
    guard ledger.hasRoom, let circle = view.circle else { return }
    for (name, statements) in ledger.outsiders.sorted(by: { $0.key < $1.key }) {
      guard let device = device(name), !circle.members.contains(device) else { continue }
      // Of several statements that come in one step the first may take a device in, and the next one out again.
      guard statements == view.certificates else { continue }
      throw Violation(.revocation, view.name, "it goes on talking with \(name), which is no member")
    }
  }

  /// Whom a message goes to that only members get.
  func noteOutsider(_ to: String, _ view: NodeView, _ ledger: NodeLedger) {
    guard let circle = view.circle, let device = device(to), !circle.members.contains(device) else { return }
    ledger.outsiders[to] = view.certificates
  }
}
