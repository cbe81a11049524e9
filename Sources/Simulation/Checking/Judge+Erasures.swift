// Protocol/merge.md, "Erase": which values a store must have, and which it must not have

import SQLite

extension Judge {
  /// Whether an erase that is folded at a node has erased what a set wrote to a record.
  func isErased(_ set: Int, _ record: PlainRecord, _ view: NodeView) -> Bool {
    record.erasers.contains { $0 != set && view.covers($0, set, library) }
  }

  // MARK: Erased values

  /// Checks the log of the whole store: no value is left of writes that a folded erase has in its past.
  func checkErased(_ view: NodeView) throws {
    for key in library.erases.keys.sorted() { try checkErased(key, view) }
  }

  /// Checks the log for the records to which new sets wrote or whose values new sets erased.
  ///
  /// - Parameter applied: the folded sets whose erases were held at the last look and no longer are.
  func checkErased(by news: StoreNews, applied: Set<Int>, _ view: NodeView) throws {
    var keys: Set<PlainKey> = []
    for set in news.stored {
      for entry in library.sets[set].entries where library.erases[entry.key] != nil { keys.insert(entry.key) }
    }
    for set in Set(news.folded).union(applied).sorted() {
      for entry in library.sets[set].entries where entry.act == .erase {
        keys.insert(entry.key)
        try readAgain(entry.key, erasedBy: set, view)
      }
    }
    for key in keys.sorted() { try checkErased(key, view) }
  }

  /// Reads again the values of the sets that an erase has in its past, because the erase has changed them.
  private func readAgain(_ key: PlainKey, erasedBy erase: Int, _ view: NodeView) throws {
    for set in Set((library.writes[key] ?? []).map(\.set)).sorted() {
      guard view[set] != .absent, view.covers(erase, set, library),
        let values = try StoreReader.values(at: view.number(of: set), view.connection)
      else { continue }
      do {
        view.lacks(try library.learn(values, of: set), of: set)
      } catch {
        throw Violation(
          .unauthorised, view.name, "the values of change set \(library.sets[set].id) are not valid: \(error)"
        )
      }
    }
  }

  private func checkErased(_ key: PlainKey, _ view: NodeView) throws {
    let erases = (library.erases[key] ?? []).filter {
      view[$0] == .folded && !view.heldErases.contains($0)
    }
    guard !erases.isEmpty else { return }
    for write in library.writes[key] ?? [] where view[write.set] != .absent {
      guard let slot = library.sets[write.set].entries[write.entry].slot, view.holds(write.set, slot: slot),
        let erase = erases.first(where: { $0 != write.set && view.covers($0, write.set, library) })
      else { continue }
      throw Violation(
        .erased, view.name,
        "change set \(library.sets[write.set].id) still has values of \(key), which set \(library.sets[erase].id) has erased"
      )
    }
  }

  /// Checks the values of a set that a node sends: they match the set, and none of them was erased at the node before.
  func checkValues(of raw: PlainRawSet, to: String, _ view: NodeView) throws {
    // A set that no store had at its last look is judged when it is read from the store.
    guard let set = library.index(of: PlainSealing.setID(raw.header)) else { return }
    let missing: Set<Int>
    do {
      missing = try library.learn(raw.values, of: set)
    } catch {
      throw Violation(
        .falseMisbehaviour, view.name,
        "it sent \(to) set \(library.sets[set].id) with invalid values: \(error)")
    }
    for entry in library.sets[set].entries {
      guard let slot = entry.slot, !missing.contains(slot),
        let erase = library.erases[entry.key]?.first(where: {
          $0 != set && view[$0] == .folded && !view.heldErases.contains($0) && view.covers($0, set, library)
        })
      else { continue }
      throw Violation(
        .erased, view.name,
        "it sent \(to) values of \(entry.key) in set \(library.sets[set].id), which set \(library.sets[erase].id) has erased"
      )
    }
  }

