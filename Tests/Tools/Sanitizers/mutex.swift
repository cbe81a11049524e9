import Dispatch
import Synchronization

/// Eight threads count under one mutex, and with an argument also without it: the thread sanitizer must accept the
/// first and report the second.
final class Counter: Sendable {
  let guarded = Mutex(0)
  nonisolated(unsafe) var open = 0
}

let counter = Counter()
let isRacing = CommandLine.arguments.count > 1
DispatchQueue.concurrentPerform(iterations: 8) { _ in
  for _ in 0..<20_000 {
    counter.guarded.withLock { $0 += 1 }
    if isRacing { counter.open += 1 }
  }
}
print(counter.guarded.withLock { $0 })
