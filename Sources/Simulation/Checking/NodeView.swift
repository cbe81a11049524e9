// Sources/store.md, "Tables"

import SQLite

/// The store of one node as of the last look.
final class NodeView {
  /// The state of a set in the store: `waits` means parked, `held` means stored but excluded by a cut.
  enum SetState: UInt8 {
    case absent, waits, folded, held
  }

  let name: String
  let device: Name32
  var connection: Connection {
    didSet { (dataVersion, told) = (nil, nil) }
  }
  private var dataVersion: Int64?
  /// The hash of the stored statements, and the version of the store for which it was last computed within a step.
  private var told: (version: Int64, certificates: Name32)?
  /// The states of sets, by index in the library.
  private(set) var states: [SetState] = []
  /// The library indexes of the sets that have numbers 1, 2, 3 … in the store.
  private(set) var numbers: [Int] = []
  /// The number of each set in the store, by index in the library; 0 if it is not stored.
  private var numberOf: [Int64] = []
  /// The slots whose values are missing in the store, by set. Sets that lack none are left out.
  private(set) var missing: [Int: Set<Int>] = [:]
  /// The slots that were missing in the store at any time.
  private(set) var everMissing: [Int: Set<Int>] = [:]
  /// The sets whose erases this node holds, so that it still has the erased values.
  var heldErases: Set<Int> = []
  var statements: [Name32: PlainStatement] = [:] {
    didSet { knownCertificates = nil }
  }
  private var knownCertificates: Name32?
  var circle: PlainCircle?
  /// The digests computed from the folded sets.
  var digests = ViewDigests()
  /// The heads of this view, computed on demand; nil if they have to be computed again.
  var heads: ViewHeads?
  /// The greatest clock among the folded sets of other devices.
  var newestForeignClock: UInt64 = 0
  /// The numbers of parked sets.
  var waiting: Set<Int64> = []
  /// The numbers of stored sets that a cut excludes from folding.
  var held: Set<Int64> = []
  /// What each set has seen of other logs, not counting sets that are not stored here; by index in the library.
  private var sightsHere: [Int: [SetLibrary.Sight]] = [:]
  /// Whether the store tolerates gaps: stored sets may depend on sets that a cut excludes and that are missing.
  var hasGaps = false
  /// The sets that the last look found newly stored or folded, if not all checks of that look have passed.
  var unjudged: Set<Int> = []
  /// Whether sets may have been lost, because a disk lied or a backup was restored.
  var mayHaveLost = false

  /// Whether another connection has changed the store since the last call.
  func hasChanged() throws -> Bool {
    let version = try version()
    defer { dataVersion = version }
    return version != dataVersion
  }

  private func version() throws -> Int64 {
    try connection.with("PRAGMA data_version") { try $0.step() ? $0.integer(0) : 0 }
  }

  /// The hash of the statements as of the last look.
  var certificates: Name32 {
    let hash = knownCertificates ?? NodeState.certificates(statements.values)
    knownCertificates = hash
    return hash
  }

  /// Returns the hash of the statements that are stored now. Calls `compute` only if another connection has changed the
  /// store since the last call.
  func certificates(by compute: () throws -> Name32) throws -> Name32 {
    let version = try version()
    if let told, told.version == version { return told.certificates }
    let certificates = try compute()
    told = (version, certificates)
    return certificates
  }

  init(_ name: String, device: Name32, connection: Connection) {
    self.name = name
    self.device = device
    self.connection = connection
  }

  subscript(set: Int) -> SetState {
    get { set < states.count ? states[set] : .absent }
    set {
      while states.count <= set { states.append(.absent) }
      states[set] = newValue
    }
  }

  /// Returns the set with a number in the store; nil for number 0, which stands for a seed, and for unknown numbers.
  func set(number: Int64) -> Int? {
    number >= 1 && number <= numbers.count ? numbers[Int(number) - 1] : nil
  }

  func number(of set: Int) -> Int64 { set < numberOf.count ? numberOf[set] : 0 }

  /// Adds the set with the next number.
  ///
  /// - Parameter missing: the slots that the stored copy lacks.
  func append(_ set: Int, _ state: SetState, lacking missing: Set<Int>) {
    numbers.append(set)
    lacks(missing, of: set)
    while numberOf.count <= set { numberOf.append(0) }
    numberOf[set] = Int64(numbers.count)
    self[set] = state
    heads = nil
  }

  /// Records which slots the stored copy of a set lacks.
  func lacks(_ slots: Set<Int>, of set: Int) {
    missing[set] = slots.isEmpty ? nil : slots
    if !slots.isEmpty { everMissing[set, default: []].formUnion(slots) }
  }

  /// Whether the store has the values in a slot of a stored set.
  func holds(_ set: Int, slot: Int) -> Bool { missing[set]?.contains(slot) != true }

