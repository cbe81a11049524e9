import Membership
import Records
import Replication
import Storage
import Testing
import Wire

/// A device that forks its log as often as it can: this must cost it more than the devices that store it.
@Suite struct ManyBranchesTests {
  private let rome = trip(1)

  private func set(of device: Device, after last: VerifiedChangeSet?, _ number: Int) throws
    -> VerifiedChangeSet
  {
    let position = AuthorPosition(
      circle: Device.circle, log: device.log, sequence: last?.header.sequence ?? 0, id: last?.id,
      clock: last?.header.clock ?? .zero, logBytes: last?.logBytes ?? 0, unseen: [])
    var author = Author(position: position, key: device.key, seed: device.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(7, UInt64(number))), verb: "test")
    let entry =
      last == nil ? insert(rome, [1: .text("Rome")]) : edit(trip(UInt64(number)), [1: .text("\(number)")])
    return try author.write([entry], operation: operation, wall: Int64(1_000 + number))[0]
  }

  /// Many sets that all follow the first one.
  private func star(_ device: Device, _ count: Int) throws -> [VerifiedChangeSet] {
    let first = try set(of: device, after: nil, 0)
    return try [first] + (1...count).map { try set(of: device, after: first, $0) }
  }

  /// A fork at every set: each branch continues the one before.
  private func comb(_ device: Device, _ count: Int) throws -> [VerifiedChangeSet] {
    var sets = [try set(of: device, after: nil, 0)]
    var last = sets[0]
    for number in 1...count {
      let tooth = try set(of: device, after: last, 2 * number)
      let next = try set(of: device, after: last, 2 * number + 1)
      sets += [tooth, next]
      last = next
    }
    return sets
  }

  @Test(arguments: ["star", "comb"])
  func `five hundred branches are stored, seen, and cut again`(_ shape: String) throws {
    let mallory = try Device("mallory")
    let sets = shape == "star" ? try star(mallory, 500) : try comb(mallory, 500)
    let (bob, carol) = (try Device("bob"), try Device("carol"))
    for start in stride(from: 0, to: sets.count, by: 250) {
      try bob.receive(Array(sets[start..<min(start + 250, sets.count)]))
    }
    // The sets of the hostile device arrive in another order, and honest sets follow them.
    try carol.receive(sets)
    #expect(bob.store.heads(.records).count == (shape == "star" ? 500 : 501))
    let seen = try bob.write(at: 5_000, edit(rome, [1: .text("Roma")]))
    #expect(seen.flatMap(\.header.dependencies).count >= 500)
    try carol.receive(seen)
    #expect(bob.store.digest(.records) == carol.store.digest(.records))
    let kept = sets[1].id
    for device in [bob, carol] {
      _ = try device.store.admit(
        by: { $0 == mallory.log ? .cut([[kept]]) : .open }, horizon: Device.horizon)
    }
    #expect(bob.store.heads(.records).count == 2)
    #expect(bob.store.digest(.records) == carol.store.digest(.records))
  }
}
