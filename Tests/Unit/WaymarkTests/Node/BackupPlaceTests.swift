import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Where a backup may be written, and what is no backup to restore from.
struct BackupPlaceTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  @Test func `a backup is a regular file, and none of those that the node depends on`() async throws {
    let alice = try await TestNode.founder("alice")
    let home = alice.home
    for place in [home.files, home.backups, home.keys] { try Files.makeFolder(place) }
    let link = folder.file("link.waymark")
    symlink(home.store, link)
    for (path, expected) in [
      ("/dev/null", "file"), (folder.path, "file"), (folder.path + "/", "file"), (link, "file"),
      (folder.file("none/alice.waymark"), "file"), (home.store, "in_home"), (home.store + "-wal", "in_home"),
      (home.files + "/alice.waymark", "in_home"), (home.keys + "/alice.waymark", "in_home"),
      (home.deviceKey, "in_home"), (home.settings, "in_home"),
    ] {
      let found = try await refusal {
        _ = try await alice.node.backUp(to: URL(filePath: path), overwrites: true)
      }
      #expect(found == expected, "\(path)")
    }
    let own = home.backups + "/mine.waymark"
    #expect(try await alice.node.backUp(to: URL(filePath: own)).file.hasSuffix("/backups/mine.waymark"))
    #expect(home.keptBackups.map(\.name) == ["mine.waymark"])
    #expect(home.keptBackups.map(\.isAutomatic) == [false])
    #expect(try await alice.node.status().name == "alice")
    await alice.close()
  }

  @Test func `a folder, a pipe, a missing file and a text are no backups, and no home is made for them`()
    async throws
  {
    let pipe = folder.file("pipe")
    mkfifo(pipe, 0o600)
    let text = try folder.write([UInt8](repeating: UInt8(ascii: "a"), count: 2_000), "text")
    let home = Home(path: folder.file("home"))
    for (path, expected, words) in [
      (folder.path, "file", "is a folder"), (pipe, "file", "a pipe or a device"),
      (folder.file("missing"), "file", "no such file"),
      (text, "not_a_backup", "is not a Waymark backup"),
    ] {
      let operation = RestoreOperation(home: home, backup: URL(filePath: path), name: "carol")
      let failure = await #expect(throws: WaymarkError.self) { try await operation.restore() }
      #expect(failure?.code.rawValue == expected, "\(path)")
      #expect(failure?.message.description.contains(words) == true, "\(failure?.message ?? "")")
      #expect(!Files.exists(home.path))
    }
  }
}
