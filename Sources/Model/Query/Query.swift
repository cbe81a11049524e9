public import Platform
package import Records
import Replication
import Storage

/// Selects records of one kind, and determines their order and their maximum number.
///
/// A query is a value and reads nothing by itself. ``Node/records(_:)`` runs it once, and
/// ``Node/watch(_:)->Watch<[Owner]>`` runs it again after each change.
///
/// ```swift
/// let soon = Trip.all.filter(\.startDate >= .now && \.isProtected == false)
///   .sorted(by: \.startDate).prefix(20)
/// for await trips in node.watch(soon) { … }
/// ```
///
/// Conditions and sort orders use key paths to properties that the record itself stores: its id, text, numbers,
/// flags, dates, ids of other records, and words from a fixed list. A key path to a part of a value, such as
/// `\.name.count`, compiles, but running the query fails with `unsupported_property`.
///
/// Filters are applied first, then the sort order, then the page, regardless of the order of the calls. Without a
/// sort order, records come in list order: trips and items by time, organizations by name with None first, and habits
/// and categories in the order that the user gave them.
public struct Query<Owner: Record>: Hashable, Sendable {
  var plan = QueryPlan(Owner.kind)

  init() {}

  /// Returns the query restricted to records that also meet a condition.
  public func filter(_ condition: Condition<Owner>) -> Query {
    var query = self
    query.plan.terms.append(condition.term)
    return query
  }

  /// Returns the query restricted to records whose text contains each word of a text, in any order, regardless of case and
  /// of accents: `sao night` matches “Night train to São Paulo”.
  ///
  /// A word may be a part of a word of the record, such as its beginning while the user is still typing. Searched is the
  /// text that people write: names, notes and the like, but no words from a list and no keys. The words may be in
  /// different properties. A text without words matches every record. After the first 64 words, the rest is ignored.
  public func matching(_ text: String) -> Query {
    let words = text.split(whereSeparator: \.isWhitespace).prefix(QueryPlan.wordsMax).map(String.init)
    guard !words.isEmpty else { return self }
    return filter(Condition(.fixed(.text(words))))
  }

  /// Sorts by a property. Records that are equal in the properties from earlier calls are sorted by this one; records
  /// whose property is nil come last.
  ///
  /// A sort order replaces the list order. Text is sorted alphabetically, regardless of case and of accents.
  public func sorted<Property: QueryValue>(
    by property: KeyPath<Owner, Property>, order direction: SortOrder = .forward
  ) -> Query {
    var query = self
    guard let part = Owner.fields.part(property) else {
      query.plan.unusable = plan.unusable ?? .notStored("\(property)")
      return query
    }
    let term: RecordQuery.Order =
      direction == .forward
      ? .ascending(part.field, part: part.index) : .descending(part.field, part: part.index)
    query.plan.order = (plan.order ?? []) + [term]
    return query
  }

  /// Limits the result to at most this many records.
  public func prefix(_ count: Int) -> Query {
    var query = self
    query.plan.limit = max(0, min(count, plan.limit ?? .max))
    return query
  }

  /// Skips this many records at the beginning of the result. Followed by ``prefix(_:)``, this selects a page.
  public func dropFirst(_ count: Int) -> Query {
    var query = self
    query.plan.offset += max(0, count)
    query.plan.limit = plan.limit.map { max(0, $0 - max(0, count)) }
    return query
  }

  /// Skips all records up to a record in the order of the query, and that record itself. Followed by ``prefix(_:)``, this
  /// selects the next page:
  ///
  /// ```swift
  /// var page = try await node.records(trips.prefix(50))
  /// while let last = page.last {
  ///   page = try await node.records(trips.after(last).prefix(50))
  /// }
  /// ```
  ///
  /// The place in the order follows from the record as it was read. So no record is skipped or repeated if others are
  /// added, changed or deleted in between, and the record itself may have been deleted. In list order, a trip without a
  /// start of its own comes where its first item does; if that item changes in between, this holds no more.
  public func after(_ record: Owner) -> Query {
    var query = self
    query.plan.cursor = RecordQuery.Cursor(
      id: record.key.id, fields: record.origin.values ?? record.values)
    return query
  }
}

extension Query {
  /// The kinds of all records on which the result depends.
  package var kinds: Set<Kind> { plan.kinds }
}

extension Record {
  /// The query for all visible records of the kind.
  public static var all: Query<Self> { Query() }
}
