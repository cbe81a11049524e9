// Sources/store.md, "What is derived"

import Records
import Replication
import SQLite
import Wire

/// Maintains the summary of each trip: the number of its items, its dates, and the exact total in each currency.
final class TripSummaries {
  private let connection: Connection
  private var dirty: Set<RecordID> = []

  init(_ connection: Connection) throws { self.connection = connection }

  func forget() { dirty = [] }

  /// Notes that a record of `kind` was written below `parent`, so that the summary of a trip is updated.
  func changed(_ kind: Kind, _ parent: RecordKey) {
    if parent.kind == KindNumbers.trip { dirty.insert(parent.id) }
  }

  func update() throws {
    for trip in dirty { try update(trip) }
    dirty = []
  }

  private struct Sum {
    var first: Int64?
    var last: Int64?
    /// The total in each currency; the empty string stands for no currency. A total is nil if the sum has too many
    /// digits.
    var totals: [String: ExactDecimal?] = [:]

    mutating func add(_ amount: ExactDecimal, _ currency: String) {
      guard let known = totals[currency, default: .zero] else { return }
      totals.updateValue(try? known.adding(amount), forKey: currency)
    }
  }

  private func update(_ trip: RecordID) throws {
    var sum = Sum()
    let counts = try [Kind.lodging, Kind.transportation, Kind.activity].map {
      try add($0, of: trip, to: &sum)
    }
    let sql = "INSERT OR REPLACE INTO trip_summaries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    try connection.with(sql) { statement in
      try statement.bind(1, bigEndian: trip.raw.word0, trip.raw.word1)
      for (index, count) in counts.enumerated() { try statement.bind(2 + index, count) }
      try statement.bind(5, sum.first.map { .integer($0) } ?? .null)
      try statement.bind(6, sum.last.map { .integer($0) } ?? .null)
      try statement.bind(7, Self.text(sum.totals))
      try statement.run()
    }
  }

  private func add(_ kind: Kind, of trip: RecordID, to sum: inout Sum) throws -> Int {
    let sql =
      "SELECT starts, ends, cost_amount, cost_currency FROM \(kind.table) WHERE trip_id = ?1 AND life = 1"
    return try connection.with(sql) { row in
      try row.bind(1, bigEndian: trip.raw.word0, trip.raw.word1)
      var count = 0
      while try row.step() {
        count += 1
        if !row.isNull(0) { sum.first = min(sum.first ?? .max, row.integer(0)) }
        if !row.isNull(1) { sum.last = max(sum.last ?? .min, row.integer(1)) }
        guard !row.isNull(2), let amount = ExactDecimal(row.text(2)) else { continue }
        sum.add(amount, row.isNull(3) ? "" : row.text(3))
      }
      return count
    }
  }

  private static func text(_ totals: [String: ExactDecimal?]) -> String {
    totals.sorted { $0.key < $1.key }
      .map { TripSummary.Total(amount: $1?.description, currency: $0.isEmpty ? nil : $0) }.text
  }
}
