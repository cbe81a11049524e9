import Enrolment
import NodeRuntime
import Purchases
import Transport
public import Waymark

extension Node {
  /// Creates a complete in-memory node that no other node can reach, on a clock that the test advances.
  ///
  /// ```swift
  /// let clock = VirtualClock()
  /// let node = try Node.inMemory(name: "phone", clock: clock)
  /// try await clock.advance(to: someDate)
  /// ```
  ///
  /// - Parameters:
  ///   - name: the name of the device, 1 to 64 bytes without control or invisible characters.
  ///   - clock: the node's clock.
  ///   - schema: the app's own kinds of records.
  ///   - log: receives the node's log messages.
  /// - Throws: `WaymarkError` if the name is invalid.
  public static func inMemory(
    name: String = "memory", clock: VirtualClock, schema: AppSchema? = nil, log: NodeLog = .silent
  ) throws -> Node {
    RealData.putOutOfBounds()
    let transport = InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)
    return try Node(
      CircleCreation(name: name, now: clock.wall()),
      in: NodeEnvironment(
        clock: clock, scheduler: clock.scheduler, transport: transport, purchases: .development,
        schema: schema),
      log: log)
  }
}
