import FileFormat
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// Presents records as JSON documents: all fields and, next to each reference, the name of the record that it refers
/// to.
struct RecordDocument {
  private var values: ShownValues

  init(store: Store, fileState: @escaping (FileReference) throws -> FileState) {
    values = ShownValues(store: store, fileState: fileState)
  }

  /// Returns the members of one record's document, beginning with its id.
  package mutating func members(_ kind: Kind, _ record: RecordRow) throws -> [JSON.Member] {
    try values.parts(kind, record).map { .init($0.name, $0.value.json) }
  }

  mutating func json(_ kind: Kind, _ record: RecordRow) throws -> JSON {
    .object(try members(kind, record))
  }

  /// Returns the name of a visible record; nil if there is no such record or it has no name.
  mutating func title(_ key: RecordKey) throws -> String? { try values.title(key) }
}
