// Protocol/merge.md, "Cells", "Whole records", "Fixed cells", "Erase", "Conflicts"

/// What a set wrote to a cell.
enum PlainContent {
  case life(Bool)
  /// The encoded value of a field; nil if it is absent.
  case field(ArraySlice<UInt8>?)
  /// A whole record: all fields of the put. All of its values are present, or all are absent.
  case whole([(field: Int, content: ArraySlice<UInt8>?)])

  /// Whether values are absent: erased, missing in the store, or unreadable.
  var isAbsent: Bool {
    switch self {
    case .life: false
    case .field(let content): content == nil
    case .whole(let fields): fields.contains { $0.content == nil }
    }
  }
}

/// One write to one cell.
struct PlainCellWrite {
  let set: Int
  let content: PlainContent
  /// Whether the write is in the past of an erase of its record.
  let isErased: Bool
}

/// The expected state of a cell: the winner, and its siblings, which are the other writes that no later write has seen
/// and no erase has erased.
struct PlainCell {
  var winner: PlainCellWrite
  var siblings: [PlainCellWrite]
}

/// The expected state of a record for given folded sets, computed from all writes at once, regardless of the order in
/// which they arrived.
struct PlainRecord {
  /// The sets that count for a record, how they see one another, and which values are present.
  struct Scope {
    /// Whether a set is folded.
    let counts: (Int) -> Bool
    /// Whether the first of two folded sets has seen the second.
    let covers: (Int, Int) -> Bool
    /// Whether the values in a slot of a set are present.
    let holds: (_ set: Int, _ slot: Int) -> Bool
    /// Whether an erase is held, so that it has not taken any values yet.
    var isHeldErase: (Int) -> Bool = { _ in false }
  }

  let key: PlainKey
  /// The cells by field. A whole record has only field 0.
  private(set) var cells: [Int: PlainCell] = [:]
  /// The sets that wrote to the record, in ascending order of stamps. Ignored writes don't count.
  private(set) var writers: [Int] = []
  /// The sets that erased the record's values.
  private(set) var erasers: [Int] = []
  /// The rank of the shown write of a whole record.
  private(set) var rank: Rank?
  /// Whether the winner counts as a maximal write. In a whole record, the winner may rank above a write that has seen
  /// it.
  private var isWinnerMaximal = true

  init(_ key: PlainKey, _ library: SetLibrary, _ scope: Scope) {
    self.key = key
    let isWhole = PlainKinds.isWhole(key.kind)
    let erasers = (library.erases[key] ?? []).filter(scope.counts)
    self.erasers = erasers
    var drafts: [Int: Draft] = [:]
    for write in library.writes[key] ?? [] where scope.counts(write.set) {
      let entry = library.sets[write.set].entries[write.entry]
      let taking = erasers.filter { $0 != write.set && scope.covers($0, write.set) }
      let isErased = !taking.isEmpty
      let isHeld =
        taking.allSatisfy(scope.isHeldErase) && entry.slot.map { scope.holds(write.set, $0) } ?? true
      let values = isHeld ? entry.slot.flatMap { library.values(of: write.set, slot: $0) } : nil
      let cells = Self.cells(entry, values)
      guard !cells.isEmpty else { continue }
      if writers.last != write.set { writers.append(write.set) }
      let rank = isWhole ? Self.rank(of: entry, in: library.sets[write.set]) : nil
      for (field, content) in cells {
        let new = PlainCellWrite(set: write.set, content: content, isErased: isErased)
        guard let place = drafts.index(forKey: field) else {
          drafts[field] = Draft(frontier: [new], shown: new, rank: rank)
          continue
        }
        // Stamps follow causality, so no write with a lower stamp has seen this write.
        drafts.values[place].frontier.removeAll { scope.covers(write.set, $0.set) }
        drafts.values[place].frontier.append(new)
        if let rank, let held = drafts.values[place].rank, held > rank { continue }
        drafts.values[place].shown = new
        drafts.values[place].rank = rank
      }
    }
    for (field, draft) in drafts {
      let winner = draft.shown
      let siblings = draft.frontier.filter { $0.set != winner.set && !$0.isErased }
      if isWhole {
        rank = draft.rank
        isWinnerMaximal = !siblings.contains { scope.covers($0.set, winner.set) }
      }
      cells[field] = PlainCell(winner: winner, siblings: siblings)
    }
  }

