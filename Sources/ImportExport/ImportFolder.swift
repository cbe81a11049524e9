import Exchange
import FileFormat
import Platform
import Home
import Reasons
import Wire

/// Reads into memory a file or folder that is to be imported.
enum ImportFolder {
  /// Reads a file, or those files in a folder that at least one import format can read.
  ///
  /// - Parameter keep: stores the files that a Waymark export contains; their bytes come in pieces.
  static func source(
    _ path: String, keep: @escaping (() throws -> [UInt8]?) throws -> FileReference
  ) throws -> ImportSource {
    guard Files.isDirectory(path) else {
      if Files.isRegular(path), let export = try export(path, keep) { return export }
      return .file(try Files.read(path, bytesMax: Limits.importBytesMax, what: "file to import"))
    }
    return .folder(try files(in: try root(path)))
  }

  /// Reads a Waymark export piece by piece, because the files in it need not fit in memory; nil for any other file.
  private static func export(
    _ path: String, _ keep: @escaping (() throws -> [UInt8]?) throws -> FileReference
  ) throws -> ImportSource? {
    let file = try ReadableFile(path)
    var head: [UInt8]? = try file.read()
    guard EmbeddedFiles.isExport(Array(head?.prefix(4_096) ?? [])) else { return nil }
    let separated = try EmbeddedFiles.separate(
      read: {
        try Task.checkCancellation()
        defer { head = nil }
        return try head ?? file.read()
      }, keep: keep)
    return .export(text: separated.text, files: separated.files)
  }

  /// Returns the folder to read: the given folder or, if it contains no file to import, its only subfolder that does.
  /// (An archive may unpack to a folder inside the one created for it.)
  private static func root(_ path: String) throws -> String {
    let names = try list(path)
    if names.contains(where: Importer.reads) { return path }
    let inner = names.map { "\(path)/\($0)" }.filter(Files.isDirectory)
    let roots = try inner.filter { try list($0).contains(where: Importer.reads) }
    return roots.count == 1 ? roots[0] : path
  }

  private static func files(in root: String) throws -> [ImportedFile] {
    var files: [ImportedFile] = []
    var bytesLeft = Limits.importBytesMax
    for path in try paths(root) where Importer.reads(path) {
      let bytes = try Files.read("\(root)/\(path)", bytesMax: bytesLeft, what: "folder to import")
      bytesLeft -= bytes.count
      files.append(ImportedFile(path: path, bytes: bytes))
    }
    return files
  }

  /// Returns the paths of the regular files in a folder and its immediate subfolders, relative to the folder.
  private static func paths(_ root: String) throws -> [String] {
    var paths: [String] = []
    for name in try list(root) {
      let isFolder = Files.isDirectory("\(root)/\(name)")
      paths += isFolder ? try list("\(root)/\(name)").map { "\(name)/\($0)" } : [name]
      guard paths.count <= Limits.importFilesMax else {
        throw WaymarkError.failed(
          .tooLarge, "\(root) has more than \(Limits.importFilesMax) files, which is too many to import.",
          next: "name the files to import, or a folder that contains only those files")
      }
    }
    return paths.filter { Files.isRegular("\(root)/\($0)") }
  }

  /// Returns the names in a folder, sorted by their bytes.
  private static func list(_ path: String) throws -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw WaymarkError.failed(.file, "Can't read the folder \(path).", next: "ls -ld \(shellWord(path))")
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
