package import Replication

/// The time at which a query is run, and the next time at which its result may change even if nothing is written.
package struct EvaluationTime: Sendable {
  /// The time of the node's wall clock when the query is run.
  package let now: Moment
  /// The earliest time at which the result may change even if nothing is written; nil if only writes can change it.
  package private(set) var due: Moment?

  package init(now: Moment) { self.now = now }

  /// Notes that the result may change at the given time. A time that is not in the future counts as the next
  /// millisecond.
  mutating func changes(at moment: Moment) {
    let moment = max(moment, now == .max ? now : now + 1)
    due = min(due ?? moment, moment)
  }
}
