import Foundation
import Membership
import Records
import Replication
import SQLite
import Testing
import Wire

@testable import LogStorage
@testable import RecordTables
@testable import Storage
@testable import Verification

/// A mass erase by another device hides its records at once, and takes their values after seven days.
@Suite struct HeldEraseTests {
  private let alice: Device
  private let bob: Device

  private static let day: Moment = 86_400_000
  private static let start: Moment = 1_000

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  private var aliceKey: DeviceKey { alice.log.device }
  private var bobKey: DeviceKey { bob.log.device }

  /// Alice writes some trips, in one set, which Bob receives.
  private func fill(_ count: UInt64 = 100) throws {
    try alice.receive(
      alice.draft(at: 10, (1...count).map { insert(trip($0), [1: .text("Trip \($0)")]) }))
    try bob.sync(from: alice)
  }

  /// Bob erases trips, each portion in a set and an operation of its own.
  private func erase(_ portions: ClosedRange<UInt64>..., at wall: Moment = 20) throws -> [VerifiedChangeSet] {
    try portions.enumerated().flatMap { index, trips in
      let sets = try bob.draft(at: wall + Moment(index), trips.map { StorageTests.erase(trip($0)) })
      try bob.receive(sets)
      return sets
    }
  }

  /// Alice's store receives sets on a day, in one batch.
  private func receive(_ sets: [VerifiedChangeSet], onDay day: Moment = 0, as own: DeviceKey? = nil) throws {
    let holding = EraseHolding(device: own ?? aliceKey, now: Self.start + day * Self.day)
    _ = try alice.store.commit(sets, horizon: Device.horizon, holding: holding)
  }

  /// The numbers of the trips whose names Alice's store still has, in the table and in the log.
  private func kept(_ store: Store, of count: UInt64 = 100) throws -> [UInt64] {
    try (1...count).filter { number in
      let isInTable = try store.record(trip(number))?[1] == .text("Trip \(number)")
      let isInLog = try store.writes(of: trip(number)).contains {
        $0.content(1) == Value.text("Trip \(number)").encoded
      }
      #expect(isInTable == isInLog, "trip \(number)")
      return isInTable && isInLog
    }
  }

  private func visible(_ store: Store) throws -> Int { try store.visibleCounts()[KindNumbers.trip] ?? 0 }

  // MARK: Cost

  @Test func `a set that wrote 1,000 records is rewritten once when all of them are erased`() throws {
    try fill(1_000)
    let erases = try erase(1...1_000)
    let before = (alice.store.fold.erasures.examinedSets, alice.store.fold.erasures.rewrittenSets)
    try alice.receive(erases)
    #expect(alice.store.fold.erasures.rewrittenSets - before.1 == 1)
    #expect(alice.store.fold.erasures.examinedSets - before.0 == 1)
    #expect(try kept(alice.store, of: 1_000) == [])
  }

  @Test func `many sets that erase records of one set rewrite it once for each batch`() throws {
    try fill(200)
    let erases = try (1...200).flatMap { try erase($0...$0) }
    try alice.receive(Array(erases.prefix(150)))
    #expect(alice.store.fold.erasures.rewrittenSets == 1)
    try alice.receive(Array(erases.suffix(50)))
    #expect(alice.store.fold.erasures.rewrittenSets == 2)
    #expect(try kept(alice.store, of: 200) == [])
  }

  // MARK: What is held

  @Test func `an erase of more than a quarter of a kind by another device keeps the values for seven days`()
    throws
  {
    try fill()
    try receive(erase(1...26))
    #expect(try visible(alice.store) == 74)
    #expect(alice.store.digest(.records) == bob.store.digest(.records))
    #expect(try kept(alice.store).count == 100)
    #expect(try !alice.store.isErasePending)
    let mass = try #require(try alice.store.massErases().first)
    #expect(mass.device == bobKey)
    #expect(mass.records == [KindNumbers.trip: 26])
    #expect(mass.due == Self.start + 7 * Self.day)
    #expect(try alice.store.applyDueErases(now: mass.due - 1) == nil)
    #expect(try kept(alice.store).count == 100)
    let version = alice.store.recordsVersion
    let report = try #require(try alice.store.applyDueErases(now: mass.due))
    #expect(report.kinds == [KindNumbers.trip])
    // An undo that is being planned starts over, so that it can't write the values back.
    #expect(alice.store.recordsVersion != version)
    #expect(try kept(alice.store) == Array(27...100))
    #expect(try alice.store.isErasePending)
    #expect(try alice.store.massErases() == [])
    #expect(try alice.store.nextHeldErase == nil)
    #expect(try dump(alice.store) == dump(bob.store))
  }

