/// A conflict as the model and a node both describe it.
struct ModelConflict: Hashable, Comparable {
  enum Reason: String {
    case field, profile
    case editLostToDelete = "edit-lost-to-delete"
    case hiddenByParent = "hidden-by-parent"
  }

  let record: Int
  /// The field; nil for a whole record and for hidden writes.
  let field: HistoryModel.Field?
  let reason: Reason
  /// The devices of the losing writes, in ascending order.
  let losers: [Int]

  static func < (left: ModelConflict, right: ModelConflict) -> Bool {
    (left.record, left.field?.rawValue ?? "", left.reason.rawValue)
      < (right.record, right.field?.rawValue ?? "", right.reason.rawValue)
  }
}

// Protocol/merge.md, "Conflicts" and "Hidden writes"

extension HistoryModel {
  /// Returns the conflicts that a device lists, in a fixed order.
  func conflicts(_ device: Int) -> [ModelConflict] {
    kinds.indices.filter { kinds[$0] != .setting && knows(device, $0) }.flatMap { conflicts(of: $0, device) }
      .sorted()
  }

  private func conflicts(of record: Int, _ device: Int) -> [ModelConflict] {
    var found: [ModelConflict] = []
    for field in Field.allCases {
      let cell = Cell(record: record, field: field)
      let losers = losers(of: cell, device)
      if losers.isEmpty || field == .life && !isAlive(record, device) { continue }
      found.append(
        ModelConflict(
          record: record, field: field == .whole ? nil : field, reason: field == .whole ? .profile : .field,
          losers: losers.map { operations[$0].device }.sorted()))
    }
    if let above = hidden(by: record, device) {
      let losers = hiddenWrites(of: record, by: above, device)
      if !losers.isEmpty {
        found.append(
          ModelConflict(
            record: record, field: nil, reason: above == record ? .editLostToDelete : .hiddenByParent,
            losers: losers.map { operations[$0].device }.sorted()))
      }
    }
    return found
  }

  /// The siblings of a cell that differ from what it shows.
  func losers(of cell: Cell, _ device: Int) -> Set<Int> {
    let shown = shown(cell, device)
    return siblings(cell, device).filter { content($0, cell, held[device]) != shown }
  }

  /// The writes to a hidden record that are concurrent with the deletion that hides it.
  func hiddenWrites(of record: Int, by above: Int, _ device: Int) -> Set<Int> {
    let life = Cell(record: above, field: .life)
    guard let deletion = writers(of: life, held[device]).max() else { return [] }
    var writes: Set<Int> = []
    for field in Field.allCases {
      let cell = Cell(record: record, field: field)
      guard let winner = winner(of: cell, writers(of: cell, held[device])) else { continue }
      for number in siblings(cell, device).union([winner]) {
        let isDeletion = field == .life && operations[number].writes[cell] == .flag(false)
        if !isDeletion { writes.insert(number) }
      }
    }
    return writes.filter {
      $0 != deletion && !operations[deletion].past.contains($0) && !operations[$0].past.contains(deletion)
    }
  }

  /// Returns what keeping one side of a conflict writes; nil if the side is not a single one.
  func resolution(_ conflict: ModelConflict, isWinner: Bool, _ device: Int) -> [Cell: Content]? {
    let life = Cell(record: conflict.record, field: .life)
    switch conflict.reason {
    case .field, .profile:
      let cell =
        conflict.field.map { Cell(record: conflict.record, field: $0) }
        ?? Cell(record: conflict.record, field: .whole)
      if isWinner { return [cell: shown(cell, device)] }
      let losers = losers(of: cell, device)
      guard losers.count == 1, let loser = losers.first else { return nil }
      return [cell: content(loser, cell, held[device])]
    case .editLostToDelete, .hiddenByParent:
      guard let above = hidden(by: conflict.record, device) else { return nil }
      if isWinner { return [Cell(record: above, field: .life): .flag(false)] }
      var writes: [Cell: Content] = [:]
      if conflict.reason == .editLostToDelete { writes[life] = .flag(true) }
      var next: Int? = conflict.record
      while let record = next {
        if !isAlive(record, device) { writes[Cell(record: record, field: .life)] = .flag(true) }
        next = kinds[record].hasParent ? parent(of: record, device) : nil
      }
      return writes
    }
  }
}
