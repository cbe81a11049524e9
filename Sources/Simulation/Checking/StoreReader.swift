// Sources/store.md, "Log", "Rows", "Stamps": reads a store's tables without the node's code.

import SQLite

/// A row of `change_sets`.
struct StoredLogRow {
  let number: Int64
  let id: [UInt8]
  let branch: Int64
  let sequence: Int64
  let clock: Int64
  let operation: [UInt8]
  let folded: Int64
  let logBytes: Int64
  let raw: PlainRawSet
}

/// A row of a record table.
struct StoredRecordRow {
  let life: Int64?
  /// The number of the set that wrote each cell.
  let stamps: [Int: Int64]
  let extra: [Int: [UInt8]]
  let columns: [PlainColumn]
}

/// A row of `siblings`, and whether it counts as a conflict in its cell.
struct StoredSibling {
  let field: Int
  let number: Int64
  let content: [UInt8]
  let differs: Bool
}

/// A row of `hidden_writes`.
struct StoredHiddenWrite: Hashable {
  let number: Int64
  let byParent: Bool
  let deletion: Int64
}

/// What a store lists about a record in addition to its row.
struct StoredLists {
  var siblings: [StoredSibling] = []
  var hidden: Set<StoredHiddenWrite> = []
  /// The numbers of the sets that wrote to the record.
  var writers: [Int64] = []
  /// The numbers of the sets that erased the record's values.
  var erasers: [Int64] = []
  /// The rank of a whole record: its time and the number of fields filled in.
  var rank: [Int64]?
}

extension StoredSibling {
  fileprivate init(_ row: borrowing Statement) {
    self.init(
      field: Int(row.integer(2)), number: row.integer(3), content: row.bytes(4), differs: row.integer(5) != 0)
  }
}

extension StoredHiddenWrite {
  fileprivate init(_ row: borrowing Statement) {
    self.init(number: row.integer(2), byParent: row.integer(3) != 0, deletion: row.integer(4))
  }
}

enum StoreReader {
  /// Returns the stored minimum for a node's gate time; 0 if there is none.
  static func gateFloor(_ connection: Connection) throws -> UInt64 {
    try connection.with("SELECT value FROM meta WHERE key = 'node.gate-floor'") { row in
      try row.step() ? UInt64(String(decoding: row.bytes(0), as: UTF8.self)) ?? 0 : 0
    }
  }

  static func logRows(after number: Int64, _ connection: Connection) throws -> [StoredLogRow] {
    let sql = """
      SELECT number, id, branch, sequence, clock, operation, folded, log_bytes, header, signature, plan, field_values
      FROM change_sets WHERE number > ?1 ORDER BY number
      """
    return try connection.with(sql) { row in
      try row.bind(1, number)
      var rows: [StoredLogRow] = []
      while try row.step() {
        rows.append(
          StoredLogRow(
            number: row.integer(0), id: row.bytes(1), branch: row.integer(2), sequence: row.integer(3),
            clock: row.integer(4), operation: row.bytes(5), folded: row.integer(6), logBytes: row.integer(7),
            raw: PlainRawSet(
              header: row.bytes(8), signature: row.bytes(9), plan: row.bytes(10), values: row.bytes(11))))
      }
      return rows
    }
  }

  /// Returns the id of the set with a number; nil if there is none.
  static func id(at number: Int64, _ connection: Connection) throws -> Name32? {
    try connection.with("SELECT id FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      return try row.step() ? Name32(row.bytes(0)) : nil
    }
  }

  /// Returns the values of the set with a number, as they are stored; nil if there is no such set.
  static func values(at number: Int64, _ connection: Connection) throws -> [UInt8]? {
    try connection.with("SELECT field_values FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      return try row.step() ? row.bytes(0) : nil
    }
  }

