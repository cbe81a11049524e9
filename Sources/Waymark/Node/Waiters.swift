import Membership
import Replication
import Transport
import Wire

/// Those who wait until something holds of the node; looked at after each turn.
struct Waiters {
  typealias Condition = (isolated Node) -> Bool

  private struct Waiter {
    let id: UInt64
    let condition: Condition
    let continuation: CheckedContinuation<Bool, Never>
  }

  private var waiting: [Waiter] = []
  private var nextID: UInt64 = 0

  /// What the next one is called by.
  mutating func newID() -> UInt64 {
    nextID += 1
    return nextID
  }

  mutating func add(
    _ id: UInt64, _ condition: @escaping Condition, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    waiting.append(Waiter(id: id, condition: condition, continuation: continuation))
  }

  /// Gives up on one whose time is over, or that nobody needs any more.
  mutating func expire(_ id: UInt64) {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
    waiting.remove(at: index).continuation.resume(returning: false)
  }

  /// Nobody is waited for any more.
  mutating func endAll() {
    let ended = waiting
    waiting = []
    for waiter in ended { waiter.continuation.resume(returning: false) }
  }

  mutating func release(_ node: isolated Node) -> [CheckedContinuation<Bool, Never>] {
    guard !waiting.isEmpty else { return [] }
    let met = waiting.filter { $0.condition(node) }
    let ids = Set(met.map(\.id))
    waiting.removeAll { ids.contains($0.id) }
    return met.map(\.continuation)
  }
}
