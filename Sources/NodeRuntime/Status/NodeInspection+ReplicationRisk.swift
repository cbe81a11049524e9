import ChangeHistory
import Platform
import Home
import JSONDocument
import LogStorage
import Membership
import Model
import Reasons
import Replication
import Storage
import Wire

/// A cache of the content of the newest unreplicated operation, so that a large import is counted only once instead of
/// for every `status`.
package final class CountedOperation {
  fileprivate var sets: [ChangeSetID] = []
  fileprivate var content: OperationContent?
}

extension NodeInspection {
  package func replicationRisk() throws -> NodeStatus.ReplicationRisk {
    let leaving = circle.evaluation.leaving
    let peers = circle.evaluation.members.values.filter { $0.device != device && leaving[$0.device] == nil }
      .map { (device: $0.device, name: connections.name(of: $0.device)) }.sorted {
        ($0.name, $0.device) < ($1.name, $1.device)
      }
    let tips = Lane.allCases.flatMap { replica[$0].heads.sorted }
    var only: [LogHead] = []
    var count: UInt64 = 0
    var lacking: [DeviceKey: [(tip: LogHead, count: UInt64)]] = [:]
    for tip in tips {
      var best: UInt64 = 0
      for peer in peers {
        let held = try held(tip, by: peer.device)
        best = max(best, held)
        if held < tip.sequence { lacking[peer.device, default: []].append((tip, tip.sequence - held)) }
      }
      guard best < tip.sequence else { continue }
      only.append(tip)
      count &+= tip.sequence - best
    }
    return NodeStatus.ReplicationRisk(
      changeSets: Int(clamping: count), newest: try store.newestOrigin(of: only).map(newest),
      devices: try peers.map { peer in
        let holding = replica.holdings[peer.device]
        let asOf = Lane.allCases.compactMap { holding?[$0].toldAt }.max()
        let missing = lacking[peer.device] ?? []
        let newest = asOf == nil ? nil : try store.newestOrigin(of: missing.map(\.tip))?.clock.milliseconds
        return NodeStatus.ReplicationRisk.Holder(
          device: peer.device, name: peer.name,
          lacking: asOf.map { _ in Int(clamping: missing.reduce(0) { $0 &+ $1.count }) },
          newestLacking: newest.map(Date.init(milliseconds:)), asOf: asOf.map(Date.init(milliseconds:)))
      })
  }

  /// Returns the sequence number up to which a peer is known to hold the branch that ends in a tip; 0 if the peer is
  /// not known to hold any of the branch.
  func held(_ tip: LogHead, by peer: DeviceKey) throws -> UInt64 {
    guard let theirs = replica.holdings[peer]?[tip.log.lane].heads else { return 0 }
    if theirs.contains(tip) { return tip.sequence }
    guard theirs.tipCount(of: tip.log) == 1, let head = theirs[tip.log],
      replica[tip.log.lane].heads.tipCount(of: tip.log) == 1
    else { return 0 }
    // The peer has more of this log than this device does. If the log is our own, the peer must hold another branch of
    // it. If it is another device's log, the peer holds everything that is here, because a set requires all sets before
    // it.
    if head.sequence > tip.sequence { return tip.log.device == device ? 0 : tip.sequence }
    return try store.holds(head) ? head.sequence : 0
  }

  private func newest(_ origin: (clock: Clock, operation: OperationKey)) throws
    -> NodeStatus.ReplicationRisk.Newest
  {
    guard let operation = try store.operation(origin.operation) else {
      return .waiting(
        id: origin.operation.id, time: Date(milliseconds: origin.clock.milliseconds),
        deviceName: connections.name(of: origin.operation.device))
    }
    return .operation(try history.operation(operation, try content(of: operation)))
  }

  /// Returns the content of an operation, from the cache if the operation is the same as last time.
  private func content(of operation: LogStorage.Operation) throws -> OperationContent {
    let sets = operation.sets.map(\.origin.stamp.set)
    if let known = countedOperation.content, countedOperation.sets == sets { return known }
    let content = try OperationContent(operation, store)
    (countedOperation.sets, countedOperation.content) = (sets, content)
    return content
  }

  // MARK: Devices not seen

  /// The notice about devices that have not been seen for two weeks, because such devices may be out of date or lost;
  /// nil if there are none.
  var unseenNotice: NodeStatus.Notice? {
    // Right after the start, no device is connected yet.
    if let started = connections.serving?.startedAt, now - started < Self.settlingMilliseconds { return nil }
    guard connections.member != nil else { return nil }
    let leaving = circle.evaluation.leaving
    let unseen = circle.evaluation.members.values.compactMap { member -> (Member, Moment)? in
      guard member.device != device, leaving[member.device] == nil,
        !connections.peering.isPaused(member.device)
      else { return nil }
      let last = lastSeen(of: member.device) ?? replica.lastSync[member.device] ?? member.issued
      return now - last > Self.unseenMilliseconds ? (member, last) : nil
    }.sorted { ($0.1, $0.0.device) < ($1.1, $1.0.device) }
    guard let (first, since) = unseen.first else { return nil }
    let names = unseen.map { connections.name(of: $0.0.device) }.sorted()
    let days = (now - since) / 86_400_000
    let text: LocalizableText =
      unseen.count == 1
      ? "\(names[0]) has not been seen for \(days) days, since \(CivilTime.text(since).prefix(10))"
      : "\(names.joined(separator: ", ")) have not been seen for two weeks or more"
    return NodeStatus.Notice(
      .notSeen, text: text,
      next: unseen.count == 1
        ? "\(waymark: "run", on: names[0]); if it is lost: \(waymark: "revoke \(shellWord(names[0]))")"
        : .waymark("peers"),
      .unseen(
        first.device,
        unseen.map { member, since in
          NodeStatus.Notice.Unseen(
            device: member.device, name: connections.name(of: member.device),
            lastSeen: lastSeen(of: member.device).map(Date.init(milliseconds:)),
            since: Date(milliseconds: since))
        }))
  }

  private static let settlingMilliseconds: Moment = 60_000
  /// Fourteen days.
  static let unseenMilliseconds: Moment = 14 * 86_400_000
}
