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
  /// Whether conditions on text are narrowed down by the text index.
  private let usesTextIndex: Bool

  /// - Parameter usesTextIndex: false if the text index is damaged.
  init(_ number: KindNumber, _ schema: Schema, usesTextIndex: Bool = true) {
    self.number = number
    self.schema = schema
    self.usesTextIndex = usesTextIndex
    kind = schema.kind(number)
  }

  private func other(_ kind: KindNumber) -> Select { Select(kind, schema, usesTextIndex: usesTextIndex) }

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
    var arguments: [ColumnValue] = []
    guard let condition = condition(query, &arguments) else { return nil }
    let order = order(query.order, in: .row).map(\.sorted).joined(separator: ", ")
    return ("\(sql(condition)) ORDER BY \(order) \(page(query, &arguments))", arguments)
  }

  /// Returns the SQL that counts the records of a query, and its arguments; nil if the query can't match anything.
  func sql(counting query: RecordQuery) -> (sql: String, arguments: [ColumnValue])? {
    var arguments: [ColumnValue] = []
    guard let condition = condition(query, &arguments) else { return nil }
    return (
      "SELECT count(*) FROM (SELECT 1 FROM \(source) r WHERE \(others)\(condition) "
        + "\(page(query, &arguments)))", arguments
    )
  }

  /// Returns the SQL that selects columns of the records of a query; nil if the query can't match anything.
  private func sql(
    selecting columns: [String], _ query: RecordQuery, _ arguments: inout [ColumnValue]
  ) -> String? {
    guard let condition = condition(query, &arguments) else { return nil }
    let rows = "SELECT \(columns.joined(separator: ", ")) FROM \(source) r WHERE \(others)\(condition)"
    // The order decides only which records a page has.
    guard query.limit != nil || query.offset > 0 else { return rows }
    let order = order(query.order, in: .row).map(\.sorted).joined(separator: ", ")
    return "\(rows) ORDER BY \(order) \(page(query, &arguments))"
  }

  /// Returns the SQL that counts the records of a query by the components of a field, and selects the components of
  /// another field with them; nil if the query can't match anything.
  func sql(
    counting query: RecordQuery, by group: Field?, of value: Field?
  ) -> (sql: String, arguments: [ColumnValue])? {
    var arguments: [ColumnValue] = []
    let names = [group, value].flatMap { $0?.columns.map(\.name) ?? [] }
    let columns = names.enumerated().map { "r.\($0.element) AS c\($0.offset)" }
    guard let rows = sql(selecting: columns.isEmpty ? ["1"] : columns, query, &arguments) else { return nil }
    let groups = names.indices.map { "c\($0)" }.joined(separator: ", ")
    return (
      "SELECT count(*)\(groups.isEmpty ? "" : ", \(groups)") FROM (\(rows))"
        + (groups.isEmpty ? "" : " GROUP BY \(groups)"), arguments
    )
  }

  private func page(_ query: RecordQuery, _ arguments: inout [ColumnValue]) -> String {
    arguments += [.integer(Int64(query.limit ?? -1)), .integer(Int64(query.offset))]
    return "LIMIT ?\(arguments.count - 1) OFFSET ?\(arguments.count)"
  }

  private func condition(_ query: RecordQuery, _ arguments: inout [ColumnValue]) -> String? {
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
    if let cursor = query.cursor { terms.append(isAfter(cursor, query.order, &arguments)) }
    return terms.isEmpty ? "1" : terms.joined(separator: " AND ")
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
    case .text(let texts): return sql(texts, &arguments)
    case .refers(let part, let query):
      guard let column = column(part.field, part.index),
        let ids = other(query.kind).sql(selecting: ["r.id"], query, &arguments)
      else { return nil }
      let kinds = self.kindColumn(part).map { " AND \($0) = \(query.kind.rawValue)" } ?? ""
      return "(\(column) IN (\(ids))\(kinds))"
    case .isReferenced(let query, let part):
      let other = other(query.kind)
      guard let column = other.column(part.field, part.index) else { return nil }
      var query = query
      if other.kindColumn(part) != nil {
        query.conditions.append(.init(part.field, .equals(.integer(Int64(number.rawValue)))))
      }
      return other.sql(selecting: [column], query, &arguments).map { "r.id IN (\($0))" }
    case .all(let conditions):
      var terms: [String] = []
      for condition in conditions {
        guard let term = sql(condition, &arguments) else { return nil }
        terms.append(term)
      }
      return terms.isEmpty ? "1" : "(\(terms.joined(separator: " AND ")))"
    case .any(let conditions):
      let terms = conditions.compactMap { branch($0, &arguments) }
      return terms.isEmpty ? nil : "(\(terms.joined(separator: " OR ")))"
    // In SQL, a comparison with null is neither true nor false, and neither is its negation.
    case .not(let condition): return branch(condition, &arguments).map { "NOT coalesce(\($0), 0)" } ?? "1"
    }
  }

  /// Returns the SQL of a condition in a larger one; nil if no record can meet it. Then it leaves no arguments, because
  /// SQLite refuses those that the statement does not use.
  private func branch(_ condition: RecordQuery.Condition, _ arguments: inout [ColumnValue]) -> String? {
    let count = arguments.count
    if let term = sql(condition, &arguments) { return term }
    arguments.removeSubrange(count...)
    return nil
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
    case .begins(let text), .contains(let text):
      let isPrefix = if case .begins = test { true } else { false }
      let function = isPrefix ? Connection.beginsFunction : Connection.containsFunction
      let text = foldedText(text)
      // The index does not have the text that replaces null.
      let isIndexed = kind?.searchedFields.contains { $0.number == part.field } ?? false
      let hasNoDefault = part.absent == .null || part.absent == .text("")
      let candidates = isIndexed && hasNoDefault ? candidates([text], &arguments) : nil
      let condition = "\(function)(\(column), \(argument(.text(text))))"
      return candidates.map { "(\($0) AND \(condition))" } ?? condition
    }
  }

  // MARK: Text

  /// Returns the condition that each of some texts occurs in a searched field; nil for a kind without such fields.
  private func sql(_ texts: [String], _ arguments: inout [ColumnValue]) -> String? {
    let columns = (kind?.searchedFields ?? []).map { "r.\($0.columns[0].name)" }
    guard !columns.isEmpty else { return nil }
    let texts = texts.map(foldedText)
    var terms = [candidates(texts, &arguments)].compactMap(\.self)
    for text in texts {
      arguments.append(.text(text))
      let found = columns.map { "\(Connection.containsFunction)(\($0), ?\(arguments.count))" }
      terms.append("(\(found.joined(separator: " OR ")))")
    }
    return terms.isEmpty ? "1" : "(\(terms.joined(separator: " AND ")))"
  }

  /// Returns the condition that a record may contain some folded texts, by the text index; nil if the index can't tell.
  ///
  /// The index only narrows down the records, and the texts are compared with the rows. So the result is the same with
  /// the index as without it.
  private func candidates(_ texts: [String], _ arguments: inout [ColumnValue]) -> String? {
    guard usesTextIndex, let expression = TextIndex.expression(texts) else { return nil }
    arguments.append(.text(expression))
    return "r.id IN (\(TextIndex.select(number, matching: "?\(arguments.count)")))"
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

  /// Returns the column with the kind of the record to which a component refers; nil if the field is a reference to one
  /// kind only.
  private func kindColumn(_ part: RecordQuery.Part) -> String? {
    kind?.field(part.field)?.type == .owner ? column(part.field, 0) : nil
  }

  // MARK: Order

  /// An expression to sort by. Nulls come last in either direction.
  private struct OrderTerm {
    let sql: String
    var isDescending = false
    /// Whether the expression can be null. SQLite uses no index for more than one expression of which nulls come last.
    var isOptional = true

    var sorted: String { "\(sql)\(isDescending ? " DESC" : "")\(isOptional ? " NULLS LAST" : "")" }
  }

  /// What the expressions of an order are about: a row, or a place whose values are arguments.
  private enum OrderSubject {
    case row
    case place(id: String, [FieldNumber: [String]])

    var id: String {
      switch self {
      case .row: "r.id"
      case .place(let id, _): id
      }
    }
  }

  /// Returns the expressions by which a query sorts, for a row or for a place in the order. Only the id, which comes last,
  /// is different for each record.
  private func order(_ order: [RecordQuery.Order], in subject: OrderSubject) -> [OrderTerm] {
    // The record “None” represents the absence of an organization and comes before all others.
    let none = hexadecimal(FixedRecords.none.id.bytes)
    var terms = number == FixedRecords.none.kind ? [OrderTerm(sql: "(\(subject.id) <> x'\(none)')")] : []
    for item in order {
      switch item {
      case .ascending(let field, let part): terms += self.terms(field, part, false, subject)
      case .descending(let field, let part): terms += self.terms(field, part, true, subject)
      case .tripStart where number == KindNumbers.trip:
        let first = "(SELECT s.first_start FROM trip_summaries s WHERE s.trip = \(subject.id))"
        let start = component(Kind.trip.number("startDate"), 0, subject) ?? "NULL"
        terms.append(OrderTerm(sql: "coalesce(\(start), \(first))"))
      case .tripStart: break
      case .related(let related, let isDescending): terms += self.terms(related, isDescending, subject)
      }
    }
    return terms + [OrderTerm(sql: subject.id, isOptional: false)]
  }

  /// Returns the terms for a component. Text is sorted ignoring case and accents, which decide only between strings that are
  /// otherwise equal.
  private func terms(
    _ field: FieldNumber, _ part: Int, _ isDescending: Bool, _ subject: OrderSubject
  ) -> [OrderTerm] {
    guard let component = component(field, part, subject) else { return [] }
    return keys(field, part, component).map { OrderTerm(sql: $0, isDescending: isDescending) }
  }

  /// Returns the terms for a component of the record to which another component refers.
  private func terms(
    _ related: RecordQuery.RelatedPart, _ isDescending: Bool, _ subject: OrderSubject
  ) -> [OrderTerm] {
    let other = other(related.kind)
    guard let reference = component(related.reference.field, related.reference.index, subject),
      let kind = other.kind, let column = other.column(related.part.field, related.part.index, of: "o")
    else { return [] }
    return other.keys(related.part.field, related.part.index, column).map { key in
      OrderTerm(
        sql: "(SELECT \(key) FROM \(other.source) o WHERE o.id = \(reference)"
          + " AND \(schema.isVisible(kind, "o")))",
        isDescending: isDescending)
    }
  }

  /// Returns the expressions by which a component is sorted.
  private func keys(_ field: FieldNumber, _ part: Int, _ component: String) -> [String] {
    // Amounts are stored as text and sorted as numbers.
    if kind?.field(field)?.type == .money, part == 0 { return ["CAST(\(component) AS REAL)"] }
    let isText = kind?.field(field)?.columns[part].type == .text
    return (isText ? ["\(Connection.foldedFunction)(\(component))"] : []) + [component]
  }

  private func component(_ field: FieldNumber, _ part: Int, _ subject: OrderSubject) -> String? {
    guard let column = column(field, part) else { return nil }
    switch subject {
    case .row: return column
    case .place(let id, let values):
      if field == RecordQuery.Part.id.field { return id }
      return values[field]?[part] ?? "NULL"
    }
  }

  /// Returns the condition that a row comes after a place in an order.
  private func isAfter(
    _ cursor: RecordQuery.Cursor, _ order: [RecordQuery.Order], _ arguments: inout [ColumnValue]
  ) -> String {
    func argument(_ value: ColumnValue) -> String {
      arguments.append(value)
      return "?\(arguments.count)"
    }
    var values: [FieldNumber: [String]] = [:]
    for field in kind?.fields ?? [] where order.contains(where: { $0.field == field.number }) {
      values[field.number] = cursor.fields[field.number].flatMap { field.type.columns(of: $0) }?.map(argument)
    }
    let place = OrderSubject.place(id: argument(.blob(cursor.id.bytes)), values)
    var condition = "0"
    // From the last term to the first: a row is after the place by a term, or equal in it and after by the next.
    for (row, place) in zip(self.order(order, in: .row), self.order(order, in: place)).reversed() {
      let after =
        "\(row.sql) \(row.isDescending ? "<" : ">") \(place.sql)"
        + " OR \(row.sql) IS NULL AND \(place.sql) IS NOT NULL"
      condition = "(\(after) OR \(row.sql) IS \(place.sql) AND \(condition))"
    }
    return condition
  }

  // MARK: Columns

  private func column(_ field: FieldNumber, _ part: Int, of alias: String = "r") -> String? {
    if field == RecordQuery.Part.id.field { return "\(alias).id" }
    guard let columns = kind?.field(field)?.columns, columns.indices.contains(part) else { return nil }
    return "\(alias).\(columns[part].name)"
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

extension RecordQuery.Order {
  /// The field of the record whose value decides its place in the order.
  fileprivate var field: FieldNumber {
    switch self {
    case .ascending(let field, _), .descending(let field, _): field
    case .tripStart: Kind.trip.number("startDate")
    case .related(let related, _): related.reference.field
    }
  }
}
