import Membership
import Records
import Replication
import Simulation
import Storage
import Testing
import VirtualDisk
import Wire

/// Long random histories of correct devices: the judge reports nothing, whatever happened in which order.
@Suite struct JudgeRandomTests {
  private let names = ["alice", "bob", "carol"]

  /// Sometimes one record is written and erased in the same set.
  private func drafts(_ random: inout SplitMix) -> [EntryDraft] {
    let number = UInt64(random.below(5) + 1)
    switch random.below(12) {
    case 0: return [insert(trip(number), [2: .text("\(number)")]), erase(trip(number))]
    case 1: return [edit(trip(number), [1: .text("trash")]), erase(trip(number))]
    case 2: return [edit(FixedRecords.profile, [1: .integer(0)]), erase(FixedRecords.profile)]
    default:
      let drafts = [draft(&random), draft(&random)]
      return drafts[0].key == drafts[1].key ? [drafts[0]] : drafts
    }
  }

  private func draft(_ random: inout SplitMix) -> EntryDraft {
    let number = UInt64(random.below(5) + 1)
    let text = Value.text("\(random.below(4))")
    switch random.below(12) {
    case 9: return erase(trip(number))
    case 10: return erase(lodging(number))
    case 11: return erase(random.below(3) == 0 ? FixedRecords.none : FixedRecords.profile)
    case 0: return insert(trip(number), [1: text])
    case 1: return delete(trip(number))
    case 2: return restore(trip(number))
    case 3: return insert(lodging(number), [1: .bytes(trip(UInt64(random.below(5) + 1)).id.bytes), 2: text])
    case 4: return delete(lodging(number))
    case 5:
      return edit(
        FixedRecords.profile, [1: .integer(Int64(random.below(3)) * 900_000_000_000), 2: text, 3: .text("")])
    case 6: return edit(FixedRecords.none, [1: text, 2: text])
    case 7: return edit(key(KindNumbers.habit, number), [7: .array([.integer(1), .integer(Int64(number))])])
    default: return edit(trip(number), [FieldNumber(random.below(4) + 1): text])
    }
  }

  @Test(arguments: 1...8) func `random histories`(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed))
    let world = try JudgedWorld(names)
    for _ in 0..<60 {
      let name = world.devices[random.below(world.devices.count)].name
      switch random.below(10) {
      case 0..<5:
        let ahead: Moment = random.below(12) == 0 ? 700_000 : 0
        _ = try? world.write(name, .records, drafts(&random), ahead: ahead)
      case 5:
        try world.write(
          name, .settings, insert(setting(UInt64(random.below(3) + 1)), [2: .integer(Int64(seed))]))
      default:
        let other = world.devices[random.below(world.devices.count)].name
        if other != name { try world.sync(name, to: other) }
      }
      if random.below(20) == 0, world.devices.count < 5 { try clone(name, world) }
    }
    for device in world.devices {
      world.wall += 1_000_000
      try device.foldParked(wall: world.wall)
      try world.look(device.name)
    }
    try world.meet()
    for name in world.devices.map(\.name) { try world.judge.inspected(name, wall: world.wall) }
    try end(world, &random)
  }

  /// Another directory continues the same log.
  private func clone(_ name: String, _ world: JudgedWorld) throws {
    let copy = "copy\(world.devices.count)"
    let original = world[name]
    try world.add(copy, keys: original.keys, incarnation: original.incarnation.raw.word1)
    world.judge.cloned(name)
    world.judge.cloned(copy)
    try world.sync(name, to: copy)
  }

  /// One device is revoked, and all learn of it.
  private func end(_ world: JudgedWorld, _ random: inout SplitMix) throws {
    let bob = world["bob"]
    let sets = bob.known.filter { $0.header.log == bob.log(.records) }
    guard let kept = sets.isEmpty ? nil : sets[random.below(sets.count)] else { return }
    try world.learn(try world.revocation("bob", kept: [(bob.log(.records), kept.id)]))
    for name in world.devices.map(\.name) { try world.judge.inspected(name, wall: world.wall) }
  }
}
