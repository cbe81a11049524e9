// Protocol/change-set.md, "Logs and branches", "Causal closure"

/// Every change set that any store in the world has held, verified once, with its position in its log and the sets that
/// its author had seen.
///
/// Copies of a set may differ in which values they have. The library knows the union of all values that it has seen. A
/// `NodeView` remembers which of them the copy in its store lacks.
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
  /// The known values of each set.
  private var known: [KnownValues] = []
  /// What each set and all its predecessors have declared as seen in other logs.
  private(set) var sights: [[Sight]] = []
  private(set) var branchOf: [Int] = []
  /// The predecessor of each set in its log; nil for the first.
  private(set) var predecessors: [Int?] = []
  private(set) var branches: [Branch] = []
  private(set) var logs: [PlainLog] = []
  /// All writes to each record in the order of their stamps, no matter which nodes have folded them.
  private(set) var writes: [PlainKey: [Write]] = [:]
  /// The sets that erase each record, in no particular order.
  private(set) var erases: [PlainKey: [Int]] = [:]
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

  /// What the copies of a set have shown of its values.
  private struct KnownValues {
    /// The copies that were verified, with the slots that each of them lacks.
    var copies: [(bytes: [UInt8], missing: Set<Int>)] = []
    /// The values in each slot; nil if no copy had the slot, or if its content is unreadable.
    var fields: [[ArraySlice<UInt8>]?]
    var isKnown: [Bool]
  }

  func index(of id: Name32) -> Int? { indexes[id] }
  func sets(at place: Position) -> [Int] { places[place] ?? [] }
  func logIndex(_ log: PlainLog) -> Int? { logIndexes[log] }

  /// Verifies and adds a set, and returns its index and the slots that this copy lacks. If the set is already known,
  /// checks that the bytes agree.
  func add(_ raw: PlainRawSet) throws(PlainRefusal) -> (set: Int, missing: Set<Int>) {
    if let known = indexes[PlainSealing.setID(raw.header)] {
      let header = sets[known].header
      guard raw.plan.count == header.planLength, PlainSealing.planHash(raw.plan) == header.planHash else {
        throw PlainRefusal("plan_hash", "the plan does not match the header")
      }
      // A different signature over the same header may also be valid.
      guard
        raw.signature == signatures[known]
          || PlainSealing.isSet(raw.header, signedBy: header.log.device, raw.signature)
      else { throw PlainRefusal("signature", "not by the device") }
      return (known, try learn(raw.values, of: known))
    }
    let set = try PlainSet(raw)
    let read = try PlainValues(raw.values, of: set)
    var previous: Int?
    if let id = set.header.previous {
      guard let found = indexes[id], sets[found].header.log == set.header.log,
        sets[found].header.sequence + 1 == set.header.sequence
      else { throw PlainRefusal("chain", "no store has held its predecessor") }
      previous = found
    }
    let index = insert(set, raw.signature, previous)
    note(read, raw.values, of: index)
    return (index, read.missing)
  }

  private func insert(_ set: PlainSet, _ signature: [UInt8], _ previous: Int?) -> Int {
    let index = sets.count
    sets.append(set)
    signatures.append(signature)
    known.append(
      KnownValues(fields: set.slots.map { _ in nil }, isKnown: set.slots.map { _ in false }))
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
      if entry.act == .erase { erases[entry.key, default: []].append(index) }
      let write = Write(set: index, entry: number)
      var list = writes.removeValue(forKey: entry.key) ?? []
      var place = list.count
      while place > 0, set.stamp < sets[list[place - 1].set].stamp { place -= 1 }
      list.insert(write, at: place)
      writes[entry.key] = list
    }
  }

  // MARK: Values

  /// Verifies the values of a copy of a known set, adds them to what is known of the set, and returns the slots that
  /// the copy lacks.
  @discardableResult
  func learn(_ bytes: [UInt8], of set: Int) throws(PlainRefusal) -> Set<Int> {
    // Most copies have been verified before, and comparing their bytes is much faster than hashing them.
    if let copy = known[set].copies.first(where: { $0.bytes == bytes }) { return copy.missing }
    let read = try PlainValues(bytes, of: sets[set])
    note(read, bytes, of: set)
    return read.missing
  }

  private func note(_ read: PlainValues, _ bytes: [UInt8], of set: Int) {
    for (slot, content) in read.contents.enumerated() {
      guard let content, !known[set].isKnown[slot] else { continue }
      let entry = sets[set].entries[sets[set].slots[slot]]
      known[set].isKnown[slot] = true
      known[set].fields[slot] = PlainValues.fields(content, count: entry.fields.count)
    }
    if known[set].copies.count >= Self.copiesMax { known[set].copies.removeFirst() }
    known[set].copies.append((bytes, read.missing))
  }

  private static let copiesMax = 4

  /// Returns the values in a slot, one for each field of its entry; nil if no copy had them or they are unreadable.
  func values(of set: Int, slot: Int) -> [ArraySlice<UInt8>]? { known[set].fields[slot] }

  /// Returns the values that a set writes to a record, by field. Unknown values are left out.
  func values(of set: Int, _ entry: PlainEntry) -> [Int: ArraySlice<UInt8>] {
    guard let slot = entry.slot, let values = values(of: set, slot: slot) else { return [:] }
    return Dictionary(uniqueKeysWithValues: zip(entry.fields, values))
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
