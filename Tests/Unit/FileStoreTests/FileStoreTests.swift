import FileFormat
import FileStore
import Foundation
import Testing
import Vectors
import Wire

@Suite final class FileStoreTests {
  private let disk = MemoryDisk()
  private var store: FileStore
  private let content = vectorContent(200_000)
  private let list: LeafList

  init() throws {
    store = FileStore(disk)
    list = try #require(FileHasher.list(of: content))
  }

  private func add(_ bytes: [UInt8]) throws -> FileReference {
    var writing = try store.beginImport()
    for start in stride(from: 0, to: bytes.count, by: 70_000) {
      try store.append(bytes[start..<min(start + 70_000, bytes.count)], to: &writing)
    }
    return try store.finish(&writing)
  }

  private func leaf(_ index: Int) -> ArraySlice<UInt8> { content[list.reference.range(ofLeaf: index)] }

  // MARK: Failed syncs

  @Test func `after a failed sync nothing of a received file is left, so that it is fetched again`() throws {
    try store.begin(list)
    for index in 0..<4 { try store.write(leaf(index), leaf: index, of: list.reference) }
    disk.failsSync = true
    store.beginFinish([list.reference])
    #expect(throws: FileStoreError.failed(5)) { try store.finish([list.reference]) }
    store.endFinish([list.reference], hasFailed: true)
    #expect(disk.all.isEmpty)
  }

  // MARK: Importing

  @Test func `an imported file is read back in ranges and leaves`() throws {
    let file = try add(content)
    #expect(file == list.reference)
    #expect(try store.has(file))
    #expect(try store.read(file, 65_530..<65_550) == Array(content[65_530..<65_550]))
    #expect(try store.list(of: file) == list)
    #expect(try store.verify(file))
    #expect(disk.all.keys.sorted() == ["\(file.id.description.prefix(2))/\(file.id)"])
  }

  @Test func `the same file imported twice is kept once`() throws {
    let first = try add(content)
    #expect(try add(content) == first)
    #expect(disk.all.count == 1)
    disk.damage(try #require(disk.all.keys.first), at: 100_000)
    #expect(try store.verify(first) == false)
    #expect(try add(content) == first)
    #expect(try store.verify(first))
  }

  @Test func `an imported file survives a loss of power, an unfinished import does not`() throws {
    let file = try add(content)
    var writing = try store.beginImport()
    try store.append([1, 2, 3], to: &writing)
    disk.losePower()
    store = FileStore(disk)
    #expect(try store.verify(file))
    #expect(disk.all.count == 1)
  }

  @Test func `a file without bytes and a file of one byte can be imported`() throws {
    for size in [0, 1, 65_536] {
      let file = try add(vectorContent(size))
      #expect(try store.verify(file))
      #expect(try store.list(of: file).hashes.count == file.leafCount)
    }
  }

  @Test func `a file that does not fit on the disk leaves nothing behind`() throws {
    disk.bytesMax = 150_000
    var writing = try store.beginImport()
    #expect(throws: FileStoreError.full) {
      for start in stride(from: 0, to: 200_000, by: 50_000) {
        try store.append(content[start..<start + 50_000], to: &writing)
      }
    }
    store.cancel(writing)
    #expect(disk.all.isEmpty)
    #expect(throws: FileStoreError.full) { try store.checkRoom(1) }
    #expect(throws: FileStoreError.full) { try store.begin(list) }
  }

