import Dispatch
import Synchronization

/// Applies `body` to each number from 0 to `count` − 1, on all cores, and returns the results in order.
func concurrently<Item: Sendable>(_ count: Int, _ body: @Sendable (Int) -> Item) -> [Item] {
  let made = Mutex<[Item?]>(Array(repeating: nil, count: count))
  DispatchQueue.concurrentPerform(iterations: count) { index in
    let item = body(index)
    made.withLock { $0[index] = item }
  }
  return made.withLock { $0.compactMap(\.self) }
}
