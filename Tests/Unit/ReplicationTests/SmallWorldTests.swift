import Foundation
import Records
import Testing
import Wire

@testable import Replication

/// Every world of three replicas and a few operations, folded in every causal order.
///
/// With `WAYMARK_SMALL_WORLD=full` in the environment all worlds of four operations are searched (about half a
/// million; use a release build), otherwise every hundredth of them.
@Suite struct SmallWorldTests {
  private static let isFull = ProcessInfo.processInfo.environment["WAYMARK_SMALL_WORLD"] == "full"

  @Test(arguments: Action.alphabets)
  func `three operations of every kind give the same state in every order`(actions: [Action]) {
    let count = search(operations: 3, actions, every: 1)
    #expect(count > 1_000)
  }

  @Test(arguments: Action.alphabets)
  func `four operations give the same state in every order`(actions: [Action]) {
    let count = search(operations: 4, actions, every: Self.isFull ? 1 : 101)
    #expect(count > 100)
  }

  /// Folds each world in all its orders and compares with the oracle; returns the number of worlds.
  private func search(operations: Int, _ actions: [Action], every: Int) -> Int {
    var worlds = 0
    var searched = 0
    Plan.each(operations: operations, actions) { plan in
      worlds += 1
      guard worlds % every == 0 else { return }
      searched += 1
      let world = plan.world
      let expected = Oracle.cells(world)
      let differing = firstDiffering(world, expected, FoldModel(), folded: 0, order: [])
      #expect(differing == nil, "\(plan) folded in the order \(differing ?? [])")
    }
    return searched
  }

  /// Walks all orders as a tree, so that common prefixes are folded once.
  private func firstDiffering(
    _ world: World, _ expected: [Cell: CellState], _ model: FoldModel, folded: UInt64, order: [Int]
  ) -> [Int]? {
    if order.count == world.sets.count { return model.cells == expected ? nil : order }
    for index in world.sets.indices
    where folded >> UInt64(index) & 1 == 0 && world.isReady(index, after: folded) {
      var next = model
      next.fold(index, of: world)
      if let found = firstDiffering(
        world, expected, next, folded: folded | 1 << UInt64(index), order: order + [index])
      {
        return found
      }
    }
    return nil
  }
}

/// The effect of one operation of a small world.
enum Action: CaseIterable {
  case insert, editName, editNotes, delete, restore, putAndRestore
  case oldProfile, newProfile, futureProfile
  case insertChild, deleteChild, renameNone, editNone, deleteNone
  case settle, sameName, emptyName, editChild, moveChild, restoreChild, insertGrandchild, editGrandchild
  case deleteOtherTrip, insertStrange, editStrange, deleteStrange, sameProfile
  case erase, putAndErase, insertAndErase, eraseChild, eraseProfile, putAndEraseProfile, eraseNone,
    eraseStrange
  /// Writes whose values did not arrive.
  case absentName, absentInsert, absentChild, absentProfile

  /// Actions on different cells don't interact, so those that do are searched together.
  static let alphabets: [[Action]] = [
    [.insert, .editName, .delete, .restore],
    [.editNotes, .editName, .putAndRestore, .insertChild, .delete],
    [.oldProfile, .newProfile, .futureProfile],
    [.renameNone, .editNone, .deleteNone],
    [.insert, .editName, .erase, .insertAndErase],
    [.editName, .editNotes, .erase, .putAndErase],
    [.erase, .delete, .restore, .editName],
    [.oldProfile, .newProfile, .eraseProfile, .putAndEraseProfile],
    [.editNone, .renameNone, .eraseNone],
  ]

  /// Whether the values of the operation are missing in the sets that all devices have.
  var isAbsent: Bool { [.absentName, .absentInsert, .absentChild, .absentProfile].contains(self) }

  static let trip = key(1, 1)
  static let otherTrip = key(1, 2)
  static let child = key(2, 1)
  static let grandchild = key(7, 1)
  /// Of a kind unknown to this version.
  static let strange = key(3_000, 1)