  static func waiting(_ connection: Connection) throws -> Set<Int64> {
    try connection.with("SELECT number FROM change_sets WHERE folded = 0") { row in
      var numbers: Set<Int64> = []
      while try row.step() { numbers.insert(row.integer(0)) }
      return numbers
    }
  }

  static func folded(at number: Int64, _ connection: Connection) throws -> Int64? {
    try connection.with("SELECT folded FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      return try row.step() ? row.integer(0) : nil
    }
  }

  static func statementIDs(_ connection: Connection) throws -> [Name32] {
    try connection.with("SELECT id FROM statements ORDER BY id") { row in
      var ids: [Name32] = []
      while try row.step() { ids.append(Name32(row.bytes(0)) ?? .zero) }
      return ids
    }
  }

  static func statement(_ id: Name32, _ connection: Connection) throws -> [UInt8]? {
    try connection.with("SELECT bytes FROM statements WHERE id = ?1") { row in
      try row.bind(1, id.bytes)
      return try row.step() ? row.bytes(0) : nil
    }
  }

  static func quarantinedIDs(_ connection: Connection) throws -> Set<Name32> {
    try connection.with("SELECT id FROM quarantine") { row in
      var ids: Set<Name32> = []
      while try row.step() { ids.insert(Name32(row.bytes(0)) ?? .zero) }
      return ids
    }
  }

  /// Returns, for each withheld log, the newest sequence that may have been sent. See Protocol/session.md, "Own logs
  /// after a start".
  static func mayHaveSent(_ device: Name32, _ connection: Connection) throws -> [PlainLog: UInt64] {
    var found: [PlainLog: UInt64] = [:]
    for line in String(decoding: try meta("node.unsent-logs", connection), as: UTF8.self).split(
      separator: "\n")
    {
      let words = line.split(separator: " ")
      guard words.count == 5, let lane = Int(words[2]), let sequence = UInt64(words[3]),
        let high = UInt64(words[1].prefix(16), radix: 16),
        let low = UInt64(words[1].dropFirst(16), radix: 16), words[0] == "\(device)"
      else { continue }
      found[PlainLog(device: device, incarnation: Name16(high: high, low: low), lane: lane)] = sequence
    }
    return found
  }

  /// Returns how many bytes of files a device keeps: 0 for on demand, nil for all files.
  static func keepPolicy(_ connection: Connection) throws -> Int? {
    let words = String(decoding: try meta("node.file-keep-policy", connection), as: UTF8.self)
      .split(separator: " ")
    switch words.first {
    case "on-demand": return 0
    case "up-to": return words.last.flatMap { Int($0) } ?? 0
    default: return nil
    }
  }

  /// Whether a device has used up all its incarnations.
  static func isSpent(_ connection: Connection) throws -> Bool {
    try !meta("node.incarnations-spent", connection).isEmpty
  }

