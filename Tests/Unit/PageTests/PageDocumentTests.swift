import Control
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import WaymarkPage

@Suite struct PageDocumentTests {
  private let rome = TimeZone(identifier: "Europe/Rome") ?? .gmt

  private func page(of habit: Habit, on node: Node) async throws -> HabitPage {
    try #require(try await node.pageDocument().habits.first { $0.id == habit.id })
  }

  // MARK: Habits

  @Test func `each day of a habit is in one of seven states`() async throws {
    let node = try await node()
    var habit = Habit(
      name: "Run", counting: "km", dailyTarget: 5, schedule: .days([.monday, .wednesday, .friday, .sunday]))
    habit.startDate = day("2026-05-04").noon(in: .gmt)  // a Monday
    _ = try await node.save(habit)
    for (text, value) in [("2026-05-04", 5.0), ("2026-05-05", 6), ("2026-05-06", 2), ("2026-05-07", 1)] {
      try await node.setTotal(value, of: habit.id, on: day(text), zone: .gmt)
    }
    let page = try await page(of: habit, on: node)
    #expect(page.firstDay == day("2026-05-04"))
    #expect(page.days == "depx" + "m-o")
    #expect(page.amounts == [5, 6, 2, 1, 0, 0, 0])
    #expect(page.weekdays == [1, 3, 5, 7])
  }

  @Test func `a habit that is either done or not has no amounts`() async throws {
    let node = try await node()
    let habit = Habit(name: "Read")
    _ = try await node.save(habit)
    try await node.setTotal(1, of: habit.id, on: day("2026-05-10"), zone: .gmt)
    let page = try await page(of: habit, on: node)
    #expect(page.days == "d")
    #expect(page.amounts.isEmpty)
    #expect(page.streak == 1)
    #expect(page.target == nil)
  }

  @Test func `a habit that begins in the future has a day, so that it is listed`() async throws {
    let node = try await node()
    var habit = Habit(name: "Read")
    habit.startDate = day("2027-01-01").noon(in: .gmt)
    _ = try await node.save(habit)
    let page = try await page(of: habit, on: node)
    #expect(page.days == "-")
    #expect(page.firstDay == day("2026-05-10"))
  }

  @Test func `an entry of an ancient day does not make the page longer than ten years`() async throws {
    let node = try await node()
    let habit = Habit(name: "Read")
    _ = try await node.save(habit)
    try await node.setTotal(1, of: habit.id, on: day("0001-01-02"), zone: .gmt)
    let page = try await page(of: habit, on: node)
    #expect(page.days.count == HabitPage.daysMax)
    #expect(page.firstDay.distance(to: day("2026-05-10")) == HabitPage.daysMax - 1)
    #expect(page.hasEarlier)
  }

  // MARK: Trips

  private func roman(_ text: String, _ hour: Int) -> Date {
    day(text).noon(in: rome).addingTimeInterval(Double(hour - 12) * 3_600)
  }

