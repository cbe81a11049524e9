import Home
package import Records
import Replication
package import Storage
package import Wire

/// Finds the records that a list shows. It uses the same query as an application, restricted by the filters that the
/// user typed.
package struct RecordList {
  let store: Store
  let names: NameResolver

  package init(store: Store, names: NameResolver) { (self.store, self.names) = (store, names) }

  /// Returns the visible records of a kind in list order.
  ///
  /// - Parameter filter: returns the typed value of the filter with a given name (the name of a parent's kind,
  ///   `date`, `from` or `to`); nil if there is none.
  package func records(_ kind: Kind, _ filter: (String) -> String? = { _ in nil }) throws -> [RecordRow] {
    var query = RecordQuery(listing: kind)
    query.conditions = try ofParent(kind, filter) + ofDays(kind, filter)
    return try store.records(query)
  }

  private func ofParent(_ kind: Kind, _ filter: (String) -> String?) throws -> [RecordQuery.Condition] {
    guard let field = kind.parent else { return [] }
    for parent in kind.parentKinds.compactMap({ Registry.kind($0) }) {
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

  private func ofDays(_ kind: Kind, _ filter: (String) -> String?) throws -> [RecordQuery.Condition] {
    guard let field = kind.fields.first(where: { $0.type == .datedInstant })?.number else { return [] }
    let tests: [(name: String, test: (ColumnValue) -> RecordQuery.Test)] = [
      ("date", { .equals($0) }), ("from", { .atLeast($0) }), ("to", { .atMost($0) }),
    ]
    return try tests.compactMap { name, test in
      guard let text = filter(name) else { return nil }
      guard let day = CalendarDay(text) else {
        throw WaymarkError.badValue("--\(name)", text, allowed: "use a day such as 2026-05-03")
      }
      return .init(field, part: 2, test(.text(day.description)))
    }
  }

  /// Returns the kinds and names of the visible items that refer to an organization.
  package func users(ofOrganization id: RecordID) throws -> [String] {
    try Registry.owners.flatMap { kind in
      var query = RecordQuery(kind.number)
      query.conditions = [.init(kind.number("organizationId"), .equals(.blob(id.bytes)))]
      return try store.records(query).map { "\(kind.name) \(kind.title(of: $0) ?? $0.key.id.uuid)" }
    }
  }

  /// Returns the kind and names of the visible habits in a category.
  func users(ofCategory key: String) throws -> [String] {
    let kind = Registry.habit
    var query = RecordQuery(kind.number)
    query.conditions = [.init(kind.number("categoryId"), .equals(.text(key)))]
    return try store.records(query).map { "\(kind.name) \(kind.title(of: $0) ?? $0.key.id.uuid)" }
  }
}
