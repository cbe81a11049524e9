import JSONDocument
import Records
import Replication
import Storage
import Wire

/// Presents records as documents: all fields, and next to each reference the name of its target.
struct RecordDocument {
  private var values: ShownValues

  init(store: Store) { values = ShownValues(store: store) }

  /// The members of one record, its id first.
  package mutating func members(_ kind: Kind, _ record: RecordRow) throws -> [JSON.Member] {
    try values.parts(kind, record).map { .init($0.name, $0.value.json) }
  }

  mutating func json(_ kind: Kind, _ record: RecordRow) throws -> JSON {
    .object(try members(kind, record))
  }

  /// The name of a visible record; nil if there is none.
  mutating func title(_ key: RecordKey) throws -> String? { try values.title(key) }
}
