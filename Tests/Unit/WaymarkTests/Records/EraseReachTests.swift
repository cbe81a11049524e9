import Foundation
import JSONDocument
import Records
import Replication
import Testing
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// What an erase leaves to other records and to later deletions, and which copies it names.
struct EraseReachTests {
  @Test func `an address that another record uses stays`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma"))
    try await alice.run("organization.add", fields("name=Beta"))
    let address = try #require(try await alice.node.keys(of: [Kind.address]).first)
    let beta = try #require(try await alice.run("organization.show", ["id": "Beta"])["id"]?.string)
    let field = try #require(Kind.organization.addressField).number
    let key = RecordKey(kind: Kind.organization.number, id: try #require(RecordID(uuid: beta)))
    _ = try await alice.node.writeTogether([EntryDraft(.put, key, [(field, .bytes(address.id.bytes))])])
    try await alice.run("erase", ["records": ["Alpha"], "yes": true])
    #expect(try await alice.run("organization.show", ["id": "Beta"])["address"]?["city"] == "Roma")
    await alice.close()
  }

  @Test func `an address that an organization had earlier goes with it`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma"))
    let alpha = try #require(try await alice.run("organization.show", ["id": "Alpha"])["id"]?.string)
    let field = try #require(Kind.organization.addressField).number
    let key = RecordKey(kind: Kind.organization.number, id: try #require(RecordID(uuid: alpha)))
    let moved = RecordKey(kind: Kind.address.number, id: RecordID(UUID()))
    let city = try #require(Kind.address.field(named: "city")).number
    _ = try await alice.node.writeTogether([EntryDraft(.insert, moved, [(city, .text("Oslo"))])])
    _ = try await alice.node.writeTogether([EntryDraft(.put, key, [(field, .bytes(moved.id.bytes))])])
    try await alice.run("erase", ["records": ["Alpha"], "yes": true])
    let addresses = try await alice.node.values(of: Kind.address)
    #expect(addresses.count == 2 && addresses.allSatisfy(\.isEmpty))
    await alice.close()
  }

  @Test func `records that were deleted more recently than the age stay in the trash`() async throws {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let day: Int64 = 86_400_000
    for name in ["Rome", "Oslo"] {
      try await alice.run("trip.add", fields("name=\(name)"))
      try await alice.run("trip.delete", ["id": .string(name)])
      now.value += 20 * day
    }
    let month: JSON = .integer(30 * day)
    let emptied = try await alice.run("trash.empty", ["olderThanMilliseconds": month, "yes": true])
    #expect(emptied["records"]?.array?.map { $0["name"] } == ["Rome"])
    #expect(try await alice.run("trash.list")["items"]?.array?.map { $0["name"] } == ["Oslo"])
    await alice.close()
  }

  @Test func `a store that a join or a restore replaced is named if it holds the values`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let backup = try await alice.node.withCore { try await $0.backUp(before: "first") }
    // As a restore leaves it.
    let folder = alice.home.backups + "/before-restore-20260503T080000Z"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.moveItem(atPath: backup, toPath: folder + "/store.waymark")
    let preview = try await alice.run("erase", ["records": ["Rome"], "preview": true])
    #expect(preview["backups"]?.array?.map { $0["path"]?.string } == [folder])
    // As a join leaves it.
    let replaced = alice.home.backups + "/before-join-20260503T080000Z"
    try alice.home.copyStoreFile(to: replaced)
    let again = try await alice.run("erase", ["records": ["Rome"], "preview": true])
    #expect(again["backups"]?.array?.map { $0["path"]?.string } == [replaced, folder])
    await alice.close()
  }
}
