import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Home
@testable import Waymark

/// What moves to another circle together with the records: their files and settings, and nothing that was deleted.
struct CarriedFilesTests {
  private let content = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 / 251) })

  /// Fills a home with a trip, a file, a setting, and a trip that was deleted. Returns the attachment.
  private func fill(_ node: Node) async throws -> Attachment {
    let rome = try await node.save(Trip(name: "Rome"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    let ticket = try await node.attach(content, named: "ticket.pdf", to: .lodging(hotel.id))
    let gone = try await node.save(Trip(name: "Gone"))
    try await node.delete(gone)
    try await node.run("settings.set", ["key": "colorScheme", "value": "dark"])
    return ticket
  }

  private func check(_ node: Node, has ticket: Attachment) async throws {
    #expect(try await node.data(of: ticket) == content)
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    #expect(try await node.records(Lodging.all).map(\.name) == ["Casa"])
    #expect(try await node.deleted(Trip.self).isEmpty)
    #expect(try await node.run("settings.get", ["key": "colorScheme"])["value"] == "dark")
  }

  @Test func `a device that joins another circle brings the files of its records along`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let home = circle.home("bob")
    _ = try Node.initialize(home: home, name: "bob")
    let alone = try Node(home: home)
    let ticket = try await fill(alone)
    await alone.close()
    let line = try await circle["alice"].invite().ticket
    let joined = try await JoinOperation(home: home, ticket: line, name: "bob").join()
    let status = try await circle["alice"].status()
    #expect(joined.circle == status.circle && !Files.exists(home.rootKey))
    let bob = try Node(home: home)
    try await check(bob, has: ticket)
    await bob.close()
  }

  @Test func `a circle that is founded from a backup has the files of the backup`() async throws {
    let folder = try Folder()
    let (alice, carol) = (Home(path: folder.file("alice")), Home(path: folder.file("carol")))
    _ = try Node.initialize(home: alice, name: "alice", wall: TestNode.morning)
    let node = try Node(home: alice, wall: { TestNode.morning })
    let ticket = try await fill(node)
    let former = try await node.status().circle
    // In a folder of its own, because a restore also looks for files next to the backup.
    try Files.makeFolder(folder.file("elsewhere"))
    let file = folder.file("elsewhere/alice.waymark")
    #expect(try await node.backUp(to: URL(filePath: file)).files == 1)
    await node.close()
    var request = RestoreOperation.Request(file: file, name: "carol")
    request.foundsCircle = true
    let founded = try await RestoreOperation(home: carol, request: request, wall: { TestNode.morning })
      .restore()
    #expect(founded.isNewCircle && founded.isAdmitted && founded.circle != former)
    #expect((founded.files, founded.missingFiles) == (1, 0))
    #expect(Files.exists(carol.rootKey) && !Files.exists(carol.staging))
    let found = try Node(home: carol, wall: { TestNode.morning })
    try await check(found, has: ticket)
    await found.close()
  }
}
