import Foundation
import Home
import JSONDocument
import Reasons
import SQLite
import Storage
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Backups
@testable import Enrolment
@testable import Waymark

/// Backups that can't be written, or only in part.
struct BackupWriterTests {
  @Test func `damaged sets are reported for repair, and left out of a backup only after a yes`()
    async throws
  {
    let folder = try Folder()
    let alice = try await TestNode.founder("alice")
    for name in ["Rome", "Oslo", "Bern"] { try await alice.run("trip.add", fields("name=\(name)")) }
    await alice.close()
    let sql = "UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2"
    do { try Connection(.file(alice.home.store)).execute(sql) }
    let store = try Store(path: alice.home.store)
    let device = try Identity.load(from: alice.home).device
    let about = try BackupAbout(of: device, called: "alice", at: TestNode.morning, store.meta)
    let noted = Heard<Int>()
    let writer = BackupWriter(
      alice.home, store, about, list: { "\($0.count) listed" }, noteDamage: { noted.note($0.count) })
    let path = folder.file("alice.waymark")
    do {
      _ = try await writer.write(to: path, overwrites: false, holdsFiles: true) { _, _ in }
      Issue.record("a backup was written without a yes")
    } catch let error as WaymarkError {
      #expect(error.reason == .needsYes)
      #expect(error.message.description.contains("1 change set damaged on disk (1 listed)"))
    }
    #expect(noted.all == [1] && folder.names == [])
    let backup = try await writer.write(to: path, overwrites: true, holdsFiles: true) { _, _ in }
    #expect(backup.damaged == 1 && backup.text != nil && backup.next != nil)
    #expect(noted.all == [1, 1] && folder.names == ["alice.waymark"])
    withExtendedLifetime(alice) {}
  }

  @Test(
    arguments: [
      (ENOSPC, .diskFull), (EDQUOT, .diskFull), (EEXIST, .needsYes), (EACCES, .file), (EROFS, .file),
      (EIO, .file),
    ] as [(Int32, Reason)])
  func `the reason says why the file can't be written`(number: Int32, reason: Reason) {
    let error = WaymarkError.backupTarget("/mnt/alice.waymark", BackupTargetError(errno: number))
    #expect(error.reason == reason)
    #expect(error.message.description.contains("/mnt/alice.waymark"))
  }

  @Test func `a name that leaves no room for the temporary file is refused as such`() async throws {
    let folder = try Folder()
    let alice = try await TestNode.founder("alice")
    // The name itself has 248 of at most 255 bytes.
    let path = folder.file(String(repeating: "a", count: 240) + ".waymark")
    let refused = await #expect(throws: WaymarkError.self) {
      _ = try await alice.node.backUp(to: URL(filePath: path))
    }
    #expect(refused?.reason == .file)
    #expect(refused?.message.description.hasPrefix("Can't write ") == true)
    #expect(folder.names == [])
    await alice.close()
  }
}
