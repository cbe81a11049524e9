public import Platform
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

/// A comparison of a property with the present time.
package enum NowTest: Hashable, Sendable {
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