  /// Forgets the log, so that it can be read again.
  func clear() {
    states = []
    numbers = []
    numberOf = []
    missing = [:]
    waiting = []
    held = []
    sightsHere = [:]
    hasGaps = false
    heads = nil
    newestForeignClock = 0
    digests = ViewDigests()
  }

  var storedSets: Set<Int> { Set(numbers) }

  /// Whether the author of one set had seen another set, as far as this node can know.
  func covers(_ later: Int, _ earlier: Int, _ library: SetLibrary) -> Bool {
    library.covers(later, earlier, by: hasGaps ? sights(later, library) : library.sights[later])
  }

  /// Returns what a set has seen of other logs, not counting sets that are not stored here, because they never fold
  /// here.
  private func sights(_ set: Int, _ library: SetLibrary) -> [SetLibrary.Sight] {
    var path: [Int] = []
    var next: Int? = set
    while let step = next, sightsHere[step] == nil {
      path.append(step)
      next = library.predecessors[step]
    }
    var seen = next.flatMap { sightsHere[$0] } ?? []
    for step in path.reversed() {
      seen = library.sights(of: library.sets[step], after: seen) { self[$0] != .absent }
      sightsHere[step] = seen
    }
    return seen
  }

  /// Returns what a set that was re-authored had seen of other logs. For ancestors that stay in the log, only stored
  /// sets count, as everywhere else. For ancestors that were re-authored with the set, everything that they declare
  /// counts.
  func sightsOfOutgoing(_ set: Int, _ library: SetLibrary) -> [SetLibrary.Sight] {
    var path: [Int] = []
    var next: Int? = set
    while let step = next, self[step] == .absent {
      path.append(step)
      next = library.predecessors[step]
    }
    return path.reversed().reduce(next.map { sights($0, library) } ?? []) { seen, step in
      library.sights(of: library.sets[step], after: seen) { _ in true }
    }
  }

  /// Returns the record that follows from the folded sets.
  ///
  /// - Parameter excluded: folded sets that don't count.
  func record(_ key: PlainKey, _ library: SetLibrary, without excluded: Set<Int> = []) -> PlainRecord {
    let scope = PlainRecord.Scope(
      counts: { self[$0] == .folded && !excluded.contains($0) },
      covers: { self.covers($0, $1, library) },
      holds: { self.holds($0, slot: $1) }, isHeldErase: heldErases.contains)
    return PlainRecord(key, library, scope)
  }
}

/// The digests of both lanes, computed by the judge: in each of 256 buckets, the sum of the hashes of the records whose
/// ids begin with the same byte.
struct ViewDigests {
  private var hashes: [PlainKey: Name32] = [:]
  private(set) var sums: [[Name32]] = [
    Array(repeating: .zero, count: 256), Array(repeating: .zero, count: 256),
  ]
  /// The digests of the two lanes: the sums over all buckets.
  private(set) var totals: [Name32] = [.zero, .zero]

  static func bucket(_ key: PlainKey) -> (lane: Int, bucket: Int) {
    (PlainKinds.lane(UInt64(key.kind)) ?? 1, Int(key.id.high >> 56))
  }

  mutating func set(_ key: PlainKey, _ hash: Name32?) {
    let (lane, bucket) = Self.bucket(key)
    if hashes[key] == hash { return }
    let change = (hash ?? .zero) &+ (hashes[key]?.negated ?? .zero)
    hashes[key] = hash
    sums[lane][bucket] = sums[lane][bucket] &+ change
    totals[lane] = totals[lane] &+ change
  }

  /// Returns the hash that a record adds to a digest; nil if no set has written any of the record's cells. See
  /// Protocol/merge.md, "Digest".
  static func hash(_ record: PlainRecord, _ library: SetLibrary) -> Name32? {
    guard !record.cells.isEmpty else { return nil }
    var input: [UInt8] = []
    input.reserveCapacity(20 + 76 * record.cells.count)
    plainAppend(UInt32(record.key.kind), to: &input)
    plainAppend(record.key.id, to: &input)
    for field in record.cells.keys.sorted() {
      guard let winner = record.cells[field]?.winner.set else { continue }
      let stamp = library.sets[winner].stamp
      plainAppend(UInt32(field), to: &input)
      plainAppend(stamp.clock, to: &input)
      for name in [stamp.device, stamp.id] {
        plainAppend(name.first, to: &input)
        plainAppend(name.last, to: &input)
      }
    }
    return PlainSealing.recordDigest(input)
  }
}

extension Name32 {
  /// The negative of the number modulo 2²⁵⁶.
  var negated: Name32 {
    let flipped = Name32(
      first: Name16(high: ~first.high, low: ~first.low), last: Name16(high: ~last.high, low: ~last.low))
    return flipped &+ Name32(first: .zero, last: Name16(high: 0, low: 1))
  }
}
