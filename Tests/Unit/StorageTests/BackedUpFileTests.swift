import Backups
import FileFormat
import FileStore
import Foundation
import Records
import Replication
import SQLite
import Storage
import Testing
import Wire

/// Alice's store with a trip and a lodging, in a folder with room for her backup and for the store of Bob.
class BackupFolder {
  let folder = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID().uuidString)").path
  let alice: Device
  let about = BackupAbout(created: 0, program: "test", device: DeviceKey(.zero), name: "alice", kept: [:])

  init() throws {
    try FileManager.default.createDirectory(atPath: "\(folder)/alice", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: "\(folder)/bob", withIntermediateDirectories: true)
    alice = try Device("alice", Store(path: "\(folder)/alice/store.db"))
    try alice.write(
      at: 5, insert(trip(1), [1: .text("Rome")]), insert(lodging(2), [1: .bytes(id(1).bytes)]))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var backup: String { "\(folder)/alice.waymark" }
}

/// The files in backups, and how a new store takes them over.
@Suite final class BackedUpFileTests: BackupFolder {
  private let data = Kind.attachment.number("fileData")

  /// Attaches a file of which every leaf begins with a word that a search finds.
  private func attach(_ number: UInt64, _ word: String, bytes: Int) throws -> FileReference {
    let leaf = Array(word.utf8) + [UInt8](repeating: 0x2e, count: Limits.leafBytes - word.utf8.count)
    let content = (0..<bytes).map { leaf[$0 % Limits.leafBytes] }
    let value = try alice.store.keep(content)
    try alice.write(at: 10, insert(attachment(number), [1: owner(lodging(2)), data: value]))
    return try #require(FileReference(value))
  }

  private func write(holdsFiles: Bool = true) throws -> BackupSummary {
    try? FileManager.default.removeItem(atPath: backup)
    return try Store.backup(
      storeAt: "\(folder)/alice/store.db", to: backup, about: about, holdsFiles: holdsFiles)
  }

  /// A store with Alice's records and no files.
  private func bob() throws -> Device {
    let bob = try Device("bob", Store(path: "\(folder)/bob/store.db"))
    try bob.sync(from: alice)
    return bob
  }

  private func contains(_ word: String, _ path: String) throws -> Bool {
    try Data(contentsOf: URL(filePath: path)).range(of: Data(word.utf8)) != nil
  }

  private func path(_ file: FileReference, of name: String) -> String {
    "\(folder)/\(name)/files/\(file.id.description.prefix(2))/\(file.id)"
  }

  private func change(_ sql: String) throws { try Connection(.file(backup)).execute(sql) }

