import JSONDocument
import Waymark

/// Premium, files, and what the program says of itself.
extension Rendering {
  mutating func state(_ document: JSON, _ invocation: Invocation) {
    switch invocation.words.joined(separator: " ") {
    case "issuer issue": break
    case "issuer init", "issuer trust": issuer(document)
    default: entitlement(document)
    }
  }

  private func pairs(of object: JSON) -> [(name: String, value: String)] {
    (object.members ?? []).filter { !$0.value.isNull }.map { ($0.key, $0.value.plainText) }
  }

  private mutating func entitlement(_ document: JSON) {
    let premium = document["premium"] ?? document
    if let text = document["text"]?.string {
      data.line(data.paint("out of the circle", .bad))
      data.paragraph(printable(text))
      notes.next(document["next"]?.string.map { Step($0) })
    } else if premium["active"]?.boolean == true {
      let until = premium["validUntil"]?.string.map { " until \(time.full($0))" } ?? ""
      data.line("premium\(until) · source: \(printable(premium["source"]?.string ?? ""))", .good)
    } else {
      data.line("free · settings sync, records stay on this device (waymark help premium)")
    }
    let held = document["entitlements"]?.array ?? []
    guard !held.isEmpty else { return }
    var table = TextTable([
      .init("FROM"), .init("UNTIL"), .init("DEVICES", widthMin: 12), .init("SOURCE"), .init("STATE"),
    ])
    for item in held {
      let devices = item["devices"]?.array?.compactMap { shortID($0.string) }
      table.rows.append([
        .init(time.full(item["notBefore"]?.string)), .init(time.full(item["notAfter"]?.string)),
        .init(devices.map { $0.joined(separator: " ") } ?? "all"), .init(item["source"]?.string ?? ""),
        .init(item["state"]?.string ?? item["reason"]?.string ?? ""),
      ])
    }
    data.gap()
    data.table(table)
  }

  private mutating func issuer(_ document: JSON) {
    data.pairs(pairs(of: .object((document.members ?? []).filter { $0.key != "schema" })))
  }

  // MARK: Files

  mutating func files(_ document: JSON, _ words: [String]) {
    guard words == ["import"] else {
      if let output = document["output"]?.string { notes.paragraph("Wrote \(printable(output)).") }
      return warnings(document)
    }
    let isPreview = document["preview"]?.boolean == true
    let numbers = ["added", "updated", "unchanged", "skipped"].map { key in
      "\(grouped(document[key]?.integer ?? 0)) \(key)"
    }
    data.line(numbers.joined(separator: " · ") + (isPreview ? "  (preview: nothing written)" : ""))
    warnings(document)
  }

  /// More than these are counted and not listed.
  private static let warningsShownMax = 20

  private mutating func warnings(_ document: JSON) {
    let warnings = document["warnings"]?.array ?? []
    for warning in warnings.prefix(Self.warningsShownMax) {
      notes.paragraph("warning: \(warning.plainText)", .careful, indent: 2)
    }
    let more = warnings.count - Self.warningsShownMax
    if more > 0 {
      notes.paragraph("\(counted(Int64(more), "more warning")); --json lists all", .careful, indent: 2)
    }
  }

  // MARK: About

  mutating func about(_ document: JSON, _ words: [String]) {
    if words == ["version"] {
      let traits = document["traits"]?.array?.compactMap(\.string) ?? []
      data.line(
        "waymark \(document["version"]?.string ?? "")"
          + (traits.isEmpty ? "" : " (\(traits.joined(separator: ", ")))"))
    } else {
      let words = ["deviceKey": "device key", "rootKey": "root key", "passphrases": "passphrase"]
      let found = (document.members ?? []).filter { $0.key != "schema" }
      data.pairs(
        found.filter { !$0.value.isNull }.map { member in
          let value = member.key == "passphrases" ? sealing(member.value) : member.value.plainText
          return (words[member.key] ?? member.key, value)
        })
    }
  }

  /// Which keys have a passphrase.
  private func sealing(_ states: JSON) -> String {
    let known = (states.members ?? []).compactMap { member in member.value.string.map { (member.key, $0) } }
    return known.map { key, state in
      "\(key) key \(state == "sealed" ? "with a passphrase" : state == "plain" ? "without a passphrase" : "unreadable")"
    }.joined(separator: ", ")
  }
}
