import Exchange
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `import FILE…`: one operation, whatever the files; nothing at all if one of them is broken.
extension Node {
  func importFiles(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let paths = request.texts("files")
    guard !paths.isEmpty else { throw WaymarkError.usage("`import` needs at least one file.") }
    let format = try request.text("format").map { try exchangeFormat($0, ExchangeFormat.imported) }
    var drafts: [RecordDraft] = []
    var skipped = 0
    var warnings: [String] = []
    for (index, path) in paths.enumerated() {
      events([
        "type": "progress", "stage": "reading", "file": .string(path), "done": .integer(index),
        "total": .integer(paths.count),
      ])
      let plan = try await ImportFile.plan(path, format)
      for row in plan.skipped {
        events([
          "type": "skipped", "file": .string(path), "place": .string(row.place),
          "reason": .string(row.reason),
        ])
      }
      for warning in plan.warnings {
        events(["type": "warning", "file": .string(path), "text": .string(warning)])
      }
      skipped += plan.skipped.count
      warnings += plan.warnings
      drafts = ImportFile.joined(drafts, plan.drafts)
    }
    try checkOpen()
    // From here on without a pause: what is compared with the store is what is written to it.
    var difference = try ImportDifference(consume drafts, store: store, now: wall())
    let entries = difference.takeEntries()
    if !request.flag("preview"), !entries.isEmpty {
      events(["type": "progress", "stage": "writing", "done": 0, "total": .integer(entries.count)])
      _ = try write(request.command, consume entries)
    }
    return summary(request, difference, skipped, warnings)
  }

  private func summary(
    _ request: CommandRequest, _ difference: ImportDifference, _ skipped: Int, _ warnings: [String]
  ) -> JSON {
    document(
      request.command,
      [
        .init("type", "summary"), .init("preview", .bool(request.flag("preview"))),
        .init("added", .integer(difference.added)), .init("updated", .integer(difference.updated)),
        .init("unchanged", .integer(difference.unchanged)), .init("skipped", .integer(skipped)),
        .init("warnings", .array(warnings.map(JSON.string))),
      ])
  }

  func exchangeFormat(_ name: String, _ known: [ExchangeFormat]) throws -> ExchangeFormat {
    guard let format = ExchangeFormat(rawValue: name), known.contains(format) else {
      let known = known.map(\.rawValue).joined(separator: ", ")
      throw WaymarkError.badValue("--format", name, allowed: "it is one of \(known)")
    }
    return format
  }
}

/// Reading a file or a folder for import, away from the node: a large one takes a while.
private enum ImportFile {
  static func plan(_ path: String, _ format: ExchangeFormat?) async throws -> ImportPlan {
    try await offNode { try read(path, format) }
  }

  private static func read(_ path: String, _ format: ExchangeFormat?) throws -> ImportPlan {
    let source = try ImportFolder.source(path)
    do throws(ExchangeError) {
      return try Importer.plan(source, format: format)
    } catch {
      // A reader that was stopped calls the file damaged.
      try Task.checkCancellation()
      throw WaymarkError.failed(
        .import, "Nothing is imported from \(path): \(error).",
        next: error.remedy.map { Step($0) }
          ?? "have the application write the export again, then \(waymark: "import \(shellWord(path))")")
    }
  }

  /// The drafts of both in order of keys; where both have a record, the later file's fields count.
  static func joined(_ earlier: [RecordDraft], _ later: [RecordDraft]) -> [RecordDraft] {
    if earlier.isEmpty { return later }
    var joined: [RecordDraft] = []
    joined.reserveCapacity(earlier.count + later.count)
    var next = earlier.startIndex
    for draft in later {
      while next < earlier.endIndex, earlier[next] < draft {
        joined.append(earlier[next])
        next += 1
      }
      guard next < earlier.endIndex, earlier[next].key == draft.key else {
        joined.append(draft)
        continue
      }
      var both = earlier[next]
      for field in draft.fields { both[field.number] = field.value }
      joined.append(both)
      next += 1
    }
    return joined + earlier[next...]
  }
}

/// What an import changes: only fields that differ are written, so that the same file twice changes nothing.
struct ImportDifference {
  private(set) var entries: [EntryDraft] = []
  private(set) var added = 0
  private(set) var updated = 0
  private(set) var unchanged = 0

  /// The held profile's time of change as merging reads it.
  private var profileHeldAt: Moment = 0
  /// Those that are compared are empty, so that no record takes room as a draft and as an entry.
  private var drafts: [RecordDraft]

  /// - Parameter drafts: ascending by key.
  init(_ drafts: consuming [RecordDraft], store: Store, now: Moment) throws {
    self.drafts = drafts
    entries.reserveCapacity(self.drafts.count)
    if let profile = try store.record(FixedRecords.profile) { profileHeldAt = try store.profileTime(profile) }
    var start = 0
    while start < self.drafts.count {
      let kind = self.drafts[start].key.kind
      let end = self.drafts[start...].firstIndex { $0.key.kind != kind } ?? self.drafts.count
      try compare(start..<end, kind, store, now)
      start = end
    }
    self.drafts = []
  }