  /// A cell while the writes to it are being added in the order of their stamps.
  private struct Draft {
    /// The writes that no later write has seen.
    var frontier: [PlainCellWrite]
    var shown: PlainCellWrite
    /// The rank of the shown write of a whole record; nil for other records.
    var rank: Rank?
  }

  /// - Parameter values: one for each field of the entry; nil if they are absent.
  private static func cells(
    _ entry: PlainEntry, _ values: [ArraySlice<UInt8>]?
  ) -> [(field: Int, content: PlainContent)] {
    var cells: [(field: Int, content: PlainContent)] = []
    if PlainKinds.isWhole(entry.key.kind) {
      guard entry.act == .put || entry.act == .insert else { return [] }
      return [(0, .whole(entry.fields.enumerated().map { (field: $1, content: values?[$0]) }))]
    }
    if let life = entry.life, !PlainKinds.isFixed(entry.key, 0) { cells.append((0, .life(life))) }
    for (place, field) in entry.fields.enumerated() where !PlainKinds.isFixed(entry.key, field) {
      cells.append((field, .field(values?[place])))
    }
    return cells
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

  /// Returns the rank that an entry states, whatever its values are. Its time counts as no later than the set's clock.
  static func rank(of entry: PlainEntry, in set: PlainSet) -> Rank {
    Rank(
      time: min(entry.stated?.time ?? 0, Int64(set.header.clock >> 16)), filled: entry.stated?.filled ?? 0,
      stamp: set.stamp)
  }

  // MARK: Values

  /// Whether the record is alive; nil if no set has written its life.
  var life: Bool? {
    if PlainKinds.isWhole(key.kind) || key == PlainKinds.none { return true }
    guard case .life(let alive)? = cells[0]?.winner.content else { return nil }
    return alive
  }

  /// The fields whose shown values are absent. All of a whole record's fields are in one cell.
  var absentFields: Set<Int> {
    var fields: Set<Int> = []
    for (field, cell) in cells where cell.winner.content.isAbsent {
      if case .whole(let all) = cell.winner.content {
        fields.formUnion(all.map(\.field))
      } else {
        fields.insert(field)
      }
    }
    return fields
  }

  /// Whether a sibling of a cell counts as a visible conflict. An absent value is compared as null.
  func differs(_ sibling: PlainCellWrite, in field: Int) -> Bool {
    guard let cell = cells[field] else { return false }
    if PlainKinds.isWhole(key.kind) { return wholeDiffers(sibling, cell) }
    if field == 0, life == false { return false }
    return sibling.shown != cell.winner.shown
  }

  private func wholeDiffers(_ sibling: PlainCellWrite, _ cell: PlainCell) -> Bool {
    var maximal = cell.siblings.map(\.shownFieldsWithoutTime)
    let winner = cell.winner.shownFieldsWithoutTime
    if isWinnerMaximal { maximal.append(winner) }
    return Set(maximal).count > 1 && sibling.shownFieldsWithoutTime != winner
  }
}

extension PlainCellWrite {
  /// The encoded value that record tables show in the cell of a field or a life: null for an absent value.
  var shown: [UInt8] {
    switch content {
    case .life(let alive): [alive ? 0xf5 : 0xf4]
    case .field(let content): content.map { Array($0) } ?? Self.null
    case .whole: []
    }
  }

  /// The fields of a whole record as record tables show them: null for absent values.
  var shownFields: [Int: [UInt8]] {
    guard case .whole(let fields) = content else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: fields.map { ($0.field, $0.content.map { Array($0) } ?? Self.null) })
  }

  var shownFieldsWithoutTime: [Int: [UInt8]] { shownFields.filter { $0.key != 1 } }

  private static let null: [UInt8] = [0xf6]
}
