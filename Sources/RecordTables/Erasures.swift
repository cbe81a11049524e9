// Protocol/change-set.md, "Erase"

import LogStorage
package import Replication
import SQLite
import Wire

// Erasing values from stored sets.
//
// An erase names a record. When it is applied, all sets in its past that wrote to the record lose the slots in which
// they did: each slot is replaced by its commitment, so that header, signature and id stay valid. The set can still be
// verified, ordered and sent, but this device no longer sends the values to any other.
//
//     set 8     trip 7: name, notes     lodging 9: name           complete
//     set 12    erase trip 7                                      has seen set 8
//     set 8     trip 7: (commitment)    lodging 9: name           after set 12 was applied
//
// A batch collects what its erases remove, and rewrites each stored set once at its end. A set that wrote 1,000 records
// is thus parsed, hashed and written once if all of them are erased, and not 1,000 times.
//
// Since the stored sets are causally closed, every set in the past of a folded erase is folded too, apart from those
// that a cut keeps back. These are searched once per batch (`redactOutside`): they are rare, and have no position that
// tells whether an erase has seen them, so they lose the slots if they are older.
//
// The bytes of erased values remain in free space of the database and in the write-ahead log, which holds former
// versions of pages. The next checkpoint writes the database again and empties the log (`Store.isErasePending`).

/// The erases that were folded, and the removal of values from the stored sets.
package final class Erasures {
  private let connection: Connection
  private let insert: Statement
  private let select: Statement
  private let update: Statement
  /// The number of times that the values of a stored set were read in order to erase some of them, since the store was
  /// opened.
  private(set) var examinedSets = 0
  /// The number of times that the values of a stored set were written without some of them, since the store was opened.
  private(set) var rewrittenSets = 0

  init(_ connection: Connection) throws {
    self.connection = connection
    insert = try connection.prepare(
      "INSERT INTO erasures(kind, record, number) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
    select = try connection.prepare(
      "SELECT number FROM erasures WHERE kind = ?1 AND record = ?2 ORDER BY number")
    update = try connection.prepare("UPDATE change_sets SET field_values = ?2 WHERE number = ?1")
  }

  func note(_ key: RecordKey, by number: Int64) throws {
    try bind(insert, key)
    try insert.bind(3, number)
    try insert.run()
  }

  /// Returns the numbers of the folded sets that erased a record, ascending.
  package func numbers(of key: RecordKey) throws -> [Int64] {
    try bind(select, key)
    defer { select.reset() }
    var numbers: [Int64] = []
    while try select.step() { numbers.append(select.integer(0)) }
    return numbers
  }

  /// Removes the values of some records from a stored set. Of a damaged set, all values are removed, because it can't
  /// be told which of its bytes belong to the records.
  ///
  /// - Returns: whether the set held values of the records.
  func redact(_ number: Int64, where isErased: (RecordKey) -> Bool) throws -> Bool {
    examinedSets += 1
    let set: VerifiedChangeSet
    do { set = try ChangeSetLogs.storedSet(number, connection) } catch StoreError.damagedSet {
      try replace(number, by: [])
      return true
    }
    guard let values = set.redacted(where: isErased) else { return false }
    try replace(number, by: values)
    return true
  }

  private func replace(_ number: Int64, by values: [UInt8]) throws {
    rewrittenSets += 1
    try update.bind(1, number)
    try update.bind(2, values)
    try update.run()
  }

  /// Removes the values of records from the sets that a cut keeps back, whether they have a place in the logs or are in
  /// quarantine, if they are older than the erase.
  ///
  /// - Parameter erased: the records, each with the clock of its newest erase.
  /// - Returns: the number of sets that held values of the records.
  func redactOutside(_ erased: [RecordKey: Clock], _ causality: Causality) throws -> Int {
    guard let newest = erased.values.max() else { return 0 }
    var count = 0
    for number in try heldNumbers() {
      let clock = try causality.origin(number).stamp.clock
      guard clock < newest else { continue }
      if try redact(number, where: { key in erased[key].map { clock < $0 } ?? false }) { count += 1 }
    }
    for (id, raw) in try quarantined() {
      guard let set = try? VerifiedChangeSet(stored: raw, id: id), set.header.clock < newest else { continue }
      examinedSets += 1
      guard let values = set.redacted(where: { key in erased[key].map { set.header.clock < $0 } ?? false })
      else { continue }
      rewrittenSets += 1
      try connection.with("UPDATE quarantine SET field_values = ?2 WHERE id = ?1") { row in
        try row.bind(1, id.bytes)
        try row.bind(2, values)
        try row.run()
      }
      count += 1
    }
    return count
  }

  private func heldNumbers() throws -> [Int64] {
    try connection.with("SELECT number FROM change_sets WHERE folded = ?1 ORDER BY number") { row in
      try row.bind(1, FoldState.held.rawValue)
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
  }

  private func quarantined() throws -> [(ChangeSetID, RawChangeSet)] {
    try connection.with("SELECT id, \(RawChangeSet.columns) FROM quarantine ORDER BY id") { row in
      var found: [(ChangeSetID, RawChangeSet)] = []
      while try row.step() {
        if let id = ChangeSetID(bytes: row.bytes(0)) { found.append((id, RawChangeSet(row, at: 1))) }
      }
      return found
    }
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}

extension VerifiedChangeSet {
  /// Returns the values of the set without those of some records; nil if none of them are present.
  func redacted(where isErased: (RecordKey) -> Bool) -> [UInt8]? {
    var gone: Set<Int> = []
    var slot = 0
    for entry in body.entries where !entry.cells.isEmpty {
      if body.slots.content(slot) != nil, isErased(entry.key) { gone.insert(slot) }
      slot += 1
    }
    return gone.isEmpty ? nil : values(without: gone)
  }
}
