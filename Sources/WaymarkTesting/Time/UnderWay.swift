import Dispatch
import Synchronization

/// Counts the pending work between nodes: calls that wait on a link's queue, and messages not taken by a node yet.
final class UnderWay: Sendable {
  private struct State {
    var count = 0
    /// The total number of items that ever began.
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
      precondition(state.count >= 0, "more ended than began")
      guard state.count == 0 else { return ([:], state.begun) }
      defer { state.waiting = [:] }
      return (state.waiting, state.begun)
    }
    for continuation in waiting.values { continuation.resume(returning: begun) }
  }

  var count: Int { state.withLock { $0.count } }

  /// Whether nothing is under way, and nothing has begun since the total was `begun`.
  func isOver(since begun: UInt64) -> Bool { state.withLock { $0.count == 0 && $0.begun == begun } }

  /// Waits until nothing is under way and returns the total that ever began; nil if the deadline passes first.
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
