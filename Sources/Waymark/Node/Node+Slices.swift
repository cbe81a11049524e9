import ChangeHistory
import Storage

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
