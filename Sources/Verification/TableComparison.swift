// Sources/store.md, "Verifying"

import LogStorage
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Wire

/// Compares the tables of a store with those of a second store that was folded from the same log. Both stores number
/// the sets alike, so rows can be compared directly.
struct TableComparison {
  private let held: Connection
  private let right: Connection
  private let rightTextIndex: TextIndex
  private let kinds: Schema
  /// The numbers of the existing change sets, and 0 for seeds.
  private let numbers: ClosedRange<Int64>

  init(_ held: Connection, _ right: Store, setCount: Int64) {
    self.held = held
    self.right = right.connection
    rightTextIndex = right.fold.textIndex
    kinds = right.schema
    numbers = 0...max(0, setCount)
  }

  func run(_ report: inout DeepReport) throws {
    let isComplete = try compareSchema(&report)
    for table in try tables() where isComplete.contains(table) {
      try compare(table, &report)
    }
    if isComplete.contains(TextIndex.documents) { try compareTextIndex(&report) }
  }

  // MARK: Schema

  /// Checks that tables, indexes and views are those of this version. Returns the tables whose rows can be compared.
  private func compareSchema(_ report: inout DeepReport) throws -> Set<String> {
    let (mine, wanted) = (try schema(held), try schema(right))
    for (name, item) in wanted.sorted(by: { $0.key < $1.key }) where mine[name]?.sql != item.sql {
      // This index may be missing, because it is dropped while very many habit entries arrive.
      if name == DayIndex.index.name, mine[name] == nil { continue }
      let location: DeepFinding.Location = LogSchema.tables.contains(item.table) ? .index : .records
      report.note(
        location, "the \(item.type) \(name) is \(mine[name] == nil ? "missing" : "not defined as expected")")
    }
    return Set(wanted.keys.filter { mine[$0]?.sql == wanted[$0]?.sql })
  }

  private func schema(
    _ connection: Connection
  ) throws -> [String: (type: String, table: String, sql: String)] {
    let sql = "SELECT name, type, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    return try connection.with(sql) { row in
      var result: [String: (String, String, String)] = [:]
      while try row.step() { result[row.text(0)] = (row.text(1), row.text(2), row.text(3)) }
      return result
    }
  }

  private func tables() throws -> [String] {
    try schema(right).filter { $0.value.type == "table" }.keys
      // Quarantined sets, and what is known about files and about peers, can't be derived from any table.
      .filter { !(["meta", "statements", "quarantine"] + StoreLayout.localTables).contains($0) }
      // The text index is compared by record.
      .filter { $0 != TextIndex.documents && !TextIndex.isInternal($0) }.sorted()
  }

  // MARK: Rows

  private func compare(_ table: String, _ report: inout DeepReport) throws {
    let layout = try TableLayout(table, kinds, right)
    try held.with(layout.sql) { mine in
      try right.with(layout.sql) { theirs in
        var a = try next(mine, layout)
        var b = try next(theirs, layout)
        while a != nil || b != nil {
          let order = layout.order(a, b)
          if order == 0, let a, let b { layout.compare(held: a, right: b, numbers, &report) }
          if order < 0, let a { layout.extra(a, numbers, &report) }
          if order > 0, let b { layout.missing(b, &report) }
          if order <= 0 {
            a = try next(mine, layout)
            report.rows += 1
          }
          if order >= 0 { b = try next(theirs, layout) }
        }
      }
    }
  }

  /// Compares what the text index has for each record. The numbers of its documents depend on the order of the writes.
  private func compareTextIndex(_ report: inout DeepReport) throws {
    // A store does without an index that it knows to be stale, and builds it again by itself.
    guard try !TextIndex.isStale(in: held) else { return }
    try rightTextIndex.rebuild()
    do {
      let mine = try TextIndex.content(of: held)
      let theirs = try TextIndex.content(of: right)
      for key in Set(mine.keys).union(theirs.keys).sorted() where mine[key] != theirs[key] {
        var finding = DeepFinding(location: .records, text: "is not in the text index as it should be")
        finding.record = key
        report.note(finding)
      }
    } catch let error as SQLiteError where TextIndex.isDamage(error) {
      report.note(.records, "the text index is damaged")
    }
  }

  private func next(_ statement: borrowing Statement, _ layout: TableLayout) throws -> [ColumnValue]? {
    while try statement.step() {
      let row = layout.columns.indices.map { statement.value($0) }
      if !layout.isVoid(row) { return row }
    }
    return nil
  }
}

