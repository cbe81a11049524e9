import Foundation
import JSONDocument
import Processes
import Sodium
import Testing
import WaymarkCare
import Wire

@testable import Home
@testable import Waymark

/// Data that must stay private: the keys of a device, and the memory and socket of its node.
@Suite(.serialized) struct SecretTests {
  /// The secrets of a home: each key of 32 bytes.
  private func secrets(_ device: Device) throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    for (file, purpose) in [("device", KeyPurpose.device), ("root", .root)] {
      let path = device.stage.path("\(device.name)/keys/\(file).key")
      guard FileManager.default.fileExists(atPath: path) else { continue }
      let bytes = try KeyFile.secrets(purpose, at: path, .none).withBytes { Array($0) }
      for start in stride(from: 0, to: bytes.count, by: 32) { all.append(Array(bytes[start..<start + 32])) }
    }
    return all
  }

  /// Encodings in which a program could print bytes by mistake, long enough to rule out a coincidence.
  private func spellings(_ secret: [UInt8]) -> [(name: String, bytes: [UInt8])] {
    var found: [(String, [UInt8])] = [
      ("raw", Array(secret[..<16])), ("raw, from the middle", Array(secret[16...])),
    ]
    let hex = hexadecimal(secret)
    found.append(("hexadecimal", Array(hex.prefix(24).utf8)))
    found.append(("upper-case hexadecimal", Array(hex.uppercased().prefix(24).utf8)))
    found.append(("a Swift array", Array(secret.prefix(8).map { "\($0)" }.joined(separator: ", ").utf8)))
    // The digits of Base 64 and 32 depend on the offset of the bytes in a longer run.
    for shift in 0..<3 {
      let text = Data([UInt8](repeating: 0, count: shift) + secret).base64EncodedString()
      let middle = String(text.dropFirst(4).prefix(20))
      found.append(("base 64", Array(middle.utf8)))
      let safe = middle.replacing("+", with: "-").replacing("/", with: "_")
      found.append(("base 64 for addresses", Array(safe.utf8)))
    }
    for shift in 0..<5 {
      let text = base32([UInt8](repeating: 0, count: shift) + secret).dropFirst(8).prefix(24)
      found.append(("base 32", Array(text.utf8)))
      found.append(("upper-case base 32", Array(text.uppercased().utf8)))
    }
    return found
  }

  private func base32(_ bytes: [UInt8]) -> String {
    let digits = Array("abcdefghijklmnopqrstuvwxyz234567")
    var (text, buffer, bits) = ("", 0, 0)
    for byte in bytes {
      (buffer, bits) = (buffer << 8 | Int(byte), bits + 8)
      while bits >= 5 {
        bits -= 5
        text.append(digits[buffer >> bits & 31])
      }
      buffer &= 0xff
    }
    return text
  }

  /// Every file of a stage except the key files themselves.
  private func files(_ stage: Stage) throws -> [String] {
    let all = FileManager.default.enumerator(atPath: stage.folder.path)?.compactMap { $0 as? String } ?? []
    return all.filter { !$0.hasSuffix(".key") }
  }

  @Test func `no secret ever appears in an output, a log, a store or a backup`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = (Device("alice", on: stage), Device("bob", on: stage))
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    let ticket = try await alice.text("invite")
    try await bob.text("join", "-", "--name", "bob", "--yes", input: ticket, seconds: 60)
    try await bob.start()
    try await alice.text("issuer", "init", stage.path("alice/issuer.key"))
    try await alice.text("issuer", "trust", stage.path("alice/issuer.key.pub"))
    let circle = try await alice.status().circle
    let issue = ["--circle", circle, "--until", "2099-01-01", "--output", stage.path("entitlement")]
    #expect(
      try await alice.run(["issuer", "issue", "--key", stage.path("alice/issuer.key")] + issue).code == 0)
    try await alice.text("entitlement", "install", stage.path("entitlement"))
    try await alice.text("settings", "set", "colorScheme", "dark")
    try await bob.waitForSync(with: alice, lane: "settings")
    for device in [alice, bob] {
      for words in [
        ["status"], ["paths"], ["members"], ["peers"], ["history"], ["entitlement", "show"], ["verify"],
      ] {
        _ = try await device.run(words + ["--json"])
        _ = try await device.run(words)
      }
      try await device.text("backup", stage.path("\(device.name).waymark"))
    }
    // Errors reveal no more than successful commands.
    _ = try await alice.run(["issuer", "trust", stage.path("alice/keys/root.key")])
    _ = try await alice.run(["entitlement", "install", stage.path("alice/keys/device.key")])
    _ = try await alice.run(["import", stage.path("alice/keys/device.key")])
    _ = try await alice.run(
      ["join", "-"], input: try String(contentsOfFile: stage.path("alice/keys/device.key"), encoding: .utf8))
    _ = try await alice.run(["keys", "passphrase", "set", "--file", stage.path("none")])
    for device in [alice, bob] { try await device.stop(device.name == "bob" ? SIGABRT : SIGTERM) }
    var needles = try (secrets(alice) + secrets(bob)).flatMap(spellings)
    let issuer = try KeyFile.secrets(.issuer, at: stage.path("alice/issuer.key"), .none).withBytes {
      Array($0)
    }
    needles += spellings(issuer)
    #expect(needles.count > 100)
    let pasted = String(ticket.dropFirst(20).prefix(40))
    let found = try files(stage)
    #expect(found.contains("alice-log") && found.contains("alice/store.db") && found.count > 40)
    for file in found where FileManager.default.isFile(stage.path(file)) {
      // The command that was given a key as its ticket has the key in its input.
      guard !file.hasPrefix("input-") else { continue }
      let content = try Data(contentsOf: URL(filePath: stage.path(file)))
      // The inviting command prints the ticket; nothing else does.
      if content != Data((ticket + "\n").utf8), content.range(of: Data(pasted.utf8)) != nil {
        Issue.record("\(file) contains the ticket")
      }
      for needle in needles where content.range(of: Data(needle.bytes)) != nil {
        Issue.record("\(file) contains a secret: \(needle.name)")
      }
    }
  }

  @Test func `the search finds a key where there is one, so it can be trusted`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let file = try Data(contentsOf: URL(filePath: stage.path("alice/keys/root.key")))
    let root = try #require(try secrets(alice).last)
    let spellings = spellings(root)
    #expect(file.range(of: Data(spellings.first { $0.name == "hexadecimal" }?.bytes ?? [])) != nil)
    for shift in 0..<5 {
      let bytes = [UInt8](repeating: 9, count: shift) + root + [1, 2, 3]
      let texts = [Data(bytes).base64EncodedString(), base32(bytes)]
      for (text, name) in zip(texts, ["base 64", "base 32"]) {
        let isFound = spellings.contains {
          $0.name == name && Data(text.utf8).range(of: Data($0.bytes)) != nil
        }
        #expect(isFound, "\(name) at \(shift)")
      }
    }
  }

  // MARK: The process

  /// Runs as another user; needs root.
  private static let otherUser = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  /// Whether other users can be tried; prints the reason if not.
  private var canDropRights: Bool {
    let isThere = FileManager.default.isExecutableFile(atPath: Self.otherUser[0])
    if geteuid() != 0 || !isThere { print("skipped: only root with setpriv can become another user") }
    return geteuid() == 0 && isThere
  }

  @Test func `a node writes no core dump and lets no other process read its memory`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    let process = "/proc/\(alice.nodeID ?? 0)"
    let limits = try String(contentsOfFile: process + "/limits", encoding: .utf8)
    let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
    #expect(core.split(whereSeparator: \.isWhitespace).dropFirst(4).prefix(2) == ["0", "0"], "\(core)")
    let status = try String(contentsOfFile: process + "/status", encoding: .utf8)
    #expect(status.contains("Umask:\t0077"))
    #expect(try await alice.stop() == 0)
  }

  @Test func `a crash prints nothing that was in memory`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    // With backtraces off, as by default.
    try await alice.start(environment: ["SWIFT_BACKTRACE": ""])
    let before = alice.log
    #expect(try await alice.stop(SIGSEGV) == -SIGSEGV)
    #expect(alice.log == before)
  }

  @Test func `the process is closed to other processes of its own user too`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    guard canDropRights else { return }
    let bob = Device("bob", on: stage)
    chmod(stage.folder.path, 0o777)
    let made = try await bob.run(["init", "--name", "bob"], under: Self.otherUser)
    guard made.code == 0 else { return print("skipped: another user can't run the program: \(made.errors)") }
    let child = try stage.start(
      .plain, ["--home", bob.home, "run", "--listen", "127.0.0.1:0"],
      output: stage.folder.appending(path: "out"),
      errors: stage.folder.appending(path: "err"), under: Self.otherUser)
    try await eventually("the node of another user serves") {
      FileManager.default.fileExists(atPath: stage.path("bob/control.sock"))
    }
    // A process that can be inspected belongs to its user; this one belongs to root.
    let owner =
      try FileManager.default.attributesOfItem(atPath: "/proc/\(child.id)/mem")[.ownerAccountID] as? Int
    #expect(owner == 0)
    child.signal(SIGTERM)
    #expect(try await child.wait(seconds: 20, for: "the node of another user") == 0)
  }

  // MARK: The socket

  @Test func `another user gets no answer from the control socket`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    guard canDropRights else { return }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    // Even if the modes of directory and socket did not keep others out.
    for path in [stage.folder.path, alice.home, stage.path("alice/control.sock")] { chmod(path, 0o777) }
    let ask = """
      import socket, sys
      client = socket.socket(socket.AF_UNIX)
      client.settimeout(20)
      client.connect(sys.argv[1])
      try:
          client.sendall(b'{"command":"status","arguments":{}}\\n')
          print(len(client.recv(100)))
      except (BrokenPipeError, ConnectionResetError):
          print(0)
      """
    let python = "/usr/bin/python3"
    guard FileManager.default.isExecutableFile(atPath: python) else { return print("skipped: no Python") }
    for (wrapper, expected) in [(Self.otherUser, "0"), ([], "100")] {
      let output = stage.folder.appending(path: "answer-\(expected)")
      let child = try Child(
        URL(filePath: (wrapper + [python])[0]),
        Array((wrapper + [python, "-c", ask, stage.path("alice/control.sock")]).dropFirst()),
        environment: [:], input: nil, output: output, errors: stage.folder.appending(path: "python-err"))
      #expect(try await child.wait(seconds: 30, for: "a client of the control socket") == 0)
      #expect(try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines) == expected)
    }
    chmod(alice.home, 0o700)
    #expect(try await alice.stop() == 0)
  }

  @Test func `the socket of a node whose path is too long is found in the runtime directory`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device(String(repeating: "a-long-name-", count: 10), on: stage)
    let runtime = stage.path("runtime")
    mkdir(runtime, 0o700)
    let environment = ["XDG_RUNTIME_DIR": runtime]
    try await alice.text("init", "--name", "alice")
    try await alice.start(environment: environment)
    let names = try FileManager.default.contentsOfDirectory(atPath: runtime)
    #expect(names.count == 1 && names[0].hasPrefix("waymark-"), "\(names)")
    let asked = try await alice.run(["status", "--json"], environment: environment)
    #expect(asked.json["running"] == true)
    chmod(runtime, 0o755)
    // Another user could have put that socket there, so the command does not talk to it.
    #expect(try await alice.run(["status"], environment: environment).code == 11)
    chmod(runtime, 0o700)
    #expect(try await alice.stop() == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: runtime).isEmpty)
  }
}

extension FileManager {
  fileprivate func isFile(_ path: String) -> Bool {
    (try? attributesOfItem(atPath: path))?[.type] as? FileAttributeType == .typeRegular
  }
}
