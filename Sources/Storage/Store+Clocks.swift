package import Replication
package import Wire

extension Store {
  /// The newest clock folded from any other device: what a node knows of time from its peers.
  package func newestFoldedClock(otherThan device: DeviceKey) -> Clock {
    Lane.allCases.flatMap { logs.branches($0) }.filter { $0.log.device != device }
      .compactMap { $0.folded?.clock }.max() ?? .zero
  }
}
