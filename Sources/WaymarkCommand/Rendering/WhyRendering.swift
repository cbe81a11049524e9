import JSONDocument
import Waymark

/// `why` of a peer, and the doctor.
extension Rendering {
  mutating func why(_ document: JSON) {
    guard let peer = document["peer"] else { return }
    let state = (peer["state"]?.string ?? "").replacing("_", with: " ")
    data.line(
      "\(data.paint(printable(peer["name"]?.string ?? ""), .strong))  \(shortID(peer["device"]?.string))  \(state)"
    )
    let causes = document["causes"]?.array ?? []
    if causes.isEmpty { data.paragraph("Nothing keeps it from being in sync.") }
    for cause in causes { self.cause(cause) }
    data.gap()
    data.pairs(facts(peer, document))
  }

  /// `Sentence. Next: command`, in the colour of its severity, with its code.
  mutating func cause(_ cause: JSON) {
    let text = printable(cause["text"]?.string ?? "")
    let severity = cause["severity"]?.string
    let stress: Stress = severity == "error" ? .bad : severity == "warning" ? .careful : .none
    data.paragraph(
      "\(sentence(text, of: cause["name"]?.string)). (\(cause["reason"]?.string ?? ""))", stress, indent: 2)
    if let next = cause["next"]?.string {
      data.paragraph("  Next: \(printable(next))", indent: 2)
    } else {
      data.line("  \(cause["remedy"]?.string == "time" ? "Nothing to do: it passes by itself." : "")")
    }
    let others = (cause["consequences"]?.array ?? []).compactMap(\.string).map(printable)
    if others.count > 1 {
      data.paragraph("  It concerns \(others.joined(separator: ", ")) alike.", indent: 2)
    }
  }

  private func facts(_ peer: JSON, _ document: JSON) -> [(name: String, value: String)] {
    var facts: [(name: String, value: String)] = ["settings", "records"].map { ($0, lane($0, peer)) }
    if let lacking = document["lacking"]?.integer {
      let asOf = document["asOf"]?.string.map { ", as of \(time.ago($0))" } ?? ""
      let newest = document["newestLacking"]?.string.map { "; the newest is of \(time.full($0))" } ?? ""
      facts.append(
        (
          "it holds",
          lacking == 0
            ? "everything that is here\(asOf)"
            : "all but \(counted(lacking, "change set")) of what is here\(asOf)\(newest)"
        ))
    } else {
      facts.append(("it holds", "not known: it has not said so to this device yet"))
    }
    facts.append(("last sync", time.ago(peer["lastSync"]?.string)))
    facts.append(("last seen", time.ago(peer["lastSeen"]?.string)))
    if let address = peer["address"]?.string {
      facts.append(("address", printable(address) + (place(peer).map { ", \($0)" } ?? "")))
    }
    if let trip = peer["roundTripMilliseconds"]?.integer { facts.append(("round trip", "\(trip) ms")) }
    if let skew = peer["clockSkewMilliseconds"]?.integer, abs(skew) >= 1_000 {
      facts.append(("its clock", "\(TimeText.span(abs(skew))) \(skew > 0 ? "ahead" : "behind")"))
    }
    return facts
  }

  /// Where the address of a peer is known from.
  func place(_ peer: JSON) -> String? {
    switch peer["addressSource"]?.string {
    case "beacon": "found on this network"
    case "announced": "as it told the circle"
    case "given": "given by you"
    case "incoming": "from where it dialled"
    default: nil
    }
  }

  private func lane(_ name: String, _ peer: JSON) -> String {
    let lane = peer["lanes"]?[name]
    guard lane?["open"]?.boolean == true else {
      return "closed" + (lane?["reason"]?.string.map { ": \($0)" } ?? "")
    }
    if lane?["digestEqual"]?.boolean == true { return "equal on both sides" }
    let behind = lane?["behind"]?.integer.map { "\(grouped($0)) to come" }
    let ahead = lane?["ahead"]?.integer.map { "\(grouped($0)) to go" }
    return [behind, ahead].compactMap(\.self).joined(separator: ", ")
  }

  /// A clause as a sentence: names keep their letters.
  private func sentence(_ text: String, of name: String?) -> String {
    if let name, text.hasPrefix(printable(name)) { return text }
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  // MARK: Doctor

  mutating func doctor(_ document: JSON) {
    for finding in document["findings"]?.array ?? [] {
      let severity = finding["severity"]?.string ?? ""
      let stress: Stress =
        severity == "error" ? .bad : severity == "warning" ? .careful : severity == "ok" ? .good : .none
      let check = (finding["check"]?.string ?? "").padded(to: 15)
      let text = printable(finding["text"]?.string ?? "")
      let lines = wrapped(text, width: max(20, data.width - 24), indent: 0)
      for (index, line) in lines.enumerated() {
        let lead =
          index == 0
          ? data.paint(severity.padded(to: 7), stress) + "  " + check : String(repeating: " ", count: 24)
        data.line(lead + line)
      }
      if let next = finding["next"]?.string {
        for line in wrapped("Next: \(printable(next))", width: max(20, data.width - 24), indent: 6) {
          data.line(String(repeating: " ", count: 24) + line)
        }
      }
    }
    data.gap()
    let count = { (severity: String) in
      Int64((document["findings"]?.array ?? []).count { $0["severity"]?.string == severity })
    }
    let (errors, warnings) = (count("error"), count("warning"))
    if errors + warnings == 0 {
      data.line("All is well.", .good)
    } else {
      data.line("\(counted(errors, "error")), \(counted(warnings, "warning")).", errors > 0 ? .bad : .careful)
    }
    if let report = document["report"]?.string {
      notes.paragraph(
        "Wrote \(printable(report)): names of devices and addresses are in it, nothing of trips or habits.")
    }
  }

  // MARK: Metrics

  mutating func metrics(_ document: JSON) {
    if let path = document["written"]?.string { return notes.paragraph("Wrote \(printable(path)).") }
    for line in (document["text"]?.string ?? "").split(separator: "\n") { data.line(String(line)) }
  }
}
