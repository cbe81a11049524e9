import Engine
import FileStore
public import Platform
public import ImportExport
import Model
import NodeOperations
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
    try await ImportExportOperations(core).importFiles(files, format, isPreview: true, progress)
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
    try await ImportExportOperations(core).importFiles(files, format, isPreview: false, progress)
  }

  /// Exports the visible records, and returns them as the content of a single file.
  ///
  /// - Parameters:
  ///   - format: a format whose ``ExportFormat/isFolder`` is false.
  ///   - trip: the trip to export; nil for everything.
  /// - Throws: `WaymarkError` with the code `usage` if the format is a folder format, or if a trip is given but the
  ///   format can't contain trips; or `not_found` if there is no such trip.
  public func export(as format: ExportFormat, trip: Trip.ID? = nil) async throws -> ExportedFile {
    try await ImportExportOperations(core).export(as: format, trip: trip)
  }

  /// Exports the visible records to a file, or to a folder if the format consists of several files.
  ///
  /// - Parameters:
  ///   - format: the format to write.
  ///   - target: a file, which is replaced if it exists; or a folder, which must be empty if it exists.
  ///   - trip: the trip to export; nil for everything.
  @discardableResult
  public func export(as format: ExportFormat, to target: URL, trip: Trip.ID? = nil) async throws
    -> ExportSummary
  {
    try await ImportExportOperations(core).export(
      as: format, to: target.path(percentEncoded: false), trip: trip, overwrites: true)
  }
}
