/// A place for files that SQLite can be given instead of the machine's disk: see `Volume`.
///
/// Used from one thread at a time, like the connections on it.
package protocol FileSystem: AnyObject {
  /// Opens a file; without a name, one that nobody else sees and that ends with its use.
  func open(_ name: String?, creates: Bool) throws(FileFault) -> (file: any FileSystemFile, isNew: Bool)
  func delete(_ name: String) throws(FileFault)
  /// Bytes in a file; nil if there is none.
  func size(of name: String) -> Int?
  /// Makes it durable which names the directory of a file holds.
  func syncDirectory(of name: String) throws(FileFault)
}

/// An open file of a `FileSystem`.
package protocol FileSystemFile: AnyObject {
  var size: Int { get }
  /// Fills as much of the buffer as there are bytes, and says how many.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFault) -> Int
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFault)
  func truncate(to size: Int) throws(FileFault)
  /// Makes durable what was written so far.
  func sync() throws(FileFault)
}

/// Why a file system did not do what it was told.
package enum FileFault: Error, Hashable, Sendable {
  case missing
  case inputOutput
  case noRoom
  /// The process or the machine that the file belongs to is gone: nothing it does has any effect from here on.
  case stopped
}
