import Model
import Storage

/// Divides the long work of a command into slices: after about 50 ms other commands and peers get a turn.
///
/// Between slices the store may change, and a command whose client has gone away ends.
package final class Pace {
  private let check: () throws -> Void
  private let slice: Duration?
  private var began = ContinuousClock.now

  /// - Parameters:
  ///   - slice: how long to work between breaks; nil for no breaks.
  ///   - check: throws if the work can't continue after a break.
  package init(slice: Duration? = .milliseconds(50), check: @escaping () throws -> Void) {
    self.slice = slice
    self.check = check
  }

  /// Called after each small piece of work; yields if the slice is over.
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
