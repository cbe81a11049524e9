import Platform

/// Runs other programs of the system, such as `systemctl`.
package enum Helper {
  package struct Outcome: Sendable {
    /// The exit code; nil if the program could not be started.
    package let code: Int32?
    /// What the program wrote to standard output and standard error.
    package let output: String
  }

  /// Runs a program found in `PATH` and waits until it ends. Its standard input is empty.
  package static func run(_ words: [String]) -> Outcome {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return Outcome(code: nil, output: "") }
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    let child = start(words, writingTo: ends[1])
    close(ends[1])
    let output = readAll(ends[0])
    close(ends[0])
    guard let child else { return Outcome(code: nil, output: "") }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    return Outcome(code: signal == 0 ? (status >> 8) & 0xff : 128 + signal, output: output)
  }

  /// Starts a program found in `PATH` that outlives this process, such as a browser. What it writes is lost. Returns
  /// false if it could not be started.
  package static func begin(_ words: [String]) -> Bool {
    let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard nowhere >= 0 else { return false }
    defer { close(nowhere) }
    // In a process group of its own, Ctrl-C in this terminal does not end it.
    return start(words, writingTo: nowhere, inOwnGroup: true) != nil
  }

  private static func start(
    _ words: [String], writingTo descriptor: Int32, inOwnGroup: Bool = false
  ) -> pid_t? {
    var (actions, attributes) = spawnValues()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for output in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_adddup2(&actions, descriptor, output)
    }
    posix_spawn_file_actions_addclose(&actions, descriptor)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    if inOwnGroup { posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP)) }
    let arguments = words.map { strdup($0) } + [nil]
    defer { for text in arguments { free(text) } }
    var id: pid_t = 0
    return posix_spawnp(&id, words[0], &actions, &attributes, arguments, environ) == 0 ? id : nil
  }

  /// Output beyond this is read and discarded.
  private static let bytesMax = 64 * 1024

  private static func readAll(_ descriptor: Int32) -> String {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return String(decoding: all, as: UTF8.self) }
      if all.count < bytesMax { all += buffer[..<count] }
    }
  }
}
