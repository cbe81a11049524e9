import Wire

extension Node {
  /// Returns the current status of this node.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try readOnQueue(.status) }

  /// Returns the metrics of this node in the Prometheus text format, version 0.0.4.
  public func metrics() throws -> String { try core.withWaymarkErrors { try currentMetrics().text } }

  package func currentMetrics() throws -> Metrics { try core.inspection().metrics() }
}
