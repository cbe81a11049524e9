import Foundation
import JSONDocument
import Processes

extension Stage {
  /// Runs a script of the repository with the command built alongside the tests; returns its exit code and output.
  ///
  /// It ends its nodes itself, and may have to fetch packages first. If it cannot run, it prints a line that begins
  /// with `skipped:`, which is shown.
  func script(_ path: String, _ words: [String], seconds: Int) async throws -> (code: Int32, said: String) {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var environment = ProcessInfo.processInfo.environment
    environment["WAYMARK"] = Build.plain.program.path
    let (output, errors) = (URL(filePath: self.path("output")), URL(filePath: self.path("errors")))
    let child = try Child(
      root.appending(path: path), words, environment: environment, input: nil, output: output, errors: errors)
    let code = try await child.wait(seconds: seconds, for: path)
    let said = try String(contentsOf: output, encoding: .utf8) + String(contentsOf: errors, encoding: .utf8)
    if said.hasPrefix("skipped:") { print(said) }
    return (code, said)
  }
}
