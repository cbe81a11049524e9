import Records
import Replication
import Wire

/// Builds the SQL that reads records of one kind.
struct Select {
  let number: KindNumber
  let kind: Kind?

  init(_ number: KindNumber) {
    self.number = number
    kind = Registry.kind(number)
  }

  /// The columns that `RecordRow` reads, of the rows where `condition` holds.
  func sql(_ condition: String) -> String {
    let columns = (RecordTable.fixedColumns + (kind?.columnNames ?? [])).map { "r.\($0)" }
    let visible = kind.map { $0.isVisible("r") } ?? "r.life = 1"
    let others = kind == nil ? "r.kind = \(number.rawValue) AND " : ""
    return "SELECT \(columns.joined(separator: ", ")), coalesce(\(visible), 0) FROM \(source) r"
      + " WHERE \(others)\(condition)"
  }

  private var source: String { kind?.table ?? "other_rows" }

  /// Nil if the query can match nothing.
  func sql(_ query: RecordQuery) -> (sql: String, arguments: [ColumnValue])? {
    var arguments: [ColumnValue] = []
    var conditions: [String] = []
    if query.visibleOnly { conditions.append("(\(kind?.isVisible("r") ?? "r.life = 1"))") }
    if let prefix = query.idPrefix {
      guard let (first, last) = Self.range(prefix) else { return nil }
      arguments += [.blob(first), .blob(last)]
      conditions.append("r.id BETWEEN ?\(arguments.count - 1) AND ?\(arguments.count)")
    }
    for condition in query.conditions {
      guard let text = sql(condition, &arguments) else { return nil }
      conditions.append(text)
    }
    var sql = sql(conditions.isEmpty ? "1" : conditions.joined(separator: " AND "))
    sql += " ORDER BY " + order(query.order).joined(separator: ", ")
    arguments += [.integer(Int64(query.limit ?? -1)), .integer(Int64(query.offset))]
    return (sql + " LIMIT ?\(arguments.count - 1) OFFSET ?\(arguments.count)", arguments)
  }

  private func sql(_ condition: RecordQuery.Condition, _ arguments: inout [ColumnValue]) -> String? {
    guard let column = column(condition.field, condition.part) else { return nil }
    func compare(_ sign: String, _ value: ColumnValue) -> String {
      arguments.append(value)
      return "\(column) \(sign) ?\(arguments.count)"
    }
    switch condition.test {
    case .equals(let value): return compare("=", value)
    case .atLeast(let value): return compare(">=", value)
    case .atMost(let value): return compare("<=", value)
    case .isNull: return "\(column) IS NULL"
    case .begins(let prefix):
      arguments.append(.text(prefix))
      let number = arguments.count
      return "substr(\(column), 1, length(?\(number))) = ?\(number)"
    }
  }

  private func order(_ order: [RecordQuery.Order]) -> [String] {
    // None stands for "no organization": it comes before all that are one.
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

  /// Names in the order people expect, and bytewise where they differ in case only.
  private func terms(_ field: FieldNumber, _ part: Int, _ direction: String) -> [String] {
    guard let column = column(field, part) else { return [] }
    let isText = kind?.field(field)?.columns[part].type == .text
    return (isText ? ["\(column) COLLATE NOCASE\(direction)"] : []) + ["\(column)\(direction)"]
  }

  private func column(_ field: FieldNumber, _ part: Int) -> String? {
    guard let columns = kind?.field(field)?.columns, columns.indices.contains(part) else { return nil }
    return "r.\(columns[part].name)"
  }

  /// The ids that begin with some hexadecimal digits.
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
