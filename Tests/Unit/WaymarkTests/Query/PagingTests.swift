import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Pages that begin after a record.
struct PagingTests {
  private static let may = Date(timeIntervalSince1970: 1_777_593_600)

  /// Trips with equal and missing values in every property that the tests sort by.
  private static func trips() -> [Trip] {
    (0..<40).map { number in
      var trip = Trip(name: ["Rome", "rome", "Ávila", "Oslo"][number % 4])
      trip.startDate = number % 5 == 0 ? nil : may + Double(number % 3) * 86_400
      trip.endDate = number % 3 == 0 ? nil : may + Double(number % 7) * 86_400
      trip.notes = number % 2 == 0 ? "" : "n\(number % 4)"
      return trip
    }
  }

  private func pages<Owner: Record>(_ node: Node, _ query: Query<Owner>, _ size: Int) async throws -> [Owner]
  {
    var (all, page) = ([Owner](), try await node.records(query.prefix(size)))
    while let last = page.last, all.count < 1_000 {
      all += page
      page = try await node.records(query.after(last).prefix(size))
    }
    return all
  }

  @Test func `pages make up the whole list in every order`() async throws {
    let alice = try Node.inMemory()
    let trips = try await alice.save(Self.trips())
    // Two items give undated trips a place in list order.
    let undated = trips.filter { $0.startDate == nil }
    _ = try await alice.save([
      Activity(name: "Walk", tripID: undated[0].id, start: Self.may + 3_600),
      Activity(name: "Walk", tripID: undated[1].id, start: Self.may - 3_600),
    ])
    let orders: [Query<Trip>] = [
      Trip.all, Trip.all.sorted(by: \.name), Trip.all.sorted(by: \.name, order: .reverse),
      Trip.all.sorted(by: \.startDate), Trip.all.sorted(by: \.startDate, order: .reverse),
      Trip.all.sorted(by: \.endDate, order: .reverse).sorted(by: \.notes).sorted(by: \.startDate),
      Trip.all.sorted(by: \.isProtected).sorted(by: \.notes, order: .reverse), Trip.all.sorted(by: \.id),
      Trip.all.sorted(by: \.id, order: .reverse), Trip.all.filter(\.notes != "").sorted(by: \.endDate),
    ]
    for query in orders {
      let whole = try await alice.records(query)
      for size in [1, 7, 40] {
        #expect(try await pages(alice, query, size).map(\.id) == whole.map(\.id), "\(query), \(size)")
      }
      let tenth = whole[9]
      #expect(try await alice.count(query.after(tenth)) == whole.count - 10)
      #expect(try await alice.records(query.after(tenth).dropFirst(2).prefix(3)) == Array(whole[12..<15]))
    }
  }

  @Test func `every kind has pages in list order`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trips = try await alice.save((0..<6).map { Trip(name: "\($0 % 2)") })
    _ = try await alice.save((0..<9).map { Organization(name: ["b", "A", "c"][$0 % 3]) })
    _ = try await alice.save(
      (0..<9).map { Lodging(name: "L", tripID: trips[$0 % 6].id, start: $0 % 2 == 0 ? nil : Self.may) })
    let habit = try await alice.save(Habit(name: "Water"))
    _ = try await alice.save((0..<5).map { HabitEntry(habitID: habit.id, date: Self.may + Double($0 % 2)) })
    _ = try await alice.save((0..<7).map { PackingItem(["x", "y"][$0 % 2], in: trips[$0 % 6].id) })
    func check<Owner: Record>(_ query: Query<Owner>, _ count: Int) async throws {
      let whole = try await alice.records(query)
      #expect(whole.count == count)
      #expect(try await pages(alice, query, 2) == whole, "\(Owner.self)")
    }
    try await check(Organization.all, 10)
    try await check(Lodging.all, 9)
    try await check(HabitEntry.all, 5)
    try await check(PackingItem.all, 7)
    try await check(PackingItem.all.sorted(by: \.bought).sorted(by: \.name), 7)
  }

  @Test func `a page begins at the same place whatever was added, changed or deleted before it`() async throws
  {
    let alice = try Node.inMemory()
    var trips = try await alice.save((0..<6).map { Trip(name: "t\($0)") })
    let query = Trip.all.sorted(by: \.name)
    let third = trips[2]
    _ = try await alice.save([Trip(name: "t0a"), Trip(name: "a")])
    try await alice.delete(trips[0])
    #expect(try await alice.records(query.after(third)).map(\.name) == ["t3", "t4", "t5"])
    try await alice.update(third.id) { $0.name = "z" }
    #expect(try await alice.records(query.after(third)).map(\.name) == ["t3", "t4", "t5", "z"])
    try await alice.delete(third)
    #expect(try await alice.records(query.after(third)).map(\.name) == ["t3", "t4", "t5"])
    // The place is that of the record as it was read, not as it was edited since.
    trips[3].name = "x"
    #expect(try await alice.records(query.after(trips[3])).map(\.name) == ["t4", "t5"])
    #expect(try await alice.records(query.after(Trip(name: "t4"))).map(\.name).last == "t5")
  }

  @Test func `the first record of a query is read and watched`() async throws {
    let alice = try Node.inMemory()
    #expect(try await alice.first(Trip.all) == nil)
    _ = try await alice.save([Trip(name: "b"), Trip(name: "a")])
    #expect(try await alice.first(Trip.all.sorted(by: \.name))?.name == "a")
    let node = alice
    var watch = node.watch(.first(Trip.all.sorted(by: \.name, order: .reverse))).makeAsyncIterator()
    #expect(await watch.next()??.name == "b")
    _ = try await alice.save(Trip(name: "c"))
    #expect(await watch.next()??.name == "c")
  }
}
