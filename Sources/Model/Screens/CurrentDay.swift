import Platform
import Home
package import Storage

extension Store {
  /// Returns the current day, in the zone in which the person counts days, and notes when it ends.
  package func currentDay(_ time: inout EvaluationTime) throws -> Day {
    try dayCount(&time, isNow: true).day(at: Date(milliseconds: time.now))
  }
}
