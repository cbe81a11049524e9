import Platform
import Home
import Reasons
import RecordTables
package import Records
import Replication
package import Storage
package import Wire

/// Finds the records that a list shows. It uses the same query as an application, restricted by the filters that the
/// user typed.
package struct RecordList {
  let store: Store
  let names: NameResolver
  /// The current day of the user, from which on `--upcoming` lists.
  let today: CalendarDay

  package init(store: Store, names: NameResolver, today: CalendarDay) {
    (self.store, self.names, self.today) = (store, names, today)
  }

  /// The typed value of the filter with a given name; nil if there is none.
  package typealias Filter = (String) -> String?

  /// Returns the visible records of a kind that pass the filters, and their number without the limit.
  ///
  /// - Parameter filter: returns the typed value of a filter: the name of a parent's kind, `text`, `date`, `from`, `to`,
  ///   `upcoming`, `sort` or `limit`.
  package func records(_ kind: Kind, _ filter: Filter) throws -> (rows: [RecordRow], total: Int) {
    var query = RecordQuery(listing: kind)
    query.conditions = try ofParent(kind, filter) + ofText(kind, filter) + ofDays(kind, filter)
    let order = try order(kind, filter)
    if let order { query.order = [order] + query.order }
    let limit = try limit(filter)
    let days = try days(kind, filter)
    if kind.hasStart, let days {
      // The day of an item depends on its zone, so the store only narrows the search.
      let rows = try store.records(query).filter { TimelineItem($0)?.days.map(days.overlaps) ?? false }
      return (limit.map { Array(rows.prefix($0)) } ?? rows, rows.count)
    }
    guard let limit else {
      let rows = try store.records(query)
      return (rows, rows.count)
    }
    let total = try store.count(query)
    query.limit = limit
    // Of habit entries, the newest ones are listed, in the order of the whole list.
    if kind.datedField != nil, order == nil { query.offset = max(0, total - limit) }
    return (try store.records(query), total)
  }

  private func ofParent(_ kind: Kind, _ filter: Filter) throws -> [RecordQuery.Condition] {
    guard let field = kind.parent else { return [] }
    for parent in kind.parentKinds.compactMap({ store.schema.kind($0) }) {
      guard let name = filter(parent.name) else { continue }
      let key = try names.resolve(parent, name).key
      return kind.field(field)?.type == .owner
        ? [
          .init(field, .equals(.integer(Int64(key.kind.rawValue)))),
          .init(field, part: 1, .equals(.blob(key.id.bytes))),
        ] : [.init(field, .equals(.blob(key.id.bytes)))]
    }
    return []
  }

  /// Returns the condition that a text occurs in the record or, for entries, which have no text, in its habit's name.
  private func ofText(_ kind: Kind, _ filter: Filter) throws -> [RecordQuery.Condition] {
    guard let text = filter("text"), !text.isEmpty else { return [] }
    guard kind.searchedFields.isEmpty, let field = kind.parent else {
      return [.text([text])]
    }
    let parents = try kind.parentKinds.compactMap { store.schema.kind($0) }.flatMap { parent in
      var query = RecordQuery(parent.number)
      query.conditions = [.text([text])]
      return try store.records(query).map { ColumnValue.blob($0.key.id.bytes) }
    }
    return [.init(field, .isOne(of: parents))]
  }

  // MARK: Days

  private func ofDays(_ kind: Kind, _ filter: Filter) throws -> [RecordQuery.Condition] {
    if let field = kind.datedField { return try ofEntryDays(field, filter) }
    guard let days = try days(kind, filter) else { return [] }
    return kind == Kind.trip ? [try ofTripDays(days)] : []
  }

  private func ofEntryDays(_ field: FieldNumber, _ filter: Filter) throws -> [RecordQuery.Condition] {
    let tests: [(name: String, test: (ColumnValue) -> RecordQuery.Test)] = [
      ("date", { .equals($0) }), ("from", { .atLeast($0) }), ("to", { .atMost($0) }),
    ]
    return try tests.compactMap { name, test in
      try day(name, filter).map { .init(field, part: 2, test(.text($0.description))) }
    }
  }

  /// Returns the condition that a trip takes place within some days. A trip without dates has those of its items.
  private func ofTripDays(_ days: ClosedRange<Day>) throws -> RecordQuery.Condition {
    let (start, end) = (Kind.trip.number("startDate"), Kind.trip.number("endDate"))
    let first = ColumnValue.integer(days.lowerBound.calendar.daysSince1970 * 86_400_000)
    let next = ColumnValue.integer((days.upperBound.calendar.daysSince1970 + 1) * 86_400_000)
    let undated = try store.tripSummaries().filter { _, summary in
      guard let first = summary.firstStart.map({ Day(Date(milliseconds: $0), in: .gmt) }) else {
        return false
      }
      let last = summary.lastEnd.map { Day(Date(milliseconds: $0), in: .gmt) } ?? first
      return days.overlaps(first...max(first, last))
    }
    let begins = RecordQuery.Condition(start, .below(next))
    return .any([
      .all([begins, .init(end, .atLeast(first))]),
      .all([begins, .init(end, .isNull), .init(start, .atLeast(first))]),
      .all([.init(start, .isNull), .ids(undated.keys.sorted())]),
    ])
  }

  /// Returns the days that the filters select; nil if there is no such filter.
  private func days(_ kind: Kind, _ filter: Filter) throws -> ClosedRange<Day>? {
    guard kind == Kind.trip || kind.hasStart else { return nil }
    var from = try day("from", filter)
    let to = try day("to", filter)
    if filter("upcoming") != nil { from = max(from ?? today, today) }
    guard from != nil || to != nil else { return nil }
    let first = Day(from ?? CalendarDay(daysSince1970: .min))
    let last = Day(to ?? CalendarDay(daysSince1970: .max))
    guard first <= last else {
      throw WaymarkError.usage("No day is both on or after \(first) and on or before \(last).")
    }
    return first...last
  }

  private func day(_ name: String, _ filter: Filter) throws -> CalendarDay? {
    guard let text = filter(name) else { return nil }
    guard let day = CalendarDay(text) else {
      throw WaymarkError.badValue("--\(name)", text, allowed: "use a day such as 2026-05-03")
    }
    return day
  }

  // MARK: Order

  /// Returns the order that the user typed: a field, in descending order after a dash.
  private func order(_ kind: Kind, _ filter: Filter) throws -> RecordQuery.Order? {
    guard let text = filter("sort") else { return nil }
    let name = text.hasPrefix("-") ? String(text.dropFirst()) : text
    guard kind.sortingNames.contains(name), let field = kind.field(named: name),
      let part = field.part(named: name)
    else {
      throw WaymarkError.badValue(
        "--sort", text, allowed: "expected one of \(kind.sortingNames.joined(separator: ", "))")
    }
    return text.hasPrefix("-") ? .descending(field.number, part: part) : .ascending(field.number, part: part)
  }

  private func limit(_ filter: Filter) throws -> Int? {
    guard let text = filter("limit") else { return nil }
    guard let limit = Int(text), limit > 0 else {
      throw WaymarkError.badValue("--limit", text, allowed: "expected a number of 1 or more")
    }
    return limit
  }
}

