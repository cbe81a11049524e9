import Records
import RecordTables
import Replication
import SQLite
import Testing
import Wire

@testable import Storage

@Suite struct QueryTests {
  let alice: Device

  init() throws { alice = try Device("alice") }

  private func names(_ query: RecordQuery) throws -> [String] {
    try alice.store.records(query).map { row in
      guard case .text(let name)? = row[1] else { return "-" }
      return name
    }
  }

  @Test func `None comes first, then the alphabet regardless of case`() throws {
    func organization(_ number: UInt64, _ name: String) -> EntryDraft {
      insert(RecordKey(kind: FixedRecords.organization, id: id(number)), [1: .text(name)])
    }
    try alice.write(at: 10, organization(1, "beta"), organization(2, "Alpha"), organization(3, "gamma"))
    var query = RecordQuery(FixedRecords.organization)
    query.order = [.ascending(1)]
    #expect(try names(query) == ["None", "Alpha", "beta", "gamma"])
    query.limit = 2
    query.offset = 1
    #expect(try names(query) == ["Alpha", "beta"])
  }

  @Test func `records are found by the content of their fields`() throws {
    let water = habit(1)
    func log(at time: Int64, _ number: UInt64) -> EntryDraft {
      insert(
        StorageTests.log(number),
        [1: .bytes(water.id.bytes), 2: .array([.integer(time), .text("UTC"), .text("2026-01-01")])])
    }
    try alice.write(
      at: 10, insert(water, [1: .text("Water")]), log(at: 100, 1), log(at: 200, 2), log(at: 300, 3))
    var query = RecordQuery(KindNumbers.habitEntry)
    query.conditions = [
      .init(1, .equals(.blob(water.id.bytes))), .init(2, .atLeast(.integer(150))),
      .init(2, .atMost(.integer(300))),
    ]
    query.order = [.descending(2)]
    #expect(try alice.store.records(query).map(\.key.id) == [id(3), id(2)])
    query.conditions.append(.init(77, .isNull))
    #expect(try alice.store.records(query).isEmpty)
  }

  @Test func `records are found by the beginning of their name or id`() throws {
    try alice.write(
      at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Romania")]),
      insert(trip(0x21), [1: .text("Oslo")]))
    var query = RecordQuery(KindNumbers.trip)
    query.conditions = [.init(1, .begins(with: "Rom"))]
    #expect(try names(query) == ["Rome", "Romania"])
    query = RecordQuery(KindNumbers.trip)
    query.idDigits = "2"
    #expect(try names(query) == ["Oslo"])
    query.idDigits = "02000"
    #expect(try names(query) == ["Romania"])
    query.idDigits = "xyz"
    #expect(try names(query).isEmpty)
  }

  /// Returns how SQLite runs a query.
  private func plan(_ query: RecordQuery) throws -> [String] {
    let (sql, arguments) = try #require(Select(query.kind, alice.store.schema).sql(query))
    return try alice.store.connection.with("EXPLAIN QUERY PLAN \(sql)") { row in
      for (index, argument) in arguments.enumerated() { try row.bind(index + 1, argument) }
      var steps: [String] = []
      while try row.step() { steps.append(row.text(3)) }
      return steps
    }
  }

