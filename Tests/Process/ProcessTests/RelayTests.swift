import Exchange
import Foundation
import JSONDocument
import Testing
import Wire

/// Devices that meet only through others, or at the same moment.
@Suite(.serialized) struct RelayTests {
  @Test func `Alice's import reaches Carol through Bob, without losing a digit`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle.founder, Device("bob", on: stage), Device("carol", on: stage))
    var size = SampleData.Size()
    (size.habits, size.logs, size.trips, size.items) = (8, 1_500, 6, 60)
    let trips = SampleData.travelingSnails(seed: 11, size: size)
    let files = [
      try stage.write(trips, "trips.json"),
      try stage.write(SampleData.ritualist(seed: 12, size: size), "habits.json"),
    ]
    try await alice.text("import", files[0], files[1])
    // Bob may invite, so that Carol never needs Alice.
    let ticket = try await alice.text("invite", "--role", "admin")
    try await bob.text("join", "-", "--name", "bob", input: ticket)
    try await bob.text("sync", "on")
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await alice.stop()

    try await carol.join(bob)
    try await carol.text("sync", "on")
    try await carol.start()
    try await carol.waitForSync(with: bob)
    let exported = try await exports(alice)
    #expect(try await exports(carol) == exported)
    try await itemsAreWhole(trips, exported[1])

    // Bob is away while Carol writes; then Carol is away while Alice is online.
    try await bob.stop()
    try await carol.text("trip", "add", "name=From Carol")
    try await bob.start()
    try await carol.waitForSync(with: bob)
    try await carol.stop()
    try await alice.text("habit", "add", "name=From Alice")
    try await alice.start()
    try await alice.text("sync", "now")
    try await alice.waitForSync(with: bob)
    try await alice.stop()
    try await carol.start()
    try await carol.text("sync", "now")
    try await carol.waitForSync(with: bob)
    let all = [try await alice.status(), try await bob.status(), try await carol.status()]
    #expect(Set(all.map { $0.digest("records") }).count == 1)
    #expect(Set(all.map { $0.digest("settings") }).count == 1)
    #expect(all.allSatisfy { $0.count("trips") == 7 && $0.count("habits") == 9 })
    #expect(try await exports(carol) == exports(alice))
  }

  /// Expects every item of the file in the export, with its price, its times, and its zones.
  private func itemsAreWhole(_ file: [UInt8], _ export: String) async throws {
    let (given, got) = (try items(JSON.parse(file)), try items(JSON.parse(Array(export.utf8))))
    #expect(given.count == 60)
    #expect(Set(given.keys) == Set(got.keys))
    for (id, item) in given {
      for key in ["name", "start", "end", "startTZId", "endTZId", "cost", "paid", "notes"] {
        #expect(got[id]?[key]?.text() == item[key]?.text(), "\(key) of \(id)")
      }
    }
  }

  private func items(_ file: JSON) throws -> [String: JSON] {
    var items: [String: JSON] = [:]
    for trip in file["trips"]?.array ?? [] {
      for list in ["embeddedTransportation", "embeddedLodging", "embeddedActivities"] {
        for item in trip[list]?.array ?? [] { items[item["id"]?.string ?? ""] = item }
      }
    }
    return items
  }

  @Test func `two nodes that dial each other at once end up with one connection`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.waitForSync(with: alice)
    for round in 1...3 {
      async let first = alice.stop()
      async let second = bob.stop()
      #expect(try await [first, second] == [0, 0])
      async let one: Void = alice.start()
      async let other: Void = bob.start()
      _ = try await (one, other)
      try await alice.text("trip", "add", "name=Round \(round)")
      async let hurried: Void = { _ = try await alice.text("sync", "now") }()
      _ = try await bob.text("sync", "now")
      try await hurried
      try await bob.waitForSync(with: alice)
      // A late dial may open another one for a moment.
      try await eventually("Alice and Bob keep one connection, not \(connections(to: [alice, bob]))") {
        guard try connections(to: [alice, bob]) == 1 else { return false }
        try await Task.sleep(for: .milliseconds(300))
        return try connections(to: [alice, bob]) == 1
      }
      #expect(try await bob.status().count("trips") == Int64(round))
    }
  }

  /// Established connections to the ports where these devices listen.
  private func connections(to devices: [Device]) throws -> Int {
    let ports = devices.compactMap { $0.address.split(separator: ":").last.flatMap { Int($0) } }
    // Such a file reports no size, so it is read to its end.
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/net/tcp"))
    var bytes = Data()
    while let more = try file.read(upToCount: 65_536), !more.isEmpty { bytes += more }
    let table = String(decoding: bytes, as: UTF8.self)
    return table.split(separator: "\n").dropFirst().count { line in
      let words = line.split(separator: " ")
      guard words.count > 3, words[3] == "01", let port = words[1].split(separator: ":").last else {
        return false
      }
      return ports.contains(Int(port, radix: 16) ?? 0)
    }
  }
}
