// Protocol/merge.md, "Operations and undo"

package import LogStorage

/// The writes of one cell, and which of them each write has seen.
///
/// Within a branch of a log, each write has seen all writes before it. So what a write has seen of a branch is a single
/// number: how many of the branch's writes, counted from the oldest. A question about one write takes a step for each
/// branch (or for each pair of branches), almost regardless of the number of writes:
///
///     branch a    a1 ── a2 ── a3            b2 has seen (2, 1): a1, a2, and b1
///                         ╲
///     branch b    b1 ──────── b2
package final class CellWrites {
  package struct Write {
    /// The rank of the write in the order of precedence; the write with the highest rank wins.
    package let index: Int
    package let place: SetPosition
    /// A number for the content, equal for equal contents.
    package let content: Int

    package init(_ index: Int, _ place: SetPosition, _ content: Int) {
      (self.index, self.place, self.content) = (index, place, content)
    }
  }

  private struct Branch {
    let number: Int64
    /// The writes of the branch, oldest first.
    var writes: [Write] = []
    /// For each prefix of `writes` (at index count − 1): its highest write, and the highest write whose content differs
    /// from the content of that write; nil if all contents are equal.
    var highest: [(write: Write, other: Write?)] = []

    /// Returns the number of writes at or before a sequence.
    func count(through sequence: Int64) -> Int {
      var (low, high) = (0, writes.count)
      while low < high {
        let middle = (low + high) / 2
        if writes[middle].place.sequence <= sequence { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  private let store: Store
  private let branches: [Branch]
  /// For each write, by its index: the write's branch (a position in `branches`) and its position among the writes of
  /// that branch.
  private var positions: [Int: (branch: Int, position: Int)] = [:]
  /// For each write, by its index: how many writes of each branch it has seen, itself excluded. A cache.
  private var seen: [Int: [Int32]] = [:]
  private static let seenMax = 2_000_000

  package init(_ writes: [Write], in store: Store) {
    self.store = store
    var branches: [Int64: Branch] = [:]
    for write in writes {
      branches[write.place.branch, default: Branch(number: write.place.branch)].writes.append(write)
    }
    self.branches = branches.values.sorted { $0.number < $1.number }.map { branch in
      var branch = branch
      branch.writes.sort { $0.place.sequence < $1.place.sequence }
      for write in branch.writes {
        guard let (best, other) = branch.highest.last else {
          branch.highest.append((write, nil))
          continue
        }
        let (top, below) = write.index > best.index ? (write, best) : (best, write)
        let candidates = [below, other].compactMap(\.self).filter { $0.content != top.content }
        branch.highest.append((top, candidates.max { $0.index < $1.index }))
      }
      return branch
    }
    for (number, branch) in self.branches.enumerated() {
      for (position, write) in branch.writes.enumerated() { positions[write.index] = (number, position) }
    }
  }

  /// Returns the index of the highest write that a write has seen; nil if it has seen none.
  package func before(_ index: Int) throws -> Int? {
    let seen = try seen(by: index)
    return zip(branches, seen).compactMap { branch, count in
      count > 0 ? branch.highest[Int(count) - 1].write.index : nil
    }.max()
  }

  /// Returns the index of the write that this write lost to; nil if it did not lose.
  ///
  /// In each branch, the first write that has seen this write is called its follower. This write lost to the highest
  /// write that has different content, has not seen this write, and had been seen by all followers, provided that the
  /// write found in this way ranks above this one.
  package func winner(over index: Int) throws -> Int? {
    guard let (home, position) = positions[index] else { return nil }
    let content = branches[home].writes[position].content
    // In each branch, only those writes count that precede the branch's follower and that all followers had seen. If
    // the author replaced this write before receiving a higher one, this write did not lose to the higher one.
    var limits = branches.map(\.writes.count)
    for number in branches.indices {
      guard let first = try firstFollower(of: position, in: home, number) else { continue }
      limits[number] = min(limits[number], first)
      let seen = try seen(by: branches[number].writes[first].index)
      for other in branches.indices where other != number {
        limits[other] = min(limits[other], Int(seen[other]))
      }
    }
    let found = zip(branches, limits).compactMap { branch, limit -> Int? in
      guard limit > 0 else { return nil }
      let (highest, other) = branch.highest[limit - 1]
      return highest.content != content ? highest.index : other?.index
    }.max()
    return found.flatMap { $0 > index ? $0 : nil }
  }

  /// Returns the position of the first write of a branch that has seen a given write; nil if there is none.
  private func firstFollower(of position: Int, in home: Int, _ branch: Int) throws -> Int? {
    let writes = branches[branch].writes
    guard branch != home else { return position + 1 < writes.count ? position + 1 : nil }
    var (low, high) = (0, writes.count)
    while low < high {
      let middle = (low + high) / 2
      if try seen(by: writes[middle].index)[home] > Int32(position) {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low < writes.count ? low : nil
  }

  private func seen(by index: Int) throws -> [Int32] {
    if let known = seen[index] { return known }
    guard let (home, position) = positions[index] else { return branches.map { _ in 0 } }
    let place = branches[home].writes[position].place
    let found = try branches.indices.map { number -> Int32 in
      guard number != home else { return Int32(position) }
      let newest = try store.newestSeen(by: place, of: branches[number].number)
      return Int32(branches[number].count(through: newest))
    }
    if seen.count * branches.count > Self.seenMax { seen = [:] }
    seen[index] = found
    return found
  }
}
