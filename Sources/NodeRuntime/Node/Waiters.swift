import Membership
import Replication
import Transport
import Wire

/// The tasks that wait until a condition on the node holds. The conditions are evaluated after each turn.
package struct Waiters {
  package typealias Condition = (NodeCore) -> Bool

  private struct Waiter {
    let id: UInt64
    let condition: Condition
    let continuation: CheckedContinuation<Bool, Never>
  }

  private var waiting: [Waiter] = []
  private var nextID: UInt64 = 0

  mutating func newID() -> UInt64 {
    nextID += 1
    return nextID
  }

  mutating func add(
    _ id: UInt64, _ condition: @escaping Condition, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    waiting.append(Waiter(id: id, condition: condition, continuation: continuation))
  }

  /// Ends a wait that timed out or was cancelled.
  mutating func expire(_ id: UInt64) {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
    waiting.remove(at: index).continuation.resume(returning: false)
  }

  /// Ends all waits when the node closes.
  mutating func endAll() {
    let ended = waiting
    waiting = []
    for waiter in ended { waiter.continuation.resume(returning: false) }
  }

  /// Removes the waiters whose condition holds, and returns their continuations.
  mutating func release(_ node: NodeCore) -> [CheckedContinuation<Bool, Never>] {
    guard !waiting.isEmpty else { return [] }
    let met = waiting.filter { $0.condition(node) }
    let ids = Set(met.map(\.id))
    waiting.removeAll { ids.contains($0.id) }
    return met.map(\.continuation)
  }
}
