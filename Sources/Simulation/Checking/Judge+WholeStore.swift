// Sources/store.md, "What is derived"

import SQLite

extension Judge {
  /// Computes everything that is derived from the log and compares it with the store.
  func checkWholeStore(_ view: NodeView) throws {
    let expected = Expectations(view, library)
    expected.listed = try StoreReader.listed(view.connection)
    var keys: Set<PlainKey> = [PlainKinds.none, PlainKinds.profile]
    for set in view.numbers where view[set] == .folded {
      for entry in library.sets[set].entries { keys.insert(entry.key) }
    }
    for key in keys.sorted() { try checkRecord(key, expected) }
    let sums = try StoreReader.digests(view.connection)
    for lane in 0...1 {
      for bucket in 0...255 {
        try checkDigest(sums[lane][bucket], BucketKey(lane: lane, bucket: bucket), view)
      }
    }
    try checkNothingElse(keys, expected)
    try checkVisible(keys, expected)
    try checkAggregates(keys, expected)
    try checkUndos(view)
  }

  /// Checks that no table has a row for a record to which no folded set wrote.
  private func checkNothingElse(_ keys: Set<PlainKey>, _ expected: Expectations) throws {
    let view = expected.view
    for kind in PlainKinds.all.map(Optional.some) + [nil] {
      for key in try StoreReader.keys(kind, view.connection) where !keys.contains(key) {
        throw Violation(.state, view.name, "\(key) is stored although no folded set wrote to it")
      }
    }
    for (table, rule) in [
      ("siblings", Violation.Rule.journal), ("contested_cells", .journal), ("hidden_writes", .journal),
      ("record_writes", .state), ("erasures", .state), ("whole_ranks", .state),
    ] {
      let found = try view.connection.with("SELECT DISTINCT kind, record FROM \(table)") { row in
        var found: [PlainKey] = []
        while try row.step() {
          found.append(PlainKey(kind: Int(row.integer(0)), id: Name16(row.bytes(1)) ?? .zero))
        }
        return found
      }
      for key in found where !keys.contains(key) {
        throw Violation(rule, view.name, "\(table) has a row for \(key), which no folded set wrote to")
      }
    }
  }

  /// Checks that the views show exactly the live records whose parents are visible.
  private func checkVisible(_ keys: Set<PlainKey>, _ expected: Expectations) throws {
    let view = expected.view
    for kind in PlainKinds.all {
      guard let name = kind.view else { continue }
      let shown = try StoreReader.count(name, view.connection)
      let wanted = keys.count { $0.kind == kind.number && expected.exists($0) && expected.isVisible($0) }
      guard shown != wanted else { continue }
      let rule: Violation.Rule = shown > wanted ? .resurrection : .state
      throw Violation(rule, view.name, "the view \(name) shows \(shown) records; \(wanted) are visible")
    }
  }

  private struct Undo: Hashable {
    let target: Name16
    let operation: Name16
    let device: Name32
  }

  private func checkUndos(_ view: NodeView) throws {
    var wanted: Set<Undo> = []
    for number in view.numbers where view[number] == .folded {
      let set = library.sets[number]
      guard let target = set.target, set.verb == Array("undo".utf8) else { continue }
      wanted.insert(Undo(target: target, operation: set.header.operation, device: set.header.log.device))
    }
    let stored = try view.connection.with("SELECT target, operation, device FROM undos") { row in
      var found: Set<Undo> = []
      while try row.step() {
        found.insert(
          Undo(
            target: Name16(row.bytes(0)) ?? .zero, operation: Name16(row.bytes(1)) ?? .zero,
            device: Name32(row.bytes(2)) ?? .zero))
      }
      return found
    }
    guard stored == wanted else {
      throw Violation(
        .state, view.name, "undos has \(stored.count) rows; its folded sets give \(wanted.count)")
    }
  }
}
