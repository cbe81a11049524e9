import Foundation
import Records
import Storage
import Testing
import Vectors
import Wire

import RecordTables
@testable import Replication

/// The same small worlds and histories, folded by the store: it must agree with the pure fold.
///
/// With `WAYMARK_SMALL_WORLD=full` in the environment many more worlds are folded.
@Suite struct StoreWorldTests {
  private static let isFull = ProcessInfo.processInfo.environment["WAYMARK_SMALL_WORLD"] == "full"
  private static let actions: [Action] = [
    .insert, .editName, .delete, .putAndRestore, .insertChild, .deleteChild, .oldProfile, .newProfile,
    .renameNone, .erase, .putAndErase, .absentName, .eraseProfile, .absentProfile, .eraseNone,
  ]

  /// What two operations do to values that may be absent, after a common beginning.
  private static let scenes: [(beginning: [Action], actions: [Action])] = [
    (
      [.insert],
      [.editName, .absentName, .emptyName, .erase, .putAndErase, .insertAndErase, .delete, .restore]
    ),
    ([], [.insert, .absentInsert, .editName, .erase, .insertAndErase]),
    ([.settle], [.erase, .eraseChild, .editChild, .absentChild, .moveChild, .restoreChild, .editGrandchild]),
    ([.newProfile], [.oldProfile, .futureProfile, .absentProfile, .eraseProfile, .putAndEraseProfile]),
    ([.insertStrange], [.editStrange, .eraseStrange, .insertStrange, .deleteStrange]),
    ([.editNone], [.editNone, .renameNone, .eraseNone, .deleteNone]),
  ]

  @Test(arguments: [2, 3])
  func `small worlds give the same state in every order`(operations: Int) throws {
    let every = Self.isFull ? 127 : operations == 2 ? 61 : 9_001
    var plans: [Plan] = []
    var count = 0
    Plan.each(operations: operations, Self.actions) { plan in
      count += 1
      if count % every == 0 { plans.append(plan) }
    }
    #expect(plans.count > 5)
    let store = try Store.inMemory()
    for plan in plans { try check(try plan.sets(), in: store, "\(plan)") }
  }

  @Test(arguments: scenes.indices)
  func `every world of two operations gives the same absent values in every order`(scene: Int) throws {
    let (beginning, actions) = Self.scenes[scene]
    var plans: [Plan] = []
    Plan.each(operations: 2, after: beginning, actions) { plans.append($0) }
    #expect(plans.count > 100)
    let store = try Store.inMemory()
    var gaps = 0
    for plan in plans {
      let sets = try plan.sets()
      gaps += World(sets).gaps(in: sets).count
      try check(sets, in: store, "\(plan)")
    }
    // A scene in which no value is absent would prove nothing.
    #expect(gaps > plans.count / 10)
  }

  private func check(_ sets: [VerifiedChangeSet], in store: Store, _ name: String) throws {
    let expected = Expected(sets)
    var faces: Set<Face> = []
    try expected.world.eachOrder { order in
      try store.forgetAll()
      for index in order { try commit([sets[index]], to: store) }
      let face = try Face(store, expected)
      if faces.insert(face).inserted { expected.check(face, name) }
    }
    #expect(faces.count == 1, "\(name)")
  }

  private func commit(_ sets: [VerifiedChangeSet], to store: Store, horizon: Int64 = 1 << 46) throws {
    let report = try store.commit(sets, horizon: Clock(milliseconds: horizon))
    #expect(report.placements.allSatisfy { if case .place = $0 { true } else { false } })
  }

  @Test func `histories give the state from Python, one by one, at once, parked and rebuilt`() throws {
    let file = try vectors("merge.json", as: MergeVectors.self)
    var random = SeededRandom(seed: 12)
    let chosen = file.histories.enumerated().filter { number, history in
      Self.isFull || number % 3 == 0 || !history.name.hasPrefix("seed")
    }
    for (_, history) in chosen {
      let sets = try history.verifiedSets()
      let world = World(sets)
      let expected = Expected(sets)
      let order = world.randomOrder(&random).map { sets[$0] }
      let oneByOne = try Store.inMemory()
      for set in order { try commit([set], to: oneByOne) }
      let face = try Face(oneByOne, expected)
      expected.check(face, history.name)
      #expect(face.digest == history.digest, "\(history.name)")

      let atOnce = try Store.inMemory()
      try commit(sets, to: atOnce)
      #expect(try Face(atOnce, expected) == face, "\(history.name) at once")
      try atOnce.rebuild()
      #expect(try Face(atOnce, expected) == face, "\(history.name) rebuilt")

      let parked = try Store.inMemory()
      try commit(order, to: parked, horizon: 0)
      #expect(parked.digest(.records) == .empty)
      for moment in stride(from: Int64(1_000), through: 1_200, by: 20) {
        _ = try parked.foldParked(horizon: Clock(milliseconds: moment))
      }
      #expect(try Face(parked, expected) == face, "\(history.name) parked first")
      let conflicts = try history.conflictLines(sets)
      for store in [oneByOne, atOnce, parked] {
        #expect(Set(try store.conflicts().map(\.line)) == conflicts, "\(history.name)")
      }
    }
  }
}

