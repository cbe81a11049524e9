import Foundation
import Testing
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import WaymarkPage

/// What a page lists: the newest operations, conflicts, and the details of habits and trips.
@Suite struct PageListTests {
  // MARK: Operations and conflicts

  @Test func `the newest hundred operations are shown, and whether there are older ones`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    for number in 1...PageDocument.operationsMax { _ = try await node.save(Trip(name: "Trip \(number)")) }
    let all = try await node.pageDocument()
    #expect(all.history.count == PageDocument.operationsMax && !all.hasMoreHistory)
    #expect(all.history.last?.operation.record?.name == "Trip 1")
    _ = try await node.save(Trip(name: "Newest"))
    let newest = try await node.pageDocument()
    #expect(newest.history.count == PageDocument.operationsMax && newest.hasMoreHistory)
    #expect(newest.history.first?.operation.record?.name == "Newest")
    #expect(newest.history.last?.operation.record?.name == "Trip 2")
    await node.close()
  }

  @Test func `an operation on several records has no values of one of them`() async throws {
    let node = try await node()
    let (first, second) = (Trip(name: "Rome"), Trip(name: "Vienna"))
    try await node.change { changes in
      changes.save(first)
      changes.save(second)
    }
    let newest = try #require(try await node.pageDocument().history.first)
    #expect(newest.operation.record == nil && newest.fields.isEmpty)
    #expect(newest.operation.counts.map(\.kind) == [.trip])
    await node.close()
  }

  @Test func `conflicts are listed, but not those in protected trips, which are only counted`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    var surprise = Trip(name: "Surprise")
    surprise.isProtected = true
    surprise = try await alice.save(surprise)
    let cake = try await alice.save(Activity(name: "Cake", tripID: surprise.id))
    let open = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    for (node, word) in [(alice, "Apple"), (bob, "Berry")] {
      try await node.update(cake.id) { $0.name = "\(word) cake" }
      try await node.update(open.id) { $0.name = "\(word) trip" }
    }
    await circle.connect("alice", "bob")
    try await circle.settle()
    for node in [alice, bob] {
      let document = try await node.pageDocument()
      #expect(document.status?.conflicts == 2)
      let listed = try #require(document.conflicts.first)
      #expect(document.conflicts.count == 1 && listed.kind == .trip && listed.field == "name")
      let json = try String(decoding: document.json(), as: UTF8.self)
      #expect(json.contains("Apple trip") && json.contains("Berry trip"))
      #expect(!json.contains("Apple cake") && !json.contains("Berry cake"))
    }
    await circle.close()
  }

  @Test func `what open trips use is named beside a protected one, and so is what no trip uses`() async throws
  {
    let node = try await node()
    var surprise = Trip(name: "Surprise")
    surprise.isProtected = true
    surprise = try await node.save(surprise)
    let rome = try await node.save(Trip(name: "Rome"))
    var (used, free, quiet) = (Address(), Address(), Address())
    (used.street, free.street, quiet.street) = ("Main Road", "Free Road", "Quiet Road")
    for address in [used, free, quiet] { _ = try await node.save(address) }
    let (hotel, library, clinic) = (
      Organization(name: "Albergo", addressID: used.id), Organization(name: "Library", addressID: free.id),
      Organization(name: "Clinic", addressID: quiet.id)
    )
    for organization in [hotel, library, clinic] { _ = try await node.save(organization) }
    var (room, ward) = (Lodging(name: "Room 7", tripID: rome.id), Lodging(name: "Ward", tripID: surprise.id))
    (room.organizationID, ward.organizationID) = (hotel.id, clinic.id)
    _ = try await node.save(room)
    _ = try await node.save(ward)
    let flight = try await node.save(Transportation(name: "Flight", tripID: rome.id))
    _ = try await node.save(
      Leg(transportationID: flight.id, from: "FCO", to: "MXP", serviceNumber: "AZ 2010"))
    try await node.attach(Data("%PDF".utf8), named: "ticket.pdf", to: .transportation(flight.id))
    let history = try await node.pageDocument().history
    let names = Set(history.compactMap(\.operation.record?.name))
    #expect(names.isSuperset(of: ["Rome", "Albergo", "Library", "Room 7", "Flight"]))
    #expect(names.isDisjoint(with: ["Surprise", "Clinic", "Ward"]))
    // Legs have no names, so their values tell.
    let texts = history.filter { $0.operation.record != nil }.flatMap(\.fields).map(\.value)
    for text in ["AZ 2010", "ticket.pdf"] {
      #expect(texts.contains(.text(text)), "\(text)")
    }
    #expect(!texts.contains(.text("Quiet Road")))
    await node.close()
  }

  // MARK: Habits

  @Test func `a habit has its current and its best streak, its unit and its target`() async throws {
    let node = try await node()
    let water = Habit(name: "Water", counting: "glasses", dailyTarget: 8, emoji: "💧")
    _ = try await node.save(water)
    for date in ["2026-05-01", "2026-05-02", "2026-05-03", "2026-05-04", "2026-05-08", "2026-05-09"] {
      try await node.setTotal(8, of: water.id, on: day(date), zone: .gmt)
    }
    let page = try #require(try await node.pageDocument().habits.first { $0.id == water.id })
    #expect((page.streak, page.bestStreak) == (2, 4))
    #expect(page.unit == "glasses" && page.target == 8 && page.emoji == "💧")
    #expect(page.weekdays == [1, 2, 3, 4, 5, 6, 7])
    #expect(page.firstDay == day("2026-05-01") && page.days == "ddddmmmddo" && !page.hasEarlier)
    await node.close()
  }

  @Test func `a habit has the name under which its category is shown`() async throws {
    let node = try await node()
    var body = HabitCategory(key: "body-work", name: "Body")
    body.displayName = "Health & Body"
    _ = try await node.save(body)
    _ = try await node.save(HabitCategory(key: "mind-work", name: "Mind"))
    _ = try await node.save(Habit(name: "Run", categoryKey: "body-work"))
    _ = try await node.save(Habit(name: "Read", categoryKey: "mind-work"))
    _ = try await node.save(Habit(name: "Rest"))
    let habits = try await node.pageDocument().habits
    func category(_ name: String) -> String? { habits.first { $0.name == name }?.category }
    #expect(category("Run") == "Health & Body")
    #expect(category("Read") == "Mind")
    #expect(category("Rest") == nil)
    await node.close()
  }

  @Test func `a habit is in use unless it is inactive or archived`() async throws {
    let node = try await node()
    _ = try await node.save(Habit(name: "Read"))
    var (paused, archived) = (Habit(name: "Run"), Habit(name: "Rest"))
    paused.isActive = false
    archived.archivedDate = day("2026-05-09").noon(in: .gmt)
    _ = try await node.save(paused)
    _ = try await node.save(archived)
    let habits = try await node.pageDocument().habits
    #expect(habits.count == 3)
    let used = habits.filter(\.isActive).map(\.name)
    #expect(used == ["Read"])
    await node.close()
  }

  // MARK: Trips

  @Test func `the place of an item is its own name, else its own address, else that of the organization`()
    async throws
  {
    let node = try await node()
    let trip = try await node.save(Trip(name: "Italy"))
    var (bridge, own, office) = (Address(), Address(), Address())
    (bridge.street, bridge.country) = ("Quay 3", "Italy")
    own.formattedAddress = "Via Larga 1\n20122 Milano\nItalia"
    (own.country, office.street, office.city, office.country) = ("Italy", "Ring 2", "Vienna", "Austria")
    _ = try await node.save(bridge)
    _ = try await node.save(own)
    _ = try await node.save(office)
    let company = Organization(name: "Tours", addressID: office.id)
    _ = try await node.save(company)
    var (named, housed, hosted) = (
      Activity(name: "Named", tripID: trip.id), Lodging(name: "Housed", tripID: trip.id),
      Lodging(name: "Hosted", tripID: trip.id)
    )
    (named.customLocationName, named.addressID, named.organizationID) = ("The bridge", bridge.id, company.id)
    (housed.addressID, housed.organizationID) = (own.id, company.id)
    hosted.organizationID = company.id
    _ = try await node.save(named)
    _ = try await node.save(housed)
    _ = try await node.save(hosted)
    _ = try await node.save(Activity(name: "Nowhere", tripID: trip.id))
    let page = try #require(try await node.pageDocument().trips.first)
    let items = try #require(page.items)
    func place(_ name: String) -> String? { items.first { $0.name == name }?.place }
    #expect(place("Named") == "The bridge")
    #expect(place("Housed") == "Via Larga 1, 20122 Milano, Italia")
    #expect(place("Hosted") == "Ring 2, Vienna, Austria")
    #expect(place("Nowhere") == nil)
    #expect(items.first { $0.name == "Nowhere" }?.organization == nil)
    #expect(page.countries == ["Austria", "Italy"])
    await node.close()
  }

  @Test func `each currency has its own total, and costs without a currency have one too`() async throws {
    let node = try await node()
    let trip = try await node.save(Trip(name: "Italy"))
    for (name, amount, currency) in [
      ("A", "1.10", "EUR"), ("B", "2.20", "EUR"), ("C", "5", "CHF"), ("D", "7", nil),
    ] as [(String, String, String?)] {
      let cost = try Money(exactly: amount, currency)
      _ = try await node.save(Lodging(name: name, tripID: trip.id, cost: cost))
    }
    let page = try #require(try await node.pageDocument().trips.first)
    #expect(
      page.totals == [
        TripPage.Amount(amount: "7", currency: nil), TripPage.Amount(amount: "5", currency: "CHF"),
        TripPage.Amount(amount: "3.3", currency: "EUR"),
      ])
    #expect((page.lodgings, page.transportations, page.activities) == (4, 0, 0))
    await node.close()
  }

  @Test func `an end is shown in its own zone, and the days of a trip go before those of its items`()
    async throws
  {
    let node = try await node()
    let trip = Trip(
      name: "Far", startDate: day("2026-05-12").noon(in: .gmt), endDate: day("2026-05-20").noon(in: .gmt))
    _ = try await node.save(trip)
    let noon = day("2026-05-14").noon(in: .gmt)
    var flight = Transportation(
      name: "Flight", tripID: trip.id, start: noon, end: noon.addingTimeInterval(12 * 3_600),
      zone: "Europe/Rome")
    flight.endZone = "Asia/Tokyo"
    _ = try await node.save(flight)
    let page = try #require(try await node.pageDocument().trips.first)
    #expect((page.firstDay, page.lastDay) == (day("2026-05-12"), day("2026-05-20")))
    let item = try #require(page.items?.first)
    #expect(item.start == TripPage.LocalTime(time: "2026-05-14T14:00:00+02:00", zone: "Europe/Rome"))
    #expect(item.end == TripPage.LocalTime(time: "2026-05-15T09:00:00+09:00", zone: "Asia/Tokyo"))
    await node.close()
  }
}
