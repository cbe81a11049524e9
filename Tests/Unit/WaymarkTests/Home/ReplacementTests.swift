import Foundation
import Membership
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// A home whose store and keys are replaced: what is kept, what must not be touched, and what an interruption leaves.
struct ReplacementTests {
  private let folder: Folder
  private let home: Home
  /// The complete new home that replaces the present one.
  private let staged: Home
  private let aside: String

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"))
    staged = Home(path: home.staging)
    aside = home.backups + "/before-join-20260503T080000Z"
    try home.prepare()
    try staged.prepare()
  }

  private func write(_ text: String, _ paths: String...) throws {
    for path in paths { try Files.create(path, Array(text.utf8), mode: 0o600) }
  }

  private func content(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

  /// Says that the new home is complete, as a process does that then ends.
  private func commit(_ circle: String = "other circle") throws {
    try write("\(circle)\n\(aside)\n", home.staging + "/ready")
  }

  @Test(arguments: [true, false])
  func `the root key stays only if the circle stays, and all old keys and files are kept among the backups`(
    isSameCircle: Bool
  ) throws {
    try write("old", home.store, home.deviceKey, home.rootKey, home.issuerKey)
    try write("new", staged.store, staged.deviceKey)
    try Files.makeFolder(home.files)
    try write("old", home.files + "/picture")
    do {
      let lock = try HomeLock(home)
      defer { lock.release() }
      try home.replace(Replacement(aside: aside, isSameCircle: isSameCircle), at: 0, under: lock)
    }
    #expect(content(home.store) == "new" && content(home.deviceKey) == "new")
    for file in [home.rootKey, home.issuerKey] { #expect(content(file) == (isSameCircle ? "old" : nil)) }
    for name in ["store.db", "device.key", "root.key", "issuer.key", "files/picture"] {
      #expect(content("\(aside)/\(name)") == "old", "\(name)")
    }
    // Not even the files of the old store are left next to the new one.
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.files) == [])
    #expect(!Files.exists(home.staging) && !home.isReplacing)
  }

  /// A restore on the same device replaces the store only. A copy of the keys would be one more that is not sealed.
  @Test func `a new store without new keys leaves the keys where they are, and copies none`() throws {
    try write("old", home.store, home.deviceKey, home.rootKey, home.issuerKey)
    try write("new", staged.store)
    try commit()
    try home.finishReplacing(at: 0)
    #expect(content(home.store) == "new" && content(aside + "/store.db") == "old")
    for file in [home.deviceKey, home.rootKey, home.issuerKey] { #expect(content(file) == "old") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: aside) == ["store.db"])
  }

  /// The moments when a process may end while keys are replaced too; the raw value is the number of moved files.
  enum Stop: Int, CaseIterable { case keysCopied, oldStoreMoved, newStoreMoved, deviceKeyMoved, rootKeyMoved }

  @Test(arguments: Stop.allCases)
  func `a replacement with new keys is finished wherever the process ended`(_ stop: Stop) throws {
    let keys = [home.deviceKey, home.rootKey, home.issuerKey]
    for file in [home.store] + keys { try write("old", file) }
    try write("new", staged.store, staged.deviceKey, staged.rootKey, staged.issuerKey)
    try commit()
    try home.createFolder(aside)
    for file in keys {
      try FileManager.default.copyItem(atPath: file, toPath: "\(aside)/\(Files.name(of: file))")
    }
    for file in keys.dropFirst() { try FileManager.default.removeItem(atPath: file) }
    let moves = [
      (home.store, aside + "/store.db"), (staged.store, home.store), (staged.deviceKey, home.deviceKey),
      (staged.rootKey, home.rootKey),
    ]
    for (from, to) in moves.prefix(stop.rawValue) { try Files.move(from, to: to) }
    // The second time there is nothing to do.
    for _ in 0..<2 {
      try home.finishReplacing(at: 0)
      for file in [home.store] + keys { #expect(content(file) == "new", "\(file)") }
      for name in ["store.db", "device.key", "root.key", "issuer.key"] {
        #expect(content("\(aside)/\(name)") == "old", "\(name)")
      }
      #expect(!Files.exists(home.staging))
    }
  }

  /// If the database were moved first, a later attempt would leave its log to the new store.
  @Test func `a database is moved after its log, so that a move that failed can be repeated`() throws {
    try write("old", home.store)
    try write("old log", home.store + "-wal")
    try write("new", staged.store)
    try commit("same circle")
    // A folder is in the way of the log.
    try home.createFolder(aside)
    try Files.makeFolder(aside + "/store.db-wal")
    #expect(throws: WaymarkError.self) { try home.finishReplacing(at: 0) }
    #expect(content(home.store) == "old" && content(home.store + "-wal") == "old log")
    #expect(content(staged.store) == "new" && home.isReplacing)
    try FileManager.default.removeItem(atPath: aside + "/store.db-wal")
    try home.finishReplacing(at: 0)
    #expect(content(home.store) == "new" && !Files.exists(home.store + "-wal"))
    #expect(content(aside + "/store.db") == "old" && content(aside + "/store.db-wal") == "old log")
  }

  @Test(arguments: ["", "same circle\n", "other circle\n/a\n/b\n"])
  func `a replacement is finished even if its marker is damaged, and nothing old is lost`(
    marker: String
  ) throws {
    try write("old", home.store, home.deviceKey, home.rootKey)
    try write("new", staged.store, staged.deviceKey)
    try write(marker, home.staging + "/ready")
    try home.finishReplacing(at: 0)
    #expect(content(home.store) == "new" && content(home.deviceKey) == "new" && !Files.exists(home.staging))
    for name in ["store.db", "device.key", "root.key"] {
      #expect(content("\(home.backups)/before-join-19700101T000000Z/\(name)") == "old", "\(name)")
    }
  }

  @Test
  func `all keys that are found without a store are moved away, and none is reported if there were none`()
    throws
  {
    let lock = try HomeLock(home)
    defer { lock.release() }
    #expect(try home.moveFormerKeys(at: 0, under: lock) == nil)
    try write("old", home.issuerKey)
    let first = try #require(try home.moveFormerKeys(at: 0, under: lock))
    try write("older", home.deviceKey, home.rootKey, home.issuerKey)
    // In the same second, and into another folder.
    let second = try #require(try home.moveFormerKeys(at: 0, under: lock))
    #expect(try FileManager.default.contentsOfDirectory(atPath: first) == ["issuer.key"])
    for name in ["device.key", "root.key", "issuer.key"] { #expect(content("\(second)/\(name)") == "older") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.keys) == [])
  }

  // MARK: A replacement that waits

  /// What a person may do next with a home whose join ended just before its last step.
  enum Use: CaseIterable { case founding, join, preview, restore, readmission }

  @Test(arguments: Use.allCases)
  func `a replacement that is complete is finished before any other use of the home, and never discarded`(
    _ use: Use
  ) async throws {
    _ = try Node.initialize(home: staged, name: "new")
    let root = folder.file("root.key")
    try FileManager.default.copyItem(atPath: staged.rootKey, toPath: root)
    try commit()
    let file = URL(filePath: folder.file("other.waymark"))
    if [.preview, .restore].contains(use) {
      let other = try Node.inMemory(name: "other")
      try await other.backUp(to: file)
      await other.close()
    }
    switch use {
    case .founding:
      #expect(try await refusal { _ = try Node.initialize(home: home, name: "other") } == "already_there")
    case .join:
      // Nothing listens at port 1.
      let ticket = Ticket(
        circle: CircleID(Bytes32(1, 2, 3, 4)), transport: TransportKey(Bytes32(9, 9, 9, 9)),
        addresses: ["127.0.0.1:1"], secret: Bytes16(1, 2), expiry: systemWall() + 600_000)
      let joining = try JoinOperation(home: home, ticket: ticket.line, name: "bob")
      #expect(try await refusal { try await joining.join() } == "unreachable")
    case .preview:
      let preview = try await RestoreOperation(home: home, backup: file, name: "bob").preview()
      #expect(preview.text != nil, "the preview does not mention the store that would be replaced")
    case .restore:
      let restoring = RestoreOperation(home: home, backup: file, name: "bob")
      #expect(try await refusal { try await restoring.restore() } == "needs_yes")
    case .readmission:
      let readmission = Readmission(home: home, rootKey: URL(filePath: root), name: "bob")
      #expect(try await refusal { try await readmission.join() } == "already_admin")
    }
    #expect(home.hasStore && !Files.exists(home.staging))
    let node = try Node(home: home)
    #expect(try await node.status().name == "new")
    await node.close()
  }
}
