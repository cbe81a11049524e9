import Foundation
import JSONDocument
import Model
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkTesting

/// Circles in one process, without sockets, on a clock that the test advances.
struct TestCircleTests {
  @discardableResult
  private func run(
    _ circle: TestCircle, _ name: String, _ command: String, _ arguments: JSON = [:]
  ) async throws -> JSON {
    try await circle[name].run(command, arguments)
  }

  private func trips(_ circle: TestCircle, _ name: String) async throws -> [String] {
    let trips = try await run(circle, name, "trip.list")["trips"]?.array ?? []
    return trips.compactMap { $0["name"]?.string }.sorted()
  }

  private func recordsReason(_ circle: TestCircle, _ name: String) async throws -> String? {
    try await run(circle, name, "sync.status")["reason"]?.string
  }

  @Test func `a change of one device is on all others once the circle has settled`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await run(circle, "bob", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.settle()
    try await circle.assertConverged()
    for name in circle.names {
      #expect(try await trips(circle, name) == ["Rome"])
      #expect(try await run(circle, name, "settings.get", ["key": "colorScheme"])["value"] == "dark")
    }
    await circle.close()
  }

  @Test func `records sync only between premium devices, settings between all`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .only(["alice", "bob"]))
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await run(circle, "alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.settle()
    #expect(try await trips(circle, "bob") == ["Rome"])
    #expect(try await trips(circle, "carol") == [])
    #expect(try await run(circle, "carol", "settings.get", ["key": "colorScheme"])["value"] == "dark")
    #expect(try await recordsReason(circle, "carol") == "free_tier")
    await circle.close()
  }

  @Test func `the records lane closes at the exact second at which premium ends`() async throws {
    let end = VirtualClock.morning.addingTimeInterval(30 * 86_400)
    let circle = try await TestCircle("alice", "bob", until: end)
    try await circle.clock.sleep(until: end.addingTimeInterval(-30))
    try await circle.clock.advance(to: end.addingTimeInterval(-1))
    #expect(try await recordsReason(circle, "alice") == nil)
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    // Less than a second is left: enough for a change to reach the other side.
    try await circle.settle(atMost: .milliseconds(900))
    #expect(try await trips(circle, "bob") == ["Rome"])
    try await circle.clock.advance(to: end.addingTimeInterval(-0.001))
    #expect(try await recordsReason(circle, "alice") == nil)
    try await circle.clock.advance(to: end)
    for name in circle.names {
      #expect(try await recordsReason(circle, name) == "entitlement_expired")
      let diagnostics = try await circle[name].withCore { try NodeDiagnostics(of: $0) }
      #expect(diagnostics.sessions.count == 1 && diagnostics.sessions.values.allSatisfy { !$0.isRecordsOpen })
    }
    try await run(circle, "alice", "trip.add", fields("name=Paris"))
    try await circle.settle()
    #expect(try await trips(circle, "bob") == ["Rome"])
    try await circle.entitle(until: end.addingTimeInterval(86_400))
    try await circle.settle()
    #expect(try await trips(circle, "bob") == ["Paris", "Rome"])
    await circle.close()
  }

  @Test func `changes on both sides of a partition are everywhere once it heals`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", "dave")
    await circle.partition(["alice", "bob"], ["carol", "dave"])
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await run(circle, "carol", "trip.add", fields("name=Paris"))
    try await circle.settle()
    #expect(try await trips(circle, "bob") == ["Rome"])
    #expect(try await trips(circle, "dave") == ["Paris"])
    let difference = await #expect(throws: TestSetupError.self) { try await circle.assertConverged() }
    #expect(difference?.description.contains("Rome") == true)
    await circle.heal()
    try await circle.settle()
    try await circle.assertConverged()
    for name in circle.names { #expect(try await trips(circle, name) == ["Paris", "Rome"]) }
    await circle.close()
  }

  @Test func `a connection that becomes possible again is found by the node's own retries`() async throws {
    let circle = try await TestCircle("alice", "bob")
    await circle.disconnect("alice", "bob")
    try await circle.clock.advance(by: .seconds(60))
    #expect(try await circle["alice"].withCore { try NodeDiagnostics(of: $0) }.sessions.isEmpty)
    circle.network.cut(.init(1, 2), false)
    let before = circle.clock.now
    try await circle.settle()
    #expect(circle.clock.now > before)
    await circle.close()
  }

  @Test func `a change travels through a third device if two can't reach each other`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    await circle.disconnect("alice", "carol")
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await circle.settle()
    #expect(try await trips(circle, "carol") == ["Rome"])
    await circle.close()
  }

  @Test func `two circles on one network do not connect`() async throws {
    let network = InMemoryNetwork(clock: VirtualClock())
    let one = try await TestCircle(
      ["alice", "bob"], .everyone, nil, true, .memory, on: network, firstMachine: 1)
    let other = try await TestCircle(
      ["carol", "dave"], .everyone, nil, true, .memory, on: network, firstMachine: 3)
    for machine in 1...2 {
      try await run(other, "carol", "peers.add", ["address": .string("[2001:db8::\(machine)]:7433")])
    }
    try await run(one, "alice", "peers.add", ["address": "[2001:db8::3]:7433"])
    try await run(one, "alice", "trip.add", fields("name=Rome"))
    try await network.clock.advance(by: .seconds(120))
    try await one.settle()
    try await other.settle()
    #expect(try await trips(one, "bob") == ["Rome"])
    #expect(try await trips(other, "carol") == [])
    #expect(try await other["carol"].withCore { try NodeDiagnostics(of: $0) }.sessions.count == 1)
    #expect(try await one["alice"].withCore { try NodeDiagnostics(of: $0) }.sessions.count == 1)
    await one.close()
    await other.close()
  }

  @Test func `eight devices and a hundred changes converge`() async throws {
    let circle = try await TestCircle(count: 8)
    for number in 0..<100 {
      try await run(
        circle, "device \(number % 8 + 1)", "trip.add", fields("name=Journey \(number)"))
    }
    try await circle.settle()
    try await circle.assertConverged()
    #expect(try await trips(circle, "device 8").count == 100)
    await circle.close()
  }

  @Test func `two concurrent edits of one field are a conflict, the same on both devices`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await run(circle, "alice", "habit.add", fields("name=Water"))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await run(circle, "alice", "habit.edit", fields("name=Eau", id: "Water"))
    try await run(circle, "bob", "habit.edit", fields("name=Wasser", id: "Water"))
    await circle.connect("alice", "bob")
    try await circle.settle()
    let seen = try await run(circle, "alice", "conflicts.list")
    #expect(seen["conflicts"]?.array?.count == 1)
    #expect(try await run(circle, "bob", "conflicts.list") == seen)
    await circle.close()
  }

  @Test func `a trip that two people edit offline is merged again`() async throws {
    let circle = try await TestCircle("phone", "laptop")
    let trip = try await circle["phone"].save(Trip(name: "Rome"))
    try await circle.settle()

    await circle.disconnect("phone", "laptop")
    try await circle["phone"].update(trip.id) { $0.name = "Roma" }
    try await circle["laptop"].update(trip.id) { $0.notes = "Take the night train" }

    await circle.connect("phone", "laptop")
    try await circle.settle()
    try await circle.assertConverged()
    let merged = try await circle["phone"].record(trip.id)
    #expect(merged?.name == "Roma" && merged?.notes == "Take the night train")
    await circle.close()
  }

  @Test func `a device that joins later receives everything written before`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    let carol = try await circle.add("carol")
    #expect(try await carol.syncState().isActive)
    try await circle.settle()
    try await circle.assertConverged()
    #expect(try await trips(circle, "carol") == ["Rome"])
    await circle.close()
  }

  @Test func `a device that may not invite admits no other`() async throws {
    let circle = try await TestCircle("alice", "bob")
    await #expect(throws: WaymarkError.self) { try await circle.add("mallory", invitedBy: "bob") }
    #expect(circle.names == ["alice", "bob"])
    await circle.close()
  }

  @Test func `a device in a directory resumes where it was`() async throws {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    try await circle.settle()
    await circle.close("bob")
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await circle.settle()
    try await circle.reopen("bob")
    try await circle.settle()
    #expect(try await trips(circle, "bob") == ["Rome"])
    await circle.close()
  }

  @Test func `nothing remains of a device in memory`() async throws {
    let circle = try await TestCircle("alice")
    let failure = await #expect(throws: WaymarkError.self) { try await circle.reopen("alice") }
    #expect(failure?.code == .inMemory)
  }

  @Test func `waiting for an impossible condition fails with its description`() async throws {
    let circle = try await TestCircle("alice", "bob")
    await circle.disconnect("alice", "bob")
    try await circle.settle()
    circle.network.cut(.init(1, 2), false)
    let failure = await #expect(throws: TestSetupError.self) {
      try await circle.settle(atMost: .zero)
    }
    #expect(failure?.description.contains("alice and bob are not connected") == true)
    await circle.close()
  }

  @Test func `a user previews and turns on sync while the clock advances for the questions`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    _ = try await circle["alice"].save(Trip(name: "Rome"))
    _ = try await circle["bob"].save(Trip(name: "Oslo"))
    try await circle.turnSyncOn("bob")
    try await circle.settle()
    let preview = try await within("a preview") {
      try await circle.during { try await circle["alice"].syncPreview() }
    }
    #expect(preview.peers.map(\.name) == ["bob"])
    let refused = try await refusal {
      try await within("the question") {
        _ = try await circle.during { try await circle["alice"].turnSyncOn() }
      }
    }
    #expect(refused == "needs_yes")
    let state = try await within("sync on") {
      try await circle.during { try await circle["alice"].turnSyncOn(isConfirmed: true) }
    }
    #expect(state.isActive)
    try await circle.settle()
    try await circle.assertConverged()
    #expect(try await trips(circle, "alice") == ["Oslo", "Rome"])
    await circle.close()
  }

  @Test func `waiting for an unreachable peer ends by the circle's clock`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let bob = try await circle["bob"].status().device
    await circle.disconnect("alice", "bob")
    let before = circle.clock.now
    let refused = try await refusal {
      try await within("the end of the wait") {
        try await circle.during {
          try await circle["alice"].waitUntilInSync(with: bob, timeout: .seconds(40))
        }
      }
    }
    #expect(
      refused == "offline" || refused == "dial_timeout" || refused == "no_route", "\(refused ?? "none")")
    #expect(circle.clock.now >= before + 40)
    await circle.close()
  }

  @Test func `a circle in memory leaves no file open`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await circle.settle()
    for node in circle.nodes {
      #expect(!FileManager.default.fileExists(atPath: node.home.path))
    }
    await circle.close()
  }
}
