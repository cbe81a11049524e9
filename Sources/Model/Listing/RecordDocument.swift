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
  ///
  /// - Parameter shortID: the short form of the id, which follows it in lists.
  package mutating func members(
    _ kind: Kind, _ record: RecordRow, shortID: String? = nil
  ) throws -> [JSON.Member] {
    var members = try values.parts(kind, record).map { JSON.Member($0.name, $0.value.json) }
    if let shortID { members.insert(.init("shortId", .string(shortID)), at: 1) }
    return members
  }

  mutating func json(_ kind: Kind, _ record: RecordRow) throws -> JSON {
    .object(try members(kind, record))
  }

  /// Returns the name of a visible record; nil if there is no such record or it has no name.
  mutating func title(_ key: RecordKey) throws -> String? { try values.title(key) }
}
