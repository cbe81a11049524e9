// Protocol/store.md, "Tables": what a checker knows of one node's store.

import SQLite

/// One node as its store showed it at the last look.
final class NodeView {
  /// What the store says of a set.
  enum SetState: UInt8 {
    case absent, waits, folded, held
  }

  let name: String
  let device: Name32
  var connection: Connection {
    didSet { (dataVersion, told) = (nil, nil) }
  }
  private var dataVersion: Int64?
  /// The hash of the statements that the store held when it was last asked for in the midst of a step.
  private var told: (version: Int64, certificates: Name32)?
  /// By index in the library.
  private(set) var states: [SetState] = []
  /// What the store numbers 1, 2, 3 …: indexes in the library.
  private(set) var numbers: [Int] = []
  /// The number of each set, by index in the library; 0 for those that are not here.
  private var numberOf: [Int64] = []
  var statements: [Name32: PlainStatement] = [:] {
    didSet { knownCertificates = nil }
  }
  private var knownCertificates: Name32?
  var circle: PlainCircle?
  /// What each record adds to its lane's digest.
  var digests = ViewDigests()
  /// The heads that this view implies; made when somebody asks.
  var heads: ViewHeads?
  /// The newest clock folded from another device.
  var newestForeignClock: UInt64 = 0
  /// Sets that wait, by number.
  var waiting: Set<Int64> = []
  /// Sets that a cut keeps from counting, by number.
  var held: Set<Int64> = []
  /// Of sets in logs that are cut, what was seen of others as far as it is stored here; by index.
  private var sightsHere: [Int: [SetLibrary.Sight]] = [:]
  /// Whether stored sets may have seen what is not here.
  var hasGaps = false
  /// What has come since the last look that found nothing wrong.
  var unjudged: Set<Int> = []
  /// Ids that a disk that lied, or a restored backup, may have lost.
  var mayHaveLost = false

  /// Whether somebody else has written since the last time this was asked.
  func hasChanged() throws -> Bool {
    let version = try version()
    defer { dataVersion = version }
    return version != dataVersion
  }

  private func version() throws -> Int64 {
    try connection.with("PRAGMA data_version") { try $0.step() ? $0.integer(0) : 0 }
  }

  /// The hash of the statements of the last look.
  var certificates: Name32 {
    let hash = knownCertificates ?? NodeState.certificates(statements.values)
    knownCertificates = hash
    return hash
  }

  /// The hash of the statements that the store holds by now; computed again only after somebody else has written.
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

  /// The number that the store gave a set; 0 for seeds.
  func set(number: Int64) -> Int? {
    number >= 1 && number <= numbers.count ? numbers[Int(number) - 1] : nil
  }

  func number(of set: Int) -> Int64 { set < numberOf.count ? numberOf[set] : 0 }

  func append(_ set: Int, _ state: SetState) {
    numbers.append(set)
    while numberOf.count <= set { numberOf.append(0) }
    numberOf[set] = Int64(numbers.count)
    self[set] = state
    heads = nil
  }

  /// Forgets the log, to read it anew.
  func clear() {
    states = []
    numbers = []
    numberOf = []
    waiting = []
    held = []
    sightsHere = [:]
    hasGaps = false
    heads = nil
    newestForeignClock = 0
    digests = ViewDigests()
  }

  var storedSets: Set<Int> { Set(numbers) }

  /// Whether the past of one set covers another, as this node can know.
  func covers(_ later: Int, _ earlier: Int, _ library: SetLibrary) -> Bool {
    library.covers(later, earlier, by: hasGaps ? sights(later, library) : library.sights[later])
  }

  /// What a set has seen, without what is not stored here: nobody asks who has seen what never folds.
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

  /// What a set that was written again had seen. Of what stays in its log only what is stored counts, as for everybody;
  /// what is written again itself is known with all that it had seen.
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

  func record(_ key: PlainKey, _ library: SetLibrary) -> PlainRecord {
    PlainRecord(key, library) {
      self[$0] == .folded
    } covers: {
      self.covers($0, $1, library)
    }
  }
}

/// The sums that a lane's digest consists of, kept by the first byte of record ids.
struct ViewDigests {
  private var hashes: [PlainKey: Name32] = [:]
  private(set) var sums: [[Name32]] = [
    Array(repeating: .zero, count: 256), Array(repeating: .zero, count: 256),
  ]
  /// The digests of the two lanes: the sums of all those.
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

  /// Protocol/merge.md, "Digest": what a record adds; nil if no set has written a cell of it.
  static func hash(_ record: PlainRecord, _ library: SetLibrary) -> Name32? {
    guard !record.cells.isEmpty else { return nil }
    var input = plainBigEndian(UInt32(record.key.kind)) + record.key.id.bytes
    for (field, cell) in record.cells.sorted(by: { $0.key < $1.key }) {
      let stamp = library.sets[cell.winner.set].stamp
      input += plainBigEndian(UInt32(field)) + plainBigEndian(stamp.clock) + stamp.device.bytes
      input += stamp.id.bytes
    }
    return PlainSealing.recordDigest(input)
  }
}

extension Name32 {
  /// What adds to zero with this number modulo 2²⁵⁶.
  var negated: Name32 {
    let flipped = Name32(
      first: Name16(high: ~first.high, low: ~first.low), last: Name16(high: ~last.high, low: ~last.low))
    return flipped &+ Name32(first: .zero, last: Name16(high: 0, low: 1))
  }
}
