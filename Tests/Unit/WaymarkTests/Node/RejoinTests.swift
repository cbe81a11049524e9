import Foundation
import Membership
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// Joining once more: with the same ticket, as a member, or after an interruption.
struct RejoinTests {
  /// A ticket whose inviter can't be reached: nothing listens at port 1.
  private func ticket(
    of circle: CircleID, expiring expiry: Int64 = systemWall() + 600_000, number: UInt64 = 1
  ) -> Ticket {
    Ticket(
      circle: circle, transport: TransportKey(Bytes32(9, 9, 9, 9)), addresses: ["127.0.0.1:1"],
      secret: Bytes16(number, 2), expiry: expiry)
  }

  private let elsewhere = CircleID(Bytes32(1, 2, 3, 4))

  /// Joins, and then again with the same ticket, but without the inviter.
  private func join(
    _ home: Home, invitedBy inviter: Node, keepsName: Bool = false
  ) async throws -> NewMembership {
    let line = try await inviter.invite().ticket
    let joined = try await JoinOperation(
      home: home, ticket: line, name: "bob", keepsFormerName: keepsName
    ).join()
    #expect(!joined.wasMember && joined.formerMember == nil)
    var ticket = try Ticket(line: line)
    ticket.addresses = ["127.0.0.1:1"]
    let again = try await JoinOperation(home: home, ticket: ticket.line, name: "bob").join()
    #expect(again.wasMember && again.device == joined.device && again.name == joined.name)
    #expect(again.circle == joined.circle && !Files.exists(home.pendingJoin))
    return joined
  }

