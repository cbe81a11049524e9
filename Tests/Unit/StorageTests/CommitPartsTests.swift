import Foundation
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Batches that are stored in parts, fail in the middle, or are followed by a restart.
@Suite struct CommitPartsTests {
  private struct Failure: Error {}

  private let alice: Device
  private let bob: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    for number in UInt64(1)...4 {
      try alice.write(at: Moment(number) * 10, insert(trip(number), [1: .text("Trip \(number)")]))
    }
  }

  @Test func `a commit that has to give way stores at least one set, and the rest follows later`() throws {
    var calls = 0
    let report = try bob.store.commit(
      alice.known, horizon: Device.horizon,
      isTurnOver: {
        calls += 1
        return calls == 2
      })
    #expect(report.placements == [.place(folds: true), .place(folds: true)])
    #expect(bob.store.heads(.records).map(\.sequence) == [2])
    let next = try bob.store.commit(
      Array(alice.known.dropFirst(2)), horizon: Device.horizon, isTurnOver: { true })
    #expect(next.placements == [.place(folds: true)])
    let written: Set<RecordKey> = [trip(3)]
    #expect(next.records == written)
    try bob.receive(alice.known)
    #expect(try dump(bob.store) == dump(alice.store))
  }

  @Test func `if a source of sets fails in the middle, nothing of it is stored, and it can be read again`()
    throws
  {
    let before = try dump(bob.store)
    var rest = alice.known[...]
    #expect(throws: Failure.self) {
      try bob.store.commit(
        horizon: Device.horizon,
        next: {
          guard rest.count > 1 else { throw Failure() }
          return rest.popFirst()
        })
    }
    #expect(try dump(bob.store) == before)
    #expect(bob.store.heads(.records) == [] && bob.store.newestNumber == 0)
    var again = alice.known[...]
    let report = try bob.store.commit(horizon: Device.horizon, next: { again.popFirst() })
    #expect(report.placements.count == 4)
    #expect(try dump(bob.store) == dump(alice.store))
  }

  /// How far each branch is folded is not stored with it, and is found again from the sets.
  @Test(arguments: [false, true])
  func `a forked log of which one branch is parked is the same after a restart`(isParkedFirst: Bool) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "parts-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/store.db"
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(2)))
    for (wall, name) in [(500, "later"), (510, "last")] as [(Moment, String)] {
      try copy.write(at: wall, edit(trip(1), [1: .text(name)]))
    }
    let horizon = Clock(milliseconds: 100)
    let heads: [LogHead]
    do {
      let reader = try Device("carol", Store(path: path))
      try reader.receive(
        isParkedFirst ? copy.known + alice.known : alice.known + copy.known, horizon: horizon)
      heads = reader.store.heads(.records)
      #expect(heads.map(\.foldedSequence).sorted() == [2, 4])
    }
    let opened = try Device("carol", Store(path: path))
    #expect(opened.store.heads(.records) == heads)
    let position = try opened.store.authorPosition(circle: Device.circle, log: opened.log)
    #expect(position.unseen.map(\.sequence) == [4], "nothing is declared of the parked branch")
    _ = try opened.store.foldParked(horizon: Device.horizon)
    try alice.sync(from: copy)
    #expect(try dump(opened.store) == dump(alice.store))
    #expect(try opened.store.text(trip(1), 1) == "last")
  }
}
