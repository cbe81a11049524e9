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

/// What a device remembers about files when the same thing happens a second time.
@Suite final class RepeatedFileTests {
  private final class Shell: QuietShell {}

  private static let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  private static let lodging = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(1, 2)))

  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator
  private let bob = DeviceKey(Family.key("bob"))
  private let carol = DeviceKey(Family.key("carol"))
  private let now = Now(wall: Family.start + 1_000, steady: 0)
  /// A file that is here.
  private let file: FileReference
  /// Files that are on no connected device.
  private let awaited: FileReference
  private let other: FileReference

  /// Alice keeps all files.
  init() throws {
    let family = try Family(founder: "alice")
    (store, replicator) = try startedAlice(in: family, with: ["bob", "carol"], shell, at: now)
    let value = try store.keep([UInt8](repeating: 7, count: 100_000))
    file = try #require(FileReference(value))
    awaited = try #require(FileReference(size: 80_000, id: FileID(Bytes32(7, 7, 7, 1))))
    other = try #require(FileReference(size: 90_000, id: FileID(Bytes32(7, 7, 7, 2))))
    try replicator.write(
      OperationDraft(id: OperationID(Bytes16(9, 1)), verb: "test"),
      [
        EntryDraft(.insert, Self.trip, [(1, .text("Rome"))]),
        EntryDraft(.insert, Self.lodging, [(1, .bytes(Self.trip.id.bytes)), (2, .text("Casa"))]),
        Self.attaching(file, 3), Self.attaching(awaited, 4), Self.attaching(other, 5),
      ], now: now)
  }

  private static func attaching(_ file: FileReference, _ number: UInt64) -> EntryDraft {
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.bytes)])
    let key = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, number)))
    return EntryDraft(.insert, key, [(1, owner), (Kind.attachment.number("fileData"), file.value)])
  }

  private var wanted: [Bool] { [awaited, other].map { replicator.replica.isWanted($0) } }

  /// A device says that it keeps all files and has the one that is here.
  private func claims(_ device: DeviceKey) {
    carryOut(.learned(device, asked: [file], held: [file], keepsAll: true))
  }

  /// A device says that it does not keep all files. It was asked about another file.
  private func withdraws(_ device: DeviceKey) {
    carryOut(.learned(device, asked: [other], held: [], keepsAll: false))
  }

  private func carryOut(_ effect: FileEffect) {
    var following: [Effect] = []
    replicator.carryOut(effect, now, &following)
  }

  private func withoutKeeper() throws -> [FileReference] { try store.filesWithoutKeeper(limit: 10) }

  @Test func `of two devices that keep all files one may stop, and the other is still relied on`() throws {
    claims(bob)
    claims(carol)
    withdraws(bob)
    #expect(try withoutKeeper() == [])
    // It says so once more, which withdraws nothing of the other device.
    withdraws(bob)
    #expect(try withoutKeeper() == [])
    withdraws(carol)
    #expect(try withoutKeeper() == [file])
  }

  @Test func `a file is wanted until the last of those who asked for it stops, however often`() throws {
    #expect(wanted == [true, true])
    try replicator.setKeepPolicy(.onDemand, now: now)
    #expect(wanted == [false, false])
    for round in 1...2 {
      for _ in 0..<2 { replicator.ask(for: awaited, now: now) }
      #expect(wanted == [true, false], "round \(round)")
      replicator.stopAsking(for: awaited, now: now)
      #expect(wanted == [true, false], "round \(round): one of two still waits")
      // A change of the policy and back leaves the wait alone.
      try replicator.setKeepPolicy(.all, now: now)
      #expect(wanted == [true, true], "round \(round)")
      try replicator.setKeepPolicy(.onDemand, now: now)
      #expect(wanted == [true, false], "round \(round)")
      replicator.stopAsking(for: awaited, now: now)
      #expect(wanted == [false, false], "round \(round)")
      // A stop without a wait does not count against the next one.
      replicator.stopAsking(for: awaited, now: now)
    }
    replicator.ask(for: awaited, now: now)
    #expect(wanted == [true, false])
    // A device that keeps all files wants it all the same.
    try replicator.setKeepPolicy(.all, now: now)
    replicator.stopAsking(for: awaited, now: now)
    #expect(wanted == [true, true])
  }

  /// Lets a file fail to be written.
  private func fail() {
    replicator.transfers.failed.insert(awaited)
    var effects: [Effect] = []
    replicator.handle(.failed([awaited]), now, &effects)
    replicator.perform(effects, now)
    #expect(wanted == [false, true])
    #expect(replicator.hasFailed(awaited))
  }

  @Test func `a file that could not be written is tried again each time that the disk has room again`() {
    for round in 1...2 {
      fail()
      replicator.storeFailed(SQLiteError.noRoom)
      replicator.handle(.looked(hasRoom: false), now: now)
      #expect(wanted == [false, true], "round \(round)")
      replicator.handle(.looked(hasRoom: true), now: now)
      #expect(wanted == [true, true], "round \(round)")
      #expect(!replicator.hasFailed(awaited), "round \(round)")
    }
  }

  @Test func `a file that could not be written is tried again when a person asks for it`() throws {
    try replicator.setKeepPolicy(.onDemand, now: now)
    for round in 1...2 {
      replicator.ask(for: awaited, now: now)
      replicator.transfers.failed.insert(awaited)
      #expect(replicator.hasFailed(awaited))
      replicator.stopAsking(for: awaited, now: now)
      #expect(wanted == [false, false], "round \(round)")
      replicator.ask(for: awaited, now: now)
      #expect(!replicator.hasFailed(awaited), "round \(round)")
      #expect(wanted == [true, false], "round \(round)")
      replicator.stopAsking(for: awaited, now: now)
    }
  }
}
