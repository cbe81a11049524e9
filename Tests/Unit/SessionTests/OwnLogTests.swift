import Families
import LogStorage
import Replication
import Storage
import Testing
import Wire

/// A device that starts asks what others hold of its own log before any device gets its new sets.
@Suite struct OwnLogTests {
  /// Alice, Bob and Carol have some sets in common; `old` is a copy of Alice's data at that time. Alice has written
  /// three more sets since, which the devices in `knowing` have; then she goes offline.
  private func world(knowing names: [String]) throws -> World {
    let world = try World()
    world.connectAll()
    for number in 1...5 { try world.write("alice", insert(record(UInt64(number)))) }
    try #require(world.run { world in Set(["alice", "bob", "carol"].map { world[$0].state() }).count == 1 })
    try world.add("old", knowing: world.statements, copyOf: world["alice"])
    world["old"].startAgain()
    for name in ["bob", "carol"] where !names.contains(name) {
      world.cut("alice", name)
      world.cut("bob", "carol")
    }
    for number in 1...3 { try world.write("alice", edit(record(1), "later \(number)")) }
    world.run(10_000)
    for connection in world.connections { world.cut(connection) }
    world.run(100)
    world.forgetTraffic()
    return world
  }

  private func log(_ world: World) -> LogKey {
    LogKey(device: world["alice"].key, incarnation: world["alice"].incarnation, lane: .records)
  }

  /// The heads and sets after the fifth of its old log that `old` has sent to any device.
  private func told(_ world: World) -> Int {
    world.sent.filter { $0.from == "old" }.reduce(0) { count, sent in
      switch sent.message {
      case .heads(_, let heads, _):
        count + heads.count { $0.log == log(world) && $0.sequence > 5 && !known(world).contains($0.id) }
      case .sets(_, let sets):
        count + sets.count { $0.header.log == log(world) && !known(world).contains($0.id) }
      default: count
      }
    }
  }

