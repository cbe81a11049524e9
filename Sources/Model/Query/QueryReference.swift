public import Platform
import Records
import Replication
import Storage

/// A property that refers to another record: an id, an optional id, or the parent of an attachment.
public protocol QueryReference: Sendable {}

extension Identifier: QueryReference {}

extension Attachment.Parent: QueryReference {}

extension Optional: QueryReference where Wrapped: QueryReference {}

extension Condition {
  /// Matches records that refer to one of the records that a query selects.
  ///
  /// ```swift
  /// let soon = Trip.all.filter(\.startDate >= .now)
  /// let planned = Activity.all.filter(.refers(\.tripID, to: soon))
  /// ```
  ///
  /// A reference to a record that is deleted or hidden does not match.
  ///
  /// - Parameters:
  ///   - property: the property that holds the reference.
  ///   - query: the records to refer to; its sort order counts only if it has a `prefix`.
  public static func refers<Other: Record, Reference: QueryReference>(
    _ property: KeyPath<Owner, Reference>, to query: Query<Other>
  ) -> Condition {
    switch Owner.reference(property, to: Other.kind) {
    case .success(let part): Condition(.refers(part, query.plan))
    case .failure(let failure): Condition(.unusable(failure.property))
    }
  }

  /// Matches records to which at least one of the records of a query refers.
  ///
  /// ```swift
  /// let unpaid = Trip.all.filter(.has(Lodging.all.filter(\.payment == .unpaid), \.tripID))
  /// let empty = Trip.all.filter(!.has(Activity.all, \.tripID))
  /// ```
  ///
  /// - Parameters:
  ///   - query: the records that refer; its sort order counts only if it has a `prefix`.
  ///   - property: their property that holds the reference.
  public static func has<Other: Record, Reference: QueryReference>(
    _ query: Query<Other>, _ property: KeyPath<Other, Reference>
  ) -> Condition {
    switch Other.reference(property, to: Owner.kind) {
    case .success(let part): Condition(.isReferenced(query.plan, part))
    case .failure(let failure): Condition(.unusable(failure.property))
    }
  }
}

extension Query {
  /// Sorts by a property of another record, to which the records of the query refer. Records that refer to none, or to one
  /// that is deleted or hidden, come last.
  ///
  /// ```swift
  /// let byHotel = Lodging.all.sorted(by: \.organizationID, \Organization.name)
  /// ```
  ///
  /// - Parameters:
  ///   - reference: the property that holds the reference.
  ///   - property: the property of the other record.
  ///   - direction: the direction of the order.
  public func sorted<Other: Record, Reference: QueryReference, Property: QueryValue>(
    by reference: KeyPath<Owner, Reference>, _ property: KeyPath<Other, Property>,
    order direction: SortOrder = .forward
  ) -> Query {
    var query = self
    switch (Owner.reference(reference, to: Other.kind), Other.fields.part(property)) {
    case (.failure(let failure), _): query.plan.unusable = plan.unusable ?? failure.property
    case (_, nil): query.plan.unusable = plan.unusable ?? .notStored("\(property)")
    case (.success(let part), let other?):
      let related = RecordQuery.RelatedPart(reference: part, kind: Other.kind.number, part: other)
      query.plan.order = (plan.order ?? []) + [.related(related, isDescending: direction == .reverse)]
      query.plan.orderKinds.insert(Other.kind)
    }
    return query
  }
}

/// The reason why a property is no reference to a kind.
struct ReferenceFailure: Error {
  let property: UnusableProperty
}

extension Record {
  /// Returns the component that holds the id of the record to which a property refers.
  static func reference(
    _ property: PartialKeyPath<Self>, to kind: Kind
  ) -> Result<RecordQuery.Part, ReferenceFailure> {
    guard let part = fields.part(property) else {
      return .failure(ReferenceFailure(property: .notStored("\(property)")))
    }
    switch Self.kind.field(part.field)?.type {
    case .reference(let number) where number == kind.number: return .success(part)
    case .owner where Kind.owners.contains(kind): return .success(part)
    default:
      return .failure(ReferenceFailure(property: .notReference("\(property)", kind: kind.name)))
    }
  }
}
