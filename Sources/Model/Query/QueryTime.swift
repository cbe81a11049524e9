public import Foundation
import Home
import Records
import Replication
import Storage

/// The time at which a query is run, for use in conditions such as `\.startDate >= .now`.
///
/// A watch of such a query runs it again when the time reaches the next value with which it is compared.
public struct QueryTime: Hashable, Sendable {
  /// The time of the node's clock when the query is run.
  public static let now = QueryTime()

  private init() {}
}

/// A property that can be compared with ``QueryTime/now``: a date or an optional date.
public protocol QueryDate: QueryValue {}

extension Date: QueryDate {}

extension Optional: QueryDate where Wrapped == Date {}

/// Matches records whose property is now or later.
public func >= <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .atLeast)
}

/// Matches records whose property is now or earlier.
public func <= <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .atMost)
}

/// Matches records whose property is later than now.
public func > <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .above)
}

/// Matches records whose property is earlier than now.
public func < <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .below)
}

/// A comparison of a property with the present time.
enum NowTest: Hashable, Sendable {
  case atLeast
  case atMost
  case above
  case below

  func test(_ now: Moment) -> RecordQuery.Test {
    switch self {
    case .atLeast: .atLeast(.integer(now))
    case .atMost: .atMost(.integer(now))
    case .above: .above(.integer(now))
    case .below: .below(.integer(now))
    }
  }

  /// The delay in milliseconds between the moment when the time reaches a property's value and the moment when the
  /// result changes. It is 1 for `>= now` and `< now`, whose results are still the same during the millisecond in
  /// which the two are equal.
  var delay: Moment {
    switch self {
    case .atLeast, .below: 1
    case .above, .atMost: 0
    }
  }
}

/// A condition of a query. The value of `now` is filled in when the query is run.
indirect enum QueryTerm: Hashable, Sendable {
  case fixed(RecordQuery.Condition)
  case now(RecordQuery.Part, NowTest)
  case all([QueryTerm])
  case any([QueryTerm])
  case not(QueryTerm)
  /// A key path that is not a stored property.
  case unsupported(String)

  /// - Throws: ``WaymarkError`` for a key path that is not a stored property.
  func condition(_ now: Moment) throws -> RecordQuery.Condition {
    switch self {
    case .fixed(let condition): condition
    case .now(let part, let test): .part(part, test.test(now))
    case .all(let terms): .all(try terms.map { try $0.condition(now) })
    case .any(let terms): .any(try terms.map { try $0.condition(now) })
    case .not(let term): .not(try term.condition(now))
    case .unsupported(let property): throw Self.unsupported(property)
    }
  }

  /// All comparisons with the present time in this condition.
  var comparisons: [(part: RecordQuery.Part, test: NowTest)] {
    switch self {
    case .now(let part, let test): [(part, test)]
    case .all(let terms), .any(let terms): terms.flatMap(\.comparisons)
    case .not(let term): term.comparisons
    case .fixed, .unsupported: []
    }
  }

  static func unsupported(_ property: String) -> WaymarkError {
    .failed(
      .unsupportedProperty,
      "Can't filter or sort by \(property): it is not a stored property of the record.",
      next: "use a stored property, such as \\.name, or filter and sort the result in Swift")
  }
}
