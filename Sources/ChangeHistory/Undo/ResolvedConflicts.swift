// Protocol/merge.md, "Resolving"
//
// The sets of a resolution, and therefore those of its undo, come after all sides of the conflict. So an undo cannot
// reopen the conflict: it only brings back the value from before the resolution.
//
//   bob "Rom"  ──╮
//                ├── resolution "Roma" ── undo "Rom"       no conflict: "Roma" has to be typed to be displayed again
//   alice "Roma" ─╯
//
// The answer of the undo therefore lists what each side had written, and the commands that write it again.

import Platform
import Home
import JSONDocument
import LogStorage
import Model
import Reasons
import Records
import Replication
import Storage
import Wire

/// Finds the conflicts that an operation resolved, and the values of their sides.
struct ResolvedConflicts {
  private let operation: LogStorage.Operation
  private let history: HistoryReader
  private let pace: Pace
  private var values: ShownValues

  init(_ operation: LogStorage.Operation, _ history: HistoryReader, _ pace: Pace) {
    (self.operation, self.history, self.pace) = (operation, history, pace)
    values = ShownValues(store: history.store)
  }

  private var store: Store { history.store }

  /// Returns the conflicts, with the values that are displayed after the undo.
  mutating func find(_ outcomes: [UndoPlan.Outcome]) async throws -> [UndoSummary.ResolvedConflict] {
    var found: [UndoSummary.ResolvedConflict] = []
    for outcome in outcomes {
      for field in outcome.fields.sorted() {
        let isWhole = outcome.record.kind.mergeClass == .wholeRecord
        if field == Fields.life, !isWhole {
          found.append(try deletion(outcome))
        } else if let conflict = try await conflict(outcome, field, isWhole: isWhole) {
          found.append(conflict)
        }
        try await pace.step()
      }
    }
    return found
  }

  // MARK: Deletions

  private func deletion(_ outcome: UndoPlan.Outcome) throws -> UndoSummary.ResolvedConflict {
    let isAlive = outcome.state.isAlive
    let kind = store.schema.kind(outcome.record.kind)
    let command = kind?.listing.map { _ in
      Step.waymark("\(kind?.name ?? "") \(isAlive ? "delete" : "restore") \(outcome.record.id.uuid)")
    }
    let other = UndoSummary.ResolvedConflict.Side(
      value: .text(isAlive ? "deleted" : "alive"), device: nil, deviceName: nil, next: command)
    return try conflict(outcome.record, "life", .text(isAlive ? "alive" : "deleted"), [other])
  }

  private func conflict(
    _ record: RecordKey, _ field: String?, _ current: ShownValue,
    _ others: [UndoSummary.ResolvedConflict.Side]
  ) throws -> UndoSummary.ResolvedConflict {
    let reference = try store.reference(record)
    return UndoSummary.ResolvedConflict(
      kind: reference.kind, id: reference.id, name: reference.name, field: field, current: current,
      others: others)
  }

  // MARK: Fields and whole records

  /// What one of the concurrent writes wrote: one field, or all fields of a whole record that have a value.
  private struct Side {
    let place: SetPosition
    let contents: [FieldNumber: [UInt8]]
    let isAbsent: Bool
  }

  private mutating func conflict(
    _ outcome: UndoPlan.Outcome, _ field: FieldNumber, isWhole: Bool
  ) async throws -> UndoSummary.ResolvedConflict? {
    let record = outcome.record
    let sides = try await sides(record, field, isWhole: isWhole)
    guard Set(sides.map(\.contents)).count > 1 else { return nil }
    let current =
      isWhole
      ? Self.shown(outcome.state.contents)
      : [field: outcome.state.contents[field] ?? Value.null.encoded]
    var seen: Set<[FieldNumber: [UInt8]]> = [current]
    var others: [UndoSummary.ResolvedConflict.Side] = []
    for side in sides where !side.isAbsent && seen.insert(side.contents).inserted {
      let device = side.place.log.device
      others.append(
        .init(
          value: try value(record, isWhole ? nil : field, side.contents), device: device,
          deviceName: history.deviceName(device),
          next: try command(record, side.contents, instead: current)))
    }
    let name = isWhole ? nil : store.schema.kind(record.kind)?.field(field)?.name ?? "field \(field)"
    return try conflict(record, name, try value(record, isWhole ? nil : field, current), others)
  }

