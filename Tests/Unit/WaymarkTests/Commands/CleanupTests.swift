import Foundation
import JSONDocument
import LogStorage
import Reasons
import Storage
import Testing
import Transport
import WaymarkCare
import WaymarkTesting

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

struct CleanupTests {
  @Test(arguments: [
    ("Test Trip 4", "test trip"), ("DEBUG", "debug"), ("Sample: Rome", "sample"), ("demo", "demo"),
    ("TRIP 1", "Trip 1"), ("Trip 0 (copy)", "Trip 0"),
    ("performance test of lists", "Performance Test"), ("Unprotected Trip", "unprotected trip"),
    ("Protected trip 3", "protected trip"), ("Rome", nil), ("Trip 2", nil), ("Best trip", nil), ("", nil),
    // Real trips that contain a mark, but do not begin with it as whole words.
    ("Democracy tour", nil), ("Demolition Derby Trip", nil), ("Latest trip", nil), ("Resampled", nil),
    ("Our Trip 12 to Rome", nil), ("Trip 12", nil), ("Round Trip 07", nil), ("Debugger meetup", nil),
    ("My test trip", nil),
  ])
  func `a test trip is recognised by the words with which its name begins, regardless of case`(
    _ name: String, _ mark: String?
  ) {
    #expect(TestData.mark(in: name) == mark)
  }

  private func holiday() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    for name in ["Rome", "Demo trip", "TEST TRIP 4", "Oslo"] {
      try await alice.run("trip.add", fields("name=\(name)"))
    }
    try await alice.run("trip.add", fields("name=Sample trip"))
    try await alice.run("lodging.add", fields("trip=Sample trip", "name=Casa"))
    return alice
  }

  private func names(_ node: TestNode) async throws -> [String?] {
    try await node.run("trip.list")["trips"]?.array?.map { $0["name"]?.string } ?? []
  }

  @Test func `without a yes the leftovers are listed and kept`() async throws {
    let alice = try await holiday()
    let refused = try #require(try await failure(alice, "cleanup"))
    #expect(refused.exitCode == ExitCode.needsYes)
    #expect(refused.candidates.count == 2)
    #expect(refused.candidates.contains { $0.contains("Demo trip") && $0.contains("0 items") })
    let preview = try await alice.run("cleanup", ["preview": true, "yes": true])
    #expect(preview["trips"]?.array?.map { $0["name"]?.string } == ["Demo trip", "TEST TRIP 4"])
    #expect([preview["deleted"], preview["operation"], preview["backup"]] == [0, .null, .null])
    #expect(try await names(alice).count == 5)
    #expect(!FileManager.default.fileExists(atPath: alice.home.backups))
  }

  @Test func `with a yes they are deleted in one operation, after a backup`() async throws {
    let alice = try await holiday()
    let done = try await alice.run("cleanup", ["yes": true])
    #expect(done["deleted"] == 2)
    // A trip with items is never taken for a leftover, whatever its name.
    #expect(Set(try await names(alice)) == ["Rome", "Oslo", "Sample trip"])
    let backup = try #require(done["backup"]?.string)
    #expect(FileManager.default.fileExists(atPath: backup))
    let newest = try #require(try await alice.node.newestOperation())
    #expect(newest.verb == "cleanup")
    #expect(newest.key.id.description == done["operation"]?.string)
    #expect(newest.sets.count == 1)
    #expect(try await alice.run("cleanup")["trips"] == [])
  }

  @Test(arguments: ["lodging", "transportation", "activity"])
  func `a trip with an item of any kind is not taken for a leftover`(_ kind: String) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Demo trip"))
    try await alice.run("\(kind).add", fields("trip=Demo trip", "name=Item"))
    #expect(try await alice.run("cleanup", ["preview": true])["trips"] == [])
  }

  @Test func `named trips are deleted whatever their names, and those to keep are kept`() async throws {
    let alice = try await holiday()
    let kept = try await alice.run("cleanup", ["preview": true, "except": ["Demo trip"]])
    #expect(kept["trips"]?.array?.map { $0["name"]?.string } == ["TEST TRIP 4"])
    let named = try await alice.run("cleanup", ["trips": ["Oslo", "Sample trip"], "yes": true])
    #expect(named["deleted"] == 2)
    #expect(Set(try await names(alice)) == ["Rome", "Demo trip", "TEST TRIP 4"])
    #expect(try await failure(alice, "cleanup", ["trips": ["Bern"], "yes": true])?.code == .notFound)
  }

  @Test func `only what is still a leftover after the backup is deleted`() async throws {
    let alice = try await TestNode.founder("alice")
    let filled = try await alice.node.save(Trip(name: "Demo trip"))
    let renamed = try await alice.node.save(Trip(name: "Debug"))
    let gone = try await alice.node.save(Trip(name: "Sample trip"))
    _ = try await alice.node.save(Trip(name: "TEST TRIP 4"))
    let done = try await alice.node.deleteTestTrips { node in
      _ = try? node.save(Lodging(name: "Casa", tripID: filled.id))
      _ = try? node.update(renamed.id) { $0.name = "Bern" }
      _ = try? node.delete(gone)
      // It looks like a leftover, too, but its deletion was not confirmed.
      _ = try? node.save(Trip(name: "Demo of tomorrow"))
    }
    #expect(done.trips.map(\.name) == ["TEST TRIP 4"] && done.deleted == 1)
    let names = try await alice.node.records(Trip.all).map(\.name)
    #expect(Set(names) == ["Demo trip", "Bern", "Demo of tomorrow"])
    #expect(try await alice.node.newestOperation()?.key.id == done.operation)
    await alice.close()
  }
}

extension Node {
  /// Deletes the leftovers of tests, and does something else while the backup before that is written.
  fileprivate func deleteTestTrips(
    _ body: @escaping @Sendable (isolated Node) -> Void
  ) async throws -> CleanupSummary {
    // It is next in the node's queue, which the cleanup leaves only for its backup.
    executor.async { self.assumeIsolated(body) }
    return try await deleteTestTrips()
  }

  /// The newest operation that was folded.
  func newestOperation() throws -> LogStorage.Operation? { try store.operations(limit: 1).first }
}
