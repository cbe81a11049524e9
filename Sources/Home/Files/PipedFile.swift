import Platform
import Reasons
import Wire

/// A temporary file with the content of a pipe or a device, for a running node, whose standard streams differ from
/// those of the command.
package struct PipedFile: Sendable {
  package let path: String
  private let folder: String

  /// Whether this process must read a path for the node: standard input, a path that differs in each process, a pipe or
  /// a device.
  package static func isNeeded(for path: String) -> Bool {
    guard path != "-", !own.contains(where: path.hasPrefix) else { return true }
    return Files.exists(path) && !Files.isDirectory(path) && !Files.isRegular(path)
  }

  /// Paths that differ in each process.
  private static let own = ["/dev/std", "/dev/fd/", "/proc/self/", "/proc/thread-self/"]

  /// Reads the source to its end; `-` is standard input.
  ///
  /// - Throws: `WaymarkError` if it can't be read, or is larger than the limit for imports.
  package init(_ source: String) throws {
    let bytes = try Files.readPipe(source, bytesMax: Limits.importBytesMax, what: "file to import")
    folder = FileManager.default.temporaryDirectory.path + "/waymark-\(UUID().uuidString)"
    path = folder + "/" + (source == "-" ? "standard-input" : Files.name(of: source))
    TemporaryFiles.add(folder)
    guard mkdir(folder, 0o700) == 0 else {
      throw WaymarkError.failed(
        .file, "Can't store the input in a temporary folder: \(systemReason().lowercased()).",
        next: Files.look(folder))
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
