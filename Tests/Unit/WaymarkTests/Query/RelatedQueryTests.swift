import Foundation
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// Queries over records of more than one kind.
struct RelatedQueryTests {
  let alice: Node
  let rome, oslo, lima: Trip
  let airline, hotel: Organization
  private static let may = Date(timeIntervalSince1970: 1_777_593_600)

  init() async throws {
    alice = try Node.inMemory(schema: .packing)
    let trips = try await alice.save([
      Trip(name: "Rome", startDate: Self.may), Trip(name: "Oslo"), Trip(name: "Lima"),
    ])
    (rome, oslo, lima) = (trips[0], trips[1], trips[2])
    let organizations = try await alice.save([Organization(name: "zephyr"), Organization(name: "Albergo")])
    (airline, hotel) = (organizations[0], organizations[1])
    var flight = Transportation(name: "Flight", tripID: rome.id, type: .plane)
    flight.organizationID = airline.id
    var train = Transportation(name: "Train", tripID: rome.id)
    train.organizationID = hotel.id
    _ = try await alice.save([flight, train, Transportation(name: "Walk", tripID: oslo.id)])
    var tent = PackingItem("Tent", in: rome.id)
    tent.isPacked = true
    _ = try await alice.save([tent, PackingItem("Boots", in: oslo.id)])
  }

  private func names(_ query: Query<Transportation>) async throws -> [String] {
    try await alice.records(query).map(\.name).sorted()
  }

  private func trips(_ condition: Condition<Trip>) async throws -> [String] {
    try await alice.records(Trip.all.filter(condition)).map(\.name).sorted()
  }