  /// The entries of a set; `number` makes contents differ.
  func drafts(_ number: Int) -> [EntryDraft] {
    let text = Value.text("\(number)")
    let none = FixedRecords.none
    return switch self {
    case .insert, .absentInsert: [EntryDraft(.insert, Self.trip, [(1, text), (2, text)])]
    case .editName, .absentName: [EntryDraft(.put, Self.trip, [(1, text)])]
    case .editNotes: [EntryDraft(.put, Self.trip, [(2, text)])]
    case .delete: [EntryDraft(.delete, Self.trip)]
    case .restore: [EntryDraft(.restore, Self.trip)]
    case .putAndRestore: [EntryDraft(.put, Self.trip, [(1, text)]), EntryDraft(.restore, Self.trip)]
    case .oldProfile: profile(10, text)
    case .newProfile, .absentProfile: profile(50, text)
    case .futureProfile: profile(1 << 40, text)
    case .insertChild:
      [EntryDraft(.insert, Self.child, [(1, .bytes(Self.trip.id.bytes)), (2, text)])]
    case .deleteChild: [EntryDraft(.delete, Self.child)]
    case .renameNone: [EntryDraft(.put, none, [(1, text), (2, text)])]
    case .editNone: [EntryDraft(.put, none, [(2, text)])]
    case .deleteNone: [EntryDraft(.delete, none)]
    case .sameName: [EntryDraft(.put, Self.trip, [(1, .text("same"))])]
    case .emptyName: [EntryDraft(.put, Self.trip, [(1, .null)])]
    case .sameProfile: profile(1 + Int64(number), .text("same"))
    case .insertStrange: [EntryDraft(.insert, Self.strange, [(3, text), (70, text)])]
    case .editStrange: [EntryDraft(.put, Self.strange, [(70, text)])]
    case .deleteStrange: [EntryDraft(.delete, Self.strange)]
    case .erase, .putAndErase, .insertAndErase, .eraseChild, .eraseProfile, .putAndEraseProfile, .eraseNone,
      .eraseStrange:
      eraseDrafts(text)
    default: familyDrafts(text)
    }
  }

  private func eraseDrafts(_ text: Value) -> [EntryDraft] {
    switch self {
    case .erase: [EntryDraft(.erase, Self.trip)]
    case .putAndErase: [EntryDraft(.put, Self.trip, [(1, text)]), EntryDraft(.erase, Self.trip)]
    case .insertAndErase: [EntryDraft(.insert, Self.trip, [(1, text)]), EntryDraft(.erase, Self.trip)]
    case .eraseChild: [EntryDraft(.erase, Self.child)]
    case .eraseProfile: [EntryDraft(.erase, FixedRecords.profile)]
    case .putAndEraseProfile: profile(15, text) + [EntryDraft(.erase, FixedRecords.profile)]
    case .eraseNone: [EntryDraft(.erase, FixedRecords.none)]
    case .eraseStrange: [EntryDraft(.erase, Self.strange)]
    default: []
    }
  }

  /// Operations on a trip, a lodging of it, and an attachment of that.
  private func familyDrafts(_ text: Value) -> [EntryDraft] {
    switch self {
    case .settle:
      Action.insert.drafts(90) + Action.insertChild.drafts(91) + Action.insertGrandchild.drafts(92)
        + [EntryDraft(.insert, Self.otherTrip, [(1, text)])]
    case .editChild, .absentChild: [EntryDraft(.put, Self.child, [(2, text)])]
    case .moveChild: [EntryDraft(.put, Self.child, [(1, .bytes(Self.otherTrip.id.bytes))])]
    case .restoreChild: [EntryDraft(.restore, Self.child)]
    case .insertGrandchild:
      [EntryDraft(.insert, Self.grandchild, [(1, Self.owner), (2, text)])]
    case .editGrandchild: [EntryDraft(.put, Self.grandchild, [(2, text)])]
    case .deleteOtherTrip: [EntryDraft(.delete, Self.otherTrip)]
    default: []
    }
  }

  private static let owner = Value.array([
    .integer(Int64(child.kind.rawValue)), .bytes(child.id.bytes),
  ])

  private func profile(_ updatedAt: Int64, _ name: Value) -> [EntryDraft] {
    [EntryDraft(.put, FixedRecords.profile, [(1, .integer(updatedAt)), (2, name)])]
  }
}

/// The author of each operation, and what it had seen: bit i of `seen` is operation i.
struct Plan {
  private(set) var authors: [Int] = []
  private(set) var actions: [Action] = []
  private(set) var seen: [UInt64] = []

