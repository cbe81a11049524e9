import Foundation
import JSONDocument
import Processes
import Testing

/// Erased values are in no file of any device, not even after a kill.
@Suite(.serialized) struct EraseTests {
  /// Two devices that hold a trip with a secret in its notes, in the notes of a lodging, and in the history of both.
  private struct Planted {
    let circle: TestCircle
    let secrets: [String]

    var alice: Device { circle["alice"] }
    var bob: Device { circle["bob"] }

    init(on stage: Stage) async throws {
      circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
      secrets = ["first", "second", "third"].map { "\($0)-\(UUID().uuidString)" }
      try await bob.start()
      for number in 0..<12 { try await alice.text("trip", "add", "name=Trip \(number)", "notes=harmless") }
      try await alice.text("trip", "add", "name=Rome", "notes=\(secrets[0])")
      try await alice.text("lodging", "add", "trip=Rome", "name=Casa", "notes=\(secrets[1])")
      try await bob.waitForSync(with: alice)
      try await bob.text("trip", "edit", "Rome", "notes=\(secrets[2])")
      try await alice.waitForSync(with: bob)
      // Otherwise the search below would prove nothing.
      for device in [alice, bob] {
        for secret in secrets {
          #expect(!EraseTests.files(in: device.home, with: secret).isEmpty, "\(device.name)")
        }
      }
    }

    /// Waits until no file of a device contains any of the secrets.
    func waitUntilGone(from device: Device) async throws {
      for secret in secrets {
        var found: [String] = []
        try await eventually(
          "no file of \(device.name) contains “\(secret.prefix(6))”; it is in \(found)", seconds: 30
        ) {
          found = EraseTests.files(in: device.home, with: secret)
          return found.isEmpty
        }
      }
    }
  }

