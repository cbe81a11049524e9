import Foundation
import Wire

/// What comes out of a pipe or a device, as a file that a running node can read: it has other standard streams than the
/// person who typed a command.
package struct PipedFile: Sendable {
  /// The file.
  package let path: String
  private let folder: String

  /// Whether only the process that was given a path can open it.
  package static func isNeeded(for path: String) -> Bool {
    guard path != "-", !own.contains(where: path.hasPrefix) else { return true }
    return Files.exists(path) && !Files.isDirectory(path) && !Files.isRegular(path)
  }

  /// They mean something else in every process.
  private static let own = ["/dev/std", "/dev/fd/", "/proc/self/", "/proc/thread-self/"]

  /// Reads to the end; `-` is standard input.
  ///
  /// - Throws: `WaymarkError` if it can't be read, or is larger than what may be imported.
  package init(_ source: String) throws {
    let bytes = try Files.readPipe(source, bytesMax: Limits.importBytesMax, what: "file to import")
    folder = FileManager.default.temporaryDirectory.path + "/waymark-\(UUID().uuidString)"
    path = folder + "/" + (source == "-" ? "standard-input" : Files.name(of: source))
    TemporaryFiles.add(folder)
    guard mkdir(folder, 0o700) == 0 else {
      throw WaymarkError.failed(
        .file, "Can't keep what came in: \(reason().lowercased()).", next: Files.look(folder))
    }
    do {
      try Files.create(path, bytes, mode: 0o600)
    } catch {
      remove()
      throw error
    }
  }

  package func remove() {
    try? FileManager.default.removeItem(atPath: folder)
    TemporaryFiles.forget(folder)
  }
}
