import FileFormat
import Records
import Replication
import Storage
import Testing
import Wire

@Suite struct StoredFileTests {
  private let alice: Device
  private let bob: Device
  private let content = [UInt8](repeating: 7, count: 100_000)
  private let data = Registry.attachment.number("fileData")
  private let avatar = Registry.profile.number("avatar")

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  private func attachment(_ number: UInt64) -> RecordKey {
    RecordKey(kind: KindNumbers.attachment, id: id(number))
  }

  private func parent(_ trip: UInt64, _ lodging: UInt64, _ device: Device) throws {
    try device.write(
      at: 5, insert(RecordKey(kind: KindNumbers.trip, id: id(trip)), [1: .text("Rome")]),
      insert(RecordKey(kind: KindNumbers.lodging, id: id(lodging)), [1: .bytes(id(trip).bytes)]))
  }

  private func owner(_ lodging: UInt64) -> Value {
    .array([.integer(Int64(KindNumbers.lodging.rawValue)), .bytes(id(lodging).bytes)])
  }

  @Test func `bytes that are too long for a field are kept as a file`() throws {
    let value = try alice.store.keep(content)
    let file = try #require(FileReference(value))
    #expect(try alice.store.bytes(of: .file(file)) == content)
    #expect(try alice.store.filesHere() == [file])
    #expect(try alice.store.keep([1, 2]) == .bytes([1, 2]))
    #expect(try bob.store.bytes(of: .file(file)) == nil)
  }

  @Test func `a file is named by a visible record, then by the trash, then by nothing`() throws {
    let value = try alice.store.keep(content)
    let file = try #require(FileReference(value))
    #expect(try alice.store.naming(of: file) == .nothing)
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: value]))
    #expect(try alice.store.naming(of: file) == .shown)
    #expect(try alice.store.files(namedBy: [attachment(3)]) == [file])
    try alice.write(at: 20, EntryDraft(.delete, attachment(3), []))
    #expect(try alice.store.naming(of: file) == .trash(deletedAt: 20))
    #expect(try alice.store.namedFiles() == [file])
    try alice.write(at: 30, EntryDraft(.restore, attachment(3), []))
    #expect(try alice.store.naming(of: file) == .shown)
    try alice.write(at: 40, EntryDraft(.erase, attachment(3), []))
    #expect(try alice.store.naming(of: file) == .nothing)
    #expect(try alice.store.namedFiles() == [])
  }

  @Test func `a file whose item was deleted is in the trash since that deletion`() throws {
    let value = try alice.store.keep(content)
    let file = try #require(FileReference(value))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: value]))
    try alice.write(at: 50, EntryDraft(.delete, RecordKey(kind: KindNumbers.trip, id: id(1)), []))
    #expect(try alice.store.naming(of: file) == .trash(deletedAt: 50))
  }

  @Test func `a sibling names its file`() throws {
    let (first, second) = (try alice.store.keep(content), try bob.store.keep(content + [1]))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2)]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(attachment(3), [data: first]))
    try bob.write(at: 21, edit(attachment(3), [data: second]))
    try alice.sync(from: bob)
    for value in [first, second] {
      #expect(try alice.store.naming(of: try #require(FileReference(value))) == .shown)
    }
    #expect(try alice.store.namedFiles().count == 2)
  }

  @Test func `only what a device said after a change of policy counts when files are dropped`() throws {
    let file = try #require(FileReference(try alice.store.keep(content, now: 5)))
    let other = try #require(FileReference(try alice.store.keep(content + [1], now: 6)))
    try alice.store.noteHolder(bob.log.device, asked: [file, other], held: [file], keepsAll: true, now: 100)
    #expect(try alice.store.holders(of: file) == [bob.log.device])
    #expect(try alice.store.holders(of: other) == [])
    func keepers() throws -> [FileReference] { try alice.store.keptFiles().filter(\.hasKeeper).map(\.file) }
    #expect(try keepers() == [file])
    try alice.store.setKeepPolicy(.onDemand)
    #expect(try alice.store.keepPolicy() == .onDemand)
    #expect(try keepers() == [])
    #expect(try alice.store.holders(of: file) == [bob.log.device])
    try alice.store.noteHolder(bob.log.device, asked: [file], held: [file], keepsAll: true, now: 150)
    try alice.store.setKeepPolicy(.upTo(5))
    #expect(try keepers() == [file])
    try alice.store.noteHolder(bob.log.device, asked: [file], held: [file], keepsAll: false, now: 200)
    #expect(try keepers() == [])
    try alice.store.noteHolder(bob.log.device, asked: [file], held: [], keepsAll: true, now: 300)
    #expect(try alice.store.holders(of: file) == [])
  }
}
