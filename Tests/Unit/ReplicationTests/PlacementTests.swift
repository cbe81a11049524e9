import Testing
import Vectors
import Wire

@testable import Replication

/// A set index of headers only.
private struct InMemoryLog: LogIndex {
  var sets: [LogKey: [UInt64: [StoredPosition]]] = [:]
  /// The sets that each cut log keeps.
  var kept: [LogKey: Set<ChangeSetID>] = [:]

  func stored(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> StoredPosition? {
    sets[log]?[sequence]?.first { $0.id == id }
  }

  /// The quota of every device.
  var quota = UInt64.max

  func quota(of device: DeviceKey, _ lane: Lane) -> UInt64 { quota }

  func isEnded(_ log: LogKey) -> Bool { kept[log] != nil }

  func excludes(new id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    kept[log].map { !$0.contains(id) } ?? false
  }

  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    excludes(new: id, log, sequence)
  }

  func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    sets[log]?.values.joined().allSatisfy { $0.isFolded || excludes(new: $0.id, log, 0) } ?? true
  }

  mutating func add(_ set: VerifiedChangeSet, folded: Bool = true) {
    sets[set.header.log, default: [:]][set.header.sequence, default: []].append(
      StoredPosition(
        id: set.id, clock: set.header.clock, isFolded: folded, logBytes: set.logBytes))
  }
}

@Suite struct PlacementTests {
  private let now = Clock(milliseconds: 1_000_000)
  private let alice: [VerifiedChangeSet]
  private let bob: [VerifiedChangeSet]

  /// Alice writes three sets; Bob has seen her second and writes two.
  init() throws {
    var author = author(.alice)
    alice = try (1...3).map { try Self.write(&author, wall: $0 * 100) }
    bob = try Self.bob(after: alice[1])
  }

  private static func write(_ author: inout Author, wall: Int64) throws -> VerifiedChangeSet {
    try author.write(
      [EntryDraft(.put, key(1, 1), [(1, .integer(wall))])], operation: anOperation, wall: wall)[0]
  }

  private static func seen(_ set: VerifiedChangeSet) -> Dependency {
    Dependency(
      device: set.header.log.device, incarnation: set.header.log.incarnation,
      sequence: set.header.sequence, id: set.id)
  }

  private static func bob(after set: VerifiedChangeSet, clock: Clock? = nil) throws -> [VerifiedChangeSet] {
    var author = author(.bob, clock: clock ?? set.header.clock, unseen: [seen(set)])
    return [try write(&author, wall: 0), try write(&author, wall: 0)]
  }

  /// An author of Alice's log after its first sets, in a state that may be wrong.
  private func twin(
    after count: Int, clock: Clock? = nil, logBytes: UInt64? = nil
  ) -> Author {
    let last = alice[count - 1]
    return author(
      .alice, sequence: UInt64(count), previous: last.id, clock: clock ?? last.header.clock,
      logBytes: logBytes ?? last.logBytes)
  }

  private func place(
    _ set: VerifiedChangeSet, among sets: [VerifiedChangeSet], waiting: [VerifiedChangeSet] = [],
    horizon: Clock? = nil
  ) throws -> Placement {
    var log = InMemoryLog()
    for set in sets { log.add(set) }
    for set in waiting { log.add(set, folded: false) }
    return try Placement.of(set, in: log, horizon: horizon ?? now)
  }

  @Test func `sets in causal order are placed`() throws {
    #expect(try place(alice[0], among: []) == .place(folds: true))
    #expect(try place(alice[1], among: [alice[0]]) == .place(folds: true))
    #expect(try place(bob[0], among: [alice[0], alice[1]]) == .place(folds: true))
    #expect(try place(bob[1], among: alice + [bob[0]]) == .place(folds: true))
  }

