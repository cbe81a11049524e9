import NodeRuntime
public import Waymark

/// A node for one test, with its own directory.
///
/// ```swift
/// let alice = try await TestNode.founder("alice")
/// try await alice.node.save(Trip(name: "Rome"))
/// ```
package final class TestNode: Sendable {
  /// The node itself.
  package let node: Node
  private let directory: TestHome

  private init(node: Node, directory: TestHome) {
    self.node = node
    self.directory = directory
  }

  /// The node's home, in the directory.
  package var home: Home { directory.home }

  /// Creates the founder of a new circle, with an empty store.
  ///
  /// - Parameters:
  ///   - name: the name of the device.
  ///   - issuers: the issuers whose entitlements the circle accepts.
  ///   - wall: the wall clock, in milliseconds since 1970.
  package static func founder(
    _ name: String = "laptop", issuers: [DeviceKey] = [],
    wall: @escaping @Sendable () -> Int64 = { TestNode.morning }
  ) async throws -> TestNode {
    let directory = try TestHome()
    _ = try Node.initialize(home: directory.home, name: name, issuers: issuers, wall: wall())
    let node = TestNode(node: try Node(home: directory.home, wall: wall), directory: directory)
    try await node.checkEmpty()
    return node
  }

  /// Throws an error unless the store is empty.
  package func checkEmpty() async throws { try await node.checkEmpty() }

  /// Closes the node.
  package func close() async { await node.close() }

  /// 3 May 2026, 08:00 UTC.
  package static let morning: Int64 = 1_777_795_200_000
}

extension Node {
  /// Checks that the store is empty, so that a test does not depend on existing data.
  ///
  /// - Throws: ``TestSetupError``, which names the first kind with visible records and says how many there are.
  public func checkEmpty() async throws {
    for (kind, count) in try NodeDiagnostics.counts(of: core) where count != 0 {
      throw TestSetupError(
        description: "the store is not empty at the start of the test: it holds \(count) \(kind)")
    }
  }
}
