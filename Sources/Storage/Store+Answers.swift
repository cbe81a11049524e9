// Protocol/session.md, "Questions"

import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
package import Wire

extension Store {
  /// Answers a question about a lane. The question comes from a peer or from this device's own comparison.
  package func answer(_ lane: Lane, _ question: Question) throws -> Answer {
    let heads = heads(lane)
    let content: Answer.Content
    var isDone = true
    switch question {
    case .heads: content = .heads(heads)
    case .digests: content = .digests(digestBuckets(lane).map(\.sum))
    case .bucket(let bucket, let after):
      let page = try bucketPage(lane, bucket, after)
      (content, isDone) = (.bucket(page.items), page.isDone)
    case .inventory(let after):
      let page = try inventoryPage(lane, after)
      (content, isDone) = (.inventory(page.items), page.isDone)
    }
    return Answer(lane: lane, folded: Heads(heads).foldedHash, isDone: isDone, content: content)
  }

  /// The items of one answer, and whether no further items follow.
  private struct Page<Item> {
    var items: [Item] = []
    var isDone = true

    /// Adds an item. Returns false without adding it if the page is full.
    mutating func add(_ item: Item) -> Bool {
      isDone = items.count < Limits.answerItemsMax
      if isDone { items.append(item) }
      return isDone
    }
  }

  /// Returns a page of the stored records of a bucket, visible or not, with their contributions to the digest.
  private func bucketPage(_ lane: Lane, _ bucket: UInt8, _ after: RecordKey?) throws -> Page<RecordHash> {
    var page = Page<RecordHash>()
    for (number, kind) in try kinds(lane, after) {
      let table = kind?.table ?? "other_rows"
      // A peer may name a start that lies before the bucket; such a start is ignored.
      let start = after.flatMap { $0.kind == number && $0.id.bucket >= bucket ? $0.id : nil }
      let sql = """
        SELECT r.id, r.stamps FROM \(table) r WHERE \(Self.isOfKind(number, kind))
          AND r.id \(start == nil ? ">=" : ">") ?1 AND r.id <= ?2 ORDER BY r.id
        """
      try connection.with(sql) { row in
        try row.bind(1, start?.bytes ?? [bucket])
        try row.bind(2, [bucket] + Array(repeating: 0xff, count: Bytes16.count - 1))
        while page.isDone, try row.step() {
          let key = try Self.key(row, number)
          let hash = try digestHash(key, row.bytes(1))
          if hash != .zero, !page.add(RecordHash(key: key, hash: hash)) { return }
        }
      }
      guard page.isDone else { break }
    }
    return page
  }

  /// Returns a record's contribution to the digest. For an unreadable record, returns a hash that no other record has,
  /// so that a comparison names the record.
  private func digestHash(_ key: RecordKey, _ stamps: [UInt8]) throws -> Bytes32 {
    do {
      return try fold.hash(key, Stamps(packed: stamps))
    } catch StoreError.damaged {
      return Bytes32(.max, .max, .max, .max)
    }
  }

  /// Returns a page of the visible records except untouched seeds, each with a hash of its fields.
  private func inventoryPage(_ lane: Lane, _ after: RecordKey?) throws -> Page<InventoryItem> {
    var page = Page<InventoryItem>()
    for (number, kind) in try kinds(lane, after) {
      let columns = RecordTable.fixedColumns + (kind?.columnNames ?? [])
      let table = kind?.table ?? "other_rows"
      let sql = """
        SELECT \(columns.map { "r.\($0)" }.joined(separator: ", ")) FROM \(table) r
        WHERE \(Self.isOfKind(number, kind)) AND \(after?.kind == number ? "r.id > ?1" : "1")
          AND (\(kind.map { schema.isVisible($0, "r") } ?? "r.life = 1")) ORDER BY r.id
        """
      try connection.with(sql) { row in
        if after?.kind == number { try row.bind(1, after?.id.bytes ?? []) }
        while page.isDone, try row.step() {
          let stored = try RecordTable.row(row, kind)
          guard stored.stamps.cells.contains(where: { $0.number != 0 }) else { continue }
          if try !page.add(inventoryItem(try Self.key(row, number), stored)) { return }
        }
      }
      guard page.isDone else { break }
    }
    return page
  }

  private func inventoryItem(_ key: RecordKey, _ row: StoredRow) throws -> InventoryItem {
    var rank: WholeRecordRank?
    if key.kind.mergeClass == .wholeRecord, let number = row.stamps[Fields.life] {
      rank = try fold.rank(of: key, try fold.causality.origin(number))
    }
    return InventoryItem(key: key, hash: InventoryItem.hash(of: row.contents), rank: rank)
  }

  /// Returns the kinds of a lane that may have records, ascending. If a record is given, they start with its kind.
  private func kinds(_ lane: Lane, _ after: RecordKey?) throws -> [(number: KindNumber, kind: Kind?)] {
    var numbers = Set(schema.kinds.map(\.number))
    try connection.with("SELECT DISTINCT kind FROM other_rows") { row in
      while try row.step() {
        if let number = KindNumber(UInt64(bitPattern: row.integer(0))) { numbers.insert(number) }
      }
    }
    return numbers.filter { $0.lane == lane && $0 >= after?.kind ?? $0 }.sorted()
      .map { ($0, schema.kind($0)) }
  }

  private static func isOfKind(_ number: KindNumber, _ kind: Kind?) -> String {
    kind == nil ? "r.kind = \(number.rawValue)" : "1"
  }

  private static func key(_ row: borrowing Statement, _ kind: KindNumber) throws -> RecordKey {
    RecordKey(kind: kind, id: try row.recordID(0))
  }
}
