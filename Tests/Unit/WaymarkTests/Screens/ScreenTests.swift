import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Model
@testable import Waymark

@Suite struct ScreenTests {
  let alice: TestNode
  private let node: Node

  init() async throws {
    alice = try await TestNode.founder("alice")
    node = alice.node
  }

  @Test func `a picker has None first, then the alphabet, and searches regardless of case`() async throws {
    let lists = Watcher(node.watch(.organizations))
    #expect(try await lists.next("None").all.map(\.name) == ["None"])
    _ = try await node.save(["ÉCOLE", "beta", "Alpha Air", "Zug"].map { Organization(name: $0) })
    let list = try await lists.next("four organizations")
    #expect(list.all.map(\.name) == ["None", "Alpha Air", "beta", "ÉCOLE", "Zug"])
    #expect(list.matching("école").map(\.name) == ["ÉCOLE"])
    #expect(list.matching("N").map(\.name) == ["None"])
    #expect(list.matching("A").map(\.name) == ["Alpha Air", "beta"])
    #expect(list[nil].name == "None" && list[.new()].name == "None")
    #expect(list[list.all[2].id].name == "beta")
  }

  @Test func `a trip's totals and timeline follow its items`() async throws {
    let trip = try await node.save(Trip(name: "Rome"))
    let start = Date(timeIntervalSince1970: 1_777_593_600)
    let overviews = Watcher(node.watch(.overviews(of: Trip.all)))
    let timelines = Watcher(node.watch(.timeline(of: trip.id)))
    #expect(try await overviews.next("a trip without items").first?.itemCount == 0)
    #expect(try await timelines.next("an empty timeline") == [])
    let cost = Money(Decimal(string: "0.10") ?? 0, "EUR")
    try await node.change { changes in
      changes.save(Activity(name: "Colosseum", tripID: trip.id, start: start + 7_200, zone: "Europe/Rome"))
      changes.save(
        Lodging(
          name: "Casa", tripID: trip.id, start: start, end: start + 86_400, zone: "Europe/Rome", cost: cost))
      changes.save(Transportation(name: "Train", tripID: trip.id, start: start, cost: cost, type: .train))
      changes.save(Activity(name: "Someday", tripID: trip.id))
    }
    let overview = try #require(try await overviews.next("totals").first)
    #expect((overview.lodgingCount, overview.transportationCount, overview.activityCount) == (1, 1, 2))
    #expect(overview.totals == [.init(amount: Decimal(string: "0.20"), currency: "EUR")])
    #expect((overview.firstStart, overview.lastEnd) == (start, start + 86_400))
    #expect(try await node.read(.overview(of: trip.id)) == overview)
    let timeline = try await timelines.next("a timeline")
    #expect(timeline.map(\.item.name) == ["Casa", "Train", "Colosseum", "Someday"])
    #expect(timeline[0].day == Day("2026-05-01") && timeline[3].day == nil)
    // A hundred trips are read with their totals in one query.
    _ = try await node.save((0..<100).map { Trip(name: "Journey \($0)") })
    let all = try await node.read(.overviews(of: Trip.all))
    #expect(all.count == 101 && all.first { $0.id == trip.id }?.itemCount == 4)
  }

  @Test func `files belong to items and are read back completely`() async throws {
    let trip = try await node.save(Trip(name: "Rome"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let file = try await node.attach(bytes, named: "ticket.pdf", to: .lodging(hotel.id))
    #expect((file.fileName, file.mimeType, file.fileSize) == ("ticket.pdf", "application/pdf", 100_000))
    #expect(try await node.records(.of(.lodging(hotel.id))) == [file])
    #expect(try await node.records(.of(.activity(Activity.ID(hotel.id.uuid)))) == [])
    #expect(try await node.data(of: file) == bytes)
    await #expect(throws: WaymarkError.self) {
      try await node.attach(bytes, named: "x.pdf", to: .activity(Activity.ID(hotel.id.uuid)))
    }
    #expect(try await node.avatar() == nil)
    try await node.setAvatar(bytes)
    #expect(try await node.avatar() == bytes)
    try await node.setAvatar(nil)
    #expect(try await node.avatar() == nil)
  }
}
