// Protocol/merge.md

import Records
import Replication
import SQLite
import Wire

/// Applies change sets to the record tables. It decides nothing: `Merge` does; and it needs to know no kind.
final class Fold {
  let causality: Causality
  let digests: Digests
  private let connection: Connection
  let recordWrites: RecordWrites
  private let undos: Undos
  private let rivals: Rivals
  private let aggregates: Aggregates
  var dayIndex: DayIndex
  private var tables: [KindNumber: RecordTable] = [:]
  private var hashInput = RecordDigestInput()
  /// What the newest fast insert packed; the next one most often has the same fields.
  private var packed: (number: Int64, fields: [FieldNumber], stamps: [UInt8]) = (0, [], [])

  init(_ connection: Connection, _ logs: Logs) throws {
    self.connection = connection
    causality = try Causality(connection, logs)
    digests = try Digests(connection)
    recordWrites = try RecordWrites(connection)
    undos = try Undos(connection)
    rivals = try Rivals(connection)
    aggregates = try Aggregates(connection)
    dayIndex = try DayIndex(connection)
  }

  /// What is in memory and was not asked for.
  struct Memory {
    fileprivate let digests: Digests.Memory
    fileprivate let aggregates: Aggregates.Memory
    fileprivate let dayIndex: DayIndex
  }

  var memory: Memory {
    Memory(digests: digests.memory, aggregates: aggregates.memory, dayIndex: dayIndex)
  }

  /// Goes back to what memory was before a transaction, without the disk: that may be what failed.
  func restore(_ memory: Memory) {
    causality.forget()
    packed = (0, [], [])
    digests.restore(memory.digests)
    aggregates.restore(memory.aggregates)
    dayIndex = memory.dayIndex
  }

  /// Reads again from the tables what is kept in memory.
  func reload() throws {
    causality.forget()
    packed = (0, [], [])
    try digests.reload()
    try aggregates.reload()
    dayIndex = try DayIndex(connection)
  }

  func table(_ kind: KindNumber) throws -> RecordTable {
    if let known = tables[kind] { return known }
    let table = try RecordTable(kind, connection)
    tables[kind] = table
    return table
  }

  // MARK: Sets

  /// How many sets were folded since the store was opened.
  private(set) var foldedSets = 0

  /// Folds a set that everything it stands on is folded for.
  func fold(_ set: VerifiedChangeSet, at place: SetPlace, into report: inout CommitReport) throws {
    foldedSets += 1
    causality.remember(place)
    try dayIndex.makeWay(for: set)
    try undos.note(set)
    for entry in set.body.entries { try fold(entry, in: set.body, at: place.origin) }
    report.folded(set)
  }

  /// Brings up to date what is derived from records, once at the end of a batch.
  func finish(_ report: inout CommitReport) throws {
    try aggregates.finish(self, &report)
    try digests.save()
  }

  private func fold(_ entry: Entry, in body: ChangeSetBody, at origin: WriteOrigin) throws {
    if entry.key.kind.mergeClass == .wholeRecord {
      if entry.type == .put { try writeWhole(entry, in: body, at: origin) }
      return
    }
    if body.isInsert(entry), try insert(entry, in: body, at: origin) { return }
    let cells: [(FieldNumber, [UInt8])]
    switch entry.type {
    case .put: cells = body.cells[entry.cells].map { ($0.field, Array(body.content($0))) }
    case .delete: cells = [(Fields.life, StoredRow.dead)]
    case .restore: cells = [(Fields.life, StoredRow.alive)]
    }
    try write(cells.filter { !Merge.isFixed(entry.key, $0.0) }, to: entry.key, at: origin)
  }

  // MARK: New records

  /// The common case, without looking anything up: false if the record exists, or has something unusual.
  private func insert(_ entry: Entry, in body: ChangeSetBody, at origin: WriteOrigin) throws -> Bool {
    let table = try table(entry.key.kind)
    guard let kind = table.kind, entry.key != FixedRecords.none else { return false }
    let stamps = packedStamps(entry, in: body, origin.number)
    guard try table.insert(entry, in: body, stamps: stamps), connection.changes == 1 else { return false }
    hashInput.begin(entry.key)
    for cell in body.cells[entry.cells] { hashInput.add(field: cell.field, stamp: origin.stamp) }
    digests.add(hashInput.hash, entry.key)
    aggregates.inserted(entry.key, kind, parent: table.parent(of: entry, in: body))
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
    for cell in cells { stamps.set(cell.field, number) }
    packed = (number, cells.map(\.field), stamps.packed)
    return packed.stamps
  }

  // MARK: Field by field

  private func write(
    _ cells: [(field: FieldNumber, content: [UInt8])], to key: RecordKey, at origin: WriteOrigin
  ) throws {
    guard !cells.isEmpty else { return }
    let table = try table(key.kind)
    let old = try table.row(key.id)
    var row = old ?? StoredRow(life: nil, stamps: Stamps(common: origin.number))
    if let old { try recordWrites.add(origin.number, to: key, before: old.stamps) }
    var held = old == nil ? [:] : try rivals.of(key)
    for (field, content) in cells {
      try merge(content, into: field, of: key, at: origin, &row, &held)
    }
    try replace(key, old, by: row, table)
  }

