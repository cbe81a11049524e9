import Records
import Replication
import Storage
import Testing
import Wire

/// A short id tells a record apart from every other record, also from those that come after the first list.
@Suite struct ShortIDTests {
  /// Ids that share from none to 13 digits at their end, and two that differ at their beginning only.
  private static let ids: [RecordID] = {
    var ids = (0..<14).map { shared in
      RecordID(Bytes16(UInt64(shared) << 56, 0x8000_0000_1234_5678 ^ 0x5 << UInt64(4 * shared)))
    }
    ids.append(RecordID(Bytes16(1 << 60, 0x8000_0000_1234_5678)))
    ids.append(RecordID(Bytes16(2 << 60, 0x8000_0000_1234_5678)))
    return ids
  }()

  /// The definition: one digit more than it shares with any other id that differs in the last 16 digits.
  private func expected(_ id: RecordID, among ids: [RecordID]) -> String {
    let digits = Array(id.description.reversed())
    let shared = ids.map { other in
      let shared = zip(digits, other.description.reversed()).prefix { $0 == $1 }.count
      return shared < 16 ? shared : 0
    }
    return String(id.description.suffix(max(8, (shared.max() ?? 0) + 1))).uppercased()
  }

  private func expectShortIDs(_ store: Store, of ids: [RecordID], _ comment: Comment) throws {
    let found = try store.shortIDs(of: ids)
    #expect(found.count == ids.count)
    for id in ids { #expect(found[id] == expected(id, among: ids), comment) }
  }

  private func draft(_ index: Int) -> EntryDraft {
    let kind = [KindNumbers.trip, KindNumbers.habit, KindNumbers.lodging][index % 3]
    return EntryDraft(.insert, RecordKey(kind: kind, id: Self.ids[index]), [(1, .text("Name"))])
  }

  @Test(arguments: 0..<Self.ids.count)
  func `short ids are long enough, however many records come after the first list`(known: Int) throws {
    let alice = try Device("alice")
    for index in 0..<known { try alice.write(at: Int64(index) + 1, draft(index)) }
    try expectShortIDs(alice.store, of: Array(Self.ids[..<known]), "of the records known at the first list")
    for index in known..<Self.ids.count {
      try alice.write(at: Int64(index) + 1, draft(index))
      try expectShortIDs(alice.store, of: Array(Self.ids[...index]), "after record \(index)")
    }
  }

  @Test func `a record that is not written by an insert also counts`() throws {
    let alice = try Device("alice")
    try alice.write(at: 1, draft(9))
    try expectShortIDs(alice.store, of: [Self.ids[9]], "of one record")
    let key = RecordKey(kind: KindNumbers.habit, id: Self.ids[10])
    try alice.write(at: 2, EntryDraft(.put, key, [(1, .text("Name"))]))
    try expectShortIDs(alice.store, of: [Self.ids[9], Self.ids[10]], "of both")
  }
}
