import Foundation
import SQLite
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Restores from a backup in which a change set is damaged.
struct PartialRestoreTests {
  private let folder: Folder
  private let file: String

  init() throws {
    folder = try Folder()
    file = folder.file("alice.waymark")
  }

  /// Writes a backup of a node that added a trip, renamed it and added another one, and then runs SQL on the backup.
  /// Returns the number of change sets that were written.
  private func damagedBackup(_ sql: String) async throws -> Int {
    let home = Home(path: folder.file("alice"))
    _ = try Node.initialize(home: home, name: "alice", wall: TestNode.morning)
    let node = try Node(home: home, wall: { TestNode.morning })
    let rome = try await node.save(Trip(name: "Rome"))
    try await node.update(rome.id) { $0.name = "Roma" }
    _ = try await node.save(Trip(name: "Vienna"))
    let written = try await node.backUp(to: URL(filePath: file))
    await node.close()
    #expect(written.damaged == 0 && written.text == nil && written.records == 2)
    do { try Connection(.file(file)).execute(sql) }
    return written.changeSets
  }

  private func restoring(_ home: Home, isPartial: Bool) -> RestoreOperation {
    var request = RestoreOperation.Request(file: file, name: "carol")
    request.isPartial = isPartial
    return RestoreOperation(home: home, request: request, wall: { TestNode.morning })
  }

  private func trips(_ home: Home) async throws -> [String] {
    let node = try Node(home: home, wall: { TestNode.morning })
    let names = try await node.records(Trip.all).map(\.name)
    await node.close()
    return names.sorted()
  }

  @Test func `a change set whose values are damaged is left out only on request, and what follows it stays`()
    async throws
  {
    let count = try await damagedBackup("UPDATE change_sets SET field_values = x'00' WHERE number = 2")
    let carol = Home(path: folder.file("carol"))
    let refused = await #expect(throws: WaymarkError.self) {
      try await restoring(carol, isPartial: false).restore()
    }
    #expect(refused?.reason == .damagedBackup)
    #expect(refused?.next?.description.contains("restore --partial") == true)
    #expect(!Files.exists(carol.path))
    let preview = try await restoring(carol, isPartial: true).preview()
    #expect(preview.missing == 1 && preview.changeSets == count - 1 && preview.records == 2)
    #expect(!Files.exists(carol.path))
    let restored = try await restoring(carol, isPartial: true).restore()
    #expect(restored.missing == 1 && restored.changeSets == count - 1 && restored.records == 2)
    // The new name was in the damaged change set.
    #expect(try await trips(carol) == ["Rome", "Vienna"])
  }

  @Test func `a partial restore of an intact backup misses nothing`() async throws {
    let count = try await damagedBackup("SELECT 1")
    let carol = Home(path: folder.file("carol"))
    let restored = try await restoring(carol, isPartial: true).restore()
    #expect(restored.missing == 0 && restored.changeSets == count && restored.missingFiles == 0)
    #expect(try await trips(carol) == ["Roma", "Vienna"])
  }
}
