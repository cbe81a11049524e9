import JSONDocument
import Testing
import WaymarkTesting

@testable import Waymark

/// Which devices the preview of an erase names.
struct EarlierValueTests {
  @Test func `a device that holds only the earlier values of a record is named before it is erased`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let alice = circle["alice"]
    func named() async throws -> [JSON?]? {
      let preview = try await alice.run("erase", ["records": ["Rome"], "preview": true])
      return preview["devices"]?.array?.map { $0["name"] }
    }
    try await alice.run("trip.add", fields("name=Rome", "notes=secret"))
    try await circle.settle()
    #expect(try await named() == ["bob"])
    await circle.disconnect("alice", "bob")
    try await alice.run("trip.edit", fields("notes=another secret", id: "Rome"))
    #expect(try await named() == ["bob"], "Bob has not received the edit")
    try await alice.run("trip.add", fields("name=Oslo"))
    let unknown = try await alice.run("erase", ["records": ["Oslo"], "preview": true])
    #expect(unknown["devices"] == [])
    await circle.close()
  }
}
