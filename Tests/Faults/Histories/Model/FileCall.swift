/// A call of the system's C library that changes files, with absolute paths.
package enum FileCall {
  /// A file is created, unless it exists; if it does, `empties` says whether its content is removed.
  case create(String, empties: Bool)
  case write(String, offset: Int, UnsafeRawBufferPointer)
  case truncate(String, size: Int)
  /// The content of a file, or the names in a folder, become durable.
  case sync(String)
  case rename(String, to: String)
  case link(String, to: String)
  case remove(String)

  /// The file that may grow, or be created, so that the call fails on a full disk; nil if the call needs no room.
  var growing: String? {
    switch self {
    case .create(let path, _), .write(let path, _, _): path
    case .truncate, .sync, .rename, .link, .remove: nil
    }
  }
}

/// Where the calls of this process are reported. The runner defines the calls in place of the C library, see
/// `FileCalls.swift` there; in other programs, none is reported.
///
/// Unsafe, because a program with a simulation changes files on its thread only.
package enum FileCallObserver {
  /// Called before each call that changes a file; nil if no one observes them. Returns the number of the error with which
  /// the call fails; nil to let it happen.
  nonisolated(unsafe) package static var current: ((FileCall) -> Int32?)?
  /// Whether this program reports calls.
  nonisolated(unsafe) package static var isAvailable = false
}
