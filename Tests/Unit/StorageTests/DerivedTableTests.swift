import RecordTables
import Records
import Replication
import SQLite
import Testing
import Wire

@testable import Storage

/// Counts, sums, searches and reports of commits, compared after each change with what follows from the rows alone.
@Suite struct DerivedTableTests {
  private static let kinds: [Kind] = [
    .trip, .lodging, .transportation, .activity, .attachment, .habit, .habitEntry,
  ]
  private static let items: [Kind] = [.lodging, .transportation, .activity]
  private static let roots: Set<KindNumber> = [KindNumbers.trip, KindNumbers.habit]
  private static let words = ["rome", "oslo", "casa", "palazzo", "villa", "night", "ticket", "water"]

  // MARK: What follows from the rows

  private struct Sums: Equatable {
    var counts: [Int]
    var first: Int64?
    var last: Int64?
    var totals: [String]

    init(counts: [Int], first: Int64?, last: Int64?, totals: [String]) {
      (self.counts, self.first, self.last, self.totals) = (counts, first, last, totals)
    }

    init(_ summary: TripSummary) {
      counts = [summary.lodgings, summary.transportations, summary.activities]
      (first, last) = (summary.firstStart, summary.lastEnd)
      totals = summary.totals.map { "\($0.amount ?? "none") \($0.currency ?? "")" }
    }
  }

  private struct Rows {
    private(set) var byKey: [RecordKey: RecordRow] = [:]
    private(set) var parents: [RecordKey: RecordKey] = [:]

    init(_ store: Store) throws {
      for kind in DerivedTableTests.kinds {
        var query = RecordQuery(kind.number)
        query.visibleOnly = false
        for row in try store.records(query) {
          byKey[row.key] = row
          parents[row.key] = store.parent(of: row)
        }
      }
    }

    func isVisible(_ key: RecordKey) -> Bool {
      guard let row = byKey[key], row.isAlive else { return false }
      if DerivedTableTests.roots.contains(key.kind) { return true }
      guard let parent = parents[key] else { return false }
      return isVisible(parent)
    }

    /// The fields of the visible records.
    var shown: [RecordKey: [FieldNumber: Value]] {
      byKey.filter { isVisible($0.key) }.mapValues(\.fields)
    }

    func sums(of trip: RecordKey) -> Sums {
      let items = byKey.values.filter { $0.isAlive && parents[$0.key] == trip }
      var totals: [String: Int64] = [:]
      for item in items {
        guard case .array(let parts)? = item[5], parts.count == 2, let text = parts[0].asText,
          let amount = Int64(text)
        else { continue }
        totals[parts[1].asText ?? "", default: 0] += amount
      }
      let counts: [Int] = DerivedTableTests.items.map { kind in items.count { $0.key.kind == kind.number } }
      let starts: [Int64] = items.compactMap { Self.time($0[3]) }
      let ends: [Int64] = items.compactMap { Self.time($0[4]) }
      let texts: [String] = totals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      return Sums(counts: counts, first: starts.min(), last: ends.max(), totals: texts)
    }

    private static func time(_ value: Value?) -> Int64? {
      guard case .array(let parts)? = value else { return nil }
      return parts.first?.asInteger
    }

    func keys(of kind: Kind, containing word: String) -> [RecordKey] {
      byKey.values.filter { row in
        row.key.kind == kind.number && isVisible(row.key)
          && kind.searchedFields.contains { field in
            row[field.number]?.asText.map { FoldedText.contains($0, word) } ?? false
          }
      }.map(\.key).sorted()
    }
  }