  @Test func `a quarter of a kind, or fewer than 20 records, are erased at once`() throws {
    try fill()
    try receive(erase(1...25))
    #expect(try kept(alice.store) == Array(26...100))
    #expect(try alice.store.massErases() == [])
    let few = try HeldEraseTests()
    try few.fill(19)
    try few.receive(few.erase(1...19))
    #expect(try few.kept(few.alice.store, of: 19) == [])
  }

  @Test func `this device's own erase takes the values at once`() throws {
    try fill()
    try receive(erase(1...60), as: bobKey)
    #expect(try kept(alice.store) == Array(61...100))
    #expect(try alice.store.massErases() == [])
  }

  @Test func `a mass erase in small portions is held from the portion that exceeds the limit`() throws {
    try fill()
    let portions = try erase(1...15, 16...30, 31...32, at: 20)
    try receive([portions[0]])
    try receive([portions[1]], onDay: 3)
    try receive([portions[2]], onDay: 4)
    #expect(try visible(alice.store) == 68)
    #expect(try kept(alice.store) == Array(16...100))
    // Each erase has its own seven days.
    _ = try alice.store.applyDueErases(now: Self.start + 10 * Self.day)
    #expect(try kept(alice.store) == Array(31...100))
    _ = try alice.store.applyDueErases(now: Self.start + 11 * Self.day)
    #expect(try kept(alice.store) == Array(33...100))
  }

  @Test func `all portions that arrive in one batch are held`() throws {
    try fill()
    try receive(erase(1...10, 11...20, 21...30))
    #expect(try kept(alice.store).count == 100)
    #expect(try alice.store.massErases().first?.records == [KindNumbers.trip: 30])
  }

  @Test func `what a device erased more than seven days ago does not count`() throws {
    try fill()
    let portions = try erase(1...15, 16...30)
    try receive([portions[0]])
    try receive([portions[1]], onDay: 7)
    #expect(try kept(alice.store) == Array(31...100))
  }

  @Test func `an erase that keeps the record alive with new values is counted too`() throws {
    try fill()
    let sets = try bob.draft(
      at: 20,
      (1...60).flatMap { number in
        [insert(trip(number), [1: .text("burnt")]), StorageTests.erase(trip(number))]
      })
    try receive(sets)
    #expect(try visible(alice.store) == 100)
    #expect(try alice.store.massErases().first?.records == [KindNumbers.trip: 60])
    #expect(try alice.store.writes(of: trip(1)).first?.content(1) == Value.text("Trip 1").encoded)
    _ = try alice.store.applyDueErases(now: Self.start + 7 * Self.day)
    #expect(try alice.store.writes(of: trip(1)).first?.content(1) == Value.null.encoded)
    #expect(try alice.store.text(trip(1), 1) == "burnt")
  }

  // MARK: What it survives

