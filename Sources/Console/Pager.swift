import Platform

/// Shows long output page by page, with the program that the user chose.
package struct Pager: Sendable {
  /// The command line of the pager, which the shell runs.
  package let command: String
  private let environment: [String: String]

  /// Creates the pager that `WAYMARK_PAGER` or `PAGER` names, or `less`. Nil if it is off, or is `cat`.
  package init?(_ environment: [String: String], isOff: Bool) {
    let named = environment["WAYMARK_PAGER"] ?? environment["PAGER"] ?? "less"
    let command = named.trimmed
    guard !isOff, !command.isEmpty, command != "cat", environment["TERM"] != "dumb" else { return nil }
    self.command = command
    // F ends less if the text fits on one screen, R shows colours, and X keeps the text on the screen afterwards.
    self.environment = environment.merging(["LESS": "FRX", "LV": "-c"]) { own, _ in own }
  }

  /// Shows the text and returns when the user leaves the pager.
  ///
  /// - Returns: false if there is no such program, so that the text was not shown.
  package func show(_ text: String) -> Bool {
    guard isThere, let (process, input) = start() else { return false }
    // Ctrl-C is for the pager, which also runs in the foreground.
    let before = signal(SIGINT, SIG_IGN)
    defer { signal(SIGINT, before) }
    // The user may leave before all of it is read; the rest is not written then.
    writeAll(text, to: input)
    close(input)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    // The shell exits with these if it found no such program or could not run it.
    return ![126, 127].contains(status >> 8 & 0xFF)
  }

  private func writeAll(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { bytes in
        uninterrupted { Platform.write(descriptor, bytes.baseAddress, bytes.count) }
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Starts the pager in the process group of the terminal's foreground, in which alone it may read keys.
  ///
  /// - Returns: the process and the descriptor of its input.
  private func start() -> (process: pid_t, input: Int32)? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    let (reader, writer) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var (actions, attributes) = spawnValues()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, reader, STDIN_FILENO)
    posix_spawn_file_actions_addclose(&actions, writer)
    // This process ignores broken pipes; the pager and what it runs must not inherit that.
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGPIPE, SIGINT] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let arguments: [UnsafeMutablePointer<CChar>?] =
      ["sh", "-c", command].map { $0.withCString { strdup($0) } } + [nil]
    let variables: [UnsafeMutablePointer<CChar>?] =
      environment.map { name, value in "\(name)=\(value)".withCString { strdup($0) } } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    guard posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, variables) == 0 else {
      for end in ends { close(end) }
      return nil
    }
    close(reader)
    return (process, writer)
  }

  /// Whether the program exists. If the command begins with something else than a name, the shell decides.
  private var isThere: Bool {
    let word = String(command.prefix { $0 != " " })
    guard word.allSatisfy({ $0.isLetter || $0.isNumber || "-_./+".contains($0) }) else { return true }
    if word.contains("/") { return FileManager.default.isExecutableFile(atPath: word) }
    return (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(word)")
    }
  }
}
