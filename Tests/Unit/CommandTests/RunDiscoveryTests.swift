import Control
import Foundation
import Home
import JSONDocument
import Testing

@testable import WaymarkCommand

/// Whether a node that `run` starts looks for its peers on the local networks.
struct RunDiscoveryTests {
  @Test(
    arguments: [
      ([:], "{}", [:], true), (["noDiscovery": true], "{}", [:], false),
      ([:], "{\"discovery\": false}", [:], false), ([:], "{\"discovery\": true}", [:], true),
      ([:], "{\"discovery\": true}", ["WAYMARK_DISCOVERY": "off"], false),
      ([:], "{\"discovery\": false}", ["WAYMARK_DISCOVERY": "on"], true),
      (["noDiscovery": true], "{\"discovery\": true}", ["WAYMARK_DISCOVERY": "on"], false),
    ] as [(JSON, String, [String: String], Bool)])
  func `the flag or the configuration turns discovery off`(
    arguments: JSON, file: String, environment: [String: String], discovers: Bool
  ) async throws {
    try await Workshop.with { workshop in
      let home = Home(path: workshop.path("alice"))
      try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: true)
      try Data(file.utf8).write(to: URL(filePath: home.configuration))
      let asked = try AnswerCoding.decode(RunArguments.self, from: arguments)
      #expect(asked.discovers(try Configuration(home: home, environment: environment)) == discovers)
    }
  }
}