  private func expectDerived(_ store: Store, _ after: String) throws {
    let rows = try Rows(store)
    for (key, row) in rows.byKey {
      #expect(row.isVisible == rows.isVisible(key), "\(key) after \(after)")
    }
    let counts = try store.visibleCounts()
    for kind in Self.kinds {
      let visible = rows.byKey.keys.count { $0.kind == kind.number && rows.isVisible($0) }
      #expect(counts[kind.number] == visible, "\(kind.name) after \(after)")
    }
    let summaries = try store.tripSummaries()
    for key in rows.byKey.keys where key.kind == KindNumbers.trip {
      let sums = rows.sums(of: key)
      let single = Sums(try store.tripSummary(key.id))
      #expect(single == sums, "\(key) after \(after)")
      #expect(Sums(summaries[key.id] ?? TripSummary()) == sums, "\(key) after \(after)")
    }
    for kind in Self.kinds where !kind.searchedFields.isEmpty {
      for word in Self.words {
        var query = RecordQuery(kind.number)
        query.conditions = [.text([word])]
        let found = try store.records(query).map(\.key).sorted()
        #expect(found == rows.keys(of: kind, containing: word), "\(word) in \(kind.name) after \(after)")
        #expect(try store.count(query) == found.count)
      }
    }
  }

  /// A report names the kind of each record that is shown differently, and each attachment that appears or disappears.
  private func expectReported(_ report: CommitReport, _ before: Rows, _ store: Store, _ after: String) throws
  {
    let (old, new) = (before.shown, try Rows(store).shown)
    for key in Set(old.keys).union(new.keys) where old[key] != new[key] {
      #expect(report.kinds.contains(key.kind), "\(key) after \(after)")
      guard key.kind == KindNumbers.attachment, (old[key] == nil) != (new[key] == nil) else { continue }
      let isNamed = report.owned.contains(key) || report.records?.contains(key) ?? true
      #expect(isNamed, "\(key) after \(after)")
    }
  }

  // MARK: Changes

  private struct Step {
    let what: String
    let drafts: [EntryDraft]
  }

  private static func instant(_ time: Int64) -> Value { .array([.integer(time), .null]) }

  private static func money(_ amount: String, _ currency: String? = nil) -> Value {
    .array([.text(amount), currency.map(Value.text) ?? .null])
  }

  private static func transportation(_ number: UInt64) -> RecordKey {
    RecordKey(kind: KindNumbers.transportation, id: id(number))
  }

  private static func activity(_ number: UInt64) -> RecordKey {
    RecordKey(kind: KindNumbers.activity, id: id(number))
  }

  private static func stay(
    _ number: UInt64, of trip: RecordKey, _ name: String, _ start: Int64, _ end: Int64, _ cost: Value
  ) -> EntryDraft {
    lodging(number, of: trip, [2: .text(name), 3: instant(start), 4: instant(end), 5: cost])
  }

  private static func move(_ item: RecordKey, to trip: RecordKey) -> EntryDraft {
    edit(item, [1: .bytes(trip.id.bytes)])
  }

