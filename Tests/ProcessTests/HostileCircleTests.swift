import Foundation
import Testing
import Wire

/// Two nodes of a circle, and devices that share no code with them and do what no correct device does: `Tests/Hostile`.
@Suite(.serialized) struct HostileCircleTests {
  @Test(arguments: [["brief"], ["random", "20261121", "60"]])
  func `a circle stands whatever a hostile device does`(words: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let root = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var environment = ProcessInfo.processInfo.environment
    environment["WAYMARK"] = Build.plain.program.path
    let (output, errors) = (URL(filePath: stage.path("output")), URL(filePath: stage.path("errors")))
    let attack = try Child(
      root.appending(path: "Tests/Hostile/run"), words, environment: environment, input: nil, output: output,
      errors: errors)
    // The script ends its nodes by itself before this; it may have to fetch packages first.
    let code = try await attack.wait(seconds: 240, for: "Tests/Hostile/run")
    let said = try String(contentsOf: output, encoding: .utf8) + String(contentsOf: errors, encoding: .utf8)
    if said.hasPrefix("skipped:") { print(said) }
    #expect(code == 0, "\(said)")
  }
}
