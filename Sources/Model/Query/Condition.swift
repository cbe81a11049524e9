import Platform
package import Storage

/// A condition on the records of a ``Query``, written with operators on key paths.
///
/// Examples are `\.name == "Rome"`, `\.startDate >= .now` and `\.endDate == nil`. Conditions are combined with `&&`,
/// `||` and `!`. A property that is nil is neither greater nor less than any value. ``QueryTime/now`` means the time
/// at which the query is run, not the time at which the condition was created.
public struct Condition<Owner: Record>: Hashable, Sendable {
  let term: QueryTerm

  init(_ term: QueryTerm) { self.term = term }

  package init(_ property: PartialKeyPath<Owner>, _ test: RecordQuery.Test) {
    term = Owner.fields.part(property).map { .fixed(.part($0, test)) } ?? .unusable(.notStored("\(property)"))
  }

  package init(_ property: PartialKeyPath<Owner>, _ test: NowTest) {
    term = Owner.fields.part(property).map { .now($0, test) } ?? .unusable(.notStored("\(property)"))
  }

  /// Matches records whose property contains a text, regardless of case and of accents: `sao` matches “São”.
  public static func contains(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .contains(text))
  }

  /// Matches records whose property begins with a text, regardless of case and of accents.
  public static func hasPrefix(_ property: KeyPath<Owner, String>, _ text: String) -> Condition {
    Condition(property, .begins(with: text))
  }

  /// Matches records whose property equals one of the values.
  public static func isIn<Property: QueryValue>(
    _ property: KeyPath<Owner, Property>, _ values: some Sequence<Property>
  ) -> Condition {
    Condition(property, .isOne(of: values.map(\.queryOperand.column)))
  }

  /// Matches the records that have one of the ids.
  public static func ids(_ ids: some Sequence<Owner.ID>) -> Condition {
    Condition(.fixed(.ids(ids.map { .init($0) })))
  }

  package static func all(_ left: Condition, _ right: Condition) -> Condition {
    Condition(.all([left.term, right.term]))
  }

  package static func any(_ left: Condition, _ right: Condition) -> Condition {
    Condition(.any([left.term, right.term]))
  }

  package static func not(_ condition: Condition) -> Condition { Condition(.not(condition.term)) }
}