/// A store's state of a world, as comparable text.
struct Face: Hashable {
  let digest: String
  let buckets: [Digest]
  let origins: [Cell: Stamp]
  let rows: [String]
  /// Winner and losers of each conflict about contents.
  let conflicts: [String: Set<Stamp>]
  /// Deletion and hidden writes of each record hidden by a deletion.
  let hidden: [String: Set<Stamp>]
  let counts: [KindNumber: Int]
  /// The missing slots of the sets that the store would send.
  let gaps: Set<String>

  init(_ store: Store, _ expected: Expected) throws {
    digest = hexadecimal(store.digest(.records).sum.bytes)
    buckets = store.digestBuckets(.records)
    var origins: [Cell: Stamp] = [:]
    var rows: [String] = []
    for key in expected.records {
      guard let row = try store.record(key) else { continue }
      let isWhole = key.kind.mergeClass == .wholeRecord
      for (field, stamp) in try store.origins(of: row) where !isWhole || field == Fields.life {
        origins[Cell(record: key, field: field)] = stamp
      }
      let fields = (row.fields.merging(row.unread) { one, _ in one }).sorted { $0.key < $1.key }
        .map { "\($0.key)=\(hexadecimal($0.value.encoded))" }
      rows.append("\(key) \(String(describing: row.life)) \(row.isVisible) \(fields)")
    }
    self.origins = origins
    self.rows = rows
    var conflicts: [String: Set<Stamp>] = [:]
    var hidden: [String: Set<Stamp>] = [:]
    let all = try store.conflicts()
    for conflict in all {
      let stamps = Set(conflict.losers.map(\.stamp))
      let field = conflict.field ?? 0
      switch conflict.reason {
      case .field, .profile: conflicts["\(conflict.record) \(field)"] = stamps
      case .editLostToDelete, .hiddenByParent:
        hidden["\(conflict.record) \(conflict.reason) \(conflict.winner.stamp)"] = stamps
      }
    }
    #expect(try store.conflictCount() == all.count)
    self.conflicts = conflicts
    self.hidden = hidden
    counts = try store.visibleCounts().filter { $0.value != 0 }
    gaps = try Self.gaps(store)
  }

  private static func gaps(_ store: Store) throws -> Set<String> {
    let wants = store.heads(.records).map { Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id) }
    let served = try store.read(.records, wants, bytesMax: .max, setsMax: .max).sets
    return Set(
      try served.flatMap { stored in
        let set = try VerifiedChangeSet(verifying: stored.raw)
        return (0..<set.body.slots.count).filter { set.body.slots.content($0) == nil }.map {
          "\(set.id) \($0)"
        }
      })
  }
}

/// The expected state of the store, from all writes at once.
struct Expected {
  let world: World
  let cells: [Cell: CellState]
  let records: [RecordKey]
  let gaps: Set<String>

  init(_ sets: [VerifiedChangeSet]) {
    world = World(sets)
    cells = Oracle.cells(world)
    gaps = Set(world.gaps(in: sets).flatMap { index, slots in slots.map { "\(sets[index].id) \($0)" } })
    let written = Set(cells.keys.map(\.record))
    records = written.union([FixedRecords.none, FixedRecords.profile]).sorted()
  }

  func check(_ face: Face, _ name: String) {
    let stamps = cells.mapValues { world.sets[$0.winner].stamp }
    #expect(face.origins == stamps, "\(name)")
    var model = FoldModel()
    for index in world.sets.indices { model.fold(index, of: world) }
    #expect(face.digest == hexadecimal(model.digest(world).digest.sum.bytes), "\(name)")
    let sum = face.buckets.reduce(into: Digest.empty) { $0.add($1.sum) }
    #expect(hexadecimal(sum.sum.bytes) == face.digest, "\(name)")
    #expect(face.conflicts == conflicts, "\(name)")
    #expect(face.hidden == hidden, "\(name)")
    #expect(face.gaps == gaps, "\(name)")
  }

  /// The content that a write still has. An absent value counts as null.
  private func content(_ set: Int, _ cell: Cell) -> [UInt8] {
    guard let write = world.write(set, to: cell) else { return [] }
    return !World.isLife(cell) && world.isErased(cell.record, in: set) ? write.erasedContent : write.content
  }

  private func isDead(_ record: RecordKey) -> Bool {
    guard record.kind.mergeClass == .fieldByField else { return false }
    let life = Cell(record: record, field: Fields.life)
    return cells[life].map { content($0.winner, life) == [0xf4] } ?? false
  }

