package import Wire

extension Node {
  /// Returns the current status of this node.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try read(.status) }

  /// Returns the metrics of this node in the Prometheus text format, version 0.0.4.
  public func metrics() throws -> String { try withWaymarkErrors { try currentMetrics().text } }

  package func currentMetrics() throws -> Metrics { try inspection().metrics() }

  /// Returns an inspection of the node at this moment.
  func inspection() -> NodeInspection { NodeInspection(of: self, now: wall()) }

  /// Returns the name under which this device shows the given device.
  package func name(of device: DeviceKey) -> String { connections.name(of: device) }
}
