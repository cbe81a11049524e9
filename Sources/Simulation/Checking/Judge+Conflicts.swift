// Protocol/merge.md, "Conflicts", "Hidden writes"

import SQLite

extension Judge {
  /// Compares a record's stored siblings with the writes that did not win and that no other write has seen.
  func checkSiblings(_ record: PlainRecord, _ listed: StoredLists, _ view: NodeView) throws {
    var wanted: [SiblingKey: PlainCellWrite] = [:]
    for (field, cell) in record.cells {
      for sibling in cell.siblings { wanted[SiblingKey(field: field, set: sibling.set)] = sibling }
    }
    for row in listed.siblings {
      let set = view.set(number: row.number)
      guard let set, let sibling = wanted.removeValue(forKey: SiblingKey(field: row.field, set: set)) else {
        let wasErased = set.map { isErased($0, record, view) } ?? false
        throw Violation(
          wasErased ? .erased : .journal, view.name,
          "field \(row.field) of \(record.key) lists set number \(row.number), which is not a sibling of its winner"
        )
      }
      guard isContent(row.content, of: sibling) else {
        throw Violation(
          .journal, view.name,
          "a sibling in field \(row.field) of \(record.key) differs from what set \(library.sets[set].id) wrote"
        )
      }
      guard row.differs == record.differs(sibling, in: row.field) else {
        throw Violation(
          .journal, view.name,
          "set \(library.sets[set].id) is \(row.differs ? "wrongly" : "not") listed as a conflict in field \(row.field)"
            + " of \(record.key)")
      }
    }
    guard let missing = wanted.keys.min(by: { ($0.field, $0.set) < ($1.field, $1.set) }) else { return }
    throw Violation(
      .journal, view.name,
      "set \(library.sets[missing.set].id) is missing from the siblings of field \(missing.field) of \(record.key)"
    )
  }

  private struct SiblingKey: Hashable {
    let field: Int
    let set: Int
  }

  private func isContent(_ stored: [UInt8], of sibling: PlainCellWrite) -> Bool {
    guard case .whole = sibling.content else { return stored == sibling.shown }
    return StoreReader.fields(stored).filter { $0.key != 0 } == sibling.shownFields
  }

  /// Compares the sets listed as a record's writers with those that wrote to the record. A record with a single writer
  /// may have no list. Sets that only erased values may be listed or not.
  func checkWriters(_ record: PlainRecord, _ listed: StoredLists, _ view: NodeView) throws {
    let wanted = Set(record.writers)
    let stored = Set(listed.writers.compactMap { view.set(number: $0) })
      .subtracting(Set(record.erasers).subtracting(wanted))
    if stored == wanted || stored.isEmpty && wanted.count == 1 { return }
    throw Violation(
      .state, view.name, "\(record.key) lists \(stored.count) sets that wrote to it; \(wanted.count) did")
  }

  /// Compares the sets listed as erasers of a record with those that erased it.
  func checkErasers(_ record: PlainRecord, _ listed: StoredLists, _ view: NodeView) throws {
    let stored = Set(listed.erasers.compactMap { view.set(number: $0) })
    guard stored != Set(record.erasers) else { return }
    throw Violation(
      .state, view.name,
      "\(record.key) lists \(stored.count) sets that erased it; \(record.erasers.count) did")
  }

  /// Compares the stored rank of a whole record with the one that its shown write states.
  func checkRank(_ record: PlainRecord, _ listed: StoredLists, _ view: NodeView) throws {
    guard listed.rank != record.rank.map({ [$0.time, Int64($0.filled)] }) else { return }
    throw Violation(
      .state, view.name, "\(record.key) is stored with a rank that its shown write does not state")
  }

  /// Compares a record's stored hidden writes with those that are concurrent with the deletion that hides the record.
  func checkHidden(
    _ key: PlainKey, _ stored: Set<StoredHiddenWrite>, _ expected: Expectations
  ) throws {
    let view = expected.view
    let wanted = try hiddenWrites(key, expected)
    guard stored != wanted else { return }
    throw Violation(
      .journal, view.name,
      "\(key) lists \(stored.count) writes hidden by a concurrent deletion; its folded sets give \(wanted.count)"
    )
  }

  private func hiddenWrites(_ key: PlainKey, _ expected: Expectations) throws -> Set<StoredHiddenWrite> {
    let view = expected.view
    guard expected.exists(key), let hiding = expected.hiding(key), let deletion = hiding.cells[0]?.winner.set
    else { return [] }
    var sets: Set<Int> = []
    for cell in expected[key].cells.values {
      for write in [cell.winner] + cell.siblings {
        if case .life(false) = write.content { continue }
        sets.insert(write.set)
      }
    }
    let unaware = sets.filter {
      !view.covers($0, deletion, library) && !view.covers(deletion, $0, library)
    }
    return Set(
      unaware.map {
        StoredHiddenWrite(
          number: view.number(of: $0), byParent: hiding.key != key, deletion: view.number(of: deletion))
      })
  }
}
