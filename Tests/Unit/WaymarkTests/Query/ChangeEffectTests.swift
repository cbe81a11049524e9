import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

/// One set of records, and what each way to look at them shows after each change.
struct ChangeEffectTests {
  private static let may = Date(timeIntervalSince1970: 1_777_593_600)
  private static let day: TimeInterval = 86_400

  /// What all lists and screens show.
  private struct Shown: Equatable {
    /// Trips in the order of their list.
    var trips: [String]
    /// Lodgings in the order of their list.
    var rooms: [String]
    /// The numbers of lodgings and activities, and the totals; nil if the trip is not shown.
    var rome: String?
    var oslo: String?
    var timelineOfRome: [String] = []
    var timelineOfOslo: [String] = []
    /// What a search for “casa” finds, with the trip that it is in.
    var found: [String] = []
    /// What is in the trash, with the record that hides it, sorted by name.
    var trash: [String] = []
    var files = 0
  }

  private struct Fixture {
    let node: Node
    let rome, oslo: Trip
    let casa, hotel: Lodging

    init(_ node: Node) async throws {
      let (may, day) = (ChangeEffectTests.may, ChangeEffectTests.day)
      self.node = node
      rome = try await node.save(Trip(name: "Rome"))
      oslo = try await node.save(Trip(name: "Oslo"))
      _ = try await node.save(Trip(name: "Lima", startDate: may + 3 * day))
      casa = try await node.save(
        Lodging(
          name: "Casa", tripID: rome.id, start: may + day, end: may + 2 * day, zone: "Europe/Rome",
          cost: Money(10, "EUR")))
      _ = try await node.save(Activity(name: "Forum", tripID: rome.id, start: may + 4 * day, zone: "UTC"))
      hotel = try await node.save(
        Lodging(
          name: "Hotel", tripID: oslo.id, start: may + 5 * day, end: may + 6 * day, zone: "UTC",
          cost: Money(20, "EUR")))
      _ = try await node.attach(Data([1, 2, 3]), named: "ticket.pdf", to: .lodging(casa.id))
    }

    private func text(_ overview: TripOverview?) -> String? {
      guard let overview else { return nil }
      let totals: [String] = overview.totals.map { total -> String in
        let amount = total.amount.map { "\($0)" } ?? "none"
        return " \(amount) \(total.currency ?? "")"
      }
      return "\(overview.lodgingCount)+\(overview.activityCount)" + totals.joined()
    }

    func shown() async throws -> Shown {
      let trips = try await node.records(Trip.all)
      let rooms = try await node.records(Lodging.all)
      let all = try await node.read(.overviews(of: Trip.all))
      let ofRome = try await node.read(.overview(of: rome.id))
      let ofOslo = try await node.read(.overview(of: oslo.id))
      // A trip has the same totals alone and in a list.
      let listed = all.first { $0.id == rome.id }
      #expect(listed == ofRome)
      var shown = Shown(trips: trips.map(\.name), rooms: rooms.map(\.name))
      (shown.rome, shown.oslo) = (text(ofRome), text(ofOslo))
      shown.timelineOfRome = try await node.read(.timeline(of: rome.id)).map { $0.item.name }
      shown.timelineOfOslo = try await node.read(.timeline(of: oslo.id)).map { $0.item.name }
      let result = try await node.find("casa")
      #expect(result.total == result.matches.count)
      shown.found = result.matches.map { "\($0.name ?? "") in \($0.parent?.name ?? "nothing")" }
      let trash = try await node.read(.trash)
      let lines: [String] = trash.map { deleted -> String in
        let name = deleted.record.name ?? ""
        guard let above = deleted.hiddenBy else { return name }
        return "\(name) below \(above.name ?? "")"
      }
      shown.trash = lines.sorted()
      shown.files = try await node.count(Attachment.all)
      return shown
    }
  }

  /// What is shown at first.
  private var beginning: Shown {
    Shown(
      trips: ["Rome", "Lima", "Oslo"], rooms: ["Casa", "Hotel"], rome: "1+1 10 EUR", oslo: "1+0 20 EUR",
      timelineOfRome: ["Casa", "Forum"], timelineOfOslo: ["Hotel"], found: ["Casa in Rome"], files: 1)
  }

