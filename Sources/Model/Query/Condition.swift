public import Foundation
import Storage

/// A condition on the records of a ``Query``, written with operators on key paths.
///
/// `\.name == "Rome"`, `\.startDate >= .now`, `\.endDate == nil`, joined with `&&`, `||` and `!`. A nil value is
/// neither greater nor less than anything. ``QueryTime/now`` is the time at which the query is read, not the time
/// at which it was written.
public struct Condition<Owner: Record>: Hashable, Sendable {
  let term: QueryTerm

  init(_ term: QueryTerm) { self.term = term }

  init(_ property: PartialKeyPath<Owner>, _ test: RecordQuery.Test) {
    term = Owner.fields.part(property).map { .fixed(.part($0, test)) } ?? .unsupported("\(property)")
  }

  init(_ property: PartialKeyPath<Owner>, _ test: NowTest) {
    term = Owner.fields.part(property).map { .now($0, test) } ?? .unsupported("\(property)")
  }

  /// Whether a text contains another, regardless of case.
  public static func contains(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .contains(text))
  }

  /// Whether a text begins with another, regardless of case.
  public static func begins(_ property: KeyPath<Owner, String>, with text: String) -> Condition {
    Condition(property, .begins(with: text))
  }

  /// Whether a property is one of these values.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: KeyPath<Owner, Property>
  ) -> Condition {
    Condition(property, .isOne(of: values.map(\.queryOperand.column)))
  }

  /// Whether the record has one of these ids.
  public static func ids(_ ids: some Sequence<UUID>) -> Condition {
    Condition(.fixed(.ids(ids.map { .init($0) })))
  }

  /// Whether both conditions hold.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(.all([left.term, right.term]))
  }

  /// Whether at least one of the conditions holds.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(.any([left.term, right.term]))
  }

  /// Whether the condition does not hold.
  public static prefix func ! (condition: Condition) -> Condition { Condition(.not(condition.term)) }
}

/// Whether a property equals a value; nil is a value too.
public func == <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .equals(value.queryOperand.column))
}

/// Whether a property differs from a value.
public func != <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  !(property == value)
}

/// Whether a property is greater than or equal to a value.
@_disfavoredOverload
public func >= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atLeast(value.queryOperand.column))
}

/// Whether a property is less than or equal to a value.
@_disfavoredOverload
public func <= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atMost(value.queryOperand.column))
}

/// Whether a property is greater than a value.
@_disfavoredOverload
public func > <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .above(value.queryOperand.column))
}

/// Whether a property is less than a value.
@_disfavoredOverload
public func < <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .below(value.queryOperand.column))
}
