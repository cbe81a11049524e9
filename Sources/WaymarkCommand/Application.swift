import Foundation
import Waymark

/// One run of the program: understands what was typed, has it done, and shows the answer.
struct Application: Sendable {
  let arguments: [String]
  let environment: [String: String]

  /// Does it all and gives what the process ends with.
  func run() async -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    let terminal = Terminal(noColor: arguments.contains("--no-color"), environment: environment)
    do {
      let directory = FileManager.default.currentDirectoryPath
      let invocation = try CommandParser(directory: directory).parse(arguments)
      return try await Session(invocation, terminal, environment).run()
    } catch {
      return Self.report(error, on: terminal)
    }
  }

  /// One sentence, and what to type next.
  static func report(_ error: any Error, on terminal: Terminal) -> Int32 {
    var page = Page(width: terminal.error.width, hasColor: terminal.error.hasColor)
    guard let failure = error as? CommandFailure else {
      page.paragraph("waymark: \(printable("\(error)"))")
      terminal.raw(page)
      return ExitCode.failed
    }
    page.paragraph("\(page.paint("waymark:", .bad)) \(printable(failure.message))")
    for candidate in failure.candidates.prefix(20) { page.line("  \(printable(candidate))") }
    if failure.candidates.count > 20 { page.line("  … and \(failure.candidates.count - 20) more") }
    if let next = failure.next { page.paragraph("Next: \(printable(next))") }
    terminal.raw(page)
    return failure.exitCode
  }
}

extension Terminal {
  /// Writes a page to standard error.
  fileprivate func raw(_ page: Page) { transient(page.text) }
}
