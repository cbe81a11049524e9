import JSONDocument
import Waymark

/// “If this disk died now”: what no other device is known to hold.
extension Rendering {
  func lossLines(_ loss: JSON, _ peers: [JSON]) -> [(text: String, stress: Stress)] {
    let devices = loss["devices"]?.array ?? []
    guard !devices.isEmpty else { return [] }
    let known = devices.filter { $0["lacking"]?.integer != nil }
    guard !known.isEmpty else {
      guard loss["changeSets"]?.integer ?? 0 > 0 else { return [] }
      return [("No other device has said yet what it holds: all that is here may be here only.", .careful)]
    }
    let count = loss["changeSets"]?.integer ?? 0
    guard count > 0 else { return [(safeText(known, peers), .none)] }
    var text = "If this disk died now, \(counted(count, "change set")) would be lost"
    if let newest = loss["newest"], !newest.isNull { text += "; the newest: \(newestText(newest))" }
    let lacks = known.map { device in
      let lacking = device["lacking"]?.integer ?? 0
      return "\(name(device)) lacks \(lacking == 0 ? "nothing" : grouped(lacking))\(asOf(device, peers))"
    }
    return [(text + ".", .careful)]
      + (known.count > 1 ? [("  \(lacks.joined(separator: " · "))", .none)] : [])
  }

  private func safeText(_ devices: [JSON], _ peers: [JSON]) -> String {
    let head = "If this disk died now, nothing would be lost:"
    let whole = devices.filter { $0["lacking"]?.integer == 0 }
    // Best is one that is there now.
    let named = whole.first { isConnected($0, peers) } ?? whole.first
    guard let named else {
      let holders = devices.map(name)
      return
        "\(head) \(holders.dropLast().joined(separator: ", ")) and \(holders.last ?? "") together have everything."
    }
    return "\(head) \(name(named)) has everything\(asOf(named, peers))."
  }

  /// What a device said, it said then; of one that is connected it is the present.
  private func asOf(_ device: JSON, _ peers: [JSON]) -> String {
    guard !isConnected(device, peers), let told = device["asOf"]?.string else { return "" }
    return " (as of \(time.ago(told)))"
  }

  private func isConnected(_ device: JSON, _ peers: [JSON]) -> Bool {
    let peer = peers.first { $0["device"]?.string == device["device"]?.string }
    return ["in_sync", "sending", "receiving"].contains(peer?["state"]?.string)
  }

  private func name(_ device: JSON) -> String { printable(device["name"]?.string ?? "") }

  /// `trip edit · Rome, 13:05`
  private func newestText(_ newest: JSON) -> String {
    let verb = printable(newest["verb"]?.string ?? "a change").replacing(".", with: " ")
    let record = newest["record"]?["name"]?.string.map { " · \(printable($0))" } ?? ""
    return "\(verb)\(record), \(time.short(newest["time"]?.string))"
  }
}
