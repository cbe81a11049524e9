import JSONDocument
import Waymark

/// What was found by asking peers: `verify`.
extension Rendering {
  /// `trip “Rome” (019ac3f2)`; without a name only the id.
  private func recordText(_ record: JSON) -> String {
    let name = record["name"]?.string.map { " “\(printable($0))”" } ?? ""
    return
      "\(printable(record["kind"]?.string ?? "record"))\(name) (\(printable(record["id"]?.string ?? "")))"
  }

  // MARK: Verify

  /// Nothing but the verdict on each peer.
  mutating func comparison(_ document: JSON) {
    for peer in document["peers"]?.array ?? [] {
      let name = printable(peer["name"]?.string ?? "")
      let lanes = peer["lanes"]?.members ?? []
      data.paragraph("\(name): " + lanes.map { laneText($0.key, $0.value) }.joined(separator: " · "))
      for lane in lanes where lane.value["verdict"]?.string == "differs" { difference(lane.value, name) }
      if peer["certificatesEqual"]?.boolean == false {
        data.paragraph("  the certificates of the circle are still on their way", indent: 2)
      }
      notes.next(peer["next"]?.string.map { Step($0) })
    }
  }

  private func laneText(_ lane: String, _ verdict: JSON) -> String {
    switch verdict["verdict"]?.string {
    case "equal": return "\(lane) \(data.paint("equal", .good))"
    case "not_in_sync":
      let counts = ["behind", "ahead"].compactMap { key in
        verdict[key]?.integer.flatMap { $0 > 0 ? "\(counted($0, "change set")) \(key)" : nil }
      }
      return "\(lane) \(data.paint("not in sync yet", .careful))"
        + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
    case "differs": return "\(lane) \(data.paint("differ", .bad))"
    default: return "\(lane) not compared: \(printable(verdict["text"]?.string ?? ""))"
    }
  }

  private mutating func difference(_ lane: JSON, _ peer: String) {
    let records = lane["records"]?.array ?? []
    for record in records { data.paragraph("  " + recordText(record), indent: 2) }
    if lane["more"]?.boolean == true { data.line("  … and more") }
    for (key, place) in [("digestWrongHere", "here"), ("digestWrongThere", "on \(peer)")] {
      let ranges = lane[key]?.array?.compactMap(\.string) ?? []
      guard !ranges.isEmpty else { continue }
      data.paragraph(
        "  the digest kept \(place) is not that of the records whose ids begin with "
          + ranges.joined(separator: ", "), indent: 2)
    }
  }
}
