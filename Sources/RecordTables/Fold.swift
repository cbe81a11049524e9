// Protocol/merge.md

import FileFormat
package import LogStorage
package import Records
package import Replication
package import SQLite
package import Wire

// Folding: applying change sets to the record tables.
//
// Sets arrive in causal order, but concurrent sets may arrive in any order, and every order must give the same tables.
// For each cell that an entry writes, `Merge` compares the new write with the current winner (*held*):
//
//                         new stamp is higher           new stamp is lower
//     new has seen held   new wins                      impossible: stamps ascend along causality (*)
//     concurrent          new wins, held → sibling      held wins, new → sibling
//
// In every case, siblings that the new write has seen are removed, because the new write supersedes them. (*) The
// exception is a whole record, which is ordered by rank instead of stamp. It may rank below a write that it has seen;
// it then becomes a sibling that *follows* the winner.
//
// For example, take one cell of one trip. Phone's set 8 and laptop's set 9 are concurrent; set 12 has seen both:
//
//     fold 8    name = "Roma" (8)
//     fold 9    name = "Rome" (9)        sibling: "Roma" (8)      9 has the higher stamp; a conflict
//     fold 12   name = "Roma" (12)       no siblings              12 has seen 8 and 9; resolved
//
// If 9 had arrived before 8, the second state would be the same: 8 would lose and become a sibling at once.
//
// Values that are missing from a set are folded as absent. They can be added later (`fill`).
//
// An erase is a deletion that also takes the values of all writes in its past: in the row, which then holds null, among
// the siblings, and in the stored sets themselves (`Erasures`). The stamps stay, so nothing about winners changes. The
// values are taken at the end of the batch, or days later if the erase is held (`HeldErases`).
//
// A batch is one transaction. For each entry, the fold updates the row, its stamps, its siblings, and the digest of the
// lane (it subtracts the old record's hash and adds the new one). At the end, `finish` updates the values that depend
// on several records: hidden writes, counts, and sums of trips, and the text index. Most entries insert new records.
// They take a separate fast path (`insert`), which reads nothing.

