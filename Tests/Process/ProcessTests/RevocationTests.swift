import Foundation
import JSONDocument
import Testing
import Wire

/// Devices that are revoked while others run, and that rejoin.
@Suite(.serialized) struct RevocationTests {
  private func expectEqual(_ devices: Device...) async throws {
    let first = try await devices[0].status()
    for device in devices.dropFirst() {
      let status = try await device.status()
      #expect(status.digest("records") == first.digest("records"), "\(device.name)")
      #expect(status.digest("settings") == first.digest("settings"), "\(device.name)")
      #expect(status.counts == first.counts, "\(device.name)")
    }
  }

  private func trips(_ device: Device) async throws -> Set<String> {
    let list = try await device.json("trip", "list")["trips"]?.array ?? []
    return Set(list.compactMap { $0["name"]?.string })
  }

  private func refused(
    _ device: Device, _ words: [String], code: Int32, saying texts: String...
  ) async throws {
    let outcome = try await device.run(words)
    #expect(outcome.code == code, "\(words): \(outcome.errors)")
    let said = outcome.errors.replacing(#/ --home /\S+/#, with: "")
    for text in texts { #expect(said.contains(text), "\(words): \(outcome.errors)") }
    #expect(outcome.output.isEmpty)
  }

  private func member(_ name: String, in device: Device) async throws -> JSON {
    let members = try await device.json("members")["members"]?.array ?? []
    return try #require(members.last { $0["name"]?.string == name }, "no \(name) in \(device.name)")
  }

  private func names(_ list: JSON?) -> Set<String> {
    Set(list?.array?.compactMap { $0["name"]?.string } ?? [])
  }

  /// Three running devices with premium, in sync with the first, Alice's.
  private func threeInSync(on stage: Stage) async throws -> (alice: Device, bob: Device, carol: Device) {
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let devices = (alice: circle["alice"], bob: circle["bob"], carol: circle["carol"])
    for device in [devices.bob, devices.carol] {
      try await device.start()
      try await device.waitForSync(with: devices.alice)
    }
    return devices
  }

  @Test func `a revoked device loses its session, its writes are rejected, and it rejoins as a new member`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob, carol) = try await threeInSync(on: stage)
    try await carol.text("trip", "add", "name=Rome")
    try await carol.waitForSync(with: alice)
    try await eventually("bob has it") { try await trips(bob) == ["Rome"] }
    // A copy of Carol's home that never learns of it: the thief's.
    try await carol.stop()
    let thief = Device("thief", on: stage)
    try FileManager.default.copyItem(atPath: carol.home, toPath: thief.home)
    try await carol.text("trip", "add", "name=Unseen")

    try await refused(alice, ["revoke", "carol"], code: 7, saying: "Revoke carol?", "--yes", "last in sync")
    let done = try await alice.json("revoke", "carol", "--yes")
    #expect(done["schema"] == "waymark.revoke/1")
    #expect(done["revoked"]?[0]?["changeSets"]?.integer ?? 0 > 0)
    try await eventually("bob learns of it") { try await member("carol", in: bob)["revoked"] == true }
    #expect(try await alice.json("revoke", "carol")["already"]?[0]?["name"] == "carol")

    for device in [carol, thief] {
      try await device.start()
      try await device.text("peers", "add", alice.address)
      try await device.wait(until: "it is rejected") {
        $0.peer("alice")?["reason"] == "turned_away" && $0.peer("alice")?["state"] == "refused"
      }
    }
    try await thief.text("trip", "add", "name=Intruder")
    try await alice.text("trip", "add", "name=Oslo")
    try await eventually("bob has it") { try await trips(bob) == ["Rome", "Oslo"] }
    try await expectEqual(alice, bob)
    #expect(try await trips(thief) == ["Rome", "Intruder"], "it receives nothing either")
    #expect(try await alice.status().peer("carol") == nil)

    try await carol.stop()
    try await carol.join(alice)
    #expect(
      try await trips(carol) == ["Rome", "Unseen"],
      "nothing written before it learnt of the revocation is lost")
    try await carol.start()
    for device in [alice, bob, carol] {
      try await eventually("\(device.name) has all") {
        try await trips(device) == ["Rome", "Oslo", "Unseen"]
      }
    }
    try await expectEqual(alice, bob, carol)
    let carols = try await bob.json("members")["members"]?.array?.filter {
      $0["name"]?.string?.hasPrefix("carol") == true
    }
    #expect(carols?.map { $0["revoked"] == true }.filter(\.self).count == 1, "the old keys stay revoked")
    #expect(try await bob.status().peer("carol") != nil)
  }

  @Test func `a device without records sync still shows the older changes of a revoked device`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (alice, bob, carol) = try await threeInSync(on: stage)
    try await carol.text("trip", "add", "name=Rome")
    for device in [alice, bob] {
      try await eventually("\(device.name) has it") { try await trips(device) == ["Rome"] }
    }
    try await bob.text("sync", "off")
    try await carol.text("trip", "add", "name=Oslo")
    try await eventually("alice has it") { try await trips(alice) == ["Rome", "Oslo"] }
    try await carol.stop()
    try await alice.json("revoke", "carol", "--yes")
    try await eventually("bob learns of it") { try await member("carol", in: bob)["revoked"] == true }
    #expect(try await trips(bob) == ["Rome"])
    try await bob.stop()
    try await bob.start()
    #expect(try await trips(bob) == ["Rome"])
    try await bob.text("sync", "on")
    try await eventually("bob has all") { try await trips(bob) == ["Rome", "Oslo"] }
    try await expectEqual(alice, bob)
  }

  @Test func `a device that knows of its revocation is read-only and sends nothing, also after a restart`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await alice.text("revoke", "bob", "--yes")
    for step in ["at once", "after a restart", "without a node"] {
      try await bob.wait(until: "it knows \(step)") { status in
        status.document["notices"]?.array?.contains {
          $0["reason"] == "revoked" && $0["next"]?.string?.withoutHome.contains("waymark join TICKET") == true
        } ?? false
      }
      #expect(try await trips(bob) == ["Rome"])
      #expect(try await bob.text("status").contains("not in the circle"))
      try await refused(
        bob, ["trip", "add", "name=X"], code: 1, saying: "This device was revoked by alice", "waymark join")
      try await refused(bob, ["invite"], code: 1, saying: "revoked")
      let verified = try await bob.run(["verify", "--deep"])
      #expect(verified.code == 0, "\(verified.errors)")
      if step != "without a node" { try await bob.stop() }
      if step == "at once" { try await bob.start() }
    }
    let after = bob.log.split(separator: "this device was revoked").dropFirst().joined().split(
      separator: "\n")
    let dialled = after.filter { $0.contains(" link ") && $0.contains(alice.address) }
    #expect(!after.isEmpty && dialled.count <= 2, "it dials rarely, but logged \(dialled)")
    #expect(try await alice.status().document.otherNotices == [])
  }

  @Test func `a circle with another admin continues without the founder's device`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, bob, carol, dave) = (
      circle["alice"], Device("bob", on: stage), Device("carol", on: stage), Device("dave", on: stage)
    )
    for device in [bob, carol] {
      let ticket = try await alice.text("invite", "--role", device.name == "bob" ? "admin" : "member")
      try await device.text("join", "-", "--name", device.name, input: ticket)
      try await device.text("sync", "on")
      try await device.start()
      try await device.waitForSync(with: alice)
    }
    try await alice.text("trip", "add", "name=Rome")
    for device in [bob, carol] {
      try await eventually("\(device.name) has it") { try await trips(device) == ["Rome"] }
    }
    try await alice.stop(SIGKILL)
    try FileManager.default.removeItem(atPath: alice.home)

    try await refused(carol, ["revoke", "alice", "--yes"], code: 1, saying: "not an admin", "--root-key")
    try await refused(bob, ["revoke", "bob", "--yes"], code: 1, saying: "is this device")
    try await refused(bob, ["revoke", "alice"], code: 7, saying: "higher rank", "invited by alice", "carol")
    let preview = try await bob.json("revoke", "alice", "--with-invited", "--preview")
    #expect(names(preview["revoked"]) == ["alice", "carol"], "but not this device itself")
    #expect(preview["done"] == false)
    #expect(try await bob.json("members")["members"]?.array?.contains { $0["revoked"] == true } == false)
    try await carol.stop()
    try await bob.text("revoke", "alice", "--yes")
    #expect(names(try await member("alice", in: bob)["notHeard"]) == ["carol"])
    let notice = try #require(try await bob.status().document["notices"]?[0])
    #expect(notice["reason"] == "revocation_unheard")
    #expect(notice["next"]?.string?.withoutHome.contains("waymark run, on carol") == true)
    // The notice survives a restart, and disappears as soon as she has received it.
    try await bob.stop()
    #expect(names(try await member("alice", in: bob)["notHeard"]) == ["carol"])
    try await bob.start()
    try await carol.start()
    try await bob.wait(until: "carol has learned of it") { $0.document.otherNotices == [] }
    try await bob.stop()
    try await carol.stop()
    #expect(try await member("alice", in: bob)["notHeard"] == [])
    #expect(try await member("alice", in: bob)["revocations"]?[0]?["byName"] == "bob")

    try await bob.start()
    try await dave.join(bob)
    try await dave.text("sync", "on")
    try await dave.start()
    try await dave.text("trip", "add", "name=Oslo")
    for device in [bob, dave] {
      try await eventually("\(device.name) has both") { try await trips(device) == ["Rome", "Oslo"] }
    }
    try await expectEqual(bob, dave)
  }

  @Test func `the root key stops a thief that has revoked everybody, and readmits the honest devices`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    let key = stage.path("root.key")
    try FileManager.default.moveItem(atPath: alice.home + "/keys/root.key", toPath: key)
    for device in [bob, carol] {
      try await device.start()
      try await device.waitForSync(with: alice)
    }
    try await bob.text("trip", "add", "name=Rome")
    for device in [bob, carol] { try await device.waitForSync(with: alice) }
    // Alice's device is in the thief's hands now.
    try await alice.text("revoke", "bob", "carol", "--yes")
    for device in [bob, carol] {
      try await device.wait(until: "it is revoked") { $0.document["notices"]?[0]?["reason"] == "revoked" }
    }
    try await alice.stop()
    try await refused(bob, ["revoke", "alice", "--yes"], code: 1, saying: "revoked by alice", "waymark join")
    try await refused(
      bob, ["revoke", "alice", "--root-key", stage.path("seller"), "--yes"], code: 12, saying: "root key")
    try await bob.stop()
    try await bob.text("revoke", "alice", "--undo-revocations", "--root-key", key, "--yes")
    // Before any device can learn of it from here.
    let notices = try await bob.status().document["notices"]?.array ?? []
    #expect(notices.contains { $0["reason"] == "revocation_unheard" }, "\(notices)")
    try await bob.start()
    #expect(try await trips(bob) == ["Rome"])
    // Carol learns of it when she dials Bob.
    try await bob.text("peers", "add", carol.address)
    try await carol.wait(until: "she is a member again") { $0.document.otherNotices == [] }
    try await carol.text("trip", "add", "name=Oslo")
    try await eventually("bob has both") { try await trips(bob) == ["Rome", "Oslo"] }
    try await expectEqual(bob, carol)

    // No admin is left: the root key invites, and makes Bob an admin.
    let dave = Device("dave", on: stage)
    try await refused(bob, ["invite"], code: 1, saying: "not an admin", "--root-key")
    let ticket = try await bob.text("invite", "--root-key", key)
    try await dave.text("join", "-", "--name", "dave", input: ticket)
    #expect(try await member("dave", in: bob)["admittedBy"]?.isNull == true)
    try await bob.stop()
    try await bob.text("join", "--root-key", key)
    #expect(try await member("bob", in: bob)["role"] == "admin")
    try await refused(bob, ["join", "--root-key", key], code: 1, saying: "already an admin of the circle")
  }

  @Test func `a device revoked by an admin of lower rank revokes that admin and is a member again`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], Device("bob", on: stage), Device("carol", on: stage))
    let ticket = try await alice.text("invite", "--role", "admin")
    try await bob.text("join", "-", "--name", "bob", input: ticket)
    try await carol.join(alice)
    for device in [bob, carol] {
      try await device.text("sync", "on")
      try await device.start()
      try await device.waitForSync(with: alice)
    }
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await bob.text("revoke", "alice", "--yes")
    for device in [bob, carol] {
      try await eventually("\(device.name) knows") {
        try await member("alice", in: device)["revoked"] == true
      }
    }
    try await alice.wait(until: "she is revoked") { $0.document["notices"]?[0]?["reason"] == "revoked" }
    try await bob.stop()
    let done = try await alice.json("revoke", "bob", "--yes")
    #expect(
      done["warnings"]?.array?.contains { $0.string?.contains("had revoked this device") == true } == true)
    try await alice.text("trip", "add", "name=Oslo")
    try await alice.text("peers", "add", carol.address)
    try await eventually("carol admits her") { try await trips(carol) == ["Rome", "Oslo"] }
    try await expectEqual(alice, carol)
    #expect(try await member("bob", in: carol)["revoked"] == true)
    #expect(try await carol.status().document.otherNotices == [])
  }

  @Test func `the root key alone readmits a revoked device, with its store`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let key = stage.path("root.key")
    try FileManager.default.copyItem(atPath: alice.home + "/keys/root.key", toPath: key)
    try await bob.start()
    try await bob.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await bob.text("sync", "off")
    try await bob.text("trip", "edit", "Rome", "name=Roma")
    try await bob.text("trip", "add", "name=Unseen")
    try await alice.text("revoke", "bob", "--yes")
    try await bob.wait(until: "it is revoked") { $0.document["notices"]?[0]?["reason"] == "revoked" }
    let before = try await bob.status()
    #expect(try await trips(bob) == ["Roma", "Unseen"])
    try await refused(bob, ["join", "--root-key", key], code: 11, saying: "in use by your node")
    try await bob.stop()
    try await refused(bob, ["join", "--root-key", stage.path("seller")], code: 12, saying: "root key")
    let joined = try await bob.json("join", "--root-key", key)
    #expect(joined["rewritten"] == 2)
    let after = try await bob.status()
    #expect(after.device != before.device)
    #expect(after.document["name"] == "bob")
    #expect(try await trips(bob) == ["Roma", "Unseen"])
    try await bob.text("sync", "on")
    try await bob.start()
    try await bob.text("peers", "add", alice.address)
    try await eventually("alice has both") { try await trips(alice) == ["Roma", "Unseen"] }
    try await expectEqual(alice, bob)
  }

  @Test func `a revoked device reports this in every command, with the same code and next step`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await alice.text("revoke", "bob", "--yes")
    let status = try await bob.wait(until: "it is revoked") { !$0.notices("revoked").isEmpty }
    let next = try #require(status.notices("revoked")[0]["next"]?.string)
    #expect(status.syncReason == "revoked" && status.premiumReason == "revoked" && !status.isPremium)

    let sync = try await bob.json("sync")
    #expect(sync["active"] == false && sync["reason"] == "revoked")
    #expect(sync["next"]?.string == next)
    let entitlement = try await bob.json("entitlement", "show")
    #expect(entitlement["premium"]?["active"] == false && entitlement["premium"]?["reason"] == "revoked")
    #expect(entitlement["next"]?.string == next)
    for command in [["sync"], ["entitlement", "show"], ["peers"]] {
      let outcome = try await bob.run(command)
      #expect(outcome.code == 0)
      #expect((outcome.output + outcome.errors).contains("revoked"), "\(command): \(outcome)")
    }
    let output = try await bob.run(["sync"]).output
    #expect(output.hasPrefix("sync on · records stay on this device: this device was revoked by alice"))
    for command in [["sync", "now"], ["sync", "on"]] {
      try await refused(bob, command, code: 1, saying: "revoked by alice")
    }
    try await bob.stop()
    let peers = try await bob.run(["peers"])
    #expect((peers.output + peers.errors).contains("revoked"), "\(peers)")
  }
}
