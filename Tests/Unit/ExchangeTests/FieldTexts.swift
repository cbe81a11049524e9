import Records
import Replication
import Wire

/// The values of records as texts, so that a test can compare whole records: a value in the wrong field, from the wrong
/// row or in the wrong zone shows as well as one that is missing.
struct FieldTexts {
  private let drafts: [RecordDraft]

  init(_ drafts: some Sequence<RecordDraft>) { self.drafts = Array(drafts) }

  /// The fields that have a value, by name, of each record of a kind, in the order of their texts.
  func records(_ kind: Kind, without names: Set<String> = []) -> [[String: String]] {
    let records = drafts.filter { $0.kind == kind }.map { fields($0, without: names) }
    return records.sorted { sortKey($0) < sortKey($1) }
  }

  /// The fields of the only record of a kind with a name; empty if there is none, or if there are several.
  func record(_ kind: Kind, _ name: String, without names: Set<String> = []) -> [String: String] {
    let found = drafts.filter { $0.kind == kind && self.name(of: $0) == name }
    return found.count == 1 ? fields(found[0], without: names) : [:]
  }

  private func sortKey(_ fields: [String: String]) -> String {
    fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n")
  }

  private func fields(_ draft: RecordDraft, without names: Set<String>) -> [String: String] {
    var texts: [String: String] = [:]
    for held in draft.fields where held.value != .null {
      guard let field = draft.kind.field(held.number), !names.contains(field.name) else { continue }
      texts[field.name] = text(held.value)
    }
    return texts
  }

  private func name(of draft: RecordDraft) -> String? {
    guard let field = draft.kind.field(named: "name") else { return nil }
    return draft[field.number]?.asText
  }

  private func text(_ value: Value) -> String {
    switch value {
    case .null: return "-"
    case .bool(let flag): return "\(flag)"
    case .integer(let number):
      // Larger numbers are times in these tests.
      return number.magnitude < 1_000_000 ? "\(number)" : timeText(milliseconds: number)
    case .float(let number): return "\(number)"
    case .text(let text): return text
    case .bytes:
      guard let id = value.asRecordID else { return "bytes" }
      return drafts.first { $0.id == id }.flatMap { name(of: $0) } ?? id.uuid
    case .array(let items): return items.map { text($0) }.joined(separator: " ")
    }
  }
}
