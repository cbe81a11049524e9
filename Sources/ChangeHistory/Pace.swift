import Model
import Storage

/// Divides the long work of a command into slices of about 50 ms. After each slice, other commands and peers get a
/// turn.
///
/// Between slices, the store may change. A command whose client has disconnected ends after its current slice.
package final class Pace {
  private let check: () throws -> Void
  private let slice: Duration?
  private var began = ContinuousClock.now
  /// The number of pieces of work so far.
  package private(set) var steps = 0

  /// - Parameters:
  ///   - slice: how long to work before yielding; nil to never yield.
  ///   - check: called after yielding; throws if the work can't continue.
  package init(slice: Duration? = .milliseconds(50), check: @escaping () throws -> Void) {
    self.slice = slice
    self.check = check
  }

  /// Yields if the slice is over. To be called after each small piece of work.
  ///
  /// - Throws: `CancellationError`, or the error that `check` throws.
  package func step() async throws {
    steps += 1
    guard let slice, began.duration(to: .now) >= slice else { return }
    try Task.checkCancellation()
    await Task.yield()
    try Task.checkCancellation()
    try check()
    began = .now
  }
}
