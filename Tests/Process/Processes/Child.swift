package import Foundation
import Platform
import Synchronization

/// A process that a test started. It reads from a file and writes to files, so that no pipe can block it.
///
/// Started by `posix_spawn`: Foundation's `Process` of Swift 6.3 reads beyond its buffer where very many descriptors are
/// open, and crashes now and then (swift-corelibs-foundation #5472).
package final class Child: Sendable {
  package let id: Int32
  /// The exit code, or a negative signal number; nil until the end of the process was observed.
  private let ending = Mutex<Int32?>(nil)

  package init(
    _ program: URL, _ arguments: [String], environment: [String: String], input: URL?, output: URL,
    errors: URL
  ) throws {
    let files = [
      (input?.path ?? "/dev/null", O_RDONLY), (output.path, Self.append), (errors.path, Self.append),
    ]
    id = try Self.spawn(
      [program.path] + arguments, environment.map { "\($0.key)=\($0.value)" }, files: files)
  }

  private static let append = O_WRONLY | O_CREAT | O_APPEND

  /// - Parameter files: descriptors 0, 1 and 2 of the child; it gets no others.
  private static func spawn(
    _ words: [String], _ environment: [String], files: [(path: String, flags: Int32)]
  ) throws -> Int32 {
    var (actions, attributes) = spawnValues()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, file) in files.enumerated() {
      posix_spawn_file_actions_addopen(&actions, Int32(number), file.path, file.flags, 0o600)
    }
    for other in files.count..<256 { posix_spawn_file_actions_addclose(&actions, Int32(other)) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // As from a shell: signals that the tests ignore or block are reset in the child.
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    let (arguments, variables) = (words.map { strdup($0) } + [nil], environment.map { strdup($0) } + [nil])
    defer { for text in arguments + variables { free(text) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, words[0], &actions, &attributes, arguments, variables)
    guard code == 0 else { throw Failure("\(words[0]) can't be started: \(String(cString: strerror(code)))") }
    return id
  }

  /// The exit code; nil while it runs.
  package var code: Int32? {
    ending.withLock { ending in
      guard ending == nil else { return ending }
      var status: Int32 = 0
      guard waitpid(id, &status, WNOHANG) == id else { return nil }
      let signal = status & 0x7f
      ending = signal == 0 ? (status >> 8) & 0xff : -signal
      return ending
    }
  }

  /// Sends a signal, unless the process has ended.
  package func signal(_ number: Int32) {
    if code == nil { kill(id, number) }
  }

  /// The factor by which time and memory limits grow under a sanitizer, which needs several times as much of both.
  package static let patience: Int = {
    let own = ProcessInfo.processInfo.environment
    return own["ASAN_OPTIONS"] == nil && own["TSAN_OPTIONS"] == nil ? 1 : 5
  }()

  /// The factor by which tests wait longer than an idle machine needs: a deadline catches what never happens, and
  /// must not fail on what is late because all the other tests run too.
  package static let leeway = 3 * patience

  /// Waits for the end; after `seconds` it kills the process and the test fails.
  package func wait(seconds: Int, for what: String) async throws -> Int32 {
    let seconds = seconds * Self.leeway
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      if let code { return code }
      guard ContinuousClock.now < deadline else {
        signal(SIGKILL)
        throw Failure("timed out after \(seconds) seconds waiting for the end of \(what)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}

/// An error for a condition that was not met.
package struct Failure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