  @Test func `a set that is already here is a duplicate, wherever it is in its log`() throws {
    for set in alice { #expect(try place(set, among: alice) == .duplicate) }
    #expect(try place(alice[2], among: [], waiting: alice) == .duplicate)
  }

  @Test func `a gap and a missing dependency are named`() throws {
    let alices = alice[0].header.log
    #expect(try place(alice[2], among: [alice[0]]) == .missing(alices, sequence: 2))
    #expect(try place(alice[1], among: []) == .missing(alices, sequence: 1))
    #expect(try place(bob[0], among: []) == .missing(alices, sequence: 2))
    #expect(try place(bob[0], among: [alice[0]]) == .missing(alices, sequence: 2))
    #expect(try place(bob[1], among: alice) == .missing(bob[0].header.log, sequence: 1))
  }

  @Test func `a dependency is identified by its id, not only by its sequence`() throws {
    var other = twin(after: 1)
    let branch = try Self.write(&other, wall: 999)
    let child = try Self.bob(after: branch)
    #expect(try place(child[0], among: alice) == .missing(alice[0].header.log, sequence: 2))
    #expect(try place(alice[2], among: [alice[0], branch]) == .missing(alice[0].header.log, sequence: 2))
  }

  @Test func `another set for the same position is placed too: the log has forked`() throws {
    var other = twin(after: 1)
    let branch = try Self.write(&other, wall: 999)
    #expect(try place(branch, among: alice) == .place(folds: true))
    var twin = author(.alice)
    let first = try Self.write(&twin, wall: 77)
    #expect(try place(first, among: alice) == .place(folds: true))
  }

  @Test(arguments: [1, 2, 16])
  func `a set is placed up to the share of its incarnation, and dropped beyond it`(_ number: Int) throws {
    var author = author(Device(1, incarnationNumber: number))
    let first = try Self.write(&author, wall: 1)
    let second = try Self.write(&author, wall: 2)
    var log = InMemoryLog()
    log.add(first)
    let parts: UInt64 = number == 1 ? 2 : 32
    log.quota = second.logBytes * parts
    #expect(try Placement.of(second, in: log, horizon: now) == .place(folds: true))
    #expect(try Placement.of(first, in: log, horizon: now) == .duplicate)
    log.quota -= 1
    #expect(try Placement.of(second, in: log, horizon: now) == .beyondQuota)
    // It is dropped whatever is missing, and counts as missing for the sets that depend on it.
    #expect(try Placement.of(second, in: InMemoryLog(quota: log.quota), horizon: now) == .beyondQuota)
    let child = try Self.bob(after: second)
    log.quota = .max
    #expect(try Placement.of(child[0], in: log, horizon: now) == .missing(second.header.log, sequence: 2))
  }

  @Test func `a set that a cut excludes has no position, and is not waited for`() throws {
    var log = InMemoryLog()
    let alices = alice[0].header.log
    log.kept[alices] = [alice[0].id]
    #expect(try Placement.of(alice[0], in: log, horizon: now) == .place(folds: false))
    #expect(try Placement.of(alice[1], in: log, horizon: now) == .excluded)
    #expect(try Placement.of(bob[0], in: log, horizon: now) == .place(folds: true))
    // Bob has seen the first set too, through the second.
    log.add(alice[0], folded: false)
    #expect(try Placement.of(bob[0], in: log, horizon: now) == .place(folds: false))
  }

  @Test func `a clock not above those that the set follows is refused`() throws {
    // The author forgets the clocks that it has seen.
    var author = twin(after: 3, clock: .zero)
    let late = try Self.write(&author, wall: 300)
    #expect(late.header.clock == alice[2].header.clock)
    #expect(try place(late, among: alice) == .refused("a clock not above its predecessor's"))
    let early = try Self.bob(after: alice[1], clock: .zero)[0]
    #expect(try place(early, among: alice) == .clockConflict)
  }

  @Test(
    arguments: [
      // columns: what is added to the bytes of the log, the rule that this breaks
      (0, nil),
      (1, "wrong bytes of the log so far"),
      (-1, "wrong bytes of the log so far"),
      (1 << 40, "wrong bytes of the log so far"),
    ] as [(Int64, String?)])
  func `the bytes of a log continue those of the predecessor`(bytes: Int64, rule: String?) throws {
    let logBytes = UInt64(Int64(alice[1].logBytes) + bytes)
    var author = twin(after: 2, logBytes: logBytes)
    let next = try Self.write(&author, wall: 999)
    let expected = rule.map { Placement.refused($0) } ?? .place(folds: true)
    #expect(try place(next, among: alice) == expected)
  }

  @Test func `what a set declares counts for its log, whether its values are here or not`() throws {
    var author = twin(after: 2)
    let next = try Self.write(&author, wall: 999)
    let gaps = try alice.map { try $0.lacking([0]) }
    #expect(gaps.map(\.logBytes) == alice.map(\.logBytes))
    #expect(try place(next, among: gaps) == .place(folds: true))
    #expect(try place(next.lacking([0]), among: alice) == .place(folds: true))
  }

  @Test func `the logs of an incarnation share its number, and each counts its own bytes`() throws {
    var settings = author(.alice, .settings)
    let set = try settings.write(
      [EntryDraft(.insert, key(8_192, 1), [(1, .integer(1))])], operation: anOperation, wall: 500)[0]
    #expect(set.header.logBytes == 0)
    #expect(try place(set, among: alice) == .place(folds: true))
  }

  @Test func `a set that contradicts its predecessor is refused, as in Python`() throws {
    let file = try vectors("change-sets.json", as: ChangeSetVectors.self)
    let rules = [
      "log_bytes": "wrong bytes of the log so far", "clock": "a clock not above its predecessor's",
    ]
    #expect(Set(file.closure.map(\.flag)) == Set(rules.keys).union(["none"]))
    for vector in file.closure {
      let predecessor = try VerifiedChangeSet(verifying: try vector.predecessor.raw())
      let set = try VerifiedChangeSet(verifying: try vector.set.raw())
      let expected = rules[vector.flag].map { Placement.refused($0) } ?? .place(folds: true)
      let found = try place(set, among: [predecessor], horizon: Clock(raw: .max))
      #expect(found == expected, "\(vector.flag): \(vector.name)")
    }
  }

  @Test func `a set ahead of the horizon is placed and parked, with everything that depends on it`() throws {
    let horizon = Clock(milliseconds: 100)
    #expect(try place(alice[0], among: [], horizon: horizon) == .place(folds: true))
    #expect(try place(alice[1], among: [alice[0]], horizon: horizon) == .place(folds: false))
    // A parked predecessor.
    #expect(try place(alice[2], among: [alice[0]], waiting: [alice[1]]) == .place(folds: false))
    // A parked dependency.
    #expect(try place(bob[0], among: [alice[0]], waiting: [alice[1]]) == .place(folds: false))
    #expect(try place(bob[1], among: alice, waiting: [bob[0]]) == .place(folds: false))
  }
}
