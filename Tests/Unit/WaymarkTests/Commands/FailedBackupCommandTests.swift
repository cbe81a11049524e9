import Foundation
import JSONDocument
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Backups that fail: nothing else happens then, and the next attempt works.
struct FailedBackupCommandTests {
  @Test func `without the backup before it nothing is deleted, and the next attempt deletes it`() async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Demo trip"))
    try Files.create(alice.home.backups, [1], mode: 0o600)
    let refused = try #require(try await failure(alice, "cleanup", ["yes": true]))
    #expect(refused.reason == .backup && refused.message.description.contains("nothing was changed"))
    #expect(try await alice.run("trip.list")["trips"]?.array?.count == 1)
    #expect(try bytes(alice.home.backups) == [1])
    try FileManager.default.removeItem(atPath: alice.home.backups)
    let done = try await alice.run("cleanup", ["yes": true])
    #expect(done["deleted"] == 1)
    let backup = try #require(done["backup"]?.string)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: alice.home.backups) == [Files.name(of: backup)])
    #expect(try await alice.run("trip.list")["trips"]?.array?.count == 0)
  }

  @Test func `a backup is repeated once its folder exists, and replaces an earlier one only after a yes`()
    async throws
  {
    let folder = try Folder()
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let path = folder.file("later/alice.waymark")
    let file = URL(filePath: path)
    #expect(try await refusal { _ = try await alice.node.backUp(to: file) } == "file")
    #expect(folder.names == [])
    try Files.makeFolder(folder.file("later"))
    let first = try await alice.node.backUp(to: file)
    let content = try bytes(path)
    #expect(first.bytes == content.count && first.damaged == 0 && first.text == nil)
    try await alice.run("trip.add", fields("name=Oslo"))
    #expect(try await refusal { _ = try await alice.node.backUp(to: file) } == "needs_yes")
    #expect(try bytes(path) == content)
    let second = try await alice.node.backUp(to: file, overwrites: true)
    #expect(second.changeSets == first.changeSets + 1 && second.records == first.records + 1)
    #expect(try bytes(path) != content)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("later")) == ["alice.waymark"])
  }
}
