// Protocol/merge.md; Sources/store.md, "Rows", "Stamps", "What is derived"

import SQLite

/// The records that a store must have according to its folded sets. Each record is computed at most once per look.
final class Expectations {
  let view: NodeView
  let library: SetLibrary
  private var known: [PlainKey: PlainRecord] = [:]
  /// What the store lists about each record, if all of it was read at once.
  var listed: [PlainKey: StoredLists]?

  init(_ view: NodeView, _ library: SetLibrary) {
    self.view = view
    self.library = library
  }

  subscript(key: PlainKey) -> PlainRecord {
    if let record = known[key] { return record }
    let record = view.record(key, library)
    known[key] = record
    return record
  }

  /// Returns what the store lists about a record.
  func listed(_ key: PlainKey) throws -> StoredLists {
    guard let listed else { return try StoreReader.listed(key, view.connection) }
    return listed[key] ?? StoredLists()
  }

  /// Returns a record's parent; nil if the record's kind is unknown or has no parents, or if the record holds no valid
  /// reference to a parent.
  func parent(of record: PlainRecord) -> PlainKey? {
    guard let kind = PlainKinds.byNumber[record.key.kind], let parent = kind.parent,
      let cell = record.cells[parent.field],
      let columns = kind.fields.first(where: { $0.number == parent.field })?.type.columns(
        cell.winner.shown)
    else { return nil }
    switch (parent.kind, columns.first, columns.last) {
    case (let kind?, .blob(let id)?, _): return Name16(id).map { PlainKey(kind: kind, id: $0) }
    case (nil, .integer(let kind)?, .blob(let id)?):
      return (2...4).contains(kind) ? Name16(id).map { PlainKey(kind: Int(kind), id: $0) } : nil
    default: return nil
    }
  }

  func exists(_ key: PlainKey) -> Bool {
    key == PlainKinds.none || key == PlainKinds.profile || !self[key].cells.isEmpty
  }

  /// Returns the first dead record among a record and its ancestors, from the record upwards; nil if all are alive.
  func hiding(_ key: PlainKey) -> PlainRecord? {
    var record = self[key]
    while let alive = record.life {
      if !alive { return record }
      guard let parent = parent(of: record), exists(parent) else { return nil }
      record = self[parent]
    }
    return nil
  }

  func isVisible(_ key: PlainKey) -> Bool {
    let record = self[key]
    guard record.life == true else { return false }
    guard PlainKinds.byNumber[key.kind]?.parent != nil else { return true }
    return parent(of: record).map(isVisible) ?? false
  }
}

extension Judge {
  /// Checks all records to which newly folded sets wrote, and the hidden writes of those records' descendants.
  func checkRecords(touchedBy sets: [Int], _ view: NodeView) throws {
    guard !sets.isEmpty else { return }
    let expected = Expectations(view, library)
    var touched: Set<PlainKey> = []
    for set in sets { for entry in library.sets[set].entries { touched.insert(entry.key) } }
    for key in touched.sorted() {
      try checkRecord(key, expected)
      for child in try family(of: key, view) {
        try checkHidden(child, try StoreReader.hiddenWrites(child, view.connection), expected)
      }
    }
    for bucket in Set(touched.map { BucketKey($0) }) { try checkDigest(bucket, view) }
  }

  struct BucketKey: Hashable {
    let lane: Int
    let bucket: Int

    init(_ key: PlainKey) { (lane, bucket) = ViewDigests.bucket(key) }

    init(lane: Int, bucket: Int) {
      self.lane = lane
      self.bucket = bucket
    }
  }

  private func checkDigest(_ key: BucketKey, _ view: NodeView) throws {
    try checkDigest(try StoreReader.digest(key.lane, key.bucket, view.connection), key, view)
  }

  func checkDigest(_ stored: Name32, _ key: BucketKey, _ view: NodeView) throws {
    let expected = view.digests.sums[key.lane][key.bucket]
    guard stored != expected else { return }
    throw Violation(
      .state, view.name,
      "the digest of lane \(key.lane) is \(stored) in bucket \(key.bucket); its folded sets give \(expected)")
  }

  /// Returns a record's descendants at any depth, according to the store.
  private func family(of key: PlainKey, _ view: NodeView) throws -> [PlainKey] {
    var found: [PlainKey] = []
    for kind in PlainKinds.children(of: key.kind) {
      guard let parent = kind.parent,
        let columns = kind.fields.first(where: { $0.number == parent.field })?.columns, let id = columns.last
      else { continue }
      let ofKind = parent.kind == nil ? " AND \(columns[0]) = \(key.kind)" : ""
      try view.connection.with("SELECT id FROM \(kind.table) WHERE \(id) = ?1\(ofKind)") { row in
        try row.bind(1, key.id.bytes)
        while try row.step() {
          if let id = Name16(row.bytes(0)) { found.append(PlainKey(kind: kind.number, id: id)) }
        }
      }
    }
    return try found + found.flatMap { try family(of: $0, view) }
  }

  // MARK: One record

