import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

/// Sums, counts and averages of the records of a query.
struct SummaryTests {
  let alice: Node
  let rome, oslo: Trip

  init() async throws {
    alice = try Node.inMemory(schema: .packing)
    let trips = try await alice.save([Trip(name: "Rome"), Trip(name: "Oslo")])
    (rome, oslo) = (trips[0], trips[1])
    func lodging(_ name: String, _ trip: Trip, _ cost: Money?, _ payment: Payment = .unpaid) -> Lodging {
      var lodging = Lodging(name: name, tripID: trip.id)
      (lodging.cost, lodging.payment) = (cost, payment)
      return lodging
    }
    _ = try await alice.save([
      lodging("a", rome, Money(exactly: "0.1", "EUR")),
      lodging("b", rome, Money(exactly: "0.2", "EUR"), .inFull),
      lodging("c", rome, Money(exactly: "100", "NOK")),
      lodging("d", oslo, Money(exactly: "7.50", "NOK"), .inFull),
      lodging("e", oslo, Money(exactly: "3")), lodging("f", oslo, nil),
      lodging("g", oslo, Money(exactly: "7.50", "NOK")),
    ])
  }

  @Test func `records are counted by a property`() async throws {
    #expect(try await alice.read(.counts(of: Lodging.all, by: \.tripID)) == [rome.id: 3, oslo.id: 4])
    #expect(try await alice.read(.counts(of: Lodging.all, by: \.payment)) == [.unpaid: 5, .inFull: 2])
    #expect(try await alice.read(.counts(of: Lodging.all, by: \.organizationID)) == [nil: 7])
    let cheap = Lodging.all.sorted(by: \.name).prefix(4)
    #expect(try await alice.read(.counts(of: cheap, by: \.tripID)) == [rome.id: 3, oslo.id: 1])
    #expect(try await alice.read(.counts(of: Lodging.all.filter(\.name == "x"), by: \.tripID)) == [:])
    var item = PackingItem("Tent", in: rome.id)
    item.weight = .heavy
    _ = try await alice.save([item, PackingItem("Book", in: rome.id), PackingItem("Map", in: oslo.id)])
    #expect(try await alice.read(.counts(of: PackingItem.all, by: \.isPacked)) == [false: 3])
    #expect(try await alice.read(.counts(of: PackingItem.all, by: \.tripID)) == [rome.id: 2, oslo.id: 1])
  }