  @Test func `records by time, children by parent, and related records are found by an index`() throws {
    var coming = RecordQuery(KindNumbers.trip)
    let start = Kind.trip.number("startDate")
    coming.conditions = [.init(start, .atLeast(.integer(100)))]
    coming.order = [.ascending(start)]
    coming.limit = 20
    #expect(try plan(coming) == ["SEARCH r USING INDEX trip_rows_by_time (start_date>?)"])
    coming.conditions = []
    #expect(try plan(coming) == ["SCAN r USING INDEX trip_rows_by_time"])
    var items = RecordQuery(listing: Kind.lodging)
    items.conditions = [.init(Kind.lodging.number("trip"), .equals(.blob(id(1).bytes)))]
    let children = try plan(items)
    #expect(
      children.contains { $0.hasPrefix("SEARCH r USING INDEX lodging_rows_by_parent (trip_id=?") },
      "\(children)")
    // Only items that start at the same time are sorted here, by name.
    #expect(!children.contains("USE TEMP B-TREE FOR ORDER BY"), "\(children)")
    var related = RecordQuery(KindNumbers.lodging)
    related.conditions = [.refers(.init(Kind.lodging.number("trip")), coming)]
    let found = try plan(related)
    #expect(
      found.contains { $0.hasPrefix("SEARCH r USING INDEX lodging_rows_by_parent (trip_id=?") }, "\(found)")
    var parents = RecordQuery(KindNumbers.trip)
    parents.conditions = [.isReferenced(items, .init(Kind.lodging.number("trip")))]
    let having = try plan(parents)
    #expect(having.contains { $0.hasPrefix("SEARCH r USING PRIMARY KEY (id=?)") }, "\(having)")
  }

  @Test func `a trip is read with its items, dates and exact totals`() throws {
    let rome = trip(1)
    func money(_ amount: String, _ currency: Value = .text("USD")) -> Value {
      .array([.text(amount), currency])
    }
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome")]),
      lodging(1, of: rome, [3: .array([.integer(500), .null]), 5: money("0.10")]),
      lodging(2, of: rome, [4: .array([.integer(900), .null]), 5: money("0.20")]),
      insert(
        RecordKey(kind: KindNumbers.activity, id: id(3)),
        [1: .bytes(rome.id.bytes), 2: .text("Colosseum"), 5: money("7", .null)]))
    var summary = try alice.store.tripSummary(rome.id)
    #expect(summary.lodgings == 2)
    #expect(summary.activities == 1)
    #expect(summary.firstStart == 500)
    #expect(summary.lastEnd == 900)
    #expect(summary.totals.map(\.amount) == ["7", "0.30"])
    #expect(summary.totals.map(\.currency) == [nil, "USD"])
    try alice.write(at: 20, delete(lodging(2)), edit(lodging(1), [5: money("0.15")]))
    summary = try alice.store.tripSummary(rome.id)
    #expect(summary.lodgings == 1)
    #expect(summary.lastEnd == nil)
    #expect(summary.totals.map(\.amount) == ["7", "0.15"])
    try alice.write(at: 30, edit(lodging(1), [1: .bytes(id(2).bytes)]))
    #expect(try alice.store.tripSummary(rome.id).lodgings == 0)
    #expect(try alice.store.tripSummary(id(2)).lodgings == 1)
  }

  @Test func `counts omit hidden records and unchanged seeds`() throws {
    #expect(try alice.store.visibleCounts().values.allSatisfy { $0 == 0 })
    let rome = trip(1)
    let photo = RecordKey(kind: KindNumbers.attachment, id: id(5))
    let owner = Value.array([.integer(Int64(KindNumbers.lodging.rawValue)), .bytes(lodging(1).id.bytes)])
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome")]), lodging(1, of: rome), lodging(2, of: rome),
      insert(photo, [1: owner]))
    var counts = try alice.store.visibleCounts()
    #expect(counts[KindNumbers.trip] == 1)
    #expect(counts[KindNumbers.lodging] == 2)
    #expect(counts[KindNumbers.attachment] == 1)
    #expect(try alice.store.children(of: lodging(1), KindNumbers.attachment).map(\.key) == [photo])
    #expect(try alice.store.children(of: rome, KindNumbers.lodging).count == 2)
    try alice.write(at: 20, delete(rome))
    counts = try alice.store.visibleCounts()
    #expect(counts.values.allSatisfy { $0 == 0 })
    try alice.write(at: 30, restore(rome), delete(lodging(1)))
    counts = try alice.store.visibleCounts()
    #expect(counts[KindNumbers.lodging] == 1)
    #expect(counts[KindNumbers.attachment] == 0)
    try alice.write(at: 40, edit(FixedRecords.none, [2: .text("1")]))
    #expect(try alice.store.visibleCounts()[FixedRecords.organization] == 1)
  }
}
