import Foundation
import JSONDocument
import Records
import Replication
import Testing
import Wire

struct SchemaTests {
  @Test func `no number or name is used twice`() {
    #expect(Set(Schema.builtIn.kinds.map(\.number)).count == Schema.builtIn.kinds.count)
    #expect(
      Set(Schema.builtIn.kinds.flatMap { [$0.name, $0.plural] }).count == Schema.builtIn.kinds.count * 2)
    #expect(Set(Schema.builtIn.kinds.map(\.table)).count == Schema.builtIn.kinds.count)
    let views = Schema.builtIn.kinds.compactMap(\.view)
    #expect(Set(views).count == views.count && views.count == Schema.builtIn.kinds.count - 1)
    for kind in Schema.builtIn.kinds {
      #expect(kind.fields.map(\.number) == kind.fields.map(\.number).sorted(), "\(kind.name)")
      #expect(Set(kind.fields.map(\.number)).count == kind.fields.count, "\(kind.name)")
      let columns = kind.fields.flatMap(\.columns).map(\.name)
      #expect(Set(columns).count == columns.count, "\(kind.name)")
      let names = kind.fields.flatMap(\.names)
      #expect(Set(names).count == names.count, "\(kind.name)")
    }
  }

  @Test func `settings have a lane of their own, and the profile a merge class of its own`() {
    for kind in Schema.builtIn.kinds {
      #expect(kind.lane == ([.setting, .schema].contains(kind) ? .settings : .records))
      #expect(kind.mergeClass == (kind == Kind.profile ? .wholeRecord : .fieldByField))
    }
    #expect(Kind.profile.field(Fields.wholeRecordUpdatedAt)?.type == .timestamp)
    #expect(Kind.organization.field(FixedRecords.organizationName)?.name == "name")
  }

  @Test func `a parent is a reference or an owner`() {
    for kind in Schema.builtIn.kinds {
      guard let parent = kind.parent else { continue }
      switch kind.field(parent)?.type {
      case .reference, .owner: break
      default: Issue.record("\(kind.name) has a parent that is not a record")
      }
    }
  }

  @Test func `columns need no quotes in SQL`() {
    let reserved: Set = [
      "order", "end", "group", "table", "index", "values", "references", "check", "default",
    ]
    for kind in Schema.builtIn.kinds {
      for name in kind.fields.flatMap(\.columns).map(\.name) + [kind.table] + [kind.view].compactMap({ $0 }) {
        #expect(
          name.wholeMatch(of: /[a-z][a-z_]*/) != nil && !reserved.contains(name), "\(kind.name) \(name)")
      }
    }
  }

  /// The tables of the chapter, row by row: kind, number, field, type, columns, names.
  private func chapter() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "Protocol/records.md"), encoding: .utf8)
  }

  @Test func `the chapter lists the same kinds and fields`() throws {
    let lines = Set(try chapter().split(separator: "\n").map(String.init))
    for kind in Schema.builtIn.kinds {
      #expect(lines.contains(kind.chapterRow), "missing: \(kind.chapterRow)")
      for field in kind.fields {
        if let row = field.limitRow(of: kind) { #expect(lines.contains(row), "missing: \(row)") }
        #expect(lines.contains(field.chapterRow), "missing for \(kind.name): \(field.chapterRow)")
      }
    }
    let rows = lines.filter { $0.hasPrefix("| ") && $0.wholeMatch(of: /\| \d.*/) != nil }
    let known = Set(Schema.builtIn.kinds.flatMap { [$0.chapterRow] + $0.fields.map(\.chapterRow) })
    #expect(rows.subtracting(known).isEmpty)
  }

  @Test func `the chapter lists the fixed ids`() throws {
    let text = try chapter()
    #expect(text.contains("`\(FixedRecords.none.id.uuid)`"))
    #expect(text.contains("`\(FixedRecords.profile.id.uuid)`"))
  }
}

extension Kind {
  var chapterRow: String {
    let parent = parent.flatMap { field($0) }?.name ?? ""
    return
      "| \(number.rawValue) | `\(name)` | `\(plural)` | `\(table)` | \(view.map { "`\($0)`" } ?? "") | \(parent) |"
  }
}

extension Field {
  var chapterRow: String {
    let columns = columns.map { "`\($0.name)`" }.joined(separator: " ")
    let parts = parts == [name] ? "" : parts.map { "`\($0)`" }.joined(separator: " ")
    return "| \(number) | `\(name)` | \(type.chapterName) | \(columns) | \(parts) |"
  }
}

extension Field {
  /// The row of the table of limits; nil for a field without limits.
  func limitRow(of kind: Kind) -> String? {
    var limits: [String] = []
    if rule.isRequired { limits.append("required in a new record") }
    if let max = rule.charactersMax { limits.append("at most \(max) characters") }
    if !rule.words.isEmpty { limits.append(rule.words.map { "`\($0)`" }.joined(separator: " ")) }
    if let range = rule.integers { limits.append("\(range.lowerBound) to \(range.upperBound)") }
    if let range = rule.numbers {
      limits.append(
        [range.lowerBound, range.upperBound].map { JSON.float($0).text() }.joined(separator: " to "))
    }
    if rule.isColor { limits.append("`#RRGGBB`") }
    if let max = rule.itemsMax { limits.append("at most \(max) items") }
    if type == .coordinate { limits.append("latitude ±90, longitude ±180") }
    if type == .list(.frequency) { limits.append("1 to 1440 minutes") }
    return limits.isEmpty ? nil : "| \(kind.name) `\(name)` | \(limits.joined(separator: ", ")) |"
  }
}

extension FieldType {
  var chapterName: String {
    switch self {
    case .bool: "bool"
    case .integer: "integer"
    case .float: "float"
    case .text: "text"
    case .uuid: "uuid"
    case .timestamp: "timestamp"
    case .instant: "instant"
    case .datedInstant: "dated instant"
    case .money: "money"
    case .coordinate: "coordinate"
    case .reference(let kind): "reference to \(Schema.builtIn.kind(kind)?.name ?? "?")"
    case .keyReference(let kind): "key of \(Schema.builtIn.kind(kind)?.name ?? "?")"
    case .owner: "owner"
    case .blob: "blob"
    case .bytes: "bytes"
    case .list(.reminders): "reminders"
    case .list(.schedule): "schedule"
    case .list(.frequency): "frequency"
    case .list(.weights): "weights"
    case .list(.zoneChanges): "zone changes"
    case .any: "any"
    }
  }
}
