// Sources/store.md, "Rows"

package import Records
package import Replication
package import Wire

/// A query for records of one kind.
package struct RecordQuery: Hashable, Sendable {
  package var kind: KindNumber
  /// The conditions, all of which must hold.
  package var conditions: [Condition] = []
  /// The hexadecimal digits, without hyphens, with which the id must begin or, if there are enough of them, end; nil for
  /// any id.
  package var idDigits: String?
  package var order: [Order] = []
  /// The place in the order after which the result begins; nil for the beginning.
  package var cursor: Cursor?
  package var visibleOnly = true
  package var limit: Int?
  package var offset = 0

  package init(_ kind: KindNumber) { self.kind = kind }

  /// Creates a query for the visible records of a kind, in the order in which lists show them.
  package init(listing kind: Kind) {
    self.init(kind.number)
    order = kind.order.map { order in
      switch order {
      case .ascending(let name): .ascending(kind.number(name))
      case .tripStart: .tripStart
      }
    }
  }

  /// A condition on a record.
  package indirect enum Condition: Hashable, Sendable {
    case part(Part, Test)
    /// The id of the record is one of these.
    case ids([RecordID])
    /// Each of these texts occurs in one of the fields that are searched, ignoring case and accents.
    case text([String])
    /// The component refers to a record that a query selects.
    case refers(Part, RecordQuery)
    /// A record that a query selects refers to the record by this component.
    case isReferenced(RecordQuery, Part)
    case all([Condition])
    case any([Condition])
    case not(Condition)

    package init(_ field: FieldNumber, part: Int = 0, _ test: Test) {
      self = .part(Part(field, part), test)
    }
  }

  /// A component of a field. Unknown fields and components match nothing.
  package struct Part: Hashable, Sendable {
    package let field: FieldNumber
    package let index: Int
    /// The value that replaces null in a test; null if nothing replaces it.
    package let absent: ColumnValue

    /// The id of the record itself, which is not a field.
    package static let id = Part(.max)

    package init(_ field: FieldNumber, _ index: Int = 0, absent: ColumnValue = .null) {
      self.field = field
      self.index = index
      self.absent = absent
    }
  }

  /// A test of a component. Comparisons with null never match.
  package enum Test: Hashable, Sendable {
    case equals(ColumnValue)
    case isOne(of: [ColumnValue])
    case atLeast(ColumnValue)
    case atMost(ColumnValue)
    case above(ColumnValue)
    case below(ColumnValue)
    /// The component is text with this prefix, ignoring case and accents.
    case begins(with: String)
    /// The component is text that contains this text, ignoring case and accents.
    case contains(String)
    case isNull
  }

  /// A sort order. Nulls come last in either direction.
  package enum Order: Hashable, Sendable {
    case ascending(FieldNumber, part: Int = 0)
    case descending(FieldNumber, part: Int = 0)
    /// Trips by their own start, or else by the start of their first item; trips without either come last.
    case tripStart
    /// By a component of another record, to which the record refers.
    case related(RelatedPart, isDescending: Bool)
  }

  /// A component of the visible record to which a component of another record refers.
  package struct RelatedPart: Hashable, Sendable {
    package let reference: Part
    package let kind: KindNumber
    package let part: Part

    package init(reference: Part, kind: KindNumber, part: Part) {
      (self.reference, self.kind, self.part) = (reference, kind, part)
    }
  }

  /// The place of a record in an order, which follows from its id and its fields. The record need not exist any more.
  package struct Cursor: Hashable, Sendable {
    package let id: RecordID
    package let fields: [FieldNumber: Value]

    package init(id: RecordID, fields: [FieldNumber: Value]) { (self.id, self.fields) = (id, fields) }
  }
}

extension RecordQuery {
  /// Whether the text index can narrow down the query, or a query in one of its conditions.
  var comparesText: Bool { conditions.contains(where: \.comparesText) }
}

extension RecordQuery.Condition {
  fileprivate var comparesText: Bool {
    switch self {
    case .text, .part(_, .contains), .part(_, .begins): true
    case .part, .ids: false
    case .refers(_, let query), .isReferenced(let query, _): query.comparesText
    case .all(let conditions), .any(let conditions): conditions.contains(where: \.comparesText)
    case .not(let condition): condition.comparesText
    }
  }
}
