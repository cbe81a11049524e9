import JSONDocument
import Waymark

/// What was found by asking peers: `sync on --preview`, `verify`.
extension Rendering {
  // MARK: Preview

  /// What would become of the records here and elsewhere.
  mutating func preview(_ document: JSON) {
    let peers = document["peers"]?.array ?? []
    data.line(
      document["preference"]?.boolean == true
        ? "Sync is on. What the devices hold now:"
        : "If sync is turned on (nothing has been written):")
    data.gap()
    if !peers.isEmpty { counts(document) }
    var pairs: [(name: String, value: String)] = []
    if let text = profileText(document["profile"] ?? .null) { pairs.append(("profile", text)) }
    let names = peers.map { printable($0["name"]?.string ?? "") }
    pairs.append(("asked", names.isEmpty ? "no other device" : names.joined(separator: ", ")))
    for peer in document["notAsked"]?.array ?? [] {
      let next = peer["next"]?.string.map { " · \(printable($0))" } ?? ""
      let name = printable(peer["name"]?.string ?? "")
      pairs.append(("not asked", "\(name), because \(printable(peer["text"]?.string ?? ""))\(next)"))
    }
    data.pairs(pairs)
    if document["preference"]?.boolean != true { notes.paragraph("Next: waymark sync on --yes") }
  }

  private mutating func counts(_ document: JSON) {
    var table = TextTable([
      .init("", widthMin: 12), .init("ONLY HERE", isRight: true), .init("ONLY THERE", isRight: true),
      .init("SAME", isRight: true), .init("DIFFERING", isRight: true),
    ])
    let kinds = document["kinds"]?.array ?? []
    for kind in kinds { table.rows.append(row(kind["plural"]?.string ?? "", kind)) }
    if kinds.count != 1 { table.rows.append(row("together", document["total"] ?? .null)) }
    data.table(table)
    data.gap()
    // The profile is one value, and has a line of its own.
    let listed = document["differing"]?.array ?? []
    let differing = listed.filter { $0["kind"]?.string != "profile" }
    guard !differing.isEmpty else { return }
    data.paragraph("Differing records merge field by field, the newer change shows, the other is kept:")
    for record in differing { data.paragraph("  " + recordText(record), indent: 2) }
    let more = (document["total"]?["differing"]?.integer ?? 0) - Int64(listed.count)
    if more > 0 { data.line("  … and \(grouped(more)) more") }
    data.gap()
  }

  private func row(_ name: String, _ counts: JSON) -> [TextTable.Cell] {
    let keys = ["onlyHere", "onlyThere", "same", "differing"]
    return [.init(name)]
      + keys.map { key in
        let count = counts[key]?.integer ?? 0
        return .init(grouped(count), key == "differing" && count > 0 ? .careful : .none)
      }
  }

  private func profileText(_ profile: JSON) -> String? {
    guard let state = profile["state"]?.string else { return nil }
    let winner = printable(profile["winnerName"]?.string ?? "")
    switch state {
    case "same": return "the same everywhere"
    case "only_here": return "only here; the other devices get it"
    case "only_there": return "only on \(winner); this device gets it"
    default:
      let times = ["here", "there"].map { side in
        "\(side) \(TimeText.written(profile[side]?["updatedAt"]?.string))"
          + ", \(profile[side]?["filledIn"]?.integer ?? 0) fields"
      }
      let which = profile["winner"]?.string == "here" ? "the one here" : "the one of \(winner)"
      return
        "\(which) wins, because \(printable(profile["text"]?.string ?? "")) (\(times.joined(separator: "; ")))"
    }
  }

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
      if let next = peer["next"]?.string { notes.paragraph("Next: \(printable(next))") }
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
