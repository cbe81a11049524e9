import Foundation
import Home
import Model
import Reasons
import SQLite
import Testing
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// What a deep verification of a closed home says to do next.
struct DeepOutcomeTests {
  /// The closed home of a founder with a trip and a file.
  private func closed() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let hotel = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    _ = try await alice.node.attach(
      Data(repeating: 7, count: 100_000), named: "film.mov", to: .lodging(hotel.id))
    await alice.close()
    return alice
  }

  @Test func `an intact home and a repaired one need nothing more`() async throws {
    let alice = try await closed()
    let intact = try await DeepCheck(alice.home).run { _ in }
    let clean = DeepOutcome(found: intact, home: alice.home, wall: TestNode.morning, isClosed: true)
    #expect(clean.next == nil)
    do { try Connection(.file(alice.home.store)).execute("UPDATE trip_rows SET name = 'Milan'") }
    let damaged = try await DeepCheck(alice.home).run { _ in }
    var outcome = DeepOutcome(found: damaged, home: alice.home, wall: TestNode.morning, isClosed: true)
    #expect(outcome.next?.description == "waymark verify --deep --repair")
    (outcome.after, outcome.backup) = (intact, alice.home.backups + "/before-repair")
    #expect(outcome.next == nil)
    #expect(outcome.text.hasPrefix("repaired: "))
  }

  @Test func `the progress counts the files as well, and a check without files does not`() async throws {
    let alice = try await closed()
    for (withFiles, expected) in [(true, ["verifying", "verifying files"]), (false, ["verifying"])] {
      let heard = Heard<WorkProgress>()
      _ = try await DeepCheck(alice.home).run(withFiles: withFiles) { heard.note($0) }
      #expect(Set(heard.all.map(\.stage)) == Set(expected))
    }
  }
}
