import FileFormat
import FileStore
import LogStorage
import Membership
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Testing
import Wire

/// Files that no table names and that must stay nevertheless, and how their content is read.
@Suite struct FileDoubtTests {
  private let alice: Device
  private let bob: Device
  private let content = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 / 1_000) }
  private let data = Kind.attachment.number("fileData")

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 5, insert(trip(1), [1: .text("Rome")]), lodging(2, of: trip(1)))
    try bob.sync(from: alice)
  }

  private func freed(_ file: FileReference, isChange: Bool) throws -> [FileReference] {
    try alice.store.filesToFree(among: [file], now: 1_000, isChange: isChange).files
  }

  @Test func `a file that only a damaged set has named is kept until it is clear that nothing names it`()
    throws
  {
    let file = try #require(FileReference(try alice.store.keep(content)))
    let named = try alice.write(at: 10, insert(attachment(3), [1: owner(lodging(2)), data: file.value]))
    try alice.store.connection.execute(
      "UPDATE change_sets SET plan = zeroblob(length(plan)) WHERE number = 2")
    try alice.store.rebuild()
    #expect(alice.store.damagedSets.map(\.isUnfolded) == [true])
    #expect(try alice.store.naming(of: file) == .nothing)
    #expect(try freed(file, isChange: false) == [])
    #expect(try alice.store.removeUnnamed([file]) == [])
    #expect(try alice.store.files.has(file))
    // A commit that has just taken the last name from the file knows better.
    #expect(try freed(file, isChange: true) == [file])
    try alice.receive(named)
    #expect(try alice.store.naming(of: file) == .shown)
    try alice.write(at: 20, erase(attachment(3)))
    #expect(try freed(file, isChange: false) == [file])
  }

  @Test func `a file that a set in quarantine names is kept as long as the set can return`() throws {
    let file = try #require(FileReference(try alice.store.keep(content)))
    try bob.write(at: 10, insert(attachment(3), [1: owner(lodging(2)), data: file.value]))
    try alice.sync(from: bob)
    #expect(try alice.store.naming(of: file) == .shown)
    let log = bob.log
    _ = try alice.store.admit(by: { $0 == log ? .cut([[]]) : .open }, horizon: Device.horizon)
    #expect(try alice.store.naming(of: file) == .nothing)
    #expect(try freed(file, isChange: true) == [])
    #expect(try alice.store.removeUnnamed([file]) == [])
    #expect(try alice.store.unfoldedFiles() == [file])
    #expect(try alice.store.deleteDiscarded([log.device: true], now: 0) == 1)
    #expect(try freed(file, isChange: true) == [file])
  }

  @Test func `how long the trash keeps files is the default unless a living setting says otherwise`() throws {
    let device = try Device("alice", lane: .settings)
    let value = Kind.setting.number("value")
    let key = Store.trashDaysKey
    #expect(try device.store.trashRetention == .standard)
    try device.write(at: 10, insert(key, [value: .integer(7)]))
    #expect(try device.store.trashRetention == .days(7))
    try device.write(at: 20, edit(key, [value: .text("never")]))
    #expect(try device.store.trashRetention == .forever)
    try device.write(at: 30, delete(key))
    #expect(try device.store.trashRetention == .standard)
    try device.write(at: 40, restore(key))
    #expect(try device.store.trashRetention == .forever)
    try device.write(at: 50, edit(key, [value: .integer(0)]))
    #expect(try device.store.trashRetention == .standard)
  }

  // MARK: Content

  @Test func `the content of a field is read piece by piece, whether it is a file or in the field`() throws {
    let file = try #require(FileReference(try alice.store.keep(content)))
    var reader = try #require(try alice.store.reader(of: .file(file)))
    #expect(reader.byteCount == 150_000 && reader.file == file)
    var pieces: [[UInt8]] = []
    while let piece = try reader.next() { pieces.append(piece) }
    #expect(pieces.map(\.count) == [65_536, 65_536, 18_928])
    #expect(Array(pieces.joined()) == content)
    for bytes in [[1, 2, 3], []] as [[UInt8]] {
      var short = try #require(try alice.store.reader(of: .inline(bytes)))
      #expect(short.byteCount == bytes.count && short.file == nil)
      var read: [[UInt8]] = []
      while let piece = try short.next() {
        read.append(piece)
        try #require(read.count < 3, "the reader does not end")
      }
      #expect(read == (bytes.isEmpty ? [] : [bytes]))
    }
    let absent = try bob.store.reader(of: .file(file))
    #expect(absent?.byteCount == nil)
    let wrong = try #require(FileReference(size: file.size + 1, id: file.id))
    #expect(throws: FileStoreError.damaged) { _ = try alice.store.reader(of: .file(wrong)) }
  }

  @Test func `bytes become a file once they are longer than a field may be`() throws {
    let longest = [UInt8](repeating: 7, count: 32 * 1_024)
    #expect(try alice.store.keep(longest) == .bytes(longest))
    #expect(try alice.store.filesHere() == [])
    let file = try #require(FileReference(try alice.store.keep(longest + [7], now: 9)))
    #expect(file.size == 32 * 1_024 + 1)
    #expect(try alice.store.filesHere() == [file] && alice.store.usedAt(file) == 9)
    #expect(try alice.store.bytes(of: .file(file)) == longest + [7])
  }
}
