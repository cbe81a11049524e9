package import Wire

extension Node {
  /// The current status of this node.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try read(.status) }

  /// The metrics of this node in the Prometheus text format, version 0.0.4.
  public func metrics() throws -> String { try sayingWhy { try currentMetrics().text } }

  package func currentMetrics() throws -> Metrics { try inspection().metrics() }

  /// An inspection of the node as of now.
  func inspection() -> NodeInspection { NodeInspection(of: self, now: wall()) }

  /// A device's display name on this device.
  package func name(of device: DeviceKey) -> String { connections.name(of: device) }
}
