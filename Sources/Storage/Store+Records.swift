// Sources/store.md, "Rows"

import LogStorage
package import RecordTables
package import Records
package import Replication
import SQLite
package import Wire

extension RecordSource {
  // MARK: Records

  /// Returns a record, whether visible or not; nil if the record was never written.
  package func record(_ key: RecordKey) throws -> RecordRow? {
    let sql = Select(key.kind, schema).sql("r.id = ?1")
    return try connection.with(sql) { row in
      try row.bind(1, bigEndian: key.id.raw.word0, key.id.raw.word1)
      return try row.step() ? try RecordRow(row, key.kind, schema.kind(key.kind)) : nil
    }
  }

  package func records(_ query: RecordQuery) throws -> [RecordRow] {
    var rows: [RecordRow] = []
    try forEach(query) { rows.append($0) }
    return rows
  }

  /// Returns the number of records that match a query.
  package func count(_ query: RecordQuery) throws -> Int {
    var count = 0
    try forEachRow(query, { $0.sql(counting: query) }) { row in count = Int(row.integer(0)) }
    return count
  }

  /// Counts the records that match a query by the values of up to two fields.
  ///
  /// - Parameter body: called for each combination of values, with the number of records that have it. A field that is not
  ///   given has the value null.
  package func forEachCount(
    _ query: RecordQuery, by group: Field?, of value: Field?,
    _ body: (Int, _ group: Value, _ value: Value) throws -> Void
  ) throws {
    try forEachRow(query, { $0.sql(counting: query, by: group, of: value) }) { row in
      let found = Self.value(of: group, in: row, at: 1)
      let other = Self.value(of: value, in: row, at: 1 + (group?.columns.count ?? 0))
      try body(Int(row.integer(0)), found, other)
    }
  }

  private static func value(of field: Field?, in row: borrowing Statement, at column: Int) -> Value {
    guard let field else { return .null }
    var columns: [ColumnValue] = []
    for index in field.columns.indices { columns.append(row.value(column + index)) }
    return field.type.value(from: columns[...]) ?? .null
  }

  /// Calls `body` for each record that matches a query. Records are read one by one, so that they need not fit in
  /// memory together. Without an order in the query, they are sorted by id.
  package func forEach(_ query: RecordQuery, _ body: (RecordRow) throws -> Void) throws {
    let kind = schema.kind(query.kind)
    try forEachRow(query, { $0.sql(query) }) { row in try body(try RecordRow(row, query.kind, kind)) }
  }

  /// Calls `body` for each row that a statement for a query returns. If the text index turns out to be damaged, the rows
  /// are read without it.
  ///
  /// - Parameter statement: returns the statement and its arguments; nil if it would return no rows.
  private func forEachRow(
    _ query: RecordQuery, _ statement: (Select) -> (sql: String, arguments: [ColumnValue])?,
    _ body: (borrowing Statement) throws -> Void
  ) throws {
    let usesTextIndex = try query.comparesText && !TextIndex.isStale(in: connection)
    var hasRows = false
    do {
      try run(statement(Select(query.kind, schema, usesTextIndex: usesTextIndex))) { row in
        hasRows = true
        try body(row)
      }
    } catch let error as SQLiteError where usesTextIndex && !hasRows && TextIndex.isDamage(error) {
      try noteTextIndexDamage(error)
      try run(statement(Select(query.kind, schema, usesTextIndex: false)), body)
    }
  }

  private func run(
    _ statement: (sql: String, arguments: [ColumnValue])?, _ body: (borrowing Statement) throws -> Void
  ) throws {
    guard let (sql, arguments) = statement else { return }
    try connection.with(sql) { row in
      for (index, argument) in arguments.enumerated() { try row.bind(index + 1, argument) }
      while try row.step() { try body(row) }
    }
  }

  /// Returns the visible children of a record that are of the given kind.
  package func children(of parent: RecordKey, _ kind: KindNumber) throws -> [RecordRow] {
    guard let known = schema.kind(kind), let field = known.parent, let columns = known.parentColumns else {
      return []
    }
    var query = RecordQuery(kind)
    let id = RecordQuery.Test.equals(.blob(parent.id.bytes))
    if columns.kind != nil {
      query.conditions.append(.init(field, .equals(.integer(Int64(parent.kind.rawValue)))))
      query.conditions.append(.init(field, part: 1, id))
    } else {
      query.conditions.append(.init(field, id))
    }
    return try records(query)
  }

