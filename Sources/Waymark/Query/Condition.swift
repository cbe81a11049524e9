public import Foundation
import Storage

/// What records of a ``Query`` must be: written with operators on key paths.
///
/// `\.name == "Rome"`, `\.startDate >= .now`, `\.endDate == nil`, joined with `&&`, `||` and `!`. Nothing is greater
/// or less than a value that is nil.
public struct Condition<Owner: Record>: Hashable, Sendable {
  let condition: RecordQuery.Condition

  init(_ condition: RecordQuery.Condition) { self.condition = condition }

  init(_ property: PartialKeyPath<Owner>, _ test: RecordQuery.Test) {
    condition = .part(Owner.fields.part(property), test)
  }

  /// A text that contains another, whatever the case.
  public static func contains(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .contains(text))
  }

  /// A text that begins with another, letter for letter.
  public static func begins(_ property: KeyPath<Owner, String>, with text: String) -> Condition {
    Condition(property, .begins(with: text))
  }

  /// A property that is one of these.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: KeyPath<Owner, Property>
  ) -> Condition {
    let part = Owner.fields.part(property)
    return Condition(.part(part, .isOne(of: values.map(\.queryOperand.column))))
  }

  /// Records with these ids.
  public static func ids(_ ids: some Sequence<UUID>) -> Condition {
    Condition(.ids(ids.map { .init($0) }))
  }

  /// What meets both.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(.all([left.condition, right.condition]))
  }

  /// What meets one of them, or both.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(.any([left.condition, right.condition]))
  }

  /// What does not meet it.
  public static prefix func ! (condition: Condition) -> Condition { Condition(.not(condition.condition)) }
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
public func >= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atLeast(value.queryOperand.column))
}

/// A property that is less or the same.
public func <= <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .atMost(value.queryOperand.column))
}

/// A property that is greater.
public func > <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .above(value.queryOperand.column))
}

/// A property that is less.
public func < <Owner: Record, Property: QueryValue>(
  property: KeyPath<Owner, Property>, value: Property
) -> Condition<Owner> {
  Condition(property, .below(value.queryOperand.column))
}
