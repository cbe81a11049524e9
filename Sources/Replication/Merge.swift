// Protocol/merge.md

import Wire

/// A change set as the author of a write: its place in the total order and in causality.
package struct WriteOrigin: Hashable, Sendable {
  /// The number under which the store keeps the set; 0 for a seed.
  package let number: Int64
  package let stamp: Stamp

  package static let seed = WriteOrigin(number: 0, stamp: .zero)

  package init(number: Int64, stamp: Stamp) {
    self.number = number
    self.stamp = stamp
  }
}

/// What a new write does to the winner of its cell. In either case the rivals (maximal writes that did not win) that
/// the new write has seen are closed.
///
/// Sets are folded in causal order, so nothing that is folded already follows the new write: it is maximal.
package struct MergeOutcome: Hashable, Sendable {
  /// The new write shows from now on; otherwise it becomes a rival.
  package let newWins: Bool
  /// The former winner is a maximal write that the new one does not follow: it stays as a rival.
  package let heldBecomesSibling: Bool
}

package enum Merge {
  /// Decides one cell: the highest stamp wins, whatever the order of arrival.
  ///
  /// - Parameters:
  ///   - coversHeld: whether the causal past of the new write covers the winner.
  package static func cell(new: Stamp, held: WriteOrigin?, coversHeld: Bool) -> MergeOutcome {
    outcome(newWins: held.map { new > $0.stamp } ?? true, heldIsConcurrent: isConcurrent(held, coversHeld))
  }

  /// Decides a whole record: the greatest rank wins, so a newer stamp alone is not enough.
  ///
  /// Ranks do not ascend along causality as stamps do: the winner may have been followed already by a write
  /// of lower rank, which is a rival then. Such a winner is not maximal and never becomes a rival; without
  /// this the list of conflicts would depend on the order of arrival.
  ///
  /// - Parameters:
  ///   - coversHeld: whether the causal past of the new write covers the winner.
  ///   - isHeldFollowed: whether the causal past of a rival covers the winner.
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

  /// The writes that a deletion and its author did not know of, and that did not know of the deletion.
  package static func concurrent(
    with deletion: WriteOrigin, among writes: [WriteOrigin],
    covers: (_ later: WriteOrigin, _ earlier: WriteOrigin) -> Bool
  ) -> [WriteOrigin] {
    writes.filter {
      $0.number != 0 && $0 != deletion && !covers(deletion, $0) && !covers($0, deletion)
    }
  }
}

/// Orders the writes of a whole record: own time of change, then how much is filled in, then the stamp.
package struct WholeRecordRank: Hashable, Comparable, Sendable {
  /// Milliseconds, read as at most the set's clock, so that a wrong date does not win for ever.
  package let updatedAt: Int64
  /// Unknown fields count; null, empty text, bytes and arrays do not.
  package let nonEmptyFields: Int
  package let stamp: Stamp

  package init(updatedAt: Int64, nonEmptyFields: Int, stamp: Stamp) {
    self.updatedAt = min(updatedAt, stamp.clock.milliseconds)
    self.nonEmptyFields = nonEmptyFields
    self.stamp = stamp
  }

  /// The rank of a put; a missing or wrongly typed time of change reads as 0.
  package init(of entry: Entry, in body: ChangeSetBody, stamp: Stamp) {
    var updatedAt: Int64 = 0
    var filled = 0
    for cell in body.cells[entry.cells] where cell.field != Fields.life {
      let content = body.content(cell)
      if !isEmptyContent(content) { filled += 1 }
      if cell.field == Fields.wholeRecordUpdatedAt, case .integer(let time)? = try? Value(encoded: content) {
        updatedAt = time
      }
    }
    self.init(updatedAt: updatedAt, nonEmptyFields: filled, stamp: stamp)
  }

  package static func < (left: WholeRecordRank, right: WholeRecordRank) -> Bool {
    if left.updatedAt != right.updatedAt { return left.updatedAt < right.updatedAt }
    if left.nonEmptyFields != right.nonEmptyFields { return left.nonEmptyFields < right.nonEmptyFields }
    return left.stamp < right.stamp
  }
}

/// Null, empty text, empty bytes, empty array, in canonical CBOR.
package func isEmptyContent(_ content: ArraySlice<UInt8>) -> Bool {
  guard content.count == 1, let byte = content.first else { return false }
  return byte == 0xf6 || byte == 0x60 || byte == 0x40 || byte == 0x80
}
