import Foundation
import Home
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The state of a home's folder before and after a node opens it.
struct OpenedHomeTests {
  @Test func `the store of a new home is private before any node has opened it`() throws {
    let test = try TestHome()
    _ = try Node.initialize(home: test.home, name: "alice", wall: TestNode.morning)
    #expect(mode(test.home.store) == 0o600)
  }

  @Test func `a node puts a complete new store in place that an interrupted restore has left`() async throws {
    let (folder, test) = (try Folder(), try TestHome())
    let home = test.home
    _ = try Node.initialize(home: home, name: "alice", wall: TestNode.morning)
    func add(_ name: String) async throws {
      let node = try Node(home: home, wall: { TestNode.morning })
      _ = try await node.save(Trip(name: name))
      await node.close()
    }
    try await add("Rome")
    let restored = folder.file("store.db")
    try FileManager.default.copyItem(atPath: home.store, toPath: restored)
    try await add("Oslo")
    let staged = Home(path: home.staging)
    try staged.prepare()
    try FileManager.default.moveItem(atPath: restored, toPath: staged.store)
    let aside = home.backups + "/before-restore-20260503T080000Z"
    try Data("same circle\n\(aside)\n".utf8).write(to: URL(filePath: home.staging + "/ready"))
    let node = try Node(home: home, wall: { TestNode.morning })
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    #expect(!home.isReplacing && Files.exists(aside + "/store.db"))
    await node.close()
  }

  @Test func `a home without a folder for files is read through a copy like any other`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    _ = try await node.save(Trip(name: "Rome"))
    await node.close()
    try? FileManager.default.removeItem(atPath: test.home.files)
    let copy = try ReadingCopy(of: test.home, holdsFiles: true)
    #expect(try await copy.node.records(Trip.all).map(\.name) == ["Rome"])
    await copy.close()
  }
}
