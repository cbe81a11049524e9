import Foundation
import Testing
import Wire

/// Five nodes and a model of the merge that shares no code with them: `Tests/Oracle`.
@Suite(.serialized) struct OracleTests {
  @Test func `five nodes hold what a model written from the protocol says`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let root = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var environment = ProcessInfo.processInfo.environment
    environment["WAYMARK"] = Build.plain.program.path
    let (output, errors) = (URL(filePath: stage.path("output")), URL(filePath: stage.path("errors")))
    let oracle = try Child(
      root.appending(path: "Tests/Oracle/run"), ["20261121", "150", "100"], environment: environment,
      input: nil,
      output: output, errors: errors)
    // The script ends its nodes by itself before this; it may have to fetch packages first.
    let code = try await oracle.wait(seconds: 160, for: "Tests/Oracle/run")
    let said = try String(contentsOf: output, encoding: .utf8) + String(contentsOf: errors, encoding: .utf8)
    if said.hasPrefix("skipped:") { print(said) }
    #expect(code == 0, "\(said)")
  }
}