/// The columns of a table, and how a difference in them is reported.
struct TableLayout {
  let table: String
  let columns: [String]
  /// The columns of the primary key, in order.
  private let keys: [Int]
  private let kind: Kind?

  init(_ table: String, _ schema: Schema, _ connection: Connection) throws {
    self.table = table
    var columns: [String] = []
    var keys: [(rank: Int64, column: Int)] = []
    try connection.with("PRAGMA table_info(\(table))") { row in
      while try row.step() {
        // Signed columns have been verified and are not compared again.
        guard table != "change_sets" || !RawChangeSet.columnNames.contains(row.text(1)) else { continue }
        // The position of the set of a sibling follows from the set's number.
        guard table != "siblings" || !["branch", "sequence"].contains(row.text(1)) else { continue }
        if row.integer(5) > 0 { keys.append((row.integer(5), columns.count)) }
        columns.append(row.text(1))
      }
    }
    self.columns = columns
    self.keys = keys.sorted { $0.rank < $1.rank }.map(\.column)
    kind = schema.kinds.first { $0.table == table }
  }

  var sql: String {
    "SELECT \(columns.joined(separator: ", ")) FROM \(table) ORDER BY "
      + keys.map { columns[$0] }.joined(separator: ", ")
  }

  /// Whether a row carries no information: sums and counts that returned to zero may or may not remain as rows.
  func isVoid(_ row: [ColumnValue]) -> Bool {
    switch table {
    case "child_counts": value("live", row) == .integer(0)
    case "trip_summaries":
      ["lodgings", "transportations", "activities"].allSatisfy { value($0, row) == .integer(0) }
        && value("totals", row) == .text("[]") && value("first_start", row) == .null
        && value("last_end", row) == .null
    case "digests": value("sum", row) == .blob(Array(repeating: 0, count: Bytes32.count))
    default: false
    }
  }

  func value(_ column: String, _ row: [ColumnValue]) -> ColumnValue? {
    columns.firstIndex(of: column).map { row[$0] }
  }

  /// Returns a negative number if the first row comes before the second or there is no second row, 0 if their keys are
  /// equal, and a positive number otherwise.
  func order(_ a: [ColumnValue]?, _ b: [ColumnValue]?) -> Int {
    guard let a else { return 1 }
    guard let b else { return -1 }
    for key in keys {
      let order = a[key].order(b[key])
      if order != 0 { return order }
    }
    return 0
  }

  // MARK: Findings

  func compare(
    held: [ColumnValue], right: [ColumnValue], _ numbers: ClosedRange<Int64>, _ report: inout DeepReport
  ) {
    let differing = columns.indices.filter { held[$0] != right[$0] && !isSameStamps($0, held, right) }
    guard !differing.isEmpty else { return }
    var finding = finding(right, "differs from the log")
    finding.fields = fields(differing)
    noteLost(held, numbers, &finding)
    report.note(finding)
  }

  func missing(_ row: [ColumnValue], _ report: inout DeepReport) {
    report.note(finding(row, "is in the log but not in its table"))
  }

  func extra(_ row: [ColumnValue], _ numbers: ClosedRange<Int64>, _ report: inout DeepReport) {
    var finding = finding(row, "is in its table but not in the log")
    noteLost(row, numbers, &finding)
    report.note(finding)
  }

  /// Marks a finding about a row that refers to a missing set as damage to the log. The row may be all that remains of
  /// that set, and folding the log again would lose it.
  private func noteLost(
    _ row: [ColumnValue], _ numbers: ClosedRange<Int64>, _ finding: inout DeepFinding
  ) {
    guard let lost = namedSets(row).first(where: { !numbers.contains($0) }) else { return }
    finding.location = .log
    finding.fields = []
    finding.text = "refers to missing change set \(lost)"
  }

