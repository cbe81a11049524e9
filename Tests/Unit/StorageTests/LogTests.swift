import Foundation
import LogStorage
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Testing
import Wire

@Suite struct LogTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  @Test func `a set that is received twice is stored once`() throws {
    let sets = try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    let digest = alice.store.digest(.records)
    #expect(try alice.receive(sets).placements == [.duplicate])
    #expect(alice.store.digest(.records) == digest)
    #expect(alice.store.changeSetCount(.records) == 1)
  }

  @Test func `sets of a failed transaction are numbered the same when they are stored at last`() throws {
    struct Failure: Error {}
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    let sets = try alice.draft(at: 20, [edit(rome, [1: .text("Roma")])])
    #expect(throws: Failure.self) {
      try alice.store.commit(sets, horizon: Device.horizon, noting: { _ in throw Failure() })
    }
    try alice.receive(sets)
    #expect(try alice.store.writeNumbers(of: rome) == [1, 2])
  }

  @Test func `a set whose predecessor is missing is not stored, and the next try succeeds`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    let late = Array(alice.known.suffix(1))
    #expect(try bob.receive(late).placements == [.missing(alice.log, sequence: 1)])
    #expect(bob.store.heads(.records).isEmpty)
    try bob.sync(from: alice)
    #expect(try dump(bob.store) == dump(alice.store))
  }

  @Test func `a range that several wants have in common is read once`() throws {
    for number in 1...3 { try alice.write(at: Int64(number * 10), insert(trip(UInt64(number)), [:])) }
    let tip = try #require(alice.store.heads(.records).first)
    let want = Want(log: tip.log, from: 1, through: 3, tip: tip.id)
    let part = try alice.store.read(.records, [want, want, want], bytesMax: .max, setsMax: .max)
    #expect(part.sets.map(\.sequence) == [1, 2, 3])
    #expect(part.rest.isEmpty)
  }

  @Test(arguments: ["header", "signature", "plan", "field_values"])
  func `altered data is never sent, not even if the set has just been stored`(column: String) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/store.db"
    let dave = try Device("dave", Store(path: path))
    try dave.write(at: 10, insert(rome, [1: .text("Rome")]))
    let tip = try #require(dave.store.heads(.records).first)
    let want = Want(log: tip.log, from: 1, through: 1, tip: tip.id)
    #expect(try dave.store.read(.records, [want], bytesMax: .max, setsMax: .max).sets.count == 1)
    try Connection(.file(path)).execute("UPDATE change_sets SET \(column) = zeroblob(length(\(column)))")
    #expect(try dave.store.read(.records, [want], bytesMax: .max, setsMax: .max).sets.isEmpty)
    #expect(dave.store.damagedSets.map(\.id) == [tip.id])
  }

  @Test func `a set from the future is parked, dependent sets are parked too, and all fold in time`() throws {
    try alice.write(at: 500, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 600, edit(rome, [1: .text("Roma")]))
    let report = try bob.receive(alice.known, horizon: Clock(milliseconds: 550))
    #expect(report.placements == [.place(folds: true), .place(folds: false)])
    #expect(try bob.store.text(rome, 1) == "Rome")
    #expect(try bob.store.parkedCount(.records) == 1)
    #expect(try bob.store.nextParkedClock == Clock(milliseconds: 600))
    let head = try #require(bob.store.heads(.records).first)
    #expect(head.sequence == 2)
    #expect(head.foldedSequence == 1)
    #expect(try bob.store.foldParked(horizon: Clock(milliseconds: 599)).heads.isEmpty)
    #expect(try bob.store.foldParked(horizon: Clock(milliseconds: 600)).heads.map(\.foldedSequence) == [2])
    #expect(try dump(bob.store) == dump(alice.store))
    #expect(try bob.store.nextParkedClock == nil)
  }

  @Test func `a set that depends on a parked set of another log is parked with it`() throws {
    try alice.write(at: 500, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 600, edit(rome, [1: .text("Rom")]))
    let carol = try Device("carol")
    try carol.receive(bob.known, horizon: Clock(milliseconds: 499))
    #expect(try carol.store.parkedCount(.records) == 2)
    #expect(try carol.store.record(rome) == nil)
    _ = try carol.store.foldParked(horizon: Clock(milliseconds: 600))
    #expect(try dump(carol.store) == dump(bob.store))
  }

  @Test func `parked sets do not advance the own clock`() throws {
    try alice.write(at: 900, insert(rome, [1: .text("Rome")]))
    try bob.receive(alice.known, horizon: Clock(milliseconds: 100))
    let position = try bob.store.authorPosition(circle: Device.circle, log: bob.log)
    #expect(position.clock == .zero)
    #expect(position.unseen.isEmpty)
  }

  @Test func `a set declares what was folded since the one before, once`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    let first = try bob.write(at: 20, edit(rome, [2: .text("sunny")]))
    #expect(first[0].header.dependencies.map(\.sequence) == [1])
    let second = try bob.write(at: 30, edit(rome, [2: .text("hot")]))
    #expect(second[0].header.dependencies.isEmpty)
    try alice.write(at: 40, edit(rome, [1: .text("Roma")]))
    try bob.sync(from: alice)
    let third = try bob.write(at: 50, edit(rome, [2: .text("cool")]))
    #expect(third[0].header.dependencies.map(\.sequence) == [2])
  }

  @Test func `wants are read in causal order, within bounds, and the rest is reported`() throws {
    for round in 0..<5 {
      let wall = Int64(round) * 20 + 10
      try alice.write(at: wall, insert(trip(UInt64(round) + 10), [1: .text("A")]))
      try bob.sync(from: alice)
      try bob.write(at: wall + 10, insert(trip(UInt64(round) + 50), [1: .text("B")]))
      try alice.sync(from: bob)
    }
    let carol = try Device("carol")
    var wants = Heads(carol.store.heads(.records)).needs(from: Heads(alice.store.heads(.records)))
    var turns = 0
    while !wants.isEmpty, turns < 20 {
      let read = try alice.store.read(.records, wants, bytesMax: 1_000_000, setsMax: 3)
      #expect(read.sets.count <= 3)
      let report = try carol.receive(try read.sets.map { try VerifiedChangeSet(verifying: $0.raw) })
      #expect(report.placements.allSatisfy { $0 == .place(folds: true) })
      wants = read.rest
      turns += 1
    }
    #expect(turns == 4)
    #expect(try dump(carol.store) == dump(alice.store))
  }

  @Test func `at least one set is read, however little room there is`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    let wants = Heads().needs(from: Heads(alice.store.heads(.records)))
    let read = try alice.store.read(.records, wants, bytesMax: 1, setsMax: 10)
    #expect(read.sets.count == 1)
    #expect(read.rest.isEmpty)
  }

  @Test func `the report names the changed records`() throws {
    let report = try alice.receive(
      try alice.draft(at: 10, [insert(rome, [1: .text("Rome")]), lodging(1, of: rome)]))
    #expect(report.kinds == [rome.kind, KindNumbers.lodging])
    #expect(report.records == [rome, lodging(1)])
    #expect(report.foldedClocks == [alice.log.device: Clock(milliseconds: 10)])
    #expect(report.entries[rome.kind]?.inserts == 1)
    #expect(report.recordsDigest == alice.store.digest(.records))
    let deletion = try alice.receive(try alice.draft(at: 20, [delete(rome)]))
    #expect(deletion.kinds.contains(KindNumbers.lodging))
    #expect(deletion.entries[rome.kind]?.deletes == 1)
  }

  @Test func `the digest is the sum of its buckets`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("A")]), insert(trip(200), [1: .text("B")]))
    var sum = Digest.empty
    for bucket in alice.store.digestBuckets(.records) { sum.add(bucket.sum) }
    #expect(sum == alice.store.digest(.records))
    #expect(alice.store.digestBuckets(.records).count { $0 != .empty } == 2)
  }
}