  /// The files below a folder that contain some bytes, whatever their form.
  private static func files(in folder: String, with secret: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return names.filter { name in
      // Sockets can't be read, and a file may be gone by now.
      guard let content = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return false }
      return content.range(of: Data(secret.utf8)) != nil
    }
  }

  private func expectNone(of secrets: [String], in file: String) throws {
    let content = try Data(contentsOf: URL(filePath: file))
    for secret in secrets { #expect(content.range(of: Data(secret.utf8)) == nil, "\(file)") }
  }

  @Test func `an erased secret is in no file of either device, and in no later backup`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let planted = try await Planted(on: stage)
    let (alice, bob) = (planted.alice, planted.bob)
    let refused = try await alice.run(["erase", "Rome"])
    #expect(refused.code == 7, "\(refused.errors)")
    let erased = try await alice.json("erase", "Rome", "--yes")
    #expect(erased["records"]?.array?.count == 2)
    #expect(erased["devices"]?.array?.map { $0["name"] } == ["bob"])
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] { try await planted.waitUntilGone(from: device) }
    for device in [alice, bob] {
      let file = stage.path("\(device.name).waymark")
      try await device.text("backup", file)
      try expectNone(of: planted.secrets, in: file)
      #expect(try await device.status().count("trips") == 12)
      #expect(try await device.json("trash", "list")["items"] == [])
      #expect(try await device.run(["verify", "--deep"]).code == 0)
    }
    #expect(try await alice.status().digest("records") == bob.status().digest("records"))
    try await alice.wait(until: "bob has erased it") { $0.notices("erase_unheard").isEmpty }
  }

  @Test func `an erase survives a kill that follows at once, on both devices`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let planted = try await Planted(on: stage)
    let (alice, bob) = (planted.alice, planted.bob)
    try await alice.text("erase", "Rome", "--yes")
    #expect(try await alice.stop(SIGKILL) == -SIGKILL)
    try await alice.start()
    try await planted.waitUntilGone(from: alice)
    try await alice.text("sync", "now")
    try await bob.waitForSync(with: alice)
    #expect(try await bob.stop(SIGKILL) == -SIGKILL)
    try await bob.start()
    try await planted.waitUntilGone(from: bob)
    for device in [alice, bob] { #expect(try await device.status().count("trips") == 12) }
  }

  @Test func `a kill in the middle of an erase leaves the whole record or no trace of it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let secret = "secret-\(UUID().uuidString)"
    // Large enough that the node needs a while to remove it from the log, the tables and the free space.
    let notes = String(repeating: secret + " ", count: 200)
    for number in 1...2 {
      try await alice.text("trip", "add", "name=Trip \(number)", "notes=\(notes)")
      for edit in 1...3 {
        try await alice.text("trip", "edit", "Trip \(number)", "notes=\(edit) of\(number) \(notes)")
      }
    }
    var left = 2
    for number in 1...2 {
      try await alice.start()
      let (erasing, _, _) = try alice.begin(["erase", "Trip \(number)", "--yes"])
      // The erase itself takes a few milliseconds, and what follows in the node some more.
      try await Task.sleep(for: .milliseconds([60, 120][number - 1]))
      #expect(try await alice.stop(SIGKILL) == -SIGKILL)
      _ = try await erasing.wait(seconds: 20, for: "the command whose node was killed")
      try await alice.start()
      let count = Int(try await alice.status().count("trips"))
      #expect(count == left || count == left - 1)
      if count == left { try await alice.text("erase", "Trip \(number)", "--yes") }
      left -= 1
      let one = "of\(number) \(secret)"
      try await eventually("no file contains the notes of trip \(number)", seconds: 30) {
        Self.files(in: alice.home, with: one).isEmpty
      }
      #expect(try await alice.run(["verify", "--deep"]).code == 0)
      try await alice.stop()
    }
    #expect(Self.files(in: alice.home, with: secret) == [])
  }

  @Test func `a device that was off for most of a year returns with an edit of an erased record`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let planted = try await Planted(on: stage)
    let (alice, bob) = (planted.alice, planted.bob)
    try await bob.stop()
    let late = "late-\(UUID().uuidString)"
    try await bob.text("trip", "edit", "Rome", "notes=\(late)")
    try await alice.text("erase", "Rome", "--yes")
    try await alice.stop()
    for device in [alice, bob] { device.clockAhead = 300 * 86_400 }
    try await alice.start()
    try await bob.start()
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      // The edit was made without knowledge of the erase: it is kept and listed, but the record stays deleted.
      try await planted.waitUntilGone(from: device)
      #expect(try await device.status().count("trips") == 12)
      #expect(!Self.files(in: device.home, with: late).isEmpty, "\(device.name)")
    }
    #expect(try await alice.status().digest("records") == bob.status().digest("records"))
    // Erased in its turn, the edit goes too.
    try await alice.text("trash", "empty", "--yes")
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      try await eventually("no file of \(device.name) contains the edit", seconds: 30) {
        Self.files(in: device.home, with: late).isEmpty
      }
    }
  }

  // MARK: Files

  /// Two devices that hold a lodging with an attachment of 100 KB that consists of a secret.
  private func attached(_ secret: String, on stage: Stage) async throws -> TestCircle {
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    let file = stage.path("ticket.pdf")
    let content = String(repeating: secret + "\n", count: 100_000 / (secret.utf8.count + 1))
    try Data(content.utf8).write(to: URL(filePath: file))
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("lodging", "add", "trip=Rome", "name=Casa")
    try await alice.text("attachment", "add", "file=\(file)", "lodging=Casa")
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      try await eventually("\(device.name) holds the file", seconds: 30) {
        Self.files(in: device.home + "/files", with: secret).count == 1
      }
    }
    return circle
  }

  @Test
  func `the file of an erased record is deleted on both devices, although one was off and both are killed`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let secret = "secret-\(UUID().uuidString)"
    let circle = try await attached(secret, on: stage)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let early = stage.path("early.waymark")
    try await alice.text("backup", early)
    #expect(try Data(contentsOf: URL(filePath: early)).range(of: Data(secret.utf8)) != nil)
    try await bob.stop()
    try await alice.text("erase", "Rome", "--yes")
    #expect(Self.files(in: alice.home + "/files", with: secret) == [])
    #expect(try await alice.stop(SIGKILL) == -SIGKILL)
    try await alice.start()
    try await bob.start()
    try await bob.waitForSync(with: alice)
    #expect(try await bob.stop(SIGKILL) == -SIGKILL)
    try await bob.start()
    for device in [alice, bob] {
      try await eventually("no file of \(device.name) contains the secret", seconds: 30) {
        Self.files(in: device.home, with: secret).isEmpty
      }
      let file = stage.path("\(device.name).waymark")
      #expect(try await device.json("backup", file)["files"] == 0)
      try expectNone(of: [secret], in: file)
      #expect(try await device.run(["verify", "--deep"]).code == 0)
    }
    // What an old backup holds is erased again once the set arrives.
    try await bob.stop()
    let restored = try await bob.json("restore", "--yes", early)
    #expect(restored["files"] == 1)
    #expect(Self.files(in: bob.home + "/files", with: secret).count == 1)
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await eventually("the restored file is gone from bob", seconds: 30) {
      Self.files(in: bob.home + "/files", with: secret).isEmpty
    }
  }

  @Test func `the file of a deleted record is deleted after trashDays, also if the node was off`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let secret = "secret-\(UUID().uuidString)"
    let circle = try await attached(secret, on: stage)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let refused = try await alice.run(["settings", "set", "trashDays", "0"])
    #expect(refused.code == 2 && refused.errors.contains("1 to 3650"), "\(refused.errors)")
    try await alice.text("settings", "set", "trashDays", "60")
    try await alice.text("trip", "delete", "Rome")
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] { try await device.stop() }
    let day = 86_400
    for (days, count) in [(40, 1), (61, 0)] {
      alice.clockAhead = days * day
      try await alice.start()
      try await eventually("after \(days) days alice has \(count) file", seconds: 10) {
        Self.files(in: alice.home + "/files", with: secret).count == count
      }
      try await alice.stop()
    }
    // Bob's clock has not moved.
    #expect(Self.files(in: bob.home + "/files", with: secret).count == 1)
    try await alice.text("trip", "restore", "Rome")
    #expect(try await alice.json("attachment", "list")["attachments"]?.array?.count == 1)
  }

  @Test func `an erase without a running node leaves nothing behind when the command ends`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    let secret = "secret-\(UUID().uuidString)"
    try await alice.text("init", "--name", "alice")
    try await alice.text("trip", "add", "name=Rome", "notes=\(secret)")
    try await alice.text("trip", "delete", "Rome")
    #expect(!Self.files(in: alice.home, with: secret).isEmpty)
    try await alice.text("trash", "empty", "--yes")
    #expect(Self.files(in: alice.home, with: secret) == [])
  }

  // MARK: Mass erases

  @Test func `a mass erase by another device is held over a restart, and applied after seven days`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    let secret = "secret-\(UUID().uuidString)"
    for number in 1...24 { try await alice.text("trip", "add", "name=Trip \(number)", "notes=\(secret)") }
    try await bob.waitForSync(with: alice)
    for number in 1...24 { try await bob.text("trip", "delete", "Trip \(number)") }
    try await bob.text("trash", "empty", "--yes")
    try await alice.waitForSync(with: bob)
    try await alice.wait(until: "the mass erase is held") { !$0.notices("mass_erase").isEmpty }
    #expect(try await alice.status().count("trips") == 0)
    #expect(!Self.files(in: alice.home, with: secret).isEmpty)
    try await alice.stop()
    try await alice.start()
    #expect(try await alice.status().notices("mass_erase").count == 1)
    #expect(!Self.files(in: alice.home, with: secret).isEmpty)
    try await alice.stop()
    alice.clockAhead = 8 * 86_400
    try await alice.start()
    try await alice.wait(until: "the erase is applied") { $0.notices("mass_erase").isEmpty }
    try await eventually("no file of alice contains the values", seconds: 30) {
      Self.files(in: alice.home, with: secret).isEmpty
    }
  }

  // MARK: Restored backups

  @Test func `a restore names the records that were erased since the backup, and status does until they are`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let planted = try await Planted(on: stage)
    let (alice, bob) = (planted.alice, planted.bob)
    let file = stage.path("before.waymark")
    try await alice.text("backup", file)
    try await alice.text("erase", "Rome", "--yes")
    try await bob.waitForSync(with: alice)
    try await bob.stop()
    try await alice.stop()
    let preview = try await alice.json("restore", file, "--preview")
    let names = Set(preview["erasedAgain"]?.array?.compactMap { $0["name"]?.string } ?? [])
    #expect(names == ["Rome", "Casa"])
    let restored = try await alice.run(["restore", file, "--yes"])
    #expect(restored.code == 0 && restored.errors.contains("trip Rome"), "\(restored)")
    #expect(try await alice.status().notices("erase_awaited").count == 1)
    try await alice.start()
    try await bob.start()
    try await alice.wait(until: "Rome is erased again", seconds: 60) { $0.notices("erase_awaited").isEmpty }
    #expect(try await alice.status().count("trips") == 12)
  }
}
