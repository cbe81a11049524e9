import Foundation
import Model
import SQLite
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Reading a home whose node is open elsewhere.
struct StoreReaderTests {
  @Test func `a reader sees what a node has written: open, suspended and closed`() async throws {
    let test = try TestHome()
    let reader = StoreReader(test.home)
    #expect(try await refusal { _ = try reader.records(Trip.all) } == "no_store")
    let node = try await Node.open(test.home, name: "alice")
    #expect(try reader.records(Trip.all) == [])
    let start = Date(timeIntervalSinceNow: 86_400)
    let rome = try await node.save(Trip(name: "Rome", startDate: start))
    _ = try await node.save(Lodging(name: "Casa Rosa", tripID: rome.id))
    let water = try await node.save(Habit(name: "Water"))
    try await node.update(Profile.only) { $0.name = "Anna" }
    try await node.set(.colorScheme, to: .dark)
    for state in ["open", "suspended", "resumed", "closed"] {
      switch state {
      case "suspended": await node.suspend()
      case "resumed": try await node.resume()
      case "closed": await node.close()
      default: break
      }
      #expect(try reader.records(Trip.all.filter(\.startDate >= .now)).map(\.name) == ["Rome"])
      #expect(try reader.records(Trip.all.filter(.contains(\.name, "OM"))).map(\.name) == ["Rome"])
      #expect(try reader.record(rome.id)?.name == "Rome")
      #expect(try reader.count(Lodging.all) == 1)
      #expect(try reader.timeline(of: rome.id).count == 1)
      #expect(try reader.overviews(of: Trip.all).count == 1)
      #expect(try reader.overview(of: rome.id)?.trip.name == "Rome")
      #expect(try reader.today().habits.count == 1)
      #expect(try reader.progress(of: Habit.all).map(\.habit.id) == [water.id])
      #expect(try reader.progress(of: water.id) != nil)
      #expect(try reader.profile().name == "Anna")
      #expect(try reader.organizations().all.count == 1)
      #expect(try reader.value(of: .colorScheme) == .dark)
    }
  }

  @Test func `a reader needs neither lock nor keys, and leaves a node alone`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    _ = try await node.save(Trip(name: "Rome"))
    await node.close()
    try FileManager.default.removeItem(atPath: test.home.keys)
    let reader = StoreReader(test.home)
    #expect(try reader.count(Trip.all) == 1)
    let again = try HomeLock(test.home)
    #expect(try reader.count(Trip.all) == 1)
    again.release()
  }

  @Test func `reading while a node writes`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let reader = StoreReader(test.home)
    let reading = Task.detached {
      var seen = 0
      while seen < 200 {
        let count = try reader.count(Trip.all)
        #expect(count >= seen && count % 2 == 0)
        seen = count
        // A loop without a pause would take a thread away from all other tests.
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    for number in 1...100 {
      _ = try await node.save([Trip(name: "Trip \(number)"), Trip(name: "Other trip \(number)")])
    }
    try await within("the reader has seen all trips") { try await reading.value }
    await node.close()
  }

  @Test func `tables of another version are refused by name, and stay as they are`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.close()
    let reader = StoreReader(test.home)
    for (change, code) in [
      ("UPDATE meta SET value = 'other' WHERE key = 'derived'", "outdated_store"),
      ("UPDATE meta SET value = 99 WHERE key = 'schema'", "newer_store"),
    ] {
      do {
        let store = try Connection(.file(test.home.store))
        try store.execute(change)
      }
      #expect(try await refusal { _ = try reader.count(Trip.all) } == code)
    }
  }

  @Test func `a kind of an app is read once its node has opened the store`() async throws {
    let test = try TestHome()
    let reader = StoreReader(test.home)
    await (try Node.open(test.home, name: "alice")).close()
    #expect(try await refusal { _ = try reader.count(PackingItem.all) } == "unknown_kind")
    let node = try await Node.open(test.home, name: "alice", schema: .packing)
    let trip = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(PackingItem("Tent", in: trip.id))
    #expect(try reader.records(PackingItem.all).map(\.name) == ["Tent"])
    await node.close()
  }
}
