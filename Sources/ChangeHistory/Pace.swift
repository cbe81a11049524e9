import Model
import Storage

/// Divides the long work of a command into slices of about 50 ms. After each slice, other commands and peers get a
/// turn.
///
/// Between slices, the store may change. A command whose client has disconnected ends after its current slice.
package final class Pace {
  private let check: () throws -> Void
  /// The length of a slice in milliseconds; nil for endless slices.
  private let slice: Int64?
  private let steady: () -> Int64
  private var began: Int64
  /// The number of pieces of work so far.
  package private(set) var steps = 0

  /// - Parameters:
  ///   - slice: how many milliseconds to work before yielding.
  ///   - steady: milliseconds of a monotonic clock.
  ///   - check: called after yielding; throws if the work can't continue.
  package init(slice: Int64 = 50, steady: @escaping () -> Int64, check: @escaping () throws -> Void) {
    self.slice = slice
    self.steady = steady
    began = steady()
    self.check = check
  }

  /// Creates a pace that never yields.
  package init() {
    (slice, steady, check, began) = (nil, { 0 }, {}, 0)
  }

  /// Yields if the slice is over. To be called after each small piece of work.
  ///
  /// - Throws: `CancellationError`, or the error that `check` throws.
  package func step() async throws {
    steps += 1
    guard let slice, steady() - began >= slice else { return }
    try Task.checkCancellation()
    await Task.yield()
    try Task.checkCancellation()
    try check()
    began = steady()
  }
}
