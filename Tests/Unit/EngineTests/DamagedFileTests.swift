import Families
import FileFormat
import FileStore
import Foundation
import Membership
import Records
import Shells
import Storage
import Testing
import Wire

@testable import Engine
@testable import Replication

/// Files whose stored bytes are damaged, and files that could not be written.
@Suite final class DamagedFileTests {
  private final class Shell: QuietShell {
    var damaged: [FileReference] = []

    func note(_ event: ReplicatorEvent) { if case .damagedFile(let file) = event { damaged.append(file) } }
  }

  private let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator
  private let now = Now(wall: Family.start, steady: 0)
  private let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  private let lodging = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(1, 2)))
  private let attachment = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 3)))

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let family = try Family(founder: "alice")
    store = try Store(path: folder.appending(path: "store.db").path)
    try store.saveStatements([(family.genesis.id, family.genesis.bytes)])
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
    replicator.shell = shell
    replicator.handle(.started, now: now)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Stores a file that an attachment names.
  private func attach(_ size: Int) throws -> FileReference {
    let value = try store.keep((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251) })
    try name(value)
    return try #require(FileReference(value))
  }

  private func name(_ value: Value) throws {
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.bytes)])
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, 1)), verb: "test"),
      [
        EntryDraft(.insert, trip, [(1, .text("Rome"))]),
        EntryDraft(.insert, lodging, [(1, .bytes(trip.id.bytes)), (2, .text("Casa"))]),
        EntryDraft(.insert, attachment, [(1, owner), (Kind.attachment.number("fileData"), value)]),
      ], now: now)
  }

  private func damage(_ file: FileReference, at offset: UInt64) throws {
    let id = file.id.description
    let handle = try FileHandle(
      forUpdating: folder.appending(path: "files/\(id.prefix(2))/\(id)"))
    defer { try? handle.close() }
    try handle.seek(toOffset: offset)
    let byte = try handle.read(upToCount: 1) ?? Data()
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data(byte.map { $0 ^ 1 }))
  }

  private func serve(_ file: FileReference, _ part: FilePart, _ leaves: Range<Int>) {
    let slice = FileSlice(request: 1, file: file, part: part, leaves: leaves)
    replicator.perform([.file(.serve(LinkID(1), slice))], now)
  }

  @Test func `a leaf that does not verify when it is sent makes the file one that is fetched`() throws {
    let file = try attach(5_000_000)
    serve(file, .bytes, 3..<4)
    #expect(shell.damaged == [])
    try damage(file, at: 4 * 65_536 + 5)
    // The other leaves are as they were.
    serve(file, .bytes, 3..<4)
    #expect(shell.damaged == [])
    serve(file, .bytes, 4..<5)
    #expect(shell.damaged == [file])
    #expect(try !store.files.has(file) && store.filesHere() == [])
    #expect(replicator.replica.isWanted(file))
    let part = try #require(try store.files.partial(file))
    #expect(part.leaves.count == file.leafCount - 1 && !part.leaves.contains(4))
  }

  @Test func `a damaged file without a stored list is fetched whole`() throws {
    let file = try attach(200_000)
    try damage(file, at: 0)
    serve(file, .list, 0..<file.leafCount)
    #expect(shell.damaged == [file] && replicator.replica.isWanted(file))
    #expect(try store.files.partial(file) == nil)
    #expect(try store.files.stored() == [file.id])
  }

  @Test func `a damaged file that a person reads is fetched again, once`() throws {
    let file = try attach(100_000)
    try damage(file, at: 0)
    replicator.repair(file, now: now)
    #expect(shell.damaged == [file] && replicator.replica.isWanted(file))
    let location = try replicator.location(of: file)
    #expect(!location.isHere)
  }

  @Test func `a file that an operation is adding is not touched`() throws {
    let addition = FileAddition(store.files)
    let bytes = [UInt8](repeating: 3, count: 100_000)
    let file = try addition.write(bytes)
    try addition.place()
    try name(file.value)
    replicator.repair(file, now: now)
    #expect(shell.damaged == [])
    #expect(try store.files.has(file))
    addition.end()
  }

  @Test func `a file for which there was no room is tried again at the next review`() throws {
    let list = try #require(FileHasher.list(of: [UInt8](repeating: 5, count: 200_000)))
    try name(list.reference.value)
    #expect(replicator.replica.isWanted(list.reference))
    replicator.transfers.failed = [list.reference]
    replicator.perform([], now)
    var effects: [Effect] = []
    replicator.handle(.failed([list.reference]), now, &effects)
    #expect(!replicator.replica.isWanted(list.reference))
    #expect(
      effects.contains { effect in
        if case .schedule(.file(.review), Limits.fileRetryMilliseconds) = effect { true } else { false }
      })
    replicator.perform(effects, now)
    #expect(!replicator.replica.isWanted(list.reference))
    replicator.handle(.timer(.file(.review)), now: now)
    #expect(replicator.replica.isWanted(list.reference))
  }
}
