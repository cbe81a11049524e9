import Foundation
import JSONDocument
import Testing
import Wire

/// Backups and restores with real processes, while peers keep writing.
@Suite(.serialized) struct BackupTests {
  private func expectEqual(_ devices: Device..., and what: String = "") async throws {
    let all = try await devices.async { try await $0.status() }
    for status in all.dropFirst() {
      #expect(status.digest("records") == all[0].digest("records"), "\(what)")
      #expect(status.digest("settings") == all[0].digest("settings"), "\(what)")
      #expect(status.counts == all[0].counts, "\(what)")
    }
    #expect(!all.contains { ($0.document["notices"]?.array ?? []).contains { $0["reason"] == "fork" } })
  }

  @Test func `a backup of a running node is restored on the same device, and peers send what followed`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("settings", "set", "colorScheme", "dark")
    let file = stage.path("alice.waymark")
    let made = try await alice.json("backup", file)
    #expect(made["type"] == "summary")
    #expect(made["records"] == 2)
    #expect(try mode(file) == 0o600)
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await alice.text("trip", "add", "name=Oslo")
    try await bob.waitForSync(with: alice)
    try await alice.stop()
    try await alice.text("trip", "add", "name=Unseen")
    let before = try await alice.status()

    try await expectRefusal(alice, ["restore", file], code: 7, saying: "3 change sets", "--yes")
    #expect(try await alice.status().everything == before.everything)
    let restored = try await alice.json("restore", "--yes", file)
    #expect(restored["newKeys"] == false)
    #expect(restored["discardedSets"] == 3)
    let after = try await alice.status()
    #expect(after.device == before.device)
    #expect(after.document["incarnation"] != before.document["incarnation"])
    #expect(after.preference == true)
    #expect(try await alice.text("trip", "list").contains("Rome"))

    try await alice.start()
    try await bob.waitForSync(with: alice)
    try await alice.text("trip", "add", "name=Lima")
    try await bob.waitForSync(with: alice)
    try await expectEqual(alice, bob)
    let trips = try await bob.json("trip", "list")["trips"]?.array?.compactMap { $0["name"]?.string }
    #expect(Set(trips ?? []) == ["Roma", "Oslo", "Lima"])

