import JSONDocument
import Model
import PageServer
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// The actions of the live page: the commands of the command line, with the same confirmations.
struct NodePageTests {
  /// The document that answers an action.
  private func perform(
    _ page: NodePage, _ action: PageAction, _ confirmation: String? = nil
  ) async throws -> JSON {
    switch await page.perform(action, confirmation: confirmation) {
    case .answer(let bytes), .question(let bytes), .failure(let bytes): return try JSON.parse(bytes)
    }
  }

  private func newestOperation(_ node: TestNode) async throws -> String {
    try #require(try await node.run("history")["operations"]?[0]?["id"]?.string)
  }

  @Test func `small changes happen at once and answer like the command`() async throws {
    let alice = try await TestNode.founder("alice")
    let page = NodePage(alice.node)
    try await alice.run("habit.add", fields("name=Water"))
    let ticked = try await perform(page, .tickHabit(habit: "Water", date: "2026-05-01"))
    #expect(ticked["type"] == "answer")
    #expect(ticked["answer"]?["day"] == "2026-05-01")
    #expect(try await alice.run("habit.show", ["id": "Water"])["name"] == "Water")
    let operation = try await newestOperation(alice)
    let undone = try await perform(page, .undo(operation: operation))
    #expect(undone["answer"]?["operation"]?["verb"] == "habit.tick")
    let off = try await perform(page, .syncOff)
    #expect(off["answer"]?["preference"] == false)
    await alice.close()
  }

  @Test func `a failure is the error document of the command`() async throws {
    let alice = try await TestNode.founder("alice")
    let page = NodePage(alice.node)
    for action in [PageAction.undo(operation: "ffff"), .pausePeer(peer: "bob"), .resumePeer(peer: "bob")] {
      let failed = try await perform(page, action)
      #expect(failed["type"] == "error" && failed["code"] == "not_found", "\(failed)")
    }
    let conflict = try await perform(page, .resolveConflict(conflict: "3f", take: "winner"))
    #expect(conflict["type"] == "error")
    await alice.close()
    let closed = try await perform(page, .syncOff)
    #expect(closed["type"] == "error" && closed["code"] == "closed")
  }

  @Test func `a large undo shows what it would do, and happens with the confirmation`() async throws {
    let alice = try await TestNode.founder("alice")
    let page = NodePage(alice.node)
    try await alice.node.change("many") { changes in
      for number in 1...101 { changes.save(Trip(name: "Trip \(number)")) }
    }
    let operation = try await newestOperation(alice)
    let action = PageAction.undo(operation: operation)
    let question = try await perform(page, action)
    #expect(question["type"] == "question" && question["code"] == "large_undo", "\(question)")
    #expect(question["message"]?.string?.contains("101 records") == true)
    #expect(question["preview"]?["operation"]?["id"]?.string == operation)
    #expect(try await alice.run("status")["counts"]?["trips"] == 101, "nothing was changed")
    let value = try #require(question["confirmation"]?.string)
    for wrong in ["", "0", String(value.dropLast()) + "g"] {
      #expect(try await perform(page, action, wrong)["code"] == "declined")
    }
    let other = try await perform(page, .undo(operation: "ffff"), value)
    #expect(other["code"] == "declined", "a confirmation is for one action")
    #expect(try await alice.run("status")["counts"]?["trips"] == 101)
    #expect(try await perform(page, action, value)["type"] == "answer")
    #expect(try await alice.run("status")["counts"]?["trips"] == 0)
    #expect(try await perform(page, action, value)["code"] == "declined", "and is used up")
    await alice.close()
  }

  @Test func `a large undo that is confirmed keeps what was changed since`() async throws {
    let alice = try await TestNode.founder("alice")
    let page = NodePage(alice.node)
    let trips = (1...102).map { Trip(name: "Trip \($0)") }
    try await alice.node.change("many") { $0.save(trips) }
    try await alice.node.change("notes") { changes in
      for trip in trips { changes.update(trip.id) { $0.notes = "hot" } }
    }
    let action = PageAction.undo(operation: try await newestOperation(alice))
    try await alice.run("trip.edit", fields("notes=sunny", id: "Trip 7"))
    let confirmation = try #require(try await perform(page, action)["confirmation"]?.string)
    let undone = try await perform(page, action, confirmation)
    #expect(undone["answer"]?["left"]?.array?.map { $0["reason"] } == ["changed_since"])
    #expect(try await alice.run("trip.show", ["id": "Trip 7"])["notes"] == "sunny")
    #expect(try await alice.run("trip.show", ["id": "Trip 8"])["notes"] == .null)
    await alice.close()
  }

