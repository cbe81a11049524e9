import Membership
public import Waymark

extension LiveQuery<NodeStatus> {
  /// The status of the node.
  public static var status: LiveQuery {
    LiveQuery(.status, Topic.all) { node, time in
      try NodeInspection(of: node, now: time.now).status()
    }
  }
}

extension LiveQuery<[CircleMember]> {
  /// The members of the circle, including this device, followed by revoked devices.
  public static var members: LiveQuery {
    LiveQuery(.members, [.node]) { node, time in
      let evaluation = node.circle.evaluation
      return [evaluation.members, evaluation.revoked].flatMap { devices in
        devices.values.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
          .map { CircleMember($0, on: node, now: time.now) }
      }
    }
  }
}

extension LiveQuery<[MassDeletion]> {
  /// The mass deletions by other devices that have been neither undone nor acknowledged.
  public static var massDeletions: LiveQuery {
    LiveQuery(.massDeletions, Topic.all) { node, _ in try node.historyReader.massDeletions() }
  }
}

extension LiveQuery<[History.Operation]> {
  /// The operations of all devices, newest first.
  ///
  /// - Parameter limit: the maximum number of operations, at least 1.
  public static func history(limit: Int = 20) -> LiveQuery {
    LiveQuery(.history, [.records], limit) { node, _ in try node.historyReader.operations(limit) }
  }
}
