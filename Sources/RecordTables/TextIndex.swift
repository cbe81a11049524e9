// Sources/store.md, "The text index"

import LogStorage
import Records
package import Replication
package import SQLite
import Wire

// The index of the text of records, for searches.
//
// SQLite's FTS5 keeps for each sequence of three characters the records whose text contains it. The text of a record is
// that of its searched fields (`Kind.searchedFields`), folded by `foldedText`. A query asks for the records that contain
// all sequences of a text, and then compares the text with their rows:
//
//     records(containing: "São")    "sao" occurs in documents 3 and 7
//                                   3  (trip, 019d…)    "São Paulo"      contains it
//                                   7  (trip, 01a2…)    "Sa\no"          does not: the sequence spans two fields
//
// So the index only narrows down the search, and results are the same with it as without it. The index holds neither
// the texts nor the places of the sequences in them, only the numbers of the documents (`content=''`, `detail=none`).
// To remove a record, FTS5 must be given the very text that it was given before, so the fold passes the text of the
// former row. FTS5 keeps what is removed until it merges the parts of its index (`removeDeleted`).
//
// The index may be stale: it is damaged, or so many records have arrived that building it at the end costs
// less than updating it. Then writes and reads go on without it, and it is built again when the store is idle.

/// Maintains the index of the text of records.
package final class TextIndex {
  private let connection: Connection
  private let schema: Schema
  private let fields: [KindNumber: [FieldNumber]]
  /// The records whose text has changed since the last `update`.
  private var changes: [RecordKey: TextChange] = [:]
  /// Whether the index is damaged or not up to date, so that all queries have to do without it.
  private(set) var isStale: Bool
  /// Whether an attempt to build the index again has failed, so that the next start has to try again.
  private var rebuildFailed = false

  private struct TextChange {
    /// The text that the index has; empty if the record is not in it.
    let old: String
    var new: String
  }

  init(_ connection: Connection, _ schema: Schema) throws {
    self.connection = connection
    self.schema = schema
    fields = Dictionary(
      uniqueKeysWithValues: schema.kinds.filter { !$0.searchedFields.isEmpty }
        .map { ($0.number, $0.searchedFields.map(\.number)) })
    isStale = try Self.isStale(in: connection)
  }

  // MARK: Tables

  private static let name = "text_index"
  /// Lists the content of the index, for verification.
  package static let terms = "text_terms"
  /// The documents of the index: the record of each.
  package static let documents = "text_documents"

  static let sql = """
    CREATE TABLE \(documents)(number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id BLOB NOT NULL);
    CREATE UNIQUE INDEX \(documents)_by_record ON \(documents)(kind, id);
    CREATE VIRTUAL TABLE \(name) USING fts5(
      text, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1'
    );
    CREATE VIRTUAL TABLE \(terms) USING fts5vocab(\(name), instance);
    """

  /// Creates the tables of the index, empty, in the current transaction.
  static func create(_ connection: Connection) throws {
    try connection.execute(sql)
    try MetaTable.remove(staleKey, connection)
  }

  /// Drops the tables of the index, damaged or not, in the current transaction.
  static func drop(_ connection: Connection) throws {
    for table in [terms, name] { try connection.dropVirtualTable(table) }
    try connection.execute("DROP TABLE IF EXISTS \(documents)")
  }

  /// Returns, for each record in the index, a sum of hashes of what the index has for it.
  package static func content(of connection: Connection) throws -> [RecordKey: UInt64] {
    var sums: [Int64: UInt64] = [:]
    try connection.with("SELECT term, doc FROM \(terms)") { row in
      while try row.step() {
        let hash = row.text(0).utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
          ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        sums[row.integer(1), default: 0] &+= hash
      }
    }
    return try connection.with("SELECT number, kind, id FROM \(documents)") { row in
      var found: [RecordKey: UInt64] = [:]
      while try row.step() {
        guard let kind = UInt64(exactly: row.integer(1)).flatMap({ KindNumber($0) }) else { continue }
        found[RecordKey(kind: kind, id: try row.recordID(2))] = sums.removeValue(forKey: row.integer(0)) ?? 0
      }
      guard sums.isEmpty else { throw SQLiteError.missingRow(of: documents) }
      return found
    }
  }

  /// Whether a table in the schema of a store is one in which SQLite keeps the index. Its rows depend on the order of the
  /// writes.
  package static func isInternal(_ table: String) -> Bool {
    table == terms || table == name || table.hasPrefix("\(name)_")
  }

  // MARK: Queries

  /// Returns the SQL that selects the ids of the records of a kind that match an expression.
  package static func select(_ kind: KindNumber, matching argument: String) -> String {
    // CROSS JOIN fixes the order. Otherwise SQLite goes through all documents of the kind, and searches for each.
    "SELECT d.id FROM \(name) CROSS JOIN \(documents) d ON d.number = \(name).rowid"
      + " WHERE \(name) MATCH \(argument) AND d.kind = \(kind.rawValue)"
  }

  /// Returns the expression that the records with some folded texts match; nil if all texts are too short for the index.
  package static func expression(_ texts: [String]) -> String? {
    var sequences: [String] = []
    var seen: Set<String> = []
    for text in texts {
      // FTS5 ends its expressions and texts at a NUL.
      let scalars = Array(text.unicodeScalars)
      for start in scalars.indices.dropLast(sequenceScalars - 1) {
        let sequence = scalars[start..<start + sequenceScalars]
        guard !sequence.contains("\0") else { continue }
        let string = String(String.UnicodeScalarView(sequence))
        if seen.insert(string).inserted { sequences.append(string) }
      }
    }
    guard !sequences.isEmpty else { return nil }
    // A few sequences of a long text are enough to narrow down the search.
    let step = (sequences.count + sequencesMax - 1) / sequencesMax
    return stride(from: 0, to: sequences.count, by: step)
      .map { "\"\(sequences[$0].replacing("\"", with: "\"\""))\"" }.joined(separator: " AND ")
  }

  private static let sequenceScalars = 3
  private static let sequencesMax = 24

  // MARK: Changes

  /// Notes a record that was inserted by the fast path of the fold.
  func inserted(_ entry: Entry, in body: ChangeSetBody) {
    guard let searched = fields[entry.key.kind] else { return }
    var texts: [FieldNumber: String] = [:]
    for cell in body.cells[entry.cells] where searched.contains(cell.field) {
      texts[cell.field] = body.content(cell).flatMap(Self.text)
    }
    note(entry.key, from: "", to: Self.joined(searched.compactMap { texts[$0] }))
  }

  /// Notes a record that was written.
  func changed(_ key: RecordKey, from old: StoredRow?, to new: StoredRow) {
    guard let searched = fields[key.kind] else { return }
    note(key, from: old.map { Self.text(of: $0, searched) } ?? "", to: Self.text(of: new, searched))
  }

  private func note(_ key: RecordKey, from old: String, to new: String) {
    if changes[key] != nil {
      changes[key]?.new = new
    } else if old != new {
      changes[key] = TextChange(old: old, new: new)
    }
  }

  private static func text(of row: StoredRow, _ searched: [FieldNumber]) -> String {
    joined(searched.compactMap { row.contents[$0].flatMap { text($0[...]) } })
  }

  private static func text(_ content: ArraySlice<UInt8>) -> String? { (try? Value(encoded: content))?.asText }

  private static func joined(_ texts: [String]) -> String {
    let text = texts.filter { !$0.isEmpty }.map(foldedText).joined(separator: "\n")
    return text.utf8.contains(0) ? text.replacing("\0", with: "\n") : text
  }

  /// Restores the state before a batch that has failed.
  ///
  /// - Parameter wasStale: `isStale` before the batch.
  func restore(wasStale: Bool) {
    changes = [:]
    // An index that became stale in the batch is the same as before, but it may be damaged.
    isStale = isStale || wasStale
  }

  /// Forgets the changes, after the tables were created again.
  func reload() throws {
    changes = [:]
    isStale = try Self.isStale(in: connection)
  }

  /// Writes the changes of a batch, if they are many.
  func updateIfMany() throws {
    if changes.count >= Self.manyChanges { try update() }
  }

  private static let manyChanges = 8_192

  /// Writes the changes of a batch. If they are many compared with the index, it becomes stale instead.
  func update() throws {
    let changes = changes.filter { $0.value.old != $0.value.new }.sorted { $0.key < $1.key }
    self.changes = [:]
    guard !changes.isEmpty else { return }
    do {
      if try !isStale && !areMany(changes.count) { return try connection.savepoint { try write(changes) } }
    } catch let error as SQLiteError where Self.isDamage(error) {}
    // From now on the index differs from the rows, so no query may use it.
    isStale = true
    if try !Self.isStale(in: connection) { try MetaTable.set(Self.staleKey, 1, connection) }
  }

  private func areMany(_ count: Int) throws -> Bool {
    guard count >= Self.manyChanges else { return false }
    return try connection.with("SELECT count(*) FROM \(Self.documents)") { row in
      try row.step() && row.integer(0) / 4 <= count
    }
  }

  /// Documents that are in the index come first, in the order of their numbers: FTS5 begins a new part of its index
  /// whenever a number is lower than the one before.
  private func write(_ changes: [(key: RecordKey, value: TextChange)]) throws {
    var known: [(number: Int64, change: TextChange)] = []
    for (key, change) in changes where !change.old.isEmpty { known.append((try number(of: key), change)) }
    for (number, change) in known.sorted(by: { $0.number < $1.number }) {
      try remove(change.old, number)
      if change.new.isEmpty { try removeDocument(number) } else { try add(change.new, number) }
    }
    for (key, change) in changes where change.old.isEmpty { try add(change.new, try newDocument(key)) }
  }

  private func number(of key: RecordKey) throws -> Int64 {
    try connection.with("SELECT number FROM \(Self.documents) WHERE kind = ?1 AND id = ?2") { row in
      try row.bind(1, Int(key.kind.rawValue))
      try row.bind(2, bigEndian: key.id.raw.word0, key.id.raw.word1)
      guard try row.step() else { throw SQLiteError.missingRow(of: Self.documents) }
      return row.integer(0)
    }
  }

  private func newDocument(_ key: RecordKey) throws -> Int64 {
    try connection.with("INSERT INTO \(Self.documents)(kind, id) VALUES (?1, ?2)") { row in
      try row.bind(1, Int(key.kind.rawValue))
      try row.bind(2, bigEndian: key.id.raw.word0, key.id.raw.word1)
      try row.run()
    }
    return connection.lastInsertedRow
  }

  private func removeDocument(_ number: Int64) throws {
    try connection.with("DELETE FROM \(Self.documents) WHERE number = ?1") { row in
      try row.bind(1, number)
      try row.run()
    }
  }

  private func add(_ text: String, _ number: Int64) throws {
    try connection.with("INSERT INTO \(Self.name)(rowid, text) VALUES (?1, ?2)") { row in
      try row.bind(1, number)
      try row.bind(2, text)
      try row.run()
    }
  }

  private func remove(_ text: String, _ number: Int64) throws {
    try connection.with("INSERT INTO \(Self.name)(\(Self.name), rowid, text) VALUES ('delete', ?1, ?2)") {
      row in
      try row.bind(1, number)
      try row.bind(2, text)
      try row.run()
    }
  }

  // MARK: Erased text

  /// Merges the index into one part, so that nothing of the texts of former rows is left in it.
  ///
  /// - Returns: false if the index is damaged and could not be built again.
  package func removeDeleted() throws -> Bool {
    if !isStale {
      do {
        try connection.transaction {
          try connection.execute("INSERT INTO \(Self.name)(\(Self.name)) VALUES ('optimize')")
        }
        return true
      } catch let error as SQLiteError where Self.isDamage(error) { noteDamage() }
    }
    rebuildFailed = false
    try rebuild()
    return !isStale
  }

  // MARK: Rebuilding

  private static let staleKey = "text_index_stale"

  /// Whether queries must do without the index, because it is no longer updated.
  package static func isStale(in connection: Connection) throws -> Bool {
    try MetaTable.integer(staleKey, connection) != nil
  }

  /// Whether an error in a statement about the index means that the index is damaged. FTS5 also reports damage as a missing
  /// table or a violated constraint of its own tables.
  package static func isDamage(_ error: SQLiteError) -> Bool {
    error.isDamage || error.isMissing || error.isConstraint
  }

  /// Whether the index is stale, and can be built again.
  package var needsRebuild: Bool { isStale && !rebuildFailed }

  /// Notes that the index could not be read.
  package func noteDamage() { isStale = true }

  /// If the index is stale, builds it again from the rows, in a transaction of its own.
  package func rebuild() throws {
    guard needsRebuild else { return }
    do {
      try connection.transaction {
        try Self.drop(connection)
        try Self.create(connection)
        for kind in schema.kinds where fields[kind.number] != nil { try addRows(of: kind) }
      }
      isStale = false
    } catch let error as SQLiteError where Self.isDamage(error) {
      // The pages of the file are damaged. `verify --deep` reports that.
      rebuildFailed = true
    }
  }

  private func addRows(of kind: Kind) throws {
    let columns = kind.searchedFields.map(\.columns[0].name)
    try connection.with("SELECT id, \(columns.joined(separator: ", ")) FROM \(kind.table) ORDER BY id") {
      row in
      while try row.step() {
        let text = Self.joined(columns.indices.compactMap { row.isNull(1 + $0) ? nil : row.text(1 + $0) })
        guard !text.isEmpty else { continue }
        try add(text, try newDocument(RecordKey(kind: kind.number, id: try row.recordID(0))))
      }
    }
  }
}
