import FileFormat
import FileStore
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

@Suite struct StoredFileTests {
  private let alice: Device
  private let bob: Device
  private let content = [UInt8](repeating: 7, count: 100_000)
  private let data = Kind.attachment.number("fileData")
  private let avatar = Kind.profile.number("avatar")

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
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

  @Test func `a file that several deleted records name is in the trash since the last of them was deleted`()
    throws
  {
    let value = try alice.store.keep(content)
    let file = try #require(FileReference(value))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: value]))
    try alice.write(at: 11, insert(attachment(4), [1: owner(2), data: value]))
    try alice.write(at: 20, EntryDraft(.delete, attachment(3), []))
    #expect(try alice.store.naming(of: file) == .shown)
    try alice.write(at: 40, EntryDraft(.delete, attachment(4), []))
    #expect(try alice.store.naming(of: file) == .trash(deletedAt: 40))
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

  @Test func `files here, missing, and held by no one else are counted`() throws {
    let (first, second) = (try alice.store.keep(content), try alice.store.keep(content + [1]))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: first]))
    try alice.write(at: 11, insert(attachment(4), [1: owner(2), data: second]))
    try bob.sync(from: alice)
    let files = try [first, second].map { try #require(FileReference($0)) }
    #expect(try alice.store.filesHereTotal() == FileTotal(count: 2, bytes: 200_001))
    #expect(try alice.store.filesMissingTotal() == FileTotal(count: 0, bytes: 0))
    #expect(try bob.store.filesHereTotal() == FileTotal(count: 0, bytes: 0))
    #expect(try bob.store.filesMissingTotal() == FileTotal(count: 2, bytes: 200_001))
    #expect(try bob.store.filesMissing(limit: 1) == [files.min()])
    #expect(try alice.store.lastCopiesTotal().count == 2)
    try alice.store.noteHolder(bob.log.device, asked: files, held: [files[0]], keepsAll: false, now: 20)
    #expect(try alice.store.lastCopiesTotal() == FileTotal(count: 1, bytes: 100_001))
    #expect(try alice.store.filesWithoutKeeper(limit: 10) == files.sorted())
    #expect(try alice.store.largestNamedFiles(limit: 1) == [files[1]])
    #expect(try alice.store.records(naming: files[0]) == [attachment(3)])
    try alice.store.forgetHolders(except: [])
    #expect(try alice.store.lastCopiesTotal().count == 2)
  }

  @Test func `a file that is deleted or left over on the disk is noticed at the next start`() throws {
    let file = try #require(FileReference(try alice.store.keep(content, now: 5)))
    try alice.store.noteGone([file])
    try alice.store.reconcileFiles(named: [file], now: 9)
    #expect(try alice.store.usedAt(file) == 9)
    try alice.store.drop([file])
    try alice.store.noteHere(file, usedAt: 9)
    try alice.store.reconcileFiles(named: [file], now: 10)
    #expect(try alice.store.filesHere() == [])
  }

  @Test func `uses within an hour are recorded once`() throws {
    let file = try #require(FileReference(try alice.store.keep(content, now: 1_000)))
    for (now, recorded) in [(2_000, 1_000), (3_600_999, 1_000), (3_601_001, 3_601_001)] as [(Moment, Moment)]
    {
      try alice.store.noteUsed(file, now: now)
      #expect(try alice.store.usedAt(file) == recorded)
    }
  }

  @Test func `what a device says about files that no record names is not recorded`() throws {
    let file = try #require(FileReference(try alice.store.keep(content)))
    try alice.store.noteHolder(bob.log.device, asked: [file], held: [file], keepsAll: true, now: 100)
    #expect(try alice.store.holders(of: file) == [])
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: file.value]))
    try alice.store.noteHolder(bob.log.device, asked: [file], held: [file], keepsAll: true, now: 100)
    #expect(try alice.store.holders(of: file) == [bob.log.device])
    try alice.store.forgetHolders(of: [file])
    #expect(try alice.store.holders(of: file) == [])
  }

  @Test func `only what a device said after a change of policy counts when files are dropped`() throws {
    let file = try #require(FileReference(try alice.store.keep(content, now: 5)))
    let other = try #require(FileReference(try alice.store.keep(content + [1], now: 6)))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: file.value]))
    try alice.write(at: 11, insert(attachment(4), [1: owner(2), data: other.value]))
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

  // MARK: Freeing

  private func freed(_ files: FileReference..., at now: Moment? = 1_000, isChange: Bool = true) throws
    -> [FileReference]
  {
    try alice.store.filesToFree(among: Set(files), now: now, isChange: isChange).files
  }

  private func file(_ value: Value) throws -> FileReference { try #require(FileReference(value)) }

  @Test func `a commit reports the files that it may have taken the last name from`() throws {
    let (first, second) = (try alice.store.keep(content), try alice.store.keep(content + [1]))
    try parent(1, 2, alice)
    func report(_ draft: EntryDraft) throws -> CommitReport {
      try alice.receive(try alice.draft(at: 50, [draft]))
    }
    #expect(try report(insert(attachment(3), [1: owner(2), data: first])).formerFiles == [])
    #expect(try report(edit(attachment(3), [data: second])).formerFiles == [file(first), file(second)])
    #expect(try report(edit(attachment(3), [1: owner(2)])).formerFiles == [])
    #expect(try report(delete(attachment(3))).formerFiles == [file(second)])
    #expect(try report(restore(attachment(3))).formerFiles == [file(second)])
    #expect(try report(delete(trip(1))).owned == [attachment(3)])
    #expect(try report(restore(trip(1))).owned == [attachment(3)])
    #expect(try report(erase(attachment(3))).formerFiles == [file(second)])
  }

  @Test func `a file that a sibling names is not freed until the sibling is gone`() throws {
    let (first, second) = (try alice.store.keep(content), try alice.store.keep(content + [1]))
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2)]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(attachment(3), [data: first]))
    try bob.write(at: 21, edit(attachment(3), [data: second]))
    try alice.sync(from: bob)
    #expect(try freed(file(first), file(second)) == [])
    let resolved = try alice.draft(at: 30, [edit(attachment(3), [data: second])])
    #expect(try alice.receive(resolved).formerFiles.contains(file(first)))
    #expect(try freed(file(first), file(second)) == [file(first)])
  }

  @Test func `a picture that a sibling of the profile names is not freed`() throws {
    let (first, second) = (try alice.store.keep(content), try alice.store.keep(content + [1]))
    try alice.write(at: 20, edit(FixedRecords.profile, [1: .integer(20), avatar: first]))
    try bob.write(at: 21, edit(FixedRecords.profile, [1: .integer(21), avatar: second]))
    try alice.sync(from: bob)
    #expect(try alice.store.naming(of: file(first)) == .shown)
    #expect(try alice.store.namedFiles().count == 2)
    #expect(try freed(file(first), file(second)) == [])
    let resolved = try alice.draft(at: 30, [edit(FixedRecords.profile, [1: .integer(30), avatar: second])])
    #expect(try alice.receive(resolved).formerFiles.contains(file(first)))
    #expect(try freed(file(first), file(second)) == [file(first)])
  }

  @Test func `a file that a parked set names is not freed`() throws {
    let value = try alice.store.keep(content)
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: value]))
    try bob.sync(from: alice)
    #expect(try freed(file(value)) == [])
    let parked = try bob.write(at: 2_000_000, insert(attachment(4), [1: owner(2), data: value]))
    try alice.sync(from: bob)
    #expect(try alice.store.parkedCount(.records) == UInt64(parked.count))
    try alice.write(at: 30, erase(attachment(3)))
    #expect(try alice.store.naming(of: file(value)) == .nothing)
    #expect(try freed(file(value)) == [])
    _ = try alice.store.foldParked(horizon: Clock(milliseconds: 3_000_000))
    #expect(try alice.store.naming(of: file(value)) == .shown)
  }

  @Test func `a file that a parked set names stays when an operation that adds it again fails`() throws {
    let value = try bob.store.keep(content)
    try parent(1, 2, bob)
    try bob.write(at: 2_000_000, insert(attachment(4), [1: owner(2), data: value]))
    try alice.sync(from: bob)
    #expect(try alice.store.keep(content) == value)
    #expect(try alice.store.removeUnnamed([file(value)]) == [])
    #expect(try alice.store.files.has(file(value)))
    _ = try alice.store.foldParked(horizon: Clock(milliseconds: 3_000_000))
    #expect(try alice.store.naming(of: file(value)) == .shown)
  }

  @Test func `a file that a record names with its true size is not freed for a record with a wrong one`()
    throws
  {
    let value = try alice.store.keep(content)
    let wrong = try #require(FileReference(size: 99_999, id: file(value).id))
    try parent(1, 2, alice)
    try alice.write(
      at: 10, insert(attachment(3), [1: owner(2), data: value]),
      insert(attachment(4), [1: owner(2), data: wrong.value]))
    try alice.write(at: 20, erase(attachment(4)))
    #expect(try alice.store.naming(of: wrong) == .nothing)
    #expect(try freed(wrong, file(value)) == [])
    try alice.write(at: 30, erase(attachment(3)))
    #expect(try freed(wrong, file(value)).count == 2)
  }

  @Test func `while the clock is in doubt nothing of the trash is freed`() throws {
    let value = try alice.store.keep(content)
    try parent(1, 2, alice)
    try alice.write(at: 10, insert(attachment(3), [1: owner(2), data: value]))
    try alice.write(at: 20, delete(attachment(3)))
    let due: Moment = 20 + 30 * 86_400_000
    #expect(try freed(file(value), at: due) == [file(value)])
    let inDoubt = try alice.store.filesToFree(among: [file(value)], now: nil, isChange: true)
    #expect(inDoubt.files == [] && inDoubt.nextAt == due)
  }
}