  /// How many operations at the beginning all replicas have seen.
  private(set) var common = 0

  /// All plans with this many operations by three replicas.
  ///
  /// - Parameters:
  ///   - beginning: what one replica did first, and all have seen.
  static func each(
    operations: Int, after beginning: [Action] = [], _ alphabet: [Action], _ body: (Plan) -> Void
  ) {
    var plan = Plan()
    for action in beginning {
      plan.seen.append(1 << UInt64(plan.common) - 1)
      plan.authors.append(0)
      plan.actions.append(action)
      plan.common += 1
    }
    plan.extended(beginning.count + operations, alphabet, body)
  }

  private func extended(_ operations: Int, _ alphabet: [Action], _ body: (Plan) -> Void) {
    guard actions.count < operations else { return body(self) }
    for author in 0..<3 {
      for mask in 0..<(UInt64(1) << UInt64(actions.count)) where isConsistent(mask, for: author) {
        for action in alphabet {
          var next = self
          next.authors.append(author)
          next.actions.append(action)
          next.seen.append(mask)
          next.extended(operations, alphabet, body)
        }
      }
    }
  }

  /// A replica has seen its own operations, and with each operation everything that it follows.
  private func isConsistent(_ mask: UInt64, for author: Int) -> Bool {
    guard mask & (1 << UInt64(common) - 1) == 1 << UInt64(common) - 1 else { return false }
    return authors.indices.allSatisfy { index in
      let isSeen = mask >> UInt64(index) & 1 == 1
      return isSeen ? seen[index] & ~mask == 0 : authors[index] != author
    }
  }

  /// The world without bytes or signatures: fast enough to create hundreds of thousands.
  var world: World {
    var world = World()
    for index in actions.indices {
      var past: [UInt64] = [0, 0, 0]
      var clock: UInt64 = 20 << 16
      for earlier in 0..<index where seen[index] >> UInt64(earlier) & 1 == 1 {
        let set = world.sets[earlier]
        for log in 0..<3 { past[log] = max(past[log], set.past[log]) }
        clock = max(clock, set.stamp.clock.raw + 1)
      }
      past[authors[index]] += 1
      let stamp = Stamp(
        clock: Clock(raw: clock), device: DeviceKey(Bytes32(0, 0, 0, UInt64(authors[index] + 1))),
        set: ChangeSetID(Bytes32(0, 0, 0, UInt64(index + 1))))
      world.sets.append(
        WorldSet(
          stamp: stamp, log: authors[index], sequence: past[authors[index]], past: past,
          writes: actions[index].writes(index, stamp), erased: actions[index].erased(index)))
    }
    return world
  }
}

extension Action {
  /// The records that the drafts erase.
  fileprivate func erased(_ number: Int) -> Set<RecordKey> {
    Set(drafts(number).filter { $0.type == .erase }.map(\.key))
  }

  /// The cells that the drafts write, without fixed ones.
  fileprivate func writes(_ number: Int, _ stamp: Stamp) -> [CellWrite] {
    let drafts = drafts(number)
    return drafts.flatMap { draft -> [CellWrite] in
      if draft.key.kind.mergeClass == .wholeRecord {
        guard case .integer(let updatedAt)? = draft.fields.first?.value else { return [] }
        let rank = WholeRecordRank(updatedAt: updatedAt, nonEmptyFields: 2, stamp: stamp)
        return [CellWrite(cell: Cell(record: draft.key, field: 0), content: [UInt8(number)], rank: rank)]
      }
      return draft.cells(among: drafts).filter { !FixedRecords.isFixed(draft.key, $0.field) }
        .map { CellWrite(cell: Cell(record: draft.key, field: $0.field), content: $0.value.encoded) }
    }
  }
}

extension EntryDraft {
  /// The cells that the draft writes, including the life.
  func cells(among drafts: [EntryDraft]) -> [(field: FieldNumber, value: Value)] {
    switch type {
    case .put: return fields
    case .insert, .restore: return [(field: Fields.life, value: .bool(true))] + fields
    case .delete: return [(field: Fields.life, value: .bool(false))]
    case .erase:
      // An insert in the same set decides the life.
      return drafts.contains { $0.type == .insert && $0.key == key }
        ? [] : [(field: Fields.life, value: .bool(false))]
    }
  }
}
