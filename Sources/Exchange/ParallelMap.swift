import Dispatch
import Synchronization

/// What `body` makes of each number below `count`, in their order, made on all cores.
func concurrently<Item: Sendable>(_ count: Int, _ body: @Sendable (Int) -> Item) -> [Item] {
  let made = Mutex<[Item?]>(Array(repeating: nil, count: count))
  DispatchQueue.concurrentPerform(iterations: count) { index in
    let item = body(index)
    made.withLock { $0[index] = item }
  }
  return made.withLock { $0.compactMap(\.self) }
}
