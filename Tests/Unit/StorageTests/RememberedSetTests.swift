import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// What a store remembers of its sets between two questions, and what tells callers to ask again.
@Suite struct RememberedSetTests {
  private let alice: Device
  private let bob: Device
  private let names: [FieldNumber: Value] = [1: .text("Rome")]

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  /// Bob writes a trip, and Alice receives the set without its values.
  private func receiveWithoutValues() throws -> VerifiedChangeSet {
    let set = try #require(try bob.write(at: 10, insert(trip(1), names)).first)
    let raw = RawChangeSet(
      header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
      values: set.values(without: [0]))
    try alice.receive([try VerifiedChangeSet(verifying: raw)])
    return set
  }

  private func fill(_ set: VerifiedChangeSet) throws {
    let wanted = SetSlots(log: set.header.log, sequence: set.header.sequence, id: set.id, slots: [0])
    let sent = try bob.store.values(.records, [wanted], bytesMax: .max, readMax: .max)
    let (_, hasWrong) = try alice.store.fill([ArrivedValues(set: wanted, values: sent.first?.slots ?? [])])
    #expect(!hasWrong)
  }

  @Test func `the history of a record shows a value that has arrived since it was last read`() throws {
    let set = try receiveWithoutValues()
    let before = try #require(try alice.store.writes(of: trip(1)).first)
    #expect(before.absent == [1] && before.content(1) == Value.null.encoded)
    try fill(set)
    let after = try #require(try alice.store.writes(of: trip(1)).first)
    #expect(after.absent == [] && after.content(1) == Value.text("Rome").encoded)
    #expect(try alice.store.text(trip(1), 1) == "Rome")
  }

  @Test func `the history of a record shows no value that was erased since it was last read`() throws {
    try bob.write(at: 10, insert(trip(1), names))
    try alice.sync(from: bob)
    #expect(try alice.store.writes(of: trip(1)).first?.content(1) == Value.text("Rome").encoded)
    try alice.receive(try bob.write(at: 20, erase(trip(1))))
    let after = try #require(try alice.store.writes(of: trip(1)).first)
    #expect(after.absent == [1] && after.content(1) == Value.null.encoded)
  }

  @Test func `whatever changes records changes the number by which a plan notices that`() throws {
    var last = alice.store.recordsVersion
    func expectChange(_ what: Comment, _ body: () throws -> Void) throws {
      try body()
      let version = alice.store.recordsVersion
      #expect(version != last, what)
      last = version
    }
    let set = try receiveWithoutValues()
    last = alice.store.recordsVersion
    try expectChange("values have arrived") { try fill(set) }
    try expectChange("a set was folded") { try alice.write(at: 20, edit(trip(1), [2: .text("sunny")])) }
    try bob.receive(
      try bob.draft(at: 2_000_000, [edit(trip(1), [1: .text("Roma")])]), horizon: Clock(raw: .max))
    try alice.sync(from: bob)
    last = alice.store.recordsVersion
    try expectChange("a parked set was folded") {
      _ = try alice.store.foldParked(horizon: Clock(milliseconds: 3_000_000))
    }
    #expect(try alice.store.text(trip(1), 1) == "Roma")
    let log = bob.log
    try expectChange("a log was cut") {
      _ = try alice.store.admit(
        by: { $0 == log ? .cut([[set.id]]) : .open }, horizon: Clock(milliseconds: 3_000_000))
    }
    #expect(try alice.store.text(trip(1), 1) == "Rome")
  }

  // MARK: Who wrote to a record

  @Test func `a record counts as written by some sets only if no other has ever written to it`() throws {
    try alice.write(at: 10, insert(trip(1), names), insert(trip(2), names))
    try bob.sync(from: alice)
    try bob.write(at: 15, edit(trip(1), [1: .text("Rom")]))
    try alice.write(at: 20, delete(trip(1)))
    try alice.sync(from: bob)
    func isAlive(_ number: UInt64, _ sets: Set<Int64>) throws -> Bool? {
      try alice.store.isAlive(trip(number), ifOnlyWrittenBy: sets)
    }
    #expect(try isAlive(1, [1, 2, 3]) == false)
    #expect(try isAlive(1, [1, 2]) == nil, "the write that is shown is Bob's")
    #expect(try isAlive(1, [2, 3]) == nil, "the first write is not shown any more")
    #expect(try isAlive(2, [1]) == true)
    #expect(try isAlive(2, [2, 3]) == nil)
    #expect(try isAlive(9, [1]) == nil)
    let found = try alice.store.stateAndWriteNumbers(of: trip(1))
    #expect(found.numbers == [1, 2, 3] && found.state.life == false)
    let other = try alice.store.stateAndWriteNumbers(of: trip(2))
    #expect(other.numbers == [1] && other.state.life == true)
    let none = try alice.store.stateAndWriteNumbers(of: trip(9))
    #expect(none.numbers == [] && none.state.life == nil)
  }
}
