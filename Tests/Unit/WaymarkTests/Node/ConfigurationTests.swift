import Foundation
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

  @Test func `without a file and an environment nothing is settled`() throws {
    let configuration = try Configuration(home: directory.home, environment: [:])
    #expect(configuration.name == nil && configuration.listen == nil && configuration.peers.isEmpty)
  }

  @Test func `the environment comes before the file, each for itself`() throws {
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
  func `peers are looked for unless file or environment say no`(
    file: String?, environment: String?, isWanted: Bool
  ) throws {
    if let file { try write(file) }
    let environment = environment.map { ["WAYMARK_DISCOVERY": $0] } ?? [:]
    #expect(try Configuration(home: directory.home, environment: environment).discovery == isWanted)
  }

  @Test func `a word that is neither on nor off is refused`() throws {
    #expect(throws: WaymarkError.self) {
      try Configuration(home: directory.home, environment: ["WAYMARK_DISCOVERY": "perhaps"])
    }
  }

  @Test(arguments: [
    #"{"discovery": "no"}"#, #"{"listen": 7}"#, #"{"lissen": "127.0.0.1:1"}"#, "[]", #"{"peers": [1]}"#, "{",
  ])
  func `a wrong file is named, and nothing is guessed`(text: String) throws {
    try write(text)
    let failure = #expect(throws: WaymarkError.self) {
      try Configuration(home: directory.home, environment: [:])
    }
    #expect(failure?.message.contains("config.json") == true)
  }
}
