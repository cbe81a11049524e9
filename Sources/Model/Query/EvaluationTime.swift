package import Replication

/// The time of one read, and when the passing of time alone will change what was read.
package struct EvaluationTime: Sendable {
  /// The node's wall clock at the read.
  package let now: Moment
  /// The earliest moment at which the value may differ although nothing was written; nil if it never does.
  package private(set) var due: Moment?

  package init(now: Moment) { self.now = now }

  /// What was read may differ from a moment on; one that has passed counts as the next millisecond.
  mutating func changes(at moment: Moment) {
    let moment = max(moment, now == .max ? now : now + 1)
    due = min(due ?? moment, moment)
  }
}
