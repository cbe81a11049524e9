import Waymark

extension CommandFailure {
  /// What was typed is not a command that makes sense.
  static func usage(_ message: String, next: String? = nil) -> CommandFailure {
    CommandFailure(exitCode: ExitCode.usage, code: "usage", message: message, next: next)
  }
}
