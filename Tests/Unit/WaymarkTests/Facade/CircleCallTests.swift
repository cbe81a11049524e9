import Foundation
import JSONDocument
import Membership
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Inviting, joining, and revoking, as applications do it.
struct CircleCallTests {
  @Test func `a device joins with a ticket, and keeps its data`() async throws {
    let circle = try await SocketCircle.premium(["alice"], syncing: ["alice"])
    defer { circle.end() }
    let invitation = try await circle["alice"].invite(as: .admin, for: .seconds(120))
    #expect(invitation.expires.timeIntervalSinceNow > 60)
    let home = circle.home("bob")
    let before = try Node.initialize(home: home, name: "bob")
    let alone = try Node(home: home)
    _ = try await alone.run("habit.add", fields("name=Water"))
    await alone.close()
    let joining = try JoinOperation(home: home, ticket: invitation.ticket, name: "bob")
    let preview = try #require(try await joining.preview())
    #expect(preview.counts.map(\.kind) == [.habit] && preview.total == 1)
    let joined = try await joining.join()
    #expect(joined.circle != before.circle && joined.name == "bob")
    // A call after the join is answered too.
    let joiner = try await circle["alice"].waitForJoiner(timeout: .seconds(120))
    #expect(joiner == DeviceReference(device: joined.device, name: "bob"))
    try await circle.start("bob")
    #expect(try await circle["bob"].status().counts.habits == 1)
    let members = try await circle["alice"].members()
    #expect(members.map(\.name) == ["alice", "bob"] && members.map(\.role) == [.admin, .admin])
    #expect(members.map(\.isOwn) == [true, false] && members.last?.admittedBy == members.first?.device)
  }