  /// The entries, which are not kept here then.
  mutating func takeEntries() -> [EntryDraft] {
    defer { entries = [] }
    return entries
  }

  /// Few are looked up one by one; many are walked through beside the store, both in order of ids.
  private mutating func compare(
    _ range: Range<Int>, _ kind: KindNumber, _ store: Store, _ now: Moment
  ) throws {
    guard range.count > Self.lookupsMax else {
      for index in range { compare(index, try store.record(drafts[index].key), now) }
      return
    }
    var query = RecordQuery(kind)
    query.visibleOnly = false
    var next = range.lowerBound
    try store.forEach(query) { row in
      while next < range.upperBound, drafts[next].key.id < row.key.id {
        compare(next, nil, now)
        next += 1
      }
      guard next < range.upperBound, drafts[next].key.id == row.key.id else { return }
      compare(next, row, now)
      next += 1
    }
    for index in next..<range.upperBound { compare(index, nil, now) }
  }

  private static let lookupsMax = 200

  private mutating func compare(_ index: Int, _ held: RecordRow?, _ now: Moment) {
    let draft = drafts[index]
    drafts[index] = RecordDraft(draft.kind, draft.id)
    if let held, draft.key == FixedRecords.profile {
      profile(draft, held, now)
    } else {
      record(draft, held)
    }
  }

  private mutating func record(_ draft: RecordDraft, _ held: RecordRow?) {
    guard let held else {
      entries.append(Self.new(draft))
      return count(draft, isChanged: true, isNew: true)
    }
    note(draft, EntryDraft.putting(draft.key, changed(draft, held), on: held), isNew: !held.isAlive)
  }

  /// A record that is not held at all, as nearly all are in the first import of a large file.
  private static func new(_ draft: RecordDraft) -> EntryDraft {
    var fields: [(field: FieldNumber, value: Value)] = []
    fields.reserveCapacity(draft.fields.count + 1)
    fields.append((Fields.life, .bool(true)))
    for said in draft.fields where said.value != .null { fields.append((said.number, said.value)) }
    return EntryDraft(.put, draft.key, fields)
  }

  /// The fields that the file changes.
  private func changed(_ draft: RecordDraft, _ held: RecordRow) -> [(field: FieldNumber, value: Value)] {
    draft.fields.compactMap { said in
      let heldValue = held[said.number]
      guard !isSame(said.value, heldValue) else { return nil }
      let value = draft.kind.field(said.number).map { field in
        field.imported(said.value, over: heldValue, filler: Fillers.value(field, of: draft))
      }
      return isSame(value ?? said.value, heldValue) ? nil : (field: said.number, value: value ?? said.value)
    }
  }

  /// The profile of the file keeps its own time of change, and is left alone where the held one would win.
  private mutating func profile(_ draft: RecordDraft, _ held: RecordRow, _ now: Moment) {
    let changed = changed(draft, held)
    guard !changed.isEmpty else { return note(draft, [], isNew: false) }
    // It is one value: if the file changes it, all that the file says belongs to the change.
    let said = draft.fields.filter { $0.value != .null && (held[$0.number] ?? .null).isEmpty }
      .map { (field: $0.number, value: $0.value) }
    var updatedAt = draft[Fields.wholeRecordUpdatedAt]?.asInteger ?? 0
    // What an undo has emptied holds nothing that the file's could be older than.
    if held.saysNothing { updatedAt = max(updatedAt, profileHeldAt + 1) }
    let write = ProfileWrite(held: held, changed: said + changed, updatedAt: updatedAt)
    let heldRank = (profileHeldAt, held.filledFields)
    // The stamp of a new write is above the held one's, so a draw is won.
    guard held.saysNothing || (min(updatedAt, now), write.filledFields) >= heldRank else {
      return note(draft, [], isNew: false)
    }
    note(draft, [write.draft], isNew: held.filledFields == 0)
  }

  private mutating func note(_ draft: RecordDraft, _ entries: [EntryDraft], isNew: Bool) {
    self.entries += entries
    count(draft, isChanged: !entries.isEmpty, isNew: isNew)
  }

  private mutating func count(_ draft: RecordDraft, isChanged: Bool, isNew: Bool) {
    // The pieces of a file are no records to a person.
    guard draft.key.kind != KindNumbers.content else { return }
    if !isChanged { unchanged += 1 } else if isNew { added += 1 } else { updated += 1 }
  }
}

extension RecordRow {
  /// Fields other than life that hold something.
  var filledFields: Int { allFields.filter { $0.key != Fields.life && !$0.value.isEmpty }.count }

  /// Whether nothing is in it but when that was so.
  var saysNothing: Bool {
    allFields.allSatisfy { [Fields.life, Fields.wholeRecordUpdatedAt].contains($0.key) || $0.value.isEmpty }
  }
}

extension ProfileWrite {
  var filledFields: Int { draft.fields.filter { $0.field != Fields.life && !$0.value.isEmpty }.count }
}
