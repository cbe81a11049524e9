import Foundation
import Home
import Testing
import WaymarkTesting

/// The name for a new device in the environment and in the configuration file.
struct DeviceNameVariableTests {
  @Test(
    arguments: [
      (nil, nil, nil), (nil, "", nil), (nil, "bob", "bob"), ("alice", nil, "alice"), ("alice", "", "alice"),
      ("alice", "bob", "bob"),
    ] as [(String?, String?, String?)])
  func `the variable overrides the file unless it is empty`(
    file: String?, variable: String?, expected: String?
  ) throws {
    let directory = try TestHome()
    try FileManager.default.createDirectory(
      atPath: directory.home.path, withIntermediateDirectories: true)
    if let file {
      try Data("{\"name\": \"\(file)\"}".utf8).write(to: URL(filePath: directory.home.configuration))
    }
    let environment = variable.map { ["WAYMARK_NAME": $0] } ?? [:]
    #expect(try Configuration(home: directory.home, environment: environment).name == expected)
  }
}
