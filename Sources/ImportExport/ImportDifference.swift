import Exchange
import FileFormat
package import Records
package import Replication
package import Storage
import Wire

/// What an import changes. Only fields that differ from the store are written, so importing the same file a second time
/// changes nothing.
package struct ImportDifference {
  /// The entries of the import.
  private var contents: OperationContents
  package private(set) var added = 0
  package private(set) var updated = 0
  package private(set) var unchanged = 0

  /// The stored profile's time of change, as used for merging.
  private var profileHeldAt: Moment = 0
  /// Whether the drafts have exactly the values to write; otherwise a stored value remains if the file's value equals it
  /// as far as the file's format can represent it.
  private let isExact: Bool

  /// - Parameters:
  ///   - drafts: the imported records, in ascending order of their keys. The files that they name are durable.
  ///   - contents: the contents of the import, which are still empty.
  package init(
    _ drafts: DraftList, into contents: consuming OperationContents, store: Store, now: Moment,
    isExact: Bool = false
  ) throws {
    self.contents = contents
    self.isExact = isExact
    if let profile = try store.record(FixedRecords.profile) {
      profileHeldAt = try store.timeOfChange(of: profile.key) ?? 0
    }
    var start = 0
    while start < drafts.count {
      let kind = drafts.key(at: start).kind
      let end = drafts.indices[start...].first { drafts.key(at: $0).kind != kind } ?? drafts.count
      try compare(drafts, start..<end, kind, store, now)
      start = end
    }
  }

  /// Ends this value and returns the contents, which are freed while they are written.
  package consuming func finish() -> OperationContents { contents }

  /// Compares the drafts of one kind with the store. A few drafts are looked up one by one. Many are compared in one
  /// pass over the store, because the drafts and the stored records are both in the order of their ids.
  private mutating func compare(
    _ drafts: DraftList, _ range: Range<Int>, _ kind: KindNumber, _ store: Store, _ now: Moment
  ) throws {
    guard range.count > Self.lookupsMax else {
      for index in range { try compare(drafts[index], try store.record(drafts.key(at: index)), now) }
      return
    }
    var query = RecordQuery(kind)
    query.visibleOnly = false
    var next = range.lowerBound
    try store.forEach(query) { row in
      while next < range.upperBound, drafts.key(at: next).id < row.key.id {
        try compare(drafts[next], nil, now)
        next += 1
      }
      guard next < range.upperBound, drafts.key(at: next).id == row.key.id else { return }
      try compare(drafts[next], row, now)
      next += 1
    }
    for index in next..<range.upperBound { try compare(drafts[index], nil, now) }
  }

  private static let lookupsMax = 200

  private mutating func compare(_ draft: RecordDraft, _ held: RecordRow?, _ now: Moment) throws {
    if let held, draft.key == FixedRecords.profile {
      try profile(draft, held, now)
    } else if let held, draft.key == FixedRecords.none {
      try none(draft, held)
    } else {
      try record(draft, held)
    }
  }

  private mutating func record(_ draft: RecordDraft, _ held: RecordRow?) throws {
    guard let held else {
      try contents.append([Self.new(draft)])
      return count(draft, isChanged: true, isNew: true)
    }
    try note(draft, EntryDraft.putting(draft.key, changed(draft, held), on: held), isNew: !held.isAlive)
  }

  /// Adds what the file changes in the organization None. It counts as changed only if the file says more than its id.
  private mutating func none(_ draft: RecordDraft, _ held: RecordRow) throws {
    let kept = draft.keepingIDOfNone(held[draft.kind.number("otherKeys")])
    let changes = EntryDraft.putting(draft.key, changed(kept, held), on: held)
    try contents.append(changes[...])
    count(draft, isChanged: !changes.isEmpty && !draft.namesOnlyNone, isNew: !held.isAlive)
  }

  /// Returns the entry of a record that the store does not have yet, as is the case for nearly all records in the
  /// first import of a large file.
  private static func new(_ draft: RecordDraft) -> EntryDraft {
    var fields: [(field: FieldNumber, value: Value)] = []
    fields.reserveCapacity(draft.fields.count)
    for given in draft.fields where given.value != .null { fields.append((given.number, given.value)) }
    return EntryDraft(.insert, draft.key, fields)
  }

  /// Returns the fields that the file changes, with their new values.
  private func changed(_ draft: RecordDraft, _ held: RecordRow) -> [(field: FieldNumber, value: Value)] {
    draft.fields.compactMap { given in
      let heldValue = held[given.number]
      guard !isSame(given.value, heldValue), !Self.isFile(heldValue, with: given.value) else { return nil }
      if isExact { return (field: given.number, value: given.value) }
      let value = draft.kind.field(given.number).map { field in
        field.imported(given.value, over: heldValue, filler: Placeholders.value(field, of: draft))
      }
      return isSame(value ?? given.value, heldValue)
        ? nil : (field: given.number, value: value ?? given.value)
    }
  }

  /// Returns whether a held value is a file with these bytes. Another client may store short content as a file.
  private static func isFile(_ held: Value?, with value: Value) -> Bool {
    guard case .file(let file)? = Blob(held), case .inline(let bytes)? = Blob(value) else { return false }
    return file.size == bytes.count && FileHasher.list(of: bytes)?.reference == file
  }

  /// Adds an entry for the file's profile, which keeps its time of change. Skips the file's profile if the stored
  /// profile would win over it.
  private mutating func profile(_ draft: RecordDraft, _ held: RecordRow, _ now: Moment) throws {
    let changed = changed(draft, held)
    guard !changed.isEmpty else { return try note(draft, [], isNew: false) }
    // The profile is written as a whole. So if the file changes any field, all values in the file are part of the
    // change.
    let filled = draft.fields.filter { $0.value != .null && (held[$0.number] ?? .null).isEmpty }
      .map { (field: $0.number, value: $0.value) }
    var updatedAt = draft[Fields.wholeRecordUpdatedAt]?.asInteger ?? 0
    // If an undo has emptied the stored profile, no stored value can win over the file's profile, so the latter is
    // written with a time later than that of the stored profile.
    if held.isBlank { updatedAt = max(updatedAt, profileHeldAt + 1) }
    let write = ProfileWrite(held: held, changed: filled + changed, updatedAt: updatedAt)
    let heldRank = (profileHeldAt, held.filledFields)
    // The stamp of the new write is above that of the stored profile, so the new write wins a tie.
    guard held.isBlank || (min(updatedAt, now), write.filledFields) >= heldRank else {
      return try note(draft, [], isNew: false)
    }
    try note(draft, [write.draft], isNew: held.filledFields == 0)
  }

  private mutating func note(_ draft: RecordDraft, _ entries: [EntryDraft], isNew: Bool) throws {
    try contents.append(entries[...])
    count(draft, isChanged: !entries.isEmpty, isNew: isNew)
  }

  private mutating func count(_ draft: RecordDraft, isChanged: Bool, isNew: Bool) {
    if !isChanged { unchanged += 1 } else if isNew { added += 1 } else { updated += 1 }
  }
}

extension RecordRow {
  /// The number of fields other than life that have a value.
  fileprivate var filledFields: Int { allFields.filter { $0.key != Fields.life && !$0.value.isEmpty }.count }

  /// Whether no field has a value except the life and the time of change.
  fileprivate var isBlank: Bool {
    allFields.allSatisfy { [Fields.life, Fields.wholeRecordUpdatedAt].contains($0.key) || $0.value.isEmpty }
  }
}

extension ProfileWrite {
  fileprivate var filledFields: Int {
    draft.fields.count { !$0.value.isEmpty }
  }
}
