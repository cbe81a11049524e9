package import Replication
package import Wire

extension Store {
  /// Whether the author of a log has written another one since.
  package func hasLeft(_ log: LogKey) -> Bool {
    let newest = logs[log].map(\.head.clock).max() ?? .zero
    return Lane.allCases.flatMap { logs.branches($0) }.contains {
      $0.log.device == log.device && $0.log.incarnation != log.incarnation && $0.head.clock > newest
    }
  }

  /// The newest clock folded from any other device: what a node knows of time from its peers.
  package func newestFoldedClock(otherThan device: DeviceKey) -> Clock {
    Lane.allCases.flatMap { logs.branches($0) }.filter { $0.log.device != device }
      .compactMap { $0.folded?.clock }.max() ?? .zero
  }
}
