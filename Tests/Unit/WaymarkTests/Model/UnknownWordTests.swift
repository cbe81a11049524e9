import Model
import Records
import Replication
import Testing
import WaymarkKinds
import WaymarkTesting
import Wire

@testable import Waymark

/// Values that another version of an app has written and this one can't represent.
struct UnknownWordTests {
  @Test func `a word of a newer version reads as not given, and stays until another one is chosen`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trip = try await node.save(Trip(name: "Rome"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    let paid = Kind.lodging.number("paid")
    _ = try await node.writeTogether([EntryDraft(.put, hotel.key, [(paid, .text("voucher"))])])
    func stored() async throws -> Value? { try await node.values(of: Kind.lodging).first?[paid] }
    var read = try #require(try await node.record(hotel.id))
    #expect(read.payment == .unpaid)
    read.notes = "by the sea"
    read = try await node.save(read)
    #expect(read.notes == "by the sea")
    #expect(try await stored() == .text("voucher"))
    read.payment = .deposit
    read = try await node.save(read)
    #expect(read.payment == .deposit)
    #expect(try await stored() == .text("deposit"))
    await alice.close()
  }
}
