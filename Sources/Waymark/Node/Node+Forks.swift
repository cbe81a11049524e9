import Membership
import Replication
import Storage
import Wire

/// Logs that forked: proved to the whole circle, and ended where the log is this device's own.
extension Node {
  /// Tells the circle of forks that came to light, one proof a log.
  func proveForks() {
    let forks = unprovenForks
    unprovenForks = []
    var proofs: [[UInt8]] = []
    var proved = Set(circle.evaluation.forkProofs.map(\.log))
    for fork in forks where proved.insert(fork.set.header.log).inserted {
      do {
        proofs.append(try fork.proof(circle: circle.id).bytes)
      } catch {
        log.error("log", "a fork of \(name(of: fork.set.header.log.device)) can't be proved: \(error)")
      }
    }
    if !proofs.isEmpty { handle(.statementsAdded(proofs)) }
  }

  /// Leaves an own log that has forked.
  func noteForkProofs() {
    if circle.evaluation.forkProofs.contains(where: { isOwn($0.log) }) {
      leaveIncarnation("its log has forked")
    }
  }

  /// Forks whose author has not written a log of its own since: until then it may not know.
  func forkNotices() -> [NoticeSnapshot] {
    let devices = Set(circle.evaluation.forkProofs.map(\.log).filter { !store.hasLeft($0) }.map(\.device))
    return devices.sorted().map { device in
      NoticeSnapshot(
        .fork,
        text:
          "two copies of \(name(of: device))'s data have written at the same time; both writings are kept",
        next: "use only one copy of that device's data directory; join anew for another device")
    }
  }

  private func isOwn(_ log: LogKey) -> Bool {
    log.device == identity.device && log.incarnation == incarnation
  }
}

extension Fork {
  /// The statement that shows both sets.
  fileprivate func proof(circle: CircleID) throws(StatementError) -> Statement {
    try ForkProof.statement(
      circle: circle, (set.raw.header, set.raw.signature), (sibling.raw.header, sibling.raw.signature))
  }
}
