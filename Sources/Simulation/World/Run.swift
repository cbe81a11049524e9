package import Replication

/// A failed check in a run.
package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Rule: String, Sendable {
    case start, digest, fork, store, liveness, judge
  }

  package let rule: Rule
  package let sentence: String

  init(_ rule: Rule, _ sentence: String) { (self.rule, self.sentence) = (rule, sentence) }

  package var description: String { "\(rule): \(sentence)" }
}

/// The result of a run.
package struct Outcome: Sendable {
  package let options: Options
  /// The first check that failed; nil if all checks passed.
  package let failure: Failure?
  package let events: Int
  package let virtualMilliseconds: Moment
  package let tally: Tally
  /// The number of events before each feature of the run occurred for the first time.
  package let features: [Feature: Int]
  /// A hash over all events and messages, which is the same for every run with these options.
  package let trace: UInt64
}

/// Runs a world: first with faults, then without faults until all members hold the same state.
package enum Run {
  package static func outcome(of options: Options, log: ((String) -> Void)? = nil) -> Outcome {
    let world: World
    do {
      world = try World(options, log: log)
    } catch {
      return Outcome(
        options: options, failure: failure(error), events: 0, virtualMilliseconds: 0, tally: Tally(),
        features: [:], trace: 0)
    }
    var found: Failure?
    do {
      while world.isStormy, try world.step() {}
      // Also verify stores before healing, while logs are cut, forked and incomplete, sets are parked, and disks are
      // full.
      try world.verifyStores()
      world.heal()
      try world.converge()
      try world.judgeAll()
      try world.lastWords()
      try world.judgeAll()
      try world.settleFiles()
      try world.verifyStores()
    } catch {
      found = failure(error)
    }
    let outcome = Outcome(
      options: options, failure: found, events: world.events, virtualMilliseconds: world.now - World.start,
      tally: world.tallyWithDisks, features: world.marks.features, trace: world.trace)
    world.end()
    return outcome
  }

  private static func failure(_ error: any Error) -> Failure {
    (error as? Failure) ?? Failure(.judge, "\(error)")
  }
}
