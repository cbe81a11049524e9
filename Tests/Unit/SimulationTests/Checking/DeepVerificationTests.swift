import Membership
import Records
import Replication
import Simulation
import Storage
import Testing
import Verification
import VirtualDisk
import Wire

/// `verify --deep` on stores whose logs were cut, forked and rebuilt: it finds all damage, and reports nothing else.
@Suite struct DeepVerificationTests {
  private func rome(_ text: String) -> EntryDraft { edit(trip(1), [1: .text(text)]) }

  @discardableResult
  private func write(_ world: JudgedWorld, _ name: String, _ draft: EntryDraft, ahead: Moment = 0) throws
    -> [VerifiedChangeSet]
  {
    world.wall += 1_000
    return try world[name].write(.records, [draft], verb: "test", target: nil, wall: world.wall + ahead)
  }

  private func meet(_ world: JudgedWorld, _ from: String, _ to: String) throws {
    world.wall += 1_000
    try world[to].take(world[from].known, wall: world.wall)
  }

  /// A tablet writes, meets only the phone and writes once more. The laptop revokes it without having met the phone.
  private func outrunRevocation() throws -> JudgedWorld {
    let world = try JudgedWorld(["laptop", "phone", "tablet"])
    try write(world, "tablet", insert(trip(1), [1: .text("Rome")]))
    let kept = try write(world, "tablet", rome("Roma"))
    for name in ["laptop", "phone"] { try meet(world, "tablet", name) }
    try write(world, "tablet", rome("Rom"))
    try meet(world, "tablet", "phone")
    try write(world, "phone", rome("Ostia"))
    try write(world, "laptop", rome("Napoli"))
    let revocation = try world.revocation("tablet", kept: [(world["tablet"].log(.records), kept[0].id)])
    for name in ["laptop", "phone"] { try world[name].learn([revocation], wall: world.wall) }
    try meet(world, "phone", "laptop")
    try meet(world, "laptop", "phone")
    return world
  }

  @Test func `a store is intact after a revocation that discards received sets`() throws {
    let world = try outrunRevocation()
    for name in ["laptop", "phone"] {
      #expect(world[name].known.contains { $0.header.log == world["phone"].log(.records) })
      #expect(try world[name].findings() == [])
      try world[name].store.rebuild()
      #expect(try world[name].findings() == [])
    }
    #expect(world["laptop"].store.digest(.records) == world["phone"].store.digest(.records))
  }

  @Test func `a store is intact while a log with two cuts is parked`() throws {
    let world = try JudgedWorld()
    let bob = world["bob"]
    let sets = try ["Rome", "Roma"].flatMap {
      try write(world, "bob", insert(trip(1), [1: .text($0)]), ahead: 900_000)
    }
    try meet(world, "bob", "alice")
    let cuts = try sets.map {
      try Statement(
        signing: LogCut(circle: world.circle, log: bob.log(.records), tip: $0.id, issued: 5), with: bob.key)
    }
    for name in ["alice", "bob"] {
      try world[name].learn(cuts, wall: world.wall)
      #expect(try world[name].findings() == [])
      try world[name].foldParked(wall: world.wall + 1_000_000)
      #expect(try world[name].findings() == [])
    }
  }

  @Test func `a store is intact before a statement that it holds has been applied`() throws {
    let world = try outrunRevocation()
    let laptop = world["laptop"]
    let cut = try world.revocation("phone", kept: [])
    try laptop.store.saveStatements([(cut.id, cut.bytes)])
    #expect(try laptop.findings() == [])
    try laptop.learn([cut], wall: world.wall)
    #expect(try laptop.findings() == [])
    #expect(laptop.store.heads(.records).contains { $0.log == world["phone"].log(.records) } == false)
  }

  // MARK: Damage behind a cut

  struct Damage: CustomTestStringConvertible, Sendable {
    let sql: String
    let location: DeepFinding.Location
    let text: String

