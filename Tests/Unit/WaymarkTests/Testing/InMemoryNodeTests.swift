import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Control
@testable import Waymark

/// Nodes that write nothing to the disk.
struct InMemoryNodeTests {
  private func perform(_ node: Node, _ command: String, _ arguments: JSON = [:]) async throws -> JSON {
    try await node.run(command, arguments)
  }

  /// The content of the folder for temporary files, and the files that this process has open.
  private func filesOfThisProcess() -> Set<String> {
    let manager = FileManager.default
    let descriptors = (try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return Set(
      descriptors.compactMap { try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        .filter { $0.contains("waymark") || $0.contains("sqlite") || $0.contains("store.db") })
  }

  @Test func `a node in memory keeps its data, and leaves no file`() async throws {
    let node = try Node.inMemory(name: "preview")
    _ = try await perform(node, "trip.add", fields("name=Rome"))
    _ = try await perform(node, "settings.set", ["key": "colorScheme", "value": "dark"])
    #expect(try await perform(node, "trip.list")["trips"]?[0]?["name"] == "Rome")
    #expect(try await perform(node, "settings.get", ["key": "colorScheme"])["value"] == "dark")
    #expect(try await perform(node, "status")["name"] == "preview")
    #expect(try await node.status().incarnation != Incarnation(.zero).description)
    // No file can exist below this, and none with its name is open or among the temporary files.
    let home = node.home
    #expect(home.path.hasPrefix("/dev/null/"))
    let name = try #require(home.path.split(separator: "/").last.map(String.init))
    let temporary = try FileManager.default.contentsOfDirectory(
      atPath: FileManager.default.temporaryDirectory.path)
    #expect(!temporary.contains { $0.contains(name) })
    #expect(!filesOfThisProcess().contains { $0.contains(name) })
    await node.close()
  }

  @Test func `calls that need the home's directory report this, calls that need a path of the caller work`()
    async throws
  {
    let node = try Node.inMemory()
    _ = try await perform(node, "trip.add", fields("name=Test Trip"))
    for (command, arguments): (String, JSON) in [
      ("verify", ["deep": true]), ("cleanup", ["yes": true]),
    ] {
      let failure = try await failure { _ = try await perform(node, command, arguments) }
      #expect(failure?.code == .inMemory, "\(command)")
      #expect(failure?.next?.description.contains("directory") == true)
    }
    let control = try await failure { try await node.serveControl() }
    #expect(control?.code == .inMemory)
    let directory = try TestHome()
    try await directory.home.prepareForTest()
    let file = directory.home.path + "/copy.waymark"
    _ = try await perform(node, "backup", ["file": .string(file)])
    #expect(FileManager.default.fileExists(atPath: file))
    await node.close()
  }

  @Test func `in memory only the founder has the root key`() async throws {
    let circle = try await TestCircle("alice", "bob")
    #expect(try await perform(circle["alice"], "status")["keys"]?["root"] == "plain")
    #expect(try await perform(circle["bob"], "status")["keys"]?["root"] == .null)
    let directory = try TestHome()
    try await directory.home.prepareForTest()
    let key = directory.home.path + "/issuer"
    _ = try Issuer.create(key)
    let arguments: JSON = ["file": .string(key + ".pub")]
    #expect(try await perform(circle["alice"], "issuer.trust", arguments)["added"] == true)
    let failure = try await failure { _ = try await perform(circle["bob"], "issuer.trust", arguments) }
    #expect(failure?.reason == .rootKey)
    await circle.close()
  }

  @Test func `a store that does not start empty is recognised by its content`() async throws {
    let node = try Node.inMemory()
    try await node.checkEmpty()
    _ = try await perform(node, "trip.add", fields("name=Rome"))
    let failure = await #expect(throws: TestSetupError.self) { try await node.checkEmpty() }
    #expect(failure?.description.contains("holds 1 trip") == true)
    await node.close()
  }

  @Test func `two nodes in memory share nothing`() async throws {
    let (one, other) = (try Node.inMemory(), try Node.inMemory())
    _ = try await perform(one, "trip.add", fields("name=Rome"))
    #expect(try await perform(other, "trip.list")["trips"] == [])
    #expect(one.home != other.home)
    await one.close()
    await other.close()
  }

  @Test func `an invalid device name is refused`() throws {
    #expect(throws: WaymarkError.self) { try Node.inMemory(name: "") }
  }

  private func failure(_ body: () async throws -> Void) async throws -> WaymarkError? {
    do {
      try await body()
      return nil
    } catch let failure as WaymarkError {
      return failure
    }
  }
}

extension Home {
  fileprivate func prepareForTest() async throws { try prepare() }
}
