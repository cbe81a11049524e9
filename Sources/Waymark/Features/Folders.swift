import Foundation

/// Writing several files as one folder.
enum Folders {
  /// Makes a folder that is not there yet, or fills an empty one: all of it, or nothing.
  static func create(_ path: String, with files: [(path: String, bytes: [UInt8])]) throws {
    let manager = FileManager.default
    if Files.exists(path) {
      let held = Files.isDirectory(path) ? try? manager.contentsOfDirectory(atPath: path) : nil
      guard held?.isEmpty == true else {
        throw WaymarkError.failed(
          "file", "\(path) is there already and is no empty folder.",
          next: "name a folder that is not there yet: --output FOLDER")
      }
    }
    let whole = path.hasSuffix("/") ? String(path.dropLast()) : path
    let half = "\(whole).part-\(getpid())"
    do {
      try Files.makeFolder(half)
      for file in files {
        try makeFolders(of: file.path, in: half)
        try Files.create("\(half)/\(file.path)", file.bytes, mode: 0o644)
      }
      // Only an empty folder goes away like this.
      rmdir(whole)
      try Files.move(half, to: whole)
    } catch {
      try? manager.removeItem(atPath: half)
      throw error
    }
  }

  private static func makeFolders(of path: String, in folder: String) throws {
    var folder = folder
    for name in path.split(separator: "/").dropLast() {
      folder += "/" + name
      try Files.makeFolder(folder)
    }
  }
}
