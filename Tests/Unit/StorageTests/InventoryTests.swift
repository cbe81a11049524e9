import Records
import Replication
import Testing
import Verification
import Wire

/// The comparison of this device's records with those of its peers.
@Suite struct InventoryTests {
  /// An inventory of records, each with a number that stands for its content.
  private func inventory(_ contents: [RecordKey: UInt64]) -> Inventory {
    var inventory = Inventory(folded: .zero)
    for (key, number) in contents {
      inventory.add(InventoryItem(key: key, hash: Bytes32(number, 0, 0, 0), rank: nil))
    }
    return inventory
  }

  /// The numbers of records only here, only there, the same, and differing.
  private func counts(_ comparison: KindComparison?) -> [Int] {
    guard let comparison else { return [] }
    return [comparison.onlyHere, comparison.onlyThere, comparison.same, comparison.differing]
  }

  private func rank(_ updatedAt: Moment, _ fields: Int, at wall: Moment) -> WholeRecordRank {
    let stamp = Stamp(
      clock: Clock(milliseconds: wall), device: DeviceKey(.zero), set: ChangeSetID(.zero))
    return WholeRecordRank(updatedAt: updatedAt, nonEmptyFields: fields, stamp: stamp)
  }

  @Test func `records of each kind are counted as only here, only there, the same or different`() {
    let own = inventory([trip(1): 1, trip(2): 2, trip(4): 4, habit(1): 3])
    let theirs = inventory([trip(1): 1, trip(3): 9, trip(4): 5, habit(1): 4])
    let comparison = InventoryComparison(own: own, theirs: [theirs])
    #expect(counts(comparison.kinds[KindNumbers.trip]) == [1, 1, 1, 1])
    #expect(counts(comparison.kinds[KindNumbers.habit]) == [0, 0, 0, 1])
    #expect(comparison.kinds.count == 2)
    #expect(counts(comparison.total) == [1, 1, 1, 2])
    #expect(comparison.differing == [trip(4), habit(1)])
  }

  @Test(arguments: [false, true])
  func `a record is the same only if all peers that have it agree, and counts once`(isReversed: Bool) {
    let own = inventory([trip(1): 1, trip(2): 2, trip(4): 4])
    let one = inventory([trip(1): 1, trip(2): 2, trip(5): 7])
    let other = inventory([trip(1): 8, trip(3): 3, trip(5): 7])
    let comparison = InventoryComparison(own: own, theirs: isReversed ? [other, one] : [one, other])
    #expect(counts(comparison.kinds[KindNumbers.trip]) == [1, 2, 1, 1])
    #expect(comparison.differing == [trip(1)])
    let alone = InventoryComparison(own: own, theirs: [])
    #expect(counts(alone.total) == [3, 0, 0, 0] && alone.differing == [])
  }

  @Test func `the winning profile is the one that ranks higher, and the reason is the first difference`() {
    typealias Case = (
      here: WholeRecordRank?, there: WholeRecordRank?, isHere: Bool, reason: ProfileOutcome.Reason?
    )
    let (old, new) = (rank(5, 1, at: 10), rank(5, 1, at: 20))
    let full = rank(5, 2, at: 10)
    let later = rank(6, 1, at: 10)
    let cases: [Case] = [
      (nil, nil, false, nil), (old, nil, true, nil), (nil, old, false, nil),
      (later, full, true, .updatedAt), (full, later, false, .updatedAt),
      (full, new, true, .filledIn), (new, full, false, .filledIn),
      (new, old, true, .stamp), (old, new, false, .stamp),
    ]
    for (index, item) in cases.enumerated() {
      let outcome = ProfileOutcome(here: item.here, there: item.there, isSame: false)
      #expect(outcome.isHere == item.isHere, "case \(index)")
      #expect(outcome.reason == item.reason, "case \(index)")
      let same = ProfileOutcome(here: item.here, there: item.there, isSame: true)
      #expect(same.reason == nil, "case \(index)")
    }
  }

  @Test func `an inventory remembers the rank of the profile, and of no other record`() {
    var inventory = Inventory(folded: .zero)
    let (low, high) = (rank(5, 1, at: 10), rank(6, 1, at: 10))
    inventory.add(InventoryItem(key: FixedRecords.profile, hash: .zero, rank: high))
    inventory.add(InventoryItem(key: trip(1), hash: .zero, rank: low))
    #expect(inventory.profile == high)
    #expect(inventory.items.count == 2)
  }
}
