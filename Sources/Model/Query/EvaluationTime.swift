package import Replication

/// The time of one read, and the next time at which its result may change without a write.
package struct EvaluationTime: Sendable {
  /// The node's wall clock at the time of the read.
  package let now: Moment
  /// The earliest time at which the result may differ although nothing was written; nil if it never does.
  package private(set) var due: Moment?

  package init(now: Moment) { self.now = now }

  /// Notes that the result may change at a time; one in the past counts as the next millisecond.
  mutating func changes(at moment: Moment) {
    let moment = max(moment, now == .max ? now : now + 1)
    due = min(due ?? moment, moment)
  }
}
