import Foundation
import Records
import Storage
public import Wire

extension Node {
  /// Restores a record of any kind, such as one that ``LiveQuery/trash`` lists.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if nothing had to change.
  /// - Throws: ``WaymarkError`` with the code `not_found` if the record is not in the trash, or `erased` if nothing is left
  ///   of it because it was erased. The error of a record that another deleted record hides names that record.
  @discardableResult
  public func restore(_ record: RecordReference) throws -> OperationID? {
    try core.withWaymarkErrors {
      guard let kind = core.store.schema.kind(named: record.kind.rawValue) else {
        throw WaymarkError.notFound("kind of record", record.kind.rawValue)
      }
      return try core.write(typedRecords(zone: nil).restoring(kind, RecordID(record.id).uuid).change)
    }
  }
}
