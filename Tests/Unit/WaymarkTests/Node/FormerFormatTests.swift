import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Stores with change sets of format 1.
struct FormerFormatTests {
  @Test func `a store of format 1 is refused with the way to move its records, and stays as it is`()
    async throws
  {
    let home = try formerHome()
    let before = try Data(contentsOf: URL(filePath: home.home.store))
    do {
      let opened = try await Node.open(home.home, name: "alice")
      await opened.close()
      Issue.record("a store of format 1 was opened")
    } catch let error as WaymarkError {
      #expect(error.reason == .formerFormat)
      #expect(error.message.description.contains("format 1"))
      #expect(error.next?.description.contains("waymark export") == true)
    }
    #expect(try Data(contentsOf: URL(filePath: home.home.store)) == before)
  }

  /// A home with a copy of the stored files.
  private func formerHome() throws -> TestHome {
    let folder = URL(filePath: #filePath).appending(path: "../../../../Fixtures/format-1").standardized
    let copy = try TestHome()
    let files = FileManager.default
    try files.createDirectory(
      atPath: copy.home.keys, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    chmod(copy.home.path, 0o700)
    for (file, target) in [("store.db", copy.home.store), ("device.key", copy.home.deviceKey)] {
      try files.copyItem(atPath: folder.appending(path: file).path, toPath: target)
      chmod(target, 0o600)
    }
    return copy
  }
}
