// Protocol/merge.md, "Erase"

import Backups
import Foundation
import LogStorage
import Membership
import Records
import Replication
import Storage
import Wire

extension Node {
  // MARK: Records

  /// Returns what erasing a record would erase, on which devices it is, and which backups hold it, without erasing
  /// anything.
  public func erasePreview<Owner: Record>(
    of record: Owner, force: Bool = false
  ) async throws -> EraseSummary {
    try await erasePreview(of: [record], force: force)
  }

  /// Returns what erasing several records of one kind would erase, on which devices it is, and which backups hold it,
  /// without erasing anything.
  public func erasePreview<Owner: Record>(
    of records: [Owner], force: Bool = false
  ) async throws -> EraseSummary {
    let keys = records.map(\.key)
    return try await erase(isPreview: true) { try $0.records(keys, force: force) }
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
  ///   - force: whether to erase an organization or a category that is in use.
  /// - Throws: ``WaymarkError`` with the code `not_found`, `in_use`, `erased` if nothing is left of the record, or
  ///   `usage` for the organization None.
  @discardableResult
  public func erase<Owner: Record>(_ record: Owner, force: Bool = false) async throws -> EraseSummary {
    try await erase([record], force: force)
  }

  /// Erases several records of one kind, and everything that belongs to them, as one operation.
  ///
  /// - Parameters:
  ///   - records: the records, which may be deleted; only their ids are used.
  ///   - force: whether to erase organizations and categories that are in use.
  /// - Throws: ``WaymarkError``, as for a single record. Then nothing is erased.
  @discardableResult
  public func erase<Owner: Record>(_ records: [Owner], force: Bool = false) async throws -> EraseSummary {
    let keys = records.map(\.key)
    return try await erase(isPreview: false) { try $0.records(keys, force: force) }
  }

  // MARK: One field

  /// Returns what ``erase(_:of:)`` would erase, on which devices it is, and which backups hold it, without erasing
  /// anything.
  public func erasePreview<Owner: Record>(_ field: String, of record: Owner) async throws -> EraseSummary {
    let key = record.key
    return try await erase(isPreview: true) { try $0.field(field, of: key) }
  }

  /// Erases a field of a record, together with all earlier values of the record. The present values of its other fields
  /// stay, and the record is never shown without them.
  ///
  /// ```swift
  /// try await node.erase("notes", of: trip)
  /// ```
  ///
  /// - Parameters:
  ///   - field: the name of the field, as in exported files and on the command line.
  ///   - record: the record, which may be deleted; only its id is used.
  /// - Throws: ``WaymarkError`` with the code `not_found`, `unknown_field`, `usage` if every record needs the field,
  ///   `conflicts` if an unresolved conflict about another field would be lost, or `erased` if nothing is left of the
  ///   record.
  @discardableResult
  public func erase<Owner: Record>(_ field: String, of record: Owner) async throws -> EraseSummary {
    let key = record.key
    return try await erase(isPreview: false) { try $0.field(field, of: key) }
  }

  // MARK: The trash

  /// Returns what ``emptyTrash(olderThan:)`` would erase, on which devices it is, and which backups hold it, without
  /// erasing anything.
  public func emptyTrashPreview(olderThan age: Duration? = nil) async throws -> EraseSummary {
    let milliseconds = age?.wholeMilliseconds
    return try await erase(isPreview: true) { try $0.trash(olderThan: milliseconds) }
  }

  /// Erases the deleted records of all kinds, and everything that belongs to them.
  ///
  /// - Parameter age: how long ago a record must have been deleted, by the clock of the device that deleted it; nil for
  ///   any time.
  @discardableResult
  public func emptyTrash(olderThan age: Duration? = nil) async throws -> EraseSummary {
    let milliseconds = age?.wholeMilliseconds
    return try await erase(isPreview: false) { try $0.trash(olderThan: milliseconds) }
  }

  // MARK: Carrying out

  /// Erases what a person names on the command line.
  ///
  /// - Throws: `WaymarkError` with the code `needs_yes` if it is neither a preview nor confirmed.
  package func erase(_ request: EraseRequest) async throws -> EraseSummary {
    if !request.isPreview, !request.isConfirmed {
      let summary = try withWaymarkErrors { try eraseSummary(of: try request.plan(eraser)) }
      if !summary.records.isEmpty { throw WaymarkError.erase(summary, request) }
    }
    return try await erase(isPreview: request.isPreview, request.plan)
  }

  private var eraser: Eraser {
    Eraser(store: store, now: wall()) { self.name(of: $0) }
  }

  private func erase(
    isPreview: Bool, _ plan: (Eraser) throws -> ErasePlan
  ) async throws -> EraseSummary {
    try await withWaymarkErrors {
      let ids = Set(try store.setsWithValues(of: try plan(eraser).keys).map(\.origin.stamp.set))
      let backups = try await heldBackups(ids)
      try checkOpen()
      // The store may have changed while the backups were read.
      let planned = try plan(eraser)
      let places = try store.setsWithValues(of: planned.keys)
      let isHeld = try store.isMassErase(of: planned.keys, by: identity.device, now: wall())
      let operation = isPreview ? nil : try write(planned.change)
      return try eraseSummary(
        of: planned, isPreview: isPreview, operation: operation, places: places, backups: backups,
        isHeldElsewhere: isHeld)
    }
  }

  private func eraseSummary(
    of plan: ErasePlan, isPreview: Bool = true, operation: OperationID? = nil, places: [SetPosition] = [],
    backups: [EraseSummary.HeldBackup] = [], isHeldElsewhere: Bool = false
  ) throws -> EraseSummary {
    let inspection = inspection()
    let erases = try operation.flatMap {
      try store.operation(OperationKey(id: $0, device: identity.device))?.sets
    }
    // The store no longer has the names of records that were just erased.
    let names = Dictionary(uniqueKeysWithValues: plan.targets.map { ($0.key, $0.name) })
    return EraseSummary(
      isPreview: isPreview,
      records: plan.targets.map { target in
        EraseSummary.ErasedRecord(
          kind: RecordKind(target.key.kind), id: UUID(target.key.id), name: target.name,
          isDeleted: target.isDeleted,
          with: target.with.map { key in
            RecordReference(kind: RecordKind(key.kind), id: UUID(key.id), name: names[key] ?? nil)
          })
      },
      field: plan.field, operation: operation,
      devices: try inspection.holders(of: places).map { member in
        EraseSummary.Holder(
          device: member.device, name: name(of: member.device),
          hasErased: try erases?.allSatisfy { try inspection.holds($0, member.device) } ?? false)
      }, backups: backups, isHeldElsewhere: isHeldElsewhere)
  }

  /// Returns the backups in the backups folder that contain any of some change sets.
  private func heldBackups(_ ids: Set<ChangeSetID>) async throws -> [EraseSummary.HeldBackup] {
    guard !ids.isEmpty else { return [] }
    let folder = home.backups
    return try await offNode {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.sorted().compactMap { name in
        let path = "\(folder)/\(name)"
        // Stores that a restore or a join replaced are in folders.
        let file = name.hasSuffix(".waymark") ? path : "\(path)/store.waymark"
        guard FileManager.default.fileExists(atPath: file), let backup = try? BackupFile(path: file),
          let held = try? backup.changeSetIDs(), !held.isDisjoint(with: ids)
        else { return nil }
        return EraseSummary.HeldBackup(path: path, created: Date(milliseconds: backup.about.created))
      }
    }
  }
}

/// What a person asks to erase on the command line.
package struct EraseRequest: Sendable {
  package enum Subject: Sendable {
    /// The records that names or ids mean.
    case records([String], force: Bool)
    /// A field of the record that a name or id means.
    case field(String, ofRecord: String)
    /// The records in the trash that were deleted at least some milliseconds ago; nil for all.
    case trash(olderThan: Int64?)
  }

  package let subject: Subject
  package let isPreview: Bool
  package let isConfirmed: Bool
  /// The words of the command after `waymark`, for the next step of an error.
  package let command: String

  package init(_ subject: Subject, isPreview: Bool, isConfirmed: Bool, command: String) {
    self.subject = subject
    self.isPreview = isPreview
    self.isConfirmed = isConfirmed
    self.command = command
  }

  fileprivate func plan(_ eraser: Eraser) throws -> ErasePlan {
    switch subject {
    case .records(let names, let force): try eraser.records(named: names, force: force)
    case .field(let field, let record): try eraser.field(field, ofRecordNamed: record)
    case .trash(let age): try eraser.trash(olderThan: age)
    }
  }
}

extension WaymarkError {
  fileprivate static func erase(_ summary: EraseSummary, _ request: EraseRequest) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.needsYes, code: .needsYes,
      message: "Erase \(summary.subject), on all devices? This can't be undone.",
      next: "\(waymark: "\(request.command) --preview"), then \(waymark: "\(request.command) --yes")",
      candidates: NameResolver.shown(
        summary.records.map { record in
          let name = record.name.map { "\(shortened($0))  " } ?? ""
          return "\(record.kind) \(name)\(record.id.uuidString)"
        }))
  }
}
