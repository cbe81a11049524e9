// Protocol/merge.md, "Erase"

import Backups
import Platform
import Home
import LogStorage
import Membership
package import Model
package import NodeRuntime
import Reasons
import Records
import Replication
import Storage
import Wire

/// Erases records, a field, or what is in the trash.
package struct EraseOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Erases what a person names on the command line.
  ///
  /// - Throws: `WaymarkError` with the code `needs_yes` if it is neither a preview nor confirmed.
  package func erase(_ request: EraseRequest) async throws -> EraseSummary {
    if !request.isPreview, !request.isConfirmed {
      let summary = try core.withWaymarkErrors { try eraseSummary(of: try request.plan(eraser)) }
      if !summary.records.isEmpty { throw WaymarkError.erase(summary, request) }
    }
    return try await erase(isPreview: request.isPreview, request.plan)
  }

  private var eraser: Eraser {
    Eraser(store: core.store, now: core.wall()) { core.name(of: $0) }
  }

  /// Erases what a plan selects, or shows what that would erase.
  package func erase(
    isPreview: Bool, _ plan: (Eraser) throws -> ErasePlan
  ) async throws -> EraseSummary {
    try await core.withWaymarkErrors {
      let ids = Set(try core.store.setsWithValues(of: try plan(eraser).keys).map(\.origin.stamp.set))
      let backups = try await heldBackups(ids)
      try core.checkOpen()
      // The store may have changed while the backups were read.
      let planned = try plan(eraser)
      let places = try core.store.setsWithValues(of: planned.keys)
      let isHeld = try core.store.isMassErase(of: planned.keys, by: core.identity.device, now: core.wall())
      let operation = isPreview ? nil : try core.write(planned.change)
      return try eraseSummary(
        of: planned, isPreview: isPreview, operation: operation, places: places, backups: backups,
        isHeldElsewhere: isHeld)
    }
  }

  private func eraseSummary(
    of plan: ErasePlan, isPreview: Bool = true, operation: OperationID? = nil, places: [SetPosition] = [],
    backups: [EraseSummary.HeldBackup] = [], isHeldElsewhere: Bool = false
  ) throws -> EraseSummary {
    let inspection = core.inspection()
    let erases = try operation.flatMap {
      try core.store.operation(OperationKey(id: $0, device: core.identity.device))?.sets
    }
    // The store no longer has the names of records that were just erased.
    let names = Dictionary(uniqueKeysWithValues: plan.targets.map { ($0.key, $0.name) })
    return EraseSummary(
      isPreview: isPreview,
      records: plan.targets.map { target in
        EraseSummary.ErasedRecord(
          kind: core.store.schema.name(target.key.kind), id: UUID(target.key.id), name: target.name,
          isDeleted: target.isDeleted,
          with: target.with.map { key in
            RecordReference(kind: core.store.schema.name(key.kind), id: UUID(key.id), name: names[key] ?? nil)
          })
      },
      field: plan.field, operation: operation,
      devices: try inspection.holders(of: places).map { member in
        EraseSummary.Holder(
          device: member.device, name: core.name(of: member.device),
          hasErased: try erases?.allSatisfy { try inspection.holds($0, member.device) } ?? false)
      }, backups: backups, isHeldElsewhere: isHeldElsewhere)
  }

  /// Returns the backups and replaced stores in the backups folder that contain any of some change sets.
  private func heldBackups(_ ids: Set<ChangeSetID>) async throws -> [EraseSummary.HeldBackup] {
    guard !ids.isEmpty else { return [] }
    let home = core.home
    return try await offNode {
      home.keptBackups.sorted { $0.name < $1.name }.compactMap { kept in
        let path = "\(home.backups)/\(kept.name)"
        let held =
          if let backup = kept.restorable {
            try? BackupFile(path: backup).changeSetIDs()
          } else {
            // A join, and a restore or a repair of a damaged store, leave the replaced store itself.
            try? StoreDiagnostics(path: "\(path)/store.db").changeSetIDs
          }
        guard let held, !held.isDisjoint(with: ids) else { return nil }
        return EraseSummary.HeldBackup(path: path, created: kept.created)
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
