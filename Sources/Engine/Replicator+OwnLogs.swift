import Membership
import Replication
import Storage
package import Wire

/// Own sets go to nobody before peers have told what they hold of the own logs: where another copy of this data
/// has written more, what is here gives way before anyone has seen it, and nothing forks.
extension Replicator {
  /// Own sets of a lane may be sent from now on: noted durably before the first goes.
  func release(_ lane: Lane, _ now: Now, _ following: inout [Effect]) {
    guard canStore || mayReleaseOnFullDisk(lane) else { return }
    // Continuing a log that another copy goes on with would fork it, and this device may begin no other.
    guard !isSpent || unsent.unsent(lane, in: store).isEmpty else { return }
    var next = unsent
    next.forget(lane)
    do { try next.save(store) } catch { return storeFailed(error) }
    unsent = next
    replica.handle(.released(lane), now: now, into: &following)
  }

  /// On a full disk the note takes reserved room. Not where a peer holds more of these logs: that can't be stored now,
  /// and what is withheld has to give way to it.
  private func mayReleaseOnFullDisk(_ lane: Lane) -> Bool {
    disk.isFull && withholds(lane) && !replica.isToldOfMoreOwnSets(lane) && shell?.freeReserve() == true
  }

  /// Whether own sets of a lane wait for a word of the peers before any peer gets them.
  package func withholds(_ lane: Lane) -> Bool {
    replica.withholds(lane) && !unsent.unsent(lane, in: store).isEmpty
  }

  /// Looks at sets of own logs before they are stored.
  func yieldToRemote(to sets: [VerifiedChangeSet], _ now: Now, _ following: inout [Effect]) throws {
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

  /// Writes in another log what nobody was sent of this one, and of those that may stand on it.
  private func withdraw(_ log: LogKey, _ now: Now, _ following: inout [Effect]) throws {
    var next: Incarnation?
    if log.incarnation == incarnation {
      guard try mayBegin() else { return leaveIncarnation(Self.written, now: now) }
      next = Incarnation(random16())
    }
    let heads = unsent.unsent(log.lane, in: store)
    var unsent = unsent
    for head in heads where head.log.incarnation != incarnation || next != nil { unsent.forget(head.log) }
    let order = Reauthoring(
      circle: circle.id, ended: heads.map { EndedLog(log: $0.log, tip: $0.sequence > 0 ? $0 : nil) },
      incarnation: next ?? incarnation, time: .asWritten, admission: nil,
      horizon: Self.horizon(now))
    let signing = signing
    let report = try store.reauthor(order, by: { Author(position: $0, key: signing) }) { [unsent] _ in
      if let next { try store.setMeta(MetaKey.incarnation, next.bytes) }
      try unsent.save(store)
    }
    self.unsent = unsent
    didCommit(report)
    if let next { try begin(next, Self.written, now) }
    replica.handle(.withholding(self.unsent.sent), now: now, into: &following)
    logsWereRebuilt(now, &following)
  }

  /// Sets of the own log that came from elsewhere: a copy of this data is in use, or this is an old one.
  func noteOwnSets(_ items: [Committed.Item], _ now: Now) {
    let placed = items.filter { item in
      guard item.link != nil, case .place = item.placement else { return false }
      return item.set.header.log.device == device
    }
    for set in placed.map(\.set) {
      let log = set.header.log
      // Where the log ends, all of it is somewhere else too; a fork further back leaves what is unsent so.
      if let sent = unsent.sent[log], set.header.sequence > sent.sequence { unsent.forget(log) }
    }
    if placed.contains(where: { $0.set.header.log.incarnation == incarnation }) {
      leaveIncarnation(Self.written, now: now)
    }
  }

  private static let written = "another copy of its data has written more"
}
