import Exchange
import Foundation
import Home
import Wire

/// A file or folder to be imported, read into memory.
enum ImportFolder {
  /// A file, or the files of a folder that some format reads.
  static func source(_ path: String) throws -> ImportSource {
    guard Files.isDirectory(path) else {
      return .file(try Files.read(path, bytesMax: Limits.importBytesMax, what: "file to import"))
    }
    return .folder(try files(in: try root(path)))
  }

  /// An archive may unpack to a folder inside the one created for it.
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

  /// The regular files of a folder and its subfolders.
  private static func paths(_ root: String) throws -> [String] {
    var paths: [String] = []
    for name in try list(root) {
      let isFolder = Files.isDirectory("\(root)/\(name)")
      paths += isFolder ? try list("\(root)/\(name)").map { "\(name)/\($0)" } : [name]
      guard paths.count <= Limits.importFilesMax else {
        throw WaymarkError.failed(
          .tooLarge, "\(root) has more than \(Limits.importFilesMax) files, too many to import.",
          next: "name the files, or a folder with only these")
      }
    }
    return paths.filter { Files.isRegular("\(root)/\($0)") }
  }

  /// Sorted by bytes.
  private static func list(_ path: String) throws -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw WaymarkError.failed(.file, "Can't read the folder \(path).", next: "ls -ld \(shellWord(path))")
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
