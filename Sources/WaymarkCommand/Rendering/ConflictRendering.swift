import JSONDocument
import Waymark

/// `conflicts list|show`: what won, what is kept, and what can be done.
extension Rendering {
  /// One line per conflict and one per write that lost.
  mutating func conflicts(_ conflicts: [JSON]) {
    guard !conflicts.isEmpty else { return notes.paragraph("No conflicts.") }
    let ids = distinctPrefixes(conflicts.compactMap { $0["id"]?.string })
    for conflict in conflicts { sides(conflict, id: ids[conflict["id"]?.string ?? ""] ?? "") }
    notes.paragraph(
      "Decide one: waymark conflicts show ID, waymark conflicts resolve ID --take winner|loser|DEVICE")
  }

  /// One conflict with all that its sides wrote.
  mutating func conflict(_ conflict: JSON) {
    sides(conflict, id: shortID(conflict["id"]?.string), isWhole: true)
    let sides = [conflict["winner"]].compactMap(\.self) + (conflict["losers"]?.array ?? [])
    for side in sides {
      let fields = side["fields"]?.members ?? []
      let lines = fields.filter { !$0.value.isNull }.map { ($0.key, $0.value.plainText) }
      guard !lines.isEmpty else { continue }
      data.gap()
      data.line("Written by \(author(side)):")
      data.pairs(lines.map { ("  " + printable($0.0), $0.1) })
    }
    for choice in conflict["choices"]?.array ?? [] {
      notes.gap()
      notes.paragraph("To " + printable(choice["effect"]?.string ?? "") + ":")
      notes.line("  " + printable(choice["command"]?.string ?? ""))
    }
  }

  /// - Parameter isWhole: shows long values in several lines, instead of their beginning.
  private mutating func sides(_ conflict: JSON, id: String, isWhole: Bool = false) {
    data.gap()
    let what = ["kind", "name", "field"].compactMap { conflict[$0]?.string }.map(printable)
    data.line(data.paint(id, .strong) + "  " + what.joined(separator: " · ") + "  " + reason(conflict))
    var writes = (conflict["losers"]?.array ?? []).map { ("kept", $0, Stress.careful) }
    if let winner = conflict["winner"] { writes.insert(("won", winner, .good), at: 0) }
    var table = TextTable([.init(""), .init(""), .init("", widthMin: 20), .init(""), .init("")])
    table.rows = writes.map { write($0, $1, $2) }
    if isWhole {
      table = TextTable([.init(""), .init(""), .init(""), .init(""), .init("", widthMin: 20)])
      // The value last, where there is room for more lines.
      table.rows = writes.map { write($0, $1, $2) }.map { Array($0[..<2] + $0[3...] + $0[2..<3]) }
      table.wrapsLast = true
    }
    table.hasHead = false
    data.table(table)
  }

  private func reason(_ conflict: JSON) -> String {
    var text = printable(conflict["reason"]?.string ?? "").replacing("-", with: " ")
    if conflict["reason"]?.string == "hidden-by-parent", let hiding = conflict["hiddenBy"] {
      let name = hiding["name"]?.string ?? shortID(hiding["record"]?.string)
      text = "hidden by the deleted \(printable(hiding["kind"]?.string ?? "")) \(printable(name))"
    }
    return data.paint("(\(text))", .faint)
  }

  private func author(_ side: JSON) -> String {
    printable(side["deviceName"]?.string ?? shortID(side["device"]?.string))
  }

  private func write(_ word: String, _ write: JSON, _ stress: Stress) -> [TextTable.Cell] {
    [
      .init(""), .init(word, stress), .init(write["value"]?.plainText ?? "–"), .init("by \(author(write))"),
      .init(time.full(write["time"]?.string)),
    ]
  }
}