/// Applies change sets to the record tables. `Merge` decides which write wins. Nothing here depends on particular
/// kinds, so records of unknown kinds are folded too.
package final class Fold {
  package let schema: Schema
  package let causality: Causality
  package let digests: Digests
  private let connection: Connection
  package let recordWrites: RecordWrites
  private let undos: Undos
  private let siblings: Siblings
  private let aggregates: Aggregates
  package let erasures: Erasures
  package let missing: MissingValues
  package let heldErases: HeldErases
  /// Decides which erases of the batch are held; nil to apply all of them at once, as in a verification.
  package var holding: EraseHolding?
  /// The erases of the batch, in the order in which they were folded.
  private var newErases: [FoldedErase] = []
  private let ranks: WholeRecordRanks
  package var dayIndex: DayIndex
  package let textIndex: TextIndex
  private var tables: [KindNumber: RecordTable] = [:]
  /// Files that rows named before this batch and may not name any more, or name only in the trash.
  private var formerFiles: Set<FileReference> = []
  /// The ends of the ids of all records; nil until they are first needed. An id may be here whose record was rolled back.
  private var endings: IDEndings?
  private var hashInput = RecordDigestInput()
  /// The stamps packed by the latest fast insert. They are reused if the next insert comes from the same set and has
  /// the same fields, as is usual.
  private var packed: (number: Int64, fields: [FieldNumber], stamps: [UInt8]) = (0, [], [])

  package init(_ connection: Connection, _ logs: ChangeSetLogs, _ schema: Schema) throws {
    self.connection = connection
    self.schema = schema
    causality = try Causality(connection, logs)
    digests = try Digests(connection)
    recordWrites = try RecordWrites(connection)
    undos = try Undos(connection)
    siblings = try Siblings(connection, schema)
    aggregates = try Aggregates(connection, schema)
    erasures = try Erasures(connection)
    missing = try MissingValues(connection)
    heldErases = try HeldErases(connection, schema)
    ranks = try WholeRecordRanks(connection)
    dayIndex = try DayIndex(connection)
    textIndex = try TextIndex(connection, schema)
  }

  /// In-memory state captured before a transaction, for rollback.
  package struct RollbackState {
    fileprivate let digests: Digests.RollbackState
    fileprivate let aggregates: Aggregates.RollbackState
    fileprivate let dayIndex: DayIndex
    fileprivate let isTextIndexStale: Bool
  }

  package var rollbackState: RollbackState {
    RollbackState(
      digests: digests.rollbackState, aggregates: aggregates.rollbackState, dayIndex: dayIndex,
      isTextIndexStale: textIndex.isStale)
  }

  /// Restores the state captured before a transaction. It does not read the disk, because the disk may be what failed.
  package func restore(_ state: RollbackState) {
    causality.forget()
    packed = (0, [], [])
    _ = takeFormerFiles()
    newErases = []
    digests.restore(state.digests)
    aggregates.restore(state.aggregates)
    dayIndex = state.dayIndex
    textIndex.restore(wasStale: state.isTextIndexStale)
    missing.forget()
  }

  /// Reloads the in-memory state from the tables.
  package func reload() throws {
    causality.forget()
    packed = (0, [], [])
    newErases = []
    endings = nil
    try digests.reload()
    try aggregates.reload()
    dayIndex = try DayIndex(connection)
    try textIndex.reload()
    missing.forget()
  }

  package func table(_ kind: KindNumber) throws -> RecordTable {
    if let known = tables[kind] { return known }
    let table = try RecordTable(kind, schema, connection)
    tables[kind] = table
    return table
  }

  /// Returns the largest number of last digits that an id shares with that of any other record, visible or not; at most 16.
  /// The tables are read at the first call only.
  package func digitsShared(by id: RecordID) throws -> Int {
    if endings == nil { endings = try readEndings() }
    return endings?.digitsShared(by: id) ?? 0
  }

  private func readEndings() throws -> IDEndings {
    var found = IDEndings()
    for kind in schema.kinds {
      try connection.with("SELECT id FROM \(kind.table)") { row in
        while try row.step() { found.add(try row.recordID(0)) }
      }
    }
    return found
  }

  // MARK: Sets

  /// The number of sets folded since the store was opened.
  package private(set) var foldedSets = 0

  /// Folds a set. All its ancestors must already be folded, except those that a cut excludes.
  package func fold(_ set: VerifiedChangeSet, at place: SetPosition, into report: inout CommitReport) throws {
    foldedSets += 1
    causality.remember(place)
    try dayIndex.makeWay(for: set)
    try undos.note(set)
    // An erase takes effect before the other entries of its record, because it concerns the past of the set alone.
    for entry in set.body.entries where entry.type == .erase { try erase(entry, in: set.body, at: place) }
    for entry in set.body.entries { try fold(entry, in: set.body, at: place) }
    if !set.body.isComplete { try noteMissing(of: set, at: place) }
    try textIndex.updateIfMany()
    report.folded(set, at: place.origin.number)
  }

  /// Updates the values that are derived from several records. Call it once, at the end of a batch.
  package func finish(_ report: inout CommitReport) throws {
    try applyNewErases(&report)
    try aggregates.finish(self, &report)
    try textIndex.update()
    report.formerFiles.formUnion(takeFormerFiles())
    try digests.save()
  }

  private func takeFormerFiles() -> Set<FileReference> {
    defer { formerFiles = [] }
    return formerFiles.union(siblings.takeFormerFiles())
  }

  private func fold(_ entry: Entry, in body: ChangeSetBody, at place: SetPosition) throws {
    if entry.key.kind.mergeClass == .wholeRecord {
      if entry.type.writesFields { try writeWhole(entry, in: body, at: place) }
    } else if try entry.type != .insert || !insert(entry, in: body, at: place.origin) {
      try write(shown(entry, in: body), to: entry.key, at: place)
    }
  }

  /// Returns the cells that an entry writes, as the tables hold them: null for an absent value.
  private func shown(_ entry: Entry, in body: ChangeSetBody) -> [(field: FieldNumber, content: [UInt8])] {
    body.writes(of: entry).filter { !FixedRecords.isFixed(entry.key, $0.field) }
      .map { ($0.field, $0.content ?? StoredRow.null) }
  }

  // MARK: New records

  /// Inserts a record without reading anything (the fast path). Returns false without changing anything if the record
  /// exists or is unusual in any way.
  private func insert(_ entry: Entry, in body: ChangeSetBody, at origin: WriteOrigin) throws -> Bool {
    let table = try table(entry.key.kind)
    guard let kind = table.kind, entry.key != FixedRecords.none else { return false }
    let stamps = packedStamps(entry, in: body, origin.number)
    guard try table.insert(entry, in: body, stamps: stamps), connection.changes == 1 else { return false }
    endings?.add(entry.key.id)
    hashInput.begin(entry.key)
    hashInput.add(field: Fields.life, stamp: origin.stamp)
    for cell in body.cells[entry.cells] { hashInput.add(field: cell.field, stamp: origin.stamp) }
    digests.add(hashInput.hash, entry.key)
    aggregates.inserted(entry.key, kind, parent: table.parent(of: entry, in: body))
    textIndex.inserted(entry, in: body)
    return true
  }

  private func packedStamps(_ entry: Entry, in body: ChangeSetBody, _ number: Int64) -> [UInt8] {
    let cells = body.cells[entry.cells]
    if packed.number == number, packed.fields.count == cells.count,
      zip(packed.fields, cells).allSatisfy({ $0 == $1.field })
    {
      return packed.stamps
    }
    var stamps = Stamps(common: number)
    stamps.set(Fields.life, number)
    for cell in cells { stamps.set(cell.field, number) }
    packed = (number, cells.map(\.field), stamps.packed)
    return packed.stamps
  }

  // MARK: Field by field

  private func write(
    _ cells: [(field: FieldNumber, content: [UInt8])], to key: RecordKey, at place: SetPosition
  ) throws {
    guard !cells.isEmpty else { return }
    let number = place.origin.number
    let table = try table(key.kind)
    let old = try table.row(key.id)
    var row = old ?? StoredRow(life: nil, stamps: Stamps(common: number))
    if let old { try recordWrites.add(number, to: key, before: old.stamps) }
    var contests = old == nil ? [:] : try siblings.contests(of: key)
    for (field, content) in cells {
      try merge(content, into: field, of: key, at: place, &row, &contests[field])
    }
    // Most deletions have seen all that was written.
    let hidesNothing =
      try old?.life == true && row.life == false && contests.isEmpty
      && row.stamps.writers.allSatisfy { try causality.covers(number, $0) }
    try replace(key, old, by: row, table, hidesNothing: hidesNothing)
  }

  private func merge(
    _ content: [UInt8], into field: FieldNumber, of key: RecordKey, at place: SetPosition,
    _ row: inout StoredRow,
    _ contest: inout Contest?
  ) throws {
    let held = try row.stamps[field].map(causality.place)
    let outcome = Merge.cell(
      new: place.origin.stamp, held: held?.origin, coversHeld: try covers(place, held?.origin))
    let lost = row.content(field)
    if outcome.newWins {
      row.set(field, content)
      row.stamps.set(field, place.origin.number)
    }
    let before = contest
    var after = Contest(
      count: try before.map { try siblings.close(key, field, $0, seenBy: place, causality) } ?? 0)
    if !outcome.newWins {
      try siblings.add(key, field, place, content)
      after.count += 1
    }
    if outcome.heldBecomesSibling, let held, try !isErased(held, of: key) {
      try siblings.add(key, field, held, lost ?? StoredRow.null)
      after.count += 1
    }
    guard before != nil || after.count > 0 else { return }
    contest = after.count > 0 ? after : nil
    try siblings.note(key, field, after, winner: row.content(field))
  }

  /// Returns whether a write has seen the current winner; false if the cell has no winner yet.
  private func covers(_ place: SetPosition, _ held: WriteOrigin?) throws -> Bool {
    try held.map { try causality.covers(place.origin.number, $0.number) } ?? false
  }

  // MARK: Whole records

  private func writeWhole(_ entry: Entry, in body: ChangeSetBody, at place: SetPosition) throws {
    let (key, field) = (entry.key, Fields.life)
    let table = try table(key.kind)
    let old = try table.row(key.id)
    if let old { try recordWrites.add(place.origin.number, to: key, before: old.stamps) }
    let held = try old.flatMap { row in
      try row.stamps[field].map { (row: row, place: try causality.place($0)) }
    }
    let edited = held.flatMap { $0.place.origin.number == 0 ? nil : $0 }
    let coversHeld = try covers(place, edited?.place.origin)
    if old == nil, try !erasures.numbers(of: key).isEmpty {
      // An erase that was folded before the first write is listed, so this write must be listed too.
      try recordWrites.add(place.origin.number, to: key, before: nil)
    }
    let before = try siblings.contests(of: key)[field]
    let rank = WholeRecordRank(of: entry, stamp: place.origin.stamp)
    let outcome = Merge.wholeRecord(
      new: rank, held: try edited.map { (try self.rank(of: key, $0.place.origin), $0.place.origin) },
      coversHeld: coversHeld,
      isHeldFollowed: try before != nil && siblings.hasFollower(key))
    let new = wholeRow(entry, in: body, place.origin.number)
    let winner = outcome.newWins ? new : old ?? new
    var after = Contest(
      count: try before.map { try siblings.close(key, field, $0, seenBy: place, causality) } ?? 0)
    if outcome.newWins {
      try ranks.note(rank, of: key)
      if before != nil { try siblings.forgetFollowers(key) }
    } else {
      try siblings.add(key, field, place, new.whole, follows: coversHeld)
      after.count += 1
    }
    if outcome.heldBecomesSibling, let edited, try !isErased(edited.place, of: key) {
      try siblings.add(key, field, edited.place, edited.row.whole)
      after.count += 1
    }
    if before != nil || after.count > 0 { try siblings.note(key, field, after, winner: winner.whole) }
    try replace(key, old, by: winner, table)
  }

  /// Returns the rank of the shown write of a whole record.
  package func rank(of key: RecordKey, _ origin: WriteOrigin) throws -> WholeRecordRank {
    try ranks.rank(of: key, origin.stamp)
  }

  private func wholeRow(_ entry: Entry, in body: ChangeSetBody, _ number: Int64) -> StoredRow {
    var row = StoredRow(life: true, stamps: Stamps(common: number))
    row.stamps.set(Fields.life, number)
    for cell in body.cells[entry.cells] {
      row.contents[cell.field] = body.content(cell).map { Array($0) } ?? StoredRow.null
      row.stamps.set(cell.field, number)
    }
    return row
  }

  // MARK: Erasing

  /// Folds an erase. The values are taken at the end of the batch.
  private func erase(_ entry: Entry, in body: ChangeSetBody, at place: SetPosition) throws {
    let (key, number) = (entry.key, place.origin.number)
    try erasures.note(key, by: number)
    try missing.remove(of: key) { [causality] in try $0 != number && causality.covers(number, $0) }
    let old = try table(key.kind).row(key.id)
    // The erase of a whole record writes no cell, so nothing else notes that the set wrote to the record.
    if old != nil || key.kind.mergeClass == .wholeRecord {
      try recordWrites.add(number, to: key, before: old?.stamps)
    }
    var takesValues = false
    if let old {
      for writer in Set(old.stamps.cells.filter { old.holdsValue($0.field) }.map(\.number)) where !takesValues
      {
        takesValues = try takes(place, writer)
      }
      try eraseSiblings(of: key, in: old, seenBy: place)
    }
    let ends = old?.life == true && body.life(writtenBy: entry) == false
    newErases.append(FoldedErase(key: key, place: place, takesValues: takesValues, endsLife: ends))
  }

  private func eraseSiblings(of key: RecordKey, in row: StoredRow, seenBy place: SetPosition) throws {
    for (field, contest) in try siblings.contests(of: key) {
      let rest = try siblings.close(key, field, contest, seenBy: place, causality)
      try siblings.note(key, field, Contest(count: rest), winner: row.shown(field, of: key))
    }
  }

  /// Whether an erase takes the values of a write to its record: the write is in its past. Seeds are never taken.
  private func takes(_ erase: SetPosition, _ writer: Int64) throws -> Bool {
    let number = erase.origin.number
    return try writer != 0 && writer != number && causality.covers(number, writer)
  }

  /// Whether a write lies in the past of an erase of its record. Such a write never becomes a sibling.
  private func isErased(_ writer: SetPosition, of key: RecordKey) throws -> Bool {
    try erasures.numbers(of: key).contains { erase in
      try erase != writer.origin.number && causality.covers(erase, writer.origin.number)
    }
  }

  private func applyNewErases(_ report: inout CommitReport) throws {
    guard !newErases.isEmpty else { return }
    let new = newErases
    newErases = []
    if let holding { try heldErases.judge(new, holding) }
    try apply(try new.filter { try !heldErases.contains($0.place.origin.stamp.set) }, &report)
  }

  /// Takes the values in the past of some erases from the rows and from the stored sets, each of which is rewritten at
  /// most once.
  package func apply(_ erases: [FoldedErase], _ report: inout CommitReport) throws {
    var slots: [Int64: Set<RecordKey>] = [:]
    var outside: [RecordKey: Clock] = [:]
    for (key, places) in Dictionary(grouping: erases, by: \.key).mapValues({ $0.map(\.place) }) {
      let places = try maximal(places)
      outside[key] = places.map(\.origin.stamp.clock).max()
      for number in try takenWrites(of: key, by: places) { slots[number, default: []].insert(key) }
    }
    for (number, keys) in slots.sorted(by: { $0.key < $1.key }) {
      if try erasures.redact(number, where: keys.contains) { report.redactedSets += 1 }
    }
    report.redactedSets += try erasures.redactOutside(outside, causality)
  }

  /// Returns the erases of one record that are in the past of none of the others. These take everything that all of
  /// them take.
  private func maximal(_ places: [SetPosition]) throws -> [SetPosition] {
    var found: [SetPosition] = []
    for place in places.sorted(by: { $0.origin.number > $1.origin.number }) {
      if try !found.contains(where: { try causality.covers($0.origin.number, place.origin.number) }) {
        found.append(place)
      }
    }
    return found
  }

  /// Takes the values of a record from its row, and returns the sets whose values of the record are taken.
  private func takenWrites(of key: RecordKey, by erases: [SetPosition]) throws -> [Int64] {
    let table = try table(key.kind)
    guard let old = try table.row(key.id) else { return [] }
    let taken = try recordWrites.numbers(of: key, old.stamps).filter { writer in
      try erases.contains { try takes($0, writer) }
    }
    let all = Set(taken)
    var row = old
    for (field, writer) in old.stamps.cells where old.holdsValue(field) && all.contains(writer) {
      row.contents[field] = StoredRow.null
    }
    for (field, contest) in try siblings.contests(of: key) {
      try siblings.note(key, field, contest, winner: row.shown(field, of: key))
    }
    try replace(key, old, by: row, table)
    return taken
  }

  /// Erases from a stored set again what erases in this store have taken from it. Call it when the bytes of the set
  /// have been replaced.
  package func redactAgain(_ set: VerifiedChangeSet, at place: SetPosition, _ report: inout CommitReport)
    throws
  {
    let keys = try Set(set.body.entries.map(\.key)).filter { key in
      try erasures.numbers(of: key).contains { number in
        let erase = try causality.place(number)
        return try takes(erase, place.origin.number) && !heldErases.contains(erase.origin.stamp.set)
      }
    }
    if !keys.isEmpty, try erasures.redact(place.origin.number, where: keys.contains) {
      report.redactedSets += 1
    }
  }

  // MARK: Missing values

  /// Notes the missing slots of a set that no folded erase explains.
  private func noteMissing(of set: VerifiedChangeSet, at place: SetPosition) throws {
    for (slot, entry) in set.body.slotEntries where set.body.slots.content(slot) == nil {
      guard try !isErased(place, of: entry.key) else { continue }
      try missing.note(entry.key, set: place.origin.number, slot: slot)
    }
  }

  /// Adds the values of slots that were missing when their set was folded. The tables are then the same as if the
  /// values had been there at first, because values decide neither which write wins nor which siblings stay.
  ///
  /// - Parameters:
  ///   - set: the set with the values.
  ///   - slots: the slots that were missing.
  package func fill(
    _ set: VerifiedChangeSet, _ slots: Set<Int>, at place: SetPosition, _ report: inout CommitReport
  )
    throws
  {
    // The records change without another set being folded.
    foldedSets += 1
    for (slot, entry) in set.body.slotEntries where slots.contains(slot) {
      try fill(entry, in: set.body, by: place.origin.number)
      try missing.remove(set: place.origin.number, slot: slot)
      report.filled(entry.key)
    }
  }

  private func fill(_ entry: Entry, in body: ChangeSetBody, by number: Int64) throws {
    let key = entry.key
    let table = try table(key.kind)
    guard let old = try table.row(key.id) else { return }
    var row = old
    let contests = try siblings.contests(of: key)
    if key.kind.mergeClass == .wholeRecord {
      let written = wholeRow(entry, in: body, number)
      if old.stamps[Fields.life] == number {
        row.contents = written.contents
      } else {
        try siblings.fill(key, Fields.life, number, written.whole)
      }
      if let contest = contests[Fields.life] {
        try siblings.note(key, Fields.life, contest, winner: row.whole)
      }
    } else {
      for (field, content) in shown(entry, in: body) where field != Fields.life {
        if row.stamps[field] == number {
          row.contents[field] = content
        } else {
          try siblings.fill(key, field, number, content)
        }
        if let contest = contests[field] {
          try siblings.note(key, field, contest, winner: row.content(field))
        }
      }
    }
    try replace(key, old, by: row, table)
  }

  // MARK: Rows

  /// - Parameter hidesNothing: whether the row was deleted by a set that has seen every write that the record holds.
  private func replace(
    _ key: RecordKey, _ old: StoredRow?, by row: StoredRow, _ table: RecordTable, hidesNothing: Bool = false
  ) throws {
    if let old {
      digests.remove(try hash(key, old.stamps), key)
      noteFiles(old, row, key.kind)
    }
    digests.add(try hash(key, row.stamps), key)
    if let old, old.contents == row.contents {
      try table.writeStamps(row, key.id)
    } else {
      try table.write(row, key.id)
    }
    if old == nil { endings?.add(key.id) }
    aggregates.changed(key, table.kind, from: old, to: row, hidesNothing: hidesNothing)
    textIndex.changed(key, from: old, to: row)
  }

  /// Notes the files that a row may have stopped naming, and those of a row that died or came back to life.
  private func noteFiles(_ old: StoredRow, _ new: StoredRow, _ kind: KindNumber) {
    for field in schema.fileFields[kind] ?? [] {
      let (before, after) = (old.contents[field], new.contents[field])
      guard before != after || old.life != new.life else { continue }
      for content in [before, after] {
        if let file = content.flatMap(FileFields.file) { formerFiles.insert(file) }
      }
    }
  }

  /// Returns a record's contribution to the digest of its lane. A whole record counts as one cell.
  package func hash(_ key: RecordKey, _ stamps: Stamps) throws -> Bytes32 {
    hashInput.begin(key)
    let isWhole = key.kind.mergeClass == .wholeRecord
    for (field, number) in stamps.cells where !isWhole || field == Fields.life {
      hashInput.add(field: field, stamp: try causality.origin(number).stamp)
    }
    return hashInput.hash
  }

  /// Returns the sets whose writes a record holds, as winners or siblings. Deletes are left out.
  func writes(of key: RecordKey, isAlive: Bool, _ stamps: Stamps) throws -> [WriteOrigin] {
    var numbers = Set(stamps.cells.filter { $0.field != Fields.life || isAlive }.map(\.number))
    numbers.formUnion(try siblings.writers(of: key))
    return try numbers.sorted().map(causality.origin)
  }
}
