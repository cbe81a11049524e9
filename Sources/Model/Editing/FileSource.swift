import FileFormat
package import FileStore
package import Home
import Records
import Storage
import Synchronization
import Wire

/// A file that a change is to name: outside the store, or in memory.
package enum FileSource: Sendable {
  case path(String)
  case bytes([UInt8], name: String)

  package var name: String {
    switch self {
    case .path(let path): Files.name(of: path)
    case .bytes(_, let name): name
    }
  }

  fileprivate var byteCount: Int {
    switch self {
    case .path(let path): Int(clamping: Files.size(path) ?? 0)
    case .bytes(let bytes, _): bytes.count
    }
  }
}

extension FileAddition {
  /// Copies files into the store, off the node and several at once, and makes them durable. Files that are short enough
  /// become values instead.
  ///
  /// - Parameter progress: called on any thread, if there are more than 16 MiB in all.
  /// - Returns: the added files, in the order of `sources`.
  /// - Throws: `WaymarkError`, or `CancellationError`.
  package func add(
    _ sources: [FileSource], _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> [AddedFile] {
    let total = try await offNode { sources.reduce(0) { $0 + $1.byteCount } }
    let progress = SharedProgress("adding", total: total, progress)
    var added = [AddedFile?](repeating: nil, count: sources.count)
    try await withThrowingTaskGroup(of: (Int, AddedFile).self) { group in
      for (index, source) in sources.enumerated() {
        if index >= Self.copiesMax, let (done, file) = try await group.next() { added[done] = file }
        group.addTask { (index, try await offNode { try self.add(source, progress) }) }
      }
      for try await (done, file) in group { added[done] = file }
    }
    try await offNode { _ = try withFileErrors("the files") { try self.place() } }
    return added.compactMap(\.self)
  }

  /// Copying waits for the disk most of the time, and disks make several files durable in the time of one.
  private static let copiesMax = 4

  private func add(_ source: FileSource, _ progress: SharedProgress) throws -> AddedFile {
    try withFileErrors(source.place) {
      switch source {
      case .bytes(let bytes, let name):
        let value = try Blob.isInline(byteCount: bytes.count) ? .bytes(bytes) : write(bytes).value
        progress.add(bytes.count)
        return AddedFile(value: value, byteCount: bytes.count, name: name)
      case .path(let path):
        let foreign = try ForeignFile(path: path)
        var bytes = [UInt8](repeating: 0, count: Limits.inlineBytesMax + 1)
        bytes.removeLast(bytes.count - (try foreign.read(into: &bytes)))
        guard !Blob.isInline(byteCount: bytes.count) else {
          progress.add(bytes.count)
          return AddedFile(value: .bytes(bytes), byteCount: bytes.count, name: source.name)
        }
        let file = try copy(foreign, after: bytes) { count in
          try Task.checkCancellation()
          progress.add(count)
        }
        return AddedFile(value: file.value, byteCount: file.size, name: source.name)
      }
    }
  }
}

extension FileSource {
  /// How an error names the file.
  fileprivate var place: String {
    switch self {
    case .path(let path): path
    case .bytes(_, let name): name
    }
  }
}

/// The progress of several copies at once.
private final class SharedProgress: Sendable {
  private let bytes: Mutex<ByteProgress>
  private let tell: @Sendable (WorkProgress) -> Void

  init(_ stage: String, total: Int, _ tell: @escaping @Sendable (WorkProgress) -> Void) {
    bytes = Mutex(ByteProgress(stage, total: total))
    self.tell = tell
  }

  func add(_ count: Int) {
    if let progress = bytes.withLock({ $0.add(count) }) { tell(progress) }
  }
}
