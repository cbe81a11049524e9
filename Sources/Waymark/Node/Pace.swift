import Storage

/// Divides the long work of a command into slices: after some 50 ms other commands and peers have their turn.
///
/// Between slices the store may change, and a command whose client has gone ends.
final class Pace {
  private let check: () throws -> Void
  private let slice: Duration?
  private var began = ContinuousClock.now

  /// - Parameters:
  ///   - slice: how long to work at a time; nil to work without a break.
  ///   - check: throws if the work can't go on after a break.
  init(slice: Duration? = .milliseconds(50), check: @escaping () throws -> Void) {
    self.slice = slice
    self.check = check
  }

  /// Called after each small piece of work; gives way if the slice is over.
  ///
  /// - Throws: `CancellationError`, and what `check` throws.
  func step() async throws {
    guard let slice, began.duration(to: .now) >= slice else { return }
    try Task.checkCancellation()
    await Task.yield()
    try Task.checkCancellation()
    try check()
    began = .now
  }
}

extension Node {
  /// Runs long reading work in slices, and begins again if change sets were removed in a break: it may remember their
  /// numbers.
  ///
  /// - Throws: `WaymarkError` with the code `busy` if that happens again and again.
  func inSlices<Result>(_ body: (Pace) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      let removals = store.removals
      let pace = Pace {
        try self.checkOpen()
        guard self.store.removals == removals else { throw ChangeSetsRemoved() }
      }
      do { return try await body(pace) } catch is ChangeSetsRemoved {}
    }
    throw WaymarkError.failed(
      .busy, "The change history was rewritten several times while it was read.", next: "try again")
  }
}

/// Work in slices remembers numbers of change sets that are no longer there.
private struct ChangeSetsRemoved: Error {}