  @Test func `records are found by what they refer to`() async throws {
    let dated = Trip.all.filter(\.startDate != nil)
    #expect(try await names(Transportation.all.filter(.refers(\.tripID, to: dated))) == ["Flight", "Train"])
    #expect(try await names(Transportation.all.filter(!.refers(\.tripID, to: dated))) == ["Walk"])
    let byName = Transportation.all.filter(
      .refers(\.organizationID, to: Organization.all.filter(.hasPrefix(\.name, "z"))))
    #expect(try await names(byName) == ["Flight"])
    #expect(
      try await names(Transportation.all.filter(!.refers(\.organizationID, to: Organization.all))) == ["Walk"]
    )
    #expect(
      try await names(Transportation.all.filter(.refers(\.tripID, to: dated) && \.type == .plane)) == [
        "Flight"
      ])
    #expect(try await alice.count(Transportation.all.filter(.refers(\.tripID, to: dated))) == 2)
    // A page of the other query counts.
    let last = Trip.all.sorted(by: \.name, order: .reverse).prefix(1)
    #expect(try await names(Transportation.all.filter(.refers(\.tripID, to: last))) == ["Flight", "Train"])
    let packed = PackingItem.all.filter(.refers(\.tripID, to: dated))
    #expect(try await alice.records(packed).map(\.name) == ["Tent"])
  }

  @Test func `records are found by what refers to them`() async throws {
    #expect(try await trips(.has(Transportation.all, \.tripID)) == ["Oslo", "Rome"])
    #expect(try await trips(!.has(Transportation.all, \.tripID)) == ["Lima"])
    #expect(try await trips(.has(Transportation.all.filter(\.type == .plane), \.tripID)) == ["Rome"])
    #expect(try await trips(.has(PackingItem.all.filter(\.isPacked == false), \.tripID)) == ["Oslo"])
    #expect(
      try await trips(
        .has(Transportation.all, \.tripID) && !.has(PackingItem.all.filter(\.isPacked == true), \.tripID))
        == ["Oslo"])
    // Three kinds: trips with a journey by an organization whose name begins with z.
    let zephyr = Organization.all.filter(.hasPrefix(\.name, "Z"))
    #expect(
      try await trips(.has(Transportation.all.filter(.refers(\.organizationID, to: zephyr)), \.tripID)) == [
        "Rome"
      ])
    #expect(
      try await alice.records(Organization.all.filter(!.has(Transportation.all, \.organizationID))).count == 1
    )
  }

  @Test func `attachments refer to items of their own kind only`() async throws {
    let flight = try #require(try await alice.first(Transportation.all.filter(\.name == "Flight")))
    _ = try await alice.attach(Data([1]), named: "a.pdf", to: .transportation(flight.id))
    // A lodging with the same id is another record.
    var inn = Lodging(id: Lodging.ID(flight.id.uuid))
    (inn.name, inn.tripID) = ("Inn", rome.id)
    _ = try await alice.save(inn)
    #expect(try await names(Transportation.all.filter(.has(Attachment.all, \.parent))) == ["Flight"])
    #expect(try await alice.count(Lodging.all.filter(.has(Attachment.all, \.parent))) == 0)
    #expect(try await alice.count(Attachment.all.filter(.refers(\.parent, to: Transportation.all))) == 1)
    #expect(try await alice.count(Attachment.all.filter(.refers(\.parent, to: Lodging.all))) == 0)
  }

  @Test func `deleted and hidden records are not related to anything`() async throws {
    let flight = try #require(try await alice.first(Transportation.all.filter(\.name == "Flight")))
    _ = try await alice.attach(Data([1]), named: "a.pdf", to: .transportation(flight.id))
    let withFiles = Organization.all.filter(
      .has(Transportation.all.filter(.has(Attachment.all, \.parent)), \.organizationID))
    #expect(try await alice.records(withFiles).map(\.name) == ["zephyr"])
    // The attachment is hidden with the trip of its item.
    let deletion = try #require(try await alice.delete(rome))
    #expect(try await alice.records(withFiles).isEmpty)
    #expect(try await trips(.has(Transportation.all, \.tripID)) == ["Oslo"])
    #expect(try await alice.count(Organization.all.filter(.has(Transportation.all, \.organizationID))) == 0)
    try await alice.undo(deletion)
    #expect(try await alice.records(withFiles).map(\.name) == ["zephyr"])
    try await alice.delete(airline, isForced: true)
    #expect(
      try await names(Transportation.all.filter(.refers(\.organizationID, to: Organization.all))) == ["Train"]
    )
    let sorted = Transportation.all.sorted(by: \.organizationID, \Organization.name).sorted(by: \.name)
    #expect(try await alice.records(sorted).map(\.name) == ["Train", "Flight", "Walk"])
  }

  @Test func `records are sorted by a property of what they refer to, in pages too`() async throws {
    for order in [SortOrder.forward, .reverse] {
      let query = Transportation.all.sorted(by: \.organizationID, \Organization.name, order: order)
      let whole = try await alice.records(query)
      #expect(
        whole.map(\.name) == (order == .forward ? ["Train", "Flight", "Walk"] : ["Flight", "Train", "Walk"]))
      for (index, record) in whole.enumerated() {
        #expect(try await alice.records(query.after(record)) == Array(whole[(index + 1)...]))
      }
    }
    let byTrip = PackingItem.all.sorted(by: \.tripID, \Trip.name)
    #expect(try await alice.records(byTrip).map(\.name) == ["Boots", "Tent"])
  }

  @Test func `a property that does not refer to the other kind is refused`() async throws {
    let refused = [
      try await refusal {
        _ = try await alice.count(Transportation.all.filter(.refers(\.tripID, to: Organization.all)))
      },
      try await refusal {
        _ = try await alice.count(Trip.all.filter(.has(Transportation.all, \.organizationID)))
      },
      try await refusal { _ = try await alice.count(Trip.all.filter(.refers(\.id, to: Trip.all))) },
      try await refusal { _ = try await alice.count(Lodging.all.sorted(by: \.tripID, \Organization.name)) },
      try await refusal {
        _ = try await alice.count(
          Lodging.all.filter(.refers(\.tripID, to: Trip.all.filter(\.name.count == 4))))
      },
    ]
    #expect(refused.allSatisfy { $0 == "unsupported_property" }, "\(refused)")
    let bare = try Node.inMemory()
    #expect(
      try await refusal { _ = try await bare.count(Trip.all.filter(.has(PackingItem.all, \.tripID))) }
        == "unknown_kind")
  }

  @Test func `a watch follows all kinds that its query names`() async throws {
    var watch = alice.watch(
      Trip.all.filter(
        .has(
          Transportation.all.filter(.refers(\.organizationID, to: Organization.all.filter(\.name == "Sun"))),
          \.tripID))
    )
    .makeAsyncIterator()
    #expect(await watch.next()?.isEmpty == true)
    try await alice.update(airline.id) { $0.name = "Sun" }
    #expect(await watch.next()?.map(\.name) == ["Rome"])
    try await alice.delete(try #require(try await alice.first(Transportation.all.filter(\.name == "Flight"))))
    #expect(await watch.next()?.isEmpty == true)
    var sorted = alice.watch(Transportation.all.sorted(by: \.organizationID, \Organization.name))
      .makeAsyncIterator()
    #expect(await sorted.next()?.first?.name == "Train")
    var flight = Transportation(name: "Bus", tripID: rome.id)
    flight.organizationID = airline.id
    _ = try await alice.save(flight)
    #expect(await sorted.next()?.map(\.name) == ["Train", "Bus", "Walk"])
    try await alice.update(airline.id) { $0.name = "Aaa" }
    #expect(await sorted.next()?.map(\.name) == ["Bus", "Train", "Walk"])
  }

  @Test func `a watch of trips reads again when the first item of one moves it in the list`() async throws {
    let alice = try Node.inMemory(name: "alice")
    let rome = try await alice.save(Trip(name: "Rome"))
    let oslo = try await alice.save(Trip(name: "Oslo"))
    var visit = Activity(name: "Walk", tripID: rome.id)
    visit.start = Date(timeIntervalSince1970: 1_000_000)
    _ = try await alice.save(visit)
    var watch = alice.watch(Trip.all).makeAsyncIterator()
    #expect(await watch.next()?.map(\.name) == ["Rome", "Oslo"])
    var earlier = Activity(name: "Ski", tripID: oslo.id)
    earlier.start = Date(timeIntervalSince1970: 500_000)
    _ = try await alice.save(earlier)
    let next = Task { [watch] in
      var watch = watch
      return await watch.next()
    }
    let order = try await within("the new order") { await next.value?.map(\.name) }
    #expect(order == ["Oslo", "Rome"])
    await alice.close()
  }

  @Test func `a watch reads again when the time reaches a date of another kind`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "carol", clock: clock)
    let now = Date(timeIntervalSince1970: Double(clock.wall()) / 1_000)
    let trip = try await node.save(Trip(name: "Rome", startDate: now + 60))
    _ = try await node.save(Activity(name: "Walk", tripID: trip.id))
    var watch = node.watch(Activity.all.filter(.refers(\.tripID, to: Trip.all.filter(\.startDate > .now))))
      .makeAsyncIterator()
    #expect(await watch.next()?.map(\.name) == ["Walk"])
    let next = Task {
      var watch = watch
      return await watch.next()
    }
    try await within("the date of the trip") { () async throws -> Void in
      while !next.isCancelled {
        try await clock.advance(by: .seconds(30))
        if await node.watchCounts.watchers == 0 { break }
      }
    }
    #expect(await next.value?.isEmpty == true)
    await node.close()
  }
}
