import LogStorage
import NodeRuntime
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import ChangeHistory
@testable import Waymark

/// A mass deletion that was acknowledged disappears where it is being watched, too.
struct AcknowledgedDeletionTests {
  @Test func `a watch no longer shows a mass deletion once it was acknowledged`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    try await node.noteMassDeletion()
    let watcher = Watcher(node.watch(.massDeletions))
    #expect(try await watcher.next("the deletion").flatMap(\.kinds).map(\.deleted) == [30])
    let isToldToWatchers = try await node.acknowledgeAndTell()
    try #require(isToldToWatchers, "the watch would wait until something else changes")
    #expect(try await watcher.next("no deletion").isEmpty)
    await node.close()
  }
}

extension Node {
  /// Notes that another device has deleted 30 of 40 trips.
  fileprivate func noteMassDeletion() throws {
    let operation = OperationKey(id: OperationID(Bytes16(0, 1)), device: DeviceKey(Bytes32(0, 0, 0, 1)))
    let deleted = DeletedRecords(
      operation: operation, clock: Clock(milliseconds: 5), records: [KindNumbers.trip: 30])
    var deletions = MassDeletions()
    deletions.add([deleted], visible: [KindNumbers.trip: 10])
    try deletions.save(to: store)
  }

  /// Acknowledges all mass deletions. Returns whether those who watch them are woken.
  fileprivate func acknowledgeAndTell() throws -> Bool {
    let revision = core.loop.watching.revision
    try acknowledgeMassDeletes()
    return core.loop.watching.haveChanged(LiveQuery<[MassDeletion]>.massDeletions.topics, since: revision)
  }
}
