import Replication
import Wire

/// The state that the protocol's pages promise, by what was delivered.
struct Expectation {
  let lines: [String]
  private let world: SignedWorld
  private let log: LogOracle
  private let sets: Mask

  /// - Parameters:
  ///   - sets: the sets that the node holds or peers can send.
  ///   - absent: the slots without values in the node's log.
  init(_ world: SignedWorld, sets: Mask, statements: Mask, isLate: Bool, absent: [Mask]) {
    (self.world, self.sets) = (world, sets)
    let circle = MembershipOracle(world.script, statements)
    log = LogOracle(world.ancestry, circle, offered: sets, late: isLate ? 0 : world.late)
    let records = RecordOracle(world, log, absent: absent)
    let members = Actor.devices.map { actor in
      if circle.isRevoked(actor) { return "\(actor) is revoked" }
      guard circle.isMember(actor) else { return "\(actor) is unknown" }
      return "\(actor) is \(circle.admins.contains(actor) ? "an admin" : "a member")"
    }
    lines =
      members + [Self.statements(world.script, statements)] + Self.heads(world, log) + records.lines
  }

  /// Five statements are held from the beginning: the genesis, and for the reader and the courier a certificate and an
  /// entitlement each.
  private static func statements(_ script: Script, _ delivered: Mask) -> String {
    // Of each device's branch proofs, only the one with the least line is kept.
    let proofs = delivered.positions.compactMap { position -> Actor? in
      if case .branchProof(let device, _) = script.statements[position] { device } else { nil }
    }
    let count = 5 + delivered.nonzeroBitCount - (proofs.count - Set(proofs).count)
    return "\(count) statements, all stored, connected"
  }

  private static func heads(_ world: SignedWorld, _ log: LogOracle) -> [String] {
    let heads = log.heads.map { "head \($0.set) folded through \($0.folded)" }.sorted()
    let followed = log.folded.positions.reduce(Mask(0)) { followed, set in
      followed | (world.ancestry.paths[set] & ~(1 << Mask(set)))
    }
    let newest = (log.folded & ~followed).positions.map { "\($0)" }.sorted()
    let clock = log.folded.positions.map { world.sets[$0].header.clock.raw }.max() ?? 0
    return heads + [
      "to declare: \(newest.joined(separator: " "))", "newest clock \(clock) \(clock), announced",
    ]
  }

  // MARK: What may differ

  /// Everything about an observation that the protocol does not permit; nil if there is nothing.
  func difference(from observed: Observation) -> String? {
    if observed.lines != lines {
      let (seen, expected) = (Set(observed.lines), Set(lines))
      return "observed \(seen.subtracting(expected).sorted()), expected \(expected.subtracting(seen).sorted())"
    }
    if observed.stored != log.stored {
      return "observed sets \(observed.stored.positions), expected \(log.stored.positions)"
    }
    return wrongValues(observed) ?? wrongProofs(observed)
  }

  private func wrongValues(_ observed: Observation) -> String? {
    for set in (observed.stored | observed.quarantined).positions {
      var slot = 0
      for entry in world.script.sets[set].entries where !entry.fields.isEmpty {
        let isAbsent = observed.absent[set].has(slot)
        slot += 1
        if !isAbsent, isErased(set, entry.trip) { return "set \(set) still has an erased value" }
        if isAbsent, !mayBeErased(set, entry.trip) { return "set \(set) has lost a value" }
      }
    }
    return nil
  }

  private func isErased(_ set: Int, _ trip: Int) -> Bool {
    RecordOracle(world, log, absent: []).isErased(set, trip)
  }

  /// Whether an erase has seen a set, as far as its author says. Values stay erased if a cut excludes the erase later.
  private func mayBeErased(_ set: Int, _ trip: Int) -> Bool {
    sets.positions.contains { other in
      let seen = world.ancestry.paths[other].positions.flatMap { world.ancestry.dependencies[$0].positions }
        .reduce(world.ancestry.paths[other]) { $0 | world.ancestry.paths[$1] }
      return other != set && seen.has(set) && RecordOracle.erases(world.script.sets[other], trip)
    }
  }

  /// A fork is proven once both of its sets are stored. The proof stays.
  private func wrongProofs(_ observed: Observation) -> String? {
    func forks(in sets: Mask) -> Set<LogKey> {
      let positions = Dictionary(grouping: sets.positions) { set in
        "\(world.ancestry.logs[set]) \(world.ancestry.paths[set] & ~(1 << Mask(set)))"
      }
      return Set(positions.values.filter { $0.count > 1 }.map { world.sets[$0[0]].header.log })
    }
    if !observed.provenForks.isSuperset(of: forks(in: log.stored)) { return "a fork is not proven" }
    if !observed.provenForks.isSubset(of: forks(in: sets)) { return "a proof of no fork" }
    return nil
  }
}
