import Foundation
import JSONDocument
import Model
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

@Suite struct QueryTests {
  let alice: TestNode
  private static let may = Date(timeIntervalSince1970: 1_777_593_600)

  init() async throws {
    alice = try await TestNode.founder("alice")
    var trips = [
      Trip(name: "rome", startDate: Self.may, notes: "Über die Alpen"),
      Trip(name: "Oslo", startDate: Self.may + 86_400),
      Trip(name: "Ávila"), Trip(name: "Lima", startDate: Self.may - 86_400, endDate: Self.may),
    ]
    trips[1].isProtected = true
    _ = try await alice.node.save(trips)
  }

  private func names(_ query: Query<Trip>) async throws -> [String] {
    try await alice.node.records(query).map(\.name)
  }

  @Test func `a text matches records that contain each of its words`() async throws {
    let table: [(String, [String])] = [
      ("uber", ["rome"]), ("ALPEN rom", ["rome"]), ("alp o", ["rome"]), ("avi", ["Ávila"]),
      ("alpen oslo", []),
      ("  ", ["Lima", "rome", "Oslo", "Ávila"]), ("o", ["rome", "Oslo"]), ("\"rome\" OR", []), ("rome*", []),
      ("NEAR(", []), (String(repeating: "rome ", count: 1_000), ["rome"]), ("false", []),
    ]
    for (text, expected) in table {
      #expect(try await names(Trip.all.matching(text)) == expected, "\(text.prefix(20))")
      #expect(try await alice.node.count(Trip.all.matching(text)) == expected.count)
    }
    let query = Trip.all.filter(\.startDate != nil).matching("o").sorted(by: \.name)
    #expect(try await names(query) == ["Oslo", "rome"])
    let oslo = try #require(try await alice.node.first(query))
    #expect(try await names(query.after(oslo).prefix(5)) == ["rome"])
    var watch = alice.node.watch(Trip.all.matching("bergen")).makeAsyncIterator()
    #expect(await watch.next()?.isEmpty == true)
    try await alice.node.update(oslo.id) { $0.name = "Bergen" }
    #expect(await watch.next()?.map(\.id) == [oslo.id])
    let items = Activity.all.filter(.refers(\.tripID, to: Trip.all.matching("bergen")))
    #expect(try await alice.node.count(items) == 0)
  }