  @Test func `an undo of what was changed since is refused without a question, which a yes could not answer`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=hot"))
    try await alice.run("trip.edit", fields("notes=sunny", id: "Rome"))
    let action = PageAction.undo(operation: try await newestOperation(alice))
    try await alice.run("trip.edit", fields("notes=rainy", id: "Rome"))
    let refused = try await perform(NodePage(alice.node), action)
    #expect(refused["type"] == "error" && refused["code"] == "needs_yes", "\(refused)")
    #expect(refused["next"]?.string?.hasSuffix("--yes") == true, "\(refused)")
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "rainy")
    await alice.close()
  }

  @Test func `sync on asks where two histories meet, and a peer is paused and resumed`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"], syncing: ["alice"])
    defer { circle.end() }
    for name in ["alice", "bob"] { try await circle.run(name, "trip.add", fields("name=Rome of \(name)")) }
    let page = NodePage(circle["bob"])
    let paused = try await perform(page, .pausePeer(peer: "alice"))
    #expect(paused["answer"]?["paused"] == true)
    let resumed = try await perform(page, .resumePeer(peer: "alice"))
    #expect(resumed["answer"]?["paused"] == false)
    try await circle.waitForSync("bob")
    let question = try await perform(page, .syncOn)
    #expect(question["type"] == "question" && question["code"] == "needs_yes", "\(question)")
    #expect(question["preview"]?.members?.isEmpty == false)
    #expect(try await circle.run("bob", "sync.status")["preference"] == false)
    let done = try await perform(page, .syncOn, question["confirmation"]?.string)
    #expect(done["answer"]?["preference"] == true)
  }

  @Test func `a conflict is resolved in favour of one side`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync("alice", "bob")
    try await circle.apart {
      try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
      try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    }
    let conflict = try #require(
      try await circle.run("alice", "conflicts.list")["conflicts"]?[0]?["id"]?.string)
    let page = NodePage(circle["alice"])
    let answer = try await perform(page, .resolveConflict(conflict: conflict, take: "loser"))
    #expect(answer["type"] == "answer", "\(answer)")
    #expect(try await circle.run("alice", "conflicts.list")["conflicts"] == [])
  }

  @Test func `an invitation is for a member and has the ticket as a QR code`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let answer = try await perform(NodePage(circle["alice"]), .invite)["answer"]
    let ticket = try #require(answer?["ticket"]?.string)
    let code = try #require(QRCode(ticket.uppercased()))
    let rows = (answer?["qr"]?.array ?? []).compactMap(\.string)
    #expect(rows.count == code.size && rows.allSatisfy { $0.utf8.count == code.size })
    #expect(rows[0].hasPrefix("11111110"), "the finder")
    #expect(try await circle.run("alice", "invite.list")["items"]?[0]?["role"] == "member")
  }

  @Test func `each change of the node is one element, and none is lost`() async throws {
    let alice = try await TestNode.founder("alice")
    let page = NodePage(alice.node)
    #expect(await alice.node.watchCounts.watchers == 0)
    var changes = page.changes().makeAsyncIterator()
    await changes.next()
    try await alice.run("trip.add", fields("name=Rome"))
    await changes.next()
    let document = try JSON.parse(try await page.document())
    #expect(document["status"]?["counts"]?["trips"] == 1)
    await alice.close()
    var hasEnded = await changes.next() == nil
    if !hasEnded { hasEnded = await changes.next() == nil }
    #expect(hasEnded, "the stream ends with the node")
  }

  @Test func `the page closes with the node, and is opened once`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    let alice = circle["alice"]
    let first = try await alice.run("page.open")
    let second = try await alice.run("page.open")
    #expect(first["address"] == second["address"] && first["code"] != second["code"])
    #expect(first["address"]?.string?.hasPrefix("http://127.0.0.1:") == true)
    let page = await alice.servedPage as? LivePage
    #expect(page?.server.isStopped == false)
    await alice.close()
    circle.end()
    #expect(page?.server.isStopped == true)
  }

  @Test func `a node that does not serve opens no page`() async throws {
    let alice = try await TestNode.founder("alice")
    let refused = try #require(try await failure(alice, "page.open"))
    #expect(refused.code == .notRunning && refused.next?.description == "waymark run")
    await alice.close()
  }

  @Test(arguments: ["0.0.0.0:0", "[::]:0", "192.168.1.4:0", "localhost:0", "127.0.0.2:0"])
  func `the page is served on loopback only`(place: String) async throws {
    let alice = try await TestNode.founder("alice")
    var code: Reason?
    do { _ = try await alice.node.servePage(at: place) } catch let failure as WaymarkError {
      code = failure.reason
      #expect(failure.next?.description == "waymark run --page")
    }
    #expect(code == .pageNotLocal)
    await alice.close()
  }
}
