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

/// When a device relies on the copies of others that change their mind, or are no longer members.
@Suite final class KeeperTests {
  private final class Shell: QuietShell {}

  private static let day: Moment = 86_400_000
  private let family: Family
  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator
  private let bob = DeviceKey(Family.key("bob"))
  private let carol = DeviceKey(Family.key("carol"))
  private let start = Now(wall: Family.start + 1_000, steady: 0)
  private let later = Now(wall: Family.start + 1_000 + 2 * KeeperTests.day, steady: 2 * KeeperTests.day)
  private let file: FileReference

  /// Alice keeps files that are asked for. She has one, and Bob has said that he has it and keeps all files.
  init() throws {
    family = try Family(founder: "alice")
    (store, replicator) = try startedAlice(in: family, with: ["bob", "carol"], shell, at: start)
    file = try attachedFile(in: store, replicator, at: start)
    answered(bob)
  }

  /// A device answers that it has the file and keeps all files.
  private func answered(_ device: DeviceKey) {
    carryOut(.learned(device, asked: [file], held: [file], keepsAll: true), at: start)
  }

  /// Bob announces that he has begun, or stopped, to keep all files.
  private func announced(keepsAll: Bool) {
    carryOut(.learned(bob, asked: [], held: [], keepsAll: keepsAll), at: start)
  }

  private func carryOut(_ effect: FileEffect, at now: Now) {
    var following: [Effect] = []
    replicator.carryOut(effect, now, &following)
  }

  /// Reviews the files two days later, and returns whether the file is still here.
  private func isHereAfterReview() throws -> Bool {
    carryOut(.review, at: later)
    return try store.files.has(file)
  }

  @Test func `a device that stops keeping all files is not relied on, the second time too`() throws {
    announced(keepsAll: false)
    announced(keepsAll: true)
    answered(bob)
    announced(keepsAll: false)
    #expect(try isHereAfterReview())
    announced(keepsAll: true)
    #expect(try isHereAfterReview(), "it has not said again which files it has")
    answered(bob)
    #expect(try !isHereAfterReview())
  }

  @Test(arguments: [false, true])
  func `a file is not dropped if its only other keeper is revoked`(isKeptByAnother: Bool) throws {
    if isKeptByAnother { answered(carol) }
    replicator.handle(.statementsAdded([try family.revocation(of: "bob").bytes]), now: start)
    #expect(try isHereAfterReview() == !isKeptByAnother)
  }

  @Test func `a file is not dropped until the last of those who wait for it has stopped`() throws {
    replicator.ask(for: file, now: start)
    replicator.ask(for: file, now: start)
    #expect(try isHereAfterReview())
    replicator.stopAsking(for: file, now: later)
    #expect(try isHereAfterReview())
    replicator.stopAsking(for: file, now: later)
    #expect(try !isHereAfterReview())
  }
}
