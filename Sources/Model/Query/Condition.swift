public import Foundation
import Storage

/// A condition on the records of a ``Query``, written with operators on key paths.
///
/// Examples are `\.name == "Rome"`, `\.startDate >= .now` and `\.endDate == nil`. Conditions are combined with `&&`,
/// `||` and `!`. A property that is nil is neither greater nor less than any value. ``QueryTime/now`` means the time
/// at which the query is run, not the time at which the condition was created.
public struct Condition<Owner: Record>: Hashable, Sendable {
  let term: QueryTerm

  init(_ term: QueryTerm) { self.term = term }

  init(_ property: PartialKeyPath<Owner>, _ test: RecordQuery.Test) {
    term = Owner.fields.part(property).map { .fixed(.part($0, test)) } ?? .unusable(.notStored("\(property)"))
  }

  init(_ property: PartialKeyPath<Owner>, _ test: NowTest) {
    term = Owner.fields.part(property).map { .now($0, test) } ?? .unusable(.notStored("\(property)"))
  }

  /// Matches records whose property contains a text, regardless of case and of accents: `sao` matches “São”.
  public static func contains(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .contains(text))
  }

  /// Matches records whose property begins with a text, regardless of case and of accents.
  public static func begins(_ property: KeyPath<Owner, String>, with text: String) -> Condition {
    Condition(property, .begins(with: text))
  }

  /// Matches records whose property equals one of the values.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: KeyPath<Owner, Property>
  ) -> Condition {
    Condition(property, .isOne(of: values.map(\.queryOperand.column)))
  }

  /// Matches the records that have one of the ids.
  public static func ids(_ ids: some Sequence<UUID>) -> Condition {
    Condition(.fixed(.ids(ids.map { .init($0) })))
  }

  /// Matches records that meet both conditions.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(.all([left.term, right.term]))
  }

  /// Matches records that meet at least one of the conditions.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(.any([left.term, right.term]))
  }

  /// Matches records that do not meet the condition.
  public static prefix func ! (condition: Condition) -> Condition { Condition(.not(condition.term)) }
}

/// Matches records whose property equals a value. Comparing with `nil` matches records whose property is nil.
public func == <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .equals(value.queryOperand.column))
}

/// Matches records whose property differs from a value.
public func != <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  !(property == value)
}

/// Matches records whose property is greater than or equal to a value.
@_disfavoredOverload
public func >= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atLeast(value.queryOperand.column))
}

/// Matches records whose property is less than or equal to a value.
@_disfavoredOverload
public func <= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atMost(value.queryOperand.column))
}

/// Matches records whose property is greater than a value.
@_disfavoredOverload
public func > <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .above(value.queryOperand.column))
}

/// Matches records whose property is less than a value.
@_disfavoredOverload
public func < <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .below(value.queryOperand.column))
}
