import Platform
import Reasons

/// Waits for the writer of a named pipe. Without a limit, opening a pipe that nothing writes to would wait forever.
enum PipeWriter {
  /// Waits until a pipe that was opened without blocking has a writer, and makes reading it block. Does nothing for other
  /// files.
  ///
  /// - Returns: the bytes that were read from the pipe while waiting.
  /// - Throws: `WaymarkError` if nothing writes to the pipe within some seconds.
  static func wait(_ descriptor: Int32, _ path: String) throws -> [UInt8] {
    defer { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return [] }
    let end = SuspendingClock.now + .seconds(secondsMax)
    var byte: UInt8 = 0
    repeat {
      // Zero bytes mean that there is no writer; an error, that the writer has not written yet.
      let count = read(descriptor, &byte, 1)
      if count != 0 { return count > 0 ? [byte] : [] }
      usleep(50_000)
    } while SuspendingClock.now < end
    throw WaymarkError.failed(
      .file, "Nothing writes to the pipe \(path); waited \(secondsMax) seconds.",
      next: "start the program that writes to it, then try again")
  }

  private static let secondsMax = 10
}