  /// Checks the values that a node sends by themselves: none of them was erased at the node before.
  func checkValues(_ slots: [Int], of id: Name32, to: String, _ view: NodeView) throws {
    guard let set = library.index(of: id) else { return }
    for entry in library.sets[set].entries {
      guard let slot = entry.slot, slots.contains(slot),
        let erase = library.erases[entry.key]?.first(where: {
          $0 != set && view[$0] == .folded && !view.heldErases.contains($0) && view.covers($0, set, library)
        })
      else { continue }
      throw Violation(
        .erased, view.name,
        "it sent \(to) values of \(entry.key) in set \(id), which set \(library.sets[erase].id) has erased")
    }
  }

  // MARK: Values that arrive later

  /// Reads again the sets that lacked values at the last look, because values that peers send by themselves are added to
  /// them. Returns the sets that have gained values.
  func readFilled(_ view: NodeView) throws -> [Int] {
    guard let ledger = ledgers[view.name], ledger.mayHaveFilled else { return [] }
    ledger.mayHaveFilled = false
    var filled: [Int] = []
    for (set, lacked) in view.missing.sorted(by: { $0.key < $1.key }) {
      guard let values = try StoreReader.values(at: view.number(of: set), view.connection) else { continue }
      do {
        view.lacks(try library.learn(values, of: set), of: set)
      } catch {
        throw Violation(
          .unauthorised, view.name, "the values of change set \(library.sets[set].id) are not valid: \(error)"
        )
      }
      if view.missing[set] != lacked { filled.append(set) }
    }
    count { $0.filledSets += filled.count }
    return filled
  }

  // MARK: Held erases

  /// Reads which erases a node holds, and checks that it holds none of its own.
  ///
  /// - Returns: the folded sets whose erases were held at the last look and no longer are.
  func readHeldErases(_ view: NodeView) throws -> Set<Int> {
    let held = Set(try StoreReader.heldErases(view.connection).compactMap { library.index(of: $0) })
    for set in held where library.sets[set].header.log.device == view.device {
      throw Violation(.erased, view.name, "it holds its own erase in set \(library.sets[set].id)")
    }
    defer { view.heldErases = held }
    return view.heldErases.subtracting(held).filter { view[$0] == .folded }
  }

  // MARK: Values that must be kept

  /// Checks that no stored set has lost values since the last look, unless an erase may have erased them.
  ///
  /// - Parameters:
  ///   - before: the sets that were stored at the last look.
  ///   - missing: the slots that were missing then.
  func checkValuesKept(_ before: Set<Int>, missing: [Int: Set<Int>], _ view: NodeView) throws {
    guard !view.mayHaveLost else { return }
    for (set, slots) in view.missing.sorted(by: { $0.key < $1.key }) where before.contains(set) {
      try checkExplained(slots.subtracting(missing[set] ?? []), of: set, view, .wentBack)
    }
  }

  /// Checks that newly written sets are stored with all of their values.
  func checkComplete(_ written: Set<Int>, _ view: NodeView) throws {
    for set in written.sorted() { try checkExplained(view.missing[set] ?? [], of: set, view, .lostWrite) }
  }

  private func checkExplained(
    _ slots: Set<Int>, of set: Int, _ view: NodeView, _ rule: Violation.Rule
  ) throws {
    for slot in slots.sorted() {
      let key = library.sets[set].entries[library.sets[set].slots[slot]].key
      if mayBeErased(key, in: set, view) { continue }
      throw Violation(
        rule, view.name,
        "change set \(library.sets[set].id) no longer has its values of \(key), although nothing erased them")
    }
  }

  /// Whether a node may have erased what a set wrote to a record: some erase of the record has the set in its past. The
  /// erase need not be folded any more. If a cut has ever kept the set back, any later erase counts, because a set that
  /// is not folded has no certain place in the past of others.
  func mayBeErased(_ key: PlainKey, in set: Int, _ view: NodeView) -> Bool {
    let header = library.sets[set].header
    return (library.erases[key] ?? []).contains { erase in
      guard erase != set else { return false }
      if library.covers(erase, set, by: library.sights[erase]) { return true }
      return library.sets[erase].header.clock > header.clock && view.circle?.mayHaveCut(header.log) == true
    }
  }
}
