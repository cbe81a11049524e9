import Families
import Membership
import Replication
import Storage
import Wire

/// A node's work on its own logs around its core.
extension Device {
  /// A new core on the same store, as after a restart.
  func startAgain(seed: UInt64 = 7) {
    for lane in Lane.allCases {
      let log = LogKey(device: key, incarnation: incarnation, lane: lane)
      unsent[log] = store.newestHead(of: log)
    }
    replica = Replica(
      device: key, circle: replica.circle, preference: replica.preference, localPremium: .none,
      settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
      records: Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records)),
      withheld: unsent, newestForeignClock: .zero, seed: seed)
  }

  /// Removes unsent sets from a log that another device continued; returns what the core must be told then.
  func yieldToRemote(to sets: [VerifiedChangeSet], wall: Moment) -> [Input] {
    var inputs: [Input] = []
    for set in sets {
      let log = set.header.log
      guard let sent = unsent[log], set.header.sequence > sent.sequence else { continue }
      switch try? store.meeting(set) {
      case .held?:
        unsent[log] = LogHead(log: log, sequence: set.header.sequence, id: set.id, foldedSequence: 0)
      case .diverges?: inputs += withdraw(log, behind: sent, wall: wall)
      default: unsent[log] = nil
      }
    }
    return inputs
  }

  private func withdraw(_ log: LogKey, behind sent: LogHead, wall: Moment) -> [Input] {
    incarnation = Incarnation(Bytes16(incarnation.raw.word0, incarnation.raw.word1 + 100))
    unsent[log] = nil
    for lane in Set(unsent.keys.map(\.lane)).union([log.lane]) {
      let next = LogKey(device: key, incarnation: incarnation, lane: lane)
      unsent[next] = LogHead(log: next, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
    }
    let order = Reauthoring(
      circle: replica.circle.id, ended: [EndedLog(log: log, tip: sent.sequence > 0 ? sent : nil)],
      incarnation: incarnation, time: .asWritten, admission: nil,
      horizon: Clock(milliseconds: wall + Limits.clockDriftMilliseconds))
    let signing = signing
    do {
      _ = try store.reauthor(order, by: { Author(position: $0, key: signing, seed: Family.seed) }) { _ in }
    } catch {
      fatalError("\(name) can't write again: \(error)")
    }
    return [
      .withholding(unsent),
      .rebuilt(
        settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
        records: Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records)),
        newestForeignClock: store.newestFoldedClock(otherThan: key)),
    ]
  }
}
