import Foundation
import Model
import Records
import Testing
import WaymarkCare
import WaymarkTesting

@testable import ChangeHistory
@testable import Waymark

/// One operation that adds, changes, deletes and restores records of two kinds.
struct MixedOperationTests {
  private func counts(
    _ kind: RecordKind, added: Int = 0, changed: Int = 0, deleted: Int = 0, restored: Int = 0
  ) -> RecordCounts {
    RecordCounts(kind: kind, added: added, changed: changed, deleted: deleted, restored: restored)
  }

  private func names(_ node: Node) async throws -> [String] {
    let trips = try await node.records(Trip.all).map(\.name).sorted()
    return trips + (try await node.records(Habit.all).map(\.name).sorted())
  }

  @Test func `the history, an undo and a watch tell apart what one operation did`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trips = try await node.save([Trip(name: "Rome"), Trip(name: "Oslo"), Trip(name: "Bern")])
    let (rome, oslo, bern) = (trips[0], trips[1], trips[2])
    let habit = try await node.save(Habit(name: "Water"))
    try await node.delete(bern)
    let before = ["Oslo", "Rome", "Water"]
    #expect(try await names(node) == before)
    let updates = Updates(node.watch(Trip.all))
    _ = try await updates.next("two trips")

    let operation = try #require(
      try await node.change("mixed") { changes in
        changes.save(Trip(name: "Wien"))
        changes.update(rome.id) { $0.name = "Roma" }
        changes.delete(oslo)
        changes.restore(bern.id)
        changes.save([Habit(name: "Run"), Habit(name: "Read")])
        changes.delete(habit)
      })
    let after = ["Bern", "Roma", "Wien", "Read", "Run"]
    #expect(try await names(node) == after)
    let newest = try #require(try await node.history(limit: 1).first)
    #expect(newest.id == operation && newest.record == nil && newest.fields.isEmpty)
    #expect(
      newest.counts == [
        counts(.trip, added: 1, changed: 1, deleted: 1, restored: 1), counts(.habit, added: 2, deleted: 1),
      ])

    // A watch of trips lists the trips only.
    let change = try #require(try await updates.next("other trips").changes.first)
    #expect(change.operation.id == operation && change.records.count == 4 && change.otherRecords == 0)
    let changes = Dictionary(uniqueKeysWithValues: change.records.map { ($0.id, $0.change) })
    #expect(changes[rome.id.uuid] == .changed)
    #expect(changes[oslo.id.uuid] == .deleted)
    #expect(changes[bern.id.uuid] == .restored)
    #expect(Set(changes.values).count == 4)
    let fields = change.records.filter { !$0.fields.isEmpty }.map(\.fields)
    #expect(fields == [["name"]])

    let undone = [
      counts(.trip, changed: 1, deleted: 2, restored: 1), counts(.habit, deleted: 2, restored: 1),
    ]
    let preview = try await node.undoPreview(of: operation)
    #expect(preview.changes == undone && preview.isPreview && preview.undo == nil)
    #expect(try await names(node) == after)
    let undo = try await node.undo(operation)
    #expect(undo.changes == undone && undo.left.isEmpty)
    #expect(try await names(node) == before)
    let again = try await node.undo(try #require(undo.undo))
    let redone = [
      counts(.trip, changed: 1, deleted: 1, restored: 2), counts(.habit, deleted: 1, restored: 2),
    ]
    #expect(again.changes == redone && again.left.isEmpty)
    #expect(try await names(node) == after)
    await alice.close()
  }
}

extension WatchUpdate {
  /// The operations among the causes.
  fileprivate var changes: [OperationChange] {
    causes.compactMap { if case .operation(let change) = $0 { change } else { nil } }
  }
}