  @Test func `a store that is built from a backup has the same files`() throws {
    let (long, short) = (try attach(3, "long", bytes: 300_000), try attach(4, "short", bytes: 40_000))
    let summary = try write()
    #expect(summary.files == 2 && summary.missingFiles == 0)
    #expect(summary.bytes < 340_000 * 102 / 100 + 100_000)
    let bob = try bob()
    let taken = try bob.store.takeFiles(from: [], BackupFile(path: backup), now: 0)
    #expect(taken.taken == 2 && taken.missing == 0)
    for file in [long, short] { #expect(try bob.store.files.verify(file)) }
    #expect(try bob.store.filesHere().count == 2)
  }

  @Test func `a backup without files holds none, and a store that is built from it lacks them`() throws {
    _ = try attach(3, "secret", bytes: 100_000)
    let summary = try write(holdsFiles: false)
    #expect(summary.files == nil && summary.missingFiles == 0)
    #expect(try !contains("secret", backup))
    let file = try BackupFile(path: backup)
    #expect(try !file.holdsFiles && file.files().isEmpty)
    #expect(try bob().store.takeFiles(from: [], file, now: 0).missing == 1)
  }

  @Test func `a file that was freed is in no later backup, and one that is not here is counted`() throws {
    let (gone, absent) = (try attach(3, "erased", bytes: 100_000), try attach(4, "absent", bytes: 100_000))
    #expect(try write().files == 2)
    #expect(try contains("erased", backup))
    try alice.write(at: 20, erase(attachment(3)))
    // The process ended before the file was deleted.
    #expect(try alice.store.files.has(gone))
    try alice.store.files.remove(absent)
    let summary = try write()
    #expect(summary.files == 0 && summary.missingFiles == 1)
    for word in ["erased", "absent"] { #expect(try !contains(word, backup)) }
  }

  @Test func `a damaged file is left out of a backup, with all of its leaves`() throws {
    // The word “damaged” itself is a key in every backup.
    let damaged = try attach(3, "altered", bytes: 300_000)
    let intact = try attach(4, "intact", bytes: 100_000)
    let place = path(damaged, of: "alice")
    var bytes = try Data(contentsOf: URL(filePath: place))
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: URL(filePath: place))
    let summary = try write()
    #expect(summary.files == 1 && summary.missingFiles == 1)
    #expect(try !contains("altered", backup) && contains("intact", backup))
    #expect(try BackupFile(path: backup).files().map(\.file) == [intact])
  }

  @Test(arguments: [
    "UPDATE leaves SET bytes = zeroblob(65536) WHERE number = 2",
    "UPDATE leaves SET bytes = zeroblob(70000) WHERE number = 2",
    "UPDATE leaves SET bytes = NULL WHERE number = 2",
    "UPDATE leaves SET number = 9 WHERE number = 2",
  ])
  func `a file that is damaged in the backup is refused, or left out`(sql: String) throws {
    _ = try attach(3, "long", bytes: 300_000)
    _ = try write()
    try change(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'bytes BLOB NOT NULL)', 'bytes BLOB)')"
    )
    try change(sql)
    let (bob, file) = (try bob(), try BackupFile(path: backup))
    #expect(throws: BackupError.self) {
      try bob.store.takeFiles(from: [], file, skipsDamaged: false, now: 0)
    }
    #expect(throws: BackupError.self) {
      try bob.store.takeFiles(from: [], file, skipsDamaged: false, isPreview: true, now: 0)
    }
    let taken = try bob.store.takeFiles(from: [], file, skipsDamaged: true, now: 0)
    #expect(taken.taken == 0 && taken.missing == 1)
    #expect(try bob.store.files.stored().isEmpty)
  }

  @Test(arguments: [
    ("DELETE FROM leaves WHERE number = 1", "leaves"), ("DELETE FROM files", "files"),
    ("UPDATE about SET value = 1000000000 WHERE key = 'leaves'", "leaves"),
    ("DROP TABLE leaves", "leaves"),
  ])
  func `a backup that lacks files or leaves is refused`(sql: String, table: String) throws {
    _ = try attach(3, "long", bytes: 300_000)
    _ = try write()
    try change(sql)
    let failure = #expect(throws: BackupError.self) { try BackupFile(path: backup) }
    guard case .damaged(let why) = failure else { return #expect(Bool(false), "\(failure as Any)") }
    #expect(why.contains(table))
  }

  @Test func `a file that is already on the disk is linked, unless it is damaged there`() throws {
    let (linked, copied) = (try attach(3, "linked", bytes: 100_000), try attach(4, "copied", bytes: 100_000))
    _ = try write()
    let place = path(copied, of: "alice")
    var bytes = try Data(contentsOf: URL(filePath: place))
    bytes[0] ^= 1
    try bytes.write(to: URL(filePath: place))
    let bob = try bob()
    let taken = try bob.store.takeFiles(from: ["\(folder)/alice/files"], BackupFile(path: backup), now: 0)
    #expect(taken.taken == 2 && taken.missing == 0)
    for file in [linked, copied] { #expect(try bob.store.files.verify(file)) }
    func inode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }
    #expect(try inode(path(linked, of: "alice")) == inode(path(linked, of: "bob")))
    #expect(try inode(path(copied, of: "alice")) != inode(path(copied, of: "bob")))
    // Deleting one name leaves the other.
    try alice.store.files.remove(linked)
    #expect(try bob.store.files.verify(linked))
  }

  @Test func `a preview verifies the files and writes none`() throws {
    _ = try attach(3, "long", bytes: 300_000)
    _ = try write()
    let bob = try bob()
    let taken = try bob.store.takeFiles(from: [], BackupFile(path: backup), isPreview: true, now: 0)
    #expect(taken.taken == 1 && taken.missing == 0)
    #expect(try bob.store.files.stored().isEmpty && bob.store.filesHere().isEmpty)
  }

  @Test func `the files that drafts name are taken before the drafts are written`() throws {
    let file = try attach(3, "long", bytes: 300_000)
    _ = try attach(4, "other", bytes: 100_000)
    let store = try Store(path: "\(folder)/bob/store.db")
    let draft = insert(attachment(3), [1: owner(lodging(2)), data: file.value])
    try store.takeFiles(namedBy: [draft], from: ["\(folder)/alice/files"], now: 0)
    #expect(try store.filesHere() == [file] && store.files.verify(file))
  }
}
