import Replication
import Wire

/// The state that the protocol's pages promise, by what was delivered.
struct Expectation {
  let lines: [String]
  private let world: SignedWorld
  private let log: LogOracle
  private let sets: Mask
  /// The devices whose logs a delivered statement may end.
  private let ends: Set<Actor>

  /// What an expectation follows from.
  struct Given: Hashable {
    /// The sets that the node holds or peers can send.
    var sets: Mask
    var delivered: Delivered
    /// The slots without values in the node's log.
    var absent: [Mask]
  }

  init(_ world: SignedWorld, _ given: Given) {
    let (delivered, absent) = (given.delivered, given.absent)
    (self.world, sets) = (world, delivered.sets)
    let circle = MembershipOracle(world.script, delivered.statements)
    ends = Set(
      delivered.statements.positions.compactMap { position in
        switch world.script.statements[position] {
        case .revocation(_, let device, _, _), .logCut(let device, _), .branchProof(let device, _): device
        case .certificate: nil
        }
      })
    log = LogOracle(
      world.ancestry, circle, offered: given.sets, late: delivered.isLate ? 0 : world.late)
    let records = RecordOracle(world, log, absent: absent)
    let members = Actor.devices.map { actor in
      if circle.isRevoked(actor) { return "\(actor) is revoked" }
      guard circle.isMember(actor) else { return "\(actor) is unknown" }
      return "\(actor) is \(circle.admins.contains(actor) ? "an admin" : "a member")"
    }
    lines =
      members + [Self.statements(world.script, delivered.statements)] + Self.heads(world, log)
      + records.lines + [Self.missing(world, log, records, absent)]
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

  /// The absent values of folded sets that no erase explains. The node asks peers for them.
  private static func missing(
    _ world: SignedWorld, _ log: LogOracle, _ records: RecordOracle, _ absent: [Mask]
  ) -> String {
    let slots = log.folded.positions.flatMap { set in
      let trips = world.script.sets[set].entries.filter { !$0.fields.isEmpty }.map(\.trip)
      return absent[set].positions.filter { !records.isErased(set, trips[$0]) }.map { "\(set).\($0)" }
    }
    return "missing values: \(slots.joined(separator: " "))"
  }

  // MARK: What may differ

  /// Everything about an observation that the protocol does not permit; nil if there is nothing.
  func difference(from observed: Observation) -> String? {
    if observed.lines != lines {
      let (seen, expected) = (Set(observed.lines), Set(lines))
      return
        "observed \(seen.subtracting(expected).sorted()), expected \(expected.subtracting(seen).sorted())"
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
        if !isAbsent, isErased(set, entry.trip, isStored: observed.stored.has(set)) {
          return "set \(set) still has an erased value"
        }
        if isAbsent, !hasSeen(set, erasing: entry.trip, sets), !isOlder(set, erasing: entry.trip) {
          return "set \(set) has lost a value"
        }
      }
    }
    return nil
  }

  /// Whether a folded erase has taken what a set wrote. A quarantined set is in no past, so what the author of the erase
  /// had seen decides.
  private func isErased(_ set: Int, _ trip: Int, isStored: Bool) -> Bool {
    guard isStored else { return hasSeen(set, erasing: trip, log.folded) }
    return log.folded.positions.contains { other in
      other != set && RecordOracle.erases(world.script.sets[other], trip) && log.seen[other].has(set)
    }
  }

  /// Whether the author of an erase had seen a set. Values stay erased if a cut excludes the erase later.
  private func hasSeen(_ set: Int, erasing trip: Int, _ erases: Mask) -> Bool {
    erases.positions.contains { other in
      guard other != set, RecordOracle.erases(world.script.sets[other], trip) else { return false }
      let dependencies = world.ancestry.paths[other].positions.map { world.ancestry.dependencies[$0] }
      let seen = dependencies.flatMap(\.positions).reduce(world.ancestry.paths[other]) {
        $0 | world.ancestry.paths[$1]
      }
      return seen.has(set)
    }
  }

  /// Whether an excluded set is older than an erase. Sources/store.md, "Erased values": such a set loses its values, even
  /// if the author of the erase had not seen it. If it folds later, the values are missing, and peers are asked.
  private func isOlder(_ set: Int, erasing trip: Int) -> Bool {
    guard ends.contains(world.ancestry.logs[set].device) else { return false }
    return sets.positions.contains { other in
      RecordOracle.erases(world.script.sets[other], trip)
        && world.sets[set].header.clock < world.sets[other].header.clock
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
