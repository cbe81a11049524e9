import Dispatch
import Home
package import Purchases
package import Records
package import Transport

/// A node's clock, transport and scheduler, injected when the node is opened.
package struct NodeEnvironment: Sendable {
  package let clock: any NodeClock
  /// What runs the node's work in a simulation; nil for dispatch.
  let scheduler: (any WorkScheduler)?
  package let transport: any NodeTransport
  /// Which purchases give premium; nil for those that the home's configuration file lists.
  package let purchases: PurchasePolicy?
  /// The schema of the app that opens the store; nil if it has none.
  package let schema: AppSchema?

  /// The schema in the form in which a store takes it.
  package var apps: [KnownApp] { schema.map { [KnownApp(given: $0)] } ?? [] }

  package init(
    clock: any NodeClock, scheduler: (any WorkScheduler)? = nil, transport: any NodeTransport,
    purchases: PurchasePolicy? = nil, schema: AppSchema? = nil
  ) {
    self.schema = schema
    self.clock = clock
    self.scheduler = scheduler
    self.transport = transport
    self.purchases = purchases
  }

  /// Creates the executor of one of the node's queues.
  package func executor(label: String) -> QueueExecutor { QueueExecutor(label: label, on: scheduler) }

  /// Returns an environment with this machine's clocks and sockets.
  ///
  /// - Parameters:
  ///   - wall: the wall clock to use.
  ///   - purchases: which purchases give premium; nil for those that the home's configuration file lists.
  ///   - schema: the schema of the app that opens the store; nil if it has none.
  package static func machine(
    wall: @escaping @Sendable () -> Int64 = systemWall, purchases: PurchasePolicy? = nil,
    schema: AppSchema? = nil
  ) -> NodeEnvironment {
    NodeEnvironment(
      clock: SystemClock(wall: wall), transport: SocketTransport(), purchases: purchases, schema: schema)
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
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    let item = DispatchWorkItem(block: executor.counted(body))
    executor.queue.asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: max(milliseconds, 0))), execute: item)
    return item
  }
}
