public import Waymark
public import Wire

extension Node {
  /// Returns the current status of this node.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try readOnQueue(.status) }

  /// Returns the metrics of this node in the Prometheus text format, version 0.0.4.
  public func metrics() throws -> String { try core.withWaymarkErrors { try currentMetrics().text } }

  package func currentMetrics() throws -> Metrics { try core.inspection().metrics() }

  /// Measures the round-trip time to a connected peer, several times.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - count: the number of measurements, 1 to 20.
  /// - Throws: `WaymarkError` whose code names the obstacle, such as `offline` or `no_answer`.
  public func ping(_ peer: DeviceKey, count: Int = 3) async throws -> PingResult {
    try await PeerInquiry(peer: peer).ping(count: count, on: core)
  }

  /// Explains why a peer is not in sync, with the root causes.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofPeer device: DeviceKey) throws -> PeerExplanation {
    try core.withWaymarkErrors { try PeerExplanation(of: device, in: core.inspection().status()) }
  }

  /// Asks the connected devices, and returns what turning sync on would do, without writing anything.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node is serving; without premium, the same errors
  ///   as ``turnSyncOn(isConfirmed:)``.
  public func syncPreview() async throws -> SyncPreview {
    try await core.withWaymarkErrors {
      try core.checkServing()
      try core.checkPremium()
      return try await SyncComparison.run(on: core)
    }
  }
}
