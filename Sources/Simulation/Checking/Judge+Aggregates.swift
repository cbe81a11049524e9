// Sources/store.md, "What is derived"

import SQLite

/// A group of live records that are counted together: those of one kind with the same parent, or all those of a kind
/// without parents.
private struct ChildGroup: Hashable {
  let parent: PlainKey?
  let kind: Int
}

/// A row of `trip_summaries`.
private struct TripSums: Hashable {
  /// Lodgings, transportations, activities.
  var counts = [0, 0, 0]
  var first: Int64?
  var last: Int64?
  var totals = "[]"
}

extension Judge {
  /// Compares the stored counts and trip summaries with counts and sums computed from the records.
  func checkAggregates(_ keys: Set<PlainKey>, _ expected: Expectations) throws {
    var counts: [ChildGroup: Int] = [:]
    var items: [PlainKey: [PlainKey]] = [:]
    for key in keys.sorted() {
      guard let kind = PlainKinds.byNumber[key.kind], expected.exists(key), expected[key].life == true else {
        continue
      }
      let parent = expected.parent(of: expected[key])
      // A record that lacks the parent that its kind requires is never visible, so it is not counted.
      guard (kind.parent == nil) == (parent == nil) else { continue }
      counts[ChildGroup(parent: parent, kind: key.kind), default: 0] += 1
      if let parent, parent.kind == 1 { items[parent, default: []].append(key) }
    }
    try checkCounts(counts, expected.view)
    try checkSums(items, expected)
  }

  private func checkCounts(_ wanted: [ChildGroup: Int], _ view: NodeView) throws {
    let sql = "SELECT parent_kind, parent, kind, live FROM child_counts WHERE live <> 0"
    let stored = try view.connection.with(sql) { row in
      var stored: [ChildGroup: Int] = [:]
      while try row.step() {
        let kind = Int(row.integer(0))
        let parent = kind == 0 ? nil : PlainKey(kind: kind, id: Name16(row.bytes(1)) ?? .zero)
        stored[ChildGroup(parent: parent, kind: Int(row.integer(2)))] = Int(row.integer(3))
      }
      return stored
    }
    for group in Set(stored.keys).union(wanted.keys) where stored[group] != wanted[group] {
      throw Violation(
        .state, view.name,
        "child_counts has \(stored[group] ?? 0) of kind \(group.kind) in \(group.parent.map { "\($0)" } ?? "total");"
          + " the folded sets give \(wanted[group] ?? 0)")
    }
  }

  // MARK: Trips

  private func checkSums(_ items: [PlainKey: [PlainKey]], _ expected: Expectations) throws {
    let view = expected.view
    let sql = """
      SELECT lodgings, transportations, activities, first_start, last_end, totals, trip FROM trip_summaries
      """
    let stored = try view.connection.with(sql) { row in
      var stored: [PlainKey: TripSums] = [:]
      while try row.step() {
        stored[PlainKey(kind: 1, id: Name16(row.bytes(6)) ?? .zero)] = TripSums(
          counts: (0..<3).map { Int(row.integer($0)) }, first: row.isNull(3) ? nil : row.integer(3),
          last: row.isNull(4) ? nil : row.integer(4), totals: row.text(5))
      }
      return stored
    }
    for trip in Set(stored.keys).union(items.keys).sorted() {
      let wanted = sums(items[trip] ?? [], expected)
      // A trip that never had items has no row.
      guard stored[trip] ?? TripSums() != wanted else { continue }
      throw Violation(
        .state, view.name,
        "trip_summaries has \(stored[trip] ?? TripSums()) for \(trip); its items give \(wanted)")
    }
  }

  private func sums(_ items: [PlainKey], _ expected: Expectations) -> TripSums {
    var sums = TripSums()
    var costs: [[UInt8]: [PlainAmount]] = [:]
    for item in items {
      sums.counts[item.kind - 2] += 1
      if case .integer(let start)? = column(3, of: item, expected)?.first {
        sums.first = min(sums.first ?? start, start)
      }
      if case .integer(let end)? = column(4, of: item, expected)?.first {
        sums.last = max(sums.last ?? end, end)
      }
      guard let cost = column(5, of: item, expected), case .text(let amount)? = cost.first else { continue }
      var currency: [UInt8] = []
      if case .text(let code)? = cost.last { currency = code }
      costs[currency, default: []].append(PlainAmount(amount))
    }
    let totals = costs.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { currency, amounts in
      let code = currency.isEmpty ? "null" : "\"\(String(decoding: currency, as: UTF8.self))\""
      return "{\"amount\":\"\(PlainAmount.sum(amounts))\",\"currency\":\(code)}"
    }
    sums.totals = "[\(totals.joined(separator: ","))]"
    return sums
  }

  /// Returns the columns of a field; nil if the field holds no value of its type.
  private func column(_ field: Int, of key: PlainKey, _ expected: Expectations) -> [PlainColumn]? {
    guard let cell = expected[key].cells[field],
      let type = PlainKinds.byNumber[key.kind]?.fields.first(where: { $0.number == field })?.type
    else { return nil }
    return type.columns(cell.winner.shown)
  }
}

/// An amount of money with at most two decimal places and few enough digits for an `Int`, like all amounts in a run.
private struct PlainAmount: CustomStringConvertible {
  private let hundredths: Int
  private let places: Int

  /// Parses a well-formed amount.
  init(_ text: [UInt8]) {
    let digits = text.filter { (0x30...0x39).contains($0) }.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    places = text.firstIndex(of: 0x2e).map { text.count - $0 - 1 } ?? 0
    hundredths = (text.first == 0x2d ? -digits : digits) * [100, 10, 1][places]
  }

  private init(hundredths: Int, places: Int) { (self.hundredths, self.places) = (hundredths, places) }

  static func sum(_ amounts: [PlainAmount]) -> PlainAmount {
    PlainAmount(
      hundredths: amounts.reduce(0) { $0 + $1.hundredths }, places: amounts.map(\.places).max() ?? 0)
  }

  var description: String {
    let size = abs(hundredths)
    let cents = "\(size % 100 + 100)".dropFirst().prefix(places)
    return "\(hundredths < 0 ? "-" : "")\(size / 100)\(places == 0 ? "" : ".")\(cents)"
  }
}
