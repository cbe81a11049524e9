public import Foundation
public import ImportExport
import Records
import Replication
import Storage
import Wire

extension Node {
  /// What importing files would change; writes nothing.
  ///
  /// The parameters are those of ``importFiles(_:as:progress:)``.
  public func importPreview(
    of files: [URL], as format: ImportFormat? = nil,
    progress: @escaping @Sendable (ImportEvent) -> Void = { _ in }
  ) async throws -> ImportSummary {
    try await importFiles(files, format, isPreview: true, progress)
  }

  /// Imports files as one operation, which can be undone: all of them, or nothing if one is broken. The same file
  /// twice changes nothing.
  ///
  /// - Parameters:
  ///   - files: files, and folders where a format is one.
  ///   - format: nil to recognise each file by its content.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `import` or `file`.
  @discardableResult
  public func importFiles(
    _ files: [URL], as format: ImportFormat? = nil,
    progress: @escaping @Sendable (ImportEvent) -> Void = { _ in }
  ) async throws -> ImportSummary {
    try await importFiles(files, format, isPreview: false, progress)
  }

  private func importFiles(
    _ files: [URL], _ format: ImportFormat?, isPreview: Bool,
    _ progress: @escaping @Sendable (ImportEvent) -> Void
  ) async throws -> ImportSummary {
    try await sayingWhy {
      guard !files.isEmpty else { throw WaymarkError.usage("`import` needs at least one file.") }
      var records = ImportedRecords()
      for (index, file) in files.enumerated() {
        progress(.reading(file, done: index, total: files.count))
        let plan = try await offNode { try ImportedRecords.plan(file, format) }
        records.add(plan, of: file, progress)
      }
      try checkOpen()
      // From here on without a pause: what is compared with the store is what is written to it.
      var difference = try ImportDifference(records.takeDrafts(), store: store, now: wall())
      let entries = difference.takeEntries()
      if !isPreview, !entries.isEmpty {
        progress(.writing(entries: entries.count))
        try write("import", consume entries)
      }
      return records.summary(difference, isPreview: isPreview)
    }
  }

  /// What is visible here, as the content of a file of a format that is one file.
  ///
  /// - Parameters:
  ///   - format: one whose ``ExportFormat/isFolder`` is false.
  ///   - trip: nil for everything.
  /// - Throws: `WaymarkError` with the code `usage` for a format that is a folder or holds no trips, and `not_found`.
  public func export(as format: ExportFormat, trip: UUID? = nil) async throws -> ExportedFile {
    try await sayingWhy {
      guard !format.isFolder else {
        throw WaymarkError.usage("An export as \(format.rawValue) is several files: say which folder.")
      }
      let (export, now) = (try await read(format, trip), wall())
      return try await offNode { export.file(now: now) }
    }
  }

  /// Writes what is visible here to a file, or to a folder where the format is one.
  ///
  /// - Parameters:
  ///   - format: what to write.
  ///   - target: a file, which is replaced; a folder that is not there yet or empty.
  ///   - trip: nil for everything.
  @discardableResult
  public func export(as format: ExportFormat, to target: URL, trip: UUID? = nil) async throws
    -> ExportSummary
  {
    try await export(as: format, to: target.path(percentEncoded: false), trip: trip, overwrites: true)
  }

  /// - Parameter overwrites: whether a file that is there already is replaced.
  /// - Throws: `WaymarkError` with the code `needs_yes` where it would have to be.
  package func export(
    as format: ExportFormat, to path: String, trip: UUID?, overwrites: Bool
  ) async throws -> ExportSummary {
    try await sayingWhy {
      let target = try ExportTarget(path, format, in: home, overwrites: overwrites)
      let (export, now) = (try await read(format, trip), wall())
      return try await offNode { try export.write(to: target, now: now) }
    }
  }

  private func read(_ format: ExportFormat, _ trip: UUID?) async throws -> StoreExport {
    let trip = try trip.map { try names.resolve(Registry.trip, $0.uuidString.lowercased()).key.id }
    let export = try StoreExport(format, trip: trip)
    return try await inSlices { pace in
      var export = export
      try await export.read(store) { try await pace.step() }
      return export
    }
  }
}
