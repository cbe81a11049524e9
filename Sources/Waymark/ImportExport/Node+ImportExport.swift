import Engine
import FileStore
public import Foundation
public import ImportExport
import Model
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Returns what importing files would change, without writing anything.
  ///
  /// The parameters are those of ``importFiles(_:as:progress:)``.
  public func importPreview(
    of files: [URL], as format: ImportFormat? = nil,
    progress: @escaping @Sendable (ImportEvent) -> Void = { _ in }
  ) async throws -> ImportSummary {
    try await importFiles(files, format, isPreview: true, progress)
  }

  /// Imports files as one operation that can be undone. If one file is invalid, none is imported. Importing the same
  /// file again changes nothing.
  ///
  /// - Parameters:
  ///   - files: the files, or folders for formats that consist of several files.
  ///   - format: the format of all files; nil to recognise each file's format by its content.
  ///   - progress: called on an arbitrary thread.
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
    try await withWaymarkErrors {
      guard !files.isEmpty else { throw WaymarkError.usage("`import` needs at least one file.") }
      var records = ImportedRecords()
      let addition = FileAddition(store.files)
      additions.append(addition)
      defer { endAddition(addition) }
      for (index, file) in files.enumerated() {
        progress(.reading(file, done: index, total: files.count))
        let plan = try await offNode {
          try withFileErrors(file.lastPathComponent) {
            try ImportedRecords.plan(file, format, addingTo: isPreview ? nil : addition)
          }
        }
        records.add(plan, of: file, progress)
      }
      let placed = try await offNode { try withFileErrors("the imported files") { try addition.place() } }
      try checkOpen()
      // There is no suspension from here on, because the store must not change between the comparison and the write.
      var difference = try records.difference(from: store, now: wall())
      let entries = difference.takeEntries()
      if !isPreview, !entries.isEmpty {
        progress(.writing(entries: entries.count))
        try replicator.noteAdded(placed, now: loop.time)
        try write("import", consume entries)
      } else {
        try checkQuota("import", consume entries)
      }
      return records.summary(difference, isPreview: isPreview)
    }
  }

  /// Exports the visible records, and returns them as the content of a single file.
  ///
  /// - Parameters:
  ///   - format: a format whose ``ExportFormat/isFolder`` is false.
  ///   - trip: the trip to export; nil for everything.
  /// - Throws: `WaymarkError` with the code `usage` if the format is a folder format, or if a trip is given but the
  ///   format can't contain trips; or `not_found` if there is no such trip.
  public func export(as format: ExportFormat, trip: UUID? = nil) async throws -> ExportedFile {
    try await withWaymarkErrors {
      guard !format.isFolder else {
        throw WaymarkError.usage(
          "An export as \(format.rawValue) has several files: specify a folder.")
      }
      let (export, now) = (try await read(format, trip), wall())
      return try await offNode { try export.file(now: now) }
    }
  }

  /// Exports the visible records to a file, or to a folder if the format consists of several files.
  ///
  /// - Parameters:
  ///   - format: the format to write.
  ///   - target: a file, which is replaced if it exists; or a folder, which must be empty if it exists.
  ///   - trip: the trip to export; nil for everything.
  @discardableResult
  public func export(as format: ExportFormat, to target: URL, trip: UUID? = nil) async throws
    -> ExportSummary
  {
    try await export(
      as: format, to: target.path(percentEncoded: false), trip: trip, overwrites: true)
  }

  /// - Parameter overwrites: whether to replace an existing file.
  /// - Throws: `WaymarkError` with the code `needs_yes` if the file exists and `overwrites` is false.
  package func export(
    as format: ExportFormat, to path: String, trip: UUID?, overwrites: Bool
  ) async throws -> ExportSummary {
    try await withWaymarkErrors {
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
