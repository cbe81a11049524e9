import FileFormat
import FileStore
import Foundation
import Testing
import Wire

/// What a store says about files that are here in part, under another size, or in another store.
@Suite final class PartialFileTests {
  private let disk = MemoryDisk()
  private var store: FileStore
  private let content = vectorContent(200_000)
  private let list: LeafList

  init() throws {
    store = FileStore(disk)
    list = try #require(FileHasher.list(of: content))
  }

  private func add(_ bytes: [UInt8], to store: FileStore) throws -> FileReference {
    var writing = try store.beginImport()
    try store.append(bytes[...], to: &writing)
    return try store.finish(&writing)
  }

  private func receive(_ indices: Int...) throws {
    for index in indices {
      try store.write(content[list.reference.range(ofLeaf: index)], leaf: index, of: list.reference)
    }
  }

  private func name(_ file: FileReference) -> String { "\(file.id.description.prefix(2))/\(file.id)" }

  // MARK: Progress

  @Test func `progress counts the leaves that are here, also after a restart, and never more than the file`()
    throws
  {
    let file = list.reference
    #expect(store.partBytes(of: file) == 0)
    try store.begin(list)
    #expect(store.partBytes(of: file) == 0 && !store.isWritten(file))
    try receive(0)
    #expect(store.partBytes(of: file) == 65_536)
    try receive(0)
    #expect(store.partBytes(of: file) == 65_536, "the same leaf counts once")
    try receive(3)
    store = FileStore(disk)
    #expect(store.partBytes(of: file) == 2 * 65_536)
    _ = try #require(try store.partial(file))
    try receive(1, 2)
    #expect(store.partBytes(of: file) == 200_000 && store.isWritten(file))
    #expect(try store.remove(file) >= 200_000)
    #expect(store.partBytes(of: file) == 0 && !store.isWritten(file))
  }

  @Test func `a leaf is refused for a file that was not begun, was suspended or was removed`() throws {
    #expect(throws: FileStoreError.missing) { try receive(0) }
    try store.begin(list)
    try receive(0)
    store.suspend(list.reference)
    #expect(throws: FileStoreError.missing) { try receive(1) }
    // What is stored of it stays.
    #expect(try store.partial(list.reference)?.leaves.missing(from: 0, countMax: 16) == 1..<4)
    try receive(1)
    #expect(try store.partial(list.reference)?.leaves.count == 2)
    try store.remove(list.reference)
    #expect(throws: FileStoreError.missing) { try receive(2) }
    #expect(try store.partial(list.reference) == nil)
    #expect(disk.all.isEmpty)
  }

  @Test func `a file that is begun once more has none of its former leaves`() throws {
    try store.begin(list)
    try receive(0, 1, 2, 3)
    try store.begin(list)
    #expect(try store.partial(list.reference)?.leaves.isEmpty == true)
    store = FileStore(disk)
    #expect(try store.partial(list.reference)?.leaves.isEmpty == true)
  }

  /// The number of leaves from which on a list is stored: 16.
  @Test(arguments: [(15 * 65_536, false), (15 * 65_536 + 1, true)])
  func `the list stays next to a file of sixteen leaves, whether it was added or received`(
    size: Int, isStored: Bool
  ) throws {
    let content = vectorContent(size)
    let list = try #require(FileHasher.list(of: content))
    let file = try add(content, to: store)
    #expect((disk.all[name(file) + ".leaves"] != nil) == isStored)
    try store.remove(file)
    try store.begin(list)
    for index in 0..<file.leafCount {
      try store.write(content[file.range(ofLeaf: index)], leaf: index, of: file)
    }
    store.beginFinish([file])
    try store.finish([file])
    store.endFinish([file], hasFailed: false)
    #expect((disk.all[name(file) + ".leaves"] != nil) == isStored)
    #expect(disk.all[name(file) + ".part"] == nil)
    #expect(try store.list(of: file) == list)
    #expect(try store.verify(file))
  }

  // MARK: Names

  @Test func `a reference with a wrong size is not here, and cannot be read`() throws {
    let file = try add(content, to: store)
    let wrong = try #require(FileReference(size: file.size - 1, id: file.id))
    #expect(try !store.has(wrong))
    #expect(try store.complete(file.id) == file)
    #expect(try store.complete() == [file])
    #expect(throws: FileStoreError.damaged) { _ = try store.open(wrong) }
    #expect(throws: FileStoreError.missing) { _ = try store.verify(wrong) }
    #expect(try store.beginRepair(wrong) == false)
    #expect(try store.has(file))
  }

  @Test func `a file in part is stored, and not complete`() throws {
    try store.begin(list)
    try receive(0)
    #expect(try store.stored() == [list.reference.id])
    #expect(try store.complete() == [])
    #expect(try store.complete(list.reference.id) == nil)
    #expect(throws: FileStoreError.missing) { _ = try store.verify(list.reference) }
  }

  // MARK: Taking over

  @Test func `a file is taken over from another store, and a damaged one is refused`() throws {
    let other = MemoryDisk()
    let source = FileStore(other)
    let (file, damaged) = (try add(content, to: source), try add(content + [1], to: source))
    other.damage(name(damaged), at: 70_000)
    try store.take(file, from: source)
    #expect(try store.verify(file))
    #expect(throws: FileStoreError.damaged) { try store.take(damaged, from: source) }
    #expect(try !store.has(damaged))
    #expect(disk.all.keys.allSatisfy { !$0.hasPrefix("import-") })
    // A file that is here is not read from the other store, which may have lost it.
    try source.remove(file)
    try store.take(file, from: source)
    #expect(try store.verify(file))
    let missing = try #require(FileReference(size: 5, id: FileID(Bytes32(1, 1, 1, 1))))
    #expect(throws: FileStoreError.missing) { try store.take(missing, from: source) }
  }

  @Test func `a file that was taken over on one disk does not depend on the other store`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-take-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = FileStore(SystemDisk(folder.path + "/source"))
    let target = FileStore(SystemDisk(folder.path + "/target"))
    let file = try add(content, to: source)
    try target.take(file, from: source)
    try target.makeDurable([file])
    #expect(try source.verify(file) && target.verify(file))
    try source.remove(file)
    #expect(try target.verify(file))
    #expect(try target.complete() == [file])
  }

  @Test func `links in the folder of files are not followed, and other users can't enter it`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-links-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let root = folder.path + "/files"
    let store = FileStore(SystemDisk(root))
    #expect(try store.stored() == [], "the folder does not exist yet")
    let file = try add(content, to: store)
    for path in [root, "\(root)/\(file.id.description.prefix(2))"] {
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o700, "\(path)")
    }
    let elsewhere = folder.path + "/elsewhere"
    try FileManager.default.moveItem(atPath: "\(root)/\(name(file))", toPath: elsewhere)
    try FileManager.default.createSymbolicLink(
      atPath: "\(root)/\(name(file))", withDestinationPath: elsewhere)
    #expect(try !store.has(file))
    #expect(throws: FileStoreError.notAFile) { _ = try store.open(file) }
    // Removing it removes the link alone.
    try store.remove(file)
    #expect(FileManager.default.fileExists(atPath: elsewhere))
    #expect(try store.stored() == [])
  }
}