  private func namedSets(_ row: [ColumnValue]) -> [Int64] {
    if case .integer(let number)? = value("number", row), table != "change_sets" { return [number] }
    guard case .blob(let bytes)? = value("stamps", row), let stamps = try? Stamps(packed: bytes) else {
      return []
    }
    return stamps.cells.map(\.number)
  }

  /// Returns whether two stamps are equal cell by cell; how they are packed makes no difference.
  private func isSameStamps(_ column: Int, _ a: [ColumnValue], _ b: [ColumnValue]) -> Bool {
    guard columns[column] == "stamps", case .blob(let one) = a[column], case .blob(let other) = b[column],
      let left = try? Stamps(packed: one), let right = try? Stamps(packed: other)
    else { return false }
    return left.cells.elementsEqual(right.cells) { $0 == $1 }
  }

  private func finding(_ row: [ColumnValue], _ text: String) -> DeepFinding {
    let isIndex = ["branches", "change_sets", "dependencies", "tolerated_gaps"].contains(table)
    var finding = DeepFinding(location: isIndex ? .index : .records, text: text)
    finding.record = record(row)
    finding.title = title(row)
    if finding.record == nil || kind == nil && table != "other_rows" { finding.text = "\(what(row)) \(text)" }
    return finding
  }

  private func record(_ row: [ColumnValue]) -> RecordKey? {
    let number: KindNumber? =
      switch (kind, value("kind", row)) {
      case (let kind?, _): kind.number
      case (nil, .integer(let raw)?) where table != "child_counts":
        UInt64(exactly: raw).flatMap { KindNumber($0) }
      default: table == "trip_summaries" ? KindNumbers.trip : nil
      }
    for column in ["id", "record", "trip"] {
      guard case .blob(let bytes)? = value(column, row), let id = RecordID(bytes: bytes), let number,
        table != "branches"
      else { continue }
      return RecordKey(kind: number, id: id)
    }
    return nil
  }

  private func title(_ row: [ColumnValue]) -> String? {
    for name in ["display_name", "name", "file_name", "date"] {
      if case .text(let text)? = value(name, row), !text.isEmpty { return text }
    }
    return nil
  }

  /// Returns the names of the fields that differ. For a column that belongs to no field, the name of the column is
  /// returned.
  private func fields(_ differing: [Int]) -> [String] {
    var names: [String] = []
    for column in differing {
      let name = columns[column]
      let field = kind?.fields.first { $0.columns.contains { $0.name == name } }
      let shown = field?.name ?? name
      if !names.contains(shown) { names.append(shown) }
    }
    return names
  }

  private func what(_ row: [ColumnValue]) -> String {
    func number(_ column: String) -> String {
      if case .integer(let number)? = value(column, row) { return "\(number)" }
      return "?"
    }
    return switch table {
    case "digests": "digest bucket \(number("bucket"))"
    case "child_counts": "a child count"
    case "trip_summaries": "the summary of a trip"
    case "siblings": "a write that lost a conflict"
    case "contested_cells": "the conflict state of a cell"
    case "hidden_writes": "a write hidden by a deletion"
    case "erasures": "an erase"
    case "missing_values": "missing values of change set \(number("number"))"
    case "whole_ranks": "the rank of a record"
    case "record_writes": "the write list of a record"
    case "undos": "the target of an undo"
    case "branches": "log \(number("branch"))"
    case "change_sets": "the index entry of change set \(number("number"))"
    case "dependencies": "a dependency of log \(number("branch"))"
    default: "a row of \(table)"
    }
  }
}

extension ColumnValue {
  /// Compares two values in the order of SQLite: negative if this value comes first, 0 if both are equal.
  fileprivate func order(_ other: ColumnValue) -> Int {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.real(let a), .real(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.text(let a), .text(let b)): Self.order(Array(a.utf8), Array(b.utf8))
    case (.blob(let a), .blob(let b)): Self.order(a, b)
    default: rank - other.rank
    }
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 3
    case .blob: 4
    }
  }
}
