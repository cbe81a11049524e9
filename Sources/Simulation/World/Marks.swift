/// A rare state that a run has reached, together with something that it coincided with.
package struct Feature: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The name of the state, which is also its name in the tally.
  package let mark: String
  /// A fault shortly before, the preceding mark of the same device, a condition of the device, or the number of times
  /// so far; empty for the mark alone.
  package let circumstance: String

  package var description: String { circumstance.isEmpty ? mark : "\(mark), \(circumstance)" }

  package static func < (left: Feature, right: Feature) -> Bool {
    (left.mark, left.circumstance) < (right.mark, right.circumstance)
  }
}

/// The features of a run, collected while it is under way.
///
/// Each mark gives a few features, so that a state in an unusual situation differs from the same state in an ordinary
/// one. As in AFL (Zalewski, "Technical whitepaper for afl-fuzz"), counts fall into buckets, because the difference
/// between 40 and 41 times means nothing.
struct Marks {
  /// The number of events before each feature occurred for the first time.
  private(set) var features: [Feature: Int] = [:]
  private var counts: [String: Int] = [:]
  /// The last two faults, without repetitions.
  private var faults: [Fault] = []
  /// The newest mark of each device.
  private var newest: [Int: String] = [:]

  mutating func note(_ fault: Fault) {
    faults.removeAll { $0 == fault }
    faults = faults.suffix(Self.faultsMax - 1) + [fault]
  }

  /// Adds the features of a mark.
  ///
  /// - Parameters:
  ///   - device: the number of the device that the mark concerns; nil if it concerns none in particular.
  ///   - conditions: what else is true of the device.
  ///   - event: the number of events so far.
  mutating func note(_ mark: String, on device: Int?, _ conditions: [String], at event: Int) {
    func add(_ circumstance: String) {
      let feature = Feature(mark: mark, circumstance: circumstance)
      if features[feature] == nil { features[feature] = event }
    }
    add("")
    let count = counts[mark, default: 0] + 1
    counts[mark] = count
    // One bucket for each power of two.
    if count > 1, count & (count - 1) == 0, count <= Self.countMax { add("\(count) times") }
    for fault in faults { add("after \(fault)") }
    for condition in conditions { add(condition) }
    guard let device else { return }
    if let before = newest[device], before != mark { add("after “\(before)”") }
    newest[device] = mark
  }

  private static let faultsMax = 2
  private static let countMax = 128
}
