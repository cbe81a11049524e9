import RecordTables
import Records
import Replication
import SQLite
import Wire

/// Builds the SQL that reads records of one kind.
struct Select {
  let number: KindNumber
  let kind: Kind?
  private let schema: Schema

  init(_ number: KindNumber, _ schema: Schema) {
    self.number = number
    self.schema = schema
    kind = schema.kind(number)
  }

  /// Returns a query for the columns that `RecordRow` reads, from the rows for which `condition` holds.
  func sql(_ condition: String) -> String {
    let columns = (RecordTable.fixedColumns + (kind?.columnNames ?? [])).map { "r.\($0)" }
    return "SELECT \(columns.joined(separator: ", ")), coalesce(\(visible), 0) FROM \(source) r"
      + " WHERE \(others)\(condition)"
  }

  /// The condition under which a row is visible.
  private var visible: String { kind.map { schema.isVisible($0, "r") } ?? "r.life = 1" }

  private var source: String { kind?.table ?? "other_rows" }

  /// All kinds that the store does not know share one table, so a condition on the kind is needed there.
  private var others: String { kind == nil ? "r.kind = \(number.rawValue) AND " : "" }

  /// Returns the SQL that selects the records of a query, and its arguments; nil if the query can't match anything.
  func sql(_ query: RecordQuery) -> (sql: String, arguments: [ColumnValue])? {
    guard let (condition, found) = condition(query) else { return nil }
    let arguments = found + [.integer(Int64(query.limit ?? -1)), .integer(Int64(query.offset))]
    let order = order(query.order).joined(separator: ", ")
    return (
      "\(sql(condition)) ORDER BY \(order) LIMIT ?\(arguments.count - 1) OFFSET ?\(arguments.count)",
      arguments
    )
  }

  /// Returns the SQL that counts the records of a query, and its arguments; nil if the query can't match anything.
  func sql(counting query: RecordQuery) -> (sql: String, arguments: [ColumnValue])? {
    guard let (condition, found) = condition(query) else { return nil }
    let arguments = found + [.integer(Int64(query.limit ?? -1)), .integer(Int64(query.offset))]
    return (
      "SELECT count(*) FROM (SELECT 1 FROM \(source) r WHERE \(others)\(condition)"
        + " LIMIT ?\(arguments.count - 1) OFFSET ?\(arguments.count))", arguments
    )
  }

  private func condition(_ query: RecordQuery) -> (sql: String, arguments: [ColumnValue])? {
    var arguments: [ColumnValue] = []
    var terms: [String] = []
    if query.visibleOnly { terms.append("(\(visible))") }
    if let digits = query.idDigits {
      guard let (first, last) = Self.range(digits) else { return nil }
      arguments += [.blob(first), .blob(last)]
      let begins = "r.id BETWEEN ?\(arguments.count - 1) AND ?\(arguments.count)"
      terms.append(
        digits.utf8.count < ShortID.digitsMin ? begins : "(\(begins) OR \(ends(digits, &arguments)))")
    }
    for condition in query.conditions {
      guard let term = sql(condition, &arguments) else { return nil }
      terms.append(term)
    }
    return (terms.isEmpty ? "1" : terms.joined(separator: " AND "), arguments)
  }

  private func ends(_ digits: String, _ arguments: inout [ColumnValue]) -> String {
    arguments.append(.text(digits.uppercased()))
    return "substr(hex(r.id), -\(digits.utf8.count)) = ?\(arguments.count)"
  }

  /// Returns the SQL of a condition; nil if no record can match the condition.
  private func sql(_ condition: RecordQuery.Condition, _ arguments: inout [ColumnValue]) -> String? {
    switch condition {
    case .part(let part, let test): return sql(part, test, &arguments)
    case .ids(let ids):
      guard !ids.isEmpty else { return nil }
      return "r.id IN (\(list(ids.map { .blob($0.bytes) }, &arguments)))"
    case .all(let conditions):
      var terms: [String] = []
      for condition in conditions {
        guard let term = sql(condition, &arguments) else { return nil }
        terms.append(term)
      }
      return terms.isEmpty ? "1" : "(\(terms.joined(separator: " AND ")))"
    case .any(let conditions):
      let terms = conditions.compactMap { sql($0, &arguments) }
      return terms.isEmpty ? nil : "(\(terms.joined(separator: " OR ")))"
    // In SQL, a comparison with null is neither true nor false, and neither is its negation.
    case .not(let condition): return sql(condition, &arguments).map { "NOT coalesce(\($0), 0)" } ?? "1"
    }
  }

