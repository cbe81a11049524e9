import Foundation
import Home
import JSONDocument
import Model
import SQLite
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// A comparison with a peer that finds more records than it names.
struct LongDifferenceTests {
  /// A digest has a bucket for each first byte of an id, and a comparison ends once it has twenty records.
  @Test func `a comparison says that there are more differences than it names`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    for number in 0..<21 {
      let start = String(format: "%02x", 2 * number + 1)
      let id = try #require(Trip.ID("\(start)000000-0000-7000-8000-000000000000"))
      _ = try await circle["alice"].save(Trip(name: "Trip \(number)", id: id))
    }
    try await circle.inSync()
    let address = try #require(try await circle["alice"].status().address)
    let home = circle["bob"].home
    await circle["bob"].close()
    try damage(home.store)
    let bob = try Node(home: home)
    try await bob.serve(listen: "127.0.0.1:0", peers: [address])
    _ = try await bob.run("wait", ["lane": "settings", "timeoutMilliseconds": 10_000])
    let document = try await bob.run("verify", ["peer": "alice"])
    let records = document["peers"]?[0]?["lanes"]?["records"]
    #expect(document["verdict"] == "differs")
    #expect(records?["records"]?.array?.count == 20)
    #expect(records?["more"] == true)
    await bob.close()
  }

  /// Makes every trip unreadable.
  private func damage(_ store: String) throws {
    let connection = try Connection(.file(store))
    try connection.setUp()
    try connection.execute("UPDATE trip_rows SET stamps = x'ff'; DELETE FROM digests WHERE lane = 1")
  }
}
