import Backups
import Foundation
import JSONDocument
import Membership
import Storage
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// What a device is after a restore: its keys, its choices, and what it still may do.
struct RestoredHomeTests {
  private let folder: Folder
  private let file: String

  init() throws {
    folder = try Folder()
    file = folder.file("alice.waymark")
  }

  private func home(_ name: String) -> Home { Home(path: folder.file(name)) }

  /// The closed home of a founder with a trip and a setting, of which there is a backup.
  private func founder() async throws -> Home {
    let alice = home("alice")
    _ = try Node.initialize(home: alice, name: "alice", wall: TestNode.morning)
    let node = try Node(home: alice, wall: { TestNode.morning })
    try await node.run("trip.add", fields("name=Rome"))
    try await node.run("settings.set", ["key": "colorScheme", "value": "dark"])
    try await node.backUp(to: URL(filePath: file))
    await node.close()
    return alice
  }

  private func restoring(
    _ home: Home, _ change: (inout RestoreOperation.Request) -> Void = { _ in }
  ) -> RestoreOperation {
    var request = RestoreOperation.Request(file: file, name: "carol")
    change(&request)
    return RestoreOperation(home: home, request: request, wall: { TestNode.morning })
  }

  private func trips(_ home: Home) async throws -> [String] {
    let node = try Node(home: home, wall: { TestNode.morning })
    let names = try await node.records(Trip.all).map(\.name)
    await node.close()
    return names
  }

  // MARK: Keys

  @Test func `a device that waits for admission keeps its new keys when it is restored again`() async throws {
    let (alice, carol) = (try await founder(), home("carol"))
    let first = try await restoring(carol).restore()
    #expect(first.hasNewKeys && !first.isAdmitted && first.name == "carol" && first.keptAt == nil)
    let second = try await restoring(carol).restore()
    #expect(!second.hasNewKeys && !second.isAdmitted && second.device == first.device)
    #expect(try Identity.load(from: carol).device == first.device)
    #expect(try await trips(carol) == ["Rome"])
    // With the root key the device gets other keys, which are admitted at once.
    let third = try await restoring(carol) { $0.rootKey = alice.rootKey }.restore()
    #expect(third.hasNewKeys && third.isAdmitted && third.device != first.device)
    #expect(try Identity.load(from: carol).device == third.device)
    #expect(!Files.exists(carol.rootKey))
    let node = try Node(home: carol, wall: { TestNode.morning })
    #expect(try await !node.status().notices.contains { $0.reason == .notAMember })
    try await node.run("trip.add", fields("name=Oslo"))
    await node.close()
  }

  @Test func `the root key stays with a founder that lost its device key, and admits it again`() async throws
  {
    let alice = try await founder()
    let root = try bytes(alice.rootKey)
    try FileManager.default.removeItem(atPath: alice.deviceKey)
    let restored = try await restoring(alice).restore()
    #expect(restored.hasNewKeys && !restored.isAdmitted && restored.keptBackup == nil)
    #expect(try bytes(alice.rootKey) == root)
    let kept = try #require(restored.keptAt)
    #expect(try bytes(kept + "/root.key") == root)
    #expect(Files.exists(kept + "/store.db") && !Files.exists(kept + "/device.key"))
    let joined = try await Readmission(home: alice, rootKey: URL(filePath: alice.rootKey), name: "host")
      .join()
    #expect(joined.device == restored.device && joined.name == "carol")
    #expect(try await trips(alice) == ["Rome"])
  }

  @Test func `the root key admits a restored device with the keys and the name that it waits with`()
    async throws
  {
    let (alice, carol, other) = (try await founder(), home("carol"), home("other"))
    let restored = try await restoring(carol).restore()
    _ = try Node.initialize(home: other, name: "other")
    let wrong = Readmission(home: carol, rootKey: URL(filePath: other.rootKey), name: "host")
    #expect(try await refusal { try await wrong.join() } == "root_key")
    let readmission = Readmission(home: carol, rootKey: URL(filePath: alice.rootKey), name: "host")
    let joined = try await readmission.join()
    #expect(joined.device == restored.device && joined.name == "carol" && joined.rewritten == 0)
    let node = try Node(home: carol, wall: { TestNode.morning })
    let own = try #require(try await node.members().first(where: \.isOwn))
    #expect(own.device == joined.device && own.role == .admin && own.name == "carol")
    try await node.run("trip.add", fields("name=Oslo"))
    await node.close()
    #expect(try await refusal { try await readmission.join() } == "already_admin")
    let nothing = Readmission(home: home("nothing"), rootKey: URL(filePath: alice.rootKey), name: "host")
    #expect(try await refusal { try await nothing.join() } == "no_store")
    #expect(!Files.exists(home("nothing").path))
  }

  @Test func `the root key of another circle admits no device, and leaves no home behind`() async throws {
    _ = try await founder()
    let other = home("other")
    _ = try Node.initialize(home: other, name: "other")
    let operation = restoring(home("carol")) { $0.rootKey = other.rootKey }
    #expect(try await refusal { try await operation.restore() } == "root_key")
    #expect(!Files.exists(home("carol").path))
  }