  @Test func `records are filtered by the values of their properties`() async throws {
    let table: [(Condition<Trip>, [String])] = [
      (\.startDate >= Self.may, ["rome", "Oslo"]), (\.startDate < Self.may, ["Lima"]),
      (\.startDate <= Self.may, ["Lima", "rome"]), (\.startDate > Self.may, ["Oslo"]),
      (\.startDate == nil, ["Ávila"]), (\.endDate != nil, ["Lima"]), (\.name == "Oslo", ["Oslo"]),
      (\.name == "oslo", []), (\.isProtected == true, ["Oslo"]),
      (\.isProtected == false, ["Lima", "rome", "Ávila"]), (\.notes == "", ["Lima", "Oslo", "Ávila"]),
      (\.notes != "", ["rome"]), (.contains(\.notes, "über"), ["rome"]), (.contains(\.name, "ÁV"), ["Ávila"]),
      (.contains(\.name, "%"), []), (.hasPrefix(\.name, "O"), ["Oslo"]),
      (.hasPrefix(\.name, "o"), ["Oslo"]), (.hasPrefix(\.name, "áv"), ["Ávila"]),
      (.hasPrefix(\.name, "slo"), []), (.contains(\.name, "av"), ["Ávila"]),
      (.contains(\.notes, "uber"), ["rome"]),
      (.hasPrefix(\.name, "AVI"), ["Ávila"]),
      (.hasPrefix(\.name, ""), ["Lima", "rome", "Oslo", "Ávila"]),
      (\.name == "rome" || \.name == "Lima", ["Lima", "rome"]),
      (\.startDate >= Self.may && \.isProtected == false, ["rome"]),
      (!(\.startDate >= Self.may), ["Lima", "Ávila"]), (.isIn(\.name, ["Oslo", "x"]), ["Oslo"]),
      (.isIn(\.name, [String]()), []), (!.isIn(\.name, ["Oslo"]), ["Lima", "rome", "Ávila"]),
      (.ids([]), []),
    ]
    for (condition, expected) in table {
      let query = Trip.all.filter(condition)
      #expect(try await names(query) == expected, "\(condition)")
      #expect(try await alice.node.count(query) == expected.count, "\(condition)")
    }
    let oslo = try #require(try await alice.node.records(Trip.all.filter(\.name == "Oslo")).first)
    #expect(try await names(Trip.all.filter(.ids([oslo.id, .new()]))) == ["Oslo"])
    #expect(try await names(Trip.all.filter(\.id == oslo.id)) == ["Oslo"])
    #expect(try await names(Trip.all.filter(\.id != oslo.id)).count == 3)
    let byID = try await alice.node.records(Trip.all.sorted(by: \.id)).map(\.id)
    #expect(byID == byID.sorted { $0.description < $1.description })
    let train = Transportation(name: "Train", tripID: oslo.id, type: .train)
    _ = try await alice.node.save([train, Transportation(name: "Walk", tripID: oslo.id)])
    #expect(
      try await alice.node.records(Transportation.all.filter(\.type == .train)).map(\.name) == ["Train"])
    #expect(try await alice.node.count(Transportation.all.filter(\.type == nil)) == 1)
    #expect(try await alice.node.count(Transportation.all.filter(\.payment == .unpaid)) == 2)
  }

  @Test(arguments: [999, 5_000, 40_000])
  func `one among very many values is found`(_ count: Int) async throws {
    let numbers = (0..<count).map { Date(timeIntervalSince1970: Double($0)) } + [Self.may]
    #expect(try await names(Trip.all.filter(.isIn(\.startDate, numbers))) == ["rome"])
    #expect(
      try await names(Trip.all.filter(.isIn(\.startDate, numbers.map(Optional.some) + [nil]))).sorted()
        == ["rome", "Ávila"])
    let rome = try #require(try await alice.node.records(Trip.all.filter(\.name == "rome")).first)
    let ids = (0..<count).map { _ in Trip.ID.new() } + [rome.id]
    #expect(try await names(Trip.all.filter(.ids(ids))) == ["rome"])
    #expect(try await names(Trip.all.filter(.isIn(\.id, ids))) == ["rome"])
    let texts = (0..<count).map { "it's \($0)" } + ["Ávila"]
    #expect(try await names(Trip.all.filter(.isIn(\.name, texts))) == ["Ávila"])
  }

  @Test func `records are sorted, and returned in pages`() async throws {
    #expect(try await names(Trip.all) == ["Lima", "rome", "Oslo", "Ávila"])
    #expect(try await names(Trip.all.sorted(by: \.name)) == ["Ávila", "Lima", "Oslo", "rome"])
    let backwards = Trip.all.sorted(by: \.startDate, order: .reverse)
    #expect(try await names(backwards) == ["Oslo", "rome", "Lima", "Ávila"])
    #expect(try await names(backwards.prefix(2)) == ["Oslo", "rome"])
    #expect(try await names(backwards.dropFirst(1).prefix(2)) == ["rome", "Lima"])
    #expect(try await names(backwards.prefix(3).dropFirst(2)) == ["Lima"])
    #expect(try await names(Trip.all.sorted(by: \.isProtected).sorted(by: \.name)).last == "Oslo")
    #expect(try await alice.node.count(backwards.prefix(3)) == 3)
  }

  @Test func `items of a trip and entries of a habit are found by its id`() async throws {
    let node = alice.node
    let rome = try #require(try await node.records(Trip.all.filter(\.name == "rome")).first)
    _ = try await node.save([
      Lodging(name: "late", tripID: rome.id, start: Self.may + 100),
      Lodging(name: "early", tripID: rome.id, start: Self.may),
    ])
    #expect(
      try await node.records(Lodging.all.filter(\.tripID == rome.id)).map(\.name) == ["early", "late"])
    let habit = try await node.save(Habit(name: "Water"))
    let utc = try #require(TimeZone(identifier: "UTC"))
    for offset in [0.0, 3_600, 86_400] {
      _ = try await node.save(HabitEntry(habitID: habit.id, date: Self.may + offset, zone: utc))
    }
    let day = try #require(Day("2026-05-01"))
    #expect(try await node.count(HabitEntry.all.filter(\.habitID == habit.id && \.day == day)) == 2)
    #expect(try await node.count(HabitEntry.all.filter(\.day > day)) == 1)
  }

  @Test func `a query by a key path that is not stored is refused, and does not trap`() async throws {
    let queries = [
      Trip.all.filter(\.name.count == 4), Trip.all.sorted(by: \.name.isEmpty),
      Trip.all.filter(\.name == "Oslo" || !(\.name.count > 4)),
    ]
    for query in queries {
      let failures = [
        try await refusal { _ = try await alice.node.records(query) },
        try await refusal { _ = try await alice.node.count(query) },
        try await refusal { _ = try await alice.node.read(.overviews(of: query)) },
      ]
      #expect(failures.allSatisfy { $0 == "unsupported_property" }, "\(failures)")
    }
  }
}
