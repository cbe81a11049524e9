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

/// Backups that can't be written or read completely: what they hold, and what a new store takes from them.
@Suite final class FailedBackupTests: BackupFolder {
  /// Attaches files with different bytes, and returns them in ascending order.
  private func attach(_ count: Int) throws -> [FileReference] {
    var files: [FileReference] = []
    for number in 0..<count {
      // Two or three leaves each.
      let bytes = [UInt8](repeating: UInt8(number + 1), count: 100_000 + 20_000 * number)
      let value = try alice.store.keep(bytes)
      let data = Kind.attachment.number("fileData")
      try alice.write(
        at: 10, insert(attachment(UInt64(number + 3)), [1: owner(lodging(2)), data: value]))
      files.append(try #require(FileReference(value)))
    }
    return files.sorted()
  }

  private func write() throws -> BackupSummary {
    try alice.store.backup(to: backup, about: about, holdsFiles: true)
  }

  /// A store with Alice's records and no files.
  private func bob() throws -> Device {
    let bob = try Device("bob", Store(path: "\(folder)/bob/store.db"))
    try bob.sync(from: alice)
    return bob
  }

  private func path(_ file: FileReference, in files: String) -> String {
    "\(files)/\(file.id.description.prefix(2))/\(file.id)"
  }

  private func damage(_ path: String) throws {
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: URL(filePath: path))
  }

  @Test func `a backup in place of a folder fails with the reason, and leaves the folder and nothing else`()
    throws
  {
    try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: true)
    try Data([1]).write(to: URL(filePath: backup + "/mine"))
    let refused = #expect(throws: BackupTargetError.self) {
      try alice.store.backup(to: backup, about: about, overwrites: true)
    }
    #expect(refused?.errno == EISDIR && refused?.isThereAlready == false && refused?.isFull == false)
    let present = #expect(throws: BackupTargetError.self) { try alice.store.backup(to: backup, about: about) }
    #expect(present?.isThereAlready == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: backup) == ["mine"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 3)
    try FileManager.default.removeItem(atPath: backup)
    #expect(try alice.store.backup(to: backup, about: about).changeSets == 1)
  }

  @Test
  func `files before and after a damaged one are restored, and it is counted with those that are absent`()
    throws
  {
    let files = try attach(4)
    try damage(path(files[1], in: "\(folder)/alice/files"))
    try alice.store.files.remove(files[2])
    let summary = try write()
    #expect(summary.files == 2 && summary.missingFiles == 2)
    let file = try BackupFile(path: backup)
    #expect(try file.files().map(\.file) == [files[0], files[3]])
    let bob = try bob()
    let taken = try bob.store.takeFiles(from: [], file, now: 0)
    #expect(taken.taken == 2 && taken.missing == 2)
    #expect(try bob.store.files.verify(files[0]) && bob.store.files.verify(files[3]))
    #expect(try bob.store.files.complete().sorted() == [files[0], files[3]])
  }

  @Test func `a file that is damaged in one folder is taken from the next one that has it`() throws {
    let file = try attach(1)[0]
    let (first, second) = ("\(folder)/alice/files", "\(folder)/copy")
    try FileManager.default.copyItem(atPath: first, toPath: second)
    try damage(path(file, in: first))
    let damaged = try Data(contentsOf: URL(filePath: path(file, in: first)))
    let bob = try bob()
    let missing = try bob.store.takeFiles(from: ["\(folder)/none", first], now: 0)
    #expect(missing.taken == 0 && missing.missing == 1)
    #expect(try bob.store.files.stored().isEmpty && bob.store.filesHere().isEmpty)
    let taken = try bob.store.takeFiles(from: ["\(folder)/none", first, second], now: 0)
    #expect(taken.taken == 1 && taken.missing == 0)
    #expect(try bob.store.files.verify(file) && bob.store.filesHere() == [file])
    // The folders stay as they are.
    #expect(try Data(contentsOf: URL(filePath: path(file, in: first))) == damaged)
    #expect(FileManager.default.fileExists(atPath: path(file, in: second)))
  }

  @Test func `after files were refused because one is damaged, the others can be taken without it`() throws {
    let files = try attach(3)
    #expect(try write().files == 3)
    try Connection(.file(backup)).execute(
      """
      UPDATE leaves SET bytes = zeroblob(length(bytes))
      WHERE number = (SELECT max(number) FROM leaves)
      """)
    let (bob, file) = (try bob(), try BackupFile(path: backup))
    #expect(throws: BackupError.self) {
      try bob.store.takeFiles(from: [], file, skipsDamaged: false, now: 0)
    }
    // None counts as being here while the restore may still fail.
    #expect(try bob.store.filesHere().isEmpty && !bob.store.files.has(files[2]))
    let taken = try bob.store.takeFiles(from: [], file, skipsDamaged: true, now: 0)
    #expect(taken.taken == 2 && taken.missing == 1)
    #expect(try Set(bob.store.filesHere()) == [files[0], files[1]])
    let imports = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/bob/files")
    #expect(!imports.contains { $0.hasPrefix("import-") })
  }
}
