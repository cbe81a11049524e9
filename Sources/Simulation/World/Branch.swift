/// A point at which a run leaves the run that it would otherwise repeat.
///
/// A run is a function of its options. The options of one run and a branch therefore give a run that repeats the first
/// one up to the branch, event by event, and then continues with other random numbers.
package struct Branch: Hashable, Sendable, CustomStringConvertible {
  /// The number of events after which the random generators restart.
  package let event: Int
  /// The seed of the generators from then on.
  package let seed: UInt64
  /// The fault that is attempted every other time from then on; nil to leave the weights of the options as they are.
  package let fault: Fault?

  package init(at event: Int, seed: UInt64, fault: Fault? = nil) {
    (self.event, self.seed, self.fault) = (event, seed, fault)
  }

  package var description: String { "\(event):\(seed)" + (fault.map { ":\($0)" } ?? "") }

  /// Parses `EVENT:SEED` or `EVENT:SEED:FAULT`; nil if the text is neither.
  init?(_ text: Substring) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, let event = Int(parts[0]), event > 0, let seed = UInt64(parts[1]) else {
      return nil
    }
    (self.event, self.seed) = (event, seed)
    fault = parts.count == 3 ? Fault(rawValue: String(parts[2])) : nil
    if parts.count == 3, fault == nil { return nil }
  }
}
