import JSONDocument
import Records
import Waymark

/// `history`, `undo`, and the trash.
extension Rendering {
  // MARK: History

  mutating func history(_ document: JSON) {
    if let record = document["record"], !record.isNull {
      self.record(record, document["writes"]?.array ?? [])
    } else {
      operations(document["operations"]?.array ?? [])
    }
    if document["more"]?.boolean == true { notes.paragraph("There is more: waymark history --limit N") }
  }

  private mutating func operations(_ operations: [JSON]) {
    guard !operations.isEmpty else { return notes.paragraph("Nothing was done yet.") }
    let ids = operationIDs(operations)
    var table = TextTable([
      .init("OPERATION"), .init("WHEN"), .init("DEVICE", widthMin: 8), .init("WHAT", widthMin: 24),
    ])
    table.wrapsLast = true
    for operation in operations {
      let id = operation["id"]?.string ?? ""
      let isUndone = operation["undoneBy"]?.string != nil
      table.rows.append([
        .init(ids[id] ?? id, .strong), .init(time.full(operation["time"]?.string)),
        .init(operation["deviceName"]?.string ?? ""), .init(what(operation), isUndone ? .faint : .none),
      ])
    }
    data.table(table)
  }

  private func operationIDs(_ operations: [JSON]) -> [String: String] {
    distinctPrefixes(operations.compactMap { $0["id"]?.string })
  }

  /// `import · 3 trips, 20,000 logs added`, `trip edit · Rome: name, notes · undone by 3fa91c22`
  func what(_ operation: JSON) -> String {
    var parts = [verb(operation)]
    if let record = operation["record"], !record.isNull {
      let fields = (operation["fields"]?.array ?? []).compactMap(\.string)
      parts.append(name(record) + (fields.isEmpty ? "" : ": \(fields.joined(separator: ", "))"))
    } else {
      parts.append(counts(operation["counts"]))
    }
    if let undo = operation["undoneBy"]?.string { parts.append("undone by \(shortID(undo))") }
    return parts.filter { !$0.isEmpty }.joined(separator: " · ")
  }

  /// The verb as it is typed, and what it takes back.
  private func verb(_ operation: JSON) -> String {
    let words = printable(operation["verb"]?.string ?? "").replacing(".", with: " ")
    return operation["undoes"]?.string.map { "\(words) of \(shortID($0))" } ?? words
  }

  private func name(_ record: JSON) -> String {
    printable(record["name"]?.string ?? record["kind"]?.string ?? "")
  }

  /// `3 trips, 20,000 logs added; 1 habit deleted`
  private func counts(_ counts: JSON?) -> String {
    let shown = (counts?.array ?? []).filter { !["content", "address"].contains($0["kind"]?.string) }
    return ["added", "changed", "deleted", "restored"].compactMap { action in
      let items = shown.compactMap { count -> String? in
        guard let number = count[action]?.integer, number > 0 else { return nil }
        return amount(number, count["kind"]?.string ?? "record")
      }
      return items.isEmpty ? nil : "\(items.joined(separator: ", ")) \(action)"
    }.joined(separator: "; ")
  }

  private func amount(_ number: Int64, _ kind: String) -> String {
    let plural = Registry.kind(named: kind)?.plural ?? "\(kind)s"
    return "\(grouped(number)) \(printable(number == 1 ? kind : plural))"
  }

  // MARK: One record

  private mutating func record(_ record: JSON, _ writes: [JSON]) {
    let state = record["state"]?.string ?? ""
    let note = state == "visible" ? "" : state == "hidden" ? "  hidden with what it belongs to" : "  \(state)"
    data.line(
      data.paint("\(printable(record["kind"]?.string ?? "")) \(name(record))", .strong)
        + "  \(printable(record["id"]?.string ?? ""))" + data.paint(note, .careful))
    let ids = operationIDs(writes)
    for write in writes {
      data.gap()
      let id = write["id"]?.string ?? ""
      var head = [
        time.full(write["time"]?.string), write["deviceName"]?.string ?? "", verb(write), ids[id] ?? id,
      ]
      if let undo = write["undoneBy"]?.string { head.append("undone by \(shortID(undo))") }
      if write["hidden"]?.boolean == true { head.append("did not know of the deletion") }
      data.paragraph(head.map(printable).joined(separator: "  "), indent: 2)
      fields(write["fields"]?.array ?? [])
    }
  }

  private mutating func fields(_ fields: [JSON]) {
    var table = TextTable([.init(""), .init("", widthMin: 10), .init("", widthMin: 24)])
    table.hasHead = false
    table.wrapsLast = true
    for field in fields {
      let before = field["before"] ?? .null
      var text = field["value"]?.plainText ?? "–"
      if !before.isNull { text = "\(before.plainText) → \(text)" }
      let state = field["state"]?.string
      if state == "lost" {
        let winner = field["lostTo"]?["deviceName"]?.string ?? "another device"
        text += "  (lost to \(winner), at the same time; kept)"
      }
      let stress: Stress = state == "lost" ? .careful : state == "replaced" ? .faint : .none
      table.rows.append([.init(""), .init(field["field"]?.string ?? ""), .init(text, stress)])
    }
    data.table(table)
  }

  // MARK: Undo

  mutating func undone(_ document: JSON) {
    let operation = document["operation"] ?? .null
    let isPreview = document["preview"]?.boolean == true
    let who = [
      verb(operation), "by \(printable(operation["deviceName"]?.string ?? ""))",
      time.full(operation["time"]?.string),
    ].joined(separator: ", ")
    let changes = counts(document["changes"])
    data.paragraph(
      "\(isPreview ? "Would undo" : "Undid") \(shortID(operation["id"]?.string)) (\(who)): "
        + (changes.isEmpty ? "nothing would change" : changes) + ".")
    leftAlone(document["left"]?.array ?? [], isPreview: isPreview)
    if isPreview {
      notes.paragraph("Nothing was written. Next: waymark undo \(shortID(operation["id"]?.string))")
    } else if let undo = document["undo"]?.string {
      notes.paragraph("To take that back: waymark undo \(shortID(undo))")
    }
  }

  private mutating func leftAlone(_ left: [JSON], isPreview: Bool) {
    guard !left.isEmpty else { return }
    data.paragraph("Left alone, unless you say --yes:")
    var table = TextTable([.init(""), .init("", widthMin: 16), .init("", widthMin: 24)])
    table.hasHead = false
    table.wrapsLast = true
    let shown = 20
    for item in left.prefix(shown) {
      let record = "\(item["kind"]?.string ?? "") \(item["name"]?.string ?? shortID(item["id"]?.string))"
      table.rows.append([.init(""), .init(record), .init(reason(item))])
    }
    data.table(table)
    if left.count > shown { data.line("  and \(grouped(Int64(left.count - shown))) more") }
  }

  private func reason(_ item: JSON) -> String {
    guard item["reason"]?.string == "in_use" else {
      let fields = (item["fields"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
      return "\(fields) changed since, by \(item["byName"]?.string ?? "") \(time.full(item["time"]?.string))"
    }
    let users = item["users"]?.array ?? []
    let names = users.prefix(3).map { "\($0["kind"]?.string ?? "") \(name($0))" }
    let rest = users.count > 3 ? " and \(grouped(Int64(users.count - 3))) more" : ""
    return "used by \(names.joined(separator: ", "))\(rest)"
  }
}
