import JSONDocument
import Waymark

/// `KIND list|show|add|edit|delete|restore`, timelines and the days of habits.
extension Rendering {
  mutating func records(_ document: JSON, _ invocation: Invocation) {
    let kind = invocation.words[0]
    switch invocation.words.last ?? "" {
    case "list" where invocation.arguments["deleted"]?.boolean == true: trash(document, kind)
    case "list": list(document, kind)
    case "add": data.line(document["id"]?.string ?? "")
    case "edit": changed(document)
    case "delete":
      notes.paragraph(
        "Deleted \(kind) “\(printable(document["name"]?.string ?? document["id"]?.string ?? ""))”.")
    case "restore": restored(document, kind)
    case "timeline": timeline(document)
    case "tick", "untick", "set": day(document)
    default: show(document, kind)
    }
  }

  // MARK: List

  private mutating func list(_ document: JSON, _ kind: String) {
    let plural = CommandTable.kinds.first { $0.name == kind }?.plural ?? kind
    let items = document[plural]?.array ?? []
    guard !items.isEmpty else { return notes.paragraph("No \(plural) yet.") }
    let ids = distinctPrefixes(items.compactMap { $0["id"]?.string })
    var table = columns(kind)
    for item in items {
      let id = item["id"]?.string ?? ""
      table.rows.append([.init(ids[id] ?? id, .faint)] + cells(kind, item))
    }
    data.table(table)
  }

  private func columns(_ kind: String) -> TextTable {
    let name = TextTable.Column("NAME", widthMin: 16)
    let columns: [TextTable.Column] =
      switch kind {
      case "trip":
        [name, .init("FROM"), .init("TO"), .init("ITEMS", isRight: true), .init("TOTAL", widthMin: 12)]
      case "lodging", "transportation", "activity":
        [
          name, .init("TRIP", widthMin: 8), .init("START"), .init("END", widthMin: 10),
          .init("COST", isRight: true),
        ]
      case "organization": [name, .init("PHONE", widthMin: 8), .init("WEBSITE", widthMin: 12)]
      case "habit":
        [
          name, .init("KIND"), .init("TARGET", isRight: true), .init("CATEGORY", widthMin: 8),
          .init("ACTIVE"),
        ]
      case "category": [name, .init("KEY", widthMin: 8), .init("ORDER", isRight: true)]
      case "log": [.init("HABIT", widthMin: 16), .init("DAY"), .init("VALUE", isRight: true), .init("ZONE")]
      default:
        [name, .init("TYPE", widthMin: 8), .init("SIZE", isRight: true), .init("BELONGS TO", widthMin: 12)]
      }
    return TextTable([.init("ID")] + columns)
  }

  private func cells(_ kind: String, _ item: JSON) -> [TextTable.Cell] {
    func text(_ key: String) -> TextTable.Cell { .init(item[key]?.string ?? "") }
    func day(_ key: String) -> TextTable.Cell {
      .init(item[key]?.string.map { String($0.prefix(10)) } ?? "–")
    }
    let name = text("name")
    switch kind {
    case "trip":
      let totals = item["totals"]?.array?.compactMap(\.moneyText) ?? []
      return [
        name, day("startDate"), day("endDate"), .init(grouped(item["activities"]?.integer ?? 0)),
        .init(totals.joined(separator: " + ")),
      ]
    case "lodging", "transportation", "activity":
      return [
        name, text("tripName"), .init(minute(item["start"])), .init(minute(item["end"])),
        .init(item["cost"]?.moneyText ?? ""),
      ]
    case "organization": return [name, text("phone"), text("website")]
    case "habit":
      let emoji = item["emoji"]?.string.map { "\($0) " } ?? ""
      let target = [item["dailyTarget"]?.number, item["unitLabel"]?.string].compactMap(\.self)
      return [
        .init(emoji + (item["name"]?.string ?? "")), text("kind"), .init(target.joined(separator: " ")),
        .init(item["categoryName"]?.string ?? item["categoryId"]?.string ?? ""),
        .init(item["isActive"]?.boolean == false ? "no" : "yes"),
      ]
    case "category": return [name, text("key"), .init(item["order"]?.number ?? "")]
    case "log":
      return [text("habitName"), text("day"), .init(item["value"]?.number ?? ""), text("timezone")]
    default:
      let name = item["originalFileName"]?.string ?? item["fileName"]?.string ?? ""
      let size = item["fileSize"]?.integer.map { "\(grouped($0)) B" } ?? ""
      return [.init(name), text("mimeType"), .init(size), text("parentName")]
    }
  }

  private func minute(_ value: JSON?) -> String {
    value?.string.map { String($0.prefix(16)).replacing("T", with: " ") } ?? "–"
  }

  // MARK: One

  /// Every field that has a value, structured ones as they are typed.
  mutating func show(_ document: JSON, _ kind: String) {
    let members = (document.members ?? []).filter {
      $0.key != "schema" && !$0.value.isNull && $0.value != []
    }
    if members.isEmpty { notes.paragraph("Nothing yet.") }
    data.pairs(
      members.map { member in
        let typed = RecordText.typed(member.value, kind: kind, field: member.key)
        return (member.key, typed.map(printable) ?? member.value.plainText)
      })
  }

  private mutating func timeline(_ document: JSON) {
    data.line(printable(document["name"]?.string ?? ""), .strong)
    let items = document["items"]?.array ?? []
    guard !items.isEmpty else { return notes.paragraph("Nothing in this trip yet.") }
    var table = TextTable([
      .init("START"), .init("ZONE", widthMin: 8), .init("END"), .init("WHAT"), .init("NAME", widthMin: 16),
      .init("COST", isRight: true),
    ])
    for item in items {
      table.rows.append([
        .init(minute(item["start"])), .init(item["startTZId"]?.string ?? ""), .init(minute(item["end"])),
        .init(item["kind"]?.string ?? ""), .init(item["name"]?.string ?? "", .strong),
        .init(item["cost"]?.moneyText ?? ""),
      ])
    }
    data.table(table)
  }

  private mutating func day(_ document: JSON) {
    let name = printable(document["name"]?.string ?? "")
    let day = document["day"]?.string ?? ""
    let isDone = document["done"]?.boolean == true
    let value = document["value"]?.number.map { "\($0) " } ?? ""
    notes.paragraph("\(name) on \(day): \(isDone ? value + (value.isEmpty ? "done" : "in all") : "not done")")
  }
}
