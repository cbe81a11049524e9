import Platform
import Home
import Reasons
import Storage

/// A node that reads a home on a read-only file system, such as a mounted backup of a disk.
///
/// A store needs a lock and a write-ahead log next to it, so its files are copied to a temporary folder that only this
/// user can read. The keys are not copied.
package struct ReadingCopy {
  package let node: Node
  private let folder: String

  /// - Parameter holdsFiles: whether to copy the files of attachments, too.
  /// - Throws: `WaymarkError` if the home has no store, or if there is no room for the copy.
  package init(of home: Home, holdsFiles: Bool) throws {
    guard home.hasStore else { throw WaymarkError.noStore(home) }
    folder = "\(FileManager.default.temporaryDirectory.path)/waymark-read-\(UUID().uuidString)"
    TemporaryFiles.add(folder)
    do {
      try Self.copy(home, to: folder, holdsFiles: holdsFiles)
      node = try Node(
        home: Home(inMemoryWith: nil), identity: try Identity.load(from: home),
        store: try Store(path: folder + "/store.db"), in: .machine(), log: .silent)
    } catch {
      Self.remove(folder)
      throw WaymarkError.opening(home, error)
    }
  }

  /// Closes the node and removes the copy.
  package func close() async {
    await node.close()
    Self.remove(folder)
  }

  private static func remove(_ folder: String) {
    try? FileManager.default.removeItem(atPath: folder)
    TemporaryFiles.forget(folder)
  }

  private static func copy(_ home: Home, to folder: String, holdsFiles: Bool) throws {
    let manager = FileManager.default
    do {
      try manager.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      for ending in ["", "-wal"] where Files.exists(home.store + ending) {
        try manager.copyItem(atPath: home.store + ending, toPath: "\(folder)/store.db\(ending)")
        chmod("\(folder)/store.db\(ending)", 0o600)
      }
      if holdsFiles, Files.isDirectory(home.files) {
        try manager.copyItem(atPath: home.files, toPath: folder + "/files")
      }
    } catch {
      throw WaymarkError.failed(
        .file,
        "\(home.path) is on a read-only file system, and there is no room for a copy of it in "
          + "\(manager.temporaryDirectory.path).",
        next: "name a folder with more room: TMPDIR=FOLDER waymark, and the command")
    }
  }
}

extension Home {
  /// Whether the store is on a file system that can't be written to, so that no process can be using it.
  package var isOnReadOnlyDisk: Bool { hasStore && access(store, W_OK) != 0 && errno == EROFS }
}
