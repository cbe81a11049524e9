import FileFormat
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Whose write names a file, which devices have it, and how much of each device's files is fetched.
@Suite struct FileNamingTests {
  private let alice: Device
  private let bob: Device
  private let content = [UInt8](repeating: 7, count: 100_000)
  private let data = Kind.attachment.number("fileData")
  private let house = RecordKey(kind: KindNumbers.lodging, id: id(2))

  /// Both devices have a trip and a lodging to which files can be attached.
  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 5, insert(trip(1), [1: .text("Rome")]), lodging(2, of: trip(1)))
    try bob.sync(from: alice)
  }

  private func file(_ number: UInt64, size: Int = 100_000) throws -> FileReference {
    try #require(FileReference(size: size, id: FileID(Bytes32(number, 1, 1, 1))))
  }

  private func attach(_ number: UInt64, _ file: FileReference, by device: Device, at wall: Moment) throws {
    try device.write(at: wall, insert(attachment(number), [1: owner(house), data: file.value]))
  }

  // MARK: Authors

  @Test func `a file belongs to the device whose write names it, also in the trash`() throws {
    let (first, second, third) = (try file(1), try file(2), try file(3))
    try attach(3, first, by: alice, at: 10)
    try attach(4, second, by: alice, at: 11)
    try bob.sync(from: alice)
    // Bob replaces the one, and only renames the other.
    try bob.write(at: 20, edit(attachment(3), [data: third.value]))
    try bob.write(at: 21, edit(attachment(4), [2: .text("renamed")]))
    try alice.sync(from: bob)
    for device in [alice, bob] {
      #expect(
        try device.store.filesByAuthor() == [alice.log.device: [second], bob.log.device: [third]])
    }
    try alice.write(at: 30, delete(attachment(3)))
    #expect(try alice.store.filesByAuthor()[bob.log.device] == [third])
    try alice.write(at: 40, erase(attachment(3)))
    #expect(try alice.store.filesByAuthor() == [alice.log.device: [second]])
  }

  @Test func `a file of concurrent writes belongs to each device that named one, also in the profile`() throws
  {
    let (first, second) = (try file(1), try file(2))
    let avatar = Kind.profile.number("avatar")
    try alice.write(at: 20, edit(FixedRecords.profile, [1: .integer(20), avatar: first.value]))
    try bob.write(at: 21, edit(FixedRecords.profile, [1: .integer(21), avatar: second.value]))
    try alice.sync(from: bob)
    #expect(try alice.store.filesByAuthor() == [alice.log.device: [first], bob.log.device: [second]])
    // The same file, named by both, belongs to both.
    try attach(5, second, by: alice, at: 30)
    #expect(
      try alice.store.filesByAuthor() == [alice.log.device: [first, second], bob.log.device: [second]])
  }

  @Test func `the records that name a file are found, the visible ones first, and not those of another size`()
    throws
  {
    let (named, short) = (try file(1), try file(1, size: 99_999))
    try attach(3, named, by: alice, at: 10)
    try attach(4, named, by: alice, at: 11)
    try attach(5, short, by: alice, at: 12)
    #expect(try alice.store.records(naming: named) == [attachment(3), attachment(4)])
    try alice.write(at: 20, delete(attachment(3)))
    #expect(try alice.store.records(naming: named) == [attachment(4), attachment(3)])
    #expect(try alice.store.records(naming: short) == [attachment(5)])
    #expect(try alice.store.files(namedBy: [attachment(3), attachment(5), trip(1)]) == [short, named])
    #expect(try alice.store.largestNamedFiles(limit: 10) == [named, short])
    #expect(try alice.store.filesMissing(limit: 10) == [short, named])
    // What only the trash names is not missing: nothing shows it.
    try alice.write(at: 21, delete(attachment(4)))
    #expect(try alice.store.filesMissing(limit: 10) == [short])
    #expect(try alice.store.filesMissingTotal() == FileTotal(count: 1, bytes: 99_999))
  }

  // MARK: Holders

  @Test func `what one device says about its files changes nothing of what another one said`() throws {
    let carol = try Device("carol")
    let (first, second) = (try file(1), try file(2))
    try attach(3, first, by: alice, at: 10)
    try attach(4, second, by: alice, at: 11)
    for kept in [first, second] { try alice.store.noteHere(kept, usedAt: 5) }
    let (one, other) = (bob.log.device, carol.log.device)
    for device in [one, other] {
      try alice.store.noteHolder(
        device, asked: [first, second], held: [first, second], keepsAll: true, now: 100)
    }
    #expect(try alice.store.holders(of: first) == [one, other].sorted())
    try alice.store.noteKeepsNothing(one)
    #expect(try alice.store.keptFiles().map(\.hasKeeper) == [true, true], "Carol still keeps them")
    #expect(try alice.store.holders(of: first).count == 2, "Bob still has it")
    // Only what was asked about is answered.
    try alice.store.noteHolder(other, asked: [first], held: [], keepsAll: true, now: 110)
    #expect(try alice.store.holders(of: first) == [one])
    #expect(try alice.store.holders(of: second) == [one, other].sorted())
    #expect(try alice.store.keptFiles().filter(\.hasKeeper).map(\.file) == [second])
    #expect(try alice.store.filesWithoutKeeper(limit: 10) == [first])
    try alice.store.forgetHolders(except: [one])
    #expect(try alice.store.holders(of: second) == [one])
    #expect(try alice.store.lastCopiesTotal() == FileTotal(count: 0, bytes: 0))
    try alice.store.forgetHolders(of: [first])
    #expect(try alice.store.lastCopiesTotal() == FileTotal(count: 1, bytes: 100_000))
    #expect(try alice.store.holders(of: second) == [one])
  }

  @Test func `a file that is here was used at the latest time, and another size of it is another file`()
    throws
  {
    let (here, short) = (try file(1), try file(1, size: 5))
    try alice.store.noteHere([here], usedAt: 50)
    try alice.store.noteHere([here], usedAt: 20)
    #expect(try alice.store.usedAt(here) == 50, "a clock that is set back does not make it older")
    #expect(try alice.store.usedAt(short) == nil)
    try alice.store.noteGone([short])
    #expect(try alice.store.filesHere() == [here])
    try alice.store.noteUsed(short, now: 10_000_000)
    #expect(try alice.store.filesHere() == [here], "only a file that is here can be used")
    #expect(try alice.store.usedAt(here) == 50)
    try alice.store.noteGone([here])
    #expect(try alice.store.filesHere() == [])
  }

  // MARK: Quotas and policies

  @Test func `files fill the quota of their device exactly, and what is not admitted takes no room`() throws {
    let (one, other) = (alice.log.device, bob.log.device)
    let files = try (1...4).map { try file(UInt64($0), size: 100) }
    let large = try file(9, size: 301)
    let shared = try file(10, size: 150)
    var quotas = FileQuotas(
      [one: Set(files + [large, shared]), other: [shared]], isUsed: { $0 == files[0] },
      quota: { $0 == one ? 300 : 200 })
    let admitted = [large, files[1], files[2], files[3]].map { quotas.admits($0) }
    #expect(admitted == [false, true, true, false], "one is here, and there is room for two more")
    #expect(quotas.exceeded == [one])
    // It is enough that one of its devices has room, and the file counts for both.
    let isShared = quotas.admits(shared)
    #expect(isShared)
    let isSharedAgain = quotas.admits(shared)
    #expect(!isSharedAgain)
    #expect(quotas.exceeded == [one, other])
    // Nothing names it, so nobody has room for it.
    let admitsUnnamed = quotas.admits(try file(11, size: 0))
    #expect(!admitsUnnamed)
    var unlimited = FileQuotas([one: [large]], isUsed: { _ in true }, quota: { _ in nil })
    let isAdmitted = unlimited.admits(large)
    #expect(isAdmitted && unlimited.exceeded.isEmpty)
  }

  @Test(
    arguments: [
      (.integer(1), .days(1)), (.integer(3_650), .days(3_650)), (.integer(0), nil), (.integer(-1), nil),
      (.integer(3_651), nil), (.text("never"), .forever), (.text("Never"), nil), (.text("30"), nil),
      (.bool(true), nil), (.null, nil),
    ] as [(Value, TrashRetention?)])
  func `the setting of the trash is a number of days or never`(value: Value, retention: TrashRetention?) {
    #expect(TrashRetention(value) == retention)
  }

  @Test func `files of a trash without an end are never due, and a file without a deletion neither`() {
    #expect(FileDecision.nextFreed(5, .days(2)) == 172_800_005)
    #expect(FileDecision.nextFreed(5, .forever) == nil)
    #expect(FileDecision.nextFreed(nil, .days(2)) == nil)
  }
}
