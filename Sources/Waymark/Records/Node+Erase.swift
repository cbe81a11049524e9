// Protocol/merge.md, "Erase"

import Platform
import NodeOperations
import Records
package import Replication
import Wire

extension Node {
  /// Returns what erasing a record would erase, on which devices it is, and which backups hold it, without erasing
  /// anything.
  public func erasePreview<Owner: Record>(
    of record: Owner, isForced: Bool = false
  ) async throws -> EraseSummary {
    try await erasePreview(of: [record], isForced: isForced)
  }

  /// Returns what erasing several records of one kind would erase, on which devices it is, and which backups hold it,
  /// without erasing anything.
  public func erasePreview<Owner: Record>(
    of records: [Owner], isForced: Bool = false
  ) async throws -> EraseSummary {
    let keys = records.map(\.key)
    return try await EraseOperation(core).erase(isPreview: true) { try $0.records(keys, force: isForced) }
  }

  /// Erases a record and everything that belongs to it: its values are removed from this device, from its history, and
  /// from every device that receives the erase. There is no way to restore them.
  ///
  /// That the record existed, when it was written and by which devices remains known. See ``EraseSummary`` for what an
  /// erase can't reach. Values that another device writes without having received the erase are kept, hidden with the
  /// record, and can be erased in their turn. Erasing the profile leaves an empty one.
  ///
  /// - Parameters:
  ///   - record: the record, which may be deleted; only its id is used.
  ///   - isForced: whether to erase an organization or a category that is in use.
  /// - Throws: ``WaymarkError`` with the code `not_found`, `in_use`, `erased` if nothing is left of the record, or
  ///   `usage` for the organization None.
  @discardableResult
  public func erase<Owner: Record>(_ record: Owner, isForced: Bool = false) async throws -> EraseSummary {
    try await erase([record], isForced: isForced)
  }

  /// Erases several records of one kind, and everything that belongs to them, as one operation.
  ///
  /// - Parameters:
  ///   - records: the records, which may be deleted; only their ids are used.
  ///   - isForced: whether to erase organizations and categories that are in use.
  /// - Throws: ``WaymarkError``, as for a single record. Then nothing is erased.
  @discardableResult
  public func erase<Owner: Record>(_ records: [Owner], isForced: Bool = false) async throws -> EraseSummary {
    let keys = records.map(\.key)
    return try await EraseOperation(core).erase(isPreview: false) { try $0.records(keys, force: isForced) }
  }

  /// Returns what ``erase(_:of:)`` would erase, on which devices it is, and which backups hold it, without erasing
  /// anything.
  public func erasePreview<Owner: Record>(
    _ property: any PartialKeyPath<Owner> & Sendable, of record: Owner
  ) async throws -> EraseSummary {
    try await erase(property, of: record, isPreview: true)
  }

  /// Erases a field of a record, together with all earlier values of the record. The present values of its other fields
  /// stay, and the record is never shown without them.
  ///
  /// ```swift
  /// try await node.erase(\.notes, of: trip)
  /// ```
  ///
  /// - Parameters:
  ///   - property: a property that the field holds. The other properties of the same field, such as the zone of a time, are
  ///     erased with it.
  ///   - record: the record, which may be deleted; only its id is used.
  /// - Throws: ``WaymarkError`` with the code `not_found`, `unsupported_property` if no field holds it, `usage` if every record needs the field,
  ///   `conflicts` if an unresolved conflict about another field would be lost, or `erased` if nothing is left of the
  ///   record.
  @discardableResult
  public func erase<Owner: Record>(
    _ property: any PartialKeyPath<Owner> & Sendable, of record: Owner
  ) async throws -> EraseSummary {
    try await erase(property, of: record, isPreview: false)
  }

  private func erase<Owner: Record>(
    _ property: PartialKeyPath<Owner>, of record: Owner, isPreview: Bool
  ) async throws -> EraseSummary {
    guard let field = Owner.fieldName(of: property) else {
      throw WaymarkError.failed(
        .unsupportedProperty, "Can't erase \("\(property)"): it is not a stored property of the record.",
        next: "use a stored property, such as \\.notes")
    }
    return try await erase(field: field, of: record.key, isPreview: isPreview)
  }

  /// Erases a field by its name, which also means a field without a property, such as the content of an attachment.
  package func erase(field: String, of key: RecordKey, isPreview: Bool) async throws -> EraseSummary {
    try await EraseOperation(core).erase(isPreview: isPreview) { try $0.field(field, of: key) }
  }

  /// Returns what ``emptyTrash(olderThan:)`` would erase, on which devices it is, and which backups hold it, without
  /// erasing anything.
  public func emptyTrashPreview(olderThan age: Duration? = nil) async throws -> EraseSummary {
    let milliseconds = age?.wholeMilliseconds
    return try await EraseOperation(core).erase(isPreview: true) { try $0.trash(olderThan: milliseconds) }
  }

  /// Erases the deleted records of all kinds, and everything that belongs to them.
  ///
  /// - Parameter age: how long ago a record must have been deleted, by the clock of the device that deleted it; nil for
  ///   any time.
  @discardableResult
  public func emptyTrash(olderThan age: Duration? = nil) async throws -> EraseSummary {
    let milliseconds = age?.wholeMilliseconds
    return try await EraseOperation(core).erase(isPreview: false) { try $0.trash(olderThan: milliseconds) }
  }
}
