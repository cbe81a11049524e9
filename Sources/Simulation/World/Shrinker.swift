import VirtualDisk

// Shrinking: finding a smaller run that still fails
//
// A failing run of a random seed has thousands of events and dozens of kinds of faults, most of which are irrelevant.
// The shrinker searches for smaller options whose run fails a check of the same rule (`judge`, `liveness`, …). It does
// not compare failure messages, because the sets and devices named in them differ from run to run. All violations that
// the judge finds have the rule `judge`, so the smaller run may break a different one of the judge's checks.
//
// All random numbers in a run come from one generator, so removing one fault changes every later draw: the candidate is
// a different run, not a part of the old one. This is therefore a greedy search, not a reduction. A candidate counts
// only if its run fails. The first smaller candidate that fails becomes the new best run, and the search restarts from
// there:
//
//   seed=7 devices=5 events=1500, 23 faults   fails: judge   size 1500 + 500 + 4600 = 6600
//     events=187                              passes
//     events=375                              fails: judge   size  375 + 500 + 4600 = 5475   new best
//       events=46 … 328                       pass
//       no faults                             passes
//       without `clone`                       fails: judge   size  375 + 500 + 4400 = 5275   new best
//       …
//
// The order of candidates matters. Candidates with far fewer events come first, because short runs make all later tries
// cheap; then come those with a branch less, no faults, one fault less, and fewer devices. The search ends when no candidate
// is better than the best run, or after `triesMax` runs. The seed never changes.

/// Searches for a smaller run that fails a check of the same rule: with fewer events, devices and kinds of faults.
package struct Shrinking {
  private let found: Outcome

  /// - Parameter outcome: the outcome of a failed run.
  package init(_ outcome: Outcome) { found = outcome }

  /// Returns the smallest failing run that was found, which may be the original run.
  ///
  /// - Parameter progress: called with each smaller failing run.
  package func smallest(progress: (Outcome) -> Void = { _ in }) -> Outcome {
    var best = found
    var tries = 0
    var isProgress = true
    while isProgress, tries < Self.triesMax {
      isProgress = false
      for options in Self.smaller(best) where tries < Self.triesMax {
        tries += 1
        let outcome = Run.outcome(of: options)
        guard let failure = outcome.failure, failure.rule == best.failure?.rule,
          Self.size(outcome) < Self.size(best)
        else { continue }
        best = outcome
        isProgress = true
        progress(outcome)
        break
      }
    }
    return best
  }

  private static func size(_ outcome: Outcome) -> Int {
    outcome.options.branches.count * 300 + outcome.options.faults.count * 200 + outcome.options.devices * 100
      + outcome.options.adversaries * 100
      + outcome.options.events
  }

  private static func smaller(_ outcome: Outcome) -> [Options] {
    let options = outcome.options
    var candidates: [Options] = []
    func add(_ change: (inout Options) -> Void) {
      var next = options
      change(&next)
      if next != options { candidates.append(next) }
    }
    for part in [1, 2, 4, 6, 7] { add { $0.events = $0.events * part / 8 } }
    add { $0.events = min($0.events, outcome.events) }
    for number in options.branches.indices { add { $0.branches.remove(at: number) } }
    add { $0.faults = [:] }
    for fault in options.faults.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      add { $0.faults[fault] = nil }
    }
    if options.adversaries > 0 { add { $0.adversaries -= 1 } }
    if options.devices > 2 {
      add {
        $0.devices -= 1; $0.free = min($0.free, $0.devices)
      }
    }
    if options.free > 0 { add { $0.free -= 1 } }
    add { $0.events -= 1 }
    return candidates
  }

  private static let triesMax = 300
}
