import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Protocol/circle.md, "Branch proof": what a store does with a tree that has a line.
@Suite struct BranchLineTests {
  private let mallory: Device
  private let bob: Device
  /// Four sets, then twenty branches of two sets each.
  private let trunk: [VerifiedChangeSet]
  private let branches: [VerifiedChangeSet]
  /// What Bob wrote after he had folded all of that, and then more.
  private let seen: [VerifiedChangeSet]

  init() throws {
    mallory = try Device("mallory")
    bob = try Device("bob")
    var trunk: [VerifiedChangeSet] = []
    for number in 0..<4 { trunk += try Self.sets(mallory, after: trunk.last, UInt64(number), 1) }
    var branches: [VerifiedChangeSet] = []
    for number in 0..<20 { branches += try Self.sets(mallory, after: trunk.last, UInt64(100 + number), 2) }
    try bob.receive(trunk + branches)
    var seen = try bob.write(at: 5_000, edit(trip(1), [1: .text("Roma")]))
    seen += try bob.write(at: 6_000, insert(trip(2), [1: .text("Oslo")]))
    (self.trunk, self.branches, self.seen) = (trunk, branches, seen)
  }

  private static func sets(
    _ device: Device, after last: VerifiedChangeSet?, _ number: UInt64, _ count: Int
  ) throws -> [VerifiedChangeSet] {
    var author = Author(
      position: AuthorPosition(
        circle: Device.circle, log: device.log, sequence: last?.header.sequence ?? 0, id: last?.id,
        clock: last?.header.clock ?? .zero, logBytes: last?.logBytes ?? 0, unseen: []),
      key: device.key, seed: device.nextSeed)
    return try (0..<count).flatMap { step in
      let operation = OperationDraft(id: OperationID(Bytes16(number, UInt64(step))), verb: "test")
      let key = trip(1)
      let entry =
        last == nil && step == 0
        ? insert(key, [1: .text("Rome")]) : edit(key, [1: .text("\(number) \(step)")])
      return try author.write([entry], operation: operation, wall: Int64(1_000 + number))
    }
  }

  private func admit(_ device: Device, line: UInt64?) throws -> Bool {
    let tree = mallory.log.tree
    return try device.store.admit(
      by: { log in line.flatMap { log.tree == tree ? .cut([], line: $0) : nil } ?? .open },
      horizon: Device.horizon)
  }

  private func state(_ device: Device) throws -> [String] {
    try [
      "\(device.store.digest(.records))", "\(device.store.heads(.records).map(\.id))",
      device.store.text(trip(1), 1) ?? "–", device.store.text(trip(2), 1) ?? "–",
      "\(device.store.conflicts().count)",
    ]
  }

  @Test func `a tree folds up to its line, in whatever order sets and proof arrive`() throws {
    // All sets first, then the proof.
    #expect(try admit(bob, line: 4))
    #expect(bob.store.heads(.records).map(\.sequence).sorted() == [UInt64(seen.count), 4])
    let expected = try state(bob)
    #expect(expected[2...3] == ["Roma", "Oslo"])
    // The proof first: the excluded sets never arrive, and honest sets that depend on them do.
    let carol = try Device("carol")
    _ = try admit(carol, line: 4)
    #expect(try carol.receive(trunk + seen).placements.allSatisfy { $0 == .place(folds: true) })
    #expect(try state(carol) == expected)
    // Between the two, in many orders.
    for seed in 1...12 {
      let dora = try Device("dora")
      let sets = trunk + branches + seen
      let until = sets.count * seed / 13
      try dora.receive(Array(sets[..<until]))
      _ = try admit(dora, line: 4)
      let rest = try dora.receive(Array(sets[until...])).placements
      #expect(
        zip(sets[until...], rest).allSatisfy {
          ($0.header.sequence > 4 && $0.header.log == mallory.log) == ($1 == .excluded)
        })
      #expect(try state(dora) == expected, "after \(until) sets")
    }
  }

  @Test func `a lower line takes more away, and without a line everything returns`() throws {
    let before = try state(bob)
    #expect(try admit(bob, line: 4))
    #expect(try admit(bob, line: 0))
    #expect(bob.store.heads(.records).map(\.log) == [bob.log])
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    #expect(try admit(bob, line: nil))
    #expect(try state(bob) == before)
  }

  @Test func `a line beyond all sets changes nothing, and later sets are excluded`() throws {
    #expect(try !admit(bob, line: 6))
    let more = try Self.sets(mallory, after: branches[1], 999, 1)
    #expect(try bob.receive(more).placements == [.excluded])
    #expect(
      try bob.store.lacking([LogHead(log: mallory.log, sequence: 7, id: more[0].id, foldedSequence: 7)])
        .isEmpty)
  }

  @Test func `other trees of the device are not affected`() throws {
    let other = Incarnation(random: Bytes16(7, 7), number: (mallory.log.incarnation.number % 16) + 1)
    var author = Author(
      position: AuthorPosition(
        circle: Device.circle, log: LogKey(device: mallory.log.device, incarnation: other, lane: .records),
        sequence: 0, id: nil, clock: .zero, logBytes: 0, unseen: []),
      key: mallory.key, seed: mallory.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(7, 7)), verb: "test")
    let sets = try author.write([insert(trip(9), [1: .text("Bern")])], operation: operation, wall: 7_000)
    #expect(try admit(bob, line: 0))
    #expect(try bob.receive(sets).placements == [.place(folds: true)])
  }

  @Test func `a commit reports a tree with seventeen branches, and can end there`() throws {
    let carol = try Device("carol")
    let report = try carol.store.commit(trunk + branches, horizon: Device.horizon, endsAtExcess: true)
    #expect(report.excessiveTrees == [mallory.log.tree])
    #expect(report.placements.count == trunk.count + 33)
    #expect(carol.store.excessiveTrees == [mallory.log.tree])
    let found = try carol.store.setsAtForks(of: mallory.log.tree).map(\.id)
    #expect(Set(found).isSuperset(of: (0..<17).map { branches[2 * $0].id }))
    #expect(try carol.receive(Array(branches[33...])).placements.count == 7)
  }
}
