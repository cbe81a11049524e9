import Console
import Platform
import Home
import Reasons
import Records
import Waymark

/// One run of the program: parses the command line, performs the command and shows its answer.
struct Application: Sendable {
  let arguments: [String]
  let environment: [String: String]

  /// Runs the command and returns the exit code of the process.
  func run() async -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    // Beyond the limit on the size of a file, writing fails like on a full disk.
    signal(SIGXFSZ, SIG_IGN)
    return await Schema.$known.withValue(Schema.ofHome(arguments, environment)) { await perform() }
  }

  private func perform() async -> Int32 {
    let terminal = Terminal(noColor: arguments.contains("--no-color"), environment: environment)
    if arguments.first == LiveCompletions.command {
      await LiveCompletions(Array(arguments.dropFirst(2)), environment: environment)?.print(on: terminal)
      return 0
    }
    do {
      let invocation = try CommandParser(directory: try? workingDirectory()).parse(arguments)
      // Set up before standard input is copied to a temporary file, because the handlers remove that file.
      Interrupts.beforeEnding(TemporaryFiles.remove)
      Interrupts.endWith(ExitCode.interrupted)
      let streams = try StandardStreams(invocation)
      defer { streams.end() }
      return try await CommandRun(streams, terminal, environment).run()
    } catch {
      guard ErrorDocument.isAsked(for: arguments) else {
        return Self.report(error, on: terminal, as: LogFormat.fitting(environment))
      }
      let failure = Self.failure(error)
      terminal.data(ErrorDocument(failure).line)
      return failure.exitCode
    }
  }

  /// Prints the error and the next step, and returns the exit code.
  static func report(_ error: any Error, on terminal: Terminal, as format: LogFormat = .text) -> Int32 {
    let failure = failure(error)
    if let line = format.line(failure) {
      terminal.note(line)
      return failure.exitCode
    }
    return terminal.report(failure)
  }

  /// What happened to which file.
  private static func reason(_ error: CocoaError) -> String {
    let text =
      (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"
    return [error.filePath, text].compactMap(\.self).joined(separator: ": ") + "."
  }

  /// Converts any error to one that a person can act on, without names of Swift types.
  static func failure(_ error: any Error) -> WaymarkError {
    switch error {
    case let failure as WaymarkError: failure
    case let error as CocoaError:
      WaymarkError(
        exitCode: ExitCode.failed, code: .file, message: .init(verbatim: reason(error)),
        next: .waymark("doctor"))
    default:
      WaymarkError(
        exitCode: ExitCode.failed, code: .unexpected, message: "Unexpected error: \(error).",
        next: .waymark("doctor"))
    }
  }
}
