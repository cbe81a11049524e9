// Sources/store.md, "Tables"

import Records
import Replication

/// The tables and views that folding the log fills.
struct RecordSchema {
  private let schema: Schema

  init(_ schema: Schema) { self.schema = schema }

  /// The tables and views that are filled by folding the log.
  var derived: String {
    Self.derivedTables + schema.kinds.map { table($0) + Views.sql($0, schema) }.joined()
  }

  /// `siblings.content` is NULL for an absent value. A row of `erasures` names a set that erases a record's earlier
  /// values, and a row of `missing_values` a slot whose content is absent although no erase explains that.
  private static let derivedTables = """
    CREATE TABLE digests(
      lane INTEGER NOT NULL, bucket INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY (lane, bucket)
    ) WITHOUT ROWID;
    CREATE TABLE siblings(
      kind INTEGER NOT NULL, record BLOB NOT NULL, field INTEGER NOT NULL, number INTEGER NOT NULL,
      branch INTEGER NOT NULL, sequence INTEGER NOT NULL, content_hash BLOB NOT NULL,
      follows INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (kind, record, field, number)
    ) WITHOUT ROWID;
    CREATE INDEX siblings_by_branch ON siblings(kind, record, field, branch, sequence);
    CREATE INDEX siblings_by_content ON siblings(kind, record, field, content_hash);
    CREATE INDEX siblings_following ON siblings(kind, record, field) WHERE follows = 1;
    CREATE TABLE contested_cells(
      kind INTEGER NOT NULL, record BLOB NOT NULL, field INTEGER NOT NULL, count INTEGER NOT NULL,
      content_hash BLOB NOT NULL, is_conflict INTEGER NOT NULL, PRIMARY KEY (kind, record, field)
    ) WITHOUT ROWID;
    CREATE TABLE erasures(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE missing_values(
      number INTEGER NOT NULL, slot INTEGER NOT NULL, kind INTEGER NOT NULL, record BLOB NOT NULL,
      PRIMARY KEY (number, slot)
    ) WITHOUT ROWID;
    CREATE INDEX missing_values_by_record ON missing_values(kind, record);
    CREATE TABLE whole_ranks(
      kind INTEGER NOT NULL, record BLOB NOT NULL, updated_at INTEGER NOT NULL, filled INTEGER NOT NULL,
      PRIMARY KEY (kind, record)
    ) WITHOUT ROWID;
    CREATE TABLE hidden_writes(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL, by_parent INTEGER NOT NULL,
      deletion INTEGER NOT NULL, PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE record_writes(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE undos(
      target BLOB NOT NULL, operation BLOB NOT NULL, device BLOB NOT NULL,
      PRIMARY KEY (target, operation, device)
    ) WITHOUT ROWID;
    CREATE TABLE child_counts(
      parent_kind INTEGER NOT NULL, parent BLOB NOT NULL, kind INTEGER NOT NULL, live INTEGER NOT NULL,
      PRIMARY KEY (parent_kind, parent, kind)
    ) WITHOUT ROWID;
    CREATE TABLE trip_summaries(
      trip BLOB PRIMARY KEY NOT NULL, lodgings INTEGER NOT NULL, transportations INTEGER NOT NULL,
      activities INTEGER NOT NULL, first_start INTEGER, last_end INTEGER, totals TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE other_rows(
      kind INTEGER NOT NULL, id BLOB NOT NULL, life INTEGER, stamps BLOB NOT NULL, extra BLOB,
      PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;

    """

  /// Returns the table of a kind and the indexes needed to list its records.
  private func table(_ kind: Kind) -> String {
    let columns = kind.fields.flatMap(\.columns).map { "\($0.name) \($0.type.rawValue)" }
    var sql = """
      CREATE TABLE \(kind.table)(
        id BLOB PRIMARY KEY NOT NULL, life INTEGER, stamps BLOB NOT NULL, extra BLOB,
        \(columns.joined(separator: ", "))
      ) WITHOUT ROWID;

      """
    if let index = Self.parentIndex(kind) {
      sql += index.sql
    } else if let time = Self.timeColumn(kind) {
      sql += "CREATE INDEX \(kind.table)_by_time ON \(kind.table)(\(time));\n"
    }
    for column in kind.fileColumns {
      sql += "CREATE INDEX \(kind.table)_by_\(column.id) ON \(kind.table)(\(column.id))"
      sql += " WHERE \(column.id) IS NOT NULL;\n"
    }
    if schema.canHaveChildren(kind.number) {
      sql += "CREATE INDEX \(kind.table)_dead ON \(kind.table)(id) WHERE life = 0;\n"
    }
    return sql
  }

  /// Returns the column with the time by which lists of a kind are sorted first; nil for a kind whose lists have another
  /// order.
  private static func timeColumn(_ kind: Kind) -> String? {
    let name: String
    switch kind.order.first {
    case .tripStart: name = "startDate"
    case .ascending(let field): name = field
    case nil: return nil
    }
    guard let field = kind.fields.first(where: { $0.name == name }) else { return nil }
    switch field.type {
    case .timestamp, .instant, .datedInstant: return field.columns[0].name
    default: return nil
    }
  }

  /// Returns the index that finds the children of a record; nil for a kind without a parent. If lists of the kind are
  /// sorted by a time first, the index sorts the children by it.
  static func parentIndex(_ kind: Kind) -> (name: String, sql: String)? {
    guard let parent = kind.parentColumns else { return nil }
    let name = "\(kind.table)_by_parent"
    let time = timeColumn(kind).map { ", \($0)" } ?? ""
    return (name, "CREATE INDEX \(name) ON \(kind.table)(\(parent.id)\(time));\n")
  }

  /// A string that differs whenever the derived tables, or what the fold writes into them, would differ. If the string
  /// has changed, the log is folded again.
  var fingerprint: String { "fold \(Self.foldVersion)\n\(derived)\(TextIndex.sql)\n\(searchedFields)" }

  private var searchedFields: String {
    schema.kinds.map { "\($0.number.rawValue): \($0.searchedFields.map(\.number))" }.joined(separator: "\n")
  }

  /// The version of the fold. Increase it when the fold derives a different result from the same log.
  private static let foldVersion = 5
}
