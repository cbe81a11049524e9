import Foundation
import Synchronization

/// A process that a test started. It reads from a file and writes to files, so nobody waits on a pipe.
final class Child: Sendable {
  /// How a process ended: its exit code, or a signal's number below zero; nil while it runs.
  private final class Ending: Sendable { let code = Mutex<Int32?>(nil) }

  let id: Int32
  private let ending: Ending

  init(
    _ program: URL, _ arguments: [String], environment: [String: String], input: URL?, output: URL,
    errors: URL
  ) throws {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = environment
    process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
    process.standardOutput = try Self.appending(to: output)
    process.standardError = try Self.appending(to: errors)
    let ending = Ending()
    process.terminationHandler = { @Sendable process in
      let isSignal = process.terminationReason == .uncaughtSignal
      ending.code.withLock { $0 = isSignal ? -process.terminationStatus : process.terminationStatus }
    }
    try process.run()
    id = process.processIdentifier
    self.ending = ending
  }

  private static func appending(to file: URL) throws -> FileHandle {
    if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
    let handle = try FileHandle(forWritingTo: file)
    try handle.seekToEnd()
    return handle
  }

  var code: Int32? { ending.code.withLock { $0 } }

  /// Sends a signal, unless the process has ended.
  func signal(_ number: Int32) {
    if code == nil { kill(id, number) }
  }

  /// Waits for the end; after `seconds` the process is killed and the test fails.
  func wait(seconds: Int, for what: String) async throws -> Int32 {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      if let code { return code }
      guard ContinuousClock.now < deadline else {
        signal(SIGKILL)
        throw Failure("waited \(seconds) seconds in vain for the end of \(what)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}

/// What a test waited for, or asked for, and did not get.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