  /// Siblings whose content differs from the winner's.
  private var conflicts: [String: Set<Stamp>] {
    var result: [String: Set<Stamp>] = [:]
    for (cell, state) in cells {
      if cell.field == Fields.life, isDead(cell.record) { continue }
      // If a sibling has seen the winner, only siblings that differ from each other make a conflict.
      if state.siblings.contains(where: { world.covers($0, state.winner) }),
        Set(state.siblings.map { content($0, cell) }).count == 1
      {
        continue
      }
      let differing = state.siblings.filter { content($0, cell) != content(state.winner, cell) }
      if !differing.isEmpty {
        result["\(cell.record) \(cell.field)"] = Set(differing.map { world.sets[$0].stamp })
      }
    }
    return result
  }

  /// Writes concurrent with the deletion that hides their record.
  private var hidden: [String: Set<Stamp>] {
    var result: [String: Set<Stamp>] = [:]
    for record in records {
      guard let (deletion, reason) = deletion(hiding: record) else { continue }
      let writes = cells.filter { $0.key.record == record }.flatMap { cell, state in
        // A deletion is not a lost edit.
        state.siblings.union([state.winner]).filter {
          cell.field != Fields.life || content($0, cell) != [0xf4]
        }
      }
      let lost = Set(writes).filter {
        $0 != deletion && !world.covers(deletion, $0) && !world.covers($0, deletion)
      }
      if !lost.isEmpty {
        result["\(record) \(reason) \(world.sets[deletion].stamp)"] = Set(lost.map { world.sets[$0].stamp })
      }
    }
    return result
  }

  private func deletion(hiding record: RecordKey) -> (set: Int, reason: Conflict.Reason)? {
    func life(_ record: RecordKey) -> Cell { Cell(record: record, field: Fields.life) }
    if isDead(record) { return cells[life(record)].map { ($0.winner, .editLostToDelete) } }
    guard let own = cells[life(record)], content(own.winner, life(record)) == [0xf5],
      let above = parent(record), let found = deletion(hiding: above)
    else { return nil }
    return (found.set, .hiddenByParent)
  }

  private func parent(_ record: RecordKey) -> RecordKey? {
    let cell = Cell(record: record, field: 1)
    guard let named = cells[cell], let value = try? Value(encoded: content(named.winner, cell)[...]) else {
      return nil
    }
    switch (record.kind, value) {
    case (Action.child.kind, .bytes(let id)):
      return RecordID(bytes: id).map { RecordKey(kind: Action.trip.kind, id: $0) }
    case (Action.grandchild.kind, .array(let parts)):
      guard parts.count == 2, case .bytes(let id) = parts[1] else { return nil }
      return RecordID(bytes: id).map { RecordKey(kind: Action.child.kind, id: $0) }
    default: return nil
    }
  }
}

extension World {
  /// All causal orders of the sets.
  func eachOrder(_ body: ([Int]) throws -> Void) rethrows { try extended([], folded: 0, body) }

  private func extended(_ order: [Int], folded: UInt64, _ body: ([Int]) throws -> Void) rethrows {
    guard order.count < sets.count else { return try body(order) }
    for index in sets.indices where folded >> UInt64(index) & 1 == 0 && isReady(index, after: folded) {
      try extended(order + [index], folded: folded | 1 << UInt64(index), body)
    }
  }
}

extension Plan {
  /// The plan as real change sets, signed by three devices.
  func sets() throws -> [VerifiedChangeSet] {
    let devices = [Device.alice, .bob, .carol]
    var sets: [VerifiedChangeSet] = []
    for index in actions.indices {
      let known = sets.indices.filter { seen[index] >> UInt64($0) & 1 == 1 }
      let own = known.last { authors[$0] == authors[index] }
      let before = own.map { seen[$0] } ?? 0
      var unseen: [Dependency] = []
      for other in 0..<3 where other != authors[index] {
        guard let head = known.last(where: { authors[$0] == other }), before >> UInt64(head) & 1 == 0 else {
          continue
        }
        let header = sets[head].header
        unseen.append(
          Dependency(
            device: header.log.device, incarnation: header.log.incarnation, sequence: header.sequence,
            id: sets[head].id))
      }
      var writer = author(
        devices[authors[index]],
        sequence: own.map { sets[$0].header.sequence } ?? 0,
        previous: own.map { sets[$0].id }, clock: known.map { sets[$0].header.clock }.max() ?? .zero,
        logBytes: own.map { sets[$0].logBytes } ?? 0, unseen: unseen.sorted())
      let written = try writer.write(actions[index].drafts(index), operation: anOperation, wall: 20)
      guard actions[index].isAbsent else {
        sets += written
        continue
      }
      sets += try written.map { try $0.lacking(Set(0..<$0.body.slots.count)) }
    }
    return sets
  }
}
