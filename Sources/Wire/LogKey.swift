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
}
