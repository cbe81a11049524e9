import Engine
import Membership
import Replication
import Storage
import Wire

/// What the replicator of a node asks of it; all of it happens in the node's own turns.
final class NodeShell: ReplicatorShell {
  weak var node: Node?

  func send(_ message: [UInt8], to link: LinkID) { onNode { $0.send(message, to: link) } }

  func close(_ link: LinkID, _ cause: CloseCause) { onNode { $0.close(link, cause) } }

  func isCongested(_ link: LinkID) -> Bool { node?.assumeIsolated { $0.isCongested(link) } ?? false }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    onNode { $0.schedule(timer, after: milliseconds) }
  }

  func beginPiece() -> () -> Bool {
    guard let node else { return { true } }
    let end = node.steady + Limits.turnMilliseconds
    return { node.steady >= end }
  }

  func goOnSoon() { onNode { $0.goOnSoon() } }

  func note(_ event: ReplicaEvent) { onNode { $0.note(event) } }

  func note(_ event: ReplicatorEvent) { onNode { $0.note(event) } }

  func replied(_ link: LinkID, _ reply: Reply) -> Input? {
    node?.assumeIsolated { $0.questions.end(link, reply) }
  }

  func noting(_ report: CommitReport) throws {
    try node?.assumeIsolated {
      try MassDeletes.note(
        report, in: $0.store, exceptBy: $0.identity.device, seen: $0.remembered.seenSets)
    }
  }

  func didCommit(_ report: CommitReport) { onNode { $0.didCommit(report) } }

  func perform(_ effect: DiskEffect) { onNode { $0.perform(effect) } }

  func freeReserve() -> Bool { node?.assumeIsolated { $0.ballast.releaseReserve() } ?? false }

  private func onNode(_ body: (isolated Node) -> Void) { node?.assumeIsolated(body) }
}