  /// Three trips, of which the third is empty; a stay with an attachment, another stay, a journey and an activity.
  private static func fixture() -> [EntryDraft] {
    var drafts = [insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")])]
    drafts.append(insert(trip(3), [1: .text("Lima")]))
    drafts.append(stay(1, of: trip(1), "Casa Rosa", 500, 900, money("10", "EUR")))
    drafts.append(stay(2, of: trip(1), "Villa", 300, 400, money("5", "EUR")))
    drafts.append(
      insert(
        transportation(3),
        [1: .bytes(trip(1).id.bytes), 2: .text("Night train"), 3: instant(200), 5: money("7")]))
    drafts.append(insert(activity(4), [1: .bytes(trip(2).id.bytes), 2: .text("Walk"), 4: instant(50)]))
    drafts.append(insert(attachment(6), [1: owner(lodging(1)), 2: .text("ticket.pdf")]))
    return drafts
  }

  private static func itemSteps() -> [Step] {
    var steps = [Step(what: "three trips", drafts: fixture())]
    func step(_ what: String, _ drafts: EntryDraft...) { steps.append(Step(what: what, drafts: drafts)) }
    step("an edit", edit(lodging(1), [2: .text("Palazzo"), 4: instant(1_000)]))
    step("a move", move(lodging(1), to: trip(2)))
    step("a move with an edit", edit(transportation(3), [1: .bytes(trip(2).id.bytes), 5: money("9", "NOK")]))
    step("the deletion of an item", delete(lodging(2)))
    step("a move of a deleted item", move(lodging(2), to: trip(2)))
    step("its restoration", restore(lodging(2)))
    step("an edit of what a search finds", edit(trip(2), [1: .text("Bergen"), 2: .text("like Oslo")]))
    step("an attachment", insert(attachment(5), [1: owner(lodging(2)), 2: .text("old ticket.pdf")]))
    step("an attachment of an item of another kind", edit(attachment(5), [1: owner(transportation(3))]))
    step(
      "an item without its time and cost, and a deletion", edit(lodging(2), [5: .null, 3: .null]),
      delete(activity(4)))
    return steps
  }

  private static func familySteps() -> [Step] {
    var steps: [Step] = []
    func step(_ what: String, _ drafts: EntryDraft...) { steps.append(Step(what: what, drafts: drafts)) }
    step("the deletion of a trip", delete(trip(2)))
    step("an item of a deleted trip", stay(7, of: trip(2), "Casa", 10, 20, money("1", "EUR")))
    step("an item that leaves the deleted trip", move(lodging(1), to: trip(1)))
    step("the deletion of an item of the deleted trip", delete(lodging(2)))
    step("an item that moves to the deleted trip", move(lodging(1), to: trip(2)))
    step("the restoration of the trip", restore(trip(2)))
    step("an item that is created and a trip that is deleted", lodging(8, of: trip(1)), delete(trip(3)))
    step(
      "an item that moves in the set that deletes its trip", move(lodging(8), to: trip(2)), delete(trip(1)))
    step("a restoration and a deletion", restore(trip(1)), restore(lodging(2)), delete(lodging(7)))
    step("the erase of an item", erase(lodging(2)))
    step("the restoration of what is left of it", restore(lodging(2)))
    step(
      "new values for it", edit(lodging(2), [1: .bytes(trip(1).id.bytes), 2: .text("Villa"), 5: money("3")]))
    step("the erase of a trip", erase(trip(2)))
    step(
      "the restoration of what is left of the trip", edit(trip(2), [1: .text("Oslo")]), restore(trip(2)))
    return steps
  }

  private static func habitSteps() -> [Step] {
    var steps: [Step] = []
    func step(_ what: String, _ drafts: EntryDraft...) { steps.append(Step(what: what, drafts: drafts)) }
    func entry(_ number: UInt64, of parent: RecordKey) -> EntryDraft {
      insert(
        log(number),
        [1: .bytes(parent.id.bytes), 2: .array([.integer(100), .text("UTC"), .text("2026-01-01")])])
    }
    step(
      "two habits", insert(habit(1), [1: .text("Water")]), insert(habit(2), [1: .text("Run")]),
      entry(1, of: habit(1)), entry(2, of: habit(1)))
    step("an entry of the other habit", edit(log(2), [1: .bytes(habit(2).id.bytes)]))
    step("the deletion of a habit", delete(habit(1)))
    step("the deletion of an entry", delete(log(2)))
    step("the restoration of both", restore(habit(1)), restore(log(2)))
    return steps
  }

  // MARK: Tests

  @Test(arguments: [1, 2, 3, 7, 1_000])
  func `counts, sums, searches and reports follow from the rows in batches of any size`(size: Int) throws {
    let alice = try Device("alice")
    let steps = Self.itemSteps() + Self.familySteps() + Self.habitSteps()
    for (index, step) in steps.enumerated() {
      try alice.receive(try alice.draft(at: 10 + Int64(index), step.drafts))
    }
    let bob = try Device("bob")
    var rest = alice.known[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      let before = try Rows(bob.store)
      let report = try bob.receive(batch)
      let last = bob.known.count - 1
      let isStep = size == 1 && steps.indices.contains(last)
      let after = isStep ? steps[last].what : "\(last + 1) sets in batches of \(size)"
      try expectDerived(bob.store, after)
      try expectReported(report, before, bob.store, after)
    }
    #expect(try dump(bob.store) == dump(alice.store))
    try bob.store.rebuild()
    try expectDerived(bob.store, "a rebuild")
  }

  private static func pairs() -> [(what: String, alice: EntryDraft, bob: EntryDraft)] {
    var pairs: [(what: String, alice: EntryDraft, bob: EntryDraft)] = []
    func pair(_ what: String, _ alice: EntryDraft, _ bob: EntryDraft) { pairs.append((what, alice, bob)) }
    let toOslo = move(lodging(1), to: trip(2))
    pair("two moves", toOslo, move(lodging(1), to: trip(3)))
    pair("a move and a deletion", toOslo, delete(lodging(1)))
    pair("a move and the deletion of the new trip", toOslo, delete(trip(2)))
    pair("a move and the deletion of the former trip", toOslo, delete(trip(1)))
    pair("a move and another cost", toOslo, edit(lodging(1), [5: money("90", "NOK")]))
    pair("a name and a deletion", edit(lodging(1), [2: .text("Palazzo")]), delete(lodging(1)))
    pair("two names", edit(lodging(1), [2: .text("Palazzo")]), edit(lodging(1), [2: .text("Villa")]))
    pair("a new item and the deletion of its trip", lodging(8, of: trip(1)), delete(trip(1)))
    pair("the deletions of an item and of its trip", delete(lodging(1)), delete(trip(1)))
    pair("a move and an erase", toOslo, erase(lodging(1)))
    pair("another cost and an erase", edit(lodging(1), [5: money("90", "NOK")]), erase(lodging(1)))
    pair("a move and the erase of the former trip", toOslo, erase(trip(1)))
    pair("a restoration and the deletion of an item", restore(trip(4)), delete(lodging(4)))
    pair("a restoration and an item that leaves", restore(trip(4)), move(lodging(4), to: trip(1)))
    return pairs
  }

  @Test(arguments: [false, true])
  func `concurrent changes leave the same counts, sums and searches on all devices`(isAliceLater: Bool) throws
  {
    for (what, first, second) in Self.pairs() {
      let alice = try Device("alice")
      let bob = try Device("bob")
      let carol = try Device("carol")
      try alice.receive(try alice.draft(at: 10, Self.fixture()))
      try alice.write(at: 11, insert(trip(4), [1: .text("Night")]), lodging(4, of: trip(4)))
      try alice.write(at: 12, delete(trip(4)))
      try bob.sync(from: alice)
      try alice.write(at: isAliceLater ? 200 : 100, first)
      try bob.write(at: isAliceLater ? 100 : 200, second)
      let known = alice.known
      let before = try Rows(alice.store)
      let report = try alice.receive(bob.known)
      try expectReported(report, before, alice.store, what)
      try bob.receive(known)
      for set in bob.known { try carol.receive([set]) }
      for device in [alice, bob, carol] { try expectDerived(device.store, "\(what), on \(device.name)") }
      #expect(try dump(alice.store) == dump(bob.store), "\(what)")
      #expect(try dump(carol.store) == dump(bob.store), "\(what)")
    }
  }

  @Test(arguments: ["child_counts", "trip_summaries", "digests"])
  func `a batch that fails leaves nothing for the next one to count or report`(table: String) throws {
    let alice = try Device("alice")
    try alice.receive(try alice.draft(at: 10, Self.fixture()))
    let failing = [delete(trip(1)), Self.move(lodging(2), to: trip(2))]
    let sets = try alice.draft(at: 20, failing)
    try alice.store.connection.execute(
      "CREATE TEMP TRIGGER failing BEFORE INSERT ON \(table) BEGIN SELECT RAISE(ABORT, 'failed'); END")
    #expect(throws: SQLiteError.self) { try alice.receive(sets) }
    try alice.store.connection.execute("DROP TRIGGER failing")
    try expectDerived(alice.store, "a failure in \(table)")
    let report = try alice.receive(
      try alice.draft(at: 30, [Self.stay(7, of: trip(2), "Casa", 10, 20, Self.money("1", "EUR"))]))
    #expect(report.kinds == [KindNumbers.lodging] && report.deaths.isEmpty)
    let records = try #require(report.records)
    #expect(records == [lodging(7)])
    try expectDerived(alice.store, "an item after a failure in \(table)")
    try alice.receive(try alice.draft(at: 40, failing))
    try expectDerived(alice.store, "the same change after a failure in \(table)")
  }
}
