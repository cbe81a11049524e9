import Transport
public import Waymark

extension Node {
  /// A complete node in memory whose time a test moves, and that nobody can reach.
  ///
  /// ```swift
  /// let clock = VirtualClock()
  /// let node = try Node.inMemory(name: "phone", clock: clock)
  /// try await clock.advance(to: someDate)
  /// ```
  ///
  /// - Parameters:
  ///   - name: what the device is called: 1 to 64 bytes without control characters.
  ///   - clock: its time.
  ///   - log: hears what the node does.
  /// - Throws: `WaymarkError` if the name can't be one.
  public static func inMemory(
    name: String = "memory", clock: VirtualClock, log: NodeLog = .silent
  ) throws -> Node {
    RealData.putOutOfBounds()
    let transport = InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)
    return try Node(
      CircleCreation(name: name, now: clock.wall()), in: NodeEnvironment(clock: clock, transport: transport),
      log: log)
  }
}
