// Protocol/store.md, "Reading"

package import Records
package import Replication
package import Wire

/// Which records to read, and in what order.
package struct RecordQuery: Hashable, Sendable {
  package var kind: KindNumber
  /// All of these must hold.
  package var conditions: [Condition] = []
  /// Hexadecimal digits, without hyphens, that the id begins with.
  package var idPrefix: String?
  package var order: [Order] = []
  package var visibleOnly = true
  package var limit: Int?
  package var offset = 0

  package init(_ kind: KindNumber) { self.kind = kind }

  /// What people see of a kind, in the order of its lists.
  package init(listing kind: Kind) {
    self.init(kind.number)
    order = kind.order.map { order in
      switch order {
      case .ascending(let name): .ascending(kind.number(name))
      case .tripStart: .tripStart
      }
    }
  }

  /// What a record must be.
  package indirect enum Condition: Hashable, Sendable {
    case part(Part, Test)
    /// Its id is one of these.
    case ids([RecordID])
    case all([Condition])
    case any([Condition])
    case not(Condition)

    package init(_ field: FieldNumber, part: Int = 0, _ test: Test) {
      self = .part(Part(field, part), test)
    }
  }

  /// A component of a field; unknown fields and parts match nothing.
  package struct Part: Hashable, Sendable {
    package let field: FieldNumber
    package let index: Int
    /// What it counts as where it is null; null where that is nothing.
    package let absent: ColumnValue

    /// The id of the record itself, which is no field.
    package static let id = Part(.max)

    package init(_ field: FieldNumber, _ index: Int = 0, absent: ColumnValue = .null) {
      self.field = field
      self.index = index
      self.absent = absent
    }
  }

  /// What a component must be. Nothing is greater or less than what is null.
  package enum Test: Hashable, Sendable {
    case equals(ColumnValue)
    case isOne(of: [ColumnValue])
    case atLeast(ColumnValue)
    case atMost(ColumnValue)
    case above(ColumnValue)
    case below(ColumnValue)
    /// Text that begins so, whatever the case.
    case begins(with: String)
    /// Text that contains this, whatever the case.
    case contains(String)
    case isNull
  }

  /// Nulls come last in either direction.
  package enum Order: Hashable, Sendable {
    case ascending(FieldNumber, part: Int = 0)
    case descending(FieldNumber, part: Int = 0)
    /// Trips by their own start, else by that of their first item; those without any come last.
    case tripStart
  }
}
