import Membership
import Replication
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

  mutating func add(
    _ condition: @escaping Condition, _ continuation: CheckedContinuation<Bool, Never>
  ) -> UInt64 {
    nextID += 1
    waiting.append(Waiter(id: nextID, condition: condition, continuation: continuation))
    return nextID
  }

  /// Gives up on one whose time is over.
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

  fileprivate mutating func release(_ node: isolated Node) -> [CheckedContinuation<Bool, Never>] {
    guard !waiting.isEmpty else { return [] }
    let met = waiting.filter { $0.condition(node) }
    let ids = Set(met.map(\.id))
    waiting.removeAll { ids.contains($0.id) }
    return met.map(\.continuation)
  }
}

extension Node {
  /// Waits until the condition holds; false if that takes longer than the time given.
  ///
  /// - Throws: `WaymarkError` if the node is closed, or closes meanwhile.
  func wait(milliseconds: Int64, until condition: @escaping Waiters.Condition) async throws -> Bool {
    try checkOpen()
    if condition(self) { return true }
    let isMet = await withCheckedContinuation { continuation in
      let id = waiters.add(condition, continuation)
      timers.after(milliseconds: milliseconds) { [weak self] in
        self?.assumeIsolated { $0.waiters.expire(id) }
      }
    }
    try checkOpen()
    return isMet
  }

  func evaluateWaiters() {
    watching.changed([.node])
    var current = waiters
    let met = current.release(self)
    waiters = current
    for continuation in met { continuation.resume(returning: true) }
  }
}
