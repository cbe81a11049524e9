import Platform
import Home
import JSONDocument
import Model
import Reasons
import Records
import Replication
package import Storage
import Wire

/// Presents the store's conflicts with names and readable values.
package struct ConflictReader {
  let store: Store
  private let history: HistoryReader
  private var values: ShownValues

  package init(_ history: HistoryReader) {
    store = history.store
    self.history = history
    values = ShownValues(store: history.store)
  }

  /// Returns the conflict whose id begins with the given prefix. Throws if there is none, or more than one.
  package func find(_ prefix: String) throws -> StoredConflict {
    let conflicts = try store.conflicts()
    let found = prefix.isEmpty ? [] : conflicts.filter { $0.id.hasPrefix(prefix.lowercased()) }
    guard let first = found.first else {
      throw WaymarkError.notFound("conflict", prefix, next: .waymark("conflicts"))
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("conflict", prefix, try found.map { "\($0.id)  \(try title($0))" })
    }
    return first
  }

  package mutating func all() throws -> [Conflict] { try store.conflicts().map { try conflict($0) } }

  package mutating func conflict(_ conflict: StoredConflict) throws -> Conflict {
    let row = try store.record(conflict.record)
    return Conflict(
      id: conflict.id, kind: store.schema.name(conflict.record.kind), record: UUID(conflict.record.id),
      name: try store.title(conflict.record), field: fieldName(conflict), reason: .init(conflict.reason),
      isVisible: row?.isVisible ?? false,
      hiddenBy: try conflict.hiddenBy.map { key in
        Conflict.HidingRecord(
          kind: store.schema.name(key.kind), record: UUID(key.id), name: try store.title(key))
      },
      winner: try side(conflict.winner, conflict),
      losers: try conflict.losers.map { try side($0, conflict) })
  }

  private func fieldName(_ conflict: StoredConflict) -> String? {
    conflict.field.map { number in
      if number == Fields.life { return "life" }
      return store.schema.kind(conflict.record.kind)?.field(number)?.name ?? "field \(number)"
    }
  }

  // MARK: Sides

  private mutating func side(_ side: StoredConflict.Side, _ conflict: StoredConflict) throws -> Conflict.Side
  {
    var fields: [ShownValue.Part]?
    if case .write(let written) = side.content { fields = try self.written(written, conflict.record) }
    return Conflict.Side(
      value: try value(side.content, conflict), device: side.stamp.device, deviceName: author(side),
      time: Date(milliseconds: side.stamp.clock.milliseconds), fields: fields,
      isErased: try side.isAbsent && store.erasure(of: conflict.record) != nil)
  }

  private mutating func value(
    _ content: StoredConflict.Content, _ conflict: StoredConflict
  ) throws -> ShownValue {
    switch content {
    case .value(let value):
      if conflict.field == Fields.life { return .text(value == .bool(true) ? "alive" : "deleted") }
      let field = conflict.field.flatMap { store.schema.kind(conflict.record.kind)?.field($0) }
      return try field.map { try values.value($0, value) } ?? ShownValue(value.documentJSON)
    case .fields(let fields): return .parts(try written(fields, conflict.record, all: true))
    case .write: return .text("edited")
    case .deletion: return .text("deleted")
    }
  }

  /// Returns the fields that a write contains. With `all`, the kind's other fields are included as null.
  private mutating func written(
    _ fields: [FieldNumber: Value], _ key: RecordKey, all: Bool = false
  ) throws -> [ShownValue.Part] {
    let known = store.schema.kind(key.kind)?.fields ?? []
    var parts: [ShownValue.Part] = []
    for field in known where all || fields[field.number] != nil {
      try values.append(field, fields[field.number] ?? .null, to: &parts)
    }
    let numbers = Set(known.map(\.number)).union([Fields.life])
    for (number, value) in fields.sorted(by: { $0.key < $1.key }) where !numbers.contains(number) {
      parts.append(.init("field \(number)", ShownValue(value.documentJSON)))
    }
    return parts
  }

  // MARK: Text

  /// Returns a title that joins the kind, the record's name and the field, such as `trip · Rome · name`.
  func title(_ conflict: StoredConflict) throws -> String {
    [store.schema.name(conflict.record.kind).rawValue, try store.title(conflict.record), fieldName(conflict)]
      .compactMap(\.self).joined(separator: " · ")
  }

  /// Returns the words that refer to a record within a sentence, such as `trip “Rome”`.
  private func phrase(_ key: RecordKey) throws -> String {
    "\(store.schema.name(key.kind)) " + (try store.title(key).map { "“\(shortened($0))”" } ?? key.id.uuid)
  }

  func author(_ side: StoredConflict.Side) -> String { history.deviceName(side.stamp.device) }

  private func ancestors(of conflict: StoredConflict) throws -> [RecordKey] {
    try store.deletedAncestors(conflict.record)
  }

  /// Returns one line that describes a side, for a list of candidates.
  mutating func line(_ side: StoredConflict.Side, _ conflict: StoredConflict) throws -> String {
    let time = CivilTime.text(side.stamp.clock.milliseconds)
    let isErased = try side.isAbsent && store.erasure(of: conflict.record) != nil
    return "\(author(side))  \(side.stamp.device.description.prefix(8))  \(time)  "
      + (isErased ? "erased" : shortened(try value(side.content, conflict).json.text()))
  }

  /// Returns the possible resolutions of a conflict and the effect of each.
  package func options(_ conflict: StoredConflict) throws -> [Conflict.Option] {
    func option(_ take: String, _ effect: String) -> Conflict.Option {
      Conflict.Option(
        take: take, effect: effect,
        command: "waymark conflicts resolve \(conflict.id.prefix(8)) --take \(shellWord(take))")
    }
    switch conflict.reason {
    case .field, .profile:
      let keep = option("winner", "keep the current value")
      let losers = conflict.losers.filter { !$0.isAbsent }
      guard conflict.losers.count != 1 else {
        return losers.isEmpty ? [keep] : [keep, option("loser", "take the other value")]
      }
      let devices = Set(losers.map(author)).sorted()
      return [keep] + devices.map { option($0, "take the value from \($0)") }
    case .editLostToDelete, .hiddenByParent:
      guard let hiding = conflict.hiddenBy else { return [] }
      let above = try ancestors(of: conflict).map(phrase)
      return [
        option("winner", "delete \(try phrase(hiding)) again, overriding these changes"),
        option("loser", "restore \(above.joined(separator: " and ")), including these changes"),
      ]
    }
  }

  /// Returns the sentence that reports the decisions to the user.
  func summary(_ decisions: [ConflictDecision]) throws -> LocalizableText {
    guard decisions.count == 1, let decision = decisions.first else {
      return "Kept the current state in \(decisions.count) conflicts."
    }
    let conflict = decision.conflict
    switch decision.side.content {
    case .value, .fields: return "\(try title(conflict)): took the value from \(author(decision.side))."
    case .deletion: return "Deleted again: \(try phrase(conflict.hiddenBy ?? conflict.record))."
    case .write:
      return "Restored \(try ancestors(of: conflict).map(phrase).joined(separator: " and "))."
    }
  }
}

extension Conflict.Reason {
  fileprivate init(_ reason: StoredConflict.Reason) {
    self =
      switch reason {
      case .field: .field
      case .profile: .profile
      case .editLostToDelete: .editLostToDelete
      case .hiddenByParent: .hiddenByParent
      }
  }
}

/// A conflict as the store represents it. In this module, `Conflict` is the public type.
package typealias StoredConflict = Storage.Conflict
