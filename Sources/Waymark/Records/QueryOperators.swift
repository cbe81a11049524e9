import Platform
public import Model
import Storage

// The operators of conditions, such as `\.startDate >= .now`. They are here rather than in `Model` because an operator
// can't be exported by its name.

extension Condition {
  /// Matches records that meet both conditions.
  public static func && (left: Condition, right: Condition) -> Condition { .all(left, right) }

  /// Matches records that meet at least one of the conditions.
  public static func || (left: Condition, right: Condition) -> Condition { .any(left, right) }

  /// Matches records that do not meet the condition.
  public static prefix func ! (condition: Condition) -> Condition { .not(condition) }
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

// MARK: Comparing with the present time

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
