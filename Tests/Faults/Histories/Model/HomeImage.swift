import Foundation
import VirtualDisk
import Waymark
import Wire

// The directory of a device is real. What a kill or a power loss leaves of it is an image: the content of its files at that
// moment. After a kill, these are the files as programs see them. For a power loss, the calls that change files are applied
// to a `Disk` as well, which knows what was synced. The device's node runs on, cut off from all others, until its command
// ends. Then it is closed, and the image takes the place of its files.

/// What is left of a device's files when its machine stops.
struct HomeImage {
  private let files: [String: [UInt8]]

  private init(_ files: [String: [UInt8]]) { self.files = files }

  /// The present content of a directory.
  init(of home: Home) {
    var files: [String: [UInt8]] = [:]
    for name in Self.names(in: home) {
      files[name] = FileManager.default.contents(atPath: home.path + "/" + name).map { Array($0) }
    }
    self.init(files)
  }

  /// What a power loss leaves of a disk.
  init(_ disk: Disk, _ survival: Survival, _ random: inout SplitMix) {
    let left = disk.afterPowerLoss(survival, &random)
    let names = left.names.map { ($0, left.content(of: $0) ?? []) }
    self.init(Dictionary(uniqueKeysWithValues: names))
  }

  /// A disk with these files, all of them durable.
  func disk() throws -> Disk {
    let disk = Disk()
    for (name, content) in files { try disk.write(name, content, synced: true) }
    return disk
  }

  /// The files of a directory that an image has, in a fixed order: not the lock, the reserve for a full disk, and the memory
  /// that connections share, which no machine keeps.
  private static func names(in home: Home) -> [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: home.path)) ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      let isThere = FileManager.default.fileExists(atPath: home.path + "/" + name, isDirectory: &isFolder)
      return isThere && !isFolder.boolValue && has(name)
    }.sorted()
  }

  /// Whether images have a file.
  static func has(_ name: String) -> Bool {
    name != "ballast" && !name.hasSuffix("-shm") && !name.hasSuffix(".lock")
  }

  /// Replaces the files of a directory that no node uses.
  func write(to home: Home) throws {
    for name in Self.names(in: home) where files[name] == nil {
      try FileManager.default.removeItem(atPath: home.path + "/" + name)
    }
    try? FileManager.default.removeItem(atPath: home.store + "-shm")
    for (name, content) in files {
      let path = home.path + "/" + name
      // A store that is written to another file is a copy, and its device begins another log.
      if path != home.store { try? FileManager.default.removeItem(atPath: path) }
      if let file = FileHandle(forWritingAtPath: path) {
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: content)
        try file.close()
      } else {
        let folder = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(
          at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard
          FileManager.default.createFile(
            atPath: path, contents: Data(content), attributes: [.posixPermissions: 0o600])
        else { throw Difference("can't write \(path)") }
      }
    }
  }
}