  /// Compares everything that a store keeps about a record with what follows from the folded sets.
  func checkRecord(_ key: PlainKey, _ expected: Expectations) throws {
    let view = expected.view
    let record = expected[key]
    count { $0.records += 1 }
    view.digests.set(key, ViewDigests.hash(record, library))
    let stored = try StoreReader.row(key, view.connection)
    guard expected.exists(key) else {
      if stored == nil { return }
      throw Violation(.state, view.name, "\(key) is stored although no folded set wrote to it")
    }
    guard let stored else { throw missing(record, view, "\(key) is not stored") }
    try checkLife(record, stored, view)
    try checkStamps(record, stored, view)
    try checkContents(record, stored, view)
    let listed = try expected.listed(key)
    try checkSiblings(record, listed, view)
    try checkWriters(record, listed, view)
    try checkErasers(record, listed, view)
    try checkRank(record, listed, view)
    try checkHidden(key, listed.hidden, expected)
  }

  private func checkLife(_ record: PlainRecord, _ stored: StoredRecordRow, _ view: NodeView) throws {
    guard stored.life != record.life.map({ $0 ? 1 : 0 }) else { return }
    let by = record.cells[0].map { "\(library.sets[$0.winner.set].stamp)" } ?? "nothing"
    if record.life != true, stored.life == 1 {
      throw Violation(
        .resurrection, view.name, "\(record.key) is alive although \(by) decides that it is dead")
    }
    throw missing(
      record, view, "\(record.key) has life \(stored.life.map(String.init) ?? "NULL"), contrary to \(by)")
  }

  private func checkStamps(_ record: PlainRecord, _ stored: StoredRecordRow, _ view: NodeView) throws {
    let isWhole = PlainKinds.isWhole(record.key.kind)
    var shown: [Int: Int] = [:]
    for (field, number) in stored.stamps where !isWhole || field == 0 {
      // Number 0 marks a built-in value (a seed), which loses to every set.
      if number == 0, PlainKinds.isFixed(record.key, field) || record.key == PlainKinds.profile { continue }
      guard let set = view.set(number: number) else {
        throw Violation(.state, view.name, "\(record.key) names set number \(number), which does not exist")
      }
      shown[field] = set
    }
    let wanted = record.cells.mapValues(\.winner.set)
    guard shown != wanted else { return }
    let field = Set(shown.keys).union(wanted.keys).filter { shown[$0] != wanted[$0] }.min() ?? 0
    throw missing(
      record, view,
      "field \(field) of \(record.key) is by \(name(shown[field])), but \(name(wanted[field])) wins")
  }

  private func name(_ set: Int?) -> String { set.map { "set \(library.sets[$0].id)" } ?? "nothing" }

  private func checkContents(_ record: PlainRecord, _ stored: StoredRecordRow, _ view: NodeView) throws {
    var contents: [Int: [UInt8]] = [:]
    var absent: Set<Int> = []
    for (field, cell) in record.cells {
      if case .whole = cell.winner.content {
        let shown = cell.winner.shownFields
        contents.merge(shown.filter { $0.key != 0 }) { $1 }
        if cell.winner.content.isAbsent { absent.formUnion(shown.keys) }
      } else {
        if field != 0 { contents[field] = cell.winner.shown }
        if cell.winner.content.isAbsent { absent.insert(field) }
      }
    }
    if record.key == PlainKinds.none { contents[1] = [0x64] + Array("None".utf8) }
    var column = 0
    for field in PlainKinds.byNumber[record.key.kind]?.fields ?? [] {
      let range = column..<column + field.columns.count
      column = range.upperBound
      guard let columns = contents[field.number].flatMap({ field.type.columns($0) }) else {
        if stored.columns[range].allSatisfy({ $0 == .null }) { continue }
        throw wrongValue(of: field.number, record, view)
      }
      contents[field.number] = nil
      guard zip(columns, stored.columns[range]).allSatisfy({ $0.isStored(as: $1) }) else {
        throw wrongValue(of: field.number, record, view)
      }
    }
    // An absent value of a field without a column may be stored as null or not at all.
    for field in absent where stored.extra[field] == nil { contents[field] = nil }
    guard contents == stored.extra else {
      throw missing(record, view, "\(record.key) has wrong values in its column extra")
    }
  }

  private func wrongValue(of field: Int, _ record: PlainRecord, _ view: NodeView) -> Violation {
    let winner = record.cells[PlainKinds.isWhole(record.key.kind) ? 0 : field]?.winner
    if winner?.isErased == true {
      return Violation(
        .erased, view.name, "field \(field) of \(record.key) holds a value although its winner was erased")
    }
    return missing(record, view, "field \(field) of \(record.key) does not hold its winner's value")
  }

  /// Returns the violation for a record that is wrong. If the set missing from this record is already folded in another
  /// record, the violation is that the set was folded only in part.
  private func missing(_ record: PlainRecord, _ view: NodeView, _ sentence: String) -> Violation {
    for cell in record.cells.values {
      let number = view.number(of: cell.winner.set)
      for entry in library.sets[cell.winner.set].entries where entry.key != record.key {
        let row = try? StoreReader.row(entry.key, view.connection)
        if row?.stamps.values.contains(number) == true,
          (try? StoreReader.row(record.key, view.connection))?.stamps.values.contains(number) != true
        {
          return Violation(
            .partialSet, view.name,
            "\(sentence); set \(library.sets[cell.winner.set].id) is folded in \(entry.key) but not here")
        }
      }
    }
    return Violation(.state, view.name, sentence)
  }
}