  @Test func `an item that moves to another trip takes its sums, its times and its files along, and back`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let fixture = try await Fixture(alice.node)
    var expected = beginning
    #expect(try await fixture.shown() == expected)
    let (casa, oslo) = (fixture.casa.id, fixture.oslo.id)
    try await alice.node.update(casa) { $0.tripID = oslo }
    // Trips without a start of their own are listed by their first item.
    (expected.trips, expected.rome, expected.oslo) = (["Oslo", "Lima", "Rome"], "0+1", "2+0 30 EUR")
    (expected.timelineOfRome, expected.timelineOfOslo) = (["Forum"], ["Casa", "Hotel"])
    expected.found = ["Casa in Oslo"]
    #expect(try await fixture.shown() == expected)
    // What belongs to the item goes with it, so the deletion of its former trip does not hide it.
    try await alice.node.delete(fixture.rome)
    (expected.trips, expected.rome, expected.timelineOfRome) = (["Oslo", "Lima"], nil, [])
    expected.trash = ["Forum below Rome", "Rome"]
    #expect(try await fixture.shown() == expected)
    try await alice.node.undoNewest()
    try await alice.node.undoNewest()
    #expect(try await fixture.shown() == beginning)
    await alice.close()
  }

  @Test func `an edit is shown everywhere, and its undo too`() async throws {
    let alice = try await TestNode.founder("alice")
    let fixture = try await Fixture(alice.node)
    try await alice.node.update(fixture.casa.id) { room in
      (room.name, room.cost) = ("Casa Rosa", Money(15, "CHF"))
      room.start = Self.may + 5.5 * Self.day
      room.end = Self.may + 5.75 * Self.day
    }
    var expected = beginning
    (expected.trips, expected.rooms) = (["Lima", "Rome", "Oslo"], ["Hotel", "Casa Rosa"])
    (expected.rome, expected.timelineOfRome) = ("1+1 15 CHF", ["Forum", "Casa Rosa"])
    expected.found = ["Casa Rosa in Rome"]
    #expect(try await fixture.shown() == expected)
    try await alice.node.undoNewest()
    #expect(try await fixture.shown() == beginning)
    await alice.close()
  }

  @Test func `a deleted item and a deleted trip leave all lists and come back alone`() async throws {
    let alice = try await TestNode.founder("alice")
    let fixture = try await Fixture(alice.node)
    try await alice.node.delete(fixture.casa)
    var expected = beginning
    (expected.trips, expected.rooms, expected.rome) = (["Lima", "Rome", "Oslo"], ["Hotel"], "0+1")
    (expected.timelineOfRome, expected.found, expected.files) = (["Forum"], [], 0)
    expected.trash = ["Casa", "ticket.pdf below Casa"]
    #expect(try await fixture.shown() == expected)
    try await alice.node.delete(fixture.rome)
    (expected.trips, expected.rome, expected.timelineOfRome) = (["Lima", "Oslo"], nil, [])
    expected.trash = ["Casa", "Forum below Rome", "Rome", "ticket.pdf below Casa"]
    #expect(try await fixture.shown() == expected)
    // The item is restored, and still hidden by its trip.
    #expect(try await alice.node.restore(fixture.casa.id) == nil)
    expected.trash = ["Casa below Rome", "Forum below Rome", "Rome", "ticket.pdf below Rome"]
    #expect(try await fixture.shown() == expected)
    try await alice.node.restore(fixture.rome.id)
    #expect(try await fixture.shown() == beginning)
    await alice.close()
  }

  @Test func `what is erased is shown nowhere, and the others stay`() async throws {
    let alice = try await TestNode.founder("alice")
    let fixture = try await Fixture(alice.node)
    try await alice.node.erase(fixture.hotel)
    var expected = beginning
    (expected.rooms, expected.oslo, expected.timelineOfOslo) = (["Casa"], "0+0", [])
    #expect(try await fixture.shown() == expected)
    try await alice.node.erase(fixture.rome)
    (expected.trips, expected.rooms, expected.rome) = (["Lima", "Oslo"], [], nil)
    (expected.timelineOfRome, expected.found, expected.files) = ([], [], 0)
    #expect(try await fixture.shown() == expected)
    await alice.close()
  }

  @Test func `the trash has the latest deletion first, across kinds and with what it hides`() async throws {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let node = alice.node
    let rome = try await node.save(Trip(name: "Rome"))
    let oslo = try await node.save(Trip(name: "Oslo"))
    let casa = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    _ = try await node.save([
      Lodging(name: "Villa", tripID: rome.id), Lodging(name: "Hotel", tripID: oslo.id),
    ])
    let habit = try await node.save(Habit(name: "Read"))
    now.value += 1_000
    try await node.delete(casa)
    now.value += 1_000
    try await node.delete(habit)
    now.value += 1_000
    try await node.delete(rome)
    now.value += 1_000
    try await node.delete(oslo)
    func seconds(_ date: Date) -> Int64 {
      (Int64((date.timeIntervalSince1970 * 1_000).rounded()) - TestNode.morning) / 1_000
    }
    let trash = try await node.read(.trash)
    #expect(trash.map { seconds($0.deletedDate) } == [4, 4, 3, 3, 2, 1])
    let lines = trash.map { "\($0.record.name ?? "") \(seconds($0.deletedDate)) \($0.hiddenBy?.name ?? "-")" }
    #expect(
      lines.sorted() == ["Casa 1 -", "Hotel 4 Oslo", "Oslo 4 -", "Read 2 -", "Rome 3 -", "Villa 3 Rome"])
    #expect(try await node.deleted(Lodging.self).map(\.record.name) == ["Hotel", "Villa", "Casa"])
    await alice.close()
  }
}
