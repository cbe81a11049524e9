import Waymark

extension WaymarkError {
  /// What was typed is not a command that makes sense.
  static func usage(_ message: String, next: String? = nil) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.usage, code: "usage", message: message, next: next)
  }
}
