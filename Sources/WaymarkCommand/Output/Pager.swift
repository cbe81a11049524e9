import Foundation

/// Shows long output page by page, with the program that the user chose.
struct Pager: Sendable {
  /// The command line of the pager, which the shell runs.
  let command: String
  private let environment: [String: String]

  /// Creates the pager that `WAYMARK_PAGER` or `PAGER` names, or `less`. Nil if it is off, or is `cat`.
  init?(_ environment: [String: String], isOff: Bool) {
    let named = environment["WAYMARK_PAGER"] ?? environment["PAGER"] ?? "less"
    let command = named.trimmingCharacters(in: .whitespaces)
    guard !isOff, !command.isEmpty, command != "cat", environment["TERM"] != "dumb" else { return nil }
    self.command = command
    // F ends less if the text fits on one screen, R shows colours, and X keeps the text on the screen afterwards.
    self.environment = environment.merging(["LESS": "FRX", "LV": "-c"]) { own, _ in own }
  }

  /// Shows the text and returns when the user leaves the pager.
  ///
  /// - Returns: false if there is no such program, so that the text was not shown.
  func show(_ text: String) -> Bool {
    guard isThere else { return false }
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    process.environment = environment
    let pipe = Pipe()
    process.standardInput = pipe
    // Ctrl-C is for the pager, which also runs in the foreground.
    let before = signal(SIGINT, SIG_IGN)
    defer { signal(SIGINT, before) }
    guard (try? process.run()) != nil else { return false }
    // The user may leave before all of it is read; the rest is not written then.
    try? pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try? pipe.fileHandleForWriting.close()
    process.waitUntilExit()
    // The shell exits with these if it found no such program or could not run it.
    return ![126, 127].contains(process.terminationStatus)
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
