import Families
import Records
import Replication
import Storage
import Testing
import Wire

/// Values that a peer withholds are requested from others, checked, and added to the records.
@Suite struct MissingValueTests {
  /// Alice and Bob, who has Alice's set without its values, and Carol, who has it whole and is not connected.
  private func world(_ values: String = "Rome") throws -> World {
    let world = try World()
    world.connect("alice", "carol")
    world.run(500)
    try world.write("alice", insert(record(1), values), insert(record(2), "Oslo"))
    world.run(1_000)
    world.cut("alice", "carol")
    world.meddle = withholding
    world.connect("alice", "bob")
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) && $0["bob"].count(.records) == 1 })
    #expect(world["bob"].name(record(1)) == nil && world["bob"].name(record(2)) == nil)
    return world
  }

  /// Alice sends sets without their values, and has none when she is asked for them.
  private func withholding(_ sender: String, _ receiver: String, _ message: Message) -> [Message] {
    guard sender == "alice" else { return [message] }
    switch message {
    case .sets(let lane, let sets):
      let lacking = sets.compactMap { set in
        try? VerifiedChangeSet(
          verifying: RawChangeSet(
            header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
            values: set.values(without: Set(0..<set.body.slots.count))))
      }
      return [.sets(lane, lacking)]
    case .values(let lane, _): return [.values(lane, [])]
    default: return [message]
    }
  }

  private func requests(_ world: World, by name: String, to other: String) -> Int {
    world.sent.count {
      if case .wantValues = $0.message { $0.from == name && $0.to == other } else { false }
    }
  }

  @Test func `withheld values are requested from another peer, and nothing is missing then`() throws {
    let world = try world()
    world.run(60_000)
    #expect(try world["bob"].store.missingValueRecords().map(\.records) == [2])
    world.connect("bob", "carol")
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" && $0["bob"].name(record(2)) == "Oslo" })
    #expect(try !world["bob"].store.isAnyValueMissing)
    #expect(world["bob"].state() == world["carol"].state())
    #expect(world.devices.allSatisfy { $0.closes.isEmpty })
  }

  @Test func `a peer without the values is asked once an hour, also after it connects again`() throws {
    let world = try world()
    world.run(60_000)
    #expect(requests(world, by: "bob", to: "alice") == 1)
    world.cut("alice", "bob")
    world.run(100)
    world.connect("alice", "bob")
    world.run(60_000)
    #expect(requests(world, by: "bob", to: "alice") == 1)
    world.run(3_600_000)
    #expect(requests(world, by: "bob", to: "alice") == 2)
  }

  @Test func `a peer that does not answer is not waited for`() throws {
    let world = try world()
    world.meddle = { sender, _, message in
      if case .values = message { sender == "alice" ? [] : [message] } else { [message] }
    }
    world.cut("alice", "bob")
    world.run(3_700_000)
    world.connect("alice", "bob")
    world.run(3_000)
    world.connect("bob", "carol")
    world.run(5_000)
    #expect(world["bob"].name(record(1)) == nil, "Alice was asked and may still answer")
    try #require(world.run(until: { $0["bob"].name(record(1)) == "Rome" }, within: 30_000))
  }

  @Test func `wrong values end the session, and the right ones come from another peer`() throws {
    let world = try world()
    world.cut("alice", "bob")
    world.run(3_700_000)
    world.meddle = { sender, _, message in
      guard sender == "alice", case .values(let lane, let sets) = message else { return [message] }
      return [
        .values(
          lane,
          sets.map { set in
            SetValues(
              id: set.id,
              slots: set.slots.map {
                // One of the two values is right.
                SlotValue(slot: $0.slot, salt: $0.salt, content: $0.slot == 0 ? [0x80] : $0.content)
              })
          })
      ]
    }
    world.connect("alice", "bob")
    try #require(world.run { !$0["bob"].closes.isEmpty })
    #expect(world["bob"].closes == [.misbehaved("values that do not match their commitments")])
    #expect(world["bob"].name(record(1)) == nil && world["bob"].name(record(2)) == "Oslo")
    world.connect("bob", "carol")
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" })
    #expect(world["bob"].state() == world["carol"].state())
  }

  private var stray: SetValues {
    SetValues(
      id: ChangeSetID(Bytes32(1, 2, 3, 4)), slots: [SlotValue(slot: 0, salt: Bytes16(1, 2), content: [0x80])])
  }

  @Test func `values without a request are dropped`() throws {
    let world = try world()
    world.connect("bob", "carol")
    world.run(1_000)
    world.inject(Message.values(.records, [stray]).encoded, from: "carol", to: "bob")
    world.run(1_000)
    #expect(world["bob"].closes.isEmpty)
  }

  /// Alice and Bob, who requests the values from Alice again and gets an answer that `change` makes of the right one.
  private func world(answering change: @escaping ([SetValues]) -> [SetValues]) throws -> World {
    let world = try world()
    world.cut("alice", "bob")
    world.run(3_700_000)
    world.meddle = { sender, _, message in
      guard sender == "alice", case .values(let lane, let sets) = message else { return [message] }
      return [.values(lane, change(sets))]
    }
    world.connect("alice", "bob")
    world.run(10_000)
    return world
  }

  @Test func `an answer with a slot that was not requested ends the session`() throws {
    let world = try world { sets in
      sets.map { set in
        SetValues(id: set.id, slots: set.slots + [SlotValue(slot: 2, salt: Bytes16(1, 2), content: [0x80])])
      }
    }
    #expect(world["bob"].closes == [.misbehaved("values that were not requested")])
    #expect(world["bob"].name(record(1)) == nil)
  }

  @Test func `an answer with a set that was not requested is dropped, and the right one is still awaited`()
    throws
  {
    let stray = stray
    let world = try world { $0 + [stray] }
    #expect(world["bob"].closes.isEmpty && world["bob"].name(record(1)) == nil)
    world.meddle = nil
    let held = world["carol"].store.heads(.records)[0]
    let wanted = SetSlots(log: held.log, sequence: held.sequence, id: held.id, slots: [0, 1])
    let answer = Message.values(.records, world["carol"].values(.records, [wanted])).encoded
    // Also after other peers have been asked.
    world.run(30_000)
    world.inject(answer, from: "alice", to: "bob")
    world.run(1_000)
    #expect(world["bob"].name(record(1)) == "Rome")
  }

  @Test func `an erased value is neither requested nor sent`() throws {
    let world = try world()
    world.connect("bob", "carol")
    // Carol erases one of the records before Bob can ask.
    world.cut("bob", "carol")
    world.meddle = nil
    try world.write("carol", EntryDraft(.erase, record(1)))
    world.connect("bob", "carol")
    try #require(world.run { $0["bob"].name(record(2)) == "Oslo" })
    #expect(world["bob"].name(record(1)) == nil)
    #expect(try !world["bob"].store.isAnyValueMissing)
    for sent in world.sent {
      guard sent.from == "carol", case .values(_, let sets) = sent.message else { continue }
      #expect(sets.flatMap(\.slots).allSatisfy { $0.slot == 1 })
    }
  }

  @Test func `no values are sent for a closed lane`() throws {
    let world = try world()
    world.prefer("bob", false)
    world.connect("bob", "carol")
    world.run(10_000)
    #expect(requests(world, by: "bob", to: "carol") == 0)
    world.prefer("bob", true)
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" })
  }
}
