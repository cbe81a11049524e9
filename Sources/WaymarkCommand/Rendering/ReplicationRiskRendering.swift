import Waymark

/// “If this disk died now”: what no other device is known to hold.
extension Rendering {
  func replicationRiskLines(_ loss: NodeStatus.ReplicationRisk, _ peers: [Peer]) -> [(text: String, stress: Stress)] {
    guard !loss.devices.isEmpty else { return [] }
    let known = loss.devices.filter { $0.lacking != nil }
    guard !known.isEmpty else {
      guard loss.changeSets > 0 else { return [] }
      return [("No other device has said yet what it holds: all that is here may be here only.", .careful)]
    }
    guard loss.changeSets > 0 else { return [(safeText(known, peers), .none)] }
    var text = "If this disk died now, \(counted(Int64(loss.changeSets), "change set")) would be lost"
    if let newest = loss.newest { text += "; the newest: \(newestText(newest))" }
    let lacks = known.map { device in
      let lacking = device.lacking ?? 0
      return "\(printable(device.name)) lacks \(lacking == 0 ? "nothing" : grouped(Int64(lacking)))"
        + asOf(device, peers)
    }
    return [(text + ".", .careful)]
      + (known.count > 1 ? [("  \(lacks.joined(separator: " · "))", .none)] : [])
  }

  private func safeText(_ devices: [NodeStatus.ReplicationRisk.Holder], _ peers: [Peer]) -> String {
    let head = "If this disk died now, nothing would be lost:"
    let whole = devices.filter { $0.lacking == 0 }
    // Best is one that is there now.
    guard let named = whole.first(where: { isConnected($0, peers) }) ?? whole.first else {
      let holders = devices.map { printable($0.name) }
      return
        "\(head) \(holders.dropLast().joined(separator: ", ")) and \(holders.last ?? "") together have everything."
    }
    return "\(head) \(printable(named.name)) has everything\(asOf(named, peers))."
  }

  /// What a device said, it said then; of one that is connected it is the present.
  private func asOf(_ device: NodeStatus.ReplicationRisk.Holder, _ peers: [Peer]) -> String {
    guard !isConnected(device, peers), let told = device.asOf else { return "" }
    return " (as of \(time.ago(told)))"
  }

  private func isConnected(_ device: NodeStatus.ReplicationRisk.Holder, _ peers: [Peer]) -> Bool {
    guard let peer = peers.first(where: { $0.device == device.device }) else { return false }
    return [.inSync, .sending, .receiving].contains(peer.state)
  }

  /// `trip edit · Rome, 13:05`
  private func newestText(_ newest: NodeStatus.ReplicationRisk.Newest) -> String {
    switch newest {
    case .operation(let operation):
      let record = operation.record?.name.map { " · \(printable($0))" } ?? ""
      return "\(printable(operation.verb).replacing(".", with: " "))\(record), \(time.short(operation.time))"
    case .waiting(_, let moment, _): return "a change, \(time.short(moment))"
    }
  }
}
