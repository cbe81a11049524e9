import Families
import Membership
import Records
import Replication
import Sodium
import Wire

/// A script as real change sets and statements.
struct SignedWorld {
  /// The wall clock of the node, before time passes.
  static let now = Family.start + 60_000
  static let family = { () -> Family in
    guard let family = try? Family(founder: "alice") else { preconditionFailure("no family") }
    return family
  }()

  let script: Script
  let ancestry: Ancestry
  let sets: [VerifiedChangeSet]
  let statements: [Statement]
  /// The positions of sets by id.
  let positions: [ChangeSetID: Int]
  /// For each set, the bytes of its values without some of the slots, and which slots these are.
  let forms: [[[UInt8]: Mask]]
  let trips: [Int]
  /// The sets that have to wait until time passes.
  let late: Mask

  init(_ script: Script) throws {
    self.script = script
    ancestry = Ancestry(script)
    var sets: [VerifiedChangeSet] = []
    for index in script.sets.indices { sets.append(try Self.sign(index, script, ancestry, sets)) }
    self.sets = sets
    positions = Dictionary(uniqueKeysWithValues: sets.enumerated().map { ($1.id, $0) })
    forms = sets.map(Self.forms)
    let horizon = Clock(milliseconds: Self.now + Limits.clockDriftMilliseconds)
    late = Mask(sets.indices.filter { sets[$0].header.clock > horizon })
    trips = Set(script.sets.flatMap(\.entries).map(\.trip)).sorted()
    var statements: [Statement] = []
    for (number, planned) in script.statements.enumerated() {
      statements.append(try Self.sign(planned, number, script, sets, statements))
    }
    self.statements = statements
  }

  private static let keys = Dictionary(
    uniqueKeysWithValues: Actor.allCases.map { ($0, Family.key($0.rawValue)) })

  static let devices = Actor.devices.map { (actor: $0, key: DeviceKey(key($0))) }

  static func key(_ actor: Actor) -> SigningKey {
    guard let key = keys[actor] else { preconditionFailure("no key for \(actor)") }
    return key
  }

  static func key(_ log: WorldLog) -> LogKey {
    let random = Bytes16(UInt64(log.incarnation), UInt64(log.device.rawValue.utf8.first ?? 0))
    return LogKey(
      device: DeviceKey(key(log.device)),
      incarnation: Incarnation(random: random, number: log.incarnation), lane: .records)
  }

  static func trip(_ number: Int) -> RecordKey { record(UInt64(number)) }

  // MARK: Sets

  private static func sign(
    _ index: Int, _ script: Script, _ ancestry: Ancestry, _ sets: [VerifiedChangeSet]
  ) throws -> VerifiedChangeSet {
    let planned = script.sets[index]
    let previous = planned.previous.map { sets[$0] }
    let unseen = ancestry.dependencies[index].positions.map { position in
      let header = sets[position].header
      return Dependency(
        device: header.log.device, incarnation: header.log.incarnation, sequence: header.sequence,
        id: sets[position].id)
    }
    let clock = ancestry.known[index].positions.map { sets[$0].header.clock }.max() ?? .zero
    return try write(
      planned.entries, after: previous, in: key(script.log[index]), clock: clock, unseen: unseen,
      number: index + 1, wall: Family.start + Moment(index) * 1_000 + (planned.isAhead ? 1_200_000 : 0))
  }

  private static func write(
    _ entries: [PlannedEntry], after previous: VerifiedChangeSet?, in log: LogKey, clock: Clock,
    unseen: [Dependency], number: Int, wall: Moment
  ) throws -> VerifiedChangeSet {
    let position = AuthorPosition(
      circle: family.circle, log: log, sequence: previous?.header.sequence ?? 0, id: previous?.id,
      clock: clock, logBytes: previous?.logBytes ?? 0, unseen: unseen.sorted())
    guard let device = devices.first(where: { $0.key == log.device })?.actor else {
      preconditionFailure("a log of no device")
    }
    var author = Author(position: position, key: key(device), seed: { Bytes16(5, UInt64(number)) })
    let drafts = entries.map { entry in
      EntryDraft(entry.type, trip(entry.trip), entry.fields.map { ($0.key, .text($0.value)) })
    }
    let operation = OperationDraft(id: OperationID(Bytes16(9, UInt64(number))), verb: "test")
    let written = try author.write(drafts, operation: operation, wall: wall)
    precondition(written.count == 1, "a planned set is too large")
    return written[0]
  }

  private static func forms(_ set: VerifiedChangeSet) -> [[UInt8]: Mask] {
    var forms = [set.raw.values: Mask(0)]
    for absent in 1..<(Mask(1) << Mask(set.body.slots.count)) {
      forms[set.values(without: Set(absent.positions))] = absent
    }
    return forms
  }

  // MARK: Statements

  private static func sign(
    _ planned: PlannedStatement, _ number: Int, _ script: Script, _ sets: [VerifiedChangeSet],
    _ earlier: [Statement]
  ) throws -> Statement {
    let signer = key(planned.signer)
    let issued = Moment(number + 2)
    switch planned {
    case .certificate(_, let device, let isAdmin):
      return try Statement(
        signing: DeviceCertificate(
          circle: family.circle, issuer: DeviceKey(signer), device: DeviceKey(key(device)),
          transport: Family.transport(of: device.rawValue), name: device.rawValue,
          role: isAdmin ? .admin : .member, issued: issued),
        with: signer)
    case .revocation(_, let device, let kept, let valid):
      let logs = Dictionary(grouping: kept) { script.log[$0] }.map { log, tips in
        KeptLog(incarnation: key(log).incarnation, lane: .records, tips: tips.map { sets[$0].id })
      }
      return try Statement(
        signing: Revocation(
          circle: family.circle, issuer: DeviceKey(signer), device: DeviceKey(key(device)), kept: logs,
          valid: valid.map { earlier[$0].id }, issued: issued),
        with: signer)
    case .logCut(let device, let tip):
      let log = key(WorldLog(device: device, incarnation: 1))
      return try Statement(
        signing: LogCut(circle: family.circle, log: log, tip: tip.map { sets[$0].id }, issued: issued),
        with: signer)
    case .branchProof(let device, let tip):
      return try branchProof(of: device, after: tip.map { sets[$0] })
    }
  }

  /// Proves that a device wrote a branch too many, with sets that are never delivered.
  private static func branchProof(of device: Actor, after trunk: VerifiedChangeSet?) throws -> Statement {
    let log = key(WorldLog(device: device, incarnation: 1))
    let branches = try (0...Limits.branchesMax).map { number in
      try write(
        [PlannedEntry(type: .insert, trip: 100 + number)], after: trunk, in: log,
        clock: trunk?.header.clock ?? .zero, unseen: [], number: 100 + number, wall: Family.start)
    }
    return try BranchProof.statement(
      circle: family.circle, branches.map { ($0.raw.header, $0.raw.signature) })
  }
}
