import Foundation
import JSONDocument
import Membership
import Replication
import Sodium
import Testing
import WaymarkCare
import Wire

@testable import Control
@testable import NodeRuntime
@testable import Waymark

/// Promoting, renaming and leaving, as applications and commands do it.
struct MembershipCallTests {
  private func admins(_ node: Node) async throws -> [String] {
    try await node.members().filter { $0.role == .admin && !$0.isRevoked }.map(\.name).sorted()
  }

  private func row(_ name: String, on node: Node) async throws -> CircleMember {
    try #require(try await node.members().first { $0.name == name })
  }

  // MARK: Promoting

  @Test func `a promoted device invites, and revokes the device that promoted it`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let (alice, bob) = (try await circle.device("alice"), try await circle.device("bob"))
    #expect(try await refusal { _ = try await circle["bob"].invite() } == "not_admin")
    #expect(try await refusal { try await circle["bob"].promote(bob) } == "not_admin")
    let promoted = try await circle["alice"].promote(bob)
    #expect(promoted.isChanged && promoted.role == .admin && promoted.name == "bob")
    #expect(try await circle["alice"].promote(bob).isChanged == false)
    try await circle.until("bob knows that it is an admin") {
      try await admins(circle["bob"]) == ["alice", "bob"]
    }
    try await circle.join("carol", invitedBy: "bob")
    try await circle["bob"].revoke([alice])
    try await circle.until("carol knows that alice is revoked") {
      try await admins(circle["carol"]) == ["bob"]
    }
    let members = try await circle["carol"].members().filter { !$0.isRevoked }.map(\.name)
    #expect(members.sorted() == ["bob", "carol"])
  }

  @Test func `a member that was promoted keeps the device that admitted it`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob", "carol"])
    defer { circle.end() }
    let (alice, bob, carol) = (
      try await circle.device("alice"), try await circle.device("bob"), try await circle.device("carol")
    )
    try await circle["alice"].promote(bob)
    try await circle.until("bob is an admin") { try await admins(circle["bob"]).contains("bob") }
    try await circle["bob"].promote(carol)
    #expect(try await row("carol", on: circle["bob"]).admittedBy == alice)
    // By default the promotion stays, and with --with-invited it is withdrawn, but carol stays a member.
    try await circle.until("alice knows the promotion") {
      try await admins(circle["alice"]) == ["alice", "bob", "carol"]
    }
    let kept = try await circle["alice"].revocationPreview(of: [bob])
    #expect(kept.revoked.first?.invited == [])
    #expect(
      kept.notes.contains { $0.hasPrefix("made admin by bob and staying admin") && $0.hasSuffix("carol") })
    let done = try await circle["alice"].revoke([bob], withInvited: true)
    #expect(done.revoked.map(\.name) == ["bob"])
    #expect(try await admins(circle["alice"]).filter { $0 != "bob" } == ["alice"])
    #expect(try await row("carol", on: circle["alice"]).isRevoked == false)
  }

  // MARK: The warning about a single admin

  @Test func `the only admin with the root key is warned until there is a second admin`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    func notices(_ name: String) async throws -> [Reason] {
      try await circle[name].status().notices.map(\.reason)
    }
    #expect(try await !notices("alice").contains(.singleAdmin))
    try await circle.join("bob", invitedBy: "alice")
    let notice = try #require(try await circle["alice"].status().notices.first { $0.reason == .singleAdmin })
    #expect(notice.reason.severity == .warning)
    #expect(notice.next?.description.hasPrefix("waymark members promote bob, and keep a copy of ") == true)
    #expect(try await !notices("bob").contains(.singleAdmin))
    let finding = try #require(
      try await circle["alice"].examine().findings.first { $0.code == .singleAdmin })
    #expect(finding.severity == .warning && finding.check == .safety)
    let key = circle.home("alice").rootKey
    try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
    #expect(try await !notices("alice").contains(.singleAdmin))
    try FileManager.default.moveItem(atPath: key + ".away", toPath: key)
    try await circle["alice"].promote(try await circle.device("bob"))
    #expect(try await !notices("alice").contains(.singleAdmin))
  }

  @Test func `an invitation by the only admin with the root key suggests a second admin`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    func events(_ role: String) async throws -> [CommandEvent] {
      let heard = Heard<CommandEvent>()
      try await circle["alice"].run("invite", ["role": .string(role)]) { heard.note($0) }
      return heard.all
    }
    #expect(try await events("member").contains(.singleAdmin))
    #expect(try await !events("admin").contains(.singleAdmin))
    try await circle.join("bob", invitedBy: "alice")
    try await circle["alice"].promote(try await circle.device("bob"))
    #expect(try await !events("member").contains(.singleAdmin))
  }

  // MARK: Renaming

  @Test func `an admin renames devices for all, and a member can't`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let (alice, bob) = (try await circle.device("alice"), try await circle.device("bob"))
    let renamed = try await circle["alice"].renameForAll(alice, to: "desk")
    #expect(renamed.previousName == "alice" && renamed.name == "desk" && renamed.isChanged)
    try await circle["alice"].renameForAll(bob, to: "phone")
    try await circle.until("bob shows the new names") {
      try await circle["bob"].members().map(\.name).sorted() == ["desk", "phone"]
    }
    #expect(try await circle["bob"].status().name == "phone")
    #expect(try await row("desk", on: circle["bob"]).admittedBy == nil)
    #expect(try await refusal { try await circle["bob"].renameForAll(bob, to: "mine") } == "not_admin")
    for name in ["Phone", "", "a\u{200B}b", "-x"] {
      #expect(
        try await refusal { try await circle["alice"].renameForAll(alice, to: name) } == "bad_value",
        "\(name)")
    }
    #expect(try await circle["alice"].renameForAll(alice, to: "desk").isChanged == false)
    let root = URL(filePath: circle.home("alice").rootKey)
    try await circle["bob"].renameForAll(bob, to: "tablet", rootKey: root)
    #expect(try await circle["bob"].status().name == "tablet")
  }

  @Test func `a new name is shown although the old certificate is dated ahead`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let wall = Wall(systemWall() + 86_400_000)
    try await circle.restart("alice") { wall.value }
    let alice = try await circle.device("alice")
    try await circle["alice"].renameForAll(alice, to: "desk")
    wall.value -= 2 * 86_400_000
    try await circle["alice"].renameForAll(alice, to: "tower")
    #expect(try await circle["alice"].status().name == "tower")
  }

  // MARK: Leaving

  @Test func `a member leaves: an admin completes that, and no device waits for it`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    try await circle["bob"].run("settings.set", ["key": "theme", "value": "dark"])
    try await circle.inSync("alice", "bob", "carol")
    #expect(try await refusal { try await circle["bob"].leave() } == "needs_yes")
    #expect(try await circle["alice"].members().allSatisfy { !$0.isLeaving })
    let summary = try await circle["bob"].leave(isConfirmed: true)
    #expect(summary.admins.map(\.name) == ["alice"])
    try await circle.until("bob knows that it has left") {
      try await row("bob", on: circle["bob"]).state == "left"
    }
    try await circle.until("carol knows") { try await row("bob", on: circle["carol"]).state == "left" }
    #expect(try await circle["carol"].run("settings.get", ["key": "theme"])["value"] == "dark")
    #expect(try await circle["bob"].run("settings.get", ["key": "theme"])["value"] == "dark")
    #expect(
      try await refusal { try await circle["bob"].run("settings.set", ["key": "theme", "value": "x"]) }
        == "revoked")
    let notice = try #require(try await circle["bob"].status().notices.first { $0.reason == .revoked })
    #expect(notice.text.description.hasPrefix("this device left the circle"))
    for name in ["alice", "carol"] {
      let status = try await circle[name].status()
      #expect(status.notices.allSatisfy { $0.reason != .revocationUnheard }, "\(name)")
      #expect(!status.peers.contains { $0.name == "bob" }, "\(name)")
    }
    // The device can come back with a ticket, as a revoked one can.
    await circle["bob"].close()
    try await circle.join("bob", invitedBy: "alice")
    #expect(try await circle["bob"].run("settings.get", ["key": "theme"])["value"] == "dark")
  }

  @Test func `a member that leaves while no admin is near writes nothing more and is not waited for`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    try await circle.inSync("alice", "bob", "carol")
    await circle["alice"].close()
    try await circle["bob"].leave(isConfirmed: true)
    try await circle.until("carol knows") { try await row("bob", on: circle["carol"]).state == "leaving" }
    #expect(
      try await refusal { try await circle["bob"].run("settings.set", ["key": "theme", "value": "x"]) }
        == "leaving")
    #expect(try await circle["bob"].status().notices.contains { $0.reason == .leaving })
    #expect(try await !circle["carol"].status().peers.contains { $0.name == "bob" })
    await circle["bob"].close()
    // The admin learns that from carol.
    try await circle.start("alice")
    try await circle.until("alice has completed it") {
      try await row("bob", on: circle["alice"]).state == "left"
    }
    try await circle.until("carol knows that") { try await row("bob", on: circle["carol"]).state == "left" }
  }

  @Test func `the last admin stays, unless another device is promoted or the root key is elsewhere`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    #expect(try await refusal { try await circle["alice"].leave(isConfirmed: true) } == "only_device")
    try await circle.join("bob", invitedBy: "alice")
    for isConfirmed in [false, true] {
      #expect(try await refusal { try await circle["alice"].leave(isConfirmed: isConfirmed) } == "last_admin")
    }
    let key = circle.home("alice").rootKey
    try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
    #expect(try await refusal { try await circle["alice"].leave() } == "last_admin")
    try FileManager.default.moveItem(atPath: key + ".away", toPath: key)
    try await circle["alice"].promote(try await circle.device("bob"))
    try await circle.until("bob is an admin") { try await admins(circle["bob"]).contains("bob") }
    let summary = try await circle["alice"].leave(isConfirmed: true)
    #expect(summary.hasLeft && summary.told.map(\.name) == ["bob"])
    try await circle.until("bob knows") { try await row("alice", on: circle["bob"]).state == "left" }
    #expect(try await row("bob", on: circle["bob"]).isRevoked == false)
    #expect(try await row("bob", on: circle["bob"]).role == .admin)
  }

  @Test func `what a member wrote before it asked to leave is kept, even if the admin lacks it`() throws {
    let device = DeviceKey(try SigningKey())
    let (held, told) = (ChangeSetID(Bytes32(0, 0, 0, 1)), ChangeSetID(Bytes32(0, 0, 0, 2)))
    let creation = try CircleCreation(name: "alice", now: 1)
    let circle = try Circle(genesis: creation.genesis)
    let incarnation = Incarnation(Bytes16(1, 2))
    let request = Revocation(
      circle: circle.id, issuer: device, device: device,
      kept: [
        KeptLog(incarnation: incarnation, lane: .settings, tips: [told]),
        KeptLog(incarnation: incarnation, lane: .records, tips: [told]),
      ], valid: [], issued: 2)
    let statement = try circle.completion(
      of: request, held: [KeptLog(incarnation: incarnation, lane: .settings, tips: [held])],
      by: creation.identity.signing, at: 3)
    guard case .revocation(let body) = statement.content else { throw StatementError.wrongCircle }
    #expect(body.kept.map(\.tips) == [[held, told], [told]])
  }

  // MARK: Names

  @Test func `a device keeps its name when it joins another circle or is restored`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let home = circle.home("bob")
    _ = try Node.initialize(home: home, name: "desk")
    let ticket = try await circle["alice"].invite().ticket
    let joined = try await JoinOperation(home: home, ticket: ticket, name: "vm", keepsFormerName: true)
      .join(isConfirmed: true)
    #expect(joined.name == "desk")
    let node = try Node(home: home)
    let file = circle.home("backup").path
    try await node.backUp(to: URL(filePath: file))
    await node.close()
    for folder in ["bob", "new"] {
      var request = RestoreOperation.Request(file: file, name: "vm")
      request.keepsName = true
      request.foundsCircle = true
      let restored = try await RestoreOperation(home: circle.home(folder), request: request).restore(
        isConfirmed: true)
      #expect(restored.name == "desk", "\(folder)")
    }
  }

  // MARK: Waiting

  @Test func `waiting in a circle of one device ends at once`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let alice = circle["alice"]
    // Far longer than the test would wait.
    let error = try await within("waiting ends") {
      await #expect(throws: WaymarkError.self) { try await alice.waitUntilInSync(timeout: .seconds(86_400)) }
    }
    #expect(error?.code == .onlyDevice && error?.exitCode == ExitCode.notRunning)
    #expect(error?.next?.description == "waymark invite")
    #expect(try await circle["alice"].status().notInSync == nil)
  }

  @Test func `a status is in sync by the same rule as waiting, even if devices are away`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    try await circle.inSync("alice", "bob", "carol")
    await circle["carol"].close()
    try await circle.until("carol is gone") {
      try await circle["alice"].peers().contains { $0.name == "carol" && $0.state == .offline }
    }
    try await circle["alice"].waitUntilInSync()
    #expect(try await circle["alice"].status().notInSync == nil)
    await circle["bob"].close()
    try await circle.until("alice is alone") { try await circle["alice"].status().notInSync?.reason != nil }
    #expect(
      try await circle["alice"].status().notInSync?.text.description.hasPrefix("Not in sync with ") == true)
  }

  // MARK: Addresses

  @Test func `added addresses are listed with what they lead to, and removed`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let bob = try #require(try await circle["bob"].status().address)
    try await circle["alice"].run("peers.add", ["address": .string(bob)])
    // Nothing listens at port 1.
    try await circle["alice"].run("peers.add", ["address": "127.0.0.1:1"])
    try await circle.until("both addresses were dialled") {
      let addresses = try await circle["alice"].status().addresses
      return addresses.map(\.address) == [bob, "127.0.0.1:1"] && addresses.last?.failure == .dialRefused
        && addresses.first?.name == "bob" && addresses.allSatisfy(\.isSaved)
    }
    try await circle["alice"].run("peers.remove", ["address": "127.0.0.1:1"])
    let listed = try await circle["alice"].run("peers.list")["addresses"]
    #expect(listed?.array?.map { $0["address"] } == [.string(bob)])
    #expect(
      try await refusal { try await circle["alice"].removePeer(at: "127.0.0.1:1") } == "not_found")
    await circle["alice"].close()
    try await circle.start("alice")
    #expect(try await circle["alice"].status().addresses.map(\.address) == [bob])
    // Bob announces it himself, so it is dialled all the same.
    try await circle["alice"].removePeer(at: bob)
    #expect(try await circle["alice"].status().addresses == [])
    let dialled = await circle["alice"].withCore { $0.connections.peering.addresses.map(\.address) }
    #expect(dialled.contains(bob))
  }
}