  private func merge(
    _ content: [UInt8], into field: FieldNumber, of key: RecordKey, at origin: WriteOrigin,
    _ row: inout StoredRow, _ rivals: inout [FieldNumber: [Rival]]
  ) throws {
    let held = try row.stamps[field].map(causality.origin)
    let before = rivals[field] ?? []
    let others = try before.map { try causality.origin($0.number) }
    let covered = try covered(by: origin, others + (held.map { [$0] } ?? []))
    let outcome = Merge.cell(new: origin.stamp, held: held, rivals: others) { covered.contains($0.number) }
    let lost = row.content(field)
    if outcome.newWins {
      row.set(field, content)
      row.stamps.set(field, origin.number)
    }
    let after = remaining(
      before, outcome, new: Rival(number: origin.number, content: content),
      held: held.map { Rival(number: $0.number, content: lost ?? []) })
    guard !before.isEmpty || !after.isEmpty else { return }
    rivals[field] = after
    try self.rivals.replace(key, field, after, winner: row.content(field))
  }

  private func remaining(_ before: [Rival], _ outcome: MergeOutcome, new: Rival, held: Rival?) -> [Rival] {
    var after = before.indices.filter { !outcome.closedRivals.contains($0) }.map { before[$0] }
    if !outcome.newWins { after.append(new) }
    if outcome.heldBecomesRival, let held { after.append(held) }
    return after
  }

  private func covered(by origin: WriteOrigin, _ earlier: [WriteOrigin]) throws -> Set<Int64> {
    Set(try earlier.map(\.number).filter { try causality.covers(origin.number, $0) })
  }

  // MARK: Whole records

  private func writeWhole(_ entry: Entry, in body: ChangeSetBody, at origin: WriteOrigin) throws {
    let table = try table(entry.key.kind)
    let old = try table.row(entry.key.id)
    if let old { try recordWrites.add(origin.number, to: entry.key, before: old.stamps) }
    let held = try old.flatMap { row in try row.stamps[Fields.life].map { (row, try causality.origin($0)) } }
    let edited = held.flatMap { $0.1.number == 0 ? nil : $0 }
    let before = try rivals.of(entry.key)[Fields.life] ?? []
    let others = try before.map { try causality.origin($0.number) }
    let covered = try covered(by: origin, others + (edited.map { [$0.1] } ?? []))
    let following = try followers(edited?.1.number, before)
    let outcome = Merge.wholeRecord(
      new: WholeRecordRank(of: entry, in: body, stamp: origin.stamp),
      held: edited.map { (rank(of: $0.0, $0.1), $0.1) }, rivals: others,
      covers: { covered.contains($0.number) }, rivalCovers: { rival, _ in following.contains(rival.number) })
    let new = wholeRow(entry, in: body, origin.number)
    let winner = outcome.newWins ? new : old ?? new
    let after = remaining(
      before, outcome, new: Rival(number: origin.number, content: new.whole),
      held: edited.map { Rival(number: $0.1.number, content: $0.0.whole) })
    if !before.isEmpty || !after.isEmpty {
      let isFollowed = try !followers(winner.stamps[Fields.life], after).isEmpty
      try rivals.replaceWhole(entry.key, after, winner: winner.whole, isFollowed: isFollowed)
    }
    try replace(entry.key, old, by: winner, table)
  }

  /// The rivals that have seen the held write.
  private func followers(_ held: Int64?, _ rivals: [Rival]) throws -> Set<Int64> {
    guard let held else { return [] }
    return Set(try rivals.map(\.number).filter { try causality.covers($0, held) })
  }

  func rank(of row: StoredRow, _ origin: WriteOrigin) -> WholeRecordRank {
    var updatedAt: Int64 = 0
    if let content = row.contents[Fields.wholeRecordUpdatedAt],
      case .integer(let time)? = try? Value(encoded: content[...])
    {
      updatedAt = time
    }
    let filled = row.contents.values.count { !isEmptyContent($0[...]) }
    return WholeRecordRank(updatedAt: updatedAt, nonEmptyFields: filled, stamp: origin.stamp)
  }

  private func wholeRow(_ entry: Entry, in body: ChangeSetBody, _ number: Int64) -> StoredRow {
    var row = StoredRow(life: true, stamps: Stamps(common: number))
    row.stamps.set(Fields.life, number)
    for cell in body.cells[entry.cells] where cell.field != Fields.life {
      row.contents[cell.field] = Array(body.content(cell))
      row.stamps.set(cell.field, number)
    }
    return row
  }

  // MARK: Rows

  private func replace(_ key: RecordKey, _ old: StoredRow?, by row: StoredRow, _ table: RecordTable) throws {
    if let old { digests.remove(try hash(key, old.stamps), key) }
    digests.add(try hash(key, row.stamps), key)
    try table.write(row, key.id)
    aggregates.changed(key, table.kind, from: old, to: row)
  }

  /// What a record adds to its lane's digest. A whole record is one cell.
  func hash(_ key: RecordKey, _ stamps: Stamps) throws -> Bytes32 {
    hashInput.begin(key)
    let isWhole = key.kind.mergeClass == .wholeRecord
    for (field, number) in stamps.cells where !isWhole || field == Fields.life {
      hashInput.add(field: field, stamp: try causality.origin(number).stamp)
    }
    return hashInput.hash
  }

  /// The sets whose writes a record holds, winning or not, but for deletes.
  func writes(of key: RecordKey, _ row: StoredRow) throws -> [WriteOrigin] {
    var numbers = Set(row.stamps.cells.filter { $0.field != Fields.life || row.life == true }.map(\.number))
    for (field, list) in try rivals.of(key) {
      for rival in list where field != Fields.life || rival.content == StoredRow.alive {
        numbers.insert(rival.number)
      }
    }
    return try numbers.sorted().map(causality.origin)
  }
}
