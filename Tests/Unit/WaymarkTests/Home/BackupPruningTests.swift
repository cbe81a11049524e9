import Foundation
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import NodeRuntime
@testable import Waymark

/// Of the copies that joins, restores and repairs leave, only the newest are kept.
struct BackupPruningTests {
  private let home: Home

  init() throws {
    home = try TestHome().home
    _ = try Node.initialize(home: home, name: "alice")
    try Files.makeFolder(home.backups)
  }

  private func age(_ name: String, days: Int) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -86_400 * Double(days))],
      ofItemAtPath: "\(home.backups)/\(name)")
  }

  private func folder(_ name: String, days: Int, rootKey: [UInt8]? = nil) throws {
    try Files.makeFolder("\(home.backups)/\(name)")
    try Files.create("\(home.backups)/\(name)/store.db", [1], mode: 0o600)
    if let rootKey { try Files.create("\(home.backups)/\(name)/root.key", rootKey, mode: 0o600) }
    try age(name, days: days)
  }

  private var names: Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: home.backups)) ?? [])
  }

  @Test func `the newest five folders and ten files are kept, and so are the user's own files`() throws {
    for number in 1...8 { try folder("before-join-\(number)", days: number) }
    for number in 1...12 {
      try Files.create("\(home.backups)/before-mirror-\(number).waymark", [1], mode: 0o600)
      try age("before-mirror-\(number).waymark", days: number)
    }
    try folder("mine", days: 900)
    try Files.create("\(home.backups)/mine.waymark", [1], mode: 0o600)
    let removed = home.pruneAutomaticBackups()
    let old =
      (6...8).map { "before-join-\($0)" } + (11...12).map { "before-mirror-\($0).waymark" }
    #expect(Set(removed) == Set(old))
    #expect(names.isDisjoint(with: old))
    #expect(names.count == 5 + 10 + 2)
    #expect(home.pruneAutomaticBackups().isEmpty)
    let kept = home.keptBackups
    #expect(kept.count == 17 && kept.count { !$0.isAutomatic } == 2)
    #expect(kept.allSatisfy { $0.restorable == nil && $0.bytes == 1 })
    let prunable = home.prunable(keepingFiles: 3, folders: 3)
    #expect(prunable.count == 7 + 2 && !prunable.contains { $0.hasPrefix("mine") })
    #expect(home.removeBackups(prunable) == prunable && home.keptBackups.count == 8)
  }

  @Test func `the only copy of a root key is never removed`() throws {
    let own = try Array(Data(contentsOf: URL(filePath: home.rootKey)))
    try folder("before-init-1", days: 100, rootKey: Array("another circle's".utf8))
    try folder("before-restore-1", days: 101, rootKey: own)
    for number in 1...5 { try folder("before-join-\(number)", days: number) }
    #expect(home.pruneAutomaticBackups() == ["before-restore-1"])
    #expect(names.contains("before-init-1"))
  }

  @Test func `a node that starts serving removes old copies, and logs each removal`() async throws {
    for number in 1...6 { try folder("before-join-\(number)", days: number) }
    let lines = Mutex<[String]>([])
    let node = try await Node.open(
      home, name: "alice", log: NodeLog { _, _, line in lines.withLock { $0.append(line) } })
    try await node.serve(listen: "127.0.0.1:0")
    await node.close()
    #expect(!names.contains("before-join-6") && names.contains("before-join-5"))
    #expect(lines.withLock { $0 }.contains { $0.contains("before-join-6") })
  }
}