    var testDescription: String { sql }
  }

  static let damages = [
    Damage(
      sql: "DELETE FROM tolerated_gaps", location: .index,
      text: "a row of tolerated_gaps is in the log but not in its table"),
    Damage(
      sql: "UPDATE change_sets SET folded = 2 WHERE number = 1", location: .index,
      text: "the index entry of change set 1 differs from the log"),
    Damage(
      sql: "UPDATE change_sets SET folded = 0 WHERE number = 1", location: .index,
      text: "the index entry of change set 2 differs from the log"),
    Damage(
      sql: "UPDATE change_sets SET clock = clock + 1 WHERE number = 2", location: .index,
      text: "the index entry of change set 2 differs from the log"),
    Damage(
      sql: "UPDATE branches SET parent = 1 WHERE branch = 2", location: .index,
      text: "log 2 differs from the log"),
    Damage(sql: "DELETE FROM dependencies", location: .index, text: "is in the log but not in its table"),
    Damage(sql: "DELETE FROM siblings", location: .records, text: "is in the log but not in its table"),
    Damage(sql: "UPDATE trip_rows SET name = 'Rom'", location: .records, text: "differs from the log"),
    Damage(
      sql: "UPDATE change_sets SET number = 100 - number; UPDATE change_sets SET number = number - 95",
      location: .log, text: "depends on a missing change set"),
    Damage(
      sql: "DELETE FROM change_sets WHERE number = 2", location: .log, text: "change set 2 is missing"),
    Damage(
      sql: "UPDATE change_sets SET signature = zeroblob(64) WHERE number = 3", location: .log,
      text: "change set 3 has an invalid signature"),
  ]

