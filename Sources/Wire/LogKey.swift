/// Identifies a log by its device, incarnation and lane. All branches of a forked log share the same key.
package struct LogKey: Hashable, Comparable, Sendable {
  package let device: DeviceKey
  package let incarnation: Incarnation
  package let lane: Lane

  package init(device: DeviceKey, incarnation: Incarnation, lane: Lane) {
    self.device = device
    self.incarnation = incarnation
    self.lane = lane
  }

  package static func < (left: LogKey, right: LogKey) -> Bool {
    if left.device != right.device { return left.device < right.device }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    return left.lane < right.lane
  }

  package var tree: LogTree { LogTree(device: device, number: incarnation.number, lane: lane) }
}

/// Identifies the logs of a device and lane whose incarnations have the same number. Together they form a tree: the
/// root's children are the first sets of these logs, and the children of a set are the sets that name it as their
/// predecessor. A device that never writes from two copies of its data has one log and one branch in each tree.
package struct LogTree: Hashable, Comparable, Sendable {
  package let device: DeviceKey
  package let number: Int
  package let lane: Lane

  package init(device: DeviceKey, number: Int, lane: Lane) {
    self.device = device
    self.number = number
    self.lane = lane
  }

  package static func < (left: LogTree, right: LogTree) -> Bool {
    if left.device != right.device { return left.device < right.device }
    return (left.number, left.lane) < (right.number, right.lane)
  }
}
