import Model
import Storage

/// Divides the long work of a command into slices: after some 50 ms other commands and peers have their turn.
///
/// Between slices the store may change, and a command whose client has gone ends.
package final class Pace {
  private let check: () throws -> Void
  private let slice: Duration?
  private var began = ContinuousClock.now

  /// - Parameters:
  ///   - slice: how long to work at a time; nil to work without a break.
  ///   - check: throws if the work can't go on after a break.
  package init(slice: Duration? = .milliseconds(50), check: @escaping () throws -> Void) {
    self.slice = slice
    self.check = check
  }

  /// Called after each small piece of work; gives way if the slice is over.
  ///
  /// - Throws: `CancellationError`, and what `check` throws.
  package func step() async throws {
    guard let slice, began.duration(to: .now) >= slice else { return }
    try Task.checkCancellation()
    await Task.yield()
    try Task.checkCancellation()
    try check()
    began = .now
  }
}
