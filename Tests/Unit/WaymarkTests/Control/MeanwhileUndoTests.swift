import Enrolment
import Home
import JSONDocument
import Records
import Replication
import Synchronization
import Testing
import Transport
import WaymarkCare
import Wire

@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkTesting

/// Undos during which another client of the same node writes.
struct MeanwhileUndoTests {
  /// The other client writes in each pause of an undo, one after another. An undo of what it writes asks first, even
  /// for one record.
  @Test func `an undo reverts what it has checked, whenever another client writes`() async throws {
    let clock = SlicingClock()
    let node = try Node(
      CircleCreation(name: "alice", now: clock.wall()),
      in: NodeEnvironment(
        clock: clock,
        transport: InMemoryTransport(network: InMemoryNetwork(clock: clock.virtual), machine: 1)))
    var (asked, reverted, isOver) = (0, 0, false)
    for readings in 1...500 where !isOver {
      let trip = try await node.save(Trip(name: "Rome"))
      await node.mirrorElsewhere(after: readings, of: clock)
      do {
        let undone = try await node.run("undo")
        #expect(undone["operation"]?["verb"] != "mirror", "after \(readings) readings")
        #expect(try await node.record(trip.id) == nil, "after \(readings) readings")
        isOver = clock.isWaiting
        if !isOver { reverted += 1 }
      } catch let error as WaymarkError {
        #expect(error.reason == .largeUndo, "after \(readings) readings")
        #expect(try await node.record(trip.id) != nil, "after \(readings) readings")
        asked += 1
      }
    }
    #expect(isOver, "there was a pause that the other client did not use")
    // What is written before the check is over is what the check is about.
    #expect(asked > 0 && reverted > 0)
    await node.close()
  }
}

extension Node {
  /// Lets another client write as soon as the node's queue is free after some readings of the clock.
  fileprivate func mirrorElsewhere(after readings: Int, of clock: SlicingClock) {
    let onQueue = core.loop.onQueue
    clock.perform(after: readings) {
      onQueue { core in
        let trip = RecordKey(
          kind: KindNumbers.trip, id: RecordID(milliseconds: core.wall(), random: random16()))
        do {
          try core.write("mirror", [EntryDraft(.insert, trip, [(1, .text("Oslo"))])])
        } catch {
          Issue.record(error)
        }
      }
    }
  }
}

/// A clock by which a slice of work is over whenever it is read, and which does something after some readings.
private final class SlicingClock: NodeClock {
  private struct State {
    var milliseconds: Int64 = 0
    var due: (readings: Int, body: @Sendable () -> Void)?
  }

  let virtual = VirtualClock()
  private let state = Mutex(State())

  /// Whether the clock has not been read as often as given.
  var isWaiting: Bool { state.withLock { $0.due != nil } }

  func perform(after readings: Int, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.due = (readings, body) }
  }

  func wall() -> Int64 { virtual.wall() + state.withLock { $0.milliseconds } }

  func steady() -> Int64 {
    let (milliseconds, body) = state.withLock { state -> (Int64, (@Sendable () -> Void)?) in
      state.milliseconds += 50
      guard let due = state.due else { return (state.milliseconds, nil) }
      state.due = due.readings > 1 ? (due.readings - 1, due.body) : nil
      return (state.milliseconds, due.readings > 1 ? nil : due.body)
    }
    body?()
    return virtual.steady() + milliseconds
  }

  func after(
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    virtual.after(milliseconds: milliseconds, on: executor, body)
  }
}
