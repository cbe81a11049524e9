// Protocol/session.md, "Own logs after a start"

import Membership
import RecordTables
import Replication
import Storage
package import Wire

/// After a start, withholds the unsent sets of this device's own logs until peers have announced their heads of these
/// logs. If another copy of the data has written more, the withheld sets are re-authored before any peer receives them,
/// so that the log does not fork.
extension Replicator {
  /// Releases the withheld sets of a lane, after recording durably that they may have been sent.
  func release(_ lane: Lane, _ now: Now, _ following: inout [Effect]) {
    guard canStore || mayReleaseOnFullDisk(lane) else { return }
    // If the sets were sent now, they might fork a log that another copy continues. They can't be re-authored either,
    // because no incarnation is left.
    guard !isSpent || unsent.unsent(lane, in: store).isEmpty else { return }
    var next = unsent
    next.forget(lane)
    do { try next.save(store) } catch { return storeFailed(error) }
    unsent = next
    replica.handle(.released(lane), now: now, into: &following)
  }

  /// Returns whether recording a lane's release may use the reserved space on a full disk. It may not if a peer holds
  /// more of the withheld logs: the peer's sets can't be stored now, and the withheld sets have to be re-authored after
  /// them.
  private func mayReleaseOnFullDisk(_ lane: Lane) -> Bool {
    disk.isFull && withholds(lane) && !replica.isToldOfMoreOwnSets(lane) && shell?.freeReserve() == true
  }

  /// Returns whether a lane has withheld sets.
  package func withholds(_ lane: Lane) -> Bool {
    replica.withholds(lane) && !unsent.unsent(lane, in: store).isEmpty
  }

  /// Re-authors withheld sets if they conflict with received sets of the same logs, before the received sets are
  /// stored. Sets that a peer turns out to hold need not be withheld from it any more.
  func yieldToRemote(to sets: [VerifiedChangeSet], _ now: Now, _ following: inout [Effect]) throws {
    let before = unsent.sent
    // Otherwise they would seem to be missing here, and would be requested again and again.
    defer {
      if unsent.sent != before { replica.handle(.withholding(unsent.sent), now: now, into: &following) }
    }
    for set in sets where set.header.log.device == device {
      let header = set.header
      guard let sent = unsent.sent[header.log], header.sequence > sent.sequence else { continue }
      let meeting = try store.meeting(set)
      switch meeting {
      case .apart: continue
      case .held: unsent.moved(to: head(header.log, header.sequence, set.id))
      case .follows, .diverges:
        if let previous = header.previous {
          unsent.moved(to: head(header.log, header.sequence - 1, previous))
        }
        if meeting == .diverges { try withdraw(header.log, now, &following) }
      }
    }
  }

  private func head(_ log: LogKey, _ sequence: UInt64, _ id: ChangeSetID) -> LogHead {
    LogHead(log: log, sequence: sequence, id: id, foldedSequence: sequence)
  }

  /// Re-authors the withheld sets of a log under another incarnation. The withheld sets of the device's other logs in
  /// the lane move too, because they may depend on the first ones.
  private func withdraw(_ log: LogKey, _ now: Now, _ following: inout [Effect]) throws {
    var next: Incarnation?
    if log.incarnation == incarnation {
      next = try newIncarnation()
      guard next != nil else { return leaveIncarnation(Self.written, now: now) }
    }
    let heads = unsent.unsent(log.lane, in: store)
    var unsent = unsent
    for head in heads where head.log.incarnation != incarnation || next != nil { unsent.forget(head.log) }
    let order = Reauthoring(
      circle: circle.id, ended: heads.map { EndedLog(log: $0.log, tip: $0.sequence > 0 ? $0 : nil) },
      incarnation: next ?? incarnation, time: .asWritten, admission: nil,
      horizon: Self.horizon(now), holding: holding(now))
    let author = { [signing, random16] (position: AuthorPosition) in
      Author(position: position, key: signing, seed: random16)
    }
    let report: CommitReport
    do {
      report = try store.reauthor(order, by: author) { [unsent] _ in
        if let next { try store.setMeta(MetaKey.incarnation, next.bytes) }
        try unsent.save(store)
      }
    } catch ChangeSetError.beyondQuota {
      // The new log has no room for the withheld sets. They stay where they are, and the log forks: both branches are
      // valid, so nothing is lost.
      if next != nil { leaveIncarnation(Self.written, now: now) }
      return
    }
    self.unsent = unsent
    didCommit(report)
    if let next { try begin(next, Self.written, now) }
    replica.handle(.withholding(self.unsent.sent), now: now, into: &following)
    logsWereRebuilt(now, &following)
  }

  /// Handles sets of this device's own logs that a peer has sent. They mean that another copy of this data is in use,
  /// or that this copy is an old one.
  func noteOwnSets(_ items: [Committed.Item], _ now: Now) {
    let placed = items.filter { item in
      guard item.link != nil, case .place = item.placement else { return false }
      return item.set.header.log.device == device
    }
    for set in placed.map(\.set) {
      let log = set.header.log
      // The set continues the log, so a peer has all of the log. If it belongs to a branch that forked earlier, the
      // unsent sets stay unsent.
      if let sent = unsent.sent[log], set.header.sequence > sent.sequence { unsent.forget(log) }
    }
    if placed.contains(where: { $0.set.header.log.incarnation == incarnation }) {
      leaveIncarnation(Self.written, now: now)
    }
  }

  private static let written = "another copy of its data has written more"
}
