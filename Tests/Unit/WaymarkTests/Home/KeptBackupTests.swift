import Foundation
import Platform
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// What is in the backups folder, and which backup an error points to.
struct KeptBackupTests {
  private let folder: Folder
  private let home: Home

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"))
    try home.prepare()
    try Files.makeFolder(home.backups)
  }

  private func path(_ name: String) -> String { "\(home.backups)/\(name)" }

  /// A backup of another node, in another folder.
  private func backup() async throws -> String {
    let other = Home(path: folder.file("other"))
    _ = try Node.initialize(home: other, name: "alice", wall: TestNode.morning)
    let node = try Node(home: other, wall: { TestNode.morning })
    let file = folder.file("other.waymark")
    try await node.backUp(to: URL(filePath: file))
    await node.close()
    return file
  }

  private func put(_ file: String, at name: String, daysAgo days: Double) throws {
    if let slash = name.firstIndex(of: "/") { try Files.makeFolder(path(String(name[..<slash]))) }
    try FileManager.default.copyItem(atPath: file, toPath: path(name))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -86_400 * days)], ofItemAtPath: path(name))
  }

  @Test func `two automatic backups of one second have two names, even while the first is being written`()
    throws
  {
    let first = try home.automaticBackup(before: "mirror", at: TestNode.morning)
    #expect(first == path("before-mirror-20260503T080000Z.waymark"))
    Home.beginWriting(first)
    let second = try home.automaticBackup(before: "mirror", at: TestNode.morning)
    #expect(second == path("before-mirror-20260503T080000Z-2.waymark"))
    try Files.create(second, [1], mode: 0o600)
    #expect(
      try home.automaticBackup(before: "mirror", at: TestNode.morning)
        == path("before-mirror-20260503T080000Z-3.waymark"))
    // A write that failed leaves its name to the next one.
    Home.endWriting(first)
    #expect(try home.automaticBackup(before: "mirror", at: TestNode.morning) == first)
    #expect(try home.automaticBackup(before: "mirror", at: TestNode.morning + 1_000) != first)
  }

  @Test func `the newest backup that can be read is found, in a folder too, among the newest five`()
    async throws
  {
    let real = try await backup()
    let broken = try folder.write(Array("no backup".utf8), "broken")
    #expect(home.newestBackup()?.path == nil)
    try put(real, at: "mine.waymark", daysAgo: 9)
    #expect(home.newestBackup()?.path == path("mine.waymark"))
    try put(real, at: "before-mirror-1.waymark", daysAgo: 8)
    #expect(home.newestBackup()?.path == path("before-mirror-1.waymark"))
    try put(real, at: "before-restore-1/store.waymark", daysAgo: 7)
    // It has another name than a backup.
    try put(real, at: "before-restore-1/other.db", daysAgo: 1)
    try put(real, at: "other.db", daysAgo: 1)
    for number in 1...4 { try put(broken, at: "broken-\(number).waymark", daysAgo: Double(number)) }
    let found = try #require(home.newestBackup())
    #expect(found.path == path("before-restore-1/store.waymark") && found.created == TestNode.morning)
    // A person does not wait while hundreds of files are opened.
    try put(broken, at: "broken-5.waymark", daysAgo: 5)
    #expect(home.newestBackup()?.path == nil)
  }

  @Test func `the advice to restore says how old the newest backup is, in the largest unit that fits`()
    async throws
  {
    let without = home.restoreAdvice(now: TestNode.morning).description
    #expect(without.contains("waymark restore FILE") && without.contains("waymark join TICKET"))
    try put(try await backup(), at: "mine.waymark", daysAgo: 0)
    let (minute, hour) = (Int64(60_000), Int64(3_600_000))
    for (age, text) in [
      (-hour, "0 minutes"), (minute - 1, "0 minutes"), (minute, "1 minute"), (2 * hour - 1, "119 minutes"),
      (2 * hour, "2 hours"), (48 * hour - 1, "47 hours"), (48 * hour, "2 days"), (72 * hour - 1, "2 days"),
    ] {
      let advice = home.restoreAdvice(now: TestNode.morning + age).description
      #expect(
        advice.hasPrefix("waymark restore \(path("mine.waymark")), the newest backup here"), "\(advice)")
      #expect(advice.hasSuffix(", \(text) old"), "\(advice)")
    }
  }

  @Test func `kept backups are listed with what can be restored from them, the newest first`() async throws {
    let real = try await backup()
    try put(real, at: "mine.waymark", daysAgo: 0)
    try put(real, at: "before-restore-1/store.waymark", daysAgo: 0)
    try Files.makeFolder(path("before-restore-1/files"))
    try Files.create(path("before-restore-1/files/picture"), [1, 2, 3], mode: 0o600)
    try Files.makeFolder(path("before-join-1"))
    try Files.create(path("before-join-1/store.db"), [1, 2], mode: 0o600)
    try Files.create(path(".hidden"), [1], mode: 0o600)
    let earlier = Date(milliseconds: TestNode.morning - 86_400_000)
    try FileManager.default.setAttributes([.modificationDate: earlier], ofItemAtPath: path("before-join-1"))
    let size = try #require(Files.size(real))
    let kept = home.keptBackups
    #expect(kept.map(\.name) == ["mine.waymark", "before-restore-1", "before-join-1"])
    #expect(kept.map(\.isAutomatic) == [false, true, true])
    #expect(kept.map(\.isFolder) == [false, true, true])
    #expect(kept.map(\.bytes) == [size, size + 3, 2])
    #expect(
      kept.map(\.restorable) == [path("mine.waymark"), path("before-restore-1/store.waymark"), nil])
    // The time at which a backup was made, not that of the file, which may be a copy.
    let morning = Date(milliseconds: TestNode.morning)
    #expect(kept.map(\.created) == [morning, morning, earlier])
  }

  /// A device that joined has no root key, so any that it finds may be the only one.
  @Test func `on a device without a root key every copy of one is kept`() throws {
    for number in 1...7 {
      try Files.makeFolder(path("before-join-\(number)"))
      try Files.create(path("before-join-\(number)/store.db"), [1], mode: 0o600)
      if number > 5 { try Files.create(path("before-join-\(number)/root.key"), [UInt8(number)], mode: 0o600) }
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -86_400 * Double(number))],
        ofItemAtPath: path("before-join-\(number)"))
    }
    #expect(home.pruneAutomaticBackups() == [])
    // Once this home has one of them as its own, the copy of that one is of no further use.
    try Files.create(home.rootKey, [7], mode: 0o600)
    #expect(home.pruneAutomaticBackups() == ["before-join-7"])
    // Folders and files are counted apart.
    try Files.create(path("before-mirror-1.waymark"), [1], mode: 0o600)
    #expect(home.prunable(keepingFiles: 1, folders: 6) == [])
    #expect(home.prunable(keepingFiles: 0, folders: 6) == ["before-mirror-1.waymark"])
    #expect(home.removeBackups(["before-join-5", "none"]) == ["before-join-5"])
  }
}
