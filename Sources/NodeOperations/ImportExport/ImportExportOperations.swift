import ChangeHistory
import Engine
import FileStore
package import Platform
import Home
package import ImportExport
package import Model
package import NodeRuntime
import Reasons
import Records
import Replication
import Storage
import Wire

/// Imports files and exports records.
package struct ImportExportOperations {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Imports files as one operation, or shows what that would change.
  package func importFiles(
    _ files: [URL], _ format: ImportFormat?, isPreview: Bool,
    _ progress: @escaping @Sendable (ImportEvent) -> Void
  ) async throws -> ImportSummary {
    try await core.withWaymarkErrors {
      guard !files.isEmpty else { throw WaymarkError.usage("`import` needs at least one file.") }
      var records = ImportedRecords()
      let schema = core.store.schema
      let addition = FileAddition(core.store.files)
      core.additions.append(addition)
      defer { FileChanges(core).endAddition(addition) }
      for (index, file) in files.enumerated() {
        progress(.reading(file, done: index, total: files.count))
        let plan = try await offNode {
          try withFileErrors(file.lastPathComponent) {
            try ImportedRecords.plan(file, format, schema, addingTo: isPreview ? nil : addition)
          }
        }
        records.add(plan, of: file, progress)
      }
      let placed = try await offNode { try withFileErrors("the imported files") { try addition.place() } }
      try core.checkOpen()
      // There is no suspension from here on, because the store must not change between the comparison and the write.
      let operation = OperationDraft(id: OperationID(random16()), verb: "import")
      let difference = try records.takeDifference(
        from: core.store, into: OperationContents(operation, seed: random16), now: core.wall())
      let summary = records.summary(difference, isPreview: isPreview)
      let contents = (consume difference).finish()
      if !isPreview, contents.entryCount > 0 {
        progress(.writing(entries: contents.entryCount))
        try core.replicator.noteAdded(placed, now: core.loop.time)
        try core.write(consume contents)
      } else {
        try core.checkQuota(consume contents)
      }
      return summary
    }
  }

  /// Exports the visible records to a file or a folder.
  ///
  /// - Parameter overwrites: whether to replace an existing file.
  /// - Throws: `WaymarkError` with the code `needs_yes` if the file exists and `overwrites` is false.
  package func export(
    as format: ExportFormat, to path: String, trip: Trip.ID?, overwrites: Bool
  ) async throws -> ExportSummary {
    try await core.withWaymarkErrors {
      let target = try ExportTarget(path, format, in: core.home, overwrites: overwrites)
      let (export, now) = (try await read(format, trip), core.wall())
      return try await offNode { try export.write(to: target, now: now) }
    }
  }

  /// Exports the visible records, and returns them as the content of a single file.
  package func export(as format: ExportFormat, trip: Trip.ID?) async throws -> ExportedFile {
    try await core.withWaymarkErrors {
      guard !format.isFolder else {
        throw WaymarkError.usage(
          "An export as \(format.rawValue) has several files: specify a folder.")
      }
      let (export, now) = (try await read(format, trip), core.wall())
      return try await offNode { try export.file(now: now) }
    }
  }

  private func read(_ format: ExportFormat, _ trip: Trip.ID?) async throws -> StoreExport {
    let trip = try trip.map { try core.names.resolve(Kind.trip, $0.description.lowercased()).key.id }
    let export = try StoreExport(format, trip: trip)
    return try await core.inSlices { pace in
      var export = export
      try await export.read(core.store) { try await pace.step() }
      return export
    }
  }
}
