import Families
import Replication
import Storage
import Testing
import Wire

/// Erased and withheld values between devices.
@Suite struct ErasureTests {
  private func world(_ names: [String] = ["alice", "bob", "carol"]) throws -> World {
    let world = try World(names)
    world.connectAll()
    world.run(500)
    return world
  }

  private func agree(_ world: World) -> Bool { Set(world.devices.map { $0.state() }).count == 1 }

  /// Whether a device would still send a text to anyone.
  private func holds(_ device: Device, _ text: String) throws -> Bool {
    let wants = device.store.heads(.records).map {
      Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id)
    }
    let part = Array(text.utf8)
    return device.read(.records, wants, bytesMax: .max).sets.contains { set in
      let values = set.raw.values
      return values.indices.contains { values[$0...].starts(with: part) }
    }
  }

  private func erase(_ key: RecordKey) -> EntryDraft { EntryDraft(.erase, key) }

  @Test func `an erase reaches all devices, and none can send the values any more`() throws {
    let world = try world()
    try world.write("alice", insert(record(1), "secret"), insert(record(2), "public"))
    world.run(1_000)
    try world.write("bob", edit(record(1), "secret too"))
    world.run(1_000)
    for device in world.devices { #expect(try holds(device, "secret")) }
    try world.write("carol", erase(record(1)))
    try #require(world.run { agree($0) && $0["alice"].isInSync(with: $0["bob"]) })
    for device in world.devices {
      #expect(try !holds(device, "secret") && holds(device, "public"))
      #expect(device.name(record(1)) == nil && device.name(record(2)) == "public")
    }
  }

  @Test func `a device that connects later gets the sets without the values, and agrees with the others`()
    throws
  {
    let world = try World()
    world.connect("alice", "bob")
    world.run(500)
    try world.write("alice", insert(record(1), "secret"), insert(record(2), "public"))
    world.run(1_000)
    try world.write("bob", erase(record(1)))
    world.run(1_000)
    world.connect("bob", "carol")
    try #require(world.run { agree($0) })
    #expect(world["carol"].count(.records) == 2)
    #expect(try !holds(world["carol"], "secret") && holds(world["carol"], "public"))
    // A set that lacks some values serves as a predecessor like any other.
    try world.write("alice", insert(record(3), "later"))
    try #require(world.run { $0["carol"].name(record(3)) == "later" })
  }

  @Test func `an edit concurrent with an erase is kept and listed on every device`() throws {
    let world = try world()
    try world.write("alice", insert(record(1), "secret"))
    world.run(1_000)
    for connection in world.connections { world.cut(connection) }
    world.run(100)
    try world.write("alice", erase(record(1)))
    try world.write("bob", edit(record(1), "concurrent"))
    world.connectAll()
    try #require(world.run { agree($0) && $0["alice"].isInSync(with: $0["bob"]) })
    for device in world.devices {
      #expect(try !holds(device, "secret") && holds(device, "concurrent"))
      #expect(device.conflictCount == 1)
    }
    // A second erase, which has seen the edit, takes it too.
    try world.write("carol", erase(record(1)))
    try #require(world.run { agree($0) })
    for device in world.devices {
      #expect(try !holds(device, "concurrent"))
      #expect(device.conflictCount == 0)
    }
  }

  @Test func `a peer that withholds values is tolerated, and all agree on everything else`() throws {
    let world = try world(["alice", "bob"])
    world.meddle = { _, _, message in
      if case .values(let lane, _) = message { return [.values(lane, [])] }
      guard case .sets(let lane, let sets) = message else { return [message] }
      let lacking = sets.compactMap { set in
        try? VerifiedChangeSet(
          verifying: RawChangeSet(
            header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
            values: set.values(without: Set(0..<set.body.slots.count))))
      }
      return [.sets(lane, lacking)]
    }
    try world.write("alice", insert(record(1), "withheld"))
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) && $0["bob"].count(.records) == 1 })
    #expect(world["bob"].state() == world["alice"].state())
    #expect(world["bob"].name(record(1)) == nil)
    world.meddle = nil
    try world.write("alice", edit(record(1), "sent"))
    try #require(world.run { $0["bob"].name(record(1)) == "sent" })
    #expect(world["bob"].closes.isEmpty && world["alice"].closes.isEmpty)
  }

  @Test func `sets with values that do not match end the session, and another peer sends the right ones`()
    throws
  {
    let world = try world()
    world.cut("bob", "carol")
    world.cut("alice", "carol")
    world.run(100)
    let sets = try world.write("alice", insert(record(1), "Rome"))
    world.run(1_000)
    world.connect("alice", "carol")
    world.run(10)
    var bytes = Message.sets(.records, sets).encoded
    bytes[bytes.count - 1] ^= 1
    #expect(throws: MessageError.self) { try Message(decoding: bytes) }
    world.inject(bytes, from: "alice", to: "carol")
    world.connect("bob", "carol")
    try #require(world.run { $0["carol"].name(record(1)) == "Rome" })
    #expect(world["carol"].invalidMessages == 1)
  }
}
