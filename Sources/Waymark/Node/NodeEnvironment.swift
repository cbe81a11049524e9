package import Dispatch
package import Transport

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

/// The clocks of this machine, and Dispatch.
package struct SystemClock: NodeClock {
  private let readWall: @Sendable () -> Int64

  /// - Parameter wall: takes the place of this machine's wall clock.
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
