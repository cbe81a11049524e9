import Engine
import Foundation
import Model
import NodeRuntime
import Records
import Replication
import SQLite
import Storage
import Synchronization
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

/// Reads that run next to the node's queue.
struct ReadQueueTests {
  /// Blocks a queue until a test opens it, for at most five minutes.
  private final class Gate: Sendable {
    private let (held, began) = AsyncStream<Void>.makeStream()
    private let release = DispatchSemaphore(value: 0)

    func hold() {
      began.yield()
      _ = release.wait(timeout: .now() + 300)
    }

    func waitUntilHeld() async throws {
      _ = try await within(seconds: 300, "the queue to be held") { [held] in
        for await _ in held { return true }
        return false
      }
    }

    func open() { release.signal() }
  }

  private struct Abandoned: Error {}

  @Test func `reads return while the node's queue is busy`() async throws {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice", schema: .packing)
    let trip = try await alice.save(Trip(name: "Rome"))
    _ = try await alice.save(PackingItem("Tent", in: trip.id))
    let gate = Gate()
    let busy = Task { await alice.withCore { _ in gate.hold() } }
    try await gate.waitUntilHeld()
    try await within(seconds: 240, "reads next to a busy queue") { () async throws -> Void in
      #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
      #expect(try await alice.record(trip.id)?.name == "Rome")
      #expect(try await alice.count(PackingItem.all) == 1)
      #expect(try await alice.profile().name == "")
      #expect(try await alice.today().trip == nil)
      #expect(try await alice.read(.timeline(of: trip.id)).isEmpty)
      #expect(try await alice.read(.overviews(of: Trip.all)).map(\.itemCount) == [0])
      #expect(try await alice.read(.organizations).all.count == 1)
      #expect(try await alice.read(.progress(of: Habit.all)).isEmpty)
    }
    gate.open()
    await busy.value
    await alice.close()
  }

  @Test func `a read while a write is under way shows the state before it`() async throws {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    _ = try await alice.save(Trip(name: "Rome"))
    let gate = Gate()
    let writing = Task {
      await alice.withCore { core in
        try? core.store.atOnce {
          try core.store.connection.execute("UPDATE trip_rows SET name = 'Oslo'")
          gate.hold()
          throw Abandoned()
        }
      }
    }
    try await gate.waitUntilHeld()
    let names = try await within(seconds: 240, "a read next to a transaction") {
      try await alice.records(Trip.all).map(\.name)
    }
    #expect(names == ["Rome"])
    gate.open()
    await writing.value
    await alice.close()
  }

  @Test func `a read that begins after a save has returned sees it`() async throws {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    for count in 1...100 {
      let trip = try await alice.save(Trip(name: "\(count)"))
      #expect(try await alice.record(trip.id)?.name == "\(count)")
      #expect(try await alice.count(Trip.all) == count)
    }
    await alice.close()
  }

  @Test
  func `reads go on when the tables are rebuilt, when the connection was closed, and after a checkpoint`()
    async throws
  {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    _ = try await alice.save(Trip(name: "Rome"))
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    try await alice.withCore { _ = try $0.store.rebuild() }
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    try await alice.withCore { core in
      try core.store.rest()
      try core.store.checkpoint(isShrinking: true)
    }
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    await alice.withCore { $0.readQueue?.close() }
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    await alice.withCore { $0.readQueue?.open() }
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    await alice.close()
    #expect(try await refusal { _ = try await alice.records(Trip.all) } == "closed")
  }

  @Test func `a reader notices kinds that the store has learnt since`() throws {
    let folder = URL.temporaryDirectory.appending(path: "waymark-reader-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "store.db").path
    var store: Store? = try Store(path: path)
    let reader = try RecordReader(path: try #require(store?.path))
    let kind = PackingItem.kind.number
    #expect(try reader.snapshot { $0.schema.kind(kind) } == nil)
    store = nil
    store = try Store(path: path, adding: [KnownApp(given: .packing)])
    #expect(try reader.snapshot { $0.schema.kind(kind)?.name } == "packing-item")
    #expect(try reader.snapshot { try $0.count(RecordQuery(kind)) } == 0)
    #expect(store != nil)
  }

  @Test func `after a disk error, a read reports it`() async throws {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    _ = try await alice.save(Trip(name: "Rome"))
    #expect(try await alice.records(Trip.all).map(\.name) == ["Rome"])
    await alice.withCore { $0.replicator.storeFailed(SQLiteError.directoryNotSynced("test")) }
    #expect(try await refusal { _ = try await alice.records(Trip.all) } == "store_broken")
    await alice.close()
  }

  @Test func `an unsuitable query fails next to the queue as on it`() async throws {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    #expect(
      try await refusal { _ = try await alice.records(Trip.all.filter(\.name.count == 4)) }
        == "unsupported_property")
    #expect(try await refusal { _ = try await alice.count(PackingItem.all) } == "unknown_kind")
    await alice.close()
  }
}