extension Store {
  /// Returns the kinds and names of the visible items that refer to an organization.
  package func users(ofOrganization id: RecordID) throws -> [String] {
    try schema.kinds.flatMap { kind in
      let fields = kind.fields.filter { $0.type == .reference(FixedRecords.organization) }
      guard !fields.isEmpty else { return [String]() }
      var query = RecordQuery(kind.number)
      query.conditions = [.any(fields.map { .init($0.number, .equals(.blob(id.bytes))) })]
      return try records(query).map { "\(kind.name) \(kind.title(of: $0) ?? $0.key.id.uuid)" }
    }
  }

  /// Returns the kind and names of the visible habits in a category.
  package func users(ofCategory key: String) throws -> [String] {
    let kind = Kind.habit
    var query = RecordQuery(kind.number)
    query.conditions = [.init(kind.number("categoryId"), .equals(.text(key)))]
    return try records(query).map { "\(kind.name) \(kind.title(of: $0) ?? $0.key.id.uuid)" }
  }
}

extension Kind {
  /// The field with the day of an entry; nil for kinds that have no such field.
  var datedField: FieldNumber? { fields.first { $0.type == .datedInstant }?.number }

  /// Whether records of this kind are items of a trip, which begin and end at times with zones.
  package var hasStart: Bool { Kind.owners.contains(self) }

  /// The names of the fields by which a list can be sorted.
  package var sortingNames: [String] {
    fields.flatMap { field -> [String] in
      switch field.type {
      case .bool, .integer, .float, .text, .timestamp: [field.name]
      case .instant, .money: Array(field.parts.prefix(1))
      case .datedInstant: [field.parts[0], field.parts[2]]
      default: []
      }
    }
  }
}
