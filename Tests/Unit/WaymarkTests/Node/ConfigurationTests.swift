import Foundation
import Home
import Testing
import Waymark
import WaymarkTesting

@Suite struct ConfigurationTests {
  private let directory: TestHome

  init() throws {
    directory = try TestHome()
    try FileManager.default.createDirectory(
      atPath: directory.home.path, withIntermediateDirectories: true)
  }

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: directory.home.configuration))
  }

  @Test func `without a file and an environment nothing is set`() throws {
    let configuration = try Configuration(home: directory.home, environment: [:])
    #expect(configuration.name == nil && configuration.listen == nil && configuration.peers.isEmpty)
  }

  @Test func `the environment overrides the file, each setting separately`() throws {
    try write(#"{"name": "alice", "listen": "127.0.0.1:1", "peers": ["10.0.0.1:7433"]}"#)
    let environment = ["WAYMARK_LISTEN": "127.0.0.1:2", "WAYMARK_PEERS": "10.0.0.2:1, 10.0.0.3:1"]
    let configuration = try Configuration(home: directory.home, environment: environment)
    #expect(configuration.name == "alice")
    #expect(configuration.listen == "127.0.0.1:2")
    #expect(configuration.peers == ["10.0.0.2:1", "10.0.0.3:1"])
  }

  @Test(arguments: [
    (nil, nil, true), (#"{"discovery": false}"#, nil, false), (#"{"discovery": true}"#, "off", false),
    (#"{"discovery": false}"#, "on", true), (nil, "0", false), (#"{"discovery": false}"#, "", false),
  ])
  func `discovery is on unless the file or environment turns it off`(
    file: String?, environment: String?, isWanted: Bool
  ) throws {
    if let file { try write(file) }
    let environment = environment.map { ["WAYMARK_DISCOVERY": $0] } ?? [:]
    #expect(try Configuration(home: directory.home, environment: environment).discovery == isWanted)
  }

  @Test(arguments: [
    (nil, nil, false), (#"{"followSync": true}"#, nil, true), (#"{"followSync": true}"#, "off", false),
    (nil, "on", true),
  ])
  func `a device follows invitations to sync only if the file or environment says so`(
    file: String?, environment: String?, isWanted: Bool
  ) throws {
    if let file { try write(file) }
    let environment = environment.map { ["WAYMARK_FOLLOW_SYNC": $0] } ?? [:]
    #expect(try Configuration(home: directory.home, environment: environment).followSync == isWanted)
  }

  @Test(arguments: ["WAYMARK_DISCOVERY", "WAYMARK_FOLLOW_SYNC"])
  func `a word other than on or off is refused`(variable: String) throws {
    #expect(throws: WaymarkError.self) {
      try Configuration(home: directory.home, environment: [variable: "perhaps"])
    }
  }

  @Test(arguments: [
    #"{"discovery": "no"}"#, #"{"listen": 7}"#, #"{"lissen": "127.0.0.1:1"}"#, "[]", #"{"peers": [1]}"#, "{",
  ])
  func `an invalid file is named, and nothing is guessed`(text: String) throws {
    try write(text)
    let failure = #expect(throws: WaymarkError.self) {
      try Configuration(home: directory.home, environment: [:])
    }
    #expect(failure?.message.description.contains("config.json") == true)
  }
}
