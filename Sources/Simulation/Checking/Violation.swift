/// A promise of the protocol that a node, or all of them together, has broken.
package struct Violation: Error, CustomStringConvertible, Sendable {
  /// Which promise; the numbers are those of the table of invariants.
  package enum Rule: String, Sendable {
    /// Something is stored that its bytes, its author or its past do not allow.
    case unauthorised
    /// Two nodes with the same sets and statements are in different states.
    case divergence
    /// An acknowledged write is gone.
    case lostWrite = "lost write"
    /// A part of a set is folded.
    case partialSet = "partial set"
    /// A sequence, clock, number or statement went back.
    case wentBack = "went back"
    /// A deleted record shows although nothing restored it.
    case resurrection
    /// The list of conflicts is not the one that follows from the folded sets.
    case journal
    /// Something of a closed lane was sent or taken in.
    case gate
    /// A node said what is not true of its store, or that it is in sync where it is not.
    case falseSync = "false claim of sync"
    /// A counter is beyond its limit.
    case limit
    /// The tables are not those that folding the log again would make.
    case state
    /// After healing something is not everywhere that must be.
    case notConverged = "not converged"
    /// A fork is not known or not proven everywhere.
    case equivocation
    /// An honest node was closed as misbehaved by an honest node.
    case falseMisbehaviour = "false misbehaviour"
    /// A set that a cut leaves out is folded or stored, or one that it keeps is not.
    case revocation
    /// After a forced direction records are not what was wanted, or it has waited for nothing, or not at all.
    case override
    /// What a node sent is not what it had durably stored.
    case sentUnstored = "sent before stored"
  }

  package let rule: Rule
  /// The node whose store or message it is; nil if it is about several.
  package let node: String?
  package let sentence: String

  package init(_ rule: Rule, _ node: String?, _ sentence: String) {
    self.rule = rule
    self.node = node
    self.sentence = sentence
  }

  package var description: String { "\(rule.rawValue)\(node.map { " on \($0)" } ?? ""): \(sentence)" }
}
