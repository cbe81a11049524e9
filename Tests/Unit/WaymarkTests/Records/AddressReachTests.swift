import JSONDocument
import Model
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Which addresses go with the records that are erased, and which stay.
struct AddressReachTests {
  @Test(arguments: [true, false])
  func `an address stays while a deleted record, or an earlier write of another one, refers to it`(
    isDeleted: Bool
  ) async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma"))
    let address = try #require(try await node.keys(of: [Kind.address]).first)
    let beta = try await node.save(Organization(name: "Beta"))
    let field = Kind.organization.number("address")
    _ = try await node.writeTogether([EntryDraft(.put, beta.key, [(field, .bytes(address.id.bytes))])])
    if isDeleted {
      try await node.delete(beta)
    } else {
      _ = try await node.writeTogether([EntryDraft(.put, beta.key, [(field, .null)])])
    }
    try await alice.run("erase", ["records": ["Alpha"], "yes": true])
    let city = Kind.address.number("city")
    #expect(try await node.values(of: Kind.address).map { $0[city] } == [.text("Roma")])
    if isDeleted {
      try await node.restore(beta.id)
      #expect(try await alice.run("organization.show", ["id": "Beta"])["address"]?["city"] == "Roma")
    }
    await alice.close()
  }

  @Test func `an address in the trash is emptied with it, unless a record outside of it refers to it`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    var address = Address()
    address.city = "Roma"
    address = try await node.save(address)
    try await node.delete(address)
    #expect(try await node.keysToEmpty() == [address.key])
    let alpha = try await node.save(Organization(name: "Alpha", addressID: address.id))
    #expect(try await node.keysToEmpty() == [])
    try await node.delete(alpha)
    #expect(try await node.keysToEmpty() == [alpha.key, address.key])
    await alice.close()
  }
}

extension Node {
  /// The records that emptying the trash would erase, addresses included.
  fileprivate func keysToEmpty() throws -> Set<RecordKey> {
    try Eraser(store: store, now: wall(), deviceName: { "\($0)" }).trash(olderThan: nil).keys
  }
}
