/// A violation of a protocol rule by a node or by several nodes together.
package struct Violation: Error, CustomStringConvertible, Sendable {
  /// The rule that was broken.
  package enum Rule: String, Sendable {
    /// A stored set or statement is not allowed because of its bytes, its author or the sets that it depends on.
    case unauthorised
    /// Two nodes with the same sets and statements differ in derived data.
    case divergence
    /// An acknowledged write is gone.
    case lostWrite = "lost write"
    /// A set is folded only in part.
    case partialSet = "partial set"
    /// A stored set or statement has disappeared.
    case wentBack = "went back"
    /// A deleted record is visible although nothing restored it.
    case resurrection
    /// The stored conflicts differ from those that follow from the folded sets.
    case journal
    /// Data was sent or accepted in a closed lane, or a node is wrong about its gate.
    case gate
    /// A node said something about its store that is not true, or claimed to be in sync when it was not.
    case falseSync = "false claim of sync"
    /// A counter exceeds its limit.
    case limit
    /// The tables differ from those that folding the log again would give, or a node is too late or otherwise wrong.
    case state
    /// After healing, members still differ.
    case notConverged = "not converged"
    /// A device has forked its log or risked a fork, or a node has no proof of a fork that is in its store.
    case equivocation
    /// An honest node treated another as misbehaving, or sent an invalid message.
    case falseMisbehaviour = "false misbehaviour"
    /// Membership or cuts are wrong: an excluded set is folded or stored, or a kept set is not.
    case revocation
    /// An override resulted in wrong records, waited without need, or did not wait although it had to.
    case override
    /// Values that a folded erase has erased are still stored or were sent.
    case erased = "erased value kept"
    /// A node sent a set that it had not durably stored.
    case sentUnstored = "sent before stored"
    /// A file is wrong, was deleted without a reason, is left over, or was shown to a peer that may not see it.
    case file
  }

  package let rule: Rule
  /// The node whose store or message is wrong; nil if several are involved.
  package let node: String?
  package let sentence: String

  package init(_ rule: Rule, _ node: String?, _ sentence: String) {
    self.rule = rule
    self.node = node
    self.sentence = sentence
  }

  package var description: String { "\(rule.rawValue)\(node.map { " on \($0)" } ?? ""): \(sentence)" }
}
