import Foundation
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

  @Test func `a clone that can't be told from the original forks the log, and all converge`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob) = try await stopped(on: stage)
    let clone = try clone(alice, as: "clone")
    let old = try await incarnation(alice)
    #expect(try await incarnation(clone) == old)
    for index in 1...3 { try await alice.text("trip", "add", "name=Oslo \(index)") }
    for index in 1...5 { try await clone.text("trip", "add", "name=Bern \(index)") }
    try await clone.text("trip", "edit", "Rome", "name=Roma")
    try await alice.text("trip", "edit", "Rome", "name=Rom")
    try await meet(bob, [alice, clone, alice, clone, alice])
    #expect(try await incarnation(alice) != old)
    #expect(try await incarnation(clone) != old)
    #expect(try await incarnation(clone) != incarnation(alice))
    for device in [alice, bob, clone] { #expect(try await device.status().count("trips") == 9) }
    #expect(Set(try await [alice, bob].asyncMap { try await $0.status().digest("records") }).count == 1)
    #expect(try await bob.json("conflicts")["conflicts"]?.array?.count == 1)
    #expect(try await bob.status().document["notices"]?.text().contains("fork") == true)
    // Nobody's log forks any more.
    try await alice.text("trip", "add", "name=Ulm")
    try await clone.text("trip", "add", "name=Metz")
    try await meet(bob, [alice, clone, alice])
    for device in [alice, bob] { #expect(try await device.status().count("trips") == 11) }
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
