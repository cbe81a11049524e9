import Foundation
import JSONDocument
import Processes
import Testing

/// Files between two real nodes: their states, `wait`, `files`, the keep policy, and fetching.
@Suite(.serialized) struct FileTests {
  private static func content(_ number: UInt8) -> Data {
    Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 977) &+ number })
  }

  /// Adds the lodging to which files are attached.
  private static func addCasa(on device: Device) async throws {
    try await device.text("trip", "add", "name=Rome")
    try await device.text("lodging", "add", "trip=Rome", "name=Casa")
  }

  /// Two devices with premium whose nodes run. Alice has the lodging.
  private static func aliceAndBob(on stage: Stage) async throws -> (alice: Device, bob: Device) {
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await addCasa(on: alice)
    return (alice, bob)
  }

  /// Writes content to a file and attaches it on a device.
  private static func attach(_ number: UInt8, named name: String, on device: Device) async throws -> String {
    let path = device.stage.path(name)
    try content(number).write(to: URL(filePath: path))
    return try await device.text("attachment", "add", "lodging=Casa", "file=\(path)")
  }

  /// The state of an attachment's file in the list of a device.
  private static func state(of id: String, on device: Device) async throws -> JSON? {
    let rows = try await device.json("attachment", "list")["attachments"]?.array ?? []
    return rows.first { $0["id"]?.string == id }?["fileData"]
  }

  @Test func `files are shown, waited for, kept on demand and fetched`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await Self.aliceAndBob(on: stage)

    // A device that keeps all files has the file once `wait` returns.
    let first = try await Self.attach(1, named: "first.pdf", on: alice)
    try await eventually("bob has the record", seconds: 20) {
      try await Self.state(of: first, on: bob) != nil
    }
    try await bob.waitForSync(with: alice)
    #expect(try await Self.state(of: first, on: bob)?["state"] == "here")
    let overview = try await bob.json("files")
    #expect(overview["schema"] == "waymark.files.list/1")
    #expect((overview["here"], overview["bytes"], overview["keep"]) == (1, 5_000_000, "all"))
    #expect(overview["items"]?[0]?["records"]?[0]?["name"] == "first.pdf")
    try await eventually("alice knows that bob holds the file", seconds: 20) {
      try await alice.json("status")["files"]?["lastCopies"] == 0
    }

    // A device that keeps files on demand gets the record, and the file when it is asked for.
    #expect(try await bob.text("files", "keep", "on-demand") == "on demand")
    let second = try await Self.attach(2, named: "second.pdf", on: alice)
    try await eventually("bob knows that alice has the file", seconds: 20) {
      let state = try await Self.state(of: second, on: bob)
      return state?["state"] == "elsewhere" && state?["on"]?[0]?["name"] == "alice"
    }
    try await bob.waitForSync(with: alice)
    #expect(try await Self.state(of: second, on: bob)?["state"] == "elsewhere")
    #expect(try await bob.text("attachment", "show", second).contains("5.0 MB · on alice"))
    let output = stage.path("copy.pdf")
    try await bob.text("attachment", "show", second, "--output", output)
    #expect(try Data(contentsOf: URL(filePath: output)) == Self.content(2))
    #expect(try await Self.state(of: second, on: bob)?["state"] == "here")
    #expect(try await bob.json("files", "fetch", "second.pdf")["fetched"] == false)

    // What no connected device has can't be fetched.
    let third = try await Self.attach(3, named: "third.pdf", on: alice)
    try await eventually("bob knows that alice has the file", seconds: 20) {
      try await Self.state(of: third, on: bob)?["state"] == "elsewhere"
    }
    _ = try await alice.stop()
    let refused = try await bob.run(["files", "fetch", "third.pdf"], seconds: 60)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("last seen on alice"))
    #expect(refused.errors.contains("waymark run, on alice"))
  }

  // MARK: Damage

  /// Alters one byte of the only stored file of a device that has this size.
  private static func damage(_ size: Int, at offset: UInt64, on device: Device) throws {
    let folder = device.home + "/files"
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    let paths = names.map { "\(folder)/\($0)" }.filter {
      (try? FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int) == size
    }
    guard paths.count == 1 else { throw Failure("\(device.name) has \(paths.count) files of \(size) bytes") }
    let file = try FileHandle(forUpdating: URL(filePath: paths[0]))
    try file.seek(toOffset: offset)
    let byte = try file.read(upToCount: 1) ?? Data()
    try file.seek(toOffset: offset)
    try file.write(contentsOf: Data(byte.map { $0 ^ 1 }))
    try file.close()
  }

  @Test func `a file with an altered byte is noticed when it is read or verified, and fetched again`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await Self.aliceAndBob(on: stage)
    let large = try await Self.attach(1, named: "large.pdf", on: alice)
    let path = stage.path("small.pdf")
    try Data(repeating: 7, count: 100_000).write(to: URL(filePath: path))
    try await alice.text("attachment", "add", "lodging=Casa", "file=\(path)")
    try await bob.waitForSync(with: alice)

    // A command that reads the file gets the right bytes.
    try Self.damage(5_000_000, at: 2_500_000, on: bob)
    let output = stage.path("copy.pdf")
    try await bob.text("attachment", "show", large, "--output", output)
    #expect(try Data(contentsOf: URL(filePath: output)) == Self.content(1))
    #expect(bob.log.contains("is damaged on disk"))
    #expect(try await bob.json("verify", "--deep")["ok"] == true)

    // A verification names the file, and a peer sends it again.
    try Self.damage(5_000_000, at: 0, on: alice)
    let verified = try await alice.run(["verify", "--deep", "--json"])
    #expect(verified.code == 1 && verified.json["damagedFiles"] == 1, "\(verified)")
    #expect(verified.json["findings"]?[0]?["place"] == "content")
    try await eventually("alice has fetched the file again") {
      try await Self.state(of: large, on: alice)?["state"] == "here"
    }
    #expect(try await alice.json("verify", "--deep")["files"] == 2)

    // Without a peer the person learns what is wrong, and what helps.
    try await alice.stop()
    try Self.damage(100_000, at: 70_000, on: bob)
    let refused = try await bob.run(
      ["attachment", "show", "small.pdf", "--output", output, "--yes"], seconds: 60)
    #expect(refused.code == 1)
    expectPlainWords(
      refused.errors, ["“small.pdf” on this device is damaged", "last seen on alice"], "show")
    #expect(try Data(contentsOf: URL(filePath: output)) == Self.content(1))
    try await alice.start()
    try await bob.text("sync", "now")
    try await eventually("bob has both files") { try await bob.json("files")["here"] == 2 }
    try await bob.text("attachment", "show", "small.pdf", "--output", output, "--yes")
    #expect(try Data(contentsOf: URL(filePath: output)) == Data(repeating: 7, count: 100_000))
  }

  // MARK: Kills and a full disk

  /// The names of the stored files of a device, without their folders.
  private static func stored(on device: Device) -> [String] {
    (FileManager.default.enumerator(atPath: device.home + "/files")?.compactMap { $0 as? String } ?? [])
      .map { URL(filePath: $0).lastPathComponent }.filter { $0.utf8.count > 2 }
  }

  private static func writeLarge(_ count: Int, named name: String, on stage: Stage) throws -> String {
    let path = stage.path(name)
    try Data().write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    for number in 0..<count { try file.write(contentsOf: content(UInt8(truncatingIfNeeded: number))) }
    try file.close()
    return path
  }

  @Test func `a node that is killed while it receives a file completes it after a restart`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await Self.aliceAndBob(on: stage)
    try await bob.waitForSync(with: alice)
    let path = try Self.writeLarge(12, named: "large.mov", on: stage)
    try await alice.text("attachment", "add", "lodging=Casa", "file=\(path)")
    try await eventually("a part of the file is on bob's disk") {
      Self.stored(on: bob).contains { $0.hasSuffix(".part") }
    }
    #expect(try await bob.stop(SIGKILL) == -SIGKILL)
    let left = Self.stored(on: bob)
    #expect(left.contains { $0.hasSuffix(".part") }, "the whole file arrived before the kill: \(left)")
    try await bob.start()
    try await bob.text("sync", "now")
    try await eventually("bob has the file") { try await bob.json("files")["here"] == 1 }
    #expect(!Self.stored(on: bob).contains { $0.hasSuffix(".part") })
    let output = stage.path("copy.mov")
    try await bob.text("attachment", "show", "large.mov", "--output", output)
    #expect(FileManager.default.contentsEqual(atPath: path, andPath: output))
  }

  @Test func `a node that is killed while it adds a file has neither the record nor any bytes`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    try await Self.addCasa(on: alice)
    let path = try Self.writeLarge(12, named: "large.mov", on: stage)
    let add = ["attachment", "add", "lodging=Casa", "file=\(path)"]
    let (adding, _, _) = try alice.begin(add)
    try await eventually("a part of the file is copied") {
      Self.stored(on: alice).contains { $0.hasPrefix("import-") }
    }
    #expect(try await alice.stop(SIGKILL) == -SIGKILL)
    #expect(try await adding.wait(seconds: 20, for: "the command whose node was killed") != 0)
    // The same without a node.
    let (alone, _, _) = try alice.begin(add)
    try await eventually("a part of the file is copied again") {
      Self.stored(on: alice).count { $0.hasPrefix("import-") } == 2
    }
    alone.signal(SIGKILL)
    _ = try await alone.wait(seconds: 10, for: "the killed command")
    try await alice.start()
    #expect(Self.stored(on: alice) == [])
    #expect(try await alice.json("attachment", "list")["attachments"] == [])
    try await alice.text("attachment", "add", "lodging=Casa", "file=\(path)")
    #expect(try await alice.json("files")["bytes"] == 60_000_000)
  }

  @Test func `a disk that is full in the middle of a file stops only that file, until there is room`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    // Only bob's files are on a small disk, in a namespace of mounts that ends with his node.
    try FileManager.default.createDirectory(
      atPath: bob.home + "/files", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    let mount = "mount -t tmpfs -o size=8m,mode=0700 tmpfs \(bob.home)/files && exec \"$@\""
    let (node, ready, _) = try bob.begin(
      ["run", "--no-discovery", "--listen", "127.0.0.1:0"],
      under: ["/usr/bin/unshare", "-m", "--", "/bin/sh", "-c", mount, "sh"])
    defer { node.signal(SIGKILL) }
    try await eventually("bob's node is ready") {
      try node.code != nil || String(contentsOf: ready, encoding: .utf8).hasPrefix("ready")
    }
    guard node.code == nil else { return print("skipped: no right to mount a small disk here") }
    try await Self.addCasa(on: alice)
    let path = try Self.writeLarge(3, named: "large.mov", on: stage)
    try await alice.text("attachment", "add", "lodging=Casa", "file=\(path)")
    try await bob.text("sync", "now")
    try await eventually("bob has received as much as fits", seconds: 30) {
      let item = try await bob.json("files")["items"]?[0]
      return item?["state"] == "partly" && (item?["received"]?.integer ?? 0) > 4_000_000
    }
    let refused = try await bob.run(["files", "fetch", "large.mov"])
    #expect(refused.code == 1 && refused.errors.contains("not enough room on the disk"), "\(refused)")
    // Records and small files are exchanged meanwhile.
    try await alice.text("trip", "add", "name=Oslo")
    try await bob.wait(until: "bob has the second trip") { $0.count("trips") == 2 }
    let said = URL(filePath: stage.path("growing"))
    let growing = try Child(
      URL(filePath: "/usr/bin/nsenter"),
      ["-t", "\(node.id)", "-m", "--", "mount", "-o", "remount,size=64m", bob.home + "/files"],
      environment: ["PATH": "/usr/bin:/bin"], input: nil, output: said, errors: said)
    let grown = try await growing.wait(seconds: 10, for: "a larger disk")
    #expect(grown == 0, "\((try? String(contentsOf: said, encoding: .utf8)) ?? "")")
    #expect(try await bob.json("files", "fetch", "large.mov")["fetched"] == true)
    let output = stage.path("copy.mov")
    try await bob.text("attachment", "show", "large.mov", "--output", output)
    #expect(FileManager.default.contentsEqual(atPath: path, andPath: output))
  }
}
