import Backups
import Foundation
import Membership
import Sodium
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// Homes that are not opened, joined or restored as they are, and that stay as they are.
struct RefusedHomeTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private func home(_ name: String, _ passphrases: PassphraseSource = giving()) -> Home {
    Home(path: folder.file(name), passphrases: passphrases)
  }

  /// A ticket whose inviter can't be reached: nothing listens at port 1.
  private func ticket(of circle: CircleID) -> Ticket {
    Ticket(
      circle: circle, transport: TransportKey(Bytes32(9, 9, 9, 9)), addresses: ["127.0.0.1:1"],
      secret: Bytes16(1, 2), expiry: systemWall() + 600_000)
  }

  @Test func `a home with the keys of another device is not opened, and stays as it is`() async throws {
    let (alice, bob) = (home("alice"), home("bob"))
    for (home, name) in [(alice, "alice"), (bob, "bob")] { _ = try Node.initialize(home: home, name: name) }
    let key = try bytes(alice.deviceKey)
    try FileManager.default.removeItem(atPath: alice.deviceKey)
    try FileManager.default.copyItem(atPath: bob.deviceKey, toPath: alice.deviceKey)
    let refused = #expect(throws: WaymarkError.self) { _ = try Node(home: alice) }
    #expect(refused?.reason == .keyMissing)
    #expect(refused?.message.description.contains("do not belong to a member of this store's circle") == true)
    #expect(try bytes(alice.deviceKey) == bytes(bob.deviceKey))
    try Files.replace(alice.deviceKey, with: key)
    let node = try Node(home: alice)
    #expect(try await node.status().name == "alice")
    await node.close()
  }

  @Test func `a join while the node runs says whether the device is in that circle already`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let home = circle.home("bob")
    let line = try await circle["alice"].invite().ticket
    let same = await #expect(throws: WaymarkError.self) {
      try await JoinOperation(home: home, ticket: line, name: "bob").join()
    }
    #expect(same?.reason == .storeHeld)
    #expect(same?.message.description.contains("already belongs to this circle") == true)
    let elsewhere = ticket(of: CircleID(Bytes32(1, 2, 3, 4))).line
    let other = await #expect(throws: WaymarkError.self) {
      try await JoinOperation(home: home, ticket: elsewhere, name: "bob").join()
    }
    #expect(other?.reason == .storeHeld)
    #expect(other?.message.description.contains("this command needs exclusive access") == true)
    #expect(!Files.exists(home.pendingJoin))
    #expect(try await circle["bob"].status().name == "bob")
  }

  @Test func `a device whose key can't be opened now is not taken for one that has lost it`() async throws {
    let alice = home("alice")
    let made = try Node.initialize(home: alice, name: "alice")
    _ = try KeyPassphrases(alice, file: nil, cost: cheap).set { try words("words of Alice") }
    let key = try bytes(alice.deviceKey)
    let line = ticket(of: made.circle).line
    for (source, reason) in [(giving(), .passphraseNeeded), (giving("words of Bob"), .wrongPassphrase)]
      as [(PassphraseSource, Reason)]
    {
      let joining = try JoinOperation(home: home("alice", source), ticket: line, name: "alice")
      let refused = await #expect(throws: WaymarkError.self) { try await joining.join(isConfirmed: true) }
      #expect(refused?.reason == reason)
      #expect(refused?.next?.description.contains("if you forgot it, move the key file away") == true)
      #expect(try bytes(alice.deviceKey) == key && !Files.exists(alice.pendingJoin))
    }
    let opened = try JoinOperation(home: home("alice", giving("words of Alice")), ticket: line, name: "alice")
    #expect(try await refusal { try await opened.join() } == "needs_yes")
    #expect(try bytes(alice.deviceKey) == key && !Files.exists(alice.pendingJoin))
  }

  @Test func `the root key admits a restored device as long as the circle has room for one more`()
    async throws
  {
    let (alice, carol, dave) = (home("alice"), home("carol"), home("dave"))
    let made = try Node.initialize(home: alice, name: "alice", wall: TestNode.morning)
    let root = try SigningKey(seed: try KeyFile.secrets(.root, at: alice.rootKey, giving()))
    // Alice, and as many others that there is room for one more.
    try admit((2..<Limits.devicesMax).map { "device \($0)" }, to: made.circle, by: root, at: alice)
    try backUp(alice, "room.waymark")
    let restored = try await restoring(carol, "room.waymark", rootKey: alice.rootKey).restore()
    #expect(restored.isAdmitted && restored.name == "carol")
    try admit(["last"], to: made.circle, by: root, at: alice)
    try backUp(alice, "full.waymark")
    let full = restoring(dave, "full.waymark", rootKey: alice.rootKey)
    #expect(try await refusal { try await full.restore() } == "circle_full")
    #expect(!Files.exists(dave.path))
    // Without the root key the device waits, because a revocation may make room.
    let waiting = try await restoring(dave, "full.waymark", rootKey: nil).restore()
    #expect(!waiting.isAdmitted && waiting.hasNewKeys)
  }

  /// Adds devices to the circle of a home that no node has open.
  private func admit(_ names: [String], to circle: CircleID, by root: SigningKey, at home: Home) throws {
    let certificates = try names.map { name in
      let identity = try Identity.generate()
      let body = DeviceCertificate(
        circle: circle, issuer: DeviceKey(root), device: identity.device, transport: identity.transportKey,
        name: name, role: .member, issued: TestNode.morning)
      return try Statement(signing: body, with: root)
    }
    try Store(path: home.store).saveStatements(certificates.map { ($0.id, $0.bytes) })
  }

  private func backUp(_ home: Home, _ name: String) throws {
    let store = try Store(path: home.store)
    let device = try Identity.load(from: home).device
    let about = try BackupAbout(of: device, called: "alice", at: TestNode.morning, store.meta)
    _ = try store.backup(to: folder.file(name), about: about)
  }

  private func restoring(_ home: Home, _ file: String, rootKey: String?) -> RestoreOperation {
    var request = RestoreOperation.Request(file: folder.file(file), name: "carol")
    request.rootKey = rootKey
    return RestoreOperation(home: home, request: request, wall: { TestNode.morning })
  }
}
