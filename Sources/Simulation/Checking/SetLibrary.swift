// Protocol/change-set.md, "Logs and branches", "Causal closure"

/// Every change set that any store in the world has held, verified once, with its position in its log and the sets that
/// its author had seen.
final class SetLibrary {
  /// One write to a record: the set and the index of its entry.
  struct Write {
    let set: Int
    let entry: Int
  }

  /// A part of a log without forks. A branch continues its parent branch, unless it begins the log.
  struct Branch {
    let log: Int
    let first: UInt64
    let parent: Int?
    var last: UInt64
  }

  /// The sequence up to which a branch had been seen.
  struct Sight {
    let log: Int
    let branch: Int
    let sequence: UInt64
  }

  private(set) var sets: [PlainSet] = []
  private(set) var signatures: [[UInt8]] = []
  /// What each set and all its predecessors have declared as seen in other logs.
  private(set) var sights: [[Sight]] = []
  private(set) var branchOf: [Int] = []
  /// The predecessor of each set in its log; nil for the first.
  private(set) var predecessors: [Int?] = []
  private(set) var branches: [Branch] = []
  private(set) var logs: [PlainLog] = []
  /// All writes to each record in the order of their stamps, no matter which nodes have folded them.
  private(set) var writes: [PlainKey: [Write]] = [:]
  private var indexes: [Name32: Int] = [:]
  /// For each set that no store has held yet, the first set that declares it as a dependency.
  private var awaited: [Name32: Int] = [:]
  private var logIndexes: [PlainLog: Int] = [:]
  private var places: [Position: [Int]] = [:]
  /// Positions with more than one set.
  private(set) var forks: Set<Position> = []
  private(set) var operations: [Name16: [Int]] = [:]

  struct Position: Hashable {
    let log: Int
    let sequence: UInt64
  }

  func index(of id: Name32) -> Int? { indexes[id] }
  func sets(at place: Position) -> [Int] { places[place] ?? [] }
  func logIndex(_ log: PlainLog) -> Int? { logIndexes[log] }

  /// Verifies and adds a set, and returns its index. If the set is already known, checks that the bytes agree.
  func add(header: [UInt8], signature: [UInt8], body: [UInt8]) throws(PlainRefusal) -> Int {
    if let known = indexes[PlainSealing.setID(header)] {
      guard PlainSealing.bodyHash(body) == sets[known].header.bodyHash, sets[known].body.count == body.count
      else { throw PlainRefusal("body_hash", "the body does not match the header") }
      // A different signature over the same header may also be valid.
      guard
        signature == signatures[known]
          || PlainSealing.isSet(header, signedBy: sets[known].header.log.device, signature)
      else { throw PlainRefusal("signature", "not by the device") }
      return known
    }
    let set = try PlainSet(header: header, signature: signature, body: body)
    var previous: Int?
    if let id = set.header.previous {
      guard let found = indexes[id], sets[found].header.log == set.header.log,
        sets[found].header.sequence + 1 == set.header.sequence
      else { throw PlainRefusal("chain", "no store has held its predecessor") }
      previous = found
    }
    return insert(set, signature, previous)
  }

  private func insert(_ set: PlainSet, _ signature: [UInt8], _ previous: Int?) -> Int {
    let index = sets.count
    sets.append(set)
    signatures.append(signature)
    predecessors.append(previous)
    indexes[set.id] = index
    operations[set.header.operation, default: []].append(index)
    let log = number(set.header.log)
    branchOf.append(branch(for: set, log, previous))
    let place = Position(log: log, sequence: set.header.sequence)
    places[place, default: []].append(index)
    if places[place]?.count ?? 0 > 1 { forks.insert(place) }
    sights.append(allSights(of: index))
    for dependency in set.header.dependencies where indexes[dependency.id] == nil {
      if awaited[dependency.id] == nil { awaited[dependency.id] = index }
    }
    if let first = awaited.removeValue(forKey: set.id) { seeAgain(from: first) }
    note(set, index)
    return index
  }

  /// Updates what sets have seen, when a dependency arrives after the sets that declare it. Those were stored without
  /// the dependency because a cut excluded it.
  private func seeAgain(from first: Int) {
    for index in first..<sets.count { sights[index] = allSights(of: index) }
  }

  private func allSights(of index: Int) -> [Sight] {
    sights(of: sets[index], after: predecessors[index].map { sights[$0] } ?? []) { _ in true }
  }

  private func number(_ log: PlainLog) -> Int {
    if let known = logIndexes[log] { return known }
    logs.append(log)
    logIndexes[log] = logs.count - 1
    return logs.count - 1
  }

  private func branch(for set: PlainSet, _ log: Int, _ previous: Int?) -> Int {
    let sequence = set.header.sequence
    if let previous, branches[branchOf[previous]].last == sequence - 1 {
      branches[branchOf[previous]].last = sequence
      return branchOf[previous]
    }
    branches.append(
      Branch(log: log, first: sequence, parent: previous.map { branchOf[$0] }, last: sequence))
    return branches.count - 1
  }

  private func note(_ set: PlainSet, _ index: Int) {
    for (number, entry) in set.entries.enumerated() {
      let write = Write(set: index, entry: number)
      var list = writes.removeValue(forKey: entry.key) ?? []
      var place = list.count
      while place > 0, set.stamp < sets[list[place - 1].set].stamp { place -= 1 }
      list.insert(write, at: place)
      writes[entry.key] = list
    }
  }

  // MARK: The past

  /// Returns what a set has seen: `earlier`, which its predecessor had seen, plus the set's own dependencies for which
  /// `counts` returns true.
  func sights(of set: PlainSet, after earlier: [Sight], counting counts: (Int) -> Bool) -> [Sight] {
    var found = earlier
    for dependency in set.header.dependencies {
      guard let index = indexes[dependency.id], counts(index) else { continue }
      let sight = Sight(
        log: number(sets[index].header.log), branch: branchOf[index],
        sequence: sets[index].header.sequence)
      if let same = found.firstIndex(where: { $0.branch == sight.branch }) {
        if found[same].sequence < sight.sequence { found[same] = sight }
      } else {
        found.append(sight)
      }
    }
    return found
  }

  /// Whether `later` had seen `earlier`, or is the same set. `sights` is what `later` has declared as seen.
  func covers(_ later: Int, _ earlier: Int, by sights: [Sight]) -> Bool {
    if later == earlier { return true }
    let log = branches[branchOf[earlier]].log
    if branches[branchOf[later]].log == log {
      return isOnPath(earlier, to: branchOf[later], sets[later].header.sequence)
    }
    return sights.contains { $0.log == log && isOnPath(earlier, to: $0.branch, $0.sequence) }
  }

  /// Whether a set is on the path from the first set of its log to a position in a branch, inclusive.
  func isOnPath(_ set: Int, to branch: Int, _ sequence: UInt64) -> Bool {
    var next: Int? = branch
    var last = sequence
    while let number = next {
      if number == branchOf[set] { return sets[set].header.sequence <= last }
      last = min(last, branches[number].first - 1)
      next = branches[number].parent
    }
    return false
  }

  func isOnPath(_ set: Int, to tip: Int) -> Bool {
    isOnPath(set, to: branchOf[tip], sets[tip].header.sequence)
  }
}
