import FileFormat
import FileStore
import Foundation
import Testing
import Wire

/// Files that can't be added, received or taken over: what is left of them, and whether the next attempt works.
@Suite final class FailedFileTests {
  /// Room that files leave free for the store.
  private static let reserve = 16 * 1024 * 1024

  private let disk = MemoryDisk()
  private var store: FileStore
  private let content = vectorContent(200_000)
  private let list: LeafList

  init() throws {
    store = FileStore(disk)
    list = try #require(FileHasher.list(of: content))
  }

  private var usedBytes: Int { disk.all.values.reduce(0) { $0 + $1.count } }

  private func name(_ file: FileReference) -> String { "\(file.id.description.prefix(2))/\(file.id)" }

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-failed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  // MARK: Adding

  @Test func `a file of the largest size only lacks room, and one that is a byte larger is refused for it`()
    throws
  {
    try inFolder { folder in
      let path = folder + "/source"
      let cases: [(size: Int, expected: FileStoreError)] = [
        (Limits.fileBytesMax, .full), (Limits.fileBytesMax + 1, .tooLarge),
      ]
      // No test writes a gibibyte, so the disk has room for a part of it only.
      disk.bytesMax = Self.reserve + 1_000
      let addition = FileAddition(store)
      for (size, expected) in cases {
        try Data().write(to: URL(filePath: path))
        // The file is sparse and takes no room.
        truncate(path, off_t(size))
        #expect(throws: expected) { _ = try addition.copy(try ForeignFile(path: path)) }
        #expect(disk.all.isEmpty)
      }
      #expect(addition.end() == [])
    }
  }

  @Test
  func `a copy for which the disk becomes too small leaves nothing, and the others of its addition stay`()
    throws
  {
    try inFolder { folder in
      let long = vectorContent(700_000)
      try Data(long).write(to: URL(filePath: folder + "/source"))
      let addition = FileAddition(store)
      let first = try addition.write(content)
      // Another program fills the disk after the room was checked.
      #expect(throws: FileStoreError.full) {
        _ = try addition.copy(try ForeignFile(path: folder + "/source")) { _ in disk.bytesMax = 300_000 }
      }
      #expect(disk.all.count == 1)
      disk.bytesMax = .max
      let second = try addition.copy(try ForeignFile(path: folder + "/source"))
      #expect(try addition.place() == [first, second])
      #expect(addition.end() == [first, second])
      #expect(try store.verify(first) && store.verify(second))
    }
  }

  @Test func `a file that can't be made durable is not added, and can be added in the next attempt`() throws {
    let addition = FileAddition(store)
    disk.failsSync = true
    #expect(throws: FileStoreError.failed(5)) { _ = try addition.write(content) }
    #expect(disk.all.isEmpty)
    disk.failsSync = false
    let file = try addition.write(content)
    #expect(try addition.place() == [file])
    #expect(addition.end() == [file])
    #expect(try store.verify(file))
  }

  @Test
  func `if only some files of an addition get their names, all are released and none has a temporary name`()
    throws
  {
    let long = vectorContent(16 * 65_536)
    let addition = FileAddition(store)
    let first = try addition.write(content)
    // A file of 16 leaves has a list next to it, for which there is no room left.
    let second = try addition.write(long)
    disk.bytesMax = usedBytes
    #expect(throws: FileStoreError.full) { try addition.place() }
    #expect(disk.all.keys.allSatisfy { !$0.hasPrefix("import-") })
    #expect(store.isHeld(first) && store.isHeld(second))
    #expect(try store.sweep { _ in false } == (0, 0))
    #expect(Set(addition.end()) == [first, second])
    #expect(!store.isHeld(first) && !store.isHeld(second))
    #expect(try store.has(first) && !store.has(second))
    // A record may name the first one, because another operation has added it too.
    #expect(try store.sweep { $0 == first.id } == (1, 0))
    disk.bytesMax = .max
    let again = FileAddition(store)
    #expect(try again.write(long) == second)
    #expect(try again.place() == [second])
    again.end()
    #expect(try store.verify(first) && store.verify(second))
  }

  // MARK: Receiving

  @Test func `of files that are made durable together none gets its name if one of them can't be`() throws {
    let small = vectorContent(40_000)
    let files = [
      try #require(FileHasher.list(of: vectorContent(10))).reference,
      try #require(FileHasher.list(of: small)).reference,
    ]
    try store.write(whole: files[0], vectorContent(10)[...])
    try store.write(whole: files[1], small[...])
    store.beginFinish(files)
    disk.remove(name(files[1]) + ".part")
    #expect(throws: FileStoreError.missing) { try store.finish(files) }
    #expect(try !store.has(files[0]))
    #expect(store.isHeld(files[0]) && store.isHeld(files[1]))
    store.endFinish(files, hasFailed: true)
    #expect(disk.all.isEmpty && !store.isHeld(files[0]) && !store.isHeld(files[1]))
    try store.write(whole: files[1], small[...])
    store.beginFinish([files[1]])
    try store.finish([files[1]])
    store.endFinish([files[1]], hasFailed: false)
    #expect(try store.verify(files[1]) && !store.has(files[0]))
  }

  @Test func `what has arrived of a file stays if there is no room to begin it once more`() throws {
    let file = list.reference
    try store.begin(list)
    try store.write(content[file.range(ofLeaf: 2)], leaf: 2, of: file)
    let before = disk.all
    disk.bytesMax = usedBytes + Self.reserve + file.size - 1
    #expect(throws: FileStoreError.full) { try store.begin(list) }
    #expect(disk.all == before)
    #expect(try store.partial(file)?.leaves.count == 1)
    store = FileStore(disk)
    #expect(try store.partial(file)?.leaves.missing(from: 0, countMax: 16) == 0..<2)
    #expect(store.partBytes(of: file) == 65_536)
  }

  @Test func `a file that an operation holds is repaired only after that has ended`() throws {
    let addition = FileAddition(store)
    let file = try addition.write(content)
    try addition.place()
    disk.damage(name(file), at: 70_000)
    #expect(try store.beginRepair(file) == false)
    #expect(try store.has(file))
    addition.end()
    #expect(try store.beginRepair(file))
    #expect(try !store.has(file))
    #expect(try store.beginRepair(file) == false, "it is being repaired already")
  }

  // MARK: Taking over

  @Test func `a file for which there is no room is not taken over, and the other store keeps it`() throws {
    let source = FileStore(MemoryDisk())
    let addition = FileAddition(source)
    let file = try addition.write(content)
    try addition.place()
    addition.end()
    disk.bytesMax = 100_000
    #expect(throws: FileStoreError.full) { try store.take(file, from: source) }
    #expect(disk.all.isEmpty)
    disk.bytesMax = .max
    try store.take(file, from: source)
    #expect(try store.verify(file) && source.verify(file))
    #expect(disk.all.count == 1)
  }
}
