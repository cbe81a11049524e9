import ChangeHistory
import Foundation
import JSONDocument
import LogStorage
import Records
import Replication
import Storage
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import NodeRuntime
@testable import Waymark

/// A record that was written thousands of times.
struct LongHistoryTests {
  private static let edits = 2_000

  private func edited(times: Int = edits) async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=0"))
    try await alice.node.edit(Kind.trip, field: 1, times: times)
    return alice
  }

  @Test func `the complete history of a record is listed while other requests are served`() async throws {
    let alice = try await edited()
    let isDone = Mutex(false)
    async let history = {
      defer { isDone.withLock { $0 = true } }
      return try await alice.run("history", ["record": .string("\(Self.edits)"), "limit": "1000000"])
    }()
    var answers = 0
    while !isDone.withLock({ $0 }) {
      try await alice.run("status")
      answers += 1
    }
    let writes = try await history["writes"]?.array ?? []
    #expect(writes.count == Self.edits + 1)
    #expect(writes.first?["fields"]?[0]?["before"] == .string("\(Self.edits - 1)"))
    #expect(writes.first?["fields"]?[0]?["state"] == "shows")
    #expect(writes.dropFirst().dropLast().allSatisfy { $0["fields"]?[0]?["state"] != "shows" })
    // Without slices there are two: one before it begins, and one that waits until it has ended.
    #expect(answers > 2, "\(answers)")
  }

  @Test func `why and a preview of undo of a record with many writes are complete`() async throws {
    let alice = try await edited()
    let why = try await alice.run("why", ["subject": .string("\(Self.edits)")])
    let values = why["values"]?.array ?? []
    #expect(values.first { $0["field"] == "name" }?["wonAgainst"]?.array?.count == Self.edits)
    let operations = try await alice.run("history", ["limit": "\(Self.edits + 1)"])["operations"]?.array ?? []
    let newest = try await alice.run("undo", ["preview": true, "operation": operations[0]["id"] ?? .null])
    #expect(newest["changes"]?[0]?["changed"] == 1)
    let middle = operations[Self.edits / 2]["id"] ?? .null
    let left = try await alice.run("undo", ["preview": true, "operation": middle])["left"]
    #expect(left?[0]?["reason"] == "changed_since")
  }

  @Test func `the work of history, why and undo grows in proportion to the number of writes`() async throws {
    func work(_ edits: Int) async throws -> [String: Int] {
      let alice = try await edited(times: edits)
      let operations =
        try await alice.run("history", ["limit": "\(edits + 1)"])["operations"]?.array?.compactMap {
          $0["id"]?.string
        } ?? []
      try #require(operations.count == edits + 1)
      return try await alice.node.work(
        record: "\(edits)", undoing: [operations[0], operations[edits / 2]])
    }
    let (few, many) = (try await work(100), try await work(400))
    #expect(few.count == 4)
    for (name, steps) in few {
      // Four times as many writes. If each were compared with each, there would be sixteen times as many steps.
      let more = try #require(many[name])
      #expect(more <= 5 * steps + 20, "\(name): \(steps) steps, then \(more)")
    }
    // Steps are counted: each of these reads every write at least once.
    #expect(try #require(many["history"]) >= 400 && (try #require(many["why"])) >= 400)
  }

  @Test func `an operation below thousands of undone ones is undone`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("trip.edit", fields("name=Roma", id: "Rome"))
    let edit = try await alice.run("history", ["limit": "1"])["operations"]?[0]?["id"] ?? .null
    for step in 1...500 {
      try await alice.run("trip.edit", fields("name=\(step)", id: "Roma"))
      try await alice.run("undo")
    }
    try await alice.run("undo", ["operation": edit])
    #expect(try await alice.run("trip.list")["trips"]?[0]?["name"] == "Rome")
  }

  /// Written by a member as no command does: following the chain must not use more stack with each undo.
  @Test(arguments: [(1_000, false), (1_001, true)])
  func `a chain of undos of undos is followed with a small stack`(undos: Int, isUndone: Bool) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    #expect(try await alice.node.isUndoneAfterUndos(undos) == isUndone)
  }

  @Test(arguments: 0...3) func `an undo leaves alone what was written while it was planned`(
    afterPauses pauses: Int
  ) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let (undo, writes) = try await alice.node.undoWhileWriting(afterPauses: pauses)
    #expect(writes > 0)
    #expect(undo.left.map(\.reason) == [.changedSince])
    let trip = try await alice.run("trip.show", ["id": "Rome"])
    #expect(trip["notes"] == .string("\(writes)"), "the name is as before, and the notes are the newest")
    await alice.close()
  }

  @Test func `a cancelled command ends`() async throws {
    let alice = try await edited()
    let request = ControlRequest(
      command: "history", arguments: ["record": .string("\(Self.edits)"), "limit": "1000000"])
    let task = Task { await alice.node.answer(to: request) }
    task.cancel()
    let failure = await #expect(throws: WaymarkError.self) { try await task.value.get() }
    #expect(failure?.code == .cancelled)
  }
}

