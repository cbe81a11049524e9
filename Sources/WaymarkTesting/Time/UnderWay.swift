import Dispatch
import Synchronization

/// Counts the pending work between nodes: calls waiting in a link's queue, and messages that no node has taken yet.
final class UnderWay: Sendable {
  private struct State {
    var count = 0
    /// The number of items that have begun since the start, whether or not they have ended.
    var begun: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<UInt64?, Never>] = [:]
    var nextWaiting: UInt64 = 0
  }

  private let state = Mutex(State())

  func begin(_ count: Int = 1) {
    guard count > 0 else { return }
    state.withLock { state in
      state.count += count
      state.begun += UInt64(count)
    }
  }

  func end(_ count: Int = 1) {
    guard count > 0 else { return }
    let (waiting, begun) = state.withLock {
      state -> ([UInt64: CheckedContinuation<UInt64?, Never>], UInt64) in
      state.count -= count
      precondition(state.count >= 0, "more items of work have ended than have begun")
      guard state.count == 0 else { return ([:], state.begun) }
      defer { state.waiting = [:] }
      return (state.waiting, state.begun)
    }
    for continuation in waiting.values { continuation.resume(returning: begun) }
  }

  var count: Int { state.withLock { $0.count } }

  /// Whether nothing is under way, and nothing has begun since `over(by:)` returned `begun`.
  func isOver(since begun: UInt64) -> Bool { state.withLock { $0.count == 0 && $0.begun == begun } }

  /// Waits until nothing is under way, and returns how many items have begun so far; nil if the deadline passes first.
  func over(by deadline: DispatchTime) async -> UInt64? {
    await withCheckedContinuation { continuation in
      let outcome = state.withLock { state -> Outcome in
        if state.count == 0 { return .now(state.begun) }
        state.nextWaiting += 1
        state.waiting[state.nextWaiting] = continuation
        return .later(state.nextWaiting)
      }
      switch outcome {
      case .now(let begun): continuation.resume(returning: begun)
      case .later(let id):
        DispatchQueue.global().asyncAfter(deadline: deadline) { [self] in
          state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: nil)
        }
      }
    }
  }

  private enum Outcome {
    case now(UInt64)
    case later(UInt64)
  }
}
