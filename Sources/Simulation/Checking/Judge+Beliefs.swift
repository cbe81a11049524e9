// Protocol/circle.md, "Who is a member", "What folds", "The gate"

/// What a running node believes about its circle.
package struct Beliefs {
  /// The number of statements on which these beliefs are based.
  package let statements: Int
  /// Returns the devices that it treats as members. Computed only when the judge compares them.
  package let members: () -> [[UInt8]]
  package let isGateOpen: Bool
  /// Returns the tips that each cut of a log keeps; nil if the log is not cut.
  package let cuts: (_ device: [UInt8], _ incarnation: [UInt8], _ lane: Int) -> [[[UInt8]]]?

  package init(
    statements: Int, members: @escaping () -> [[UInt8]], isGateOpen: Bool,
    cuts: @escaping (_ device: [UInt8], _ incarnation: [UInt8], _ lane: Int) -> [[[UInt8]]]?
  ) {
    (self.statements, self.members, self.isGateOpen, self.cuts) = (statements, members, isGateOpen, cuts)
  }
}

extension Judge {
  /// Compares a node's own view of its circle with the view that follows from the statements in its store.
  ///
  /// - Parameter isWhole: whether to compare members and cuts even if no statement has been added since the last call.
  package func believed(_ node: String, _ beliefs: Beliefs, isWhole: Bool) throws {
    guard let view = views[node], let circle = view.circle, let ledger = ledgers[node], ledger.hasRoom,
      beliefs.statements == view.statements.count
    else { return }
    // A revoked device must have its lane closed. If a device is neither revoked nor a member, for example because its
    // certificate is void, the lane may be open or closed.
    let isRevoked = circle.counted[view.device] != nil
    if isRevoked || circle.members.contains(view.device),
      beliefs.isGateOpen != (!isRevoked && isOwnGateOpen(view))
    {
      throw Violation(
        .gate, node,
        "it treats its records lane as \(beliefs.isGateOpen ? "open" : "closed"), contrary to its statements"
      )
    }
    guard isWhole || ledger.believed != view.statements.count else { return }
    ledger.believed = view.statements.count
    let members = Set(beliefs.members().compactMap { Name32($0) })
    if let device = members.symmetricDifference(circle.members).min() {
      throw Violation(
        .revocation, node,
        "it treats \(device) as \(members.contains(device) ? "a member" : "no member"), contrary to its statements"
      )
    }
    for log in library.logs {
      let believed = beliefs.cuts(log.device.bytes, log.incarnation.bytes, log.lane)
        .map { $0.map { Set($0.compactMap { Name32($0) }) } }
      let wanted = cuts(of: log, view)
      if Self.kept(believed) == Self.kept(wanted) { continue }
      throw Violation(.revocation, node, "it cuts \(log) at tips that differ from those of its statements")
    }
  }

  /// Checks that a peer holds, or has held, all sets that a node believes it to hold.
  package func credited(_ node: String, _ peer: [UInt8], with sets: [[UInt8]]) throws {
    guard let peer = Name32(peer), !strangers.values.contains(peer) else { return }
    let copies = views.values.filter { $0.device == peer }
    // If a device ended in the middle of a step, the sets that it stored in that step are read only when it starts
    // again.
    guard !copies.isEmpty, !copies.contains(where: { ledgers[$0.name]?.isDown == true }) else { return }
    let held = everHeld[peer] ?? []
    for id in sets.compactMap({ Name32($0) }) where !held.contains(library.index(of: id) ?? -1) {
      throw Violation(.falseSync, node, "it believes that \(peer) holds set \(id), which \(peer) never held")
    }
  }

  /// Checks that a node gives up on a peer that announces sets but delivers none. The limit is twenty seconds: see
  /// session.md, "Heads and needs".
  ///
  /// - Parameter milliseconds: how long the node's slowest peer has made no progress; nil if the node is not waiting
  ///   for any peer.
  package func awaited(_ node: String, for milliseconds: Int64?) throws {
    guard let ledger = ledgers[node], let steady else { return }
    // The timers of a suspended process fire only after it resumes.
    if steady - ledger.awaitedAt > Self.restMilliseconds { ledger.restedAt = steady }
    ledger.awaitedAt = steady
    guard let milliseconds, milliseconds > 20_000 + 2 * Self.restMilliseconds,
      steady - ledger.restedAt > Self.restMilliseconds
    else { return }
    throw Violation(
      .state, node, "it has waited \(milliseconds / 1_000) seconds for sets that a peer announced")
  }

  /// If a process shows no activity for longer than this, it may have been suspended.
  private static var restMilliseconds: Int64 { 10_000 }

  /// Normalizes cuts for comparison: a cut that keeps nothing makes the other cuts irrelevant.
  private static func kept(_ cuts: [Set<Name32>]?) -> Set<Set<Name32>>? {
    cuts.map { $0.contains([]) ? [[]] : Set($0) }
  }

  /// Checks that all converged members whose gates should be open take part in the records lane.
  func checkPremium(_ nodes: [String], _ premium: [String], withholding: [String]) throws {
    for node in nodes where !premium.contains(node) && !withholding.contains(node) {
      guard isOwnGateOpen(view(node)) else { continue }
      throw Violation(.gate, node, "its records lane stays closed although its statements open the lane")
    }
  }
}
