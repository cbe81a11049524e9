// Protocol/merge.md, "Operations and undo"

package import Replication
package import Wire

/// Identifies an operation. The author is part of the key because two devices may use the same id.
package struct OperationKey: Hashable, Sendable {
  package let id: OperationID
  package let device: DeviceKey

  package init(id: OperationID, device: DeviceKey) {
    self.id = id
    self.device = device
  }
}

/// What a person did in one command, import or undo. Only its folded sets are included.
package struct Operation: Sendable {
  package let key: OperationKey
  package let verb: String
  /// The operation that this one undoes; nil if it undoes none.
  package let target: OperationID?
  /// Its sets in both lanes, in causal order; never empty.
  package let sets: [SetPosition]

  package init(key: OperationKey, verb: String, target: OperationID?, sets: [SetPosition]) {
    (self.key, self.verb) = (key, verb)
    (self.target, self.sets) = (target, sets)
  }

  /// The clock of the operation's earliest set.
  package var clock: Clock { sets.map(\.origin.stamp.clock).min() ?? .zero }
  package var numbers: Set<Int64> { Set(sets.map(\.origin.number)) }
  package static let undoVerb = "undo"
  package static let resolutionVerb = "resolve"
}