  /// Returns the writes that the resolution has seen and that no other write it has seen has seen, newest first.
  private func sides(_ record: RecordKey, _ field: FieldNumber, isWhole: Bool) async throws -> [Side] {
    let own = operation.numbers
    let places = try store.writeNumbers(of: record).map(store.place)
      .sorted { $0.origin.stamp > $1.origin.stamp }
    guard let resolution = places.last(where: { own.contains($0.origin.number) }) else { return [] }
    var sides: [Side] = []
    for place in places where try !own.contains(place.origin.number) && store.covers(resolution, place) {
      try await pace.step()
      if try sides.contains(where: { try store.covers($0.place, place) }) { continue }
      guard let write = try store.intactWrite(of: record, in: place.origin.number) else { continue }
      if isWhole, write.rank != nil {
        let contents = Dictionary(uniqueKeysWithValues: write.cells.map { ($0.field, $0.content) })
        sides.append(Side(place: place, contents: Self.shown(contents), isAbsent: !write.absent.isEmpty))
      } else if !isWhole, let content = write.content(field) {
        sides.append(
          Side(place: place, contents: [field: content], isAbsent: write.absent.contains(field)))
      }
    }
    return sides
  }

  /// The contents of a whole record without its time of change and without null fields.
  private static func shown(_ contents: [FieldNumber: [UInt8]]) -> [FieldNumber: [UInt8]] {
    let null = Value.null.encoded
    return contents.filter {
      $0.key != Fields.wholeRecordUpdatedAt && $0.key != Fields.life && $0.value != null
    }
  }

  private mutating func value(
    _ record: RecordKey, _ field: FieldNumber?, _ contents: [FieldNumber: [UInt8]]
  ) throws -> ShownValue {
    let kind = store.schema.kind(record.kind)
    if let field {
      return try values.value(contents[field] ?? Value.null.encoded, of: kind?.field(field), isLife: false)
    }
    var parts: [ShownValue.Part] = []
    for known in kind?.fields ?? [] {
      guard let content = contents[known.number] else { continue }
      try values.append(known, Value(encoded: content[...]), to: &parts)
    }
    return .parts(parts)
  }

  /// Returns the command that writes the values of a side; nil if they can't be typed.
  private func command(
    _ record: RecordKey, _ contents: [FieldNumber: [UInt8]], instead current: [FieldNumber: [UInt8]]
  ) throws -> Step? {
    guard let kind = store.schema.kind(record.kind) else { return nil }
    var wanted: [FieldNumber: Value] = [:]
    for field in Set(contents.keys).union(current.keys) where contents[field] != current[field] {
      wanted[field] = try contents[field].map { try Value(encoded: $0[...]) } ?? .null
    }
    if kind == Kind.setting { return try command(setting: record, wanted) }
    let words =
      kind == Kind.profile
      ? "profile set" : kind.listing.map { _ in "\(kind.name) edit \(record.id.uuid)" }
    guard let words, let assignments = kind.assignments(of: wanted, zones: CivilTime.offsets) else {
      return nil
    }
    return .waymark(
      ([words] + assignments.map { "\($0.name)=\(shellWord($0.text))" }).joined(separator: " "))
  }

  private func command(setting record: RecordKey, _ wanted: [FieldNumber: Value]) throws -> Step? {
    let setting = Kind.setting
    guard let key = try store.record(record)?[setting.number("key")]?.asText,
      let value = wanted[setting.number("value")], wanted.count == 1
    else { return nil }
    let text = value.asText ?? value.documentJSON.text()
    guard !text.isEmpty, (try? Preferences.value(of: text, for: key)) == value else { return nil }
    return .waymark("settings set \(shellWord(key)) \(shellWord(text))")
  }
}
