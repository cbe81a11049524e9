import Foundation
import SQLite
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Restores from a backup in which the bytes of a file are damaged.
struct DamagedFileRestoreTests {
  private let folder: Folder
  private let file: String

  init() throws {
    folder = try Folder()
    file = folder.file("elsewhere/alice.waymark")
    // A restore also looks for files in a folder next to the backup.
    try Files.makeFolder(folder.file("elsewhere"))
  }

  /// The closed home of a founder with a trip, a lodging and a file, of which there is a damaged backup.
  private func founder() async throws -> Home {
    let home = Home(path: folder.file("alice"))
    _ = try Node.initialize(home: home, name: "alice", wall: TestNode.morning)
    let node = try Node(home: home, wall: { TestNode.morning })
    let rome = try await node.save(Trip(name: "Rome"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    let content = Data(repeating: 7, count: 100_000)
    _ = try await node.attach(content, named: "ticket.pdf", to: .lodging(hotel.id))
    let written = try await node.backUp(to: URL(filePath: file))
    #expect(written.files == 1 && written.missingFiles == 0)
    await node.close()
    do {
      let backup = try Connection(.file(file))
      try backup.execute("UPDATE leaves SET bytes = zeroblob(length(bytes)) WHERE number = 2")
    }
    return home
  }

  private func restoring(_ home: Home, isPartial: Bool = false) -> RestoreOperation {
    var request = RestoreOperation.Request(file: file, name: "carol")
    request.isPartial = isPartial
    return RestoreOperation(home: home, request: request, wall: { TestNode.morning })
  }

  @Test func `a file that is damaged in the backup is left out only on request, and is counted`() async throws
  {
    _ = try await founder()
    let carol = Home(path: folder.file("carol"))
    #expect(try await refusal { _ = try await restoring(carol).preview() } == "damaged_backup")
    #expect(try await refusal { _ = try await restoring(carol).restore() } == "damaged_backup")
    #expect(!Files.exists(carol.path))
    let preview = try await restoring(carol, isPartial: true).preview()
    #expect(preview.files == 0 && preview.missingFiles == 1 && preview.missing == 0)
    #expect(!Files.exists(carol.path))
    let restored = try await restoring(carol, isPartial: true).restore()
    #expect(restored.files == 0 && restored.missingFiles == 1 && restored.missing == 0)
    #expect(restored.records > 0 && restored.records == preview.records)
    #expect(restored.changeSets == preview.changeSets)
  }

  @Test func `an intact file of the present store is used, and a refused restore leaves that store as it is`()
    async throws
  {
    let alice = try await founder()
    let store = try bytes(alice.store)
    let names = try FileManager.default.subpathsOfDirectory(atPath: alice.files)
    let path = try #require(names.map { "\(alice.files)/\($0)" }.first { Files.isRegular($0) })
    let intact = try Data(contentsOf: URL(filePath: path))
    #expect(intact.count == 100_000)
    // Of the same size, so that only its bytes tell that it is damaged.
    var damaged = intact
    damaged[99_999] ^= 1
    try damaged.write(to: URL(filePath: path))
    #expect(try await refusal { _ = try await restoring(alice).restore() } == "damaged_backup")
    #expect(try bytes(alice.store) == store)
    #expect(try Data(contentsOf: URL(filePath: path)) == damaged)
    #expect(!Files.exists(alice.staging) && !Files.exists(alice.backups))
    try intact.write(to: URL(filePath: path))
    let restored = try await restoring(alice).restore()
    #expect(restored.files == 1 && restored.missingFiles == 0 && !restored.hasNewKeys)
    #expect(try Data(contentsOf: URL(filePath: path)) == intact)
    let kept = try #require(restored.keptAt)
    #expect(Files.exists(kept + "/store.db") && Files.isDirectory(kept + "/files"))
  }
}
