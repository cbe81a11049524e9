import Console
import Waymark
import WaymarkCare
import WaymarkFiles

/// The replication risk: the changes and files that would be lost with this disk because no other device is known to hold
/// them.
extension Rendering {
  func replicationRiskLines(
    _ risk: NodeStatus.ReplicationRisk, _ files: FileTotals, _ peers: [Peer]
  ) -> [(text: String, stress: Stress)] {
    guard !risk.devices.isEmpty else { return [] }
    let known = risk.devices.filter { $0.lacking != nil }
    guard !known.isEmpty else {
      guard risk.changeSets > 0 || files.lastCopies > 0 else { return [] }
      return [
        ("No other device has reported yet what it holds: this may be the only copy of your data.", .careful)
      ]
    }
    guard risk.changeSets > 0 else {
      guard files.lastCopies > 0 else { return [(safeText(known, peers), .none)] }
      return [
        (
          "If this disk died now, \(lastCopies(files)) would be lost: no other device has said that it has "
            + "\(files.lastCopies == 1 ? "it" : "them").", .careful
        )
      ]
    }
    let lost = [
      counted(Int64(risk.changeSets), "change set"), files.lastCopies > 0 ? lastCopies(files) : nil,
    ]
    var text = "If this disk died now, \(lost.compactMap(\.self).joined(separator: " and ")) would be lost"
    if let newest = risk.newest { text += "; the newest: \(newestText(newest))" }
    let lacks = known.map { device in
      let lacking = device.lacking ?? 0
      return "\(printable(device.name)) lacks \(lacking == 0 ? "nothing" : grouped(Int64(lacking)))"
        + asOf(device, peers)
    }
    return [(text + ".", .careful)]
      + (known.count > 1 ? [("  \(lacks.joined(separator: " · "))", .none)] : [])
  }

  private func lastCopies(_ files: FileTotals) -> String {
    "\(counted(Int64(files.lastCopies), "file")) (\(byteText(Int64(files.lastCopyBytes))))"
  }

  private func safeText(_ devices: [NodeStatus.ReplicationRisk.Holder], _ peers: [Peer]) -> String {
    let head = "If this disk died now, nothing would be lost:"
    let whole = devices.filter { $0.lacking == 0 }
    // Prefer connected devices: their reports are current.
    let connected = whole.filter { isConnected($0, peers) }.map { printable($0.name) }
    if connected.count > 1 {
      let first = connected.dropLast().joined(separator: ", ")
      return "\(head) \(first) and \(connected.last ?? "") have everything."
    }
    guard let named = whole.first(where: { isConnected($0, peers) }) ?? whole.first else {
      let holders = devices.map { printable($0.name) }
      return
        "\(head) \(holders.dropLast().joined(separator: ", ")) and \(holders.last ?? "") together have everything."
    }
    return "\(head) \(printable(named.name)) has everything\(asOf(named, peers))."
  }

  /// Returns the age of a device's report. It is empty for a connected device, because that report is current.
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
