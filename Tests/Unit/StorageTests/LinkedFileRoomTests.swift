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

/// How much room a restore needs on the disk for the files of the backup.
@Suite final class LinkedFileRoomTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "room-\(UUID().uuidString)")
    .path
  private let alice: Device

  init() throws {
    try FileManager.default.createDirectory(atPath: "\(folder)/alice", withIntermediateDirectories: true)
    alice = try Device("alice", Store(path: "\(folder)/alice/store.db"))
    try alice.write(
      at: 5, insert(trip(1), [1: .text("Rome")]), insert(lodging(2), [1: .bytes(id(1).bytes)]))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func attach(_ number: UInt64, bytes: Int) throws -> FileReference {
    let value = try alice.store.keep([UInt8](repeating: UInt8(number), count: bytes))
    let data = Kind.attachment.number("fileData")
    try alice.write(at: 10, insert(attachment(number), [1: owner(lodging(2)), data: value]))
    return try #require(FileReference(value))
  }

  /// A store with Alice's records and no files, on a disk with this much room besides what files leave free.
  private func bob(room: Int) throws -> Device {
    let disk = NarrowDisk(bytes: 16 * 1024 * 1024 + room)
    let store = try Store(on: MachineFiles(), path: ":memory:", files: FileStore(disk))
    let bob = try Device("bob", store)
    try bob.sync(from: alice)
    return bob
  }

  @Test func `a restore needs room for those files only that no folder of the device has`() throws {
    let (linked, copied) = (try attach(3, bytes: 100_000), try attach(4, bytes: 40_000))
    let backup = "\(folder)/alice.waymark"
    let about = BackupAbout(
      created: 0, program: "test", device: DeviceKey(.zero), name: "alice", kept: [:])
    #expect(try alice.store.backup(to: backup, about: about, holdsFiles: true).files == 2)
    try alice.store.files.remove(copied)
    let file = try BackupFile(path: backup)
    let files = "\(folder)/alice/files"

    let narrow = try bob(room: 39_999)
    #expect(throws: FileStoreError.full) { try narrow.store.takeFiles(from: [files], file, now: 0) }
    #expect(try narrow.store.files.stored().isEmpty && narrow.store.filesHere().isEmpty)

    let enough = try bob(room: 40_000)
    let taken = try enough.store.takeFiles(from: [files], file, now: 0)
    #expect(taken.taken == 2 && taken.missing == 0)
    for each in [linked, copied] { #expect(try enough.store.files.verify(each)) }

    // Without that folder, both files are copied from the backup.
    let elsewhere = try bob(room: 139_999)
    #expect(throws: FileStoreError.full) { try elsewhere.store.takeFiles(from: [], file, now: 0) }
  }
}

/// The file system of the machine, by the name that SQLite has for it. A store on it can be given any files.
private final class MachineFiles: VirtualFileSystem {
  let name = "unix"

  func syncDirectory(of path: String) {}
}

/// Files in memory, on a disk that always has the same room left.
private struct NarrowDisk: FileDisk {
  let bytes: Int
  private let disk = MemoryDisk()

  init(bytes: Int) { self.bytes = bytes }

  func names(in folder: String) -> [String] { disk.names(in: folder) }

  func size(of name: String) -> Int? { disk.size(of: name) }

  func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8]
  ) throws(FileStoreError) -> [UInt8] {
    try disk.read(name, range, after: prefix)
  }

  func open(_ name: String) throws(FileStoreError) -> any OpenFile { try disk.open(name) }

  func create(_ name: String) { disk.create(name) }

  func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError) {
    try disk.write(bytes, to: name, at: offset)
  }

  func sync(_ name: String) throws(FileStoreError) { try disk.sync(name) }

  func move(_ name: String, to target: String) throws(FileStoreError) { try disk.move(name, to: target) }

  func remove(_ name: String) { disk.remove(name) }

  func makeFolder(_ folder: String) { disk.makeFolder(folder) }

  func syncNames(in folder: String) { disk.syncNames(in: folder) }

  func room() -> Int { bytes }
}
