// Sources/store.md, "Files"

package import FileFormat
import Synchronization
import Wire

/// The files that one operation adds to a store, from outside to durable: copied, hashed and synced on any thread and
/// several at once, then named together.
///
///     copy, write   the bytes are durable under a temporary name
///     place         all files have their names, with one sync for all files of a folder
///     end           temporary files are removed, and files that no record names can be swept again
///
/// The record that names a file is to be committed between `place` and `end`, which must always be called.
package final class FileAddition: Sendable {
  private let store: FileStore
  private let state = Mutex(State())

  private struct State {
    var writing: [FileImport] = []
    var sealed: [SealedImport] = []
    var held: [FileReference] = []
    var hasEnded = false
  }

  package init(_ store: FileStore) { self.store = store }

  /// Copies a foreign file from where it was read to, and makes the copy durable.
  ///
  /// - Parameters:
  ///   - beginning: bytes of the file that have been read already.
  ///   - step: called after each piece with the number of its bytes; may throw to cancel the copy.
  /// - Throws: `FileStoreError`, or an error of `step`.
  package func copy(
    _ foreign: borrowing ForeignFile, after beginning: [UInt8] = [], step: (Int) throws -> Void = { _ in }
  ) throws -> FileReference {
    guard foreign.size <= Limits.fileBytesMax else { throw FileStoreError.tooLarge }
    try store.checkRoom(foreign.size)
    var writing = try begin()
    do {
      // The pieces after the first must not straddle leaves, or each would be copied once more to be hashed.
      var buffer = [UInt8](repeating: 0, count: FileStore.chunkBytes - beginning.count % Limits.leafBytes)
      try store.append(beginning[...], to: &writing)
      try step(beginning.count)
      while true {
        let count = try foreign.read(into: &buffer)
        guard count > 0 else { break }
        try store.append(buffer[..<count], to: &writing)
        if buffer.count != FileStore.chunkBytes {
          buffer = [UInt8](repeating: 0, count: FileStore.chunkBytes)
        }
        try checkGoesOn()
        try step(count)
      }
      return try seal(writing)
    } catch {
      throw cancel(writing, error)
    }
  }

  /// Writes a file from memory, and makes it durable.
  ///
  /// - Throws: `FileStoreError`
  package func write(_ bytes: [UInt8]) throws -> FileReference {
    guard bytes.count <= Limits.fileBytesMax else { throw FileStoreError.tooLarge }
    try store.checkRoom(bytes.count)
    var writing = try begin()
    do {
      for start in stride(from: 0, to: bytes.count, by: FileStore.chunkBytes) {
        try store.append(bytes[start..<min(start + FileStore.chunkBytes, bytes.count)], to: &writing)
      }
      return try seal(writing)
    } catch {
      throw cancel(writing, error)
    }
  }

  /// Writes a file whose bytes come in pieces, and makes it durable.
  ///
  /// - Parameter next: returns the next piece; nil after the last one.
  /// - Throws: `FileStoreError`, or an error of `next`.
  package func write(_ next: () throws -> [UInt8]?) throws -> FileReference {
    var writing = try begin()
    var size = 0
    do {
      while let piece = try next() {
        size += piece.count
        guard size <= Limits.fileBytesMax else { throw FileStoreError.tooLarge }
        try store.checkRoom(piece.count)
        try store.append(piece[...], to: &writing)
        try checkGoesOn()
      }
      return try seal(writing)
    } catch {
      throw cancel(writing, error)
    }
  }

  private func begin() throws -> FileImport {
    let writing = try store.beginImport()
    state.withLock { $0.writing.append(writing) }
    return writing
  }

  private func checkGoesOn() throws {
    if state.withLock(\.hasEnded) { throw CancellationError() }
  }

  private func seal(_ writing: FileImport) throws -> FileReference {
    let sealed = try store.seal(writing)
    try state.withLock { state in
      guard !state.hasEnded else { throw CancellationError() }
      state.writing.removeAll { $0.name == writing.name }
      state.sealed.append(sealed)
    }
    return sealed.list.reference
  }

  /// Removes an unfinished file, and returns the error to report: after `end`, writing fails because the file is gone.
  private func cancel(_ writing: FileImport, _ error: any Error) -> any Error {
    store.cancel(writing)
    return state.withLock { state in
      state.writing.removeAll { $0.name == writing.name }
      return state.hasEnded ? CancellationError() : error
    }
  }

  /// Gives all files their names. When this returns, a record may name them.
  ///
  /// - Returns: the files, and those that were placed before.
  /// - Throws: `FileStoreError`
  @discardableResult
  package func place() throws -> [FileReference] {
    let sealed = try state.withLock { state in
      guard !state.hasEnded else { throw CancellationError() }
      let files = state.sealed.map(\.list.reference)
      store.hold(files)
      state.held += files
      defer { state.sealed = [] }
      return state.sealed
    }
    do {
      try store.place(sealed)
    } catch {
      for file in sealed { store.cancel(file.name) }
      throw error
    }
    return state.withLock(\.held)
  }

  /// Removes the files that have no name yet, and releases the others. Copies that are under way end with
  /// `CancellationError`.
  ///
  /// - Returns: the files that were released. Those that no record names are not needed any more.
  @discardableResult
  package func end() -> [FileReference] {
    let ended = state.withLock { state in
      defer { state = State(hasEnded: true) }
      return state
    }
    for file in ended.writing { store.cancel(file) }
    for file in ended.sealed { store.cancel(file.name) }
    store.release(ended.held)
    return ended.held
  }
}
