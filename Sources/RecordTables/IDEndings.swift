import Records
import Wire

/// The ends of the ids of all records, sorted so that ids with equal last digits are neighbours. It tells how many digits
/// two ids share without a search through the tables. Takes 8 bytes a record.
struct IDEndings {
  /// The last 16 digits of each id, with the last digit in the highest place. Ascending.
  private var sorted: [UInt64] = []
  /// Those that were added since and are not sorted in yet.
  private var added: [UInt64] = []

  mutating func add(_ id: RecordID) { added.append(id.ending) }

  /// Returns the largest number of last digits that an id shares with any other id here, at most 16. Ids whose last 16
  /// digits are equal count as one.
  mutating func digitsShared(by id: RecordID) -> Int {
    mergeAdded()
    let ending = id.ending
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = low + (high - low) / 2
      if sorted[middle] < ending { low = middle + 1 } else { high = middle }
    }
    let above = sorted[low...].first { $0 != ending }
    let below = low > 0 ? sorted[low - 1] : nil
    func shared(with other: UInt64) -> Int { (other ^ ending).leadingZeroBitCount / 4 }
    return max(below.map(shared) ?? 0, above.map(shared) ?? 0)
  }

  private mutating func mergeAdded() {
    guard !added.isEmpty else { return }
    added.sort()
    var merged: [UInt64] = []
    merged.reserveCapacity(sorted.count + added.count)
    var next = sorted[...]
    for ending in added {
      let end = next.firstIndex { $0 > ending } ?? next.endIndex
      merged += next[..<end]
      merged.append(ending)
      next = next[end...]
    }
    merged += next
    (sorted, added) = (merged, [])
  }
}

extension RecordID {
  /// The last 16 digits in reverse.
  fileprivate var ending: UInt64 {
    let bytes = raw.word1.byteSwapped
    return (bytes & 0x0F0F_0F0F_0F0F_0F0F) << 4 | (bytes & 0xF0F0_F0F0_F0F0_F0F0) >> 4
  }
}
