import Console
import Platform
import Waymark
import WaymarkCare

/// `why` for a peer: what keeps it from being in sync, and what is known about it.
extension Rendering {
  mutating func why(_ explanation: PeerExplanation) {
    let peer = explanation.peer
    data.line(
      "\(data.paint(printable(peer.name), .strong))  \(shortID(peer.device.description))  \(words(peer.state))"
    )
    if explanation.causes.isEmpty { data.paragraph("Nothing prevents it from being in sync.") }
    for cause in explanation.causes { self.cause(cause) }
    data.gap()
    data.pairs(facts(explanation))
  }

  /// Writes a cause as a sentence in the colour of its severity, with its code, and then what to do next.
  private mutating func cause(_ cause: NodeStatus.Cause) {
    let stress: Stress =
      switch cause.reason.severity {
      case .error: .bad
      case .warning: .careful
      case .info: .none
      }
    let text = sentence(printable(cause.text), of: cause.peer?.name)
    data.paragraph("\(text). (\(cause.reason.rawValue))", stress, indent: 2)
    if let next = cause.next {
      data.paragraph("  Next: \(words(next))", indent: 2)
    } else {
      data.line("  \(cause.reason.remedy == .time ? "Nothing to do: this resolves itself." : "")")
    }
    let others = cause.consequences.map(printable)
    if others.count > 1 {
      data.paragraph("  This affects \(others.joined(separator: ", ")).", indent: 2)
    }
  }

  private func facts(_ explanation: PeerExplanation) -> [(name: String, value: String)] {
    let peer = explanation.peer
    var facts = [("settings", text(of: peer.settings)), ("records", text(of: peer.records))]
    if let holds = explanation.holds, let lacking = holds.lacking {
      let asOf = holds.asOf.map { ", as of \(time.ago($0))" } ?? ""
      let newest = holds.newestLacking.map { "; the newest is from \(time.full($0))" } ?? ""
      facts.append(
        (
          "it holds",
          lacking == 0
            ? "everything that this device holds\(asOf)"
            : "everything except \(counted(Int64(lacking), "change set"))\(asOf)\(newest)"
        ))
    } else {
      facts.append(("it holds", "not known: it has not reported it to this device yet"))
    }
    facts.append(("last sync", time.ago(peer.lastSync)))
    facts.append(("last seen", time.ago(peer.lastSeen)))
    if let address = peer.address {
      facts.append(("address", printable(address) + (peer.addressSource.map { ", \(place($0))" } ?? "")))
    }
    if let trip = peer.roundTrip?.wholeMilliseconds { facts.append(("round trip", "\(trip) ms")) }
    if let skew = peer.clockSkew?.wholeMilliseconds, abs(skew) >= 1_000 {
      facts.append(("its clock", "\(TimeText.span(abs(skew))) \(skew > 0 ? "ahead" : "behind")"))
    }
    return facts.map { (name: $0.0, value: $0.1) }
  }

  private func text(of lane: Peer.Lane) -> String {
    guard lane.isOpen else { return "closed" + (lane.reason.map { ": \($0.rawValue)" } ?? "") }
    if lane.isEqual == true { return "equal on both sides" }
    let behind = lane.behind.map { "\(grouped(Int64($0))) to receive" }
    let ahead = lane.ahead.map { "\(grouped(Int64($0))) to send" }
    return [behind, ahead].compactMap(\.self).joined(separator: ", ")
  }

  /// Returns a clause as a sentence. A device name at the beginning is not capitalized.
  private func sentence(_ text: String, of name: String?) -> String {
    if let name, text.hasPrefix(printable(name)) { return text }
    return text.prefix(1).uppercased() + text.dropFirst()
  }
}
