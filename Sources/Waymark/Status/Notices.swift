import Membership
import Replication
import Storage
import Wire

extension NodeStatus.Notice {
  /// Stored change sets that the disk has altered; nil if none are known.
  static func damaged(
    _ sets: [DamagedSet], hasPeers: Bool, advice: @autoclosure () -> Step, _ names: DeviceNames
  ) -> NodeStatus.Notice? {
    guard !sets.isEmpty else { return nil }
    let them = sets.count == 1 ? "it" : "them"
    return NodeStatus.Notice(
      .damagedSet,
      text: "the disk has damaged \(plural(sets.count, "stored change set")) (\(names.list(sets)))"
        + (hasPeers ? "; peers that have \(them) are asked again" : ""),
      next: hasPeers
        ? "\(waymark: "run"), until a device that has \(them) connects; if none does, \(advice())" : advice(),
      .damaged(
        sets.prefix(damagedListedMax).map { set in
          ChangeSetReference(
            device: set.log.device, name: names.name(of: set.log.device), lane: "\(set.log.lane)",
            sequence: set.sequence, id: set.id.description)
        }, count: sets.count))
  }

  private static let damagedListedMax = 100

  /// Forks whose author has not begun another log since: until then it may not know.
  static func forks(_ circle: Circle, _ store: Store, _ names: DeviceNames) -> [NodeStatus.Notice] {
    let devices = Set(circle.evaluation.forkProofs.map(\.log).filter { !store.hasLeft($0) }.map(\.device))
    return devices.sorted().map { device in
      NodeStatus.Notice(
        .fork,
        text:
          "two copies of \(names.name(of: device))'s data have written at the same time; both writings are kept",
        next: "use only one copy of that device's data directory; join anew for another device")
    }
  }

  /// - Parameter isWithholding: whether sets written since the start can't be sent; only a durable note releases them.
  static func diskFull(_ home: Home, isWithholding: Bool) -> NodeStatus.Notice {
    let next: Step = "make room on its disk: df -h \(shellWord(home.path))"
    return isWithholding
      ? NodeStatus.Notice(
        .diskFull,
        text: "the disk is full; nothing more is stored, and changes made since the start can't be sent yet",
        next: next)
      : NodeStatus.Notice(.diskFull, next: next)
  }

  static let incarnationsSpent = NodeStatus.Notice(
    .incarnationsSpent,
    text:
      "this device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: it takes in "
      + "what others write, and can write nothing more itself until it is admitted anew; its data stays",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")
}

extension NodeNotice {
  func notice(_ names: DeviceNames) -> NodeStatus.Notice {
    switch self {
    case .storeFailed(let why):
      NodeStatus.Notice(.storeFailed, text: "the store refused to write: \(why)")
    case .digestMismatch(let device, let lane):
      NodeStatus.Notice(
        .digestMismatch, text: "\(lane): the same changes gave other data on \(names.name(of: device))",
        next: Reason.digestMismatch.next(peer: names.name(of: device)),
        .device(device))
    }
  }
}