  private static func meta(_ key: String, _ connection: Connection) throws -> [UInt8] {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() ? row.bytes(0) : []
    }
  }

  /// Whether stored sets depend on missing sets that a cut excludes.
  static func hasToleratedGap(_ connection: Connection) throws -> Bool {
    try connection.with("SELECT 1 FROM tolerated_gaps LIMIT 1") { try $0.step() }
  }

  /// Returns the log to which a branch belongs; nil if the branch is unknown.
  static func log(branch: Int64, _ connection: Connection) throws -> PlainLog? {
    let sql = "SELECT device, incarnation, lane FROM branches WHERE branch = ?1"
    return try connection.with(sql) { row in
      try row.bind(1, branch)
      guard try row.step(), let device = Name32(row.bytes(0)), let incarnation = Name16(row.bytes(1)) else {
        return nil
      }
      return PlainLog(device: device, incarnation: incarnation, lane: Int(row.integer(2)))
    }
  }

  // MARK: Records

  static func row(_ key: PlainKey, _ connection: Connection) throws -> StoredRecordRow? {
    let kind = PlainKinds.byNumber[key.kind]
    let sql =
      kind?.select ?? "SELECT life, stamps, extra FROM other_rows WHERE id = ?1 AND kind = \(key.kind)"
    return try connection.with(sql) { row in
      try row.bind(1, key.id.bytes)
      guard try row.step() else { return nil }
      return StoredRecordRow(
        life: row.isNull(0) ? nil : row.integer(0), stamps: stamps(row.bytes(1)),
        extra: row.isNull(2) ? [:] : fields(row.bytes(2)),
        columns: (0..<(kind?.columns.count ?? 0)).map { PlainColumn(row, 3 + $0) })
    }
  }

  /// Unpacks stamps into the set number for each cell; returns an empty result if the blob is invalid.
  static func stamps(_ packed: [UInt8]) -> [Int: Int64] {
    var numbers: [UInt64] = []
    var value: UInt64 = 0
    var shift: UInt64 = 0
    for byte in packed {
      value |= shift < 64 ? UInt64(byte & 0x7f) << shift : 0
      shift += 7
      guard byte < 0x80 else { continue }
      numbers.append(value)
      (value, shift) = (0, 0)
    }
    guard shift == 0, numbers.count >= 2, numbers.count.isMultiple(of: 2) else { return [:] }
    var stamps: [Int: Int64] = [:]
    for bit in 0..<63 where numbers[1] >> UInt64(bit) & 1 == 1 {
      stamps[bit] = Int64(bitPattern: numbers[0])
    }
    for place in stride(from: 2, to: numbers.count, by: 2) {
      stamps[Int(truncatingIfNeeded: numbers[place])] = Int64(bitPattern: numbers[place + 1])
    }
    return stamps
  }

  /// Decodes a map from field to encoded value; returns an empty map if the bytes are invalid.
  static func fields(_ bytes: [UInt8]) -> [Int: [UInt8]] {
    guard let item = try? PlainItem.read(bytes), case .map(let pairs) = item.form else { return [:] }
    var fields: [Int: [UInt8]] = [:]
    for (key, value) in pairs { fields[Int(truncatingIfNeeded: key)] = Array(bytes[value.range]) }
    return fields
  }

  static func siblings(_ key: PlainKey, _ connection: Connection) throws -> [StoredSibling] {
    var found: [StoredSibling] = []
    try each(siblings, of: key, connection) { found.append(StoredSibling($1)) }
    return found
  }

  static func hiddenWrites(_ key: PlainKey, _ connection: Connection) throws -> Set<StoredHiddenWrite> {
    var found: Set<StoredHiddenWrite> = []
    try each(hiddenWrites, of: key, connection) { found.insert(StoredHiddenWrite($1)) }
    return found
  }

  /// Returns what a store lists about a record.
  static func listed(_ key: PlainKey, _ connection: Connection) throws -> StoredLists {
    var found: [PlainKey: StoredLists] = [:]
    try read(key, into: &found, connection)
    return found[key] ?? StoredLists()
  }

  /// Returns what a store lists about each record; records about which it lists nothing are left out.
  static func listed(_ connection: Connection) throws -> [PlainKey: StoredLists] {
    var found: [PlainKey: StoredLists] = [:]
    try read(nil, into: &found, connection)
    return found
  }

  private static func read(
    _ key: PlainKey?, into found: inout [PlainKey: StoredLists], _ connection: Connection
  ) throws {
    let none = StoredLists()
    try each(siblings, of: key, connection) { found[$0, default: none].siblings.append(StoredSibling($1)) }
    try each(hiddenWrites, of: key, connection) {
      found[$0, default: none].hidden.insert(StoredHiddenWrite($1))
    }
    try each(writers, of: key, connection) { found[$0, default: none].writers.append($1.integer(2)) }
    try each(erasers, of: key, connection) { found[$0, default: none].erasers.append($1.integer(2)) }
    try each(ranks, of: key, connection) {
      found[$0, default: none].rank = [$1.integer(2), $1.integer(3)]
    }
  }

  /// A query for the rows of a table that name records: for all of them, and for those of one record.
  private struct RecordQuery {
    let all: String
    let one: String

    /// - Parameter columns: the columns after kind and record.
    init(_ columns: String, from table: String) {
      all = "SELECT t.kind, t.record, \(columns) FROM \(table)"
      one = all + " WHERE t.kind = ?1 AND t.record = ?2"
    }
  }

  private static let siblings = RecordQuery(
    "t.field, t.number, t.content, coalesce(c.is_conflict = 1 AND c.content_hash <> t.content_hash, 0)",
    from: """
      siblings t
        LEFT JOIN contested_cells c ON c.kind = t.kind AND c.record = t.record AND c.field = t.field
      """)
  private static let hiddenWrites = RecordQuery(
    "t.number, t.by_parent, t.deletion", from: "hidden_writes t")
  private static let writers = RecordQuery("t.number", from: "record_writes t")
  private static let erasers = RecordQuery("t.number", from: "erasures t")
  private static let ranks = RecordQuery("t.updated_at, t.filled", from: "whole_ranks t")

  /// Calls `body` with each row that a query finds, of one record or of all, and with the row's record.
  private static func each(
    _ query: RecordQuery, of key: PlainKey?, _ connection: Connection,
    _ body: (PlainKey, borrowing Statement) -> Void
  ) throws {
    try connection.with(key == nil ? query.all : query.one) { row in
      if let key {
        try row.bind(1, key.kind)
        try row.bind(2, key.id.bytes)
      }
      while try row.step() {
        body(key ?? PlainKey(kind: Int(row.integer(0)), id: Name16(row.bytes(1)) ?? .zero), row)
      }
    }
  }

  /// Returns the ids of the sets whose erases are held.
  static func heldErases(_ connection: Connection) throws -> [Name32] {
    try connection.with("SELECT id FROM held_erases") { row in
      var ids: [Name32] = []
      while try row.step() { if let id = Name32(row.bytes(0)) { ids.append(id) } }
      return ids
    }
  }

  static func digest(_ lane: Int, _ bucket: Int, _ connection: Connection) throws -> Name32 {
    try connection.with("SELECT sum FROM digests WHERE lane = ?1 AND bucket = ?2") { row in
      try row.bind(1, lane)
      try row.bind(2, bucket)
      return try row.step() ? Name32(row.bytes(0)) ?? .zero : .zero
    }
  }

  /// Returns the digest of every bucket in both lanes.
  static func digests(_ connection: Connection) throws -> [[Name32]] {
    var sums = [Array(repeating: Name32.zero, count: 256), Array(repeating: Name32.zero, count: 256)]
    try connection.with("SELECT lane, bucket, sum FROM digests") { row in
      while try row.step() {
        let (lane, bucket) = (Int(row.integer(0)), Int(row.integer(1)))
        guard sums.indices.contains(lane), sums[lane].indices.contains(bucket) else { continue }
        sums[lane][bucket] = Name32(row.bytes(2)) ?? .zero
      }
    }
    return sums
  }

  /// Returns the keys of all rows in a kind's table; for nil, the keys of all records whose kinds have no table.
  static func keys(_ kind: PlainKind?, _ connection: Connection) throws -> [PlainKey] {
    let sql = kind.map { "SELECT \($0.number), id FROM \($0.table)" } ?? "SELECT kind, id FROM other_rows"
    return try connection.with(sql) { row in
      var keys: [PlainKey] = []
      while try row.step() {
        keys.append(PlainKey(kind: Int(row.integer(0)), id: Name16(row.bytes(1)) ?? .zero))
      }
      return keys
    }
  }

  static func count(_ table: String, _ connection: Connection) throws -> Int {
    try connection.with("SELECT count(*) FROM \(table)") { try $0.step() ? Int($0.integer(0)) : 0 }
  }
}