  @Test func `a preview creates no home and leaves no key in the key store of an app`() async throws {
    let alice = try await founder()
    let keys = NamedKeys()
    let carol = Home(path: folder.file("carol"), keys: keys)
    let preview = try await restoring(carol).preview()
    #expect(preview.isPreview && preview.hasNewKeys && preview.records == 2)
    // The restore makes other keys.
    #expect(preview.device == nil)
    #expect(keys.names == [] && !Files.exists(carol.path))
    let restored = try await restoring(carol).restore()
    let device = try #require(restored.device)
    #expect(keys.names == ["device-\(device)"])
    // These would be other keys again.
    let other = try await restoring(carol) { $0.rootKey = alice.rootKey }.preview()
    #expect(other.hasNewKeys && other.isAdmitted && other.device == nil)
    #expect(keys.names == ["device-\(device)"] && carol.keyStates.device == .kept)
    #expect(try Identity.load(from: carol).device == device)
  }

  // MARK: Choices

  @Test func `a device gets its choices back from its own backup, another device only the addresses`()
    async throws
  {
    let (alice, carol) = (try await founder(), home("carol"))
    let device = try Identity.load(from: alice).device
    let choices: [String: [UInt8]] = [
      MetaKey.preference: [1], MetaKey.addresses: Array("192.0.2.7:7433".utf8),
      MetaKey.paused: Array("\(device)".utf8), MetaKey.completedOnboarding: [1],
      MetaKey.peerNames: Array("\(device) desk".utf8),
    ]
    do {
      let store = try Store(path: alice.store)
      for (key, value) in choices { try store.setMeta(key, value) }
      let about = try BackupAbout(of: device, called: "alice", at: TestNode.morning, store.meta)
      _ = try store.backup(to: file, about: about, overwrites: true)
    }
    // The store is lost, and the keys are not.
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: alice.store + suffix) }
    let restored = try await restoring(alice).restore()
    #expect(restored.device == device && !restored.hasNewKeys && restored.isAdmitted)
    _ = try await restoring(carol).restore()
    let (own, other) = (try Store(path: alice.store), try Store(path: carol.store))
    for (key, value) in choices {
      #expect(try own.meta(key) == value, "\(key)")
      #expect(try other.meta(key) == (key == MetaKey.addresses ? value : nil), "\(key)")
    }
  }

  @Test func `the copy of the settings shows those of the backup after a restore`() async throws {
    let alice = try await founder()
    let node = try Node(home: alice, wall: { TestNode.morning })
    try await node.run("settings.set", ["key": "colorScheme", "value": "light"])
    await node.close()
    #expect(try String(contentsOfFile: alice.settings, encoding: .utf8).contains("light"))
    try await restoring(alice).restore(isConfirmed: true)
    let copy = try String(contentsOfFile: alice.settings, encoding: .utf8)
    #expect(copy.contains("dark") && !copy.contains("light"))
  }

  // MARK: What is replaced

  @Test func `a new circle in place of the present one needs a yes, even if the backup has everything`()
    async throws
  {
    let alice = try await founder()
    let (store, root) = (try bytes(alice.store), try bytes(alice.rootKey))
    let founding = restoring(alice) { $0.foundsCircle = true }
    let refused = await #expect(throws: WaymarkError.self) { try await founding.restore() }
    #expect(refused?.code == .needsYes)
    #expect(refused?.message.description.contains("the new circle would replace it") == true)
    #expect(try bytes(alice.store) == store && !Files.exists(alice.staging))
    // The same circle again discards nothing.
    let same = try await restoring(alice).restore()
    #expect(same.text == nil && same.discardedSets == 0 && !same.isNewCircle)
    #expect(try bytes(alice.rootKey) == root)
    let founded = try await founding.restore(isConfirmed: true)
    #expect(founded.isNewCircle && founded.isAdmitted && founded.circle != same.circle)
    let kept = try #require(founded.keptAt)
    #expect(try bytes(kept + "/root.key") == root && bytes(alice.rootKey) != root)
    #expect(try await trips(alice) == ["Rome"])
    // And back, from what was kept.
    var request = RestoreOperation.Request(file: try #require(founded.keptBackup), name: "carol")
    request.rootKey = kept + "/root.key"
    let back = try await RestoreOperation(home: alice, request: request, wall: { TestNode.morning })
      .restore(isConfirmed: true)
    #expect(back.circle == same.circle && back.isAdmitted && back.records == 2)
  }

  @Test func `a store that can't be read is replaced only after a yes, and what it held is unknown`()
    async throws
  {
    let alice = try await founder()
    truncate(alice.store, 0)
    let preview = try await restoring(alice).preview()
    #expect(preview.discardedSets == nil && preview.text != nil)
    #expect(try await refusal { try await restoring(alice).restore() } == "needs_yes")
    let done = try await restoring(alice).restore(isConfirmed: true)
    #expect(!done.hasNewKeys && done.isAdmitted && done.discardedSets == nil && done.keptBackup == nil)
    let kept = try #require(done.keptAt)
    #expect(Files.exists(kept + "/store.db"))
    #expect(try await trips(alice) == ["Rome"])
  }
}

/// A key store in memory.
private final class NamedKeys: KeyStore {
  private let kept = Mutex<[String: [UInt8]]>([:])

  var names: [String] { kept.withLock { $0.keys.sorted() } }

  func save(_ secret: UnsafeRawBufferPointer, as name: String) throws {
    kept.withLock { $0[name] = Array(secret) }
  }

  func read(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
    guard let secret = kept.withLock({ $0[name] }) else { return false }
    try secret.withUnsafeBytes(body)
    return true
  }
}
