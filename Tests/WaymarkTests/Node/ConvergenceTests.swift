import Foundation
import Testing
import Waymark

/// Nodes of one process over real sockets on loopback.
@Suite struct ConvergenceTests {
  @Test func `a setting made on Alice's device reaches Bob's, though both are free`() async throws {
    let circle = try await TestCircle.make(["alice", "bob"])
    defer { circle.end() }
    _ = try await circle["alice"].perform(
      CommandRequest("settings.set", ["key": "colorScheme", "value": "dark"]))
    try await circle.waitForSync("alice")
    let read = try await circle["bob"].perform(
      CommandRequest("settings.get", ["key": "colorScheme"]))
    #expect(read["value"] == "dark")
  }
}

/// Several nodes in temporary homes, paired and serving.
final class TestCircle: Sendable {
  private let nodes: [String: Node]
  private let folder: String

  private init(nodes: [String: Node], folder: String) {
    self.nodes = nodes
    self.folder = folder
  }

  subscript(name: String) -> Node {
    guard let node = nodes[name] else { preconditionFailure("no node called \(name)") }
    return node
  }

  /// The first founds the circle, the others join it.
  static func make(_ names: [String]) async throws -> TestCircle {
    let folder = FileManager.default.temporaryDirectory.path + "/waymark-test-\(UUID().uuidString)"
    var nodes: [String: Node] = [:]
    func home(_ name: String) -> Home { Home(path: "\(folder)/\(name)") }
    _ = try Node.initialize(home: home(names[0]), name: names[0])
    let founder = try Node(home: home(names[0]))
    try await founder.serve(listen: "127.0.0.1:0")
    nodes[names[0]] = founder
    for name in names.dropFirst() {
      let invitation = try await founder.perform(CommandRequest("invite"))
      let ticket = invitation["ticket"]?.string ?? ""
      _ = try await Node.join(ticket: ticket, home: home(name), name: name, isConfirmed: true)
      let node = try Node(home: home(name))
      try await node.serve(listen: "127.0.0.1:0")
      nodes[name] = node
    }
    return TestCircle(nodes: nodes, folder: folder)
  }

  func waitForSync(_ name: String) async throws {
    _ = try await self[name].perform(CommandRequest("wait", ["timeoutMilliseconds": 10_000]))
  }

  func end() {
    let nodes = nodes
    let folder = folder
    Task {
      for node in nodes.values { await node.close() }
      try? FileManager.default.removeItem(atPath: folder)
    }
  }
}
