import Engine
import Home
import Model
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import SQLite
@testable import Waymark

/// What follows from a write that failed: after some errors nothing may be written any more.
struct LostWriteTests {
  private static let failed = SQLiteError(code: 10, message: "disk I/O error", sql: nil)
  private static let damaged = SQLiteError(code: 11, message: "database disk image is malformed", sql: nil)
  private static let noRoom = SQLiteError(code: 13, message: "database or disk is full", sql: nil)
  private static let constraint = SQLiteError(code: 19, message: "constraint failed", sql: nil)

  @Test func `a call whose write may be lost stops the node, and the next start verifies the store`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save(Trip(name: "Rome"))
    #expect(!alice.home.isSuspect)
    #expect(await alice.node.failure(Self.failed).reason == .storeBroken)
    #expect(try await refusal { _ = try await alice.node.save(Trip(name: "Oslo")) } == "store_broken")
    #expect(try await refusal { _ = try await alice.node.count(Trip.all) } == "store_broken")
    #expect(alice.home.isSuspect)
    await alice.close()
  }

  @Test func `a call that only could not read says so, and the node goes on`() async throws {
    let alice = try await TestNode.founder("alice")
    for error in [Self.damaged, Self.constraint] {
      #expect(await alice.node.failure(error).reason != .storeBroken)
      _ = try await alice.node.save(Trip(name: "Rome"))
    }
    #expect(!alice.home.isSuspect)
    #expect(try await alice.node.count(Trip.all) == 2)
    await alice.close()
  }

  /// Failed writes: the error to show, and whether the disk is then full or broken.
  private static let writes: [(SQLiteError, Reason?, isFull: Bool, isBroken: Bool)] = [
    (noRoom, .diskFull, true, false), (failed, .storeBroken, false, true),
    (damaged, .storeBroken, false, true), (constraint, nil, false, false),
  ]

  @Test func `a failed write is recorded as what it means for the disk`() async throws {
    for (error, reason, isFull, isBroken) in Self.writes {
      let alice = try await TestNode.founder("alice")
      let seen = await alice.node.notWritten(error)
      #expect(seen.reason == reason && seen.isFull == isFull && seen.isBroken == isBroken, "\(error)")
      #expect(alice.home.isSuspect == isBroken, "\(error)")
      await alice.close()
    }
  }
}

extension Node {
  /// Reports a failed write, and returns the error to show and the state of the disk at that moment.
  fileprivate func notWritten(_ error: SQLiteError) -> (reason: Reason?, isFull: Bool, isBroken: Bool) {
    let shown = core.maintenance.notWritten(error)
    let disk = core.replicator.disk
    return ((shown as? WaymarkError)?.reason, disk.isFull, disk.isBroken)
  }
}
