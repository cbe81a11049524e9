public import Foundation
import Records
import Replication
import Storage

/// Which records of a kind to read, in what order, and how many.
///
/// A query is a value: it reads nothing by itself. ``Node/records(_:)`` reads it once, ``Node/watch(_:)->Watch<[Owner]>`` again
/// after each change.
///
/// ```swift
/// let soon = Trip.all.filter(\.startDate >= .now && \.isProtected == false)
///   .sorted(by: \.startDate).prefix(20)
/// for await trips in node.watch(soon) { … }
/// ```
///
/// Properties are named by key paths to what a record has itself: its id, texts, numbers, flags, dates, ids, words. A key
/// path to a part of one, as `\.name.count`, compiles, and reading the query fails with `unsupported_property`. Filters always come first, then the order, then the
/// page, whatever was called first. Without a sort order, records come as people read them: trips and items by time,
/// organizations with None first and then by name, habits and categories in their own order.
public struct Query<Owner: Record>: Hashable, Sendable {
  private var terms: [QueryTerm] = []
  private var order: [RecordQuery.Order]?
  /// The first property that it can't be sorted by.
  private var unsupported: String?
  private var limit: Int?
  private var offset = 0

  init() {}

  /// Only records of which this holds too.
  public func filter(_ condition: Condition<Owner>) -> Query {
    var query = self
    query.terms.append(condition.term)
    return query
  }

  /// Sorted by this property, in place of the usual order or after what was named before; those without a value last.
  ///
  /// Text comes in the order of the alphabet, regardless of case.
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

  /// At most so many records.
  public func prefix(_ count: Int) -> Query {
    var query = self
    query.limit = max(0, min(count, limit ?? .max))
    return query
  }

  /// Without the first ones: with ``prefix(_:)`` after it, a page.
  public func dropFirst(_ count: Int) -> Query {
    var query = self
    query.offset += max(0, count)
    query.limit = limit.map { max(0, $0 - max(0, count)) }
    return query
  }

  /// What the store is asked for.
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
  /// All comparisons with now.
  var comparisons: [(part: RecordQuery.Part, test: NowTest)] { terms.flatMap(\.comparisons) }
}

extension Record {
  /// All records of the kind that people can see.
  public static var all: Query<Self> { Query() }
}
