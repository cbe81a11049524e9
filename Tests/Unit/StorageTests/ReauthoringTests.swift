import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Own sets that are re-authored in another log: with their causal past, all of them or none.
@Suite struct ReauthoringTests {
  private static let later: Moment = 5_000_000
  private static let now: Moment = 500_000
  private let rome = trip(1)
  private let next = Incarnation(random: Bytes16(99, 1), number: 2)

  /// Writes with a clock that is ahead, and folds it at once, as a device does with its own sets.
  private func writeAhead(_ device: Device, _ drafts: EntryDraft...) throws {
    try device.receive(try device.draft(at: Self.later, drafts), horizon: Clock(raw: .max))
  }

  private func ended(_ device: Device) throws -> [EndedLog] {
    try device.store.logsAhead(of: device.log.device, horizon: Device.horizon)
  }

  private func rule(_ ended: [EndedLog]) -> (LogKey) -> Admission {
    { log in
      guard let end = ended.first(where: { $0.log == log }) else { return .open }
      return .cut([end.tip.map { [$0.id] } ?? []])
    }
  }

  /// Cuts and re-authors, as `restamp` does, on top of existing cuts; returns the new sets.
  @discardableResult
  private func restamp(
    _ device: Device, behind others: [EndedLog] = [], noting: (CommitReport) throws -> Void = { _ in }
  ) throws -> [VerifiedChangeSet] {
    let ended = try ended(device)
    let order = Reauthoring(
      circle: Device.circle, ended: ended, incarnation: next, time: .now(Self.now),
      admission: rule(others + ended),
      horizon: Device.horizon)
    _ = try device.store.reauthor(order, by: author(device), noting: noting)
    return try sets(device.store) { $0.device == device.log.device && $0.incarnation == next }
  }

  private func author(_ device: Device) -> (AuthorPosition) -> Author {
    { Author(position: $0, key: device.key, seed: device.nextSeed) }
  }

