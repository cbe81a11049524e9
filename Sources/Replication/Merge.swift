// Protocol/merge.md
//
// Merging one write into one cell. The result must not depend on the order in which sets arrive, so it is computed from
// two relations only: the total order of stamps, which picks the winner, and causality, which decides which of the
// other writes are kept.
//
//     write   stamp   has seen     content of trip.name
//     A       10      –            Rome
//     B       12      –            Roma
//     C       15      A, B         Roma 2027
//
//     fold A, B:   B wins, A becomes a sibling      → conflict: Roma shows, Rome is kept
//     fold B, A:   B stays, A becomes a sibling     → the same state
//     then C:      C wins; its past covers A and B  → no siblings, the conflict is closed
//
// Whole records (the profile) are harder. They are ordered by rank (time of change, fields filled in, stamp), and ranks
// need not ascend along causality: a put can rank below a put that it has seen. The winner is then not maximal, because
// another put has seen it.
//
//     put   rank   has seen
//     P     9      –
//     Q     5      P
//     R     12     –
//
//     fold P, Q, R:   P shows and Q is a sibling that follows P; R wins → siblings: Q
//     fold P, R, Q:   R wins and P becomes a sibling; Q covers P        → siblings: Q
//
// In the first order, P must not become a sibling when R replaces it, because Q has seen P (`isHeldFollowed`). Without
// that rule, the list of conflicts would depend on the order of arrival.

import Wire

/// The change set that a write comes from: its number in the store and its stamp.
package struct WriteOrigin: Hashable, Sendable {
  /// The number of the set in the store; 0 for a seed.
  package let number: Int64
  package let stamp: Stamp

  package static let seed = WriteOrigin(number: 0, stamp: .zero)

  package init(number: Int64, stamp: Stamp) {
    self.number = number
    self.stamp = stamp
  }
}

/// The effect of a new write on the winner of its cell. Whether or not the new write wins, it closes the siblings
/// (maximal writes that did not win) that it has seen.
///
/// Sets are folded in causal order, so no folded write has seen the new write, which is therefore maximal.
package struct MergeOutcome: Hashable, Sendable {
  /// Whether the new write is the winner from now on. Otherwise, it becomes a sibling.
  package let newWins: Bool
  /// Whether the former winner stays as a sibling: it is maximal, and the new write has not seen it.
  package let heldBecomesSibling: Bool
}

package enum Merge {
  /// Decides one cell. The highest stamp wins, regardless of the order of arrival.
  ///
  /// - Parameters:
  ///   - held: the current winner; nil if there is none.
  ///   - coversHeld: whether the past of the new write covers the winner.
  package static func cell(new: Stamp, held: WriteOrigin?, coversHeld: Bool) -> MergeOutcome {
    outcome(newWins: held.map { new > $0.stamp } ?? true, heldIsConcurrent: isConcurrent(held, coversHeld))
  }

  /// Decides a whole record. The greatest rank wins, so a newer stamp alone is not enough.
  ///
  /// A winner that a sibling has seen is not maximal and never becomes a sibling itself.
  ///
  /// - Parameters:
  ///   - held: the current winner; nil if there is none.
  ///   - coversHeld: whether the past of the new write covers the winner.
  ///   - isHeldFollowed: whether the past of a sibling covers the winner.
  package static func wholeRecord(
    new: WholeRecordRank, held: (rank: WholeRecordRank, origin: WriteOrigin)?, coversHeld: Bool,
    isHeldFollowed: Bool
  ) -> MergeOutcome {
    let wins = held.map { new > $0.rank } ?? true
    let isConcurrent = isConcurrent(held?.origin, coversHeld) && !isHeldFollowed
    return outcome(newWins: wins, heldIsConcurrent: isConcurrent)
  }

  private static func isConcurrent(_ held: WriteOrigin?, _ coversHeld: Bool) -> Bool {
    held.map { $0.number != 0 && !coversHeld } ?? false
  }

  private static func outcome(newWins: Bool, heldIsConcurrent: Bool) -> MergeOutcome {
    MergeOutcome(newWins: newWins, heldBecomesSibling: newWins && heldIsConcurrent)
  }

  /// Returns the writes that are concurrent with a deletion, which means that neither has seen the other. Seeds are
  /// never among them.
  package static func concurrent(
    with deletion: WriteOrigin, among writes: [WriteOrigin],
    covers: (_ later: WriteOrigin, _ earlier: WriteOrigin) throws -> Bool
  ) rethrows -> [WriteOrigin] {
    try writes.filter {
      try $0.number != 0 && $0 != deletion && !covers(deletion, $0) && !covers($0, deletion)
    }
  }
}

/// The rank of a write to a whole record. Writes are ordered by the time of change that they state, then by how many
/// fields are filled in, then by stamp.
package struct WholeRecordRank: Hashable, Comparable, Sendable {
  /// The stated time of change, in milliseconds. It is capped at the set's clock, so that a date in the future does not
  /// win forever.
  package let updatedAt: Int64
  /// The number of fields that are not empty, as the author stated it.
  package let nonEmptyFields: Int
  package let stamp: Stamp

  package init(updatedAt: Int64, nonEmptyFields: Int, stamp: Stamp) {
    self.updatedAt = min(updatedAt, stamp.clock.milliseconds)
    self.nonEmptyFields = nonEmptyFields
    self.stamp = stamp
  }

  /// Creates the rank that an entry states. An entry of another kind of record states none.
  package init(of entry: Entry, stamp: Stamp) {
    self.init(
      updatedAt: entry.stated?.updatedAt ?? 0, nonEmptyFields: entry.stated?.nonEmptyFields ?? 0, stamp: stamp
    )
  }

  package static func < (left: WholeRecordRank, right: WholeRecordRank) -> Bool {
    if left.updatedAt != right.updatedAt { return left.updatedAt < right.updatedAt }
    if left.nonEmptyFields != right.nonEmptyFields { return left.nonEmptyFields < right.nonEmptyFields }
    return left.stamp < right.stamp
  }
}
