import Testing
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

  func isEnded(_ log: LogKey) -> Bool { kept[log] != nil }

  func excludes(new id: ChangeSetID, _ log: LogKey) -> Bool { kept[log].map { !$0.contains(id) } ?? false }

  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    excludes(new: id, log)
  }

  func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    sets[log]?.values.joined().allSatisfy { $0.isFolded || excludes(new: $0.id, log) } ?? true
  }

  mutating func add(_ set: VerifiedChangeSet, folded: Bool = true) {
    sets[set.header.log, default: [:]][set.header.sequence, default: []].append(
      StoredPosition(id: set.id, clock: set.header.clock, isFolded: folded))
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
    var other = author(.alice, sequence: 1, previous: alice[0].id, clock: alice[0].header.clock)
    let branch = try Self.write(&other, wall: 999)
    let child = try Self.bob(after: branch)
    #expect(try place(child[0], among: alice) == .missing(alice[0].header.log, sequence: 2))
    #expect(try place(alice[2], among: [alice[0], branch]) == .missing(alice[0].header.log, sequence: 2))
  }

  @Test func `another set for the same position is placed too: the log has forked`() throws {
    var other = author(.alice, sequence: 1, previous: alice[0].id, clock: alice[0].header.clock)
    let branch = try Self.write(&other, wall: 999)
    #expect(try place(branch, among: alice) == .place(folds: true))
    var twin = author(.alice)
    let first = try Self.write(&twin, wall: 77)
    #expect(try place(first, among: alice) == .place(folds: true))
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
    var author = author(.alice, sequence: 3, previous: alice[2].id, clock: .zero)
    let late = try Self.write(&author, wall: 300)
    #expect(late.header.clock == alice[2].header.clock)
    #expect(try place(late, among: alice) == .refused("a clock not above its predecessor's"))
    let early = try Self.bob(after: alice[1], clock: .zero)[0]
    #expect(try place(early, among: alice) == .clockConflict)
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