  private func sets(_ store: Store, of isWanted: (LogKey) -> Bool) throws -> [VerifiedChangeSet] {
    let wants = store.heads(.records).filter { isWanted($0.log) }.map {
      Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id)
    }
    return try store.read(.records, wants, bytesMax: .max, setsMax: .max).sets.map {
      try VerifiedChangeSet(stored: $0.raw, id: $0.id)
    }
  }

  private func state(_ store: Store) throws -> [String] {
    try dump(store) + store.heads(.records).map { "\($0)" }
  }

  @Test func `concurrent changes stay concurrent, and seen changes stay seen`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    try bob.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try alice.sync(from: bob)
    try writeAhead(alice, edit(rome, [1: .text("Roma")]))
    try bob.write(at: 400, edit(rome, [1: .text("Rom"), 2: .text("wet")]))
    try alice.sync(from: bob)
    try writeAhead(alice, edit(rome, [2: .text("dry")]))
    #expect(try alice.store.conflicts().map(\.field) == [1])
    let operations = try alice.store.operations(limit: 10).map(\.key)
    let sets = try restamp(alice)
    #expect(sets.map { $0.header.clock.milliseconds } == [Self.now, Self.now])
    #expect(try alice.store.text(rome, 1) == "Roma")
    #expect(try alice.store.text(rome, 2) == "dry")
    // The author of "Roma" had not seen "Rom"; the author of "dry" had seen "wet".
    #expect(try alice.store.conflicts().map(\.field) == [1])
    #expect(try alice.store.operations(limit: 10).map(\.key) == operations)
    try bob.receive(sets)
    #expect(try state(bob.store) == state(alice.store))
  }

  @Test func `a device that has parked the sets ends with the same state, in any order`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    for name in ["a", "b", "c"] { try writeAhead(alice, edit(rome, [1: .text(name)])) }
    try bob.sync(from: alice)
    #expect(try bob.store.parkedCount(.records) == 3)
    let ended = try ended(alice)
    #expect(ended.map(\.tip?.sequence) == [1])
    #expect(try alice.store.countBehind(ended) == 3)
    let sets = try restamp(alice)
    #expect(sets.count == 3)
    // The cut first, or the sets first.
    let carol = try Device("carol")
    try carol.sync(from: alice)
    try carol.receive(sets)
    _ = try carol.store.admit(by: rule(ended), horizon: Device.horizon)
    _ = try bob.store.admit(by: rule(ended), horizon: Device.horizon)
    try bob.receive(sets)
    for device in [bob, carol] {
      #expect(try state(device.store) == state(alice.store))
      #expect(try device.store.parkedCount(.records) == 0)
    }
    #expect(try alice.store.text(rome, 1) == "c")
    #expect(try !alice.store.admit(by: rule(ended), horizon: Device.horizon))
  }

  @Test func `a causal past with more logs than a set may name is declared in join sets`() throws {
    let alice = try Device("alice")
    let count = Limits.dependenciesMax + 10
    for number in 1...count {
      let log = LogKey(
        device: alice.log.device, incarnation: Incarnation(Bytes16(7, UInt64(number))), lane: .records)
      var author = Author(
        position: AuthorPosition(
          circle: Device.circle, log: log, sequence: 0, id: nil, clock: .zero, logBytes: 0,
          unseen: []),
        key: alice.key, seed: alice.nextSeed)
      let operation = OperationDraft(id: OperationID(Bytes16(7, UInt64(number))), verb: "test")
      try alice.receive(
        try author.write(
          [insert(trip(UInt64(number)), [1: .text("\(number)")])], operation: operation, wall: 20))
    }
    try writeAhead(alice, edit(trip(1), [1: .text("new")]), edit(trip(UInt64(count)), [1: .text("new")]))
    let sets = try restamp(alice)
    #expect(sets.map(\.header.dependencies.count) == [Limits.dependenciesMax, 10])
    #expect(try alice.store.conflicts().isEmpty)
    #expect(try alice.store.text(trip(UInt64(count)), 1) == "new")
  }

  @Test func `the rest of both branches of a forked log is re-authored`() throws {
    let (alice, copy) = (try Device("alice"), try Device("alice"))
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try copy.sync(from: alice)
    try alice.write(at: 20, edit(rome, [2: .text("by Alice")]))
    try copy.write(at: 30, insert(trip(2), [1: .text("Oslo")]))
    try writeAhead(copy, insert(trip(3), [1: .text("Bern")]))
    try alice.receive(copy.known, horizon: Clock(raw: .max))
    let before = try alice.store.visibleCounts()
    #expect(try ended(alice).map(\.tip?.sequence) == [2])
    let sets = try restamp(alice)
    // Sets that are not ancestors of the tip only remain in the new log.
    #expect(sets.count == 2)
    #expect(try alice.store.visibleCounts() == before)
    #expect(try alice.store.text(rome, 2) == "by Alice")
  }

  @Test func `a set that had seen two parked branches declares their common ancestors once`() throws {
    let (alice, bob, copy) = (try Device("alice"), try Device("bob"), try Device("bob"))
    let trunk = try bob.write(at: 10, insert(rome, [1: .text("Rome")]))
    try copy.sync(from: bob)
    try writeAhead(bob, edit(rome, [1: .text("Roma")]))
    try writeAhead(copy, insert(trip(2), [1: .text("Oslo")]))
    for one in [bob, copy] { try alice.receive(one.known, horizon: Clock(raw: .max)) }
    try writeAhead(alice, insert(trip(3), [1: .text("Bern")]))
    let sets = try restamp(alice)
    #expect(sets.map { $0.header.dependencies.map(\.id) } == [trunk.map(\.id)])
    #expect(try alice.store.parkedCount(.records) == 2)
    #expect(try alice.store.text(trip(3), 1) == "Bern")
  }

  @Test func `a set that had seen a re-authored set of another device keeps its earlier dependencies`() throws
  {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    let first = try bob.write(at: 10, insert(rome, [1: .text("Rome")]))
    try writeAhead(bob, edit(rome, [2: .text("sunny")]))
    try alice.receive(bob.known, horizon: Clock(raw: .max))
    try writeAhead(alice, edit(rome, [1: .text("Roma")]))
    let ended = try ended(bob)
    try restamp(bob)
    _ = try alice.store.admit(by: rule(ended), horizon: Device.horizon)
    let sets = try restamp(alice, behind: ended)
    #expect(sets.map { $0.header.dependencies.map(\.id) } == [first.map(\.id)])
    #expect(try alice.store.conflicts().isEmpty)
    #expect(try alice.store.text(rome, 1) == "Roma")
  }

  @Test func `if it can't be stored nothing has changed`() throws {
    struct Refusal: Error {}
    let alice = try Device("alice")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try writeAhead(alice, edit(rome, [1: .text("Roma")]))
    let before = try state(alice.store)
    #expect(throws: Refusal.self) { try restamp(alice) { _ in throw Refusal() } }
    #expect(try state(alice.store) == before)
    // Later sets are not excluded either: the log was not cut.
    try writeAhead(alice, edit(rome, [1: .text("Rom")]))
    #expect(try alice.store.text(rome, 1) == "Rom")
    #expect(alice.store.heads(.records).map(\.sequence) == [3])
  }

  @Test func `sets that lost values to an erase are re-authored without them`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    try writeAhead(
      alice, insert(rome, [1: .text("Rome"), 2: .text("sunny")]), insert(trip(2), [1: .text("Oslo")]))
    try writeAhead(
      alice, edit(FixedRecords.profile, [1: .integer(Self.later), 2: .text("Alice")]),
      insert(trip(3), [1: .text("Bern")]))
    try writeAhead(alice, erase(rome), erase(FixedRecords.profile))
    let sets = try restamp(alice)
    #expect(sets.map(\.body.isComplete) == [false, false, true])
    #expect(try alice.store.record(rome)?.life == false)
    #expect(try alice.store.text(rome, 1) == nil)
    #expect(try alice.store.text(trip(2), 1) == "Oslo")
    #expect(try alice.store.text(trip(3), 1) == "Bern")
    #expect(try alice.store.text(FixedRecords.profile, 2) == nil)
    try bob.receive(sets)
    #expect(try state(bob.store) == state(alice.store))
  }

  @Test func `unsent sets keep their clocks in the other log, and leave no trace in the old one`() throws {
    let alice = try Device("alice")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    let tip = alice.store.newestHead(of: alice.log)
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try alice.write(at: 30, insert(trip(2), [1: .text("Oslo")]))
    let order = Reauthoring(
      circle: Device.circle, ended: [EndedLog(log: alice.log, tip: tip)], incarnation: next, time: .asWritten,
      admission: nil, horizon: Device.horizon)
    _ = try alice.store.reauthor(order, by: author(alice)) { _ in }
    #expect(alice.store.heads(.records).map(\.sequence).sorted() == [1, 2])
    let sets = try sets(alice.store) { $0.incarnation == next }
    #expect(sets.map { $0.header.clock.milliseconds } == [20, 30])
    #expect(sets.map(\.raw.plan) == alice.known.dropFirst().map(\.raw.plan))
    #expect(sets.map(\.raw.values) == alice.known.dropFirst().map(\.raw.values))
    #expect(sets.map(\.header.log.incarnation.number) == [2, 2])
    let bob = try Device("bob")
    try bob.receive([alice.known[0]] + sets)
    #expect(try state(bob.store) == state(alice.store))
  }
}