  /// Ids of the sets that Alice herself wrote.
  private func known(_ world: World) -> Set<ChangeSetID> {
    let store = world["alice"].store
    let wants = store.heads(.records).map { Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id) }
    let sets = (try? store.read(.records, wants, bytesMax: .max, setsMax: .max).sets) ?? []
    return Set(sets.map(\.id))
  }

  private func forks(_ world: World) -> Int { world.devices.reduce(0) { $0 + $1.forks.count } }

  @Test func `an old copy re-authors its changes after the sets written since, and no log forks`() throws {
    let world = try world(knowing: ["bob", "carol"])
    let written = try world.write("old", edit(record(1), "by the old copy"), insert(record(9), "Oslo"))
    try world.write("old", edit(record(9), "Bern"))
    world.connect("old", "bob")
    try #require(world.run { $0["old"].isInSync(with: $0["bob"]) })
    #expect(forks(world) == 0)
    #expect(told(world) == 0)
    for name in ["old", "bob"] {
      #expect(world[name].name(record(9)) == "Bern")
      // No author of "later" had seen the old copy's edit, nor the other way round.
      #expect(world[name].conflictCount == 1)
      #expect(world[name].store.heads(.records).map(\.sequence).sorted() == [2, 8])
    }
    let operation = OperationKey(id: try #require(written.first).header.operation, device: world["old"].key)
    #expect(try world["bob"].store.operation(operation)?.verb == "test")
    // The latest write wins, as if all had been known at once.
    #expect(world["bob"].name(record(1)) == "by the old copy")
    try world.write("old", edit(record(9), "Rome"))
    world.run(1_000)
    #expect(world["bob"].name(record(9)) == "Rome")
    #expect(world["old"].state() == world["bob"].state())
  }

  @Test func `changes made while the answer is on its way are re-authored too`() throws {
    let world = try world(knowing: ["bob", "carol"])
    world.latency = 200
    world.connect("old", "bob")
    for number in 1...20 {
      try world.write("old", edit(record(2), "\(number)"))
      world.run(100)
    }
    try #require(world.run { $0["old"].isInSync(with: $0["bob"]) })
    #expect(forks(world) == 0)
    #expect(world["bob"].name(record(2)) == "20")
    #expect(world["bob"].name(record(1)) == "later 3")
  }

  @Test func `sets promised in one lane are waited for even if the other lane has already been re-authored`()
    throws
  {
    let world = try world(knowing: ["bob", "carol"])
    world.connect("alice", "bob")
    world.run(1_000)
    try world.write("alice", insert(setting(1), "later"))
    world.run(1_000)
    world.cut("alice", "bob")
    world.run(100)
    try world.write("old", insert(setting(1), "by the old copy"), edit(record(2), "by the old copy"))
    var late: [Message] = []
    world.meddle = { from, _, message in
      switch message {
      case .sets(.records, _) where from == "bob", .served(.records) where from == "bob":
        late.append(message)
        return []
      default: return [message]
      }
    }
    world.forgetTraffic()
    world.connect("old", "bob")
    world.run(1_000)
    #expect(!late.isEmpty)
    #expect(told(world) == 0)
    world.meddle = nil
    for message in late { world.inject(message, from: "bob", to: "old") }
    let isLevel = world.run { $0["old"].isInSync(with: $0["bob"]) }
    #expect(isLevel, "timed out waiting for both to be in sync")
    #expect(forks(world) == 0)
    #expect(told(world) == 0)
    #expect(world["bob"].name(record(2)) == "by the old copy")
  }

  @Test func `after a peer that knows no more the device still asks one that does`() throws {
    let world = try world(knowing: ["carol"])
    #expect(world["bob"].count(.records) == 5)
    try world.write("old", edit(record(2), "by the old copy"))
    world.connect("old", "bob")
    // Bob has answered by now, and whatever he is to receive is sent twenty milliseconds later at the earliest.
    world.run(30)
    world.connect("old", "carol")
    try #require(world.run { $0["old"].isInSync(with: $0["bob"]) && $0["old"].isInSync(with: $0["carol"]) })
    #expect(forks(world) == 0)
    #expect(told(world) == 0)
    #expect(Set(["old", "bob", "carol"].map { world[$0].state() }).count == 1)
  }

  @Test func `if no peer knows more, changes are sent to all at once`() throws {
    let world = try world(knowing: [])
    try world.write("old", edit(record(2), "before"))
    world.connect("old", "bob")
    try #require(world.run(until: { $0["bob"].name(record(2)) == "before" }, within: 1_000))
    try world.write("old", edit(record(2), "after"))
    world.run(50)
    #expect(world["bob"].name(record(2)) == "after")
    #expect(world["old"].store.heads(.records).count == 1)
  }

  @Test func `a peer that never announces its heads delays the others only by seconds`() throws {
    let world = try world(knowing: [])
    try world.write("old", edit(record(2), "news"))
    world.meddle = { from, _, message in
      from == "carol" && (message.isHeads || message.isState) ? [] : [message]
    }
    world.connect("old", "bob")
    world.connect("old", "carol")
    world.run(Limits.ownHeadsMillisecondsMax - 1_000)
    #expect(world["bob"].name(record(2)) != "news")
    world.run(2_000)
    #expect(world["bob"].name(record(2)) == "news")
  }

  @Test func `a clock that is set back by years withholds own changes no longer than any other`() throws {
    let world = try world(knowing: [])
    try world.write("old", edit(record(2), "news"))
    world.meddle = { from, _, message in
      from == "carol" && (message.isHeads || message.isState) ? [] : [message]
    }
    world.connect("old", "bob")
    world.connect("old", "carol")
    world.run(1_000)
    world["old"].clockAhead = -10 * 365 * 86_400_000
    world.run(Limits.ownHeadsMillisecondsMax)
    #expect(world["bob"].name(record(2)) == "news")
  }

  @Test func `a peer that promises sets of our own log and sends none delays the others by at most a minute`()
    throws
  {
    let world = try world(knowing: ["carol"])
    try world.write("old", edit(record(2), "news"))
    world.meddle = { from, _, message in
      from == "carol" && (message.isSets || message.isServed) ? [] : [message]
    }
    world.connect("old", "bob")
    world.connect("old", "carol")
    world.run(5_000)
    #expect(world["bob"].name(record(2)) != "news")
    world.run(Limits.ownSetsMillisecondsMax)
    #expect(world["bob"].name(record(2)) == "news")
  }

  @Test func `a device that has not connected since its start continues its log`() throws {
    let world = try world(knowing: [])
    for number in 1...4 { try world.write("old", edit(record(2), "\(number)")) }
    #expect(world["old"].store.heads(.records).map(\.sequence) == [9])
    #expect(world["old"].name(record(2)) == "4")
  }
}
