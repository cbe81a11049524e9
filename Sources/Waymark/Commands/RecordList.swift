import Records
import Replication
import Storage
import Wire

/// Finds and sorts the records that a list shows.
struct RecordList {
  let store: Store
  let names: NameResolver

  /// The visible records of a kind, narrowed by what was typed, in the order in which people read them.
  func records(_ kind: Kind, _ request: CommandRequest) throws -> [RecordRow] {
    var records = try candidates(kind, request)
    if kind.number == KindNumbers.log { records = try narrowed(records, request) }
    return Self.sorted(kind, records)
  }

  private func candidates(_ kind: Kind, _ request: CommandRequest) throws -> [RecordRow] {
    let parents: [(flag: String, kind: Kind)] =
      switch kind.number {
      case KindNumbers.lodging, KindNumbers.transportation, KindNumbers.activity: [("trip", Registry.trip)]
      case KindNumbers.log: [("habit", Registry.habit)]
      case KindNumbers.attachment: Registry.owners.map { ($0.name, $0) }
      default: []
      }
    for (flag, parent) in parents {
      guard let name = request.text(flag) else { continue }
      return try store.children(of: try names.resolve(parent, name).key, kind.number)
    }
    return try store.visible(kind)
  }

  private func narrowed(_ logs: [RecordRow], _ request: CommandRequest) throws -> [RecordRow] {
    let date = Registry.log.number("date")
    let bounds = try ["date", "from", "to"].map { name -> String? in
      guard let text = request.text(name) else { return nil }
      guard let day = CalendarDay(text) else {
        throw WaymarkError.badValue("--\(name)", text, allowed: "write a day such as 2026-05-03")
      }
      return day.description
    }
    return logs.filter { log in
      guard let day = log[date]?.part(2).asText else { return bounds.allSatisfy { $0 == nil } }
      return bounds[0].map { day == $0 } ?? true && bounds[1].map { day >= $0 } ?? true
        && bounds[2].map { day <= $0 } ?? true
    }
  }

  // MARK: Order

  /// As people read a list of this kind.
  static func sorted(_ kind: Kind, _ records: [RecordRow]) -> [RecordRow] {
    let start = kind.field(named: "start")?.number
    let keys = records.indices.map { (key: sortKey(kind, records[$0], start), place: $0) }
    return keys.sorted { $0.key < $1.key }.map { records[$0.place] }
  }

  private static func sortKey(_ kind: Kind, _ record: RecordRow, _ start: FieldNumber?) -> SortKey {
    let name = kind.title(of: record) ?? ""
    let number: Int64? =
      switch kind.number {
      case FixedRecords.organization: record.key == FixedRecords.none ? 0 : 1
      case KindNumbers.habit: record[Registry.habit.number("displayOrder")]?.asInteger
      case KindNumbers.category: record[Registry.category.number("order")]?.asInteger
      case KindNumbers.log: record[Registry.log.number("date")]?.part(0).asInteger
      case KindNumbers.attachment: record[Registry.attachment.number("createdDate")]?.asInteger
      default: start.flatMap { record[$0]?.part(0).asInteger }
      }
    return SortKey(number: number ?? .max, name: name.lowercased(), id: record.key.id)
  }

  private struct SortKey: Comparable {
    let number: Int64
    let name: String
    let id: RecordID

    static func < (left: SortKey, right: SortKey) -> Bool {
      if left.number != right.number { return left.number < right.number }
      if left.name != right.name { return left.name < right.name }
      return left.id < right.id
    }
  }

  // MARK: Uses

  /// The names of the visible items that refer to an organization.
  func users(ofOrganization id: RecordID) throws -> [String] {
    try Registry.owners.flatMap { kind in
      let field = kind.number("organizationId")
      return try store.visible(kind).filter { $0[field]?.asRecordID == id }
        .map { "\(kind.name) \(kind.title(of: $0) ?? $0.key.id.uuid)" }
    }
  }
}
