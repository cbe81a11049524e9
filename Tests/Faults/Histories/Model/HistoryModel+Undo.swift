// Protocol/merge.md, "Operations and undo"

extension HistoryModel {
  /// Returns what undoing an operation writes; empty if nothing is left to undo.
  func undo(_ number: Int, _ device: Int) -> [Cell: Content] {
    let operation = operations[number]
    var wanted: [Cell: Content] = [:]
    for cell in operation.writes.keys where !operation.erased.contains(cell.record) {
      if let content = wantedContent(of: cell, undoing: number, device), content != shown(cell, device) {
        wanted[cell] = content
      }
    }
    // A record that the operation created keeps its fields in the trash.
    wanted = wanted.filter { $0.key.field == .life || !isCreated($0.key.record, by: number, device) }
    for record in kept(wanted, operation, device) { wanted = wanted.filter { $0.key.record != record } }
    return wanted
  }

  /// Whether nothing made a record alive but an operation and its undos.
  private func isCreated(_ record: Int, by number: Int, _ device: Int) -> Bool {
    let life = Cell(record: record, field: .life)
    let others = writers(of: life, held[device]).subtracting(group(of: number, held[device]))
    return operations[number].writes[life] != nil
      && others.allSatisfy { operations[$0].writes[life] == .flag(false) }
  }

  /// Returns the content that a cell gets; nil to leave it alone.
  private func wantedContent(of cell: Cell, undoing number: Int, _ device: Int) -> Content? {
    let holding = held[device]
    let group = group(of: number, holding)
    var left = writers(of: cell, holding)
    while let winner = winner(of: cell, left) {
      if group.contains(winner) {
        let rest = left.subtracting(group)
        guard let next = self.winner(of: cell, rest) else { return empty(cell) }
        return cell.field != .life && isErased(next, cell.record, holding)
          ? nil : content(next, cell, holding)
      }
      let now = content(winner, cell, holding)
      let void = voidGroups(around: winner, holding).first { group in
        let rest = left.subtracting(group)
        return (self.winner(of: cell, rest).map { content($0, cell, holding) } ?? empty(cell)) == now
      }
      guard let void else { break }
      left.subtract(void)
    }
    // Changed since: nothing to do, or left alone.
    return nil
  }

  /// What a cell shows that no operation has written.
  private func empty(_ cell: Cell) -> Content {
    switch cell.field {
    case .life: .flag(false)
    case .whole: .profile(name: "", zone: "")
    default: .null
    }
  }

  /// The operation with its undos, the undos of those, and so on.
  private func group(of number: Int, _ holding: Set<Int>) -> Set<Int> {
    var group: Set<Int> = [number]
    while true {
      let undos = holding.filter { operations[$0].undone.map(group.contains) ?? false }
      if undos.isSubset(of: group) { return group }
      group.formUnion(undos)
    }
  }

  /// Whether an operation is in effect: not undone by an undo that is in effect.
  func counts(_ number: Int, _ holding: Set<Int>) -> Bool {
    !holding.contains { operations[$0].undone == number && counts($0, holding) }
  }

  /// The groups that contain an operation and are not in effect, the widest first.
  private func voidGroups(around number: Int, _ holding: Set<Int>) -> [Set<Int>] {
    var chain: [Int] = []
    var next: Int? = number
    while let current = next {
      chain.append(current)
      next = operations[current].undone.flatMap { holding.contains($0) ? $0 : nil }
    }
    return chain.reversed().filter { !counts($0, holding) }.map { group(of: $0, holding) }
  }

  /// The records that an undo would delete although others still need them.
  private func kept(_ wanted: [Cell: Content], _ operation: Operation, _ device: Int) -> Set<Int> {
    let deleted = Set(
      wanted.filter { $0.key.field == .life && $0.value == .flag(false) }.map(\.key.record))
    let written = Set(operation.writes.keys.map(\.record))
    return deleted.filter { record in
      children(of: record, device).contains { child in
        isAlive(child, device) && !written.contains(child) && !deleted.contains(child)
      }
    }
  }
}
