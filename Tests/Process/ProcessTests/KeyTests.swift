import Foundation
import JSONDocument
import Processes
import Sodium
import Testing
import WaymarkCare
import Wire

@testable import Home
@testable import Waymark

/// Sealed keys in real processes: when a passphrase is requested, and what a kill leaves.
@Suite(.serialized) struct KeyTests {
  private let words = "four words for Alice"

  /// A founder with sealed keys, at a low cost, so that opening them takes no time.
  private func sealed(_ stage: Stage, _ name: String = "alice") async throws -> Device {
    let device = Device(name, on: stage)
    try await device.text("init", "--name", name)
    _ = try change(device, file: nil).set { try passphrase(words) }
    return device
  }

  private func change(_ device: Device, file: String?) throws -> KeyPassphrases {
    try KeyPassphrases(
      Home(path: device.home), file: file, cost: PassphraseCost(passes: 1, memoryBytes: 8 * 1024))
  }

  private func passphrase(_ text: String) throws -> Passphrase {
    var bytes = Array(text.utf8)
    return try Passphrase(&bytes)
  }

  private func file(_ stage: Stage, _ text: String, _ name: String = "words") throws -> [String: String] {
    let path = try stage.write(Array((text + "\n").utf8), name)
    chmod(path, 0o600)
    return ["WAYMARK_PASSPHRASE_FILE": path]
  }