  private func sql(
    _ part: RecordQuery.Part, _ test: RecordQuery.Test, _ arguments: inout [ColumnValue]
  ) -> String? {
    guard var column = column(part.field, part.index) else { return nil }
    func argument(_ value: ColumnValue) -> String {
      arguments.append(value)
      return "?\(arguments.count)"
    }
    if part.absent != .null { column = "coalesce(\(column), \(argument(part.absent)))" }
    switch test {
    case .equals(let value): return "\(column) IS \(argument(value))"
    case .isOne(let values):
      guard !values.isEmpty else { return nil }
      let isIn = "\(column) IN (\(list(values.filter { $0 != .null }, &arguments)))"
      return values.contains(.null) ? "(\(column) IS NULL OR \(isIn))" : isIn
    case .atLeast(let value): return "\(column) >= \(argument(value))"
    case .atMost(let value): return "\(column) <= \(argument(value))"
    case .above(let value): return "\(column) > \(argument(value))"
    case .below(let value): return "\(column) < \(argument(value))"
    case .isNull: return "\(column) IS NULL"
    case .begins(let prefix):
      return "\(Connection.beginsFunction)(\(column), \(argument(.text(prefix.lowercased()))))"
    case .contains(let text):
      return "\(Connection.containsFunction)(\(column), \(argument(.text(text.lowercased()))))"
    case .containsFolded(let text):
      return "\(Connection.foldedContainsFunction)(\(column), \(argument(.text(foldedText(text)))))"
    }
  }

  /// Returns a list of values, passed as arguments. In a very long list, all values except floating-point numbers are
  /// written as literals, because the number of arguments is limited.
  private func list(_ values: [ColumnValue], _ arguments: inout [ColumnValue]) -> String {
    let isLong = values.count > Self.argumentsMax
    return values.map { value in
      switch value {
      case .integer(let number) where isLong: return "\(number)"
      case .blob(let bytes) where isLong: return "x'\(hexadecimal(bytes))'"
      case .text(let text) where isLong: return "CAST(x'\(hexadecimal(Array(text.utf8)))' AS TEXT)"
      default:
        arguments.append(value)
        return "?\(arguments.count)"
      }
    }.joined(separator: ", ")
  }

  private static let argumentsMax = 1_000

  private func order(_ order: [RecordQuery.Order]) -> [String] {
    // The record “None” represents the absence of an organization and comes before all others.
    let none = hexadecimal(FixedRecords.none.id.bytes)
    var terms = number == FixedRecords.none.kind ? ["r.id <> x'\(none)'"] : []
    for item in order {
      switch item {
      case .ascending(let field, let part): terms += self.terms(field, part, "")
      case .descending(let field, let part):
        terms += self.terms(field, part, " DESC")
      case .tripStart where number == KindNumbers.trip:
        let first = "(SELECT s.first_start FROM trip_summaries s WHERE s.trip = r.id)"
        terms.append("coalesce(r.start_date, \(first)) NULLS LAST")
      case .tripStart: break
      }
    }
    return terms + ["r.id"]
  }

  /// Returns the sort terms for a component. Text is sorted ignoring case; case decides only between strings that
  /// are otherwise equal.
  private func terms(_ field: FieldNumber, _ part: Int, _ direction: String) -> [String] {
    guard let column = column(field, part) else { return [] }
    // Amounts are stored as text and sorted as numbers.
    if kind?.field(field)?.type == .money, part == 0 {
      return ["CAST(\(column) AS REAL)\(direction) NULLS LAST"]
    }
    let isText = kind?.field(field)?.columns[part].type == .text
    return (isText ? ["\(Connection.lowercaseFunction)(\(column))\(direction) NULLS LAST"] : [])
      + ["\(column)\(direction) NULLS LAST"]
  }

  private func column(_ field: FieldNumber, _ part: Int) -> String? {
    if field == RecordQuery.Part.id.field { return "r.id" }
    guard let columns = kind?.field(field)?.columns, columns.indices.contains(part) else { return nil }
    return "r.\(columns[part].name)"
  }

  /// Returns the first and the last id that begin with the given hexadecimal digits; nil for an invalid prefix.
  static func range(_ prefix: String) -> (first: [UInt8], last: [UInt8])? {
    let digits = Bytes16.count * 2
    guard prefix.utf8.count <= digits else { return nil }
    let missing = digits - prefix.utf8.count
    guard let first = bytesFromHexadecimal(prefix + String(repeating: "0", count: missing)),
      let last = bytesFromHexadecimal(prefix + String(repeating: "f", count: missing))
    else { return nil }
    return (first, last)
  }
}
