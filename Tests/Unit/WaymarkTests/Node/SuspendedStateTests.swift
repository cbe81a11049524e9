import Engine
import Enrolment
import Foundation
import Home
import JSONDocument
import Membership
import Model
import PageServer
import Records
import Replication
import SQLite
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Control
@testable import NodeRuntime
@testable import Waymark

/// What a node has again after a suspension, the second time as well, and what it has not.
struct SuspendedStateTests {
  @Test
  func `the socket and the page are served again after each suspension, except what has stopped by itself`()
    async throws
  {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    _ = try await node.save(Trip(name: "Rome"))
    try await node.serveControl()
    let first = try await node.openPage(closesWhenIdle: false)
    #expect(await node.withCore { $0.answersCommands })
    for round in 1...2 {
      await node.suspend()
      #expect(!ControlClient.isRunning(test.home), "round \(round)")
      let isAnswering = await node.withCore { $0.answersCommands }
      #expect(!isAnswering, "round \(round)")
      try await node.resume()
      #expect(ControlClient.isRunning(test.home), "round \(round)")
      #expect(await node.withCore { $0.answersCommands }, "round \(round)")
      let trips = try await ControlClient.run("trip.list", home: test.home)["trips"]?.array
      #expect(trips?.count == 1, "round \(round)")
      let page = await node.servedPage as? LivePage
      #expect(page?.isServing == true && page?.server !== first, "round \(round)")
    }
    let stopped = await node.servedPage as? LivePage
    stopped?.stop()
    await node.suspend()
    try await node.resume()
    let last = await node.servedPage as? LivePage
    #expect(last?.isServing != true)
    #expect(ControlClient.isRunning(test.home))
    // It can be opened again.
    let again = try await node.openPage(closesWhenIdle: false)
    #expect(!again.isStopped)
    await node.close()
    #expect(again.isStopped && !ControlClient.isRunning(test.home))
    let isAnswering = await node.withCore { $0.answersCommands }
    #expect(!isAnswering)
  }

  @Test func `a node whose disk has failed works again after its store was verified in a suspension`()
    async throws
  {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let trip = try await node.save(Trip(name: "Rome"))
    for round in 1...2 {
      await node.withCore { $0.replicator.storeFailed(SQLiteError.directoryNotSynced("test")) }
      #expect(test.home.isSuspect, "round \(round)")
      #expect(try await refusal { _ = try await node.records(Trip.all) } == "store_broken", "round \(round)")
      #expect(try await refusal { _ = try await node.save(Trip(name: "Oslo")) } == "store_broken")
      await node.suspend()
      try await node.resume()
      #expect(!test.home.isSuspect, "round \(round)")
      #expect(try await node.records(Trip.all).map(\.name) == ["Rome"], "round \(round)")
      try await node.update(trip.id) { $0.notes = "round \(round)" }
      #expect(try await node.record(trip.id)?.notes == "round \(round)")
      // Records are read next to the node's queue again.
      let count = try await node.readQueue?.read(node.wall()) { source, _ in
        try source.count(RecordQuery(Kind.trip.number))
      }
      #expect(count == 1, "round \(round)")
    }
    await node.close()
  }

  @Test func `invitations and a paused peer outlast suspensions, and a resumed peer stays resumed`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    let bob = try await circle.device("bob")
    func isPaused() async throws -> Bool {
      let peer = try #require(try await alice.peers().first { $0.device == bob })
      return peer.state == .paused
    }
    try await alice.pause(bob)
    var ticket = try Ticket(line: try await alice.invite().ticket)
    _ = try await alice.inviteByCode(for: .seconds(600))
    let offered = try #require(await alice.withCore { $0.connections.credentials.offered })
    for round in 1...2 {
      await alice.suspend()
      try await alice.resume()
      #expect(try await isPaused(), "round \(round)")
      // The code is still offered, and announced again.
      let announced = await alice.withCore { $0.connections.serving?.announced?.ticket }
      #expect(announced == offered, "round \(round)")
    }
    // If another program has taken the port, Alice listens at another one.
    ticket.addresses = [try #require(await alice.withCore { $0.connections.serving?.listening })]
    let joined = try await JoinOperation(home: circle.home("carol"), ticket: ticket.line, name: "carol")
      .join()
    #expect(await alice.circle.evaluation.members[joined.device]?.name == "carol")
    try await alice.resume(bob)
    await alice.suspend()
    try await alice.resume()
    let isStillPaused = try await isPaused()
    #expect(!isStillPaused)
  }
}