    // What only the old store held comes back from the copy that the restore kept.
    let kept = try #require(restored["keptAt"]?.string)
    try await alice.stop()
    try await alice.text("restore", "--yes", kept + "/store.waymark")
    #expect(try await alice.text("trip", "list").contains("Unseen"))
    try await alice.start()
    try await bob.waitForSync(with: alice)
    try await expectEqual(alice, bob)
    #expect(try await bob.text("trip", "list").contains("Unseen"))
  }

  @Test func `a backup is readable at once on a new device, and writable after a join`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, carol) = (circle["alice"], Device("carol", on: stage))
    try await alice.text("trip", "add", "name=Rome")
    let file = stage.path("alice.waymark")
    try await alice.text("backup", file)
    try await alice.text("trip", "add", "name=Oslo")

    try await carol.text("restore", "--name", "carol", file)
    let status = try await carol.status()
    #expect(status.document["notices"]?[0]?["reason"] == "not_a_member")
    #expect(try await carol.text("trip", "list").contains("Rome"))
    for words in [["trip", "add", "name=X"], ["run", "--listen", "127.0.0.1:0"], ["invite"]] {
      try await expectRefusal(carol, words, code: 1, saying: "not in the circle yet", "waymark join")
    }
    let sets = status.changeSets("records")
    try await carol.join(alice)
    let joined = try await carol.status()
    #expect(joined.changeSets("records") == sets, "nothing is re-authored")
    #expect(joined.device == status.device)
    #expect(joined.document.otherNotices == [])
    try await carol.text("sync", "on")
    try await carol.start()
    try await carol.text("trip", "add", "name=Lima")
    try await alice.waitForSync(with: carol)
    try await expectEqual(alice, carol)
    #expect(try await alice.status().count("trips") == 3)
  }

  @Test func `with the root key a backup is enough to continue the circle`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, carol, dora) = (circle["alice"], Device("carol", on: stage), Device("dora", on: stage))
    try await alice.text("trip", "add", "name=Rome")
    let file = stage.path("alice.waymark")
    let key = stage.path("root.key")
    try await alice.text("backup", file)
    try FileManager.default.copyItem(atPath: alice.home + "/keys/root.key", toPath: key)
    try await alice.stop(SIGKILL)
    try FileManager.default.removeItem(atPath: alice.home)

    try await expectNothing(
      carol, ["restore", file, "--root-key", stage.path("seller")], code: 12,
      saying: "holds a key of another kind")
    try await carol.text("restore", file, "--name", "carol", "--root-key", key)
    try await carol.text("sync", "on")
    try await carol.text("trip", "add", "name=Oslo")
    try await carol.start()
    try await dora.join(carol)
    try await dora.text("sync", "on")
    try await dora.start()
    try await dora.waitForSync(with: carol)
    try await expectEqual(carol, dora)
    #expect(try await dora.status().count("trips") == 2)
  }

  @Test func `a device that joins the circle of its own store keeps the store and re-authors nothing`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await bob.stop()
    try await bob.text("trip", "add", "name=Oslo")
    let before = try await bob.status()
    try await bob.join(alice)
    let after = try await bob.status()
    #expect(after.device != before.device)
    #expect(after.everything == before.everything)
    try await bob.text("sync", "on")
    try await bob.start()
    try await bob.text("trip", "add", "name=Lima")
    // Alice's circle has two devices with that name now.
    try await bob.waitForSync(with: alice)
    try await expectEqual(alice, bob)
    #expect(try await alice.status().count("trips") == 3)
  }

  // MARK: Files

  /// Attaches a file to a lodging in a new trip; returns its content.
  private func attach(_ name: String, on device: Device) async throws -> Data {
    let path = device.stage.path(name)
    let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 771) } + Array(name.utf8))
    try content.write(to: URL(filePath: path))
    try await device.text("trip", "add", "name=Trip of \(name)")
    try await device.text("lodging", "add", "trip=Trip of \(name)", "name=Casa of \(name)")
    try await device.text("attachment", "add", "file=\(path)", "lodging=Casa of \(name)")
    return content
  }

  private func size(_ path: String) throws -> Int { try Data(contentsOf: URL(filePath: path)).count }

  private func content(_ name: String, on device: Device) async throws -> Data? {
    let path = device.stage.path("\(device.name)-\(device.stage.number())-\(name)")
    let outcome = try await device.run(["attachment", "show", name, "--output", path])
    return outcome.code == 0 ? try Data(contentsOf: URL(filePath: path)) : nil
  }

  @Test func `the files of attachments are in a backup, and a restore brings them back`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, carol, dora) = (circle["alice"], Device("carol", on: stage), Device("dora", on: stage))
    let ticket = try await attach("ticket.pdf", on: alice)
    let (whole, small) = (stage.path("whole.waymark"), stage.path("small.waymark"))
    let made = try await alice.json("backup", whole)
    #expect(made["files"] == 1 && made["missingFiles"] == 0)
    #expect(try await alice.json("backup", "--without-files", small)["files"] == .null)
    #expect(try size(whole) > size(small) + 200_000)

    let preview = try await carol.json("restore", "--preview", "--name", "carol", whole)
    #expect(preview["files"] == 1 && preview["missingFiles"] == 0)
    #expect(try await carol.json("restore", "--name", "carol", whole)["files"] == 1)
    #expect(try await content("ticket.pdf", on: carol) == ticket)

    // Without files, the device fetches them.
    #expect(try await dora.json("restore", "--name", "dora", small)["missingFiles"] == 1)
    #expect(try await content("ticket.pdf", on: dora) == nil)
    try await dora.join(alice)
    try await dora.text("sync", "on")
    try await dora.start()
    try await eventually("dora has fetched the file", seconds: 30) {
      try await content("ticket.pdf", on: dora) == ticket
    }

    // A restore on the same device keeps what is there, and the old store keeps its files.
    try await alice.stop()
    let restored = try await alice.json("restore", "--yes", small)
    #expect(restored["files"] == 1 && restored["missingFiles"] == 0)
    #expect(try await content("ticket.pdf", on: alice) == ticket)
    let kept = try #require(restored["keptAt"]?.string)
    #expect(FileManager.default.fileExists(atPath: kept + "/files"))
    let erin = Device("erin", on: stage)
    #expect(try await erin.json("restore", "--name", "erin", kept + "/store.waymark")["files"] == 1)
    #expect(try await content("ticket.pdf", on: erin) == ticket)
  }

  @Test func `a device that joins another circle brings the files of its records along`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], Device("bob", on: stage))
    try await bob.text("init", "--name", "bob")
    let ticket = try await attach("ticket.pdf", on: bob)
    try await bob.join(alice)
    #expect(try await content("ticket.pdf", on: bob) == ticket)
    try await bob.text("sync", "on", "--yes")
    try await bob.start()
    try await alice.waitForSync(with: bob)
    try await eventually("alice has fetched the file", seconds: 30) {
      try await content("ticket.pdf", on: alice) == ticket
    }
  }

  @Test func `a new circle takes over the visible records`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let (alice, carol) = (circle["alice"], Device("carol", on: stage))
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("trip", "add", "name=Gone")
    try await alice.text("trip", "delete", "Gone")
    let file = stage.path("alice.waymark")
    try await alice.text("backup", file)
    try await carol.text("restore", file, "--name", "carol", "--new-circle")
    let (old, new) = (try await alice.status(), try await carol.status())
    #expect(old.circle != new.circle)
    #expect(new.count("trips") == 1)
    #expect(new.changeSets("records") == 1)
    try await carol.text("trip", "add", "name=Oslo")
  }

  @Test func `a file that is not a backup is refused in one sentence, and nothing is changed`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, carol) = (Device("alice", on: stage), Device("carol", on: stage))
    try await alice.text("init", "--name", "alice")
    for number in 0..<20 { try await alice.text("trip", "add", "name=Trip \(number)") }
    let file = stage.path("good.waymark")
    try await alice.text("backup", file)
    let good = Array(try Data(contentsOf: URL(filePath: file)))
    let before = try await alice.status().everything

    var flipped = good
    flipped[flipped.count / 2] ^= 1
    let cases: [(path: String, saying: String)] = [
      (stage.path("missing"), "no such file"), (alice.home, "is a folder"),
      (alice.home + "/store.db", "not a Waymark backup"),
      (try stage.write(Array("hello".utf8), "text"), "not a Waymark backup"),
      (try stage.write([], "empty"), "not a Waymark backup"),
      (try stage.write(Array(good.prefix(good.count / 2)), "half"), "is damaged"),
      (try stage.write(flipped, "flipped"), "is damaged"),
    ]
    for (path, saying) in cases {
      try await expectRefusal(alice, ["restore", "--yes", path], code: 1, saying: saying)
      try await expectNothing(carol, ["restore", path], code: 1, saying: saying)
    }
    #expect(try await alice.status().everything == before)
    #expect(!FileManager.default.fileExists(atPath: carol.home))

    try await alice.start()
    try await expectRefusal(alice, ["restore", file], code: 11, saying: "in use by your node")
    #expect(try await alice.status().everything == before)
  }

  @Test func `a backup overwrites nothing without a yes, and holds no secret key`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let file = try stage.write(Array("mine".utf8), "letter")
    try await expectRefusal(alice, ["backup", file], code: 7, saying: "already exists", "--yes")
    #expect(try Data(contentsOf: URL(filePath: file)) == Data("mine".utf8))
    try await expectRefusal(alice, ["backup", stage.path("no/such")], code: 1, saying: "does not exist")
    let place = try await alice.text("backup", stage.folder.path)
    #expect(place.contains("/waymark-20"), "a directory means a file with the usual name in it: \(place)")
    try await alice.text("backup", "--yes", file)
    try await alice.text("restore", file)
    let left = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path)
    #expect(!left.contains { $0.hasSuffix(".new") })
    // The file contains no secret of this device.
    let key = try String(contentsOfFile: alice.home + "/keys/device.key", encoding: .utf8)
    let bytes = try Data(contentsOf: URL(filePath: file))
    for line in key.split(separator: "\n") where line.count == 64 {
      let secret = stride(from: 0, to: 64, by: 2).compactMap {
        UInt8(line.dropFirst($0).prefix(2), radix: 16)
      }
      #expect(secret.count == 32)
      #expect(bytes.firstRange(of: Data(secret)) == nil)
      #expect(bytes.firstRange(of: Data(line.utf8)) == nil)
    }
  }

  /// Expects a refusal on a device without a home, and that no home is created.
  private func expectNothing(
    _ device: Device, _ words: [String], code: Int32, saying wanted: String
  ) async throws {
    let outcome = try await device.run(words)
    #expect(outcome.code == code, "\(words): \(outcome.errors)")
    expectPlainWords(outcome.errors, [wanted], "\(words)")
    #expect(!FileManager.default.fileExists(atPath: device.home), "\(words)")
  }

  private func mode(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
  }
}

extension Array {
  fileprivate func async<Result>(_ transform: (Element) async throws -> Result) async throws -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
