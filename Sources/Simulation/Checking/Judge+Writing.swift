// Protocol/change-set.md, "Writing a set"; Protocol/session.md, "Own logs after a start"

extension Judge {
  /// Checks newly written sets: their clocks follow from the wall clock and the sets seen, and only this device writes
  /// their logs.
  ///
  /// - Parameter wall: the node's wall clock at the write; nil if unknown.
  func checkWritten(_ written: Set<Int>, _ view: NodeView, wall: Int64?) throws {
    guard let ledger = ledgers[view.name] else { return }
    for set in written.sorted() {
      let header = library.sets[set].header
      let what = "set \(library.sets[set].id) of \(header.log)"
      if let wall { try checkDate(set, written, view, wall, what) }
      guard ledger.hasRoom else { continue }
      if view.circle?.forkProofs.keys.contains(where: { isOfIncarnation($0, header.log) }) == true {
        throw Violation(
          .equivocation, view.name, "\(what) was written although a proof shows that its log has forked")
      }
      if view.circle?.hasEnded(header.log) == true {
        throw Violation(
          .equivocation, view.name, "\(what) was written although that log has been cut by its own device")
      }
      if ledger.elsewhere.contains(header.log.incarnation) {
        throw Violation(
          .equivocation, view.name, "\(what) was written although peers have sent other sets of that log")
      }
    }
  }

  private func checkDate(
    _ set: Int, _ written: Set<Int>, _ view: NodeView, _ wall: Int64, _ what: String
  ) throws {
    let time = Int64(library.sets[set].header.clock >> 16)
    guard time >= wall else {
      throw Violation(.state, view.name, "\(what) has a clock \(wall - time) ms before the wall clock")
    }
    // A full counter carries into the milliseconds.
    let latest = latestDate(set, written, view, wall) + 1
    guard time <= latest else {
      throw Violation(
        .state, view.name, "\(what) has a clock \(time - latest) ms after everything that its author saw")
    }
  }

  private func isOfIncarnation(_ log: PlainLog, _ other: PlainLog) -> Bool {
    (log.device, log.incarnation) == (other.device, other.incarnation)
  }

  /// The latest time that a set may have: that of the wall clock, or of the newest set seen.
  private func latestDate(_ set: Int, _ written: Set<Int>, _ view: NodeView, _ wall: Int64) -> Int64 {
    let log = library.sets[set].header.log
    // No clock is before 1970.
    var latest = max(wall, 0)
    for other in view.numbers where !written.contains(other) {
      let header = library.sets[other].header
      guard header.log.lane == log.lane, header.log == log || view[other] == .folded else { continue }
      latest = max(latest, Int64(header.clock >> 16))
    }
    // The clock of a profile is not below the profile's modification time.
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

  /// Records incarnations for which peers have sent sets that this node did not write: another copy writes those logs.
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

  /// Records received sets of the node's own device, and up to where its own sets may have been sent: withheld sets may
  /// have to yield to them.
  func noteOwnSets(_ headers: [[UInt8]], _ view: NodeView, _ ledger: NodeLedger) {
    let own = headers.filter { (try? PlainHeader($0))?.log.device == view.device }
    guard !own.isEmpty else { return }
    ledger.brought.formUnion(own.map { PlainSealing.setID($0) })
    if ledger.mayHaveSent.isEmpty {
      ledger.mayHaveSent = (try? StoreReader.mayHaveSent(view.device, view.connection)) ?? [:]
    }
  }

  /// Checks that withheld sets were re-authored in another log when sets of another copy arrived for their positions.
  func checkGivesWay(_ stored: [Int], _ view: NodeView) throws {
    guard let ledger = ledgers[view.name], ledger.hasRoom, let told = ledger.toldAt, let steady,
      // Later, the lane may have been released in the same step.
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
        // With another predecessor the log forked earlier, and the set was sent.
        other != set && library.predecessors[other] == library.predecessors[set] && view[other] != .absent
          && !isOnPath(other, toOneOf: ledger.brought)
      }
      guard let kept, try !StoreReader.isSpent(view.connection) else { continue }
      throw Violation(
        .equivocation, view.name,
        "it keeps its withheld set \(library.sets[kept].id) in addition to \(library.sets[set].id) of another copy"
      )
    }
  }

  /// The maximum time for which announced sets keep a lane withheld: Protocol/limits.md.
  private static var ownSetsMilliseconds: Int64 { 60_000 }

  /// Whether a set is an ancestor of one of these, or is one.
  private func isOnPath(_ set: Int, toOneOf tips: Set<Name32>) -> Bool {
    tips.contains { library.index(of: $0).map { library.isOnPath(set, to: $0) } ?? false }
  }

  /// Records heads announced by a peer. Another copy of the node's data may have written them.
  ///
  /// - Parameter isComplete: whether they replace all heads of the lane announced before on the same connection;
  ///   otherwise they replace only those of the same logs.
  func noteTold(
    _ ids: [Name32], _ lane: Int, isComplete: Bool, _ link: UInt64, _ view: NodeView, _ ledger: NodeLedger
  ) {
    if let promised = ledger.promised[link] {
      // A head of an unknown set may belong to any log.
      let logs = ids.map { library.index(of: $0).map { library.sets[$0].header.log } }
      ledger.promised[link] = promised.filter {
        let set = library.sets[$0]
        if set.header.log.lane != lane || ids.contains(set.id) { return true }
        return !isComplete && !logs.contains { $0 == nil || $0 == set.header.log }
      }
    }
    // The lane is still withheld for certain if this is the first peer, and its first message about the lane.
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

  /// Checks that sets written since the start are sent or announced only after a peer has told what it holds, and not
  /// while announced sets of the same log are still to come.
  func checkAsked(_ ids: [Name32], to: String, _ view: NodeView, _ ledger: NodeLedger) throws {
    guard let steady else { return }
    for id in ids where ledger.fresh.contains(id) {
      guard let told = ledger.toldAt, steady - told >= 20 else {
        throw Violation(
          .equivocation, view.name,
          "it released its new set \(id) to \(to) before any peer had told what it holds")
      }
      // A peer that announces a set and sends nothing is given up after some seconds.
      guard ledger.hasRoom, steady - told < Self.promiseMilliseconds, !ledger.sent.contains(id),
        let promise = promise(of: id, view, ledger)
      else { continue }
      throw Violation(
        .equivocation, view.name,
        "it released its new set \(id) to \(to) although set \(library.sets[promise].id) of another copy was announced"
      )
    }
  }

  private static var promiseMilliseconds: Int64 { 15_000 }

  /// An announced set of the same log that is not stored here, and that no cut excludes; nil if there is none.
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

  /// Checks that a device that is not a member is sent nothing but reasons.
  func checkOutsiders(_ view: NodeView, _ ledger: NodeLedger) throws {
    guard ledger.hasRoom, let circle = view.circle else { return }
    for (name, statements) in ledger.outsiders.sorted(by: { $0.key < $1.key }) {
      guard let device = device(name), !circle.members.contains(device) else { continue }
      // Statements received in one step may admit a device and then revoke it.
      guard statements == view.certificates else { continue }
      throw Violation(.revocation, view.name, "it still sends messages to \(name), which is not a member")
    }
  }

  /// Records that a message for members only went to a device that is not a member.
  func noteOutsider(_ to: String, _ view: NodeView, _ ledger: NodeLedger) {
    guard let circle = view.circle, let device = device(to), !circle.members.contains(device) else { return }
    ledger.outsiders[to] = view.certificates
  }
}