  private func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "held-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path(percentEncoded: false))
  }

  @Test func `a held erase survives a restart and a rebuild, and keeps its date`() throws {
    try withTemporaryDirectory { directory in
      let path = directory + "/store.db"
      do {
        let store = try Store(path: path)
        try fill()
        _ = try store.commit(alice.known, horizon: Device.horizon)
        _ = try store.commit(
          erase(1...30), horizon: Device.horizon, holding: EraseHolding(device: aliceKey, now: Self.start))
      }
      let store = try Store(path: path, refolds: true)
      let due = Self.start + 7 * Self.day
      for _ in 1...2 {
        #expect(try store.massErases().map(\.due) == [due])
        #expect(try kept(store).count == 100)
        _ = try store.rebuildLogs(Device.horizon)
        try store.rebuild()
      }
      _ = try store.applyDueErases(now: due)
      #expect(try kept(store) == Array(31...100))
      try store.rebuild()
      #expect(try kept(store) == Array(31...100))
    }
  }

  @Test func `a cut before a held erase brings everything back`() throws {
    try fill()
    let name = try bob.write(at: 15, edit(trip(1), [2: .text("notes")]))
    try receive(name)
    let digest = alice.store.digest(.records)
    let before = try dump(alice.store)
    try receive(erase(1...40, 41...45))
    let held = try alice.store.firstHeldErases(by: bobKey)
    #expect(held.map(\.sequence) == [2])
    let tip = try #require(name.first?.id)
    _ = try alice.store.admit(
      by: { $0 == bob.log ? .cut([[tip]]) : .open }, horizon: Device.horizon,
      holding: EraseHolding(device: aliceKey, now: Self.start + Self.day))
    #expect(alice.store.digest(.records) == digest)
    #expect(try dump(alice.store) == before)
    #expect(try alice.store.massErases() == [])
    // The date passes without any effect, because the erases are not folded.
    _ = try alice.store.applyDueErases(now: Self.start + 8 * Self.day)
    #expect(try dump(alice.store) == before)
    // If the cut is void again, the erases are judged again.
    _ = try alice.store.admit(
      by: { _ in .open }, horizon: Device.horizon,
      holding: EraseHolding(device: aliceKey, now: Self.start + 9 * Self.day))
    #expect(try alice.store.massErases().map(\.due) == [Self.start + 16 * Self.day])
    #expect(try kept(alice.store).count == 100)
  }

  @Test func `this device's own erase of the held records takes their values at once`() throws {
    try fill()
    try receive(erase(1...40))
    try receive(try alice.draft(at: 40, (1...40).map { StorageTests.erase(trip($0)) }), onDay: 1)
    #expect(try kept(alice.store) == Array(41...100))
  }

  @Test func `a verification of the store accepts values that a held erase has not taken yet`() throws {
    try withTemporaryDirectory { directory in
      let path = directory + "/store.db"
      let store = try Store(path: path)
      try fill()
      _ = try store.commit(alice.known, horizon: Device.horizon)
      _ = try store.commit(
        erase(1...30), horizon: Device.horizon, holding: EraseHolding(device: aliceKey, now: Self.start))
      #expect(try differences(path, directory) == [])
      _ = try store.applyDueErases(now: Self.start + 7 * Self.day)
      #expect(try differences(path, directory) == [])
    }
  }

  /// The differences between a store and its log. The devices of these tests have no certificates, so only the tables
  /// are compared.
  private func differences(_ path: String, _ directory: String) throws -> [String] {
    let source = try Connection(.existingFileReadOnly(path))
    try source.setUpReadOnly()
    var replay = LogReplay(into: try Store.inMemory())
    try replay.begin(HeldErases.sets(source)) { _ in nil }
    var report = DeepReport()
    var rows: [LogReplay.Row] = []
    try source.with("SELECT number, folded, \(RawChangeSet.columns) FROM change_sets ORDER BY number") {
      row in
      while try row.step() {
        rows.append(
          LogReplay.Row(
            number: row.integer(0), isFolded: row.integer(1) == FoldState.folded.rawValue,
            set: try VerifiedChangeSet(verifying: RawChangeSet(row, at: 2))))
      }
    }
    try replay.append(rows, &report)
    try replay.finish(&report)
    try TableComparison(source, replay.store, setCount: Int64(rows.count)).run(&report)
    return report.findings.map(\.text)
  }

  // MARK: Order

  @Test func `the erase of a whole record that was never written is listed in either order`() throws {
    let key = RecordKey(kind: KindNumber(4_100)!, id: id(1))
    let erased = try alice.draft(at: 20, [StorageTests.erase(key)])
    let written = try bob.draft(at: 10, [edit(key, [1: .integer(5), 2: .text("x")])])
    var lists: [[ChangeSetID]] = []
    for sets in [erased + written, written + erased] {
      let store = try Store.inMemory()
      for set in sets { _ = try store.commit([set], horizon: Device.horizon) }
      lists.append(try store.writes(of: key).map(\.place.origin.stamp.set))
    }
    #expect(lists[0] == lists[1])
    #expect(lists[0].count == 2)
  }
}
