/// Finds a short history that still fails in the same way.
package struct HistoryShrinker {
  private let devices: Int
  private let seed: UInt64?
  /// What the shortened history must fail with.
  private let failure: HistoryFailure
  /// The maximum number of runs.
  private var left: Int

  /// - Parameter seed: the seed of the simulation in which the history fails; nil for none.
  package init(_ failure: HistoryFailure, devices: Int, seed: UInt64?, runs: Int) {
    (self.failure, self.devices, self.seed) = (failure, devices, seed)
    left = runs
  }

  /// Leaves out steps as long as the history fails, first many at once, and then one by one.
  package mutating func shrink(_ steps: [HistoryStep]) async throws -> [HistoryStep] {
    var best = steps
    var size = max(best.count / 2, 1)
    while size >= 1, left > 0 {
      var start = 0
      var hasShrunk = false
      while start < best.count, left > 0 {
        var shorter = best
        shorter.removeSubrange(start..<min(start + size, best.count))
        if try await fails(shorter) {
          best = shorter
          hasShrunk = true
        } else {
          start += size
        }
      }
      if size > 1 { size /= 2 } else if !hasShrunk { break }
    }
    return best
  }

  private mutating func fails(_ steps: [HistoryStep]) async throws -> Bool {
    left -= 1
    let found = try await HistoryRun.run(steps, devices: devices, seed: seed).failure
    return found.map(failure.includes) ?? false
  }
}