  @Test func `a ticket is recognised by the device that joined with it, however that came about`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let (alice, bob, carol) = (circle["alice"], circle.home("bob"), circle.home("carol"))
    let first = try await join(bob, invitedBy: alice)
    #expect(first.name == "bob")
    // The store is there, and the keys are lost.
    try FileManager.default.removeItem(atPath: bob.deviceKey)
    let second = try await join(bob, invitedBy: alice)
    #expect(second.device != first.device && second.name == "bob 2")
    // The store comes from a backup, and the device waits for admission under another name.
    let file = URL(filePath: circle.home("backup").path)
    try await alice.backUp(to: file)
    let restored = try await RestoreOperation(home: carol, backup: file, name: "carol").restore()
    let third = try await join(carol, invitedBy: alice, keepsName: true)
    #expect(third.device == restored.device && third.name == "carol" && third.rewritten == 0)
    #expect(try await alice.members().map(\.name).sorted() == ["alice", "bob", "bob 2", "carol"])
  }

  @Test func `a member that can't ask the inviter stays a member, and becomes another one only after a yes`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let (alice, home) = (circle["alice"], circle.home("bob"))
    let bob = try await circle.device("bob")
    await circle["bob"].close()
    let key = try bytes(home.deviceKey)
    let status = try await alice.status()
    let alone = try JoinOperation(home: home, ticket: ticket(of: status.circle).line, name: "bob")
    #expect(try await refusal { try await alone.join() } == "needs_yes")
    #expect(!Files.exists(home.pendingJoin))
    #expect(try await refusal { try await alone.join(isConfirmed: true) } == "unreachable")
    #expect(try bytes(home.deviceKey) == key && !Files.exists(home.staging))
    #expect(try await alice.members().count == 2)
    // The keys that were made for that attempt are used by the next one.
    let pending = try Identity.load(from: home.moved(to: home.pendingJoin)).device
    let joining = try JoinOperation(home: home, ticket: try await alice.invite().ticket, name: "bob")
    #expect(try await refusal { try await joining.join() } == "needs_yes")
    let joined = try await joining.join(isConfirmed: true)
    #expect(joined.device == pending && joined.name == "bob 2")
    #expect(joined.formerMember == DeviceReference(device: bob, name: "bob"))
    #expect(try await alice.members().count == 3 && !Files.exists(home.pendingJoin))
    try await circle.start("bob")
    #expect(try await circle["bob"].status().device == pending)
  }

  @Test func `a member that the root key makes an admin keeps its keys, and gets a new name only on request`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob", "carol"])
    defer { circle.end() }
    let root = URL(filePath: circle.home("alice").rootKey)
    for (name, renames) in [("bob", false), ("carol", true)] {
      let device = try await circle.device(name)
      let admission = Readmission(home: circle.home(name), rootKey: root, name: "desk", renames: renames)
      await circle[name].close()
      let joined = try await admission.join()
      #expect(joined.device == device && joined.name == (renames ? "desk" : name))
      let node = try await circle.start(name)
      let own = try #require(try await node.members().first(where: \.isOwn))
      #expect(own.role == .admin && own.device == device && own.name == joined.name)
    }
  }

  // MARK: Tickets and names

  @Test func `a ticket counts until the millisecond before it expires`() throws {
    let home = try TestHome()
    let line = ticket(of: elsewhere, expiring: 1_000_000).line
    for (now, expected) in [(999_999, nil), (1_000_000, .ticketExpired), (1_000_001, .ticketExpired)]
      as [(Int64, Reason?)]
    {
      let found = code { _ = try JoinOperation(home: home.home, ticket: line, name: "bob", wall: { now }) }
      #expect(found == expected, "\(now)")
    }
    #expect(!Files.exists(home.home.path))
  }

  @Test(
    arguments: [
      ("bob", nil), (" bob ", nil), (String(repeating: "b", count: 64), nil), ("ä", nil),
      (String(repeating: "b", count: 65), .badValue), (String(repeating: "ä", count: 33), .badValue),
      ("", .badValue), ("  ", .badValue), ("a\nb", .badValue), ("a\u{200B}b", .badValue),
    ] as [(String, Reason?)])
  func `a name that the circle would refuse is refused before the ticket is used`(
    name: String, expected: Reason?
  ) throws {
    let home = try TestHome()
    let line = ticket(of: elsewhere).line
    #expect(code { _ = try JoinOperation(home: home.home, ticket: line, name: name) } == expected)
  }

  @Test func `an interrupted join is continued with the newest ticket of its circle until that expires`()
    throws
  {
    let folder = try Folder()
    let home = Home(path: folder.file("home"))
    try home.prepare()
    #expect(JoinOperation.pendingTicket(in: home) == nil)
    let (first, second) = (ticket(of: elsewhere), ticket(of: elsewhere, number: 2))
    let pending = PendingJoin(home)
    let device = try pending.identity(for: first).identity.device
    #expect(JoinOperation.pendingTicket(in: home) == first.line)
    // The process starts again.
    let again = try PendingJoin(home).identity(for: second)
    #expect(again.identity.device == device && !again.isNew)
    #expect(JoinOperation.pendingTicket(in: home) == second.line)
    let past = ticket(of: elsewhere, expiring: systemWall() - 1, number: 3)
    #expect(try pending.identity(for: past).identity.device == device)
    #expect(JoinOperation.pendingTicket(in: home) == nil)
    // Keys that the disk has damaged are of no use.
    let key = home.moved(to: home.pendingJoin).deviceKey
    try Data("no key".utf8).write(to: URL(filePath: key))
    let other = try pending.identity(for: first)
    #expect(other.isNew && other.identity.device != device)
    #expect(JoinOperation.pendingTicket(in: home) == first.line)
    #expect(try Identity.load(from: home.moved(to: home.pendingJoin)).device == other.identity.device)
    #expect(mode(home.pendingJoin + "/ticket") == 0o600, "a ticket is a secret")
  }

  @Test func `what a join brings along is counted only for another circle, and nothing changes`() async throws
  {
    let folder = try Folder()
    let home = Home(path: folder.file("home"))
    let far = try JoinOperation(home: home, ticket: ticket(of: elsewhere).line, name: "bob")
    #expect(try await far.preview() == nil)
    #expect(!Files.exists(home.path))
    let made = try Node.initialize(home: home, name: "bob")
    let node = try Node(home: home)
    let rome = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    let gone = try await node.save(Trip(name: "Gone"))
    try await node.delete(gone)
    #expect(try await refusal { _ = try await far.preview() } == "store_held")
    await node.close()
    let preview = try #require(try await far.preview())
    #expect(preview.total == 2)
    #expect(
      Set(preview.counts.map(\.kind)) == [.trip, .lodging] && preview.counts.allSatisfy { $0.count == 1 })
    let own = try JoinOperation(home: home, ticket: ticket(of: made.circle).line, name: "bob")
    #expect(try await own.preview() == nil)
    #expect(!Files.exists(home.staging) && !Files.exists(home.pendingJoin))
    let again = try Node(home: home)
    #expect(try await again.status().circle == made.circle)
    await again.close()
  }
}
