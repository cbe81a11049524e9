// Protocol/merge.md, "Overrides"

extension HistoryModel {
  /// How many records an override changes.
  struct OverrideCounts: Hashable {
    var added = 0
    var changed = 0
    var deleted = 0
    var restored = 0
  }

  /// Returns the operations that an override reverts: those that the overridden devices hold and the wanted one does
  /// not.
  func reverted(_ overridden: [Int], wanted: Int) -> Set<Int> {
    overridden.reduce(into: Set<Int>()) { $0.formUnion(held[$1]) }.filter { !isSetting($0) }
      .subtracting(held[wanted])
  }

  /// Returns what a device writes that holds everything: the difference to what it would show without some operations.
  func override(_ reverted: Set<Int>, _ device: Int) -> [Cell: Content] {
    let records = Set(reverted.flatMap { operations[$0].writes.keys.map(\.record) })
    var writes: [Cell: Content] = [:]
    for record in records {
      if record == Self.profile {
        let wanted = remaining(Self.wholeProfile, reverted, device)
        let content = wanted == .null ? Self.blankProfile : wanted
        let now = shown(Self.wholeProfile, device)
        if content != (now == .null ? Self.blankProfile : now) { writes[Self.wholeProfile] = content }
        continue
      }
      let life = Cell(record: record, field: .life)
      guard remaining(life, reverted, device) == .flag(true) else {
        // The trash keeps the reverted content.
        if isAlive(record, device) { writes[life] = .flag(false) }
        continue
      }
      if !isAlive(record, device) { writes[life] = .flag(true) }
      for field in Field.allCases where ![.life, .whole].contains(field) {
        let cell = Cell(record: record, field: field)
        let content = remaining(cell, reverted, device)
        if content != shown(cell, device) { writes[cell] = content }
      }
    }
    return writes
  }

  /// What a cell would show without some operations. Values that are erased stay erased.
  private func remaining(_ cell: Cell, _ reverted: Set<Int>, _ device: Int) -> Content {
    let left = writers(of: cell, held[device]).subtracting(reverted)
    return winner(of: cell, left).map { content($0, cell, held[device]) } ?? .null
  }

  /// Counts the records that a person sees change when a device's records become those of another one.
  ///
  /// - Parameter isHere: whether the device can tell which of them are in its trash.
  func overrideCounts(from: Int, to: Int, isHere: Bool) -> OverrideCounts {
    var counts = OverrideCounts()
    for record in kinds.indices where kinds[record] != .setting {
      switch (view(record, from), view(record, to)) {
      case (nil, _?):
        if isHere, knows(from, record), !isAlive(record, from) {
          counts.restored += 1
        } else {
          counts.added += 1
        }
      case (_?, nil): counts.deleted += 1
      case (let before, let after): if before != after { counts.changed += 1 }
      }
    }
    return counts
  }

  /// What a person sees of a record; nil if it is not visible, or a profile that was never written.
  private func view(_ record: Int, _ device: Int) -> String? {
    guard record == Self.profile else {
      guard isVisible(record, device) else { return nil }
      return "\(Field.allCases.map { shown(Cell(record: record, field: $0), device) })"
    }
    let writer = winner(of: Self.wholeProfile, writers(of: Self.wholeProfile, held[device]))
    return writer.map { "\(shown(Self.wholeProfile, device)) \(rank($0).time)" }
  }
}
