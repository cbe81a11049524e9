public import Foundation

extension Node {
  /// Opens the node of a directory; where there is none, makes it, with a circle of its own and this device in it.
  ///
  /// Nothing is sent or heard until ``serve(listen:peers:discovers:)`` is called.
  ///
  /// ```swift
  /// let node = try await Node.open(Home(.applicationSupportDirectory.appending(path: "Waymark")), name: "Anna's phone")
  /// ```
  ///
  /// - Parameter name: what other devices call this one; 1 to 64 bytes. Only a new node takes it.
  /// - Throws: ``WaymarkError``: who holds the store if another process does, what is wrong with keys or files.
  public static func open(_ home: Home, name: String, log: NodeLog = .silent) async throws -> Node {
    if !home.hasStore && !home.isReplacing {
      do {
        _ = try initialize(home: home, name: name)
      } catch {
        throw WaymarkError.opening(home, error)
      }
    }
    return try await WaymarkClient.openPatiently(home, log: log)
  }
}

extension Home {
  /// The home in a directory, which is made if it is not there.
  public init(_ directory: URL) { self.init(path: directory.path) }
}
