package import Wire

extension Node {
  /// What this node knows about itself now.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try read(.status) }

  /// Numbers about this node in the text format of Prometheus, version 0.0.4.
  public func metrics() throws -> String { try sayingWhy { try currentMetrics().text } }

  package func currentMetrics() throws -> Metrics { try inspection().metrics() }

  /// A look at the node now.
  func inspection() -> NodeInspection { NodeInspection(of: self, now: wall()) }

  /// What people call a device on this one.
  package func name(of device: DeviceKey) -> String { connections.name(of: device) }
}
