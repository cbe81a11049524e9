/// What a node has of the world around it, given when it is opened: time, and connections.
package struct NodeEnvironment: Sendable {
  package let clock: any NodeClock
  package let transport: any NodeTransport

  package init(clock: any NodeClock, transport: any NodeTransport) {
    self.clock = clock
    self.transport = transport
  }

  /// This machine.
  ///
  /// - Parameter wall: takes the place of its wall clock.
  package static func machine(wall: @escaping @Sendable () -> Int64 = systemWall) -> NodeEnvironment {
    NodeEnvironment(clock: SystemClock(wall: wall), transport: SocketTransport())
  }
}
