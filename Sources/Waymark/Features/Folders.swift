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
      try manager.createDirectory(atPath: half, withIntermediateDirectories: false)
      for file in files {
        let target = "\(half)/\(file.path)"
        let parent = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
        try manager.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Files.create(target, file.bytes, mode: 0o644)
      }
      // Only an empty folder goes away like this.
      rmdir(whole)
      try manager.moveItem(atPath: half, toPath: whole)
    } catch {
      try? manager.removeItem(atPath: half)
      if let failure = error as? WaymarkError { throw failure }
      throw WaymarkError.failed(
        "file", "Can't write the folder \(path): \((error as NSError).localizedFailureReason ?? "\(error)")",
        next: "name a folder where there is room and you may write: --output FOLDER")
    }
  }
}