  /// Returns the parent that a record refers to, whether or not the parent exists; nil if the record refers to none.
  package func parent(of record: RecordRow) -> RecordKey? {
    guard let kind = schema.kind(record.key.kind), let parent = kind.parent else { return nil }
    return record[parent].flatMap { kind.parentKey($0.encoded[...]) }
  }

  /// Returns the living children of a record, of all kinds, whether visible or not.
  package func livingChildren(of parent: RecordKey) throws -> [RecordKey] {
    guard schema.canHaveChildren(parent.kind) else { return [] }
    return try schema.children(of: parent.kind).flatMap { child in
      guard let columns = child.parentColumns else { return [RecordKey]() }
      let ofKind = columns.kind.map { " AND \($0) = \(parent.kind.rawValue)" } ?? ""
      let sql = "SELECT id FROM \(child.table) WHERE \(columns.id) = ?1\(ofKind) AND life = 1 ORDER BY id"
      return try connection.with(sql) { row in
        try row.bind(1, bigEndian: parent.id.raw.word0, parent.id.raw.word1)
        var children: [RecordKey] = []
        while try row.step() {
          children.append(RecordKey(kind: child.number, id: try row.recordID(0)))
        }
        return children
      }
    }
  }

  /// Returns the number of visible records of each kind. Untouched seeds are not counted.
  package func visibleCounts() throws -> [KindNumber: Int] {
    var counts: [KindNumber: Int] = [:]
    for kind in schema.kinds {
      counts[kind.number] = try kind.parentKinds.isEmpty ? rootCount(kind) : childCount(kind)
    }
    for seed in [FixedRecords.none, FixedRecords.profile] {
      if try record(seed)?.isUntouchedSeed == true { counts[seed.kind, default: 0] -= 1 }
    }
    return counts
  }

  private func rootCount(_ kind: Kind) throws -> Int {
    let sql = "SELECT live FROM child_counts WHERE parent_kind = 0 AND parent = zeroblob(16) AND kind = ?1"
    return try connection.with(sql) { row in
      try row.bind(1, Int(kind.number.rawValue))
      return try row.step() ? Int(row.integer(0)) : 0
    }
  }

  private func childCount(_ kind: Kind) throws -> Int {
    try kind.parentKinds.compactMap(schema.kind).reduce(0) { sum, parent in
      let sql = """
        SELECT coalesce(sum(c.live), 0) FROM child_counts c JOIN \(parent.table) p ON p.id = c.parent
        WHERE c.parent_kind = ?1 AND c.kind = ?2 AND \(schema.isVisible(parent, "p"))
        """
      return sum
        + (try connection.with(sql) { row in
          try row.bind(1, Int(parent.number.rawValue))
          try row.bind(2, Int(kind.number.rawValue))
          return try row.step() ? Int(row.integer(0)) : 0
        })
    }
  }

  // MARK: Trips

  /// Returns the summary of a trip; an empty summary if the trip has no items.
  package func tripSummary(_ trip: RecordID) throws -> TripSummary {
    let sql = """
      SELECT lodgings, transportations, activities, first_start, last_end, totals FROM trip_summaries
      WHERE trip = ?1
      """
    return try connection.with(sql) { row in
      try row.bind(1, bigEndian: trip.raw.word0, trip.raw.word1)
      return try row.step() ? TripSummary(row) : TripSummary()
    }
  }
}

extension Store {
  /// Returns the stamp of each cell of a record. Cells of seeds are left out.
  package func origins(of row: RecordRow) throws -> [FieldNumber: Stamp] {
    var result: [FieldNumber: Stamp] = [:]
    for (field, number) in row.stamps.cells where number != 0 {
      result[field] = try fold.causality.origin(number).stamp
    }
    return result
  }
}

extension RecordSource {
  /// Returns the stored summaries by trip. A trip that never had items has none.
  package func tripSummaries() throws -> [RecordID: TripSummary] {
    let sql = """
      SELECT lodgings, transportations, activities, first_start, last_end, totals, trip FROM trip_summaries
      """
    return try connection.with(sql) { row in
      var summaries: [RecordID: TripSummary] = [:]
      while try row.step() {
        summaries[try row.recordID(6)] = TripSummary(row)
      }
      return summaries
    }
  }
}
