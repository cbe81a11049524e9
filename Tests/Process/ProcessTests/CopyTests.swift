import Foundation
import JSONDocument
import Testing
import Wire

/// Data directories that are copied, and put back: no write is lost, and all devices end the same.
@Suite(.serialized) struct CopyTests {
  /// Alice and Bob in sync; both have stopped.
  private func stopped(on stage: Stage) async throws -> (alice: Device, bob: Device) {
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await bob.stop()
    try await alice.stop()
    return (alice, bob)
  }

  private func incarnation(_ device: Device) async throws -> String {
    try #require(try await device.status().document["incarnation"]?.string)
  }

  private func copy(_ device: Device, as name: String) throws -> Device {
    let copy = Device(name, on: device.stage)
    try FileManager.default.copyItem(atPath: device.home, toPath: copy.home)
    return copy
  }

  @Test func `a copied data directory writes a log of its own from the start`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let copy = try copy(alice, as: "copy")
    #expect(try await incarnation(copy) != incarnation(alice))
    try await alice.text("trip", "add", "name=Oslo")
    try await copy.text("trip", "add", "name=Bern")
    for device in [alice, copy] {
      try await bob.start()
      try await device.start()
      try await bob.text("sync", "now")
      try await device.text("peers", "add", bob.address)
      try await device.waitForSync(with: bob)
      try await device.stop()
      try await bob.stop()
    }
    #expect(try await bob.status().count("trips") == 3)
    #expect(try await bob.status().document["notices"] == [])
  }

  /// What a copy of a whole disk is: nothing in the directory tells that it is another one.
  private func clone(_ device: Device, as name: String) throws -> Device {
    let copy = try copy(device, as: name)
    let number = try FileManager.default.attributesOfItem(atPath: copy.home + "/store.db")[.systemFileNumber]
    let token = copy.home + "/incarnation"
    var lines = try String(contentsOfFile: token, encoding: .utf8).split(separator: "\n").map(String.init)
    lines[2] = "store \(try #require(number as? NSNumber))"
    try (lines.joined(separator: "\n") + "\n").write(
      to: URL(filePath: token), atomically: true, encoding: .utf8)
    return copy
  }

  /// Each of them in turn meets Bob, several times over, as devices of one key do.
  private func meet(_ bob: Device, _ devices: [Device]) async throws {
    for device in devices {
      try await bob.start()
      try await device.start()
      try await device.text("peers", "add", bob.address)
      try await device.text("sync", "now")
      try await device.waitForSync(with: bob)
      try await device.stop()
      try await bob.stop()
    }
  }

  @Test func `a clone that can't be told from the original gives way to what the original has sent`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let clone = try clone(alice, as: "clone")
    let old = try await incarnation(alice)
    #expect(try await incarnation(clone) == old)
    for index in 1...3 { try await alice.text("trip", "add", "name=Oslo \(index)") }
    for index in 1...5 { try await clone.text("trip", "add", "name=Bern \(index)") }
    try await alice.text("trip", "edit", "Rome", "name=Rom")
    try await clone.text("trip", "edit", "Rome", "name=Roma")
    try await meet(bob, [alice, clone, alice])
    #expect(try await incarnation(alice) == old)
    #expect(try await incarnation(clone) != old)
    for device in [alice, bob, clone] { #expect(try await device.status().count("trips") == 9) }
    #expect(
      Set(try await [alice, bob, clone].asyncMap { try await $0.status().digest("records") }).count == 1)
    #expect(try await bob.json("conflicts")["conflicts"]?.array?.count == 1)
    #expect(try await bob.status().document["notices"] == [])
    // What was written again is still what it was: Rome is undone as one operation.
    try await clone.text("undo")
    try await meet(bob, [clone, alice])
    #expect(try await bob.json("conflicts")["conflicts"]?.array?.count == 0)
    #expect(try await alice.json("trip", "list")["trips"]?.text().contains("Rom\"") == true)
  }

  @Test func `a fork that nobody could prevent is proved, left by both copies, and all converge`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    for device in [bob, carol] { try await device.start() }
    try await alice.text("trip", "add", "name=Rome")
    for device in [bob, carol] { try await device.waitForSync(with: alice) }
    for device in [carol, bob, alice] { try await device.stop() }
    let clone = try clone(alice, as: "clone")
    let old = try await incarnation(alice)
    for device in [alice, clone] {
      for index in 1...3 { try await device.text("trip", "add", "name=\(device.name) \(index)") }
      try await device.text("trip", "edit", "Rome", "name=by \(device.name)")
    }
    // Each has sent what it wrote before anybody could tell that there are two.
    try await meet(bob, [alice])
    try await meet(carol, [clone])
    #expect(try await bob.status().notices("fork").isEmpty)
    try await meet(bob, [carol])
    for device in [bob, carol] {
      #expect(try await device.status().count("trips") == 7)
      #expect(try await device.status().notices("fork").count == 1)
      #expect(try await device.json("conflicts")["conflicts"]?.array?.count == 1)
    }
    try await meet(bob, [alice, clone, alice])
    #expect(Set(try await [alice, clone].asyncMap { try await incarnation($0) } + [old]).count == 3)
    // Nobody's log forks any more.
    try await alice.text("trip", "add", "name=Ulm")
    try await clone.text("trip", "add", "name=Metz")
    try await meet(bob, [alice, clone, carol, alice])
    let all = [alice, bob, carol, clone]
    for device in [alice, bob, carol] { #expect(try await device.status().count("trips") == 9) }
    try await meet(bob, [clone])
    #expect(Set(try await all.asyncMap { try await $0.status().digest("records") }).count == 1)
    for device in all { #expect(try await device.status().notices("fork").isEmpty) }
  }

  @Test func `what an old copy writes before it meets anyone gives way, and no log forks`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let old = try clone(alice, as: "old")
    let incarnation = try await incarnation(alice)
    for index in 1...3 { try await alice.text("trip", "add", "name=Oslo \(index)") }
    try await alice.text("settings", "set", "colorScheme", "dark")
    try await meet(bob, [alice])
    for index in 1...4 { try await old.text("trip", "add", "name=Bern \(index)") }
    try await old.text("settings", "set", "colorScheme", "light")
    #expect(try await self.incarnation(old) == incarnation)
    try await meet(bob, [old])
    #expect(try await self.incarnation(old) != incarnation)
    for device in [old, bob] {
      #expect(try await device.status().count("trips") == 8)
      #expect(try await device.text("settings", "get", "colorScheme") == "light")
      #expect(try await device.status().notices("fork").isEmpty)
    }
    #expect(try await old.status().digest("records") == bob.status().digest("records"))
    try await old.text("undo")
    #expect(try await old.text("settings", "get", "colorScheme") != "light")
  }

  @Test func `a restored backup writes a log of its own, and what came after the backup comes back`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let incarnation = try await incarnation(alice)
    let file = stage.path("backup")
    try await alice.text("backup", file)
    for index in 1...3 { try await alice.text("trip", "add", "name=Oslo \(index)") }
    try await meet(bob, [alice])
    try await alice.text("restore", file, "--yes")
    try await alice.text("trip", "add", "name=Bern")
    #expect(try await alice.status().count("trips") == 2)
    #expect(try await self.incarnation(alice) != incarnation)
    try await meet(bob, [alice])
    for device in [alice, bob] { #expect(try await device.status().count("trips") == 5) }
    #expect(try await bob.status().document["notices"] == [])
  }

  @Test func `a copy that runs beside the original shares everything with it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let copy = try copy(alice, as: "copy")
    try await bob.start()
    for device in [alice, copy] {
      try await device.start()
      try await device.text("peers", "add", bob.address)
    }
    for index in 1...3 {
      try await alice.text("trip", "add", "name=Oslo \(index)")
      try await copy.text("trip", "add", "name=Bern \(index)")
    }
    // They have one key, so Bob talks with one of them at a time.
    for device in [bob, alice, copy] {
      try await device.wait(until: "it has the trips of both", seconds: 60) { $0.count("trips") == 7 }
    }
    #expect(try await bob.status().notices("fork").isEmpty)
  }

  @Test func `an old copy that is put back takes in its own later writes and goes on in a new log`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let old = try clone(alice, as: "old")
    let incarnation = try await incarnation(alice)
    for index in 1...3 { try await alice.text("trip", "add", "name=Oslo \(index)") }
    try await meet(bob, [alice])
    try await meet(bob, [old])
    #expect(try await self.incarnation(old) != incarnation)
    try await old.text("trip", "add", "name=Bern")
    try await meet(bob, [old])
    #expect(try await old.status().count("trips") == 5)
    #expect(try await bob.status().count("trips") == 5)
    #expect(try await bob.status().document["notices"] == [])
  }
}

extension Sequence {
  fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
