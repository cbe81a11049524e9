// Protocol/change-set.md, "Erase"

import Replication
import SQLite
import Wire

// Erasing values from stored sets.
//
// An erase names a record. When it is folded, all sets in its past that wrote to the record lose the slots in which
// they did: each slot is replaced by its commitment, so that header, signature and id stay valid. The set can still be
// verified, ordered and sent, but this device no longer sends the values to any other.
//
//     set 8     trip 7: name, notes     lodging 9: name           complete
//     set 12    erase trip 7                                      has seen set 8
//     set 8     trip 7: (commitment)    lodging 9: name           after set 12 was folded
//
// Since the stored sets are causally closed, every set in the past of a folded erase is folded too, apart from those
// that a cut keeps back. These are searched one by one (`redactOutside`): they are rare, and have no position that
// tells whether the erase has seen them, so they lose the slots if they are older.
//
// The bytes of erased values remain in free space of the database and in the write-ahead log, which holds former
// versions of pages. The next checkpoint writes the database again and empties the log (`Store.isErasePending`).

/// The erases that were folded, and the removal of values from the stored sets.
final class Erasures {
  private let connection: Connection
  private let insert: Statement
  private let select: Statement
  private let update: Statement

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
  func numbers(of key: RecordKey) throws -> [Int64] {
    try bind(select, key)
    defer { select.reset() }
    var numbers: [Int64] = []
    while try select.step() { numbers.append(select.integer(0)) }
    return numbers
  }

  /// Removes the values of a record from a stored set. Of a damaged set, all values are removed, because it can't be
  /// told which of its bytes belong to the record.
  ///
  /// - Returns: whether the set held values of the record.
  func redact(_ number: Int64, _ key: RecordKey) throws -> Bool {
    let set: VerifiedChangeSet
    do { set = try Store.storedSet(number, connection) } catch StoreError.damagedSet {
      try replace(number, by: [])
      return true
    }
    guard let values = set.redacted(key) else { return false }
    try replace(number, by: values)
    return true
  }

  private func replace(_ number: Int64, by values: [UInt8]) throws {
    try update.bind(1, number)
    try update.bind(2, values)
    try update.run()
  }

  /// Removes the values of a record from the sets that a cut keeps back, whether they have a place in the logs or are
  /// in quarantine, if they are older than the erase.
  ///
  /// - Returns: the number of sets that held values of the record.
  func redactOutside(_ key: RecordKey, before place: SetPosition, _ causality: Causality) throws -> Int {
    var count = 0
    for number in try heldNumbers() {
      let clock = try causality.origin(number).stamp.clock
      if clock < place.origin.stamp.clock, try redact(number, key) { count += 1 }
    }
    for (id, raw) in try quarantined() {
      guard let set = try? VerifiedChangeSet(stored: raw, id: id),
        set.header.clock < place.origin.stamp.clock,
        let values = set.redacted(key)
      else { continue }
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
  /// Returns the values of the set without those of a record; nil if none of them are present.
  func redacted(_ key: RecordKey) -> [UInt8]? {
    var gone: Set<Int> = []
    var slot = 0
    for entry in body.entries where !entry.cells.isEmpty {
      if entry.key == key, body.slots.content(slot) != nil { gone.insert(slot) }
      slot += 1
    }
    return gone.isEmpty ? nil : values(without: gone)
  }
}
