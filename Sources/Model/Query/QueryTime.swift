public import Foundation
import Home
import Records
import Replication
import Storage

/// The time at which a query is read, as an operand: `\.startDate >= .now`.
///
/// A watch of such a query reads again when the time reaches the next value that it is compared with.
public struct QueryTime: Hashable, Sendable {
  /// The node's clock when the query is read.
  public static let now = QueryTime()

  private init() {}
}

/// A property that can be compared with ``QueryTime/now``: a date or an optional date.
public protocol QueryDate: QueryValue {}

extension Date: QueryDate {}

extension Optional: QueryDate where Wrapped == Date {}

/// Whether a property is now or later.
public func >= <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .atLeast)
}

/// Whether a property is now or earlier.
public func <= <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .atMost)
}

/// Whether a property is later than now.
public func > <Owner: Record, Property: QueryDate>(
  property: KeyPath<Owner, Property>, time: QueryTime
) -> Condition<Owner> {
  Condition(property, .above)
}

/// Whether a property is earlier than now.
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

  /// How long after the time reaches a value the result changes, in milliseconds: `>= now` still holds during the
  /// whole millisecond.
  var delay: Moment {
    switch self {
    case .atLeast, .below: 1
    case .above, .atMost: 0
    }
  }
}

/// A condition of a query; `now` is filled in when the query is read.
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

  /// All comparisons with the present time.
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
      next: "name a stored property, such as \\.name, and filter or sort by others in Swift")
  }
}
