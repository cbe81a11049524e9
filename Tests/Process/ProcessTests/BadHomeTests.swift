import Foundation
import JSONDocument
import Platform
import Processes
import Testing
import Wire

/// Directories, keys, stores, ports and sockets in unexpected states.
@Suite(.serialized) struct BadHomeTests {
  private func device(_ name: String = "alice", on stage: Stage) async throws -> Device {
    let device = Device(name, on: stage)
    try await device.text("init", "--name", name)
    return device
  }

  @Test(arguments: [
    ["status"], ["run"], ["invite"], ["trip", "list"], ["sync", "on"], ["settings", "get", "colorScheme"],
  ])
  func `without a store every command says how to create one`(_ words: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let outcome = try await Device("alice", on: stage).run(words)
    #expect(outcome.code == 10)
    expectPlainWords(outcome.errors, ["no Waymark store", "waymark init"], "\(words)")
    #expect(!FileManager.default.fileExists(atPath: stage.path("alice")))
  }

  /// The system ends a process that writes a larger file than it may, which the store is and the keys are not.
  @Test func `a node whose founding was cut short is founded by the next try`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    let cut = try await alice.run(
      ["init", "--name", "alice"], under: ["/bin/sh", "-c", "ulimit -f 16; exec \"$@\"", "sh"])
    #expect(cut.code != 0)
    expectPlainWords(cut.errors, ["disk", "full"], "init without room")
    try await alice.text("init", "--name", "alice")
    #expect(try await alice.json("status")["name"] == "alice")
  }

  /// Ways to damage a key file.
  enum Harm: String, CaseIterable, Sendable {
    case missing
    case emptied
    case flipped
    case worldReadable
    case ofAnother
  }

  @Test(arguments: Harm.allCases)
  func `a damaged key file is named and left alone`(_ harm: Harm) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    let key = stage.path("alice/keys/device.key")
    let good = try Data(contentsOf: URL(filePath: key))
    switch harm {
    case .missing: try FileManager.default.removeItem(atPath: key)
    case .emptied: try replace(key, with: Data())
    case .flipped:
      var bytes = good
      bytes[bytes.count / 2] ^= 1
      try replace(key, with: bytes)
    case .worldReadable: chmod(key, 0o644)
    case .ofAnother:
      _ = try await device("bob", on: stage)
      try replace(key, with: Data(contentsOf: URL(filePath: stage.path("bob/keys/device.key"))))
    }
    let left = try? Data(contentsOf: URL(filePath: key))
    for words in [["status"], ["run", "--listen", "127.0.0.1:0"], ["trip", "add", "name=Rome"]] {
      let outcome = try await alice.run(words)
      #expect(outcome.code == 12, "\(harm) \(words): \(outcome.errors)")
      expectPlainWords(outcome.errors, ["key"], "\(harm) \(words)")
    }
    #expect(try await alice.run(["init"]).code != 0)
    #expect((try? Data(contentsOf: URL(filePath: key))) == left)
    try replace(key, with: good)
    #expect(try await alice.status().count("trips") == 0)
  }

  private func replace(_ path: String, with bytes: Data) throws {
    try? FileManager.default.removeItem(atPath: path)
    try bytes.write(to: URL(filePath: path))
    chmod(path, 0o600)
  }

  @Test func `a directory that others can read is refused, an empty one is made private`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    mkdir(alice.home, 0o755)
    try await alice.text("init")
    #expect(try mode(alice.home) == 0o700)
    chmod(alice.home, 0o755)
    let outcome = try await alice.run(["status"])
    #expect(outcome.code == 1)
    expectPlainWords(outcome.errors, ["open to other users", "chmod 700"], "status")
    chmod(alice.home, 0o700)
    #expect(try await alice.run(["status"]).code == 0)
    for file in ["keys/device.key", "keys/root.key", "store.db"] {
      #expect(try mode(stage.path("alice/\(file)")) == 0o600, "\(file)")
    }
  }

  private func mode(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
  }

  @Test func `a port in use is reported, and the store is released`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = (try await device(on: stage), try await device("bob", on: stage))
    try await alice.start()
    try await expectRefusal(
      bob, ["run", "--listen", alice.address], code: 1, saying: "in use", "waymark run --listen")
    try await expectRefusal(bob, ["run", "--listen", "somewhere"], code: 2, saying: "somewhere")
    try await expectRefusal(bob, ["run", "--listen", "192.0.2.1:0"], code: 1, saying: "not an address")
    try await bob.start()
  }

  @Test func `commands that start at the same moment wait for one another, and a node for them`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    let many = try (1...6).map { try alice.begin(["trip", "add", "name=Trip of \($0)"]) }
    try await alice.start()
    for (child, _, errors) in many {
      let code = try await child.wait(seconds: 30, for: "one of many commands")
      let said = try String(contentsOf: errors, encoding: .utf8)
      #expect(code == 0, "\(said)")
    }
    #expect(try await alice.status().count("trips") == 6)
    #expect(try await alice.stop() == 0)
  }

  @Test(arguments: [["restore", "FILE"], ["join", "TICKET", "--yes"], ["join", "--root-key", "KEY"]])
  func `a command that needs the store for itself says how to stop the node`(_ words: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = (try await device(on: stage), try await device("bob", on: stage))
    try await alice.start()
    try await bob.start()
    try await bob.text("backup", stage.path("bob.waymark"))
    let typed = try await [
      "FILE": stage.path("bob.waymark"), "KEY": alice.home + "/keys/root.key",
      "TICKET": alice.text("invite").trimmingCharacters(in: .whitespacesAndNewlines),
    ]
    let outcome = try await bob.run(words.map { typed[$0] ?? $0 })
    #expect(outcome.code == 11)
    let holder = bob.nodeID ?? 0
    expectPlainWords(
      outcome.errors,
      ["in use by your node (process \(holder))", "stop it with Ctrl-C in its terminal, or kill \(holder)"],
      words[0])
    // What changes nothing needs no store for itself.
    let preview = try await bob.run(["restore", "--preview", stage.path("bob.waymark")])
    #expect(preview.code == 0, "\(preview.errors)")
  }

  @Test func `a store that another process holds is left alone, and that process is named`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    try await alice.start()
    let second = try await alice.run(["run", "--listen", "127.0.0.1:0"])
    #expect(second.code == 11)
    let holder = "\(alice.nodeID ?? 0)"
    expectPlainWords(second.errors, ["in use by your node (process \(holder))"], "run")
    // Without its socket the node cannot be asked, but it still holds its store.
    let socket = stage.path("alice/control.sock")
    try FileManager.default.moveItem(atPath: socket, toPath: socket + ".away")
    let outcome = try await alice.run(["trip", "add", "name=Rome"])
    #expect(outcome.code == 11)
    expectPlainWords(outcome.errors, ["in use by your node (process \(holder))"], "trip add")
    try FileManager.default.moveItem(atPath: socket + ".away", toPath: socket)
    #expect(try await alice.status().count("trips") == 0)
    #expect(try await alice.run(["init"]).code == 1)
    #expect(try await alice.stop() == 0)
  }

  @Test func `malformed requests leave the node alive`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    try await alice.start()
    let socket = stage.path("alice/control.sock")
    let garbage: [[UInt8]] = [
      Array("hello\n".utf8), Array("[1,2]\n".utf8), Array("{\"command\":7}\n".utf8), [0xff, 0xfe, 0x0a],
      Array("{\"command\":\"no.such\",\"arguments\":{}}\n".utf8), Array("\n".utf8),
      Array("{\"command\":\"trip.show\",\"arguments\":[]}\n".utf8),
      Array(String(repeating: "[", count: 100_000).utf8) + [0x0a],
    ]
    for line in garbage {
      let answer = try await RawSocket.ask(socket, line)
      let document = try JSON.parse(Array(answer.prefix { $0 != 0x0a }))
      #expect(document["type"] == "error", "\(String(decoding: answer, as: UTF8.self))")
    }
    let endless = [UInt8](repeating: UInt8(ascii: "x"), count: 3 * 1024 * 1024)
    let refused = try await RawSocket.ask(socket, endless)
    #expect(String(decoding: refused, as: UTF8.self).contains("at most 1048576 bytes"))
    let half = try await RawSocket.ask(socket, Array("{\"command\":".utf8), closesAtOnce: true)
    #expect(half.isEmpty)
    #expect(try await alice.status().document["running"] == true)
    #expect(try await alice.stop() == 0)
  }
}

/// A client of the control socket that does not keep to the protocol.
private enum RawSocket {
  /// Sends bytes and returns the response up to the first line break, or what has come within some seconds.
  static func ask(_ path: String, _ bytes: [UInt8], closesAtOnce: Bool = false) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try exchange(path, bytes, closesAtOnce) })
      }
    }
  }

  private static func exchange(_ path: String, _ bytes: [UInt8], _ closesAtOnce: Bool) throws -> [UInt8] {
    let descriptor = openSocket(AF_UNIX, .stream)
    defer { close(descriptor) }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else { throw Failure("nothing listens at \(path)") }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, quietSend)
      }
      if count <= 0 { break }
      sent += count
    }
    return closesAtOnce ? [] : receive(descriptor)
  }

  private static func receive(_ descriptor: Int32) -> [UInt8] {
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while !answer.contains(0x0a) {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      answer += chunk[..<count]
    }
    return answer
  }
}
