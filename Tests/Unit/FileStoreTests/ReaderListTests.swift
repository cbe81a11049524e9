import FileFormat
import FileStore
import Testing
import Wire

/// What a reader of a file trusts, and which names of files are possible at all.
@Suite final class ReaderListTests {
  private let disk = MemoryDisk()
  private let store: FileStore
  private let content = vectorContent(2_000_000)

  init() { store = FileStore(disk) }

  private func add() throws -> FileReference {
    var writing = try store.beginImport()
    try store.append(content[...], to: &writing)
    return try store.finish(&writing)
  }

  private func name(_ file: FileReference) -> String { "\(file.id.description.prefix(2))/\(file.id)" }

  private func read(_ file: FileReference) throws -> [UInt8] {
    var reader = try store.open(file)
    var read: [UInt8] = []
    while let leaf = try reader.next() {
      read += leaf
      try #require(read.count <= file.size, "the reader does not end")
    }
    return read
  }

  @Test func `a file is read to its end although the list next to it is damaged, cut short or gone`() throws {
    let file = try add()
    let list = name(file) + ".leaves"
    disk.damage(list, at: 40)
    #expect(try read(file) == content)
    try disk.create(list)
    #expect(try read(file) == content)
    disk.remove(list)
    #expect(try read(file) == content)
    #expect(try store.list(of: file).reference == file)
  }

  @Test func `nothing is read of a damaged file without a list that tells which leaves are intact`() throws {
    let file = try add()
    disk.damage(name(file), at: file.size - 1)
    disk.damage(name(file) + ".leaves", at: 40)
    var reader = try store.open(file)
    #expect(throws: FileStoreError.damaged) { try reader.next() }
    #expect(throws: FileStoreError.damaged) { try store.list(of: file) }
  }

  @Test func `a file without bytes has one id, and any other name of one can't exist`() throws {
    let empty = try #require(FileHasher.list(of: [])).reference
    let other = FileID(Bytes32(1, 1, 1, 1))
    let wrong = try #require(FileReference(size: 0, id: other))
    let byte = try #require(FileReference(size: 1, id: other))
    #expect(empty.size == 0 && empty.canExist)
    #expect(!wrong.canExist)
    #expect(byte.canExist)
    #expect(wrong < byte && !(byte < wrong), "of equal ids the smaller file comes first")
    let next = try #require(FileReference(size: 0, id: FileID(Bytes32(1, 1, 1, 2))))
    #expect(byte < next && !(next < byte), "the id decides first")
  }
}
