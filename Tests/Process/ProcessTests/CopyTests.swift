import Foundation
import JSONDocument
import Testing
import Wire

/// Data directories that are copied and put back: no write is lost, and all devices converge.
@Suite(.serialized) struct CopyTests {
  /// Alice and Bob in sync; both are stopped.
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

  @Test func `a copied data directory writes its own log from the start`() async throws {
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
    #expect(try await bob.status().document.otherNotices == [])
  }

  /// A copy of a whole disk: nothing in the directory shows that it is a copy.
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

  /// Lets each of them in turn sync with Bob, several times over, as devices with one key do.
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

  @Test func `a clone that looks like the original yields to what the original has sent`() async throws {
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
    #expect(try await bob.status().document.otherNotices == [])
    // The re-authored changes still form one operation: undo takes back the whole edit of Rome.
    try await clone.text("undo")
    try await meet(bob, [clone, alice])
    #expect(try await bob.json("conflicts")["conflicts"]?.array?.count == 0)
    #expect(try await alice.json("trip", "list")["trips"]?.text().contains("Rom\"") == true)
  }

  @Test func `an unavoidable fork is proved, both copies leave the forked log, and all devices converge`()
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
    // Each copy sent its changes before the other could be detected.
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
    // No log forks any more.
    try await alice.text("trip", "add", "name=Ulm")
    try await clone.text("trip", "add", "name=Metz")
    try await meet(bob, [alice, clone, carol, alice])
    let all = [alice, bob, carol, clone]
    for device in [alice, bob, carol] { #expect(try await device.status().count("trips") == 9) }
    try await meet(bob, [clone])
    #expect(Set(try await all.asyncMap { try await $0.status().digest("records") }).count == 1)
    for device in all { #expect(try await device.status().notices("fork").isEmpty) }
  }

  @Test func `changes of an old copy are re-authored when it first syncs, and no log forks`() async throws {
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

  @Test func `a restored backup writes its own log, and changes made after the backup come back`()
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
    #expect(try await bob.status().document.otherNotices == [])
  }

  @Test func `a copy that runs at the same time as the original shares everything with it`() async throws {
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
    // They share one key, so Bob talks to one of them at a time. A connection that he dialled himself stays as long as
    // it lasts, so the other one gets its turn only when the one that he talks to stops.
    try await copy.stop()
    try await alice.waitForSync(with: bob)
    try await alice.stop()
    try await copy.start()
    for device in [bob, copy] {
      try await device.wait(until: "it has the trips of both", seconds: 60) { $0.count("trips") == 7 }
    }
    try await copy.stop()
    try await alice.start()
    try await alice.wait(until: "it has the trips of both", seconds: 60) { $0.count("trips") == 7 }
    #expect(try await bob.status().notices("fork").isEmpty)
  }

  @Test func `an old copy that is put back receives its own later changes and continues in a new log`()
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
    #expect(try await bob.status().document.otherNotices == [])
  }
}

extension Sequence {
  fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
