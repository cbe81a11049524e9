public import Foundation
import Storage

/// What records of a ``Query`` must be: written with operators on key paths.
///
/// `\.name == "Rome"`, `\.startDate >= .now`, `\.endDate == nil`, joined with `&&`, `||` and `!`. Nothing is greater
/// or less than a value that is nil. ``QueryTime/now`` is the time at which the query is read, not the time at which
/// it was written down.
public struct Condition<Owner: Record>: Hashable, Sendable {
  let term: QueryTerm

  init(_ term: QueryTerm) { self.term = term }

  init(_ property: PartialKeyPath<Owner>, _ test: RecordQuery.Test) {
    term = Owner.fields.part(property).map { .fixed(.part($0, test)) } ?? .unsupported("\(property)")
  }

  init(_ property: PartialKeyPath<Owner>, _ test: NowTest) {
    term = Owner.fields.part(property).map { .now($0, test) } ?? .unsupported("\(property)")
  }

  /// A text that contains another, whatever the case.
  public static func contains(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .contains(text))
  }

  /// A text that begins with another, whatever the case.
  public static func begins(_ property: KeyPath<Owner, String>, with text: String) -> Condition {
    Condition(property, .begins(with: text))
  }

  /// A property that is one of these.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: KeyPath<Owner, Property>
  ) -> Condition {
    Condition(property, .isOne(of: values.map(\.queryOperand.column)))
  }

  /// Records with these ids.
  public static func ids(_ ids: some Sequence<UUID>) -> Condition {
    Condition(.fixed(.ids(ids.map { .init($0) })))
  }

  /// What meets both.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(.all([left.term, right.term]))
  }

  /// What meets one of them, or both.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(.any([left.term, right.term]))
  }

  /// What does not meet it.
  public static prefix func ! (condition: Condition) -> Condition { Condition(.not(condition.term)) }
}

/// A property that has this value; nil is a value too.
public func == <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .equals(value.queryOperand.column))
}

/// A property that has another value.
public func != <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  !(property == value)
}

/// A property that is greater or the same.
@_disfavoredOverload
public func >= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atLeast(value.queryOperand.column))
}

/// A property that is less or the same.
@_disfavoredOverload
public func <= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atMost(value.queryOperand.column))
}

/// A property that is greater.
@_disfavoredOverload
public func > <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .above(value.queryOperand.column))
}

/// A property that is less.
@_disfavoredOverload
public func < <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .below(value.queryOperand.column))
}
