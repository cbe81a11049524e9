import LogStorage
import RecordTables
import Records
import Replication
import Storage
import Testing
import Vectors
import Wire

/// Earlier and hypothetical states of a record, and the plan that restores them.
@Suite struct TimeTravelTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  private func name(_ state: RecordState) throws -> Value? {
    try state.contents[1].map { try Value(encoded: $0[...]) }
  }

  @Test func `a record's writes are listed in stamp order, including losing ones`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, edit(rome, [1: .text("Rom")]))
    try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    try alice.sync(from: bob)
    try alice.write(at: 40, delete(rome))
    let writes = try alice.store.writes(of: rome)
    try #require(writes.map(\.place.origin.stamp.clock.milliseconds) == [10, 20, 30, 40])
    #expect(writes.map(\.operation.device) == [alice, bob, alice, alice].map(\.log.device))
    #expect(writes[1].content(1) == Value.text("Rom").encoded)
    #expect(writes[3].cells.map(\.field) == [Fields.life])
  }

  @Test func `a record that was written once lists its write`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]), insert(trip(2), [:]))
    #expect(try alice.store.writes(of: rome).map { $0.cells.map(\.field) } == [[0, 1]])
    #expect(try alice.store.writes(of: trip(3)).isEmpty)
  }

  @Test func `a record is restored as of a cut`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try alice.write(at: 30, delete(rome))
    func state(_ sequence: UInt64) throws -> RecordState {
      try alice.store.state(of: rome) { $0.isWithin([alice.log: sequence]) }
    }
    #expect(try state(0).life == nil)
    #expect(try name(state(1)) == .text("Rome"))
    #expect(try name(state(2)) == .text("Roma"))
    #expect(try state(2).life == true)
    #expect(try state(3).life == false)
    #expect(try alice.store.sets(.records, outside: [alice.log: 1]).map(\.log) == [alice.log, alice.log])
  }

  @Test func `seeds exist without any write`() throws {
    try alice.write(at: 10, edit(FixedRecords.none, [1: .text("renamed"), 2: .text("5")]))
    let state = try alice.store.state(of: FixedRecords.none) { _ in false }
    #expect(state.life == true)
    #expect(try name(state) == .text("None"))
    #expect(try alice.store.state(of: FixedRecords.none) { _ in true }.contents[2] == Value.text("5").encoded)
    #expect(try alice.store.state(of: FixedRecords.profile) { _ in false }.life == true)
  }

  @Test func `a profile without its winner is the next in rank, as a whole`() throws {
    try alice.write(
      at: 100, edit(FixedRecords.profile, [1: .integer(100), 2: .text("Alice"), 3: .text("dark")]))
    try bob.write(at: 200, edit(FixedRecords.profile, [1: .integer(50), 2: .text("Bob")]))
    try alice.write(at: 300, edit(FixedRecords.profile, [1: .integer(300), 2: .text("Anna")]))
    try alice.sync(from: bob)
    let winner = try #require(try alice.store.state(of: FixedRecords.profile).cells[2]?.author)
    let state = try alice.store.state(of: FixedRecords.profile) { $0.origin != winner.origin }
    #expect(state.contents[2] == Value.text("Alice").encoded)
    #expect(state.contents[3] == Value.text("dark").encoded)
  }

  @Test func `operations are listed newest first, of one device or of all`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, edit(rome, [1: .text("Rom")]))
    try alice.write(at: 30, edit(rome, [2: .text("sunny")]))
    try alice.sync(from: bob)
    let all = try alice.store.operations(limit: 9)
    try #require(all.map(\.clock.milliseconds) == [30, 20, 10])
    #expect(try alice.store.operations(limit: 2).count == 2)
    #expect(try alice.store.operations(of: bob.log.device, limit: 9).map(\.clock.milliseconds) == [20])
    #expect(try alice.store.records(touchedBy: all[1].sets) == [rome])
  }

  @Test func `an operation of several sets is listed once, and its id may be shortened`() throws {
    let drafts = (0..<2_500).map { insert(log(UInt64($0)), [3: .float(1)]) }
    let sets = try alice.receive(try alice.draft(at: 10, drafts)).placements.count
    #expect(sets == 3)
    let operation = try #require(try alice.store.operations(limit: 9).first)
    #expect(operation.sets.count == 3)
    let hex = operation.key.id.description
    #expect(
      try alice.store.operations(prefix: String(hex.prefix(20)), limit: 9).map(\.key) == [operation.key])
    #expect(try alice.store.operations(prefix: "ff", limit: 9).isEmpty)
    #expect(try alice.store.operations(prefix: "no digits", limit: 9).isEmpty)
  }

  @Test func `an id that two devices used refers to two operations`() throws {
    let forger = try Device("bob")
    let id = OperationID(Bytes16(7, 7))
    for (device, wall) in [(alice, Int64(10)), (forger, 20)] {
      var author = Author(
        position: try device.store.authorPosition(circle: Device.circle, log: device.log), key: device.key,
        seed: device.nextSeed)
      let draft = OperationDraft(id: id, verb: "test")
      try device.receive(try author.write([edit(rome, [1: .text("x")])], operation: draft, wall: wall))
    }
    try alice.sync(from: forger)
    let found = try alice.store.operations(prefix: id.description, limit: 9)
    #expect(Set(found.map(\.key.device)) == [alice.log.device, forger.log.device])
    #expect(found.map(\.sets.count) == [1, 1])
  }

  @Test func `an operation is listed even while its sets are parked`() throws {
    let ahead = try alice.draft(at: 5_000_000, [insert(rome, [1: .text("Rome")])])
    let key = OperationKey(
      id: try #require(ahead.first?.header.operation), device: alice.log.device)
    #expect(try !alice.store.isWritten(key))
    try alice.receive(ahead)
    #expect(try alice.store.isWritten(key) && alice.store.operation(key) == nil)
    #expect(try !alice.store.isWritten(OperationKey(id: key.id, device: bob.log.device)))
  }

  // MARK: Small worlds

  private func entry(_ random: inout SeededRandom, _ step: Int) -> EntryDraft {
    let key = [rome, trip(2), FixedRecords.none][random.below(3)]
    switch random.below(7) {
    case 0: return insert(key, [1: .text("new \(step)")])
    case 1, 2: return edit(key, [1: .text("name \(step)"), 2: .text("notes \(step)")])
    case 3: return edit(key, [2: .null, 900: .integer(Int64(step))])
    case 4: return delete(key)
    case 5: return restore(key)
    default:
      return edit(
        FixedRecords.profile,
        [1: .integer(Int64(random.below(step * 12))), 2: .text("me \(step)")])
    }
  }

  private let keys = [trip(1), trip(2), FixedRecords.none, FixedRecords.profile]

  private func history(_ random: inout SeededRandom) throws -> [Device] {
    let devices = [alice, bob, try Device("carol")]
    for step in 1...14 {
      let device = devices[random.below(3)]
      if random.below(2) == 0 { try device.sync(from: devices[random.below(3)]) }
      try device.write(
        at: Int64(step * 10) - Int64(random.below(25)), entry(&random, step))
    }
    for device in devices { for other in devices { try device.sync(from: other) } }
    return devices
  }

  @Test(arguments: 1...30)
  func `the state at a cut equals that of a store that folded nothing else`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let devices = try history(&random)
    let known = alice.known
    for count in 0...known.count {
      // The first arrivals are causally closed, so a fresh store can receive them.
      let part = try Device("oracle")
      try part.receive(Array(known.prefix(count)))
      let cut = Dictionary(uniqueKeysWithValues: part.store.heads(.records).map { ($0.log, $0.sequence) })
      for key in keys {
        let expected = try text(part.store.state(of: key))
        for device in devices {
          let state = try device.store.state(of: key) { $0.isWithin(cut) }
          #expect(text(state) == expected, "\(key) at \(count)")
        }
      }
    }
  }

  @Test(arguments: 1...30)
  func `the state without some sets has the highest of the remaining writes`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    _ = try history(&random)
    let left = alice.known.filter { _ in random.below(3) > 0 }
    let ids = Set(left.map(\.id))
    for key in keys {
      let state = try alice.store.state(of: key) { ids.contains($0.origin.stamp.set) }
      #expect(text(state) == oracle(key, left), "\(key)")
    }
  }

  @Test(arguments: 1...30)
  func `the writes of a plan produce the wanted records`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    _ = try history(&random)
    let known = alice.known
    let count = random.below(known.count + 1)
    let part = try Device("oracle")
    try part.receive(Array(known.prefix(count)))
    var plan = ChangePlan(now: 1_000)
    for key in keys {
      try plan.bring(key, from: alice.store.state(of: key), to: WantedRecord(part.store.state(of: key)))
    }
    try alice.receive(try alice.draft(at: 1_000, plan.drafts))
    for key in keys {
      #expect(
        try shown(key, alice.store.state(of: key)) == shown(key, part.store.state(of: key)),
        "\(key) at \(count)")
    }
    var again = ChangePlan(now: 2_000)
    for key in keys {
      #expect(
        try !again.bring(key, from: alice.store.state(of: key), to: WantedRecord(part.store.state(of: key))))
    }
    #expect(again.drafts.isEmpty)
  }

  /// A state as users see it: without authors, without null, and without the profile's own time of change.
  private func shown(_ key: RecordKey, _ state: RecordState) -> String {
    let contents = state.contents.filter { field, content in
      content != Value.null.encoded && !(key == FixedRecords.profile && field == 1)
    }
    return "\(state.life ?? false) \(contents.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })"
  }

  private func text(_ state: RecordState) -> [String] {
    state.cells.sorted { $0.key < $1.key }.map {
      "\($0.key)=\($0.value.content) \($0.value.author.origin.stamp)"
    }
  }

  /// The same from all writes at once: no store, no order.
  private func oracle(_ key: RecordKey, _ sets: [VerifiedChangeSet]) -> [String] {
    var best: [FieldNumber: (content: [UInt8], stamp: Stamp)] = [:]
    var whole: (rank: WholeRecordRank, fields: [FieldNumber: [UInt8]])?
    if key == FixedRecords.none {
      best = [0: ([0xf5], .zero), 1: (Value.text("None").encoded, .zero)]
    } else if key == FixedRecords.profile {
      best = [0: ([0xf5], .zero)]
    }
    for set in sets {
      for entry in set.body.entries where entry.key == key {
        let fields = Dictionary(
          uniqueKeysWithValues: set.body.writes(of: entry).map { ($0.field, $0.content ?? []) })
        if key.kind.mergeClass == .wholeRecord {
          let rank = WholeRecordRank(of: entry, stamp: set.stamp)
          if entry.type.writesFields, whole.map({ rank > $0.rank }) ?? true { whole = (rank, fields) }
          continue
        }
        for (field, content) in fields where !(key == FixedRecords.none && field < 2) {
          if best[field].map({ set.stamp > $0.stamp }) ?? true { best[field] = (content, set.stamp) }
        }
      }
    }
    if let whole {
      best = whole.fields.mapValues { ($0, whole.rank.stamp) }
      best[0] = ([0xf5], whole.rank.stamp)
    }
    return best.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.content) \($0.value.stamp)" }
  }
}

extension SetPosition {
  /// Whether a cut holds the set; every cut holds seeds.
  fileprivate func isWithin(_ cut: [LogKey: UInt64]) -> Bool {
    UInt64(bitPattern: sequence) <= cut[log] ?? 0
  }
}
