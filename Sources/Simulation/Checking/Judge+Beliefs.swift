// Protocol/circle.md, "Who is a member", "What folds", "The gate"

/// What a node that runs takes for true of its circle.
package struct Beliefs {
  /// How many statements that rests on.
  package let statements: Int
  package let members: [[UInt8]]
  package let isGateOpen: Bool
  /// The tips that each cut of a log keeps; nil where nothing is cut.
  package let cuts: (_ device: [UInt8], _ incarnation: [UInt8], _ lane: Int) -> [[[UInt8]]]?

  package init(
    statements: Int, members: [[UInt8]], isGateOpen: Bool,
    cuts: @escaping (_ device: [UInt8], _ incarnation: [UInt8], _ lane: Int) -> [[[UInt8]]]?
  ) {
    (self.statements, self.members, self.isGateOpen, self.cuts) = (statements, members, isGateOpen, cuts)
  }
}

extension Judge {
  /// A node's own view of the circle, after a look at its store: it is what the statements say that it holds.
  ///
  /// - Parameter isWhole: compares members and cuts even if no statement has come since the last time.
  package func believed(_ node: String, _ beliefs: Beliefs, isWhole: Bool) throws {
    guard let view = views[node], let circle = view.circle, let ledger = ledgers[node], ledger.hasRoom,
      beliefs.statements == view.statements.count
    else { return }
    // A device that is out of the circle has its lane closed; one that another's revocation took out may not know why.
    let isOut = circle.counted[view.device] != nil
    if isOut || circle.members.contains(view.device), beliefs.isGateOpen != (!isOut && isOwnGateOpen(view)) {
      throw Violation(
        .gate, node,
        "it holds its records lane for \(beliefs.isGateOpen ? "open" : "closed"), and by its statements it is not"
      )
    }
    guard isWhole || ledger.believed != view.statements.count else { return }
    ledger.believed = view.statements.count
    let members = Set(beliefs.members.compactMap { Name32($0) })
    if let device = members.symmetricDifference(circle.members).min() {
      throw Violation(
        .revocation, node,
        "it counts \(device) \(members.contains(device) ? "among" : "not among") the members, against its statements"
      )
    }
    for log in library.logs {
      let believed = beliefs.cuts(log.device.bytes, log.incarnation.bytes, log.lane)
        .map { $0.map { Set($0.compactMap { Name32($0) }) } }
      let wanted = cuts(of: log, view)
      if Self.kept(believed) == Self.kept(wanted) { continue }
      throw Violation(.revocation, node, "it cuts \(log) at other tips than its statements do")
    }
  }

  /// What a node believes a peer to hold, by the newest sets of each log: the peer has held it, now or before.
  package func credited(_ node: String, _ peer: [UInt8], with sets: [[UInt8]]) throws {
    guard let peer = Name32(peer), !strangers.values.contains(peer) else { return }
    let copies = views.values.filter { $0.device == peer }
    // What a device did in the step in which it ended, it shows when it runs again.
    guard !copies.isEmpty, !copies.contains(where: { ledgers[$0.name]?.isDown == true }) else { return }
    let held = everHeld[peer] ?? []
    for id in sets.compactMap({ Name32($0) }) where !held.contains(library.index(of: id) ?? -1) {
      throw Violation(.falseSync, node, "it takes set \(id) for held by \(peer), which never held it")
    }
  }

  /// Who promises sets and sends none is waited for twenty seconds: session.md, "Heads and needs".
  ///
  /// - Parameter milliseconds: how long the node has waited for the peer that has kept it waiting the longest; nil if it
  ///   waits for nobody.
  package func awaited(_ node: String, for milliseconds: Int64?) throws {
    guard let ledger = ledgers[node], let steady else { return }
    // A process that was stopped has heard no timer; then it hears all of them.
    if steady - ledger.awaitedAt > Self.restMilliseconds { ledger.restedAt = steady }
    ledger.awaitedAt = steady
    guard let milliseconds, milliseconds > 20_000 + 2 * Self.restMilliseconds,
      steady - ledger.restedAt > Self.restMilliseconds
    else { return }
    throw Violation(.state, node, "it has waited for a peer's promise for \(milliseconds / 1_000) seconds")
  }

  /// A process that does nothing for so long may have been stopped.
  private static var restMilliseconds: Int64 { 10_000 }

  /// One cut that keeps nothing is as good as several.
  private static func kept(_ cuts: [Set<Name32>]?) -> Set<Set<Name32>>? {
    cuts.map { $0.contains([]) ? [[]] : Set($0) }
  }

  /// Of the nodes that are well and members, all whose gate is open take part in the records lane.
  func checkPremium(_ nodes: [String], _ premium: [String], excused: [String]) throws {
    for node in nodes where !premium.contains(node) && !excused.contains(node) {
      guard isOwnGateOpen(view(node)) else { continue }
      throw Violation(.gate, node, "its records lane stays closed, and by its statements it is open")
    }
  }
}