  @Test func `the list of a damaged file is not returned`() throws {
    let file = try add(content)
    disk.damage(try #require(disk.all.keys.first), at: 70_000)
    #expect(throws: FileStoreError.damaged) { try store.list(of: file) }
  }

  @Test func `the list of a file of many leaves is stored, and computed again if it is damaged`() throws {
    let content = vectorContent(5_000_000)
    let file = try add(content)
    let name = "\(file.id.description.prefix(2))/\(file.id).leaves"
    #expect(disk.all[name] != nil)
    let list = try store.list(of: file)
    disk.damage(name, at: 40)
    #expect(try store.list(of: file) == list)
  }

  // MARK: Additions

  @Test
  func `files that are added together are durable before they have names, with one sync for each folder`()
    throws
  {
    let addition = FileAddition(store)
    let files = try (0..<300).map {
      try addition.write(vectorContent(40_000) + [UInt8($0 & 255), UInt8($0 >> 8)])
    }
    #expect(try store.stored().isEmpty)
    disk.losePower()
    #expect(disk.all.isEmpty)
    addition.end()
    let again = FileAddition(store)
    for number in 0..<300 {
      _ = try again.write(vectorContent(40_000) + [UInt8(number & 255), UInt8(number >> 8)])
    }
    let before = disk.nameSyncs
    try again.place()
    #expect(disk.nameSyncs - before == Set(files.map { $0.id.description.prefix(2) }).count)
    disk.losePower()
    #expect(try store.stored() == Set(files.map(\.id)))
    for file in files { #expect(try store.verify(file)) }
  }

  @Test func `an addition that ends early leaves nothing, and a copy under way stops`() throws {
    let addition = FileAddition(store)
    _ = try addition.write(content)
    addition.end()
    #expect(disk.all.isEmpty)
    #expect(throws: CancellationError.self) { try addition.place() }
    #expect(throws: CancellationError.self) { _ = try addition.write(content) }
    #expect(disk.all.isEmpty)
  }

  @Test func `a file is neither removed nor swept while an addition holds it`() throws {
    let addition = FileAddition(store)
    let file = try addition.write(content)
    #expect(try store.sweep { _ in false } == (0, 0))
    try addition.place()
    #expect(try store.remove(file) == 0)
    #expect(try store.sweep { _ in false }.files == 0)
    let other = FileAddition(store)
    #expect(try other.write(content) == file)
    try other.place()
    addition.end()
    #expect(try store.remove(file) == 0)
    #expect(other.end() == [file])
    #expect(try store.remove(file) == content.count)
  }

  // MARK: Reading to the end

  @Test(arguments: [0, 1, 65_536, 200_000, 5_000_000])
  func `an open file is read to its end although it is removed`(size: Int) throws {
    let file = try add(vectorContent(size))
    var reader = try store.open(file)
    var read = try reader.next() ?? []
    // The list of a large file has been read by now, and that of a small one was computed.
    try store.remove(file)
    while let leaf = try reader.next() {
      #expect(leaf.count <= 65_536)
      read += leaf
    }
    #expect(read == vectorContent(size))
    #expect(throws: FileStoreError.missing) { _ = try store.open(file) }
  }

  @Test(arguments: [200_000, 5_000_000]) func `a reader stops before a damaged leaf`(size: Int) throws {
    let file = try add(vectorContent(size))
    disk.damage("\(file.id.description.prefix(2))/\(file.id)", at: 70_000)
    var reader = try store.open(file)
    #expect(throws: FileStoreError.damaged) {
      _ = try reader.next()
      _ = try reader.next()
    }
  }

  // MARK: Receiving

  @Test func `a file received leaf by leaf gets its name only when it is durable`() throws {
    #expect(try store.partial(list.reference) == nil)
    try store.begin(list)
    for index in [2, 0, 3] { try store.write(leaf(index), leaf: index, of: list.reference) }
    #expect(try store.has(list.reference) == false)
    #expect(try store.partial(list.reference)?.leaves.count == 3)
    try store.write(leaf(1), leaf: 1, of: list.reference)
    try finish(list.reference, in: store)
    disk.losePower()
    store = FileStore(disk)
    #expect(try store.verify(list.reference))
    #expect(disk.all.count == 1)
  }

  @Test func `a file is not removed while it is made durable on another thread`() throws {
    try store.begin(list)
    for index in 0..<4 { try store.write(leaf(index), leaf: index, of: list.reference) }
    store.beginFinish([list.reference])
    #expect(try store.remove(list.reference) == 0)
    #expect(try store.sweep { _ in false } == (0, 0))
    try store.finish([list.reference])
    store.endFinish([list.reference], hasFailed: false)
    #expect(try store.verify(list.reference))
    #expect(try store.remove(list.reference) == 200_000)
  }

  @Test func `after a kill the verified leaves are not fetched again`() throws {
    try store.begin(list)
    for index in [0, 3] { try store.write(leaf(index), leaf: index, of: list.reference) }
    store = FileStore(disk)
    let partial = try #require(try store.partial(list.reference))
    #expect(partial.list == list)
    #expect(partial.leaves.missing(from: 0, countMax: 16) == 1..<3)
    for index in [1, 2] { try store.write(leaf(index), leaf: index, of: list.reference) }
    try finish(list.reference, in: store)
    #expect(try store.verify(list.reference))
  }

  @Test func `a leaf that a loss of power has damaged is fetched again`() throws {
    try store.begin(list)
    for index in 0..<3 { try store.write(leaf(index), leaf: index, of: list.reference) }
    disk.damage("\(list.reference.id.description.prefix(2))/\(list.reference.id).part", at: 70_000)
    store = FileStore(disk)
    #expect(try store.partial(list.reference)?.leaves.missing(from: 0, countMax: 16) == 1..<2)
  }

  @Test func `a part without a valid list is begun again`() throws {
    try store.begin(list)
    try store.write(leaf(0), leaf: 0, of: list.reference)
    disk.damage("\(list.reference.id.description.prefix(2))/\(list.reference.id).leaves", at: 3)
    store = FileStore(disk)
    #expect(try store.partial(list.reference) == nil)
    try store.begin(list)
    #expect(try store.partial(list.reference)?.leaves.isEmpty == true)
  }

  @Test func `of a damaged file with a stored list only the altered leaves are fetched again`() throws {
    let content = vectorContent(5_000_000)
    let file = try add(content)
    let name = "\(file.id.description.prefix(2))/\(file.id)"
    disk.damage(name, at: 70_000)
    #expect(try store.beginRepair(file))
    #expect(try store.has(file) == false && store.stored() == [file.id])
    let partial = try #require(try store.partial(file))
    #expect(partial.leaves.missing(from: 0, countMax: 16) == 1..<2)
    #expect(partial.leaves.count == file.leafCount - 1)
    try store.write(content[file.range(ofLeaf: 1)], leaf: 1, of: file)
    try finish(file, in: store)
    #expect(try store.verify(file))
    #expect(try store.beginRepair(list.reference) == false, "it is not here")
  }

  @Test func `a damaged file without a stored list stays until it is fetched whole`() throws {
    let file = try add(content)
    let name = "\(file.id.description.prefix(2))/\(file.id)"
    disk.damage(name, at: 70_000)
    #expect(try store.beginRepair(file))
    #expect(disk.all.keys.sorted() == [name + ".part"])
    #expect(try store.partial(file) == nil)
    try store.begin(list)
    for index in 0..<4 { try store.write(leaf(index), leaf: index, of: file) }
    try finish(file, in: store)
    #expect(try store.verify(file))
    #expect(disk.all.keys.sorted() == [name])
  }

  @Test func `small files are received whole`() throws {
    var files: [FileReference] = []
    for size in [0, 1, 40_000] {
      let file = try #require(FileHasher.list(of: vectorContent(size))).reference
      try store.write(whole: file, vectorContent(size)[...])
      files.append(file)
    }
    try store.finish(files)
    disk.losePower()
    store = FileStore(disk)
    for file in files { #expect(try store.verify(file)) }
  }

  // MARK: Freeing

  @Test func `what nothing names is swept`() throws {
    let kept = try add(content)
    let unnamed = try add(vectorContent(10))
    _ = try store.beginImport()
    let partial = try #require(FileHasher.list(of: vectorContent(70_000)))
    try store.begin(partial)
    store = FileStore(disk)
    let swept = try store.sweep { $0 == kept.id }
    #expect(swept.files == 2)
    #expect(try store.stored() == [kept.id])
    #expect(try store.has(unnamed) == false)
    #expect(disk.all.count == 1)
  }

  @Test func `removing a file says how many bytes that has freed`() throws {
    let file = try add(content)
    #expect(try store.remove(file) == content.count)
    #expect(try store.remove(file) == 0)
    #expect(disk.all.isEmpty)
  }

  @Test func `no file is read or written in pieces of more than 256 KiB`() throws {
    let file = try add(vectorContent(3_000_000))
    #expect(try store.verify(file))
    #expect(disk.longest <= 256 * 1024)
  }
}

@Suite struct SystemDiskTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-files-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  @Test func `a foreign file is imported into a folder of this user alone`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let content = vectorContent(700_000)
    let source = folder.appending(path: "source")
    try Data(content).write(to: source)
    let home = folder.appending(path: "files")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    let store = FileStore(SystemDisk(home.path))
    let addition = FileAddition(store)
    let file = try addition.copy(try ForeignFile(path: source.path))
    try addition.place()
    #expect(addition.end() == [file])
    #expect(file == FileHasher.list(of: content)?.reference)
    #expect(try store.verify(file))
    let path = home.appending(path: "\(file.id.description.prefix(2))/\(file.id)")
    #expect(try Data(contentsOf: path) == Data(content))
    let mode = try FileManager.default.attributesOfItem(atPath: path.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try store.sweep { _ in false }.bytes == content.count)
  }

  @Test func `a folder and a missing file are not imported`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(throws: FileStoreError.notAFile) { _ = try ForeignFile(path: folder.path) }
    #expect(throws: FileStoreError.missing) { _ = try ForeignFile(path: "\(folder.path)/none") }
  }

  @Test func `a file is received on the real disk and resumed by another store`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let content = vectorContent(200_000)
    let list = try #require(FileHasher.list(of: content))
    var store = FileStore(SystemDisk(folder.path))
    try store.begin(list)
    for index in [3, 1] {
      try store.write(content[list.reference.range(ofLeaf: index)], leaf: index, of: list.reference)
    }
    store = FileStore(SystemDisk(folder.path))
    #expect(try store.partial(list.reference)?.leaves.count == 2)
    for index in [0, 2] {
      try store.write(content[list.reference.range(ofLeaf: index)], leaf: index, of: list.reference)
    }
    try finish(list.reference, in: store)
    #expect(try store.verify(list.reference))
    #expect(try store.read(list.reference, 0..<200_000) == content)
  }
}

/// Makes a received file durable.
private func finish(_ file: FileReference, in store: FileStore) throws {
  store.beginFinish([file])
  try store.finish([file])
  store.endFinish([file], hasFailed: false)
}