  @Test func `a trip has its items in order, each with the time at its place`() async throws {
    let node = try await node()
    let trip = Trip(name: "Rome", startDate: day("2026-05-12").noon(in: .gmt))
    var address = Address()
    (address.city, address.country, address.postalCode) = ("Rome", "Italy", "00186")
    let hotel = Organization(name: "Albergo", addressID: address.id)
    var lodging = try Lodging(
      name: "Room 7", tripID: trip.id, start: roman("2026-05-12", 15), end: roman("2026-05-14", 11),
      zone: "Europe/Rome", cost: Money(exactly: "120.50", "EUR"))
    (lodging.organizationID, lodging.reservation, lodging.payment) = (hotel.id, "Q-55", .deposit)
    let flight = Transportation(
      name: "Flight", tripID: trip.id, start: roman("2026-05-12", 9), zone: "Europe/Rome", type: .plane)
    _ = try await node.save(trip)
    _ = try await node.save(address)
    _ = try await node.save(hotel)
    _ = try await node.save(lodging)
    _ = try await node.save(flight)
    try await node.attach(Data("%PDF".utf8), named: "ticket.pdf", to: .transportation(flight.id))
    var leg = Leg(transportationID: flight.id, from: "FCO", to: "MXP", serviceNumber: "AZ 2010")
    (leg.departure, leg.departureZone) = (roman("2026-05-12", 9), "Europe/Rome")
    (leg.departureGateOrPlatform, leg.seatNumber) = ("B7", "12A")
    _ = try await node.save(leg)

    let page = try #require(try await node.pageDocument().trips.first)
    #expect((page.firstDay, page.lastDay) == (day("2026-05-12"), day("2026-05-14")))
    #expect(page.totals == [TripPage.Amount(amount: "120.5", currency: "EUR")])
    #expect(page.countries == ["Italy"])
    let items = try #require(page.items)
    #expect(items.map(\.name) == ["Flight", "Room 7"])
    #expect(items[0].attachments == [TripPage.File(name: "ticket.pdf", size: 4)])
    #expect(items[0].type == .plane)
    let flown = try #require(items[0].legs.first)
    #expect((flown.service, flown.seat, flown.departure.gate) == ("AZ 2010", "12A", "B7"))
    #expect((flown.departure.place, flown.arrival.place, flown.arrival.time) == ("FCO", "MXP", nil))
    #expect(
      flown.departure.time == TripPage.LocalTime(time: "2026-05-12T09:00:00+02:00", zone: "Europe/Rome"))
    #expect(items[1].legs.isEmpty)
    #expect(items[1].start == TripPage.LocalTime(time: "2026-05-12T15:00:00+02:00", zone: "Europe/Rome"))
    #expect(items[1].organization == "Albergo")
    #expect(items[1].place == "00186 Rome, Italy")
    #expect(items[1].reference == "Q-55")
    #expect(items[1].paid == .deposit)
  }

  @Test func `a trip without dates has the days of its items at their places`() async throws {
    let node = try await node()
    let trip = Trip(name: "Tokyo")
    let tokyo = TimeZone(identifier: "Asia/Tokyo") ?? .gmt
    let (arrival, departure) = (
      day("2026-05-12").noon(in: tokyo).addingTimeInterval(-4 * 3_600),
      day("2026-05-14").noon(in: tokyo).addingTimeInterval(-4 * 3_600)
    )
    _ = try await node.save(trip)
    _ = try await node.save(
      Lodging(name: "Inn", tripID: trip.id, start: arrival, end: departure, zone: "Asia/Tokyo"))
    let page = try #require(try await node.pageDocument().trips.first)
    #expect((page.firstDay, page.lastDay) == (day("2026-05-12"), day("2026-05-14")))
  }

  @Test func `details of a protected trip are only in the page of that trip`() async throws {
    let node = try await node()
    var trip = Trip(name: "Surprise", startDate: day("2026-05-12").noon(in: .gmt), notes: "for Bob")
    trip.isProtected = true
    _ = try await node.save(trip)
    let cake = try await node.save(Activity(name: "Cake", tripID: trip.id))
    var (barn, road) = (Lodging(name: "Barn", tripID: trip.id), Address())
    (barn.addressID, road.street) = (road.id, "Hay Road")
    _ = try await node.save(road)
    _ = try await node.save(barn)
    try await node.attach(Data("%PDF".utf8), named: "list.pdf", to: .activity(cake.id))
    try await node.delete(cake)
    _ = try await node.save(Activity(name: "Pie", tripID: trip.id))
    var address = Address()
    address.street = "Quiet Lane"
    _ = try await node.save(address)
    let clinic = Organization(name: "Clinic", addressID: address.id)
    _ = try await node.save(clinic)
    let shared = Organization(name: "Railway")
    _ = try await node.save(shared)
    let other = try await node.save(Trip(name: "Rome"))
    var (stay, ride) = (
      Lodging(name: "Ward", tripID: trip.id), Transportation(name: "Ride", tripID: other.id)
    )
    (stay.organizationID, ride.organizationID) = (clinic.id, shared.id)
    _ = try await node.save(stay)
    _ = try await node.save(ride)
    var away = Transportation(name: "Away", tripID: trip.id)
    away.organizationID = shared.id
    _ = try await node.save(away)
    var (airport, airline) = (Address(), Organization(name: "Stealth Air"))
    airport.street = "Runway Road"
    _ = try await node.save(airport)
    airline = try await node.save(airline)
    var leg = Leg(transportationID: away.id, from: "Hideout", serviceNumber: "SA 1")
    (leg.departureAddressID, leg.organizationID) = (airport.id, airline.id)
    _ = try await node.save(leg)
    trip.notes = "for Carol"
    _ = try await node.save(trip)
    let all = try await node.pageDocument()
    let listed = try #require(all.trips.first { $0.id == trip.id })
    #expect((listed.name, listed.notes, listed.activities) == ("Surprise", "", 1))
    #expect(all.history.count >= 7)
    #expect(listed.items == nil)
    let json = try String(decoding: all.json(), as: UTF8.self)
    #expect(json.contains("Railway") && json.contains("Ride"))
    for detail in [
      "for Bob", "for Carol", "Cake", "Barn", "Hay Road", "Pie", "list.pdf", "Clinic", "Quiet Lane", "Ward",
      "Away", "Hideout", "SA 1", "Runway Road", "Stealth Air",
    ] {
      #expect(!json.contains(detail), "\(detail)")
    }
    let alone = try #require(try await node.pageDocument(of: trip.id).trips.first)
    #expect(alone.notes == "for Carol")
    #expect(Set(alone.items?.map(\.name) ?? []) == ["Barn", "Pie", "Ward", "Away"])
    #expect(alone.items?.first { $0.name == "Barn" }?.place == "Hay Road")
  }

  @Test func `changes of other trips are shown, also of deleted ones`() async throws {
    let node = try await node()
    let trip = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Activity(name: "Colosseum", tripID: trip.id))
    try await node.delete(trip)
    let names = try await node.pageDocument().history.compactMap(\.operation.record?.name)
    #expect(names.prefix(3) == ["Rome", "Colosseum", "Rome"])
  }

  @Test func `the page of a trip says nothing else about the node`() async throws {
    let node = try await node()
    let trip = Trip(name: "Rome")
    _ = try await node.save(trip)
    _ = try await node.save(Trip(name: "Vienna"))
    _ = try await node.save(Habit(name: "Read"))
    let text = try String(decoding: await node.pageDocument(of: trip.id).json(), as: UTF8.self)
    let status = try await node.status()
    for secret in ["alice", "Vienna", "Read", status.device.description, status.circle.description] {
      #expect(!text.contains(secret), "\(secret)")
    }
  }

  @Test func `the page of a trip that does not exist is an error`() async throws {
    let node = try await node()
    await #expect { _ = try await node.pageDocument(of: .new()) } throws: {
      ($0 as? WaymarkError)?.code == .notFound
    }
  }

  // MARK: History

  @Test func `an operation has the values that it wrote and replaced`() async throws {
    let node = try await node()
    var trip = Trip(name: "Rome")
    trip = try await node.save(trip)
    trip.name = "Roma"
    _ = try await node.save(trip)
    let newest = try #require(try await node.pageDocument().history.first)
    #expect(newest.operation.verb == "trip.edit")
    #expect(newest.fields.map(\.field) == ["name"])
    #expect(newest.fields.first?.before == .text("Rome"))
    #expect(newest.fields.first?.value == .text("Roma"))
  }

  // MARK: The document

  @Test func `a document is the same after it has crossed the control socket`() async throws {
    let node = try await node()
    _ = try await node.save(Trip(name: "Rome", startDate: day("2026-05-12").noon(in: .gmt)))
    _ = try await node.save(Habit(name: "Water", counting: "glasses", dailyTarget: 8))
    let document = try await node.pageDocument()
    let copy = try AnswerCoding.decode(PageDocument.self, from: AnswerCoding.encode(document))
    #expect(try copy.json() == document.json())
    #expect(copy.trips == document.trips)
  }
}