  @Test func `every command that needs a sealed key says how to open it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await sealed(stage)
    let (right, wrong) = (try file(stage, words), try file(stage, "words of Bob", "wrong"))
    for command in [["status"], ["run", "--listen", "127.0.0.1:0"], ["invite"], ["trip", "list"]] {
      let asked = try await alice.run(command)
      #expect(asked.code == 12, "\(command): \(asked.errors)")
      expectPlainWords(
        asked.errors, ["sealed", "no terminal to ask", "WAYMARK_PASSPHRASE_FILE"], "\(command)")
      let refused = try await alice.run(command, environment: wrong)
      #expect(refused.code == 12, "\(command): \(refused.errors)")
      expectPlainWords(refused.errors, ["Wrong passphrase"], "\(command)")
    }
    #expect(try await alice.run(["status"], environment: right).code == 0)
    // Commands that need no key ask for no passphrase.
    #expect(try await alice.text("paths", "--json").contains("\"sealed\""))
    #expect(try await alice.run(["version"]).code == 0)
  }

  @Test func `a node in a service reads its passphrase from a file`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await sealed(stage)
    try await alice.start(environment: try file(stage, words))
    #expect(try await alice.status().document["running"] == true)
    #expect(
      try await alice.status().document["keys"] == ["device": "sealed", "root": "sealed", "issuer": .null])
    #expect(try await alice.text("trip", "add", "name=Rome").isEmpty == false)
    #expect(try await alice.stop() == 0)
  }

  @Test func `the command sets, changes and removes a passphrase, and the device keeps its identity`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let device = try await alice.status().device
    let none = try await alice.run(["keys", "passphrase", "set"])
    #expect(none.code == 7)
    expectPlainWords(none.errors, ["no terminal to ask", "--file"], "set")
    let set = try await alice.run(
      ["keys", "passphrase", "set", "--file", "-", "--json"], input: words + "\n", seconds: 120)
    #expect(set.code == 0, "\(set.errors)")
    #expect(set.json["keys"]?.array?.map { $0["kind"] } == ["device", "root"])
    #expect(try await alice.run(["status"]).code == 12)
    let status = try await alice.run(["status", "--json"], seconds: 60, environment: try file(stage, words))
    #expect(status.json["device"] == .string(device))
    let remove = try await alice.run(
      ["keys", "passphrase", "remove", "--file", "-"], input: words, seconds: 120)
    #expect(remove.code == 0, "\(remove.errors)")
    #expect(try await alice.status().device == device)
  }

  @Test func `an issuer is trusted with a sealed root key while the node runs`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    _ = try change(alice, file: stage.path("alice/keys/root.key")).set { try passphrase(words) }
    try await alice.text("issuer", "init", stage.path("issuer"))
    let trust = ["issuer", "trust", stage.path("issuer.pub")]
    for isRunning in [true, false] {
      if isRunning { try await alice.start() }
      let asked = try await alice.run(trust)
      #expect(asked.code == 12, "\(asked.errors)")
      expectPlainWords(asked.errors, ["sealed", "WAYMARK_PASSPHRASE_FILE"], "trust, running: \(isRunning)")
      let refused = try await alice.run(trust, environment: try file(stage, "words of Bob", "wrong"))
      #expect(refused.code == 12, "\(refused.errors)")
      let done = try await alice.run(trust + ["--json"], environment: try file(stage, words))
      #expect(done.json["added"] == .bool(isRunning), "\(done.errors)")
      if isRunning {
        let invite = ["invite", "--root-key", stage.path("alice/keys/root.key")]
        #expect(try await alice.run(invite).code == 12)
        let invited = try await alice.run(invite, environment: try file(stage, words))
        #expect(invited.code == 0 && !invited.output.isEmpty, "\(invited.errors)")
        try await alice.stop()
      }
    }
    _ = try change(alice, file: stage.path("issuer")).set { try passphrase(words) }
    let order =
      ["issuer", "issue", "--key", stage.path("issuer"), "--circle", try await alice.status().circle]
      + ["--until", "2099-01-01"]
    #expect(try await alice.run(order).code == 12)
    #expect(try await alice.run(order, environment: try file(stage, words)).code == 0)
  }

  @Test func `a restore keeps a sealed device, and a sealed root key admits a new one`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await sealed(stage)
    let right = try file(stage, words)
    let backup = stage.path("alice.waymark")
    #expect(try await alice.run(["backup", backup], environment: right).code == 0)
    let same = try await alice.run(["restore", "--yes", "--json", backup], environment: right)
    #expect(same.code == 0, "\(same.errors)")
    #expect(try KeyFile.kind(at: stage.path("alice/keys/device.key"))?.isSealed == true)
    #expect(try await alice.run(["restore", "--yes", backup]).code == 12)
    let bob = Device("bob", on: stage)
    let root = ["restore", "--root-key", stage.path("alice/keys/root.key"), "--name", "bob", backup]
    #expect(try await bob.run(root).code == 12)
    let taken = try await bob.run(root, environment: right)
    #expect(taken.code == 0, "\(taken.errors)")
    #expect(
      try await bob.status().circle
        == (try await alice.run(["status", "--json"], environment: right)).json["circle"]?.string)
  }

  // MARK: Kills

  /// The system allows 40 bytes in a new file; beyond that it kills the process, or the write fails if the signal is
  /// ignored.
  @Test(
    .disabled(
      if: ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil,
      "the thread sanitizer writes a file of its own, so a program built with it can't start under such a limit"
    ),
    arguments: ["--default-signal=XFSZ", "--ignore-signal=XFSZ"])
  func `a write that is cut off leaves the old key intact`(_ signal: String) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let wrapper = ["/usr/bin/env", signal, "/usr/bin/prlimit", "--fsize=40"]
    guard FileManager.default.isExecutableFile(atPath: wrapper[2]) else {
      return print("skipped: no prlimit, which is needed to end a process in the middle of a write")
    }
    let alice = try await sealed(stage)
    let right = try file(stage, words)
    let key = stage.path("alice/keys/device.key")
    let before = try Data(contentsOf: URL(filePath: key))
    let ended = try await alice.run(
      ["keys", "passphrase", "remove", "--key", key], environment: right, under: wrapper)
    #expect(ended.code == 1, "\(ended.code) \(ended.errors)")
    #expect(try Data(contentsOf: URL(filePath: key)) == before)
    let left = try FileManager.default.contentsOfDirectory(atPath: stage.path("alice/keys"))
    #expect(left.count == 2, "\(left)")
    #expect(try await alice.run(["status"], environment: right).code == 0)
  }

  @Test func `a kill at any moment leaves either the old key or the new one`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await sealed(stage)
    let key = stage.path("alice/keys/device.key")
    let sealed = try Data(contentsOf: URL(filePath: key))
    let right = try file(stage, words)
    for round in 0..<30 {
      let child = try stage.start(
        .plain, ["--home", alice.home, "keys", "passphrase", "remove", "--key", key],
        output: stage.folder.appending(path: "out"), errors: stage.folder.appending(path: "err"),
        environment: right)
      try await Task.sleep(for: .milliseconds(round * 3))
      child.signal(SIGKILL)
      _ = try await child.wait(seconds: 20, for: "a command that was killed")
      let isSealed = try KeyFile.kind(at: key)?.isSealed
      #expect(isSealed != nil)
      if isSealed == true {
        #expect(try Data(contentsOf: URL(filePath: key)) == sealed)
      } else {
        let count = try KeyFile.secrets(.device, at: key, .none).count
        #expect(count == 64)
        try FileManager.default.removeItem(atPath: key)
        try sealed.write(to: URL(filePath: key))
        chmod(key, 0o600)
      }
    }
    #expect(try await alice.run(["status"], environment: right).code == 0)
  }
}
