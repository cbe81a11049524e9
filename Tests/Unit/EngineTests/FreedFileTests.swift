import Families
import FileFormat
import FileStore
import Membership
import Records
import Replication
import SQLite
import Shells
import Storage
import Testing
import Wire

@testable import Engine

/// When a device deletes files whose records are gone.
@Suite final class FreedFileTests {
  private final class Shell: QuietShell {
    var freed: [FreedFiles] = []
    /// The wait of the newest timer for the trash.
    var wait: Moment?
    /// The files that are being made durable.
    var finishing: [FileReference] = []
    var answers: [FilesHere] = []
    var announced: [FileReference] = []

    func finish(_ files: [FileReference], in store: FileStore) { finishing = files }
    func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {
      guard case .file(.filesHere(let here))? = try? Message(decoding: message) else { return }
      if here.role == .answer { answers.append(here) }
      if here.role == .announcement { announced += here.files }
    }

    func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
      if timer == .trash { wait = milliseconds }
    }
    func note(_ event: ReplicatorEvent) { if case .freed(let files) = event { freed.append(files) } }
  }

  private static let minute: Moment = 60_000
  private static let day: Moment = 86_400_000

  private let store: Store
  private var shell = Shell()
  private var replicator: Replicator
  /// The time on both clocks since the beginning of the test.
  private var time: Moment = 0
  /// How far the wall clock has jumped.
  private var jump: Moment = 0
  private var operations: UInt64 = 0
  private var effects: [Effect] = []

  private let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  private let lodging = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(1, 2)))
  private let attachment = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 3)))
  private let data = Kind.attachment.number("fileData")

  init() throws {
    let family = try Family(founder: "alice")
    store = try Store.inMemory()
    try store.saveStatements([(family.genesis.id, family.genesis.bytes)])
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    replicator = try Self.replicator(store, shell)
    replicator.handle(.started, now: now)
    try write(
      EntryDraft(.insert, trip, [(1, .text("Rome"))]),
      EntryDraft(.insert, lodging, [(1, .bytes(trip.id.bytes)), (2, .text("Casa"))]))
  }

  private static func replicator(_ store: Store, _ shell: Shell) throws -> Replicator {
    let replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
    replicator.shell = shell
    return replicator
  }

  private var now: Now { Now(wall: Family.start + time + jump, steady: time) }

  private func write(_ drafts: EntryDraft...) throws {
    time += 1
    operations += 1
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, operations)), verb: "test"), drafts, now: now)
  }

  /// Stores a file and an attachment that names it.
  private func attach(_ byte: UInt8 = 7, to key: RecordKey? = nil) throws -> FileReference {
    let value = try store.keep([UInt8](repeating: byte, count: 100_000))
    try write(attaching(value, to: key ?? attachment))
    return try #require(FileReference(value))
  }

  private func attaching(_ value: Value, to key: RecordKey) -> EntryDraft {
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.bytes)])
    return EntryDraft(.insert, key, [(1, owner), (data, value)])
  }

  private func set(_ days: Value) throws {
    let kind = Kind.setting
    try write(
      EntryDraft(
        .insert, Store.trashDaysKey,
        [(kind.number("key"), .text(TrashRetention.settingKey)), (kind.number("value"), days)]))
  }

  /// Lets time pass, firing the timer whenever it is due.
  private func wait(_ milliseconds: Moment) {
    let end = time + milliseconds
    while let next = shell.wait, time + next <= end {
      time += next
      shell.wait = nil
      replicator.handle(.timer(.trash), now: now)
    }
    if let next = shell.wait { shell.wait = next - (end - time) }
    time = end
  }

  private func has(_ file: FileReference) throws -> Bool { try store.files.has(file) }

  // MARK: Erased and replaced

  @Test func `the file of an erased record is deleted in the same turn`() throws {
    let file = try attach()
    try write(EntryDraft(.erase, attachment, []))
    #expect(try !has(file) && store.filesHere() == [])
    #expect(shell.freed.map(\.files) == [1] && shell.freed.map(\.bytes) == [100_000])
  }

  @Test func `a file that another record names as well stays until that record is erased too`() throws {
    let file = try attach()
    let other = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 4)))
    try write(attaching(file.value, to: other))
    try write(EntryDraft(.erase, attachment, []))
    #expect(try has(file))
    try write(EntryDraft(.erase, other, []))
    #expect(try !has(file))
  }

  @Test func `a file is deleted when its record names another file`() throws {
    let file = try attach()
    let next = try store.keep([UInt8](repeating: 8, count: 100_000))
    try write(EntryDraft(.put, attachment, [(data, next)]))
    #expect(try !has(file) && has(try #require(FileReference(next))))
  }

  @Test func `a file that was added for a record that is not written yet stays`() throws {
    let file = try attach()
    try write(EntryDraft(.erase, attachment, []))
    // The same bytes again, while all files are looked at.
    let addition = FileAddition(store.files)
    #expect(try addition.write([UInt8](repeating: 7, count: 100_000)) == file)
    try addition.place()
    try set(.integer(1))
    replicator.handle(.started, now: now)
    #expect(try has(file))
    try write(
      attaching(file.value, to: RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 5)))))
    addition.end()
    replicator.handle(.started, now: now)
    #expect(try has(file))
  }

  @Test func `an erase that does not fit on the disk deletes no file`() throws {
    let file = try attach()
    replicator.storeFailed(SQLiteError.noRoom)
    #expect(throws: WriteRefusal.self) { try write(EntryDraft(.erase, attachment, [])) }
    #expect(try has(file))
    replicator.handle(DiskInput.looked(hasRoom: true), now: now)
    #expect(try has(file))
  }

  @Test func `on a disk that has failed no file is deleted`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    time += 40 * Self.day
    replicator.storeFailed(SQLiteError.failed)
    #expect(replicator.disk.isBroken)
    replicator.handle(.timer(.trash), now: now)
    #expect(try has(file))
  }

  // MARK: Made durable

  /// Lets a file arrive that an attachment names.
  private func receive(_ byte: UInt8 = 7, for key: RecordKey? = nil) throws -> FileReference {
    let bytes = [UInt8](repeating: byte, count: 50_000)
    let file = try #require(FileHasher.list(of: bytes)).reference
    try write(attaching(file.value, to: key ?? attachment))
    #expect(replicator.replica.isWanted(file))
    let leaf = FileLeaf(file, 0, bytes[...])
    replicator.perform([.file(.write(leaf, from: LinkID(1))), .file(.finish(file))], now)
    return file
  }

  /// The shell has made the files durable that it was given, or could not.
  private func finish(hasFailed: Bool = false) throws {
    if !hasFailed { try store.files.finish(shell.finishing) }
    replicator.finished(shell.finishing, hasFailed: hasFailed, now: now)
  }

  @Test func `a file that has arrived counts as here once it is durable`() throws {
    let link = LinkID(1)
    replicator.replica.handle(.file(.opened(link, DeviceKey(Family.key("bob")))), now: now, into: &effects)
    let file = try receive()
    #expect(shell.finishing == [file])
    // Its name may be there before it is known to be durable.
    try store.files.finish([file])
    let question = FileMessage.filesHere(.question([file]))
    func ask() {
      replicator.replica.handle(.file(.received(link, question)), now: now, into: &effects)
      replicator.perform(effects, now)
      effects = []
    }
    ask()
    #expect(try shell.answers.map(\.files) == [[]] && store.filesHere() == [])
    replicator.finished([file], hasFailed: false, now: now)
    ask()
    #expect(try shell.answers.map(\.files) == [[], [file]] && store.filesHere() == [file])
    #expect(!replicator.replica.isWanted(file))
  }

  @Test func `files that arrive while others are made durable follow together`() throws {
    let first = try receive()
    let others = try [8, 9].map { byte in
      try receive(byte, for: RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, UInt64(byte)))))
    }
    #expect(shell.finishing == [first])
    try finish()
    #expect(shell.finishing == others.sorted())
    try finish()
    #expect(try store.filesHere().sorted() == ([first] + others).sorted())
  }

  @Test func `a file whose record is erased while it is made durable is deleted afterwards`() throws {
    _ = try receive()
    try write(EntryDraft(.erase, attachment, []))
    try finish()
    #expect(try store.files.stored() == [] && store.filesHere() == [])
    #expect(shell.freed.map(\.bytes) == [50_000])
  }

  @Test func `a file whose record is erased before its turn to be made durable is deleted`() throws {
    let first = try receive()
    let other = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 8)))
    _ = try receive(8, for: other)
    try write(EntryDraft(.erase, other, []))
    try finish()
    #expect(try store.files.stored() == [first.id] && store.filesHere() == [first])
  }

  @Test func `of files that could not be made durable nothing is left, and they are tried again`() throws {
    let file = try receive()
    try finish(hasFailed: true)
    #expect(try store.files.stored() == [] && store.filesHere() == [])
    #expect(!replicator.replica.isWanted(file))
    replicator.handle(.timer(.file(.review)), now: now)
    #expect(replicator.replica.isWanted(file))
  }

  // MARK: The end of the process

  @Test func `an erase that was stored before the process ended is finished by the next start`() throws {
    let file = try attach()
    let log = LogKey(
      device: replicator.device, incarnation: replicator.incarnation, lane: .records)
    var author = Author(
      position: try store.authorPosition(circle: replicator.circle.id, log: log), key: Family.key("alice"),
      seed: Family.seed)
    let sets = try author.write(
      [EntryDraft(.erase, attachment, [])], operation: OperationDraft(id: OperationID(.zero), verb: "test"),
      wall: Family.start + 10)
    // The process ends between this transaction and the deletion.
    _ = try store.commit(sets, horizon: Clock(raw: .max))
    #expect(try has(file))
    replicator.close()
    replicator = try Self.replicator(store, shell)
    #expect(try !has(file))
    replicator.handle(.started, now: now)
    #expect(try store.filesHere() == [])
  }

  // MARK: Many files

  @Test func `files that the exchange has no room for are looked for again`() throws {
    let files = try (0..<Limits.filesWantedMax + 10).map { number in
      let id = try #require(FileID(bytes: Bytes32(UInt64(number), 1, 2, 3).bytes))
      return try #require(FileReference(size: 40_000, id: id))
    }
    // A small change names its records, so only the files of these are looked at.
    for start in stride(from: 0, to: files.count, by: 100) {
      time += 1
      operations += 1
      try replicator.write(
        OperationDraft(id: OperationID(Bytes16(9, operations)), verb: "test"),
        files.indices[start..<min(files.count, start + 100)].map { index in
          attaching(
            files[index].value,
            to: RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(2, UInt64(index)))))
        }, now: now)
    }
    #expect(files.filter { replicator.replica.isWanted($0) }.count == Limits.filesWantedMax)
    #expect(replicator.transfers.hasMore)
  }

  // MARK: The trash

  @Test func `the file of a deleted record is deleted thirty days later, and not before`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    wait(30 * Self.day - Self.minute)
    #expect(try has(file))
    wait(2 * Self.minute)
    #expect(try !has(file))
    #expect(shell.freed.map(\.files) == [1])
    #expect(shell.wait == nil, "nothing more is due")
  }

  @Test func `the files of a deleted trip are due as well, and a restore keeps them`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, trip, []))
    #expect(shell.wait != nil)
    wait(20 * Self.day)
    try write(EntryDraft(.restore, trip, []))
    wait(20 * Self.day)
    #expect(try has(file))
    try write(EntryDraft(.delete, trip, []))
    wait(31 * Self.day)
    #expect(try !has(file))
  }

  @Test func `a record that is restored after its file was deleted wants the file again`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, trip, []))
    wait(31 * Self.day)
    #expect(try !has(file))
    #expect(replicator.replica.progress(of: file) == nil)
    try write(EntryDraft(.restore, trip, []))
    #expect(replicator.replica.progress(of: file)?.bytes == 0)
  }

  @Test func `what is due at the start is deleted at the start`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    time += 40 * Self.day
    replicator = try Self.replicator(store, shell)
    #expect(try has(file))
    replicator.handle(.started, now: now)
    #expect(try !has(file))
  }

  @Test func `the setting changes when files of the trash are deleted`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    try set(.integer(60))
    wait(50 * Self.day)
    #expect(try has(file))
    try set(.text("never"))
    wait(500 * Self.day)
    #expect(try has(file) && shell.wait == nil)
    // A value that is not allowed counts as the default.
    try set(.integer(0))
    #expect(try !has(file))
  }

  @Test func `never keeps the files of the trash, and an erase deletes them all the same`() throws {
    let file = try attach()
    try set(.text("never"))
    try write(EntryDraft(.delete, attachment, []))
    time += 4_000 * Self.day
    replicator.handle(.started, now: now)
    #expect(try has(file))
    try write(EntryDraft(.erase, attachment, []))
    #expect(try !has(file))
  }

  // MARK: Clocks

  @Test func `a wall clock that is ahead for a moment deletes nothing`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    jump = 400 * Self.day
    wait(61 * Self.minute)
    #expect(try has(file))
    jump = 0
    wait(29 * Self.day)
    #expect(try has(file))
    wait(2 * Self.day)
    #expect(try !has(file))
  }

  @Test func `a wall clock that stays ahead counts after ten minutes`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    jump = 400 * Self.day
    wait(61 * Self.minute)
    #expect(try has(file))
    wait(10 * Self.minute)
    #expect(try !has(file))
  }

  @Test func `while the wall clock is in doubt, a change of the setting deletes nothing either`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    jump = 400 * Self.day
    wait(61 * Self.minute)
    try set(.integer(60))
    wait(5 * Self.minute)
    try set(.integer(50))
    #expect(try has(file))
    jump = 0
    wait(20 * Self.day)
    #expect(try has(file))
  }

  @Test func `a wall clock that is set back delays the deletion and does not lose it`() throws {
    let file = try attach()
    try write(EntryDraft(.delete, attachment, []))
    wait(29 * Self.day)
    jump = -5 * Self.day
    wait(4 * Self.day)
    #expect(try has(file))
    wait(3 * Self.day)
    #expect(try !has(file))
  }

  // MARK: Wrong references

  @Test func `a reference with a wrong size leaves the file of that id alone`() throws {
    let file = try attach()
    let other = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 4)))
    for size in [0, 1, 99_999] {
      let wrong = try #require(FileReference(size: size, id: file.id))
      try write(attaching(wrong.value, to: other))
      #expect(try has(file) && store.files.verify(file), "\(size)")
    }
  }

  /// The stored bytes have only the id, so they are deleted with the last reference of any size.
  @Test(arguments: [0, 49_999])
  func `a file that a wrong size has kept is gone with it, and not announced any more`(size: Int) throws {
    replicator.replica.handle(
      .file(.opened(LinkID(1), DeviceKey(Family.key("bob")))), now: now, into: &effects)
    let file = try receive()
    try finish()
    let wrong = try #require(FileReference(size: size, id: file.id))
    try write(EntryDraft(.put, attachment, [(data, wrong.value)]))
    #expect(try has(file))
    try write(EntryDraft(.erase, attachment, []))
    #expect(try !has(file) && store.filesHere() == [])
    #expect(shell.freed.map(\.files) == [1])
    replicator.handle(.timer(.file(.announce)), now: now)
    #expect(shell.announced == [])
  }

  @Test func `a file that a wrong size has kept is gone with it, also while it is made durable`() throws {
    let file = try receive()
    let wrong = try #require(FileReference(size: 0, id: file.id))
    try write(EntryDraft(.put, attachment, [(data, wrong.value)]))
    try write(EntryDraft(.erase, attachment, []))
    try finish()
    #expect(try store.files.stored() == [] && store.filesHere() == [])
    #expect(!replicator.replica.isWanted(file))
  }

  @Test func `a file that another addition has held to the end is not announced after that`() throws {
    replicator.replica.handle(
      .file(.opened(LinkID(1), DeviceKey(Family.key("bob")))), now: now, into: &effects)
    let additions = [FileAddition(store.files), FileAddition(store.files)]
    let content = [UInt8](repeating: 7, count: 100_000)
    let files = try additions.map { addition in
      let file = try addition.write(content)
      try addition.place()
      try replicator.noteAdded([file], now: now)
      return file
    }
    try write(attaching(files[0].value, to: attachment))
    replicator.endAddition(additions[0], now: now)
    try write(EntryDraft(.erase, attachment, []))
    #expect(try has(files[0]))
    replicator.endAddition(additions[1], now: now)
    #expect(try !has(files[0]) && store.filesHere() == [])
    replicator.handle(.timer(.file(.announce)), now: now)
    #expect(shell.announced == [])
  }

  // MARK: Files on their way

  @Test func `a file that is still arriving is given up when its record is erased`() throws {
    let content = [UInt8](repeating: 5, count: 200_000)
    let list = try #require(FileHasher.list(of: content))
    try write(attaching(list.reference.value, to: attachment))
    #expect(replicator.replica.progress(of: list.reference) != nil)
    try store.files.begin(list)
    try store.files.write(content[..<Limits.leafBytes], leaf: 0, of: list.reference)
    try write(EntryDraft(.erase, attachment, []))
    #expect(replicator.replica.progress(of: list.reference) == nil)
    #expect(try store.files.stored() == [])
    #expect(shell.freed.count == 1)
  }

  @Test(arguments: [false, true])
  func `a file whose record is deleted before it has arrived is not fetched further`(withTrip: Bool) throws {
    let file = try #require(FileHasher.list(of: [UInt8](repeating: 7, count: 50_000))).reference
    try write(attaching(file.value, to: attachment))
    #expect(replicator.replica.isWanted(file))
    let key = withTrip ? trip : attachment
    try write(EntryDraft(.delete, key, []))
    #expect(!replicator.replica.isWanted(file))
    replicator.ask(for: file, now: now)
    try write(EntryDraft(.put, key, [(withTrip ? 2 : Kind.attachment.number("fileName"), .text("new"))]))
    #expect(replicator.replica.isWanted(file), "a person waits for it")
    replicator.stopAsking(for: file, now: now)
    try write(EntryDraft(.restore, key, []))
    #expect(replicator.replica.isWanted(file))
  }

  @Test func `a file that has not arrived takes no room from others once its record is deleted`() throws {
    try replicator.setKeepPolicy(.upTo(60_000), now: now)
    let other = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 4)))
    let files = try [50_000, 20_000].map { size in
      try #require(FileHasher.list(of: [UInt8](repeating: 7, count: size))).reference
    }
    try write(attaching(files[0].value, to: attachment))
    try write(attaching(files[1].value, to: other))
    #expect(files.map { replicator.replica.isWanted($0) } == [true, false])
    try write(EntryDraft(.delete, attachment, []))
    #expect(files.map { replicator.replica.isWanted($0) } == [false, true])
  }
}
