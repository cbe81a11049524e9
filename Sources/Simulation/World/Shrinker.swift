import VirtualDisk

/// Looks for a smaller run that breaks the same promise: fewer events, devices, and kinds of faults.
///
/// What a seed decides changes with the options, so this is a search, not a reduction; it keeps what fails in the
/// same way and tries again from there.
package struct Shrinking {
  private let found: Outcome

  /// - Parameter outcome: of a run that failed.
  package init(_ outcome: Outcome) { found = outcome }

  /// - Parameter progress: hears of each smaller one.
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
    outcome.options.faults.count * 200 + outcome.options.devices * 100 + outcome.options.adversaries * 100
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
