import LogStorage
import RecordTables
import Records
import Replication
import SQLite
import Testing
import Vectors
import Wire

@testable import Storage

/// The table of hidden writes follows from the folded sets, however they were put into batches.
@Suite struct HiddenWriteTests {
  private static let trips: [RecordKey] = [trip(1), trip(2)]
  private static let lodgings: [RecordKey] = [lodging(1), lodging(2)]
  private static let attachments: [RecordKey] = [attachment(1), attachment(2)]

  /// Random writes of three devices that meet now and then.
  private func history(_ random: inout SeededRandom) throws -> [VerifiedChangeSet] {
    let devices = try ["alice", "bob", "carol"].map { try Device($0) }
    var time: Moment = 10
    for _ in 0..<18 {
      time += 10
      let writer = devices[random.below(3)]
      var drafts: [EntryDraft] = []
      for _ in 0...random.below(3) { drafts.append(draft(&random)) }
      // One entry for each record.
      let keys = Set(drafts.map(\.key))
      try writer.receive(writer.draft(at: time, keys.compactMap { key in drafts.first { $0.key == key } }))
      let reader = devices[random.below(3)]
      if reader !== writer, random.below(2) == 0 { try reader.sync(from: writer) }
    }
    for _ in 0..<2 { for device in devices { for other in devices { try device.sync(from: other) } } }
    return devices[0].known
  }

  private func draft(_ random: inout SeededRandom) -> EntryDraft {
    let (one, other) = (Self.trips[random.below(2)], Self.lodgings[random.below(2)])
    let record = [one, other, Self.attachments[random.below(2)]][random.below(3)]
    let text = Value.text("text \(random.below(3))")
    switch random.below(6) {
    case 0: return delete(record)
    case 1: return restore(record)
    case 2 where record.kind == KindNumbers.lodging: return edit(record, [1: .bytes(one.id.bytes)])
    case 2 where record.kind == KindNumbers.attachment: return edit(record, [1: owner(other)])
    case 3 where record.kind == KindNumbers.lodging:
      return insert(record, [1: .bytes(one.id.bytes), 2: text])
    case 3 where record.kind == KindNumbers.attachment: return insert(record, [1: owner(other), 4: text])
    case 3: return insert(record, [1: text])
    default: return edit(record, [record.kind == KindNumbers.trip ? 2 : 4: text])
    }
  }

  private struct Hidden: Hashable {
    let record: RecordKey
    let number: Int64
    let isByParent: Bool
    let deletion: Int64
  }

  private func table(_ store: Store) throws -> Set<Hidden> {
    try store.connection.with("SELECT kind, record, number, by_parent, deletion FROM hidden_writes") { row in
      var found: Set<Hidden> = []
      while try row.step() {
        let key = RecordKey(
          kind: try #require(KindNumber(UInt64(row.integer(0)))), id: try row.recordID(1))
        found.insert(
          Hidden(
            record: key, number: row.integer(2), isByParent: row.integer(3) != 0, deletion: row.integer(4)))
      }
      return found
    }
  }

  /// What the table should list, from the rows, the siblings and the dependencies of the log.
  private func expected(_ store: Store) throws -> Set<Hidden> {
    var found: Set<Hidden> = []
    for key in Self.trips + Self.lodgings + Self.attachments {
      guard let deletion = try deletion(hiding: key, in: store), let row = try store.record(key) else {
        continue
      }
      let stamps = row.stamps.cells.filter { $0.field != Fields.life || row.life == true }
      let numbers = Set(stamps.map(\.number)).union(try siblings(of: key, in: store))
      for number in numbers where number != 0 && number != deletion.number {
        let (write, deleted) = (try store.place(number), try store.place(deletion.number))
        guard try !store.covers(write, deleted), try !store.covers(deleted, write) else { continue }
        found.insert(
          Hidden(
            record: key, number: number, isByParent: deletion.record != key, deletion: deletion.number))
      }
    }
    return found
  }

  /// The nearest deleted record on the way up, with the set that deleted it.
  private func deletion(
    hiding key: RecordKey, in store: Store
  ) throws -> (record: RecordKey, number: Int64)? {
    guard let row = try store.record(key) else { return nil }
    if row.life == false { return row.stamps[Fields.life].map { (key, $0) } }
    guard row.life == true, let content = row[1]?.encoded,
      let parent = store.schema.kind(key.kind)?.parentKey(content[...])
    else { return nil }
    return try deletion(hiding: parent, in: store)
  }

  /// The sets of the sibling writes of a record, without deletions.
  private func siblings(of key: RecordKey, in store: Store) throws -> Set<Int64> {
    try store.connection.with(
      "SELECT number, field, content FROM siblings WHERE kind = ?1 AND record = ?2"
    ) { row in
      try row.bind(1, Int(key.kind.rawValue))
      try row.bind(2, key.id.bytes)
      var found: Set<Int64> = []
      while try row.step() {
        let isDeletion = row.integer(1) == Int64(Fields.life) && row.bytes(2) != Value.bool(true).encoded
        if !isDeletion { found.insert(row.integer(0)) }
      }
      return found
    }
  }

  @Test(arguments: UInt64(0)..<60)
  func `it lists the same in batches of any size`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let sets = try history(&random)
    for batch in [1, 3, 8, sets.count] {
      let device = try Device("late")
      for start in stride(from: 0, to: sets.count, by: batch) {
        try device.receive(Array(sets[start..<min(start + batch, sets.count)]))
        #expect(try table(device.store) == expected(device.store), "after \(start + batch) sets by \(batch)")
      }
    }
  }
}
