// Protocol/files.md, "Requests"

/// A set of a file's leaves, with one bit for each leaf.
package struct LeafSet: Hashable, Sendable {
  /// The number of leaves of the file.
  package let leafCount: Int
  /// The number of leaves in the set.
  package private(set) var count = 0
  /// Bit `i mod 8` of byte `i / 8` stands for leaf `i`. All bits after the last leaf are zero.
  package private(set) var bytes: [UInt8]

  package init(leafCount: Int) {
    self.leafCount = leafCount
    bytes = [UInt8](repeating: 0, count: (leafCount + 7) / 8)
  }

  /// Reads a stored set. Returns nil if it is not the set of a file with this number of leaves.
  package init?(leafCount: Int, bytes: ArraySlice<UInt8>) {
    self.init(leafCount: leafCount)
    guard bytes.count == self.bytes.count else { return nil }
    self.bytes = Array(bytes)
    if let last = self.bytes.last, !leafCount.isMultiple(of: 8), last >> (leafCount % 8) != 0 { return nil }
    count = bytes.reduce(0) { $0 + $1.nonzeroBitCount }
  }

  package var isComplete: Bool { count == leafCount }
  package var isEmpty: Bool { count == 0 }

  package func contains(_ index: Int) -> Bool { bytes[index / 8] >> (index % 8) & 1 == 1 }

  /// - Returns: whether the leaf was not in the set before.
  @discardableResult
  package mutating func insert(_ index: Int) -> Bool {
    precondition((0..<leafCount).contains(index), "leaf \(index) of \(leafCount)")
    guard !contains(index) else { return false }
    bytes[index / 8] |= 1 << (index % 8)
    count += 1
    return true
  }

  package mutating func remove(_ index: Int) {
    guard contains(index) else { return }
    bytes[index / 8] &= ~(1 << (index % 8))
    count -= 1
  }

  /// Returns the first run of leaves that are not in the set, from `start` on and of at most `countMax` leaves; nil if
  /// there are none.
  package func missing(from start: Int, countMax: Int) -> Range<Int>? {
    guard let first = firstMissing(from: start) else { return nil }
    let end = (first + 1..<min(first + countMax, leafCount)).first(where: contains)
    return first..<(end ?? min(first + countMax, leafCount))
  }

  private func firstMissing(from start: Int) -> Int? {
    var index = start
    while index < leafCount {
      if index.isMultiple(of: 8), bytes[index / 8] == 0xff {
        index += 8
      } else if contains(index) {
        index += 1
      } else {
        return index
      }
    }
    return nil
  }
}
