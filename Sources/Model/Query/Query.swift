public import Foundation
import Records
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
  private var terms: [QueryTerm] = []
  private var order: [RecordQuery.Order]?
  /// The first property in a call of `sorted` that can't be used to sort; nil if there is none.
  private var unsupported: String?
  private var limit: Int?
  private var offset = 0

  init() {}

  /// Returns the query restricted to records that also meet a condition.
  public func filter(_ condition: Condition<Owner>) -> Query {
    var query = self
    query.terms.append(condition.term)
    return query
  }

  /// Sorts by a property. Records that are equal in the properties from earlier calls are sorted by this one; records
  /// whose property is nil come last.
  ///
  /// A sort order replaces the list order. Text is sorted alphabetically, regardless of case.
  public func sorted<Property: QueryValue>(
    by property: KeyPath<Owner, Property>, order direction: SortOrder = .forward
  ) -> Query {
    var query = self
    guard let part = Owner.fields.part(property) else {
      query.unsupported = unsupported ?? "\(property)"
      return query
    }
    let term: RecordQuery.Order =
      direction == .forward
      ? .ascending(part.field, part: part.index) : .descending(part.field, part: part.index)
    query.order = (query.order ?? []) + [term]
    return query
  }

  /// Limits the result to at most this many records.
  public func prefix(_ count: Int) -> Query {
    var query = self
    query.limit = max(0, min(count, limit ?? .max))
    return query
  }

  /// Skips this many records at the beginning of the result. Followed by ``prefix(_:)``, this selects a page.
  public func dropFirst(_ count: Int) -> Query {
    var query = self
    query.offset += max(0, count)
    query.limit = limit.map { max(0, $0 - max(0, count)) }
    return query
  }

  /// Returns the query in the form that the store runs.
  ///
  /// - Throws: ``WaymarkError`` for a key path that is not a stored property.
  func stored(_ now: Moment) throws -> RecordQuery {
    if let unsupported { throw QueryTerm.unsupported(unsupported) }
    var query = RecordQuery(listing: Owner.kind)
    query.conditions = try terms.map { try $0.condition(now) }
    if let order { query.order = order }
    query.limit = limit
    query.offset = offset
    return query
  }
}

extension Query {
  /// All comparisons with the present time in the conditions of the query.
  var comparisons: [(part: RecordQuery.Part, test: NowTest)] { terms.flatMap(\.comparisons) }
}

extension Record {
  /// The query for all visible records of the kind.
  public static var all: Query<Self> { Query() }
}
