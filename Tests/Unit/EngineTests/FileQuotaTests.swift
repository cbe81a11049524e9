import Families
import FileFormat
import FileStore
import Membership
import Records
import Replication
import Shells
import Storage
import Testing
import Wire

@testable import Engine

/// How many bytes of another device's files a device fetches by itself.
@Suite final class FileQuotaTests {
  private final class Shell: QuietShell {
    var asked: [FileReference] = []

    func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {
      guard case .file(.filesHere(let here))? = try? Message(decoding: message), here.role == .question else {
        return
      }
      asked += here.files
    }
  }

  /// 16 times the quota of records.
  private static let quota = 16 * 12_000
  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator
  private let family: Family
  private let log = LogKey(
    device: DeviceKey(Family.key("bob")), incarnation: Incarnation(Bytes16(2, 2)), lane: .records)
  private let now = Now(wall: Family.start + 1_000, steady: 0)
  private let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  private let lodging = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(1, 2)))
  private var attachments: UInt64 = 10

  init() throws {
    family = try Family(founder: "alice")
    store = try Store.inMemory()
    let statements = [family.genesis, try family.certificate(for: "bob")]
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    let quotas = DeviceQuotas(settings: 12_000, records: 12_000)
    replicator = try Replicator(
      store: store, circle: try Circle(store: store, quotas: quotas), signing: Family.key("alice"),
      preference: false, localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1,
      random16: { Bytes16(4, 4) })
    replicator.shell = shell
    replicator.handle(.started, now: now)
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, 1)), verb: "test"),
      [
        EntryDraft(.insert, trip, [(1, .text("Rome"))]),
        EntryDraft(.insert, lodging, [(1, .bytes(trip.id.bytes)), (2, .text("Casa"))]),
      ], now: now)
  }

  private func attaching(_ value: Value) -> EntryDraft {
    attachments += 1
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.bytes)])
    let key = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, attachments)))
    return EntryDraft(.insert, key, [(1, owner), (Kind.attachment.number("fileData"), value)])
  }

  /// A file that is nowhere here.
  private func file(_ size: Int) throws -> FileReference {
    attachments += 1
    return try #require(FileReference(size: size, id: FileID(Bytes32(7, 7, 7, attachments))))
  }

  /// Bob names files, and his change sets arrive.
  private func bobNames(_ files: [FileReference]) throws {
    var bob = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: Family.key("bob"),
      seed: Family.seed)
    let sets = try bob.write(
      files.map { attaching($0.value) }, operation: OperationDraft(id: OperationID(.zero), verb: "test"),
      wall: Family.start + 10)
    replicator.didCommit(try store.commit(sets, horizon: Clock(raw: .max)))
    replicator.perform([], now)
  }

  private func aliceNames(_ files: [FileReference]) throws {
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, attachments)), verb: "test"),
      files.map { attaching($0.value) },
      now: now)
  }

  /// Alice, who is an admin, grants Bob room.
  private func grant(_ bytes: UInt64) throws {
    let grant = try Statement(
      signing: Grant(
        circle: family.circle, issuer: DeviceKey(Family.key("alice")), device: log.device, lane: .records,
        bytes: bytes, issued: 5), with: Family.key("alice"))
    replicator.handle(.statementsAdded([grant.bytes]), now: now)
  }

  private func wanted(_ files: [FileReference]) -> [Bool] { files.map { replicator.replica.isWanted($0) } }

  @Test func `files of another device are fetched up to its quota`() throws {
    let files = [try file(100_000), try file(90_000), try file(50_000)]
    try bobNames([files[0]])
    try bobNames([files[1]])
    #expect(wanted(files) == [true, true, false] && replicator.devicesOverFileQuota == [])
    try bobNames([files[2]])
    #expect(wanted(files) == [true, true, false])
    #expect(replicator.devicesOverFileQuota == [log.device])
    // A smaller one still has room.
    let small = try file(1_000)
    try bobNames([small])
    #expect(wanted([small]) == [true])
  }

  @Test func `a device is asked whether it has a file that is not fetched`() throws {
    var effects: [Effect] = []
    replicator.replica.handle(.file(.opened(LinkID(1), log.device)), now: now, into: &effects)
    let file = try file(Self.quota + 1)
    try bobNames([file])
    #expect(wanted([file]) == [false] && shell.asked == [file])
  }

  @Test func `a file in the trash counts while it is here`() throws {
    let value = try store.keep([UInt8](repeating: 7, count: Self.quota - 10))
    let here = try #require(FileReference(value))
    try bobNames([here])
    let key = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, attachments)))
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, 5)), verb: "test"), [EntryDraft(.delete, key, [])], now: now)
    #expect(try store.files.has(here))
    let next = try file(100_000)
    try bobNames([next])
    #expect(wanted([next]) == [false] && replicator.devicesOverFileQuota == [log.device])
  }

  @Test func `a file that a person asks for is fetched all the same`() throws {
    let bytes = [UInt8](repeating: 9, count: Self.quota + 1)
    let file = try #require(FileHasher.list(of: bytes)).reference
    try bobNames([file])
    #expect(wanted([file]) == [false] && replicator.devicesOverFileQuota == [log.device])
    replicator.ask(for: file, now: now)
    #expect(wanted([file]) == [true])
    _ = try store.keep(bytes)
    replicator.finished([file], hasFailed: false, now: now)
    #expect(replicator.devicesOverFileQuota == [])
  }

  @Test func `a file that this device names as well has no quota`() throws {
    let file = try file(Self.quota + 1)
    try bobNames([file])
    try aliceNames([file])
    #expect(wanted([file]) == [true])
    replicator.handle(.timer(.file(.review)), now: now)
    #expect(replicator.devicesOverFileQuota == [])
  }

  @Test func `the files of one device take no room from another one's`() throws {
    let (large, own) = (try file(Self.quota - 10), try file(Self.quota * 3))
    try aliceNames([own])
    try bobNames([large])
    #expect(wanted([own, large]) == [true, true])
  }

  @Test func `more files beyond the quota than the exchange holds keep no others from being fetched`() throws
  {
    try grant(2_000_000)
    let large = try (0..<Limits.filesWantedMax + 100).map { _ in try file(40_000_000) }
    let small = try file(1_000)
    for start in stride(from: 0, to: large.count, by: 300) {
      try bobNames(Array(large[start..<min(start + 300, large.count)]))
    }
    try bobNames([small])
    #expect(wanted(large).allSatisfy { !$0 } && wanted([small]) == [true])
    var effects: [Effect] = []
    replicator.handle(.unwanted([small]), now, &effects)
    #expect(wanted([small]) == [false])
    replicator.handle(.timer(.file(.review)), now: now)
    #expect(wanted([small]) == [true])
    #expect(replicator.devicesOverFileQuota == [log.device])
  }

  @Test func `a grant lets more files be fetched`() throws {
    let file = try file(Self.quota + 1)
    try bobNames([file])
    #expect(wanted([file]) == [false])
    try grant(13_000)
    #expect(wanted([file]) == [true] && replicator.devicesOverFileQuota == [])
  }
}
