package import Dispatch
package import Transport

/// A node's clock and transport, injected when the node is opened.
package struct NodeEnvironment: Sendable {
  package let clock: any NodeClock
  package let transport: any NodeTransport

  package init(clock: any NodeClock, transport: any NodeTransport) {
    self.clock = clock
    self.transport = transport
  }

  /// Returns an environment with this machine's clocks and sockets.
  ///
  /// - Parameter wall: the wall clock to use.
  package static func machine(wall: @escaping @Sendable () -> Int64 = systemWall) -> NodeEnvironment {
    NodeEnvironment(clock: SystemClock(wall: wall), transport: SocketTransport())
  }
}

/// This machine's clocks, with Dispatch timers.
package struct SystemClock: NodeClock {
  private let readWall: @Sendable () -> Int64

  /// - Parameter wall: the wall clock to use.
  package init(wall: @escaping @Sendable () -> Int64 = systemWall) { readWall = wall }

  package func wall() -> Int64 { readWall() }

  package func steady() -> Int64 { monotonicMilliseconds() }

  package func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    let item = DispatchWorkItem(block: body)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: max(milliseconds, 0))), execute: item)
    return item
  }
}
