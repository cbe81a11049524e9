import JSONDocument
import Waymark

/// The trash.
extension Rendering {
  mutating func trash(_ document: JSON, _ kind: String) {
    let plural = CommandTable.kinds.first { $0.name == kind }?.plural ?? kind
    let items = document[plural]?.array ?? []
    guard !items.isEmpty else { return notes.paragraph("No \(plural) in the trash.") }
    let ids = distinctPrefixes(items.compactMap { $0["id"]?.string })
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 16), .init("DELETED"), .init("BY", widthMin: 8),
      .init("WITH", widthMin: 8),
    ])
    for item in items {
      let id = item["id"]?.string ?? ""
      let name = ["name", "originalFileName", "habitName", "key"].compactMap { item[$0]?.string }.first
      let title = [name, item["day"]?.string].compactMap(\.self).joined(separator: " ")
      let above = item["hiddenBy"] ?? .null
      table.rows.append([
        .init(ids[id] ?? id, .faint), .init(title), .init(time.full(item["deletedAt"]?.string)),
        .init(item["deletedByName"]?.string ?? ""),
        .init(above.isNull ? "" : "\(above["kind"]?.string ?? "") \(self.name(above))"),
      ])
    }
    data.table(table)
    notes.paragraph("To bring one back: waymark \(kind) restore ID")
  }

  private func name(_ record: JSON) -> String {
    printable(record["name"]?.string ?? record["kind"]?.string ?? "")
  }

  mutating func restored(_ document: JSON, _ kind: String) {
    let name = printable(document["name"]?.string ?? document["id"]?.string ?? "")
    notes.paragraph("Restored \(kind) “\(name)”.")
    guard let above = document["hiddenBy"], !above.isNull else { return }
    let aboveKind = printable(above["kind"]?.string ?? "")
    notes.paragraph(
      "It shows again when \(aboveKind) “\(self.name(above))” does: waymark \(aboveKind) restore "
        + shortID(above["id"]?.string))
  }
}
