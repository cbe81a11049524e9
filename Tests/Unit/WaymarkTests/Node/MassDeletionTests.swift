import Foundation
import JSONDocument
import LogStorage
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import Wire

@testable import ChangeHistory
@testable import Waymark

/// Other devices notice when a device deletes much.
struct MassDeletionTests {
  private func notices(_ circle: SocketCircle, _ name: String, _ arguments: JSON = [:]) async throws -> [JSON]
  {
    let notices = try await circle.run(name, "status", arguments)["notices"]?.array ?? []
    return notices.filter { $0["reason"] == "mass_delete" }
  }

  /// A trip with a number of activities, and other trips that stay.
  private func circle(doomed: Int, others: Int, _ names: [String] = ["alice", "bob"]) async throws
    -> SocketCircle
  {
    let circle = try await SocketCircle.premium(names)
    for (trip, count) in [("Doomed", doomed), ("Other", others)] {
      try await circle.run("alice", "trip.add", fields("name=\(trip)"))
      for number in 0..<count {
        try await circle.run("alice", "activity.add", fields("trip=\(trip)", "name=\(trip) \(number)"))
      }
    }
    for name in names { try await circle.inSync(name) }
    return circle
  }

  @Test func `a trip deleted with many activities is reported, and one command restores it`() async throws {
    let circle = try await circle(doomed: 20, others: 40)
    defer { circle.end() }
    try await circle.run("alice", "trip.delete", ["id": "Doomed"])
    try await circle.inSync("alice", "bob")
    // A device's own deletion is not reported to it.
    #expect(try await notices(circle, "alice") == [])
    let notice = try #require(try await notices(circle, "bob").first)
    #expect(notice["deviceName"] == "alice")
    #expect(notice["deleted"] == [["kind": "activity", "count": 20, "of": 60]])
    let operation = try #require(notice["operation"]?.string)
    #expect(notice["next"] == .string("waymark undo \(operation.prefix(8))"))
    try await circle.run("bob", "undo", ["operation": .string(String(operation.prefix(8)))])
    #expect(try await circle.run("bob", "status")["counts"]?["activities"] == 60)
    #expect(try await notices(circle, "bob") == [])
  }

  @Test(arguments: [(19, 10), (20, 60)])
  func `a few deletions, or a few among many, are not reported`(doomed: Int, others: Int) async throws {
    let circle = try await circle(doomed: doomed, others: others)
    defer { circle.end() }
    try await circle.run("alice", "trip.delete", ["id": "Doomed"])
    try await circle.inSync("alice", "bob")
    #expect(try await notices(circle, "bob") == [])
  }

  @Test func `the notice survives a restart, until it is acknowledged`() async throws {
    let circle = try await circle(doomed: 25, others: 10)
    defer { circle.end() }
    try await circle.run("alice", "trip.delete", ["id": "Doomed"])
    try await circle.inSync("alice", "bob")
    try await circle.restart("bob")
    #expect(try await notices(circle, "bob").count == 1)
    #expect(try await notices(circle, "bob", ["acknowledge": true]) == [])
    try await circle.restart("bob")
    #expect(try await notices(circle, "bob") == [])
  }

  @Test func `deletions received after a device was offline are reported when it comes back`() async throws {
    let circle = try await circle(doomed: 25, others: 10)
    defer { circle.end() }
    await circle["bob"].close()
    try await circle.run("alice", "trip.delete", ["id": "Doomed"])
    try await circle.start("bob")
    try await circle.inSync("alice", "bob")
    #expect(try await notices(circle, "bob").count == 1)
  }

  @Test func `a device that receives the history for the first time is not alarmed by it`() async throws {
    let circle = try await circle(doomed: 30, others: 5)
    defer { circle.end() }
    try await circle.run("bob", "sync.off")
    await circle["bob"].close()
    try await circle.run("alice", "trip.delete", ["id": "Doomed"])
    try await circle.join("carol", invitedBy: "alice")
    try await circle.run("carol", "sync.on")
    try await circle.inSync("alice", "carol")
    #expect(try await circle.run("carol", "status")["counts"]?["activities"] == 5)
    #expect(try await notices(circle, "carol") == [])
  }

  // MARK: Counting

  private func loss(_ operation: UInt64, _ deleted: Int) throws -> DeletedRecords {
    let key = OperationKey(id: OperationID(Bytes16(0, operation)), device: DeviceKey(Bytes32(0, 0, 0, 1)))
    return DeletedRecords(
      operation: key, clock: Clock(milliseconds: 5), records: [FixedRecords.organization: deleted])
  }

  @Test func `an operation that arrives in several batches is one deletion`() throws {
    var deletes = MassDeletions()
    deletes.add([try loss(1, 15)], visible: [FixedRecords.organization: 85])
    #expect(deletes.large.isEmpty)
    // Thirty of the hundred records before the first batch.
    deletes.add([try loss(1, 15)], visible: [FixedRecords.organization: 70])
    let counts = try #require(deletes.large.first?.counts[FixedRecords.organization])
    #expect(counts.deleted == 30)
    #expect(counts.before == 100)
  }

  @Test func `operations that arrive together are judged separately, by the records before them`() throws {
    var deletes = MassDeletions()
    deletes.add([try loss(1, 22), try loss(2, 70)], visible: [FixedRecords.organization: 8])
    #expect(deletes.large.map(\.operation) == [OperationID(Bytes16(0, 2))])
  }

  @Test(arguments: [(19, 0, false), (20, 60, false), (20, 59, true), (20, 0, true), (1_000, 3_000, false)])
  func `more than a quarter counts as a mass deletion, from twenty records on`(
    deleted: Int, left: Int, isLarge: Bool
  ) throws {
    var deletes = MassDeletions()
    deletes.add([try loss(1, deleted)], visible: [FixedRecords.organization: left])
    #expect(deletes.large.isEmpty != isLarge)
  }

  @Test func `an acknowledged deletion does not end the count of one that is still arriving`() throws {
    var deletes = MassDeletions()
    deletes.add([try loss(1, 40)], visible: [FixedRecords.organization: 60])
    deletes.add([try loss(2, 15)], visible: [FixedRecords.organization: 45])
    #expect(deletes.large.map(\.operation) == [OperationID(Bytes16(0, 1))])
    deletes.acknowledge()
    #expect(deletes.large.isEmpty)
    deletes.add([try loss(2, 15)], visible: [FixedRecords.organization: 30])
    #expect(deletes.large.map(\.operation) == [OperationID(Bytes16(0, 2))])
  }

  @Test func `many small deletions are not stored forever`() throws {
    var deletes = MassDeletions()
    deletes.add([try loss(0, 50)], visible: [:])
    for number in 1...100 { deletes.add([try loss(UInt64(number), 1)], visible: [:]) }
    #expect(deletes.large.count == 1)
    #expect(deletes.tallies.count < 40)
  }
}
