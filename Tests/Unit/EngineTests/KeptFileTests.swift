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

/// Which files a device drops that does not keep all of them.
@Suite final class KeptFileTests {
  private final class Shell: QuietShell {}

  private static let day: Moment = 86_400_000
  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator
  private let bob = DeviceKey(Family.key("bob"))
  private let start = Now(wall: Family.start + 1_000, steady: 0)
  private let file: FileReference

  /// Alice keeps files that are asked for. She has one, and Bob has said that he has it and keeps all files.
  init() throws {
    let family = try Family(founder: "alice")
    (store, replicator) = try startedAlice(in: family, with: ["bob"], shell, at: start)
    file = try attachedFile(in: store, replicator, at: start)
    learned([file], keepsAll: true)
  }

  private func learned(_ held: [FileReference], keepsAll: Bool) {
    carryOut(.learned(bob, asked: [file], held: held, keepsAll: keepsAll), at: start)
  }

  private func carryOut(_ effect: FileEffect, at now: Now) {
    var following: [Effect] = []
    replicator.carryOut(effect, now, &following)
  }

  /// Reviews the files two days later, and returns whether the file is still here.
  private func isHereAfterReview() throws -> Bool {
    carryOut(.review, at: Now(wall: start.wall + 2 * Self.day, steady: start.steady + 2 * Self.day))
    return try store.files.has(file)
  }

  @Test func `a file that another device keeps is dropped`() throws {
    #expect(try store.files.has(file))
    #expect(try !isHereAfterReview())
  }

  @Test(arguments: [false, true])
  func `a file that the other device lacks stays`(isFull: Bool) throws {
    if isFull { replicator.storeFailed(SQLiteError.noRoom) }
    carryOut(.lacks(bob, file), at: start)
    if isFull { replicator.handle(.looked(hasRoom: true), now: start) }
    #expect(try isHereAfterReview())
  }

  @Test func `a device that lacks one file is still relied on for the others`() throws {
    let other = try #require(FileReference(size: 70_000, id: FileID(Bytes32(7, 7, 7, 7))))
    carryOut(.lacks(bob, other), at: start)
    #expect(try !isHereAfterReview())
  }

  @Test(arguments: [true, false])
  func `what a device withdraws while the disk is full is not forgotten`(hasFile: Bool) throws {
    replicator.storeFailed(SQLiteError.noRoom)
    learned(hasFile ? [file] : [], keepsAll: !hasFile)
    #expect(try isHereAfterReview(), "the disk is full")
    replicator.handle(.looked(hasRoom: true), now: start)
    #expect(try isHereAfterReview())
  }
}
