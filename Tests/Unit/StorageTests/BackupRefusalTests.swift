import Backups
import Foundation
import Replication
import SQLite
import Storage
import Testing
import Wire

/// Files that can't be used as a backup, and the reason for it.
@Suite final class BackupRefusalTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "refusal-\(UUID().uuidString)")
    .path
  private let alice: Device
  private let about = BackupAbout(
    created: 5, program: "test", device: DeviceKey(Bytes32(1, 2, 3, 4)), name: "alice", kept: [:])

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    alice = try Device("alice")
    for number in UInt64(1)...5 {
      try alice.write(at: Moment(number), insert(trip(number), [1: .text("Trip \(number)")]))
    }
    try alice.store.saveStatements([
      (StatementID(Bytes32(2, 0, 0, 0)), [8]), (StatementID(Bytes32(1, 0, 0, 0)), [7]),
    ])
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private var path: String { "\(folder)/alice.waymark" }

  private static let incomplete = BackupError.damaged("its description (table about) is incomplete")

  private static func declared(_ text: String) -> BackupError { .damaged("it declares \(text)") }

  private static let changes: [(sql: String, error: BackupError)] = [
    ("PRAGMA user_version = 3", .newerFormat(found: 3, known: 2)),
    ("PRAGMA user_version = 1", .formerFormat),
    ("PRAGMA application_id = 7", .notABackup),
    ("DELETE FROM about WHERE key = 'created'", incomplete),
    ("UPDATE about SET value = 'now' WHERE key = 'created'", incomplete),
    ("UPDATE about SET value = x'01' WHERE key = 'device'", incomplete),
    ("DELETE FROM about WHERE key = 'name'", incomplete),
    ("DELETE FROM about WHERE key = 'program'", incomplete),
  ]

  private static let counts: [(sql: String, error: BackupError)] = [
    (
      "DELETE FROM about WHERE key = 'change_sets'",
      declared("-1 rows in change_sets, more than its size allows")
    ),
    (
      "UPDATE about SET value = 1000000 WHERE key = 'statements'",
      declared("1000000 rows in statements, more than its size allows")
    ),
    (
      "UPDATE about SET value = 6 WHERE key = 'change_sets'",
      declared("6 rows in change_sets but holds 5")
    ),
    ("DELETE FROM change_sets WHERE number = 5", declared("5 rows in change_sets but holds 4")),
    ("DELETE FROM statements WHERE bytes = x'07'", declared("2 rows in statements but holds 1")),
    (
      "INSERT INTO change_sets SELECT 9, header, signature, plan, field_values FROM change_sets LIMIT 1",
      declared("5 rows in change_sets but holds more than 5")
    ),
  ]

  @Test func `a file that is no complete backup of this format is refused with the reason`() throws {
    for (sql, error) in Self.changes + Self.counts {
      _ = try alice.store.backup(to: path, about: about, overwrites: true)
      #expect(try BackupFile(path: path).changeSetCount == 5)
      do { try Connection(.file(path)).execute(sql) }
      #expect(throws: error, "\(sql)") { _ = try BackupFile(path: path) }
    }
  }

  @Test(arguments: ["", "No database at all. ", "SQLite format 3\0"])
  func `a file of another kind is no backup, and a file that is not there is an error`(text: String) throws {
    let bytes = Data(String(repeating: text, count: 500).utf8)
    try bytes.write(to: URL(filePath: path))
    #expect(throws: BackupError.notABackup) { _ = try BackupFile(path: path) }
    #expect(throws: (any Error).self) { _ = try BackupFile(path: "\(folder)/none.waymark") }
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/none.waymark"))
  }

  @Test func `a backup has the statements as they were signed, and names the sets whose erases were held`()
    throws
  {
    var held: [ChangeSetID] = []
    for number in UInt64(1)...3 {
      held += try alice.write(at: 10 + Moment(number), erase(trip(number))).map(\.id)
    }
    held.removeLast()
    try alice.store.holdErases(held, until: 500)
    _ = try alice.store.backup(to: path, about: about)
    let file = try BackupFile(path: path)
    #expect(Set(file.heldErases) == Set(held) && file.heldErases.count == 2)
    #expect(try file.statements() == [[7], [8]])
    #expect(file.changeSetCount == 8)
  }
}