extension Node {
  /// Returns the number of steps that each of the long commands takes.
  fileprivate func work(record: String, undoing operations: [String]) async throws -> [String: Int] {
    func steps(_ work: (Pace) async throws -> Void) async throws -> Int {
      let pace = Pace()
      try await work(pace)
      return pace.steps
    }
    let row = try core.names.anyRecord(record)
    var found = [
      "history": try await steps { _ = try await core.historyReader.history(of: row, .max, $0) },
      "why": try await steps { _ = try await core.historyReader.explanation(of: row, $0) },
    ]
    for (index, operation) in operations.enumerated() {
      let undoer = Undoer(history: core.historyReader, isForced: false) { 0 }
      found["undo \(index)"] = try await steps { pace in
        _ = try await undoer.undo(.operation(operation), isPreview: true, pace) { _, _, _ in
          throw CancellationError()
        }
      }
    }
    return found
  }

  /// Writes the name and the notes of the only trip and undoes that. At each pause of the planning after the given number
  /// of them, writes another number to the notes.
  fileprivate func undoWhileWriting(afterPauses pauses: Int) async throws -> (UndoSummary, writes: Int) {
    guard let key = try store.visible(Kind.trip).first?.key else { throw CancellationError() }
    let (name, notes) = (Kind.trip.number("name"), Kind.trip.number("notes"))
    let edit = try core.write(
      "trip.edit", [EntryDraft(.put, key, [(name, .text("Roma")), (notes, .text("Lisbon"))])])
    var (writes, left) = (0, pauses)
    let pace = Pace(slice: 0, steady: { 0 }) { [core] in
      left -= 1
      guard left < 0 else { return }
      writes += 1
      _ = try core.write("trip.edit", [EntryDraft(.put, key, [(notes, .text("\(writes)"))])])
    }
    let undoer = Undoer(history: core.historyReader, isForced: false) { [core] in core.wall() }
    let undo = try await undoer.undo(.operation(edit.description), isPreview: false, pace) {
      undone, drafts, leastClock in
      try core.write(Operation.undoVerb, target: undone, drafts, leastClock: leastClock)
    }
    return (undo, writes)
  }

  /// Writes 1, 2 and so on to a field of the first record of a kind, each as an operation of its own.
  fileprivate func edit(_ kind: Kind, field: FieldNumber, times: Int) throws {
    guard let key = try store.visible(kind).first?.key else { return }
    for step in 1...times {
      _ = try core.write("trip.edit", [EntryDraft(.put, key, [(field, .text("\(step)"))])])
    }
  }

  /// Undoes the newest operation, then that undo, and so on; returns whether the first one counts, as determined on a
  /// thread with a stack of 256 KiB.
  fileprivate func isUndoneAfterUndos(_ count: Int) throws -> Bool {
    guard let key = try store.visible(Kind.trip).first?.key,
      let first = try store.operations(limit: 1).first
    else { throw CancellationError() }
    var last = first.key.id
    for step in 1...count {
      last = try core.write(
        Operation.undoVerb, target: last, [EntryDraft(.put, key, [(1, .text("\(step)"))])])
    }
    // The actor waits, so the store has only one user at a time.
    nonisolated(unsafe) let store = store
    nonisolated(unsafe) var result: Result<Bool, any Error>?
    let isDone = DispatchSemaphore(value: 0)
    let thread = Thread {
      result = Result { try first.undo(in: store) != nil }
      isDone.signal()
    }
    thread.stackSize = 256 * 1024
    thread.start()
    isDone.wait()
    return try result?.get() ?? false
  }
}