  @Test func `money is added exactly, and never across currencies`() async throws {
    let all = try await alice.read(.summary(of: \.cost, in: Lodging.all))
    #expect(all.map(\.currency) == [nil, "EUR", "NOK"])
    #expect(all.map(\.count) == [1, 2, 3])
    #expect(all.map { $0.sum?.description } == ["3", "0.3", "115"])
    #expect(all.map(\.minimum.description) == ["3", "0.1", "7.5"])
    #expect(all.map(\.maximum.description) == ["3", "0.2", "100"])
    #expect(all[1].average?.description == "0.15")
    let paid = Lodging.all.filter(\.payment == .inFull)
    #expect(
      try await alice.read(.summary(of: \.cost, in: paid)).map { $0.sum?.description } == ["0.2", "7.5"])
    let byTrip = try await alice.read(.summaries(of: \.cost, in: Lodging.all, by: \.tripID))
    #expect(byTrip[rome.id]?.map { "\($0.sum ?? 0) \($0.currency ?? "")" } == ["0.3 EUR", "100 NOK"])
    #expect(byTrip[oslo.id]?.map { "\($0.sum ?? 0) \($0.currency ?? "")" } == ["3 ", "15 NOK"])
    #expect(try await alice.read(.summary(of: \.cost, in: Activity.all)).isEmpty)
    let totals = try await alice.read(.overview(of: rome.id))?.totals
    #expect(totals?.map(\.amount) == byTrip[rome.id]?.map(\.sum))
  }

  @Test func `a sum with more than 38 digits is nil`() async throws {
    let most = String(repeating: "9", count: 34)
    for amount in [most, "0.00001"] {
      var lodging = Lodging(name: amount, tripID: rome.id)
      lodging.cost = try Money(exactly: amount, "CHF")
      _ = try await alice.save(lodging)
    }
    let swiss = try #require(
      try await alice.read(.summary(of: \.cost, in: Lodging.all)).first { $0.currency == "CHF" })
    #expect(swiss.sum == nil && swiss.average == nil && swiss.count == 2)
    #expect(swiss.maximum == Decimal(string: most))
  }

  @Test func `numbers are added with decimal fractions`() async throws {
    let habit = try await alice.save(Habit(name: "Water", counting: "l", dailyTarget: nil))
    let other = try await alice.save(Habit(name: "Run", counting: "km", dailyTarget: nil))
    for (habit, value) in [(habit, 0.1), (habit, 0.2), (other, 5)] {
      _ = try await alice.addEntry(to: habit.id, value)
    }
    let water = HabitEntry.all.filter(\.habitID == habit.id)
    let summary = try await alice.read(.summary(of: \.value, in: water))
    #expect(summary.sum == 0.3 && summary.count == 2 && summary.minimum == 0.1 && summary.maximum == 0.2)
    #expect(summary.average == 0.15)
    let all = try await alice.read(.summaries(of: \.value, in: HabitEntry.all, by: \.habitID))
    #expect(all.mapValues(\.sum) == [habit.id: 0.3, other.id: 5])
    let none = try await alice.read(.summary(of: \.value, in: HabitEntry.all.filter(\.date < .distantPast)))
    #expect(none.count == 0 && none.sum == 0 && none.minimum == nil && none.average == nil)
    var tent = PackingItem("Tent", in: rome.id)
    tent.count = 3
    _ = try await alice.save([tent, PackingItem("Book", in: rome.id)])
    #expect(try await alice.read(.summary(of: \.count, in: PackingItem.all)).sum == 4)
  }

  @Test func `the earliest and the latest of dates and days are found`() async throws {
    let first = Date(timeIntervalSince1970: 1_777_593_600)
    for (trip, days) in [(rome, [1.0, 3]), (oslo, [2])] {
      for day in days {
        var activity = Activity(name: "x", tripID: trip.id)
        activity.start = first + day * 86_400
        _ = try await alice.save(activity)
      }
    }
    try await alice.update(rome.id) { $0.startDate = first }
    let starts = try await alice.read(.summary(of: \.startDate, in: Trip.all))
    #expect(starts.count == 1 && starts.earliest == first && starts.latest == first)
    let none = try await alice.read(.summary(of: \.endDate, in: Trip.all))
    #expect(none.count == 0 && none.earliest == nil && none.latest == nil)
    let byTrip = try await alice.read(.summaries(of: \.start, in: Activity.all, by: \.tripID))
    #expect(byTrip.mapValues(\.count) == [rome.id: 2, oslo.id: 1])
    #expect(byTrip[rome.id]?.earliest == first + 86_400 && byTrip[rome.id]?.latest == first + 3 * 86_400)
    let habit = try await alice.save(Habit(name: "Run"))
    for day in 0..<3 {
      _ = try await alice.save(HabitEntry(habitID: habit.id, date: first + Double(day) * 86_400, zone: .gmt))
    }
    let days = try await alice.read(.summary(of: \.day, in: HabitEntry.all))
    #expect(days.count == 3 && days.earliest == Day("2026-05-01") && days.latest == Day("2026-05-03"))
    let dates = try await alice.read(.summaries(of: \.date, in: HabitEntry.all, by: \.habitID))
    #expect(dates[habit.id]?.latest == first + 2 * 86_400)
  }

  @Test func `hidden records do not count, and a watch follows their parents`() async throws {
    var watch = alice.watch(.summary(of: \.cost, in: Lodging.all.filter(\.tripID == rome.id)))
      .makeAsyncIterator()
    #expect(await watch.next()?.map(\.currency) == ["EUR", "NOK"])
    try await alice.delete(rome)
    #expect(await watch.next()?.isEmpty == true)
    #expect(try await alice.read(.counts(of: Lodging.all, by: \.tripID)) == [oslo.id: 4])
    let named = Lodging.all.filter(.refers(\.tripID, to: Trip.all.filter(\.name == "Bergen")))
    var counts = alice.watch(.counts(of: named, by: \.tripID)).makeAsyncIterator()
    #expect(await counts.next() == [:])
    try await alice.update(oslo.id) { $0.name = "Bergen" }
    #expect(await counts.next() == [oslo.id: 4])
  }

  @Test func `a condition may have a part that no record meets`() async throws {
    let none = Condition<Lodging>.isIn(\.name, [] as [String])
    let either = Lodging.all.filter(\.tripID == oslo.id || (\.notes == "none" && none))
    #expect(try await alice.read(.counts(of: either, by: \.tripID)) == [oslo.id: 4])
    let neither = Lodging.all.filter(\.tripID == oslo.id && !(\.notes == "none" && none))
    #expect(try await alice.read(.counts(of: neither, by: \.tripID)) == [oslo.id: 4])
  }

  @Test func `a property that is not stored is refused`() async throws {
    #expect(
      try await refusal { _ = try await alice.read(.counts(of: Lodging.all, by: \.name.count)) }
        == "unsupported_property")
    #expect(
      try await refusal { _ = try await alice.read(.summary(of: \.name.count, in: Lodging.all)) }
        == "unsupported_property")
  }
}
