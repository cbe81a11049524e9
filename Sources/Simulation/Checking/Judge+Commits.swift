// Protocol/change-set.md, "Writing a set"; Protocol/session.md, "Own logs after a start"

extension Judge {
  /// Checks newly written sets: their clocks must follow from the wall clock and the sets seen, and no other copy of
  /// the device may be writing the same logs.
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
    // When the clock's counter is full, it carries over into the milliseconds.
    let latest = latestDate(set, written, view, wall) + 1
    guard time <= latest else {
      throw Violation(
        .state, view.name, "\(what) has a clock \(time - latest) ms later than anything its author had seen")
    }
  }

  private func isOfIncarnation(_ log: PlainLog, _ other: PlainLog) -> Bool {
    (log.device, log.incarnation) == (other.device, other.incarnation)
  }

  /// Returns the latest time that a set's clock may have: the time of the wall clock or of the newest set seen,
  /// whichever is later.
  private func latestDate(_ set: Int, _ written: Set<Int>, _ view: NodeView, _ wall: Int64) -> Int64 {
    let log = library.sets[set].header.log
    // No clock is before 1970.
    var latest = max(wall, 0)
    for other in view.numbers where !written.contains(other) {
      let header = library.sets[other].header
      guard header.log.lane == log.lane, header.log == log || view[other] == .folded else { continue }
      latest = max(latest, Int64(header.clock >> 16))
    }
    // A set that writes a profile has a clock that is not lower than the profile's modification time.
    for written in written {
      for entry in library.sets[written].entries where entry.key == PlainKinds.profile {
        if let stated = entry.stated { latest = max(latest, stated.time) }
      }
    }
    return latest
  }

  /// Records this device's incarnations for which peers have sent sets that this node did not write. Another copy of
  /// the device is writing those logs.
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

  /// Records received sets of the node's own device, and how much of each own log may already have been sent. Withheld
  /// sets may have to yield to the received ones.
  func noteOwnSets(_ headers: [[UInt8]], _ view: NodeView, _ ledger: NodeLedger) {
    let own = headers.filter { (try? PlainHeader($0))?.log.device == view.device }
    guard !own.isEmpty else { return }
    ledger.brought.formUnion(own.map { PlainSealing.setID($0) })
    if ledger.mayHaveSent.isEmpty {
      ledger.mayHaveSent = (try? StoreReader.mayHaveSent(view.device, view.connection)) ?? [:]
    }
  }

  /// Checks that withheld sets were re-authored in another log when another copy's sets arrived for the same positions
  /// in their log.
  func checkGivesWay(_ stored: [Int], _ view: NodeView) throws {
    guard let ledger = ledgers[view.name], ledger.hasRoom, let told = ledger.toldAt, let steady,
      // After that time, the lane may have been released in the same step.
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
        // If the predecessors differ, the log forked earlier, so the set had been sent and was not withheld.
        other != set && library.predecessors[other] == library.predecessors[set] && view[other] != .absent
          && !isOnPath(other, toOneOf: ledger.brought)
      }
      guard let kept, try !StoreReader.isSpent(view.connection) else { continue }
      throw Violation(
        .equivocation, view.name,
        "it keeps its withheld set \(library.sets[kept].id) in addition to another copy's \(library.sets[set].id)"
      )
    }
  }

  /// The maximum time for which a lane stays withheld because of announced sets. See Protocol/limits.md.
  private static var ownSetsMilliseconds: Int64 { 60_000 }

  /// Whether a set is one of these tips or an ancestor of one in its log.
  private func isOnPath(_ set: Int, toOneOf tips: Set<Name32>) -> Bool {
    tips.contains { library.index(of: $0).map { library.isOnPath(set, to: $0) } ?? false }
  }

  /// Records heads announced by a peer. Another copy of the node's data may have written the sets that they name.
  ///
  /// - Parameter isComplete: whether these heads replace all heads of the lane announced before on the same connection;
  ///   if false, they replace only the heads of the same logs.
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
    // The lane is certainly still withheld only if no other peer has reported what it holds, and this is the first
    // message with heads of the lane.
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

  /// Checks that sets written since the start are sent or announced only after a peer has reported what it holds, and
  /// not while announced sets of the same log are still missing.
  func checkAsked(_ ids: [Name32], to: String, _ view: NodeView, _ ledger: NodeLedger) throws {
    guard let steady else { return }
    for id in ids where ledger.fresh.contains(id) {
      guard let told = ledger.toldAt, steady - told >= 20 else {
        throw Violation(
          .equivocation, view.name,
          "it released its new set \(id) to \(to) before any peer had reported what it holds")
      }
      // A node gives up on a peer that announces a set but sends nothing for some seconds.
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

  /// Returns an announced set of the same log that has not arrived and that no cut excludes; nil if there is none.
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

  /// Checks that a device that is not a member is sent only messages that anyone may receive, such as those that tell
  /// it that it was revoked.
  func checkOutsiders(_ view: NodeView, _ ledger: NodeLedger) throws {
    guard ledger.hasRoom, let circle = view.circle else { return }
    for (name, statements) in ledger.outsiders.sorted(by: { $0.key < $1.key }) {
      guard let device = device(name), !circle.members.contains(device) else { continue }
      // Statements received in one step may admit a device and then revoke it.
      guard statements == view.certificates else { continue }
      throw Violation(.revocation, view.name, "it still sends messages to \(name), which is not a member")
    }
  }

  /// Records that a message meant only for members was sent to a device that is not a member.
  func noteOutsider(_ to: String, _ view: NodeView, _ ledger: NodeLedger) {
    guard let circle = view.circle, let device = device(to), !circle.members.contains(device) else { return }
    ledger.outsiders[to] = view.certificates
  }
}
