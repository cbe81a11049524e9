import Foundation
import Home
import JSONDocument
import Synchronization
import Testing
import Waymark

/// Nodes of one process, over real sockets on loopback.
@Suite struct ConvergenceTests {
  @Test func `a setting changed on Alice's device reaches Bob's, though both are free`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    _ = try await circle["alice"].run("settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.waitForSync("alice")
    let read = try await circle["bob"].run("settings.get", ["key": "colorScheme"])
    #expect(read["value"] == "dark")
  }
}

/// Several nodes in temporary homes, paired and serving.
final class SocketCircle: Sendable {
  private let nodes: Mutex<[String: Node]>
  private let folder: String

  private init(nodes: [String: Node], folder: String) {
    self.nodes = Mutex(nodes)
    self.folder = folder
  }

  subscript(name: String) -> Node {
    guard let node = nodes.withLock({ $0[name] }) else { preconditionFailure("no node called \(name)") }
    return node
  }

  /// The first founds the circle, the others join it.
  static func make(_ names: [String]) async throws -> SocketCircle {
    let folder = FileManager.default.temporaryDirectory.path + "/waymark-test-\(UUID().uuidString)"
    var nodes: [String: Node] = [:]
    let home = Home(path: "\(folder)/\(names[0])")
    _ = try Node.initialize(home: home, name: names[0])
    let founder = try Node(home: home)
    try await founder.serve(listen: "127.0.0.1:0")
    nodes[names[0]] = founder
    let circle = SocketCircle(nodes: nodes, folder: folder)
    for name in names.dropFirst() { try await circle.join(name, invitedBy: names[0]) }
    return circle
  }

  func home(_ name: String) -> Home { Home(path: "\(folder)/\(name)") }

  /// Adds another device, which serves.
  @discardableResult
  func join(_ name: String, invitedBy inviter: String) async throws -> Node {
    let invitation = try await self[inviter].run("invite")
    let ticket = invitation["ticket"]?.string ?? ""
    try await JoinOperation(home: home(name), ticket: ticket, name: name).join(isConfirmed: true)
    return try await start(name)
  }

  /// Opens the node of a home and serves.
  @discardableResult
  func start(
    _ name: String, wall: @escaping @Sendable () -> Int64 = systemWall
  ) async throws -> Node {
    let node = try Node(home: home(name), wall: wall)
    try await node.serve(listen: "127.0.0.1:0")
    nodes.withLock { $0[name] = node }
    return node
  }

  /// Closes a node and opens its home again, with another port.
  func restart(_ name: String, wall: @escaping @Sendable () -> Int64 = systemWall) async throws {
    await self[name].close()
    try await start(name, wall: wall)
  }

  func waitForSync(_ name: String) async throws {
    _ = try await self[name].run("wait", ["timeoutMilliseconds": 10_000])
  }

  func end() {
    let nodes = nodes.withLock { $0 }
    let folder = folder
    Task {
      for node in nodes.values { await node.close() }
      try? FileManager.default.removeItem(atPath: folder)
    }
  }
}