  @Test(arguments: damages) func `damage to a store whose log was cut is found`(_ damage: Damage) throws {
    let world = try outrunRevocation()
    let laptop = world["laptop"]
    try laptop.damage(damage.sql)
    let findings = try laptop.findings()
    #expect(
      findings.contains { $0.location == damage.location && $0.text.contains(damage.text) }, "\(findings)")
  }

  @Test func `a set that a cut excludes but that is folded is found`() throws {
    let world = try JudgedWorld()
    let (alice, bob) = (world["alice"], world["bob"])
    let sets = try ["Rome", "Roma", "Rom"].flatMap {
      try write(world, "bob", insert(trip(1), [1: .text($0)]))
    }
    try meet(world, "bob", "alice")
    let cuts = try [sets[0], sets[2]].map {
      try Statement(
        signing: LogCut(circle: world.circle, log: bob.log(.records), tip: $0.id, issued: 5), with: bob.key)
    }
    try alice.learn(cuts, wall: world.wall)
    #expect(try alice.findings() == [])
    try alice.damage("UPDATE change_sets SET folded = 1 WHERE number = 2")
    #expect(
      try alice.findings().contains { $0.location == .index && $0.text.contains("more than its cuts allow") })
  }

  // MARK: Random histories

  /// Whatever three devices and copies of them write, and in whatever order they receive sets, revocations and log
  /// cuts: no intact store is reported as damaged.
  @Test(arguments: 1...12) func `no intact store is reported as damaged`(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed))
    let world = try JudgedWorld(["alice", "bob", "carol"])
    var statements: [Membership.Statement] = []
    for step in 0..<70 {
      let device = world.devices[random.below(world.devices.count)]
      switch random.below(16) {
      case 0..<6: try write(world, device.name, draft(&random), ahead: random.below(6) == 0 ? 700_000 : 0)
      case 6..<11:
        // Some of another device's sets, in its order, as after a disconnect.
        let other = world.devices[random.below(world.devices.count)]
        let count = random.below(3) == 0 ? random.below(other.known.count + 1) : other.known.count
        world.wall += 1_000
        try device.take(Array(other.known.prefix(count)), wall: world.wall)
      case 11: if world.devices.count < 5 { try copy(device, world) }
      case 12: if let cut = try logCut(device, world, &random) { statements.append(cut) }
      case 13:
        let other = world.devices[random.below(3)]
        if let revocation = try revocation(of: other, by: device, &random) { statements.append(revocation) }
      case 14:
        world.wall += 400_000
        try device.foldParked(wall: world.wall)
      default: break
      }
      if !statements.isEmpty, random.below(3) == 0 {
        let known = Set(device.held.map(\.id))
        let next = statements[random.below(statements.count)]
        if !known.contains(next.id) { try device.learn([next], wall: world.wall) }
      }
      guard step % 7 == 6 else { continue }
      for device in world.devices {
        let findings = try device.findings()
        #expect(findings == [], "seed \(seed), step \(step), \(device.name)")
        if !findings.isEmpty { return }
      }
    }
  }

  private func draft(_ random: inout SplitMix) -> EntryDraft {
    let number = UInt64(random.below(4) + 1)
    let text = Value.text("\(random.below(4))")
    switch random.below(9) {
    case 8: return erase(trip(number))
    case 0: return insert(trip(number), [1: text])
    case 1: return delete(trip(number))
    case 2: return restore(trip(number))
    case 3: return insert(lodging(number), [1: .bytes(trip(UInt64(random.below(4) + 1)).id.bytes), 2: text])
    case 4: return edit(FixedRecords.profile, [1: .integer(Int64(random.below(3))), 2: text])
    default: return edit(trip(number), [FieldNumber(random.below(4) + 1): text])
    }
  }

  /// Another directory with the same keys, which continues the same log.
  private func copy(_ original: JudgedDevice, _ world: JudgedWorld) throws {
    let copy = try world.add(
      "copy\(world.devices.count)", keys: original.keys, incarnation: original.incarnation.raw.word1)
    try copy.learn(
      original.held.filter { item in !copy.held.contains { $0.id == item.id } }, wall: world.wall)
    try copy.take(original.known, wall: world.wall)
  }

  /// Ends an own log at one of its sets, and continues in another.
  private func logCut(
    _ device: JudgedDevice, _ world: JudgedWorld, _ random: inout SplitMix
  ) throws -> Membership.Statement? {
    let log = device.log(.records)
    let own = device.known.filter { $0.header.log == log }
    guard !own.isEmpty else { return nil }
    let tip = own[random.below(own.count)].id
    let statement = try Statement(
      signing: LogCut(circle: world.circle, log: log, tip: tip, issued: world.wall), with: device.key)
    if random.below(2) == 0 {
      device.incarnation = Incarnation(
        Bytes16(device.incarnation.raw.word0, UInt64(random.below(1 << 20)) + 9))
    }
    return statement
  }

  /// One device revokes another and keeps one or two of its sets; now and then it reinstates a third.
  private func revocation(
    of other: JudgedDevice, by device: JudgedDevice, _ random: inout SplitMix
  ) throws -> Membership.Statement? {
    guard other.keys != device.keys else { return nil }
    let key = DeviceKey(other.key)
    let logs = Dictionary(grouping: device.known.filter { $0.header.log.device == key }, by: \.header.log)
    let kept = logs.sorted { $0.key < $1.key }.compactMap { log, sets -> KeptLog? in
      guard random.below(4) > 0 else { return nil }
      let tips = Set((0...random.below(2)).map { _ in sets[random.below(sets.count)].id })
      return KeptLog(incarnation: log.incarnation, lane: log.lane, tips: Array(tips).sorted())
    }
    let circle = try Circle(statements: device.held, developmentIssuer: nil)
    let reinstated = random.below(3) == 0 ? circle.evaluation.revocations.keys.sorted().prefix(1) : []
    return try? circle.revocation(
      RevocationTerms(device: key, kept: kept, reinstated: Set(reinstated.filter { $0 != key })),
      by: device.key, at: 3)
  }
}
