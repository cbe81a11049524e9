// Protocol/merge.md, "Cells", "Whole records", "Fixed cells", "Conflicts"

/// What a set wrote to a cell.
enum PlainContent {
  case life(Bool)
  case field(Range<Int>)
  /// A whole record: all fields of the put except field 0.
  case whole([(field: Int, content: Range<Int>)])
}

/// One write to one cell.
struct PlainCellWrite {
  let set: Int
  let content: PlainContent
}

/// The expected state of a cell: the winner, and its siblings, which are the other writes that no later write has seen.
struct PlainCell {
  var winner: PlainCellWrite
  var siblings: [PlainCellWrite]
}

/// The expected state of a record for given folded sets, computed from all writes at once, regardless of the order in
/// which they arrived.
struct PlainRecord {
  let key: PlainKey
  /// The cells by field. A whole record has only field 0.
  private(set) var cells: [Int: PlainCell] = [:]
  /// The sets that wrote to the record, in ascending order of stamps. Ignored writes don't count.
  private(set) var writers: [Int] = []
  /// Whether no write has seen the winner. In a whole record, the winner may rank above a write that has seen it.
  private var isWinnerMaximal = true

  /// - Parameters:
  ///   - counts: whether a set is folded.
  ///   - covers: whether the first of two folded sets has seen the second.
  init(_ key: PlainKey, _ library: SetLibrary, counts: (Int) -> Bool, covers: (Int, Int) -> Bool) {
    self.key = key
    let isWhole = PlainKinds.isWhole(key.kind)
    var frontiers: [Int: [PlainCellWrite]] = [:]
    var shown: [Int: PlainCellWrite] = [:]
    for write in library.writes[key] ?? [] where counts(write.set) {
      let set = library.sets[write.set]
      let cells = Self.cells(set.entries[write.entry], isWhole)
      guard !cells.isEmpty else { continue }
      if writers.last != write.set { writers.append(write.set) }
      for (field, content) in cells {
        let new = PlainCellWrite(set: write.set, content: content)
        // Stamps follow causality, so no write with a lower stamp has seen this write.
        frontiers[field, default: []].removeAll { covers(write.set, $0.set) }
        frontiers[field]?.append(new)
        if let held = shown[field], isWhole, Self.rank(held, library) > Self.rank(new, library) { continue }
        shown[field] = new
      }
    }
    for (field, winner) in shown {
      if isWhole { isWinnerMaximal = frontiers[field]?.contains { $0.set == winner.set } ?? true }
      cells[field] = PlainCell(
        winner: winner, siblings: (frontiers[field] ?? []).filter { $0.set != winner.set })
    }
  }

  private static func cells(
    _ entry: PlainEntry, _ isWhole: Bool
  ) -> [(field: Int, content: PlainContent)] {
    if isWhole {
      return entry.act == .put ? [(0, .whole(entry.cells.filter { $0.field != 0 }))] : []
    }
    switch entry.act {
    case .delete: return PlainKinds.isFixed(entry.key, 0) ? [] : [(0, .life(false))]
    case .restore: return PlainKinds.isFixed(entry.key, 0) ? [] : [(0, .life(true))]
    case .put:
      return entry.cells.filter { !PlainKinds.isFixed(entry.key, $0.field) }.map {
        ($0.field, $0.field == 0 ? .life(true) : .field($0.content))
      }
    }
  }

  // MARK: Rank of whole records

  struct Rank: Comparable {
    let time: Int64
    let filled: Int
    let stamp: PlainStamp

    static func < (left: Rank, right: Rank) -> Bool {
      if left.time != right.time { return left.time < right.time }
      return left.filled == right.filled ? left.stamp < right.stamp : left.filled < right.filled
    }
  }

  static func rank(_ write: PlainCellWrite, _ library: SetLibrary) -> Rank {
    let set = library.sets[write.set]
    guard case .whole(let fields) = write.content else { return Rank(time: 0, filled: 0, stamp: set.stamp) }
    return rank(fields, in: set)
  }

  static func rank(_ fields: [(field: Int, content: Range<Int>)], in set: PlainSet) -> Rank {
    let changed = fields.first { $0.field == 1 }.flatMap {
      try? PlainItem.read(set.content($0.content)).integer
    }
    let filled = fields.count { field in
      field.field != 0
        && !(field.content.count == 1
          && [0xf6, 0x60, 0x40, 0x80].contains(set.body[field.content.lowerBound]))
    }
    return Rank(
      time: min(changed ?? 0, Int64(set.header.clock >> 16)), filled: filled, stamp: set.stamp)
  }

  // MARK: Values

  /// Whether the record is alive; nil if no set has written its life.
  var life: Bool? {
    if PlainKinds.isWhole(key.kind) || key == PlainKinds.none { return true }
    guard case .life(let alive)? = cells[0]?.winner.content else { return nil }
    return alive
  }

  /// Whether a sibling of a cell counts as a visible conflict.
  func differs(_ sibling: PlainCellWrite, in field: Int, _ library: SetLibrary) -> Bool {
    guard let cell = cells[field] else { return false }
    if PlainKinds.isWhole(key.kind) { return wholeDiffers(sibling, cell, library) }
    if field == 0, life == false { return false }
    return library.bytes(sibling) != library.bytes(cell.winner)
  }

  private func wholeDiffers(_ sibling: PlainCellWrite, _ cell: PlainCell, _ library: SetLibrary) -> Bool {
    var maximal = cell.siblings.map { library.fieldsWithoutTime($0) }
    let winner = library.fieldsWithoutTime(cell.winner)
    if isWinnerMaximal { maximal.append(winner) }
    return Set(maximal).count > 1 && library.fieldsWithoutTime(sibling) != winner
  }

}

extension SetLibrary {
  /// Returns the encoded value that a write gives to its field.
  func bytes(_ write: PlainCellWrite) -> [UInt8] {
    switch write.content {
    case .life(let alive): [alive ? 0xf5 : 0xf4]
    case .field(let range): sets[write.set].content(range)
    case .whole: []
    }
  }

  func fields(_ write: PlainCellWrite) -> [Int: [UInt8]] {
    guard case .whole(let fields) = write.content else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: fields.map { ($0.field, sets[write.set].content($0.content)) })
  }

  func fieldsWithoutTime(_ write: PlainCellWrite) -> [Int: [UInt8]] {
    fields(write).filter { $0.key != 1 }
  }
}
