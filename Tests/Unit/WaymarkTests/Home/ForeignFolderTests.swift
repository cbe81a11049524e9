import Foundation
import Testing
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Folders in and above a home that are not the node's own.
struct ForeignFolderTests {
  @Test func `a start removes abandoned previews, and no other folder whose name ends in a number`()
    async throws
  {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    // No system has a process with this number.
    let number = "999999999"
    let abandoned = home.previewStaging + number
    let length = Files.name(of: home.previewStaging).count
    let other = "\(home.path)/\(String(repeating: "m", count: length))\(number)"
    for folder in [abandoned, other] {
      try Files.makeFolder(folder)
      try Files.create(folder + "/store.db", [1], mode: 0o600)
    }
    #expect(home.abandonedPreviews == [abandoned])
    let again = try await Node.open(home, name: "alice")
    await again.close()
    #expect(!Files.exists(abandoned))
    #expect(Files.exists(other + "/store.db"))
    try FileManager.default.removeItem(atPath: home.path)
  }

  @Test(arguments: ["new/./home", "new/../home", "new/./other/../home"])
  func `a path with dots is made like any other`(path: String) throws {
    let folder = try Folder()
    let home = Home(path: folder.file(path))
    #expect(code { try home.prepare() } == nil)
    #expect(Files.isDirectory(home.keys))
    #expect(mode(home.path) == 0o700)
  }

  @Test func `a home with keys and no store has nothing to read, and no copy stays behind`() async throws {
    let alice = try await TestNode.founder("alice")
    await alice.close()
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: alice.home.store + suffix)
    }
    for holdsFiles in [false, true] {
      #expect(code { _ = try ReadingCopy(of: alice.home, holdsFiles: holdsFiles) } == .noStore)
    }
    #expect(!alice.home.hasStore)
  }
}
