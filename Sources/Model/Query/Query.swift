public import Foundation
import Records
import Replication
import Storage

/// Selects records of a kind, their order and their number.
///
/// A query is a value and reads nothing by itself. ``Node/records(_:)`` reads it once,
/// ``Node/watch(_:)->Watch<[Owner]>`` again after each change.
///
/// ```swift
/// let soon = Trip.all.filter(\.startDate >= .now && \.isProtected == false)
///   .sorted(by: \.startDate).prefix(20)
/// for await trips in node.watch(soon) { … }
/// ```
///
/// Properties are named by key paths to values that a record has itself: its id, texts, numbers, flags, dates, ids,
/// words. A key path to a part of a value, such as `\.name.count`, compiles, but reading the query fails with
/// `unsupported_property`. Filters are applied first, then the order, then the page, in whatever order they were
/// called. Without a sort order, records come in list order: trips and items by time, organizations with None first
/// and then by name, habits and categories in their own order.
public struct Query<Owner: Record>: Hashable, Sendable {
  private var terms: [QueryTerm] = []
  private var order: [RecordQuery.Order]?
  /// The first property that can't be used to sort.
  private var unsupported: String?
  private var limit: Int?
  private var offset = 0

  init() {}

  /// Only records that also meet a condition.
  public func filter(_ condition: Condition<Owner>) -> Query {
    var query = self
    query.terms.append(condition.term)
    return query
  }

  /// Sorts by a property, after those named in earlier calls; records without a value come last.
  ///
  /// Replaces the list order. Text is sorted alphabetically, regardless of case.
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

  /// At most this many records.
  public func prefix(_ count: Int) -> Query {
    var query = self
    query.limit = max(0, min(count, limit ?? .max))
    return query
  }

  /// Skips the first records; followed by ``prefix(_:)``, gives a page.
  public func dropFirst(_ count: Int) -> Query {
    var query = self
    query.offset += max(0, count)
    query.limit = limit.map { max(0, $0 - max(0, count)) }
    return query
  }

  /// The query for the store.
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
  /// All comparisons with the present time.
  var comparisons: [(part: RecordQuery.Part, test: NowTest)] { terms.flatMap(\.comparisons) }
}

extension Record {
  /// All visible records of the kind.
  public static var all: Query<Self> { Query() }
}