  @Test func `a device joins with a code, and a wrong code or name changes nothing`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let (alice, home) = (circle["alice"], circle.home("bob"))
    let invitation = try await alice.inviteByCode(as: .admin, for: .seconds(300))
    #expect(invitation.code.count == 7 && invitation.expires.timeIntervalSinceNow > 60)
    let address = try #require(invitation.address)
    let wrong = invitation.code.hasPrefix("000") ? "111 111" : "000 000"
    for (code, name) in [("48291", "bob"), (wrong, "")] {
      let refused = await #expect(throws: WaymarkError.self) {
        try await JoinOperation(home: home, code: code, at: address, name: name)
      }
      #expect(refused?.code == .badValue)
    }
    let refused = await #expect(throws: WaymarkError.self) {
      try await JoinOperation(home: home, code: wrong, at: address, name: "bob")
    }
    // An invalid code and an invalid name were found here, so this was the first try.
    #expect(refused?.code == .wrongCode && refused?.message.description.contains("2 tries are left") == true)
    #expect(!Files.exists(home.path))
    let joined = try await JoinOperation(
      home: home, code: invitation.code, at: address, name: "bob"
    ).join()
    let joiner = try await alice.waitForJoiner(timeout: .seconds(120))
    #expect(joiner == DeviceReference(device: joined.device, name: "bob"))
    #expect(try await alice.members().map(\.role) == [.admin, .admin])
    await #expect(throws: WaymarkError.self) { try await alice.inviteByCode(for: .seconds(601)) }
  }

  @Test func `an invitation waits for a device that joins after it`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    let invitation = try await alice.invite()
    #expect(try await alice.waitForJoiner(timeout: .zero) == nil, "bob has joined before")
    let joined = try await JoinOperation(
      home: circle.home("carol"), ticket: invitation.ticket, name: "carol"
    ).join()
    let joiner = try await alice.waitForJoiner(timeout: .seconds(120))
    #expect(joiner == DeviceReference(device: joined.device, name: "carol"))
  }

  @Test func `if another node now has an address of the inviter, the next one is tried`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let stranger = try await SocketCircle.make(["eve"])
    defer { stranger.end() }
    var ticket = try Ticket(line: try await circle["alice"].invite().ticket)
    let other = try Ticket(line: try await stranger["eve"].invite().ticket)
    ticket.addresses = other.addresses + ticket.addresses
    let joined = try await JoinOperation(home: circle.home("bob"), ticket: ticket.line, name: "bob").join()
    #expect(joined.name == "bob")
  }

  @Test func `a node with more addresses than a statement holds announces as many as fit`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.node.announceAddresses((1...40).map { "192.0.2.\($0):7433" })
    let own = try await alice.node.status().device
    let announced = await alice.node.circle.addresses(of: own)
    #expect(announced.count == Limits.addressesMax)
    await alice.close()
  }

  @Test func `an invalid or expired ticket is refused before anything is changed`() async throws {
    let home = try TestHome()
    #expect(throws: WaymarkError.self) { try JoinOperation(home: home.home, ticket: "waymark", name: "bob") }
    let alice = try await TestNode.founder("alice")
    #expect(try await refusal { _ = try await alice.node.invite() } == "not_running")
    for lifetime in [.zero, .seconds(-1), .seconds(Int64.max), .seconds(4_000 * 86_400)] as [Duration] {
      #expect(
        try await refusal { _ = try await alice.node.invite(for: lifetime) } == "bad_value", "\(lifetime)")
    }
    await alice.close()
  }

  @Test func `a device is revoked after a preview of the consequences`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    let (alice, bob) = (try await circle.device("alice"), try await circle.device("bob"))
    _ = try await circle.add("bob", "trip", "name=Rome")
    try await circle.inSync("alice", "bob", "carol")
    let preview = try await circle["alice"].revocationPreview(of: [bob])
    #expect(!preview.isDone && preview.revoked.map(\.device) == [bob])
    #expect(preview.revoked.first?.changeSets ?? 0 > 0 && preview.text.description.contains("Revoke bob?"))
    #expect(try await circle["alice"].members().allSatisfy { !$0.isRevoked })
    #expect(try await refusal { try await circle["alice"].revoke([alice]) } == "own_device")
    let done = try await circle["alice"].revoke([bob])
    #expect(done.isDone && done.byName == "this device")
    try await circle.until("carol has heard") {
      try await circle["carol"].members().contains { $0.device == bob && $0.isRevoked }
    }
    let revoked = try #require(try await circle["carol"].members().first(where: \.isRevoked))
    #expect(revoked.revocations.map(\.by) == [alice] && revoked.revocations.map(\.byName) == ["alice"])
    #expect(try await circle["carol"].status().counts.trips == 1)
    #expect(try await circle["alice"].revoke([bob]).already.map(\.device) == [bob])
  }

  @Test func `what a revoked device wrote is discarded on all devices`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    let bob = try await circle.device("bob")
    _ = try await circle.add("bob", "trip", "name=Rome")
    _ = try await circle.add("alice", "trip", "name=Oslo")
    try await circle.inSync("alice", "bob", "carol")
    let preview = try await circle["alice"].revocationPreview(of: [bob], discarding: true)
    #expect(preview.isDiscarding && preview.revoked.first?.lastChanged == 1)
    #expect(preview.text.description.contains("discard everything that it wrote"))
    let done = try await circle["alice"].revoke([bob], discarding: true)
    #expect(done.isDone && done.revoked.first?.keptLogs == 0)
    #expect(try await circle["alice"].status().counts.trips == 1)
    try await circle.until("carol has discarded it too") {
      try await circle["carol"].status().counts.trips == 1
    }
  }

  @Test func `an admin grants room, and all devices see it`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let (alice, bob) = (try await circle.device("alice"), try await circle.device("bob"))
    _ = try await circle.add("bob", "trip", "name=Rome")
    try await circle.inSync("alice", "bob")
    let granted = try await circle["alice"].grant(2 << 30, to: bob)
    #expect(granted.quota == 2 << 30 && granted.previous == 1 << 30 && granted.bytes > 0)
    _ = try await circle["alice"].grant(8 << 20, to: alice, of: .settings)
    try await circle.until("bob has received both grants") {
      let members = try await circle["bob"].members()
      return members.first { $0.device == bob }?.usage.last?.quota == 2 << 30
        && members.first { $0.device == alice }?.usage.first?.quota == 8 << 20
    }
    #expect(try await refusal { try await circle["alice"].grant(2 << 30, to: bob) } == "bad_value")
    #expect(try await refusal { try await circle["alice"].grant(1 << 51, to: bob) } == "bad_value")
    #expect(try await refusal { try await circle["bob"].grant(4 << 30, to: bob) } == "not_admin")
  }

  @Test func `a revoked device keeps everything it wrote, also after its disk has failed`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let bob = try await circle.device("bob")
    _ = try await circle.add("bob", "trip", "name=Rome")
    try await circle.inSync("alice", "bob")
    try await circle.run("bob", "sync.off")
    // For all others its log ends before this.
    _ = try await circle.add("bob", "trip", "name=Oslo")
    try await circle["alice"].revoke([bob])
    try await circle.until("bob has heard") {
      try await circle["bob"].members().contains { $0.device == bob && $0.isRevoked }
    }
    await circle["bob"].close()
    let home = circle.home("bob")
    home.markSuspect()
    let node = try await Node.open(home, name: "bob")
    #expect(try await node.status().counts.trips == 2)
    await node.close()
  }
}

extension Node {
  fileprivate func announceAddresses(_ addresses: [String]) throws {
    try core.connections.announce(addresses)
  }
}
