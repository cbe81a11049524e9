import Control
import Engine
import Foundation
import Membership
import Model
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import NodeRuntime
@testable import Waymark

/// A node that releases its store and its sockets, as an app does in the background, and continues.
struct SuspensionTests {
  @Test func `a suspended node refuses calls, frees its lock, and continues when it resumes`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let trip = try await node.save(Trip(name: "Rome"))
    await node.suspend()
    await node.suspend()
    #expect(try await refusal { _ = try await node.records(Trip.all) } == "suspended")
    #expect(try await refusal { _ = try await node.save(Trip(name: "Oslo")) } == "suspended")
    #expect(try await refusal { _ = try await node.syncState() } == "suspended")
    #expect(try await refusal { try await node.serve(listen: "127.0.0.1:0") } == "suspended")
    #expect(try await refusal { try await node.serveControl() } == "suspended")
    #expect(try await refusal { try await node.backUp(to: URL(filePath: "/nowhere")) } == "suspended")
    // The lock is free, and the write-ahead log is in the database.
    try HomeLock(test.home).release()
    #expect(!FileManager.default.fileExists(atPath: test.home.store + "-wal"))
    try await node.resume()
    try await node.resume()
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    try await node.update(trip.id) { $0.name = "Roma" }
    #expect(try await node.record(trip.id)?.name == "Roma")
    await node.close()
    #expect(try await refusal { try await node.resume() } == "closed")
    await node.suspend()
  }

  @Test func `a suspended node can be closed, which ends its watches`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let task = Task { for await _ in node.watch(Trip.all) {} }
    try await eventually("a watcher is registered") { await node.watchCounts.watchers == 1 }
    await node.suspend()
    #expect(await node.watchCounts.watchers == 1)
    await node.close()
    try await within("the end of the watcher") { await task.value }
    #expect(try await refusal { _ = try await node.records(Trip.all) } == "closed")
    #expect(try await refusal { try await node.resume() } == "closed")
    let again = try await Node.open(test.home, name: "alice")
    await again.close()
  }

  @Test func `what another process writes in between is seen, and the device's own log does not fork`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    let custom = Setting("custom", default: "")
    try await alice.set(.colorScheme, to: .dark)
    try await circle.waitForSync("alice")
    let rome = try await alice.save(Trip(name: "Rome"))
    let before = await Log(alice)
    await alice.suspend()
    let other = try Node(home: circle.home("alice"))
    #expect(try await other.records(Trip.all).map(\.name) == ["Rome"])
    try await other.update(rome.id) { $0.name = "Roma" }
    _ = try await other.save(Trip(name: "Oslo"))
    try await other.set(.colorScheme, to: .light)
    try await other.set(custom, to: "between")
    let between = await Log(other)
    await other.close()
    try await alice.resume()
    #expect(await Log(alice) == between)
    #expect(try await alice.records(Trip.all.sorted(by: \.name)).map(\.name) == ["Oslo", "Roma"])
    #expect(try await alice.value(of: .colorScheme) == .light)
    // The next sets continue the log that the other process has written.
    try await alice.update(rome.id) { $0.name = "Rom" }
    try await alice.set(custom, to: "after")
    let after = await Log(alice)
    #expect(after.incarnation == before.incarnation)
    #expect(after.sequences[.records] == between.sequences[.records, default: 0] + 1)
    #expect(after.sequences[.settings] == between.sequences[.settings, default: 0] + 1)
    #expect(between.sequences[.settings] == before.sequences[.settings, default: 0] + 2)
    try await circle.waitForSync("alice")
    #expect(try await circle["bob"].value(of: .colorScheme) == .light)
    #expect(try await circle["bob"].value(of: custom) == "after")
    for name in ["alice", "bob"] {
      #expect(await circle[name].circle.evaluation.forkProofs.isEmpty)
      #expect(try await circle[name].verifyStore().isSound)
    }
  }

  @Test func `watches are silent while the node is suspended, and then show what has changed`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let trips = Watcher(node.watch(Trip.all.sorted(by: \.name)))
    #expect(try await trips.next("no trips") == [])
    await node.suspend()
    let late = Watcher(node.watch(.count(Trip.all)))
    async let count = late.next("the number of trips")
    let other = try Node(home: test.home)
    _ = try await other.save(Trip(name: "Rome"))
    await other.close()
    #expect(await node.watchCounts.watchers <= 2)
    try await node.resume()
    #expect(try await trips.next("Rome").map(\.name) == ["Rome"])
    #expect(try await count == 1)
    // Resuming without a change delivers nothing: the next value is the one after Oslo.
    await node.suspend()
    try await node.resume()
    _ = try await node.save(Trip(name: "Oslo"))
    #expect(try await trips.next("Oslo").map(\.name) == ["Oslo", "Rome"])
    await node.close()
  }

  @Test func `a node that was serving stops listening, and serves again at the same port`() async throws {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await circle.waitForSync("alice")
    let address = try #require(await alice.withCore { $0.connections.serving?.listening })
    await alice.suspend()
    #expect(await alice.withCore { $0.connections.isQuiet && !$0.isServing })
    try await eventually("Bob misses Alice") {
      try await bob.status().peers.first { $0.name == "alice" }?.state == .offline
    }
    try await bob.set(.colorScheme, to: .dark)
    try await alice.resume()
    #expect(await alice.withCore { $0.connections.serving?.listening } == address)
    try await eventually("Alice has what Bob has set") { try await alice.value(of: .colorScheme) == .dark }
  }

  @Test func `a call that waits fails when the node is suspended`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let alice = circle["alice"]
    let wait = Task {
      try await refusal { _ = try await alice.waitForJoiner(timeout: .seconds(60)) }
    }
    try await Task.sleep(for: .milliseconds(100))
    await alice.suspend()
    #expect(try await within("the end of the call") { try await wait.value } == "suspended")
    try await alice.resume()
    #expect(await alice.withCore { $0.isServing })
  }

  @Test func `suspending waits for work that may use the store`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let (steps, step) = AsyncStream<Int>.makeStream()
    let done = Counter()
    let work = Task {
      try await node.withCore { core in
        try await core.withWaymarkErrors { for await _ in steps { done.add() } }
      }
    }
    step.yield(1)
    try await eventually("the work has begun") { done.count == 1 }
    let suspending = Task {
      await node.suspend()
      return done.count
    }
    try await eventually("the node is suspended") { await node.withCore { $0.isSuspended } }
    step.yield(2)
    step.finish()
    #expect(try await within("the end of the call") { await suspending.value } == 2)
    try await work.value
    try await node.resume()
    await node.close()
  }

  @Test func `a node whose keys were replaced does not resume`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.suspend()
    let kept = test.home.deviceKey + ".kept"
    try FileManager.default.moveItem(atPath: test.home.deviceKey, toPath: kept)
    try Identity.generate().save(in: test.home)
    #expect(try await refusal { try await node.resume() } == "keys_replaced")
    #expect(try await refusal { _ = try await node.records(Trip.all) } == "suspended")
    // Nothing is held after the failure.
    try HomeLock(test.home).release()
    try FileManager.default.removeItem(atPath: test.home.deviceKey)
    try FileManager.default.moveItem(atPath: kept, toPath: test.home.deviceKey)
    try await node.resume()
    #expect(try await node.records(Trip.all) == [])
    await node.close()
  }

  @Test func `a node whose home got another circle does not resume`() async throws {
    let (first, second) = (try TestHome(), try TestHome())
    let node = try await Node.open(first.home, name: "alice")
    await node.suspend()
    let other = try await Node.open(second.home, name: "bob")
    await other.close()
    try FileManager.default.removeItem(atPath: first.home.store)
    try FileManager.default.copyItem(atPath: second.home.store, toPath: first.home.store)
    #expect(try await refusal { try await node.resume() } == "keys_replaced")
    await node.close()
  }

  @Test func `a home that another process keeps open can be resumed later`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.suspend()
    let other = try Node(home: test.home)
    #expect(try await refusal { try await node.resume() } == "store_held")
    let resuming = Task { try await refusal { try await node.resume() } }
    let cancelled = Task { try await node.resume() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) {
      try await within("the end of the cancelled call") { try await cancelled.value }
    }
    await node.suspend()
    await other.close()
    _ = try await within("the end of the other call") { try await resuming.value }
    try await node.resume()
    #expect(try await node.records(Trip.all) == [])
    await node.close()
  }

  @Test func `closing ends an attempt to resume`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.suspend()
    let other = try Node(home: test.home)
    let resuming = Task { try await refusal { try await node.resume() } }
    try await Task.sleep(for: .milliseconds(100))
    await node.close()
    #expect(try await within("the end of the attempt") { try await resuming.value } == "closed")
    #expect(try await other.records(Trip.all) == [])
    await other.close()
  }

  @Test func `suspending again ends an attempt to resume`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.suspend()
    try await node.resume()
    await node.suspend()
    await #expect(throws: WaymarkError.suspended) {
      try await node.withCore { try $0.resume(unlessSuspendedAfter: 1) }
    }
    #expect(await node.withCore { $0.isSuspended })
    await node.close()
  }

  @Test func `a node that is suspended while it resumes stays suspended`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    await node.suspend()
    let other = try Node(home: test.home)
    let resuming = Task { try await refusal { try await node.resume() } }
    try await eventually("the attempt has begun") { await node.withCore { $0.resumesUnderWay > 0 } }
    await node.suspend()
    #expect(try await within("the end of the attempt") { try await resuming.value } == "suspended")
    await other.close()
    // The lock is free.
    let third = try Node(home: test.home)
    await third.close()
    try await node.resume()
    #expect(try await node.records(Trip.all) == [])
    await node.close()
  }

  @Test func `a node in memory keeps its records`() async throws {
    let node = try Node.inMemory()
    _ = try await node.save(Trip(name: "Rome"))
    await node.suspend()
    #expect(try await refusal { _ = try await node.records(Trip.all) } == "suspended")
    try await node.resume()
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    _ = try await node.save(Trip(name: "Oslo"))
    #expect(try await node.count(Trip.all) == 2)
    await node.close()
  }
}

/// The newest sets of a device's own logs.
private struct Log: Equatable {
  let incarnation: Incarnation
  var sequences: [Lane: UInt64] = [:]

  init(_ node: Node) async {
    (incarnation, sequences) = await node.withCore { core in
      let incarnation = core.replicator.incarnation
      var sequences: [Lane: UInt64] = [:]
      for lane in Lane.allCases {
        let own = core.store.heads(lane).filter { $0.log.device == core.identity.device }
        #expect(own.count <= 1)
        sequences[lane] = own.first?.sequence
      }
      return (incarnation, sequences)
    }
  }
}
