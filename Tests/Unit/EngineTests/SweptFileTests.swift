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

/// Which files stay at a start although the tables do not name them: those of sets that are not folded.
@Suite final class SweptFileTests {
  private final class Shell: QuietShell {}

  private static let hour: Moment = 3_600_000
  private static let now = Now(wall: Family.start, steady: 0)

  private let family: Family
  private let store: Store
  private let shell = Shell()
  private var replicator: Replicator
  private let content = [UInt8](repeating: 7, count: 100_000)
  /// The file that Bob attaches.
  private let file: FileReference
  /// A file that nothing ever names.
  private let unnamed: FileReference

  private let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  private let lodging = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(1, 2)))
  private let attachment = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 3)))

  init() throws {
    family = try Family(founder: "alice")
    (store, replicator) = try startedAlice(in: family, with: ["bob", "carol"], shell, at: Self.now)
    let values = (try store.keep(content), try store.keep([UInt8](repeating: 8, count: 100_000)))
    file = try #require(FileReference(values.0))
    unnamed = try #require(FileReference(values.1))
  }

  /// Alice receives a set from Bob, with a trip, a lodging and an attachment that names the file.
  private func receive(datedAt wall: Moment) throws {
    let bob = Family.key("bob")
    let log = LogKey(device: DeviceKey(bob), incarnation: Incarnation(Bytes16(5, 5)), lane: .records)
    var author = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: bob, seed: Family.seed)
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.bytes)])
    let data = Kind.attachment.number("fileData")
    let sets = try author.write(
      [
        insert(trip), EntryDraft(.insert, lodging, [(1, .bytes(trip.id.bytes))]),
        EntryDraft(.insert, attachment, [(1, owner), (data, file.value)]),
      ],
      operation: OperationDraft(id: OperationID(Bytes16(9, 1)), verb: "test"), wall: wall)
    _ = try store.commit(sets, horizon: Clock(milliseconds: Family.start + 60_000))
  }

  /// The process ends, and another one starts.
  private func restart() throws {
    replicator.close()
    replicator = try Replicator(
      store: store, circle: Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
  }

  @Test func `a file that only excluded sets name is still here when their revocation turns out to be void`()
    throws
  {
    try receive(datedAt: Family.start)
    #expect(try store.naming(of: file) == .shown)
    let revocation = try family.revocation(of: "bob", by: "carol")
    replicator.handle(.statementsAdded([revocation.bytes]), now: Self.now)
    #expect(try store.naming(of: file) == .nothing)
    try restart()
    #expect(try store.naming(of: file) == .nothing && store.files.has(file))
    #expect(try !store.files.has(unnamed), "what no set names is gone")
    // Carol's key was stolen: the root key revokes her, and nothing that she has signed stays valid.
    replicator.handle(.statementsAdded([try family.revocation(of: "carol").bytes]), now: Self.now)
    #expect(try store.naming(of: file) == .shown)
    #expect(try store.bytes(of: .file(file)) == content)
  }

  @Test func `a file that only a parked set names is still here when that set is folded`() throws {
    try receive(datedAt: Family.start + Self.hour)
    try restart()
    #expect(try store.naming(of: file) == .nothing && store.files.has(file))
    #expect(try !store.files.has(unnamed), "what no set names is gone")
    replicator.handle(.timer(.unpark), now: Now(wall: Family.start + Self.hour, steady: Self.hour))
    #expect(try store.naming(of: file) == .shown)
    #expect(try store.bytes(of: .file(file)) == content)
  }
}
