import Exchange
import Foundation
import Home
import Wire

/// What a person named to be imported, read into memory.
enum ImportFolder {
  /// A file as it is; of a folder what the formats look at.
  static func source(_ path: String) throws -> ImportSource {
    guard Files.isDirectory(path) else {
      return .file(try Files.read(path, bytesMax: Limits.importBytesMax, what: "file to import"))
    }
    return .folder(try files(in: try root(path)))
  }

  /// Archives may unpack to a folder inside the one that was made for them.
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

  /// The regular files of a folder and of the folders in it.
  private static func paths(_ root: String) throws -> [String] {
    var paths: [String] = []
    for name in try list(root) {
      let isFolder = Files.isDirectory("\(root)/\(name)")
      paths += isFolder ? try list("\(root)/\(name)").map { "\(name)/\($0)" } : [name]
      guard paths.count <= Limits.importFilesMax else {
        throw WaymarkError.failed(
          .tooLarge, "\(root) has more than \(Limits.importFilesMax) files, which is no folder to import.",
          next: "name the files, or the folder that holds only them")
      }
    }
    return paths.filter { Files.isRegular("\(root)/\($0)") }
  }

  /// In the order of their bytes.
  private static func list(_ path: String) throws -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw WaymarkError.failed(.file, "Can't read the folder \(path).", next: "ls -ld \(shellWord(path))")
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
