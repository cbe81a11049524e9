import JSONDocument
import Waymark

/// `why`: of a peer and of a record.
extension Rendering {
  mutating func why(_ document: JSON) {
    if document["subject"]?.string == "record" { return provenance(document) }
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

  // MARK: A record

  private mutating func provenance(_ document: JSON) {
    let record = document["record"]
    let state = record?["state"]?.string ?? ""
    data.line(
      data.paint(
        "\(printable(record?["kind"]?.string ?? "")) \(printable(record?["name"]?.string ?? ""))", .strong)
        + "  \(printable(record?["id"]?.string ?? ""))" + (state == "visible" ? "" : "  \(state)"))
    let values = document["values"]?.array ?? []
    guard !values.isEmpty else {
      return data.paragraph("Nobody has written to it: it is as in every new circle.")
    }
    var table = TextTable([
      .init("FIELD", widthMin: 8), .init("WHEN"), .init("DEVICE", widthMin: 8), .init("BY"),
      .init("VALUE", widthMin: 24),
    ])
    table.wrapsLast = true
    for value in values {
      let written = value["written"] ?? .null
      table.rows.append(row(value["field"]?.string ?? "", written, "", .none))
      for beaten in value["wonAgainst"]?.array ?? [] {
        let isConcurrent = beaten["how"]?.string == "concurrent"
        table.rows.append(
          row("", beaten, isConcurrent ? "won against " : "replaced ", isConcurrent ? .careful : .faint))
      }
    }
    data.table(table)
  }

  private func row(_ field: String, _ write: JSON, _ lead: String, _ stress: Stress) -> [TextTable.Cell] {
    [
      .init(field), .init(time.full(write["time"]?.string)), .init(write["deviceName"]?.string ?? ""),
      .init((write["verb"]?.string ?? "").replacing(".", with: " ")),
      .init(lead + (write["value"]?.plainText ?? "–"), stress),
    ]
  }
}
