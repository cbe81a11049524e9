import Foundation
import Wire

extension Home {
  /// Whether a join was complete and only its last step is missing.
  var isReplacing: Bool { FileManager.default.fileExists(atPath: staging + "/ready") }

  /// Removes what an interrupted attempt left.
  func discard() throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Puts a complete home in the place of this one. The old store and keys move to the backups.
  func replace(by staged: Home, at now: Int64) throws {
    try Data().write(to: URL(filePath: staged.path + "/ready"))
    try finishReplacing(at: now)
  }

  /// Finishes a replacement that was complete but not yet in place when the process ended.
  func finishReplacing(at now: Int64) throws {
    let staged = Home(path: staging)
    let files = FileManager.default
    guard isReplacing else { return }
    if files.fileExists(atPath: staged.store) {
      try retire(at: now)
      for suffix in ["-wal", "-shm", ""] where files.fileExists(atPath: staged.store + suffix) {
        try files.moveItem(atPath: staged.store + suffix, toPath: store + suffix)
      }
    }
    if files.fileExists(atPath: staged.deviceKey) {
      try? files.removeItem(atPath: deviceKey)
      try files.moveItem(atPath: staged.deviceKey, toPath: deviceKey)
    }
    try staged.discard()
  }

  /// Moves the store and copies the keys into a folder of the backups.
  private func retire(at now: Int64) throws {
    let files = FileManager.default
    guard files.fileExists(atPath: store) || files.fileExists(atPath: deviceKey) else { return }
    let folder = "\(backups)/before-join-\(now)"
    try files.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for file in [deviceKey, rootKey] where files.fileExists(atPath: file) {
      let name = String(file.split(separator: "/").last ?? "key")
      try files.copyItem(atPath: file, toPath: "\(folder)/\(name)")
    }
    try? files.removeItem(atPath: rootKey)
    for suffix in ["-wal", "-shm", ""] where files.fileExists(atPath: store + suffix) {
      try files.moveItem(atPath: store + suffix, toPath: "\(folder)/store.db\(suffix)")
    }
  }
}
